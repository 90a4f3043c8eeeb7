//! Owns the finding of the files that an index is about, as the workspace lets them be seen.
//!
//! Links to folders are not followed, what is hidden from runs is not there, and tepa's own records are nobody's reading. What cannot be
//! looked at is passed over: it is as good as absent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use globset::{GlobBuilder, GlobMatcher};

use super::fault::Fault;
use crate::stage::StoreError;
use crate::workspace::{EntryKind, Folder, RECORDS, Workspace};

/// Most folders in folders that are searched: each holds a handle.
const MOST_LEVELS: usize = 128;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) bytes: i64,
    /// In nanoseconds since 1970.
    pub(super) modified: i64,
}

impl Stamp {
    /// Returns the stamp of a regular file that may be read.
    pub(super) fn of(workspace: &Workspace, path: &str) -> Option<Self> {
        let facts = workspace.facts(path).ok().filter(|facts| facts.is_file)?;
        let modified = nanoseconds(facts.modified?);
        Some(Self { bytes: i64::try_from(facts.bytes).ok()?, modified })
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

/// Whether somebody still waits for the work.
#[derive(Clone, Default)]
pub(super) struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// Fails when nobody does.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.0.load(Ordering::Relaxed) { Err(Fault::said("the run has ended")) } else { Ok(()) }
    }
}

/// Tells the work when nobody waits for it any more.
#[derive(Default)]
pub(super) struct Waiting(pub(super) Wanted);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Which files are meant: paths relative to the workspace.
#[derive(Debug)]
pub(super) struct Globs(Vec<(String, GlobMatcher)>);

impl Globs {
    pub(super) fn new(patterns: &[String]) -> Result<Self, StoreError> {
        let globs = patterns.iter().map(|pattern| {
            if Path::new(pattern).is_absolute() || pattern.split('/').any(|part| part == "..") {
                return Err(StoreError(format!(
                    "the pattern `{pattern}` has to be relative to the workspace, without `..`"
                )));
            }
            // A walk knows no `.` parts.
            let relative = pattern.trim_start_matches("./");
            let glob = GlobBuilder::new(relative).literal_separator(true).build().map_err(|error| {
                StoreError(format!("the pattern `{pattern}` is not a glob: {}", error.kind()))
            })?;
            Ok((relative.to_owned(), glob.compile_matcher()))
        });
        globs.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.iter().any(|(_, glob)| glob.is_match(path))
    }

    /// Returns whether something below a folder may match, so that it is worth looking.
    fn may_match_below(&self, folder: &Path) -> bool {
        let special = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
        self.0.iter().any(|(pattern, _)| {
            let (parts, levels) = (pattern.split('/'), folder.iter().count());
            let fixed = !["**", "{", "[", "\\"].iter().any(|crossing| pattern.contains(crossing));
            if fixed && parts.clone().count() <= levels {
                return false;
            }
            let words = parts.take_while(|part| !special(part));
            words.zip(folder).all(|(part, name)| name == part)
        })
    }
}

/// Returns the files that are meant, by their paths.
pub(super) fn files(
    workspace: &Workspace,
    globs: &Globs,
    wanted: &Wanted,
) -> Result<BTreeMap<String, Stamp>, Fault> {
    let mut walk = Walk { workspace, globs, wanted, found: BTreeMap::new() };
    let folder = workspace.open_folder(".").map_err(|error| Fault::said(error.to_string()))?;
    walk.look(&folder, Path::new(""), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    workspace: &'a Workspace,
    globs: &'a Globs,
    wanted: &'a Wanted,
    found: BTreeMap<String, Stamp>,
}

impl Walk<'_> {
    fn look(&mut self, folder: &Folder<'_>, below: &Path, level: usize) -> Result<(), Fault> {
        let entries = match folder.entries() {
            Ok(entries) if level <= MOST_LEVELS => entries,
            _ => {
                tracing::debug!(folder = %below.display(), "passed over");
                return Ok(());
            }
        };
        for entry in entries {
            self.wanted.check()?;
            let Ok(entry) = entry else { continue };
            let path = below.join(&entry.name);
            match entry.kind {
                EntryKind::Folder if is_private(&entry.name) || !self.globs.may_match_below(&path) => {}
                EntryKind::Folder => match folder.descend(&entry.name) {
                    Ok(inner) => self.look(&inner, &path, level + 1)?,
                    Err(error) => tracing::debug!(folder = %path.display(), %error, "passed over"),
                },
                EntryKind::File | EntryKind::Link => self.consider(&path, entry.kind),
                EntryKind::Special => {}
            }
        }
        Ok(())
    }

    /// Keeps a file, or a link to one in the workspace, that is meant; a name that is not UTF-8 cannot be told to anybody.
    fn consider(&mut self, path: &Path, kind: EntryKind) {
        let Some(path) = path.to_str() else { return };
        let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
        if !self.globs.is_match(&path) {
            return;
        }
        let leads_into_private =
            || self.workspace.resolved(&path).is_ok_and(|place| place.iter().any(is_private));
        if kind == EntryKind::Link && leads_into_private() {
            return;
        }
        if let Some(stamp) = Stamp::of(self.workspace, &path) {
            self.found.insert(path, stamp);
        }
    }
}

