//! Owns `directory_list`: the names in a folder, nested as deep as asked.
//!
//! Links are named and not followed, so a loop ends and nothing outside the workspace is listed. A list that would be cut is refused:
//! a model cannot tell a short folder from a cut one.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Number, json};

use super::blocking::{Wanted, aside};
use super::parameter::whole;
use crate::outcome::LogLevel;
use crate::tool::ParameterType::{Number as Numeric, String as Text};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolSchema};
use crate::workspace::{Entry as Found, EntryKind, Folder, Workspace};

/// Most entries that one call returns.
const MOST_ENTRIES: usize = 10_000;

/// Most levels that one call descends; readers of JSON refuse values that are nested much deeper.
const MOST_LEVELS: u64 = 32;

/// The tool `directory_list`.
pub(super) struct DirectoryList;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Args {
    path: String,
    max_depth: Number,
}

#[derive(Serialize)]
pub(super) struct Entry {
    name: String,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Entry>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
}

impl Tool for DirectoryList {
    const NAME: &'static str = "directory_list";
    type Args = Args;
    type Output = Vec<Entry>;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Lists the files and folders in one folder, hidden ones included, sorted by name. \
             Returns a list of `{name, type, children?}` where `type` is `file` or `directory`, nested down to `maxDepth`.",
        )
        .required("path", Text, "The folder, relative to the workspace or absolute inside it; `.` is the workspace.")
        .defaulted(
            "maxDepth",
            Numeric,
            "How many levels to list: 1 is the folder itself, 2 also the folders in it; at most 32.",
            json!(1),
        )
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Vec<Entry>, ToolError> {
        let levels = whole("maxDepth", &args.max_depth, 1)?;
        if levels > MOST_LEVELS {
            return Err(ToolError::new(format!("`maxDepth` must be at most {MOST_LEVELS}, not `{levels}`")));
        }
        let list = move |workspace: &Workspace, wanted: &Wanted| {
            let folder = workspace.open_folder(&args.path)?;
            let mut listing = Listing { wanted, asked: &args.path, left: MOST_ENTRIES, warnings: Vec::new() };
            let below = Path::new("");
            let entries = match folder.entries() {
                Ok(found) => listing.list(&folder, below, found, levels)?,
                Err(error) => return Err(listing.failure(below, &error)),
            };
            Ok((entries, listing.warnings))
        };
        let (entries, warnings) = aside(context, list).await?;
        for warning in warnings {
            context.log(LogLevel::Warn, &warning);
        }
        Ok(entries)
    }
}

/// One call's walk.
struct Listing<'a> {
    wanted: &'a Wanted,
    asked: &'a str,
    left: usize,
    warnings: Vec<String>,
}

