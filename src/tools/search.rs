//! Owns `file_search`: the files of the workspace whose path matches a pattern.
//!
//! Files that version control ignores are found as well, as their author expects of a pattern; only `.git` is not searched. Links are not
//! followed. Matches that would have to be cut are refused.

use std::fmt::Display;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::json;

use super::blocking::{Wanted, aside};
use crate::outcome::LogLevel;
use crate::text;
use crate::tool::ParameterType::String as Text;
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolSchema};
use crate::workspace::{Entry, EntryKind, Folder, Workspace};

/// Most paths that one call returns.
const MOST_MATCHES: usize = 10_000;

/// Most folders in folders that are searched: each holds a handle, of which there are few, and people nest far less.
const MOST_LEVELS: usize = 128;

/// The tool `file_search`.
pub(super) struct FileSearch;

#[derive(Deserialize)]
pub(super) struct Args {
    pattern: String,
    cwd: String,
}

impl Tool for FileSearch {
    const NAME: &'static str = "file_search";
    type Args = Args;
    type Output = Vec<String>;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Finds files by name: returns the paths, relative to `cwd` and sorted, of all files below it whose path matches a glob pattern. \
             It does not look into the files.",
        )
        .required(
            "pattern",
            Text,
            "Glob pattern that the path relative to `cwd` must match: `*` and `?` stay in one folder, `**` crosses folders, \
             `{a,b}` and `[a-z]` are choices. Example: `src/**/*.{ts,tsx}`.",
        )
        .defaulted("cwd", Text, "Folder to search, relative to the workspace or absolute inside it.", json!("."))
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Vec<String>, ToolError> {
        let glob = parse_pattern(&args.pattern)?;
        let search = move |workspace: &Workspace, wanted: &Wanted| {
            let folder = workspace.open_folder(&args.cwd)?;
            let mut search = Search { glob, args, wanted, matches: Vec::new(), unread: Vec::new() };
            search.look(&folder, Path::new(""), 0)?;
            search.matches.sort_unstable();
            Ok((search.matches, search.unread, search.args.cwd))
        };
        let (matches, unread, cwd) = aside(context, search).await?;
        if let Some(first) = unread.first() {
            let places = text::plural("place", unread.len());
            context.log(
                LogLevel::Warn,
                &format!("`{cwd}` was not searched whole: {places} could not be read, such as {first}"),
            );
        }
        Ok(matches)
    }
}

/// One call's walk.
struct Search<'a> {
    glob: GlobMatcher,
    args: Args,
    wanted: &'a Wanted,
    matches: Vec<String>,
    /// What could not be looked at, and why.
    unread: Vec<String>,
}

impl Search<'_> {
    /// Looks at everything in a folder, which is `below` the one that is searched.
    fn look(&mut self, folder: &Folder<'_>, below: &Path, level: usize) -> Result<(), ToolError> {
        let entries = match folder.entries() {
            Ok(_) if level > MOST_LEVELS => {
                self.pass_over(below, &format!("more than {MOST_LEVELS} folders deep"));
                return Ok(());
            }
            Ok(entries) => entries,
            Err(error) => {
                self.pass_over(below, &error);
                return Ok(());
            }
        };
        let mut folders = Vec::new();
        for entry in entries {
            self.wanted.check()?;
            match entry {
                Ok(entry) if entry.kind == EntryKind::Folder => folders.push(entry.name),
                Ok(entry) => self.consider(folder, below, &entry)?,
                Err(error) => self.pass_over(below, &error),
            }
        }
        for name in folders.iter().filter(|name| *name != ".git") {
            let path = below.join(name);
            match folder.descend(name) {
                Ok(inner) => self.look(&inner, &path, level + 1)?,
                Err(error) => self.pass_over(&path, &error),
            }
        }
        Ok(())
    }

    /// Keeps the path of a file, or of a link to one in the workspace, that matches.
    fn consider(&mut self, folder: &Folder<'_>, below: &Path, entry: &Entry) -> Result<(), ToolError> {
        let path = below.join(&entry.name);
        let is_file = || match entry.kind {
            EntryKind::Link => folder.behind(&entry.name).is_some_and(|facts| facts.is_file),
            kind => kind == EntryKind::File,
        };
        if !self.glob.is_match(&path) || !is_file() {
            return Ok(());
        }
        if self.matches.len() == MOST_MATCHES {
            return Err(ToolError::new(format!(
                "`{}` matches more than {MOST_MATCHES} files: use a narrower pattern or search in a folder (`cwd`)",
                self.args.pattern
            )));
        }
        if path.to_str().is_none() {
            self.pass_over(&path, &"its name is not UTF-8");
            return Ok(());
        }
        self.matches.push(with_slashes(&path));
        Ok(())
    }

    fn pass_over(&mut self, below: &Path, why: &dyn Display) {
        self.unread.push(format!("`{}` ({why})", Path::new(&self.args.cwd).join(below).display()));
    }
}

