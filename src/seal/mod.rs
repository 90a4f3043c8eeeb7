//! Owns what no run may change: the state of protected files when a run begins, and what has become of them.
//!
//! A file is compared by its content. Links are not followed: a link is its target's name, so that a protected file cannot be swapped for one.

mod pattern;
mod sealed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

pub use self::pattern::{Pattern, PatternError};
use self::sealed::{Content, Sealed, seal, stamp};
use crate::digest;

/// Files that change although nobody changes anything: git writes down what it has looked at.
const RESTLESS: [&str; 1] = [".git/index"];

/// The state of protected files at one moment.
#[derive(Debug)]
pub struct Seals {
    root: PathBuf,
    patterns: Vec<Pattern>,
    files: Vec<PathBuf>,
    before: BTreeMap<PathBuf, Sealed>,
    /// Whether everything counts: folders, and what changes by itself.
    everything: bool,
    /// What could not be looked at even then.
    unseen: BTreeSet<PathBuf>,
}

/// What there is at one moment.
#[derive(Default)]
struct Found {
    files: BTreeMap<PathBuf, Metadata>,
    /// What could not be looked at, in the order in which it was met.
    unseen: Vec<(PathBuf, io::Error)>,
}

/// A protected file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Relative to the root where it lies there, absolute elsewhere.
    pub path: String,
    /// `created`, `deleted`, `modified` or `made unreadable`.
    pub what: &'static str,
}

/// The state of files by their path, as it can be written down: their content, and nothing that only this machine knows.
pub type Marks = BTreeMap<String, String>;

impl Seals {
    /// Takes the state of every file below `root` that a pattern names, and of `files` wherever they lie.
    pub fn take(root: &Path, patterns: Vec<Pattern>, files: Vec<PathBuf>) -> Self {
        Self::new(root, patterns, files, false).taken()
    }

    /// As [`Self::take`], of everything: folders as well, and what changes although nobody changes it.
    pub fn take_everything(root: &Path, patterns: Vec<Pattern>, files: Vec<PathBuf>) -> Self {
        Self::new(root, patterns, files, true).taken()
    }

    fn new(root: &Path, patterns: Vec<Pattern>, files: Vec<PathBuf>, everything: bool) -> Self {
        let (before, unseen) = (BTreeMap::new(), BTreeSet::new());
        Self { root: root.to_owned(), patterns, files, before, everything, unseen }
    }

    fn taken(mut self) -> Self {
        let seals = &mut self;
        let Found { files: found, unseen } = seals.find();
        seals.before =
            found.into_iter().map(|(path, metadata)| (path.clone(), seal(&path, &metadata))).collect();
        seals.unseen = unseen.into_iter().map(|(path, _)| path).collect();
        self
    }

    /// Returns what is not what it was, sorted by path.
    pub fn broken(&self) -> Vec<Broken> {
        let Found { files: mut now, unseen } = self.find();
        // Whoever closes a folder may have put anything into it.
        let closed = unseen.iter().map(|(path, _)| path).filter(|path| !self.unseen.contains(*path));
        now.retain(|path, _| {
            self.before.contains_key(path) || !unseen.iter().any(|(closed, _)| closed == path)
        });
        let mut broken: Vec<Broken> =
            closed.map(|path| Broken { path: self.shown(path), what: "made unreadable" }).collect();
        for (path, before) in &self.before {
            let what = match now.remove(path) {
                None => "deleted",
                Some(metadata) if before.stamp.is_some() && before.stamp == stamp(&metadata) => continue,
                Some(metadata) => {
                    let after = seal(path, &metadata);
                    // A file that was only written anew, or looked at, says the same.
                    if after.content == before.content && after.content != Content::Unread {
                        continue;
                    }
                    "modified"
                }
            };
            broken.push(Broken { path: self.shown(path), what });
        }
        broken.extend(now.keys().map(|path| Broken { path: self.shown(path), what: "created" }));
        broken.sort_by(|one, other| one.path.cmp(&other.path));
        broken
    }