impl Listing<'_> {
    /// Lists what was found in a folder, which is `below` the one that was asked for.
    fn list(
        &mut self,
        folder: &Folder<'_>,
        below: &Path,
        entries: impl Iterator<Item = io::Result<Found>>,
        levels: u64,
    ) -> Result<Vec<Entry>, ToolError> {
        let mut found = Vec::new();
        for entry in entries {
            self.wanted.check()?;
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                ToolError::new(format!(
                    "`{}` holds more than {MOST_ENTRIES} entries: list one of its folders, or use a smaller `maxDepth`",
                    self.asked
                ))
            })?;
            found.push(entry.map_err(|error| self.failure(below, &error))?);
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let mut entries = Vec::with_capacity(found.len());
        for Found { name, kind } in found {
            let path = below.join(&name);
            let is_folder = match kind {
                EntryKind::Link => folder.behind(&name).is_some_and(|facts| facts.is_folder),
                kind => kind == EntryKind::Folder,
            };
            let children = if kind == EntryKind::Folder && levels > 1 && name != ".git" {
                self.list_nested(folder, &name, &path, levels - 1)?
            } else {
                None
            };
            if name.to_str().is_none() {
                self.warnings.push(format!(
                    "the name of `{}` is not UTF-8: only `shell_execute` can use it",
                    Path::new(self.asked).join(&path).display()
                ));
            }
            let kind = if is_folder { Kind::Directory } else { Kind::File };
            entries.push(Entry { name: name.to_string_lossy().into_owned(), kind, children });
        }
        Ok(entries)
    }

    /// Lists a folder in the folder that was asked for; one that cannot be opened costs its own entries and not the whole list.
    fn list_nested(
        &mut self,
        folder: &Folder<'_>,
        name: &OsStr,
        below: &Path,
        levels: u64,
    ) -> Result<Option<Vec<Entry>>, ToolError> {
        let inner = match folder.descend(name) {
            Ok(inner) => inner,
            Err(error) => return Ok(self.left_out(below, &error)),
        };
        match inner.entries() {
            Ok(found) => self.list(&inner, below, found, levels).map(Some),
            Err(error) => Ok(self.left_out(below, &error)),
        }
    }

    fn left_out(&mut self, below: &Path, error: &io::Error) -> Option<Vec<Entry>> {
        self.warnings.push(self.failure(below, error).to_string());
        None
    }

    fn failure(&self, below: &Path, error: &io::Error) -> ToolError {
        ToolError::new(format!("cannot list `{}`: {error}", Path::new(self.asked).join(below).display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trial::Trial;

    async fn list(trial: &Trial, params: serde_json::Value) -> Result<serde_json::Value, String> {
        trial.call("directory_list", params).await
    }

    #[tokio::test]
    async fn entries_are_sorted_and_nested_as_deep_as_asked() {
        let trial = Trial::new();
        trial.file("b.txt", "");
        trial.file(".hidden", "");
        trial.file("a/inner/deep.txt", "");
        trial.file("a/z.txt", "");
        trial.file(".git/HEAD", "");
        let flat = json!([
            {"name": ".git", "type": "directory"},
            {"name": ".hidden", "type": "file"},
            {"name": "a", "type": "directory"},
            {"name": "b.txt", "type": "file"},
        ]);
        assert_eq!(list(&trial, json!({"path": "."})).await, Ok(flat));
        let nested = json!([
            {"name": ".git", "type": "directory"},
            {"name": ".hidden", "type": "file"},
            {"name": "a", "type": "directory", "children": [
                {"name": "inner", "type": "directory"},
                {"name": "z.txt", "type": "file"},
            ]},
            {"name": "b.txt", "type": "file"},
        ]);
        assert_eq!(list(&trial, json!({"path": "", "maxDepth": 2})).await, Ok(nested));
        let below = json!([{"name": "deep.txt", "type": "file"}]);
        assert_eq!(list(&trial, json!({"path": "a/inner"})).await, Ok(below));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_are_named_and_not_followed() {
        let trial = Trial::new();
        trial.file("a/x", "");
        for (target, link) in
            [(".", "a/loop"), ("x", "a/alias"), ("/etc", "a/outside"), ("nowhere", "a/broken")]
        {
            std::os::unix::fs::symlink(target, trial.path(link)).unwrap();
        }
        let listed = json!([{"name": "a", "type": "directory", "children": [
            {"name": "alias", "type": "file"},
            {"name": "broken", "type": "file"},
            {"name": "loop", "type": "directory"},
            {"name": "outside", "type": "file"},
            {"name": "x", "type": "file"},
        ]}]);
        assert_eq!(list(&trial, json!({"path": ".", "maxDepth": 32})).await, Ok(listed));
    }

    #[tokio::test]
    async fn a_list_that_is_too_long_is_refused() {
        let trial = Trial::new();
        for n in 0..5_001 {
            trial.file(&format!("a/{n}"), "");
            trial.file(&format!("b/{n}"), "");
        }
        assert_eq!(
            list(&trial, json!({"path": ".", "maxDepth": 2})).await,
            Err("`.` holds more than 10000 entries: list one of its folders, or use a smaller `maxDepth`"
                .to_owned())
        );
        assert_eq!(list(&trial, json!({"path": "a"})).await.unwrap().as_array().unwrap().len(), 5_001);
    }

    #[tokio::test]
    async fn what_cannot_be_listed_is_an_error() {
        let trial = Trial::new();
        trial.file("x", "");
        let errors = [
            (json!({"path": "absent"}), "`absent` does not exist"),
            (json!({"path": "../"}), "`../` is outside the workspace"),
            (json!({"path": "x"}), "cannot open `x`: not a directory"),
            (
                json!({"path": ".", "maxDepth": 1.5}),
                "`maxDepth` must be a whole number of at least 1, not `1.5`",
            ),
            (json!({"path": ".", "maxDepth": 100}), "`maxDepth` must be at most 32, not `100`"),
        ];
        for (params, error) in errors {
            assert_eq!(list(&trial, params).await, Err(error.to_owned()));
        }
    }
}