fn parse_pattern(pattern: &str) -> Result<GlobMatcher, ToolError> {
    if Path::new(pattern).is_absolute() || pattern.split('/').any(|part| part == "..") {
        return Err(ToolError::new(format!(
            "the pattern `{pattern}` has to be relative to `cwd`, without `..`"
        )));
    }
    // A walk knows no `.` parts.
    let relative = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(relative).literal_separator(true).build().map_err(|error| {
        ToolError::new(format!("the pattern `{pattern}` is not a glob: {}", error.kind()))
    })?;
    Ok(glob.compile_matcher())
}

fn with_slashes(path: &Path) -> String {
    let path = path.to_string_lossy();
    if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trial::Trial;

    async fn search(trial: &Trial, params: serde_json::Value) -> Result<serde_json::Value, String> {
        trial.call("file_search", params).await
    }

    #[tokio::test]
    async fn files_that_match_are_returned_sorted_and_relative() {
        let trial = Trial::new();
        for path in ["b.ts", "src/a.ts", "src/deep/c.ts", "src/a.rs", ".ci/x.ts", ".git/y.ts", "dist/z.ts"] {
            trial.file(path, "");
        }
        trial.file(".gitignore", "dist\n");
        std::fs::create_dir(trial.path("folder.ts")).unwrap();
        let found = [
            (
                json!({"pattern": "**/*.ts"}),
                json!([".ci/x.ts", "b.ts", "dist/z.ts", "src/a.ts", "src/deep/c.ts"]),
            ),
            (json!({"pattern": "*.ts"}), json!(["b.ts"])),
            (json!({"pattern": "./src/*"}), json!(["src/a.rs", "src/a.ts"])),
            (json!({"pattern": "*.{rs,ts}", "cwd": "src"}), json!(["a.rs", "a.ts"])),
            (json!({"pattern": "**", "cwd": "src/deep"}), json!(["c.ts"])),
            (json!({"pattern": "*.go"}), json!([])),
        ];
        for (params, paths) in found {
            assert_eq!(search(&trial, params).await, Ok(paths));
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_to_files_are_found_and_links_to_folders_not_followed() {
        let trial = Trial::new();
        trial.file("a/x", "");
        for (target, link) in
            [("..", "a/loop"), ("x", "a/alias"), ("/etc/hostname", "a/outside"), ("no", "a/broken")]
        {
            std::os::unix::fs::symlink(target, trial.path(link)).unwrap();
        }
        assert_eq!(search(&trial, json!({"pattern": "**"})).await, Ok(json!(["a/alias", "a/x"])));
    }

    #[tokio::test]
    async fn too_many_matches_are_refused() {
        let trial = Trial::new();
        for n in 0..=MOST_MATCHES {
            trial.file(&n.to_string(), "");
        }
        assert_eq!(
            search(&trial, json!({"pattern": "*"})).await,
            Err("`*` matches more than 10000 files: use a narrower pattern or search in a folder (`cwd`)"
                .to_owned())
        );
        assert_eq!(search(&trial, json!({"pattern": "1000[0-9]"})).await, Ok(json!(["10000"])));
    }

    #[tokio::test]
    async fn what_cannot_be_searched_is_an_error() {
        let trial = Trial::new();
        let errors = [
            (json!({"pattern": "*.{ts"}), "the pattern `*.{ts` is not a glob: "),
            (json!({"pattern": "/etc/*"}), "the pattern `/etc/*` has to be relative to `cwd`, without `..`"),
            (json!({"pattern": "../*"}), "the pattern `../*` has to be relative to `cwd`, without `..`"),
            (json!({"pattern": "*", "cwd": ".."}), "`..` is outside the workspace"),
            (json!({"pattern": "*", "cwd": "absent"}), "`absent` does not exist"),
        ];
        for (params, error) in errors {
            let returned = search(&trial, params).await.unwrap_err();
            assert!(returned.starts_with(error), "{returned}");
        }
    }
}