    /// Returns the state as it can be written down, if every name can be.
    pub fn marks(&self) -> Option<Marks> {
        let mark = |(path, sealed): (&PathBuf, &Sealed)| {
            let relative = path.strip_prefix(&self.root).unwrap_or(path);
            Some((relative.to_str()?.to_owned(), sealed.content.mark()))
        };
        self.before.iter().map(mark).collect()
    }

    /// Returns one hash for the state of everything, if there is anything that could have one.
    pub fn digest(&self) -> Option<String> {
        if self.patterns.is_empty() && self.files.is_empty() {
            return None;
        }
        let line = |(path, sealed): (&PathBuf, &Sealed)| {
            let relative = path.strip_prefix(&self.root).unwrap_or(path);
            format!("{}\0{}\n", relative.to_string_lossy(), sealed.content.mark())
        };
        Some(digest::sha256_of(&self.before.iter().map(line).collect::<String>()))
    }

    /// Returns the seals of everything as they were written down; nothing when they do not say what was in every file.
    pub fn recalled(root: &Path, patterns: Vec<Pattern>, files: Vec<PathBuf>, marks: &Marks) -> Option<Self> {
        let sealed = |(path, mark): (&String, &String)| {
            let content = Content::of_mark(mark)?;
            Some((root.join(path), Sealed { stamp: None, content }))
        };
        let before = marks.iter().map(sealed).collect::<Option<_>>()?;
        Some(Self { before, ..Self::new(root, patterns, files, true) })
    }

    /// Returns the path of something that cannot be looked at now, and why: what may have become of it is not among what is broken.
    pub fn unseen(&self) -> Option<(String, io::Error)> {
        let (path, error) = self.find().unseen.into_iter().next()?;
        Some((self.shown(&path), error))
    }

    /// Returns everything protected that exists.
    fn find(&self) -> Found {
        let mut found = Found::default();
        for pattern in &self.patterns {
            self.walk(&self.root.join(&pattern.base), pattern, &mut found);
        }
        for file in &self.files {
            if let Some(metadata) = found.look(file, file.symlink_metadata()) {
                found.files.insert(file.clone(), metadata);
            }
        }
        found
    }

    fn walk(&self, path: &Path, pattern: &Pattern, found: &mut Found) {
        let Some(metadata) = found.look(path, path.symlink_metadata()) else { return };
        if metadata.is_dir() {
            for entry in found.look(path, fs::read_dir(path)).into_iter().flatten() {
                if let Some(entry) = found.look(path, entry) {
                    self.walk(&entry.path(), pattern, found);
                }
            }
            if !self.everything {
                return;
            }
        }
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let matches = pattern.covers(relative);
        if matches && (self.everything || !RESTLESS.iter().any(|file| relative == Path::new(file))) {
            found.files.insert(path.to_owned(), metadata);
        }
    }

    fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy();
        if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
    }
}