fn is_private(name: &std::ffi::OsStr) -> bool {
    // There are file systems to which upper and lower case are the same.
    name == ".git" || name.eq_ignore_ascii_case(RECORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(files: &[&str]) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, workspace)
    }

    fn found(workspace: &Workspace, patterns: &[&str]) -> Vec<String> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let globs = Globs::new(&patterns).unwrap();
        files(workspace, &globs, &Wanted::default()).unwrap().into_keys().collect()
    }

    #[test]
    fn files_are_found_by_their_paths_and_records_never() {
        let (dir, workspace) = workspace(&[
            "a.md",
            "docs/b.md",
            "docs/deep/c.md",
            "docs/d.txt",
            ".tepa/runs/x.md",
            "docs/.TEPA/y.md",
            ".git/z.md",
            "other/e.md",
        ]);
        assert_eq!(found(&workspace, &["**/*.md"]), ["a.md", "docs/b.md", "docs/deep/c.md", "other/e.md"]);
        assert_eq!(found(&workspace, &["*.md"]), ["a.md"]);
        assert_eq!(found(&workspace, &["./docs/*.md", "a.md"]), ["a.md", "docs/b.md"]);
        assert_eq!(found(&workspace, &["{docs/deep,other}/*.md"]), ["docs/deep/c.md", "other/e.md"]);
        assert_eq!(found(&workspace, &["d[o]cs/**"]), ["docs/b.md", "docs/d.txt", "docs/deep/c.md"]);
        assert_eq!(found(&workspace, &["docs/deep/c.md", "docs"]), ["docs/deep/c.md"]);
        assert_eq!(found(&workspace, &[]), Vec::<String>::new());
        #[cfg(unix)]
        {
            for (target, link) in [
                ("docs", "way"),
                ("docs/b.md", "alias.md"),
                (".tepa/runs/x.md", "sly.md"),
                ("/etc/hosts", "out.md"),
            ] {
                std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
            }
            assert_eq!(found(&workspace, &["*.md", "way/*"]), ["a.md", "alias.md"]);
        }
        let workspace = workspace.hiding(&[dir.path().join("docs")]);
        assert_eq!(found(&workspace, &["**/b.md", "docs/**", "a*.md"]), ["a.md"]);
    }

    #[test]
    fn a_folder_in_which_nothing_can_match_is_not_looked_at() {
        let globs = |pattern: &str| Globs::new(&[pattern.to_owned()]).unwrap();
        for (pattern, folder, worth) in [
            ("*.md", "node_modules", false),
            ("docs/*.md", "docs", true),
            ("docs/*.md", "docs/deep", false),
            ("docs/**/*.md", "docs/deep/er", true),
            ("docs/**/*.md", "src", false),
            ("*/x/*.md", "a/x", true),
            ("{a,b/c}/x", "b/c", true),
        ] {
            assert_eq!(globs(pattern).may_match_below(Path::new(folder)), worth, "{pattern} {folder}");
        }
    }

    #[test]
    fn a_pattern_that_leads_out_or_is_none_is_refused() {
        for (pattern, words) in [
            ("../*.md", "has to be relative to the workspace"),
            ("/etc/*", "has to be relative to the workspace"),
            ("a{", "is not a glob"),
        ] {
            let error = Globs::new(&[pattern.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