impl Found {
    /// Returns what a look at `path` gave; that nothing is there is known, everything else that goes wrong is kept.
    fn look<T>(&mut self, path: &Path, looked: io::Result<T>) -> Option<T> {
        match looked {
            Ok(seen) => Some(seen),
            Err(e) => {
                if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                    self.unseen.push((path.to_owned(), e));
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn seals(folder: &tempfile::TempDir, patterns: &[&str], files: &[&str]) -> Seals {
        let patterns = patterns.iter().map(|pattern| Pattern::parse(pattern).unwrap()).collect();
        Seals::take(folder.path(), patterns, files.iter().map(|file| folder.path().join(file)).collect())
    }

    fn broken(seals: &Seals) -> Vec<String> {
        seals.broken().into_iter().map(|broken| format!("{} {}", broken.path, broken.what)).collect()
    }

    #[test]
    fn what_is_created_deleted_or_modified_is_found_and_nothing_else() {
        let folder = folder(&[
            ".git/config",
            ".git/hooks/x",
            ".git/index",
            "task.yaml",
            "src/a",
            "keep.lock",
            "src/b.lock",
        ]);
        let seals = seals(&folder, &[".git/**", "**/*.lock", "absent/**"], &["task.yaml", "later.sh"]);
        assert_eq!(broken(&seals), Vec::<String>::new());
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write(".git/index", "looked at");
        write("src/a", "free");
        write(".git/hooks/y", "new");
        write("task.yaml", "easier");
        write("later.sh", "new");
        write("src/b.lock", "changed");
        fs::remove_file(folder.path().join(".git/config")).unwrap();
        // Written anew with what was there.
        write("keep.lock", "keep.lock");
        assert_eq!(
            broken(&seals),
            [
                ".git/config deleted",
                ".git/hooks/y created",
                "later.sh created",
                "src/b.lock modified",
                "task.yaml modified"
            ]
        );
        write("task.yaml", "task.yaml");
        assert!(!broken(&seals).contains(&"task.yaml modified".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_cannot_be_swapped_for_a_link_or_made_a_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder(&["hooks/a", "hooks/b", "copy"]);
        let seals = seals(&folder, &["hooks/**"], &[]);
        let path = |file: &str| folder.path().join(file);
        fs::write(path("copy"), "hooks/a").unwrap();
        fs::remove_file(path("hooks/a")).unwrap();
        std::os::unix::fs::symlink(path("copy"), path("hooks/a")).unwrap();
        fs::set_permissions(path("hooks/b"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(broken(&seals), ["hooks/a modified", "hooks/b modified"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_stands_in_the_place_of_a_protected_folder_is_protected() {
        let folder = folder(&[".git", "other/config"]);
        let worktree = seals(&folder, &[".git/**"], &[]);
        fs::write(folder.path().join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(broken(&worktree), [".git modified"]);
        fs::remove_file(folder.path().join(".git")).unwrap();
        let none = seals(&folder, &[".git/**"], &[]);
        std::os::unix::fs::symlink("other", folder.path().join(".git")).unwrap();
        assert_eq!(broken(&none), [".git created"]);
    }

    #[cfg(unix)]
    #[test]
    fn times_that_are_set_back_hide_nothing() {
        let folder = folder(&["a"]);
        let seals = seals(&folder, &["a"], &[]);
        let path = folder.path().join("a");
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "b").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        assert_eq!(broken(&seals), ["a modified"]);
    }

    #[test]
    fn a_pattern_stays_in_the_folder() {
        for pattern in ["/etc/*", "../x", "a/../b"] {
            assert!(matches!(Pattern::parse(pattern), Err(PatternError::Outside(_))), "{pattern}");
        }
        assert!(matches!(Pattern::parse("a{"), Err(PatternError::Malformed { .. })));
    }

    #[test]
    fn what_was_written_down_is_compared_as_what_was_seen() {
        let folder = folder(&["data/a", "data/b", "one"]);
        let patterns = vec![Pattern::parse("data/**").unwrap()];
        let taken = Seals::take_everything(folder.path(), patterns, vec![folder.path().join("one")]);
        let recall = || {
            let patterns = vec![Pattern::parse("data/**").unwrap()];
            Seals::recalled(folder.path(), patterns, vec![folder.path().join("one")], &taken.marks().unwrap())
                .unwrap()
        };
        assert!(recall().broken().is_empty());
        fs::write(folder.path().join("data/a"), "other").unwrap();
        fs::write(folder.path().join("data/c"), "new").unwrap();
        fs::remove_file(folder.path().join("one")).unwrap();
        assert_eq!(broken(&recall()), ["data/a modified", "data/c created", "one deleted"]);
        let unread = Marks::from([("x".to_owned(), "unread".to_owned())]);
        assert!(Seals::recalled(folder.path(), vec![], vec![], &unread).is_none());
    }
}
