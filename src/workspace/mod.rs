//! Owns the bounds of a run: every read and write of a path that a prompt or a model names goes through it.
//!
//! A path leads to a place in the run's folder or in one of the further roots that a person listed, or it is refused. Places are opened by
//! the operating system's own relative lookups ([`cap_std`]) without following links, so `..` and symbolic links cannot lead out, not even
//! when they change between a check and a use.

mod error;
mod folder;
mod place;
mod read;
mod root;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use crate::digest::LARGEST_HASHED;
pub use error::WorkspaceError;
pub use folder::{Entry, EntryKind, Folder};
pub use read::Digest;

use root::Root;

/// What is known of a path without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// When its content was last changed, where the file system knows.
    pub modified: Option<SystemTime>,
}

impl From<cap_std::fs::Metadata> for Facts {
    fn from(metadata: cap_std::fs::Metadata) -> Self {
        Self {
            is_folder: metadata.is_dir(),
            is_file: metadata.is_file(),
            bytes: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        }
    }
}

/// The folder of the runs' own records: reading it is free, writing is tepa's alone.
pub const RECORDS: &str = ".tepa";

/// The project's own configuration in the run's folder.
pub const PROJECT_FILE: &str = "tepa.yaml";

/// The run's folder, and what may be used beside it.
#[derive(Debug)]
pub struct Workspace {
    /// The run's folder first.
    roots: Vec<Root>,
    read_only: bool,
    /// What is in a root and yet not to be used.
    hidden: Vec<PathBuf>,
    /// What tepa keeps between runs.
    kept: Vec<PathBuf>,
}

impl Workspace {
    /// Opens the folder `root`, an absolute path, which may be read and written.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = Root::open(root, true)?;
        if root.path.is_dir() {
            Ok(Self { roots: vec![root], read_only: false, hidden: Vec::new(), kept: Vec::new() })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Adds folders and files, absolute paths of what exists, that may be written or only read; if `read_only`, nothing is written
    /// anywhere.
    ///
    /// # Errors
    /// A path that cannot be opened.
    pub fn with_roots(
        mut self,
        writable: &[PathBuf],
        readable: &[PathBuf],
        read_only: bool,
    ) -> Result<Self, WorkspaceError> {
        for (paths, write) in [(writable, true), (readable, false)] {
            for path in paths {
                let mut root = Root::open(path, write)
                    .map_err(|e| WorkspaceError::of("open", &path.display().to_string(), e))?;
                // A list of what may be read takes away nothing.
                root.writable |= self.roots.iter().any(|other| other.writable && other.holds(&root.path));
                self.roots.push(root);
            }
        }
        self.read_only = read_only;
        Ok(self)
    }

    /// Takes out folders and files with all that is below them, absolute paths that need not exist; not those that the run's folder is in.
    #[must_use]
    pub fn hiding(mut self, hidden: &[PathBuf]) -> Self {
        let found = hidden.iter().filter_map(|path| path.canonicalize().ok());
        self.hidden = found.filter(|path| !self.root().starts_with(path)).collect();
        self
    }

    /// Takes out the files in which tepa keeps what outlives runs, absolute paths that need not exist yet: no tool reads or writes them.
    #[must_use]
    pub fn keeping(mut self, files: &[PathBuf]) -> Self {
        self.kept = files.iter().map(|file| canonical(file)).collect();
        self
    }

    /// Returns the canonical paths of what is hidden although it may be written as far as its root says.
    pub fn hidden_in_writable_roots(&self) -> impl Iterator<Item = &Path> {
        let hidden = self.hidden.iter().map(PathBuf::as_path);
        hidden.filter(|path| self.writable_roots().any(|root| path.starts_with(root)))
    }

    /// Returns the absolute path of the run's folder, for the working directory of a child.
    pub fn root(&self) -> &Path {
        &self.roots[0].path
    }

    /// Returns the canonical paths of the folders and files that may be written.
    pub fn writable_roots(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().filter(|root| root.writable && !self.read_only);
        roots.map(|root| root.path.as_path())
    }

    /// Returns the canonical paths of all folders and files that may be read.
    pub fn readable_roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// Returns `path` without `.` and `..` parts, relative to the run's folder where it is in there and else absolute; links are not
    /// looked at.
    pub fn relative(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let found = self.entrance(Path::new(path));
        let (root, rest) = found.ok_or_else(|| WorkspaceError::Outside(path.to_owned()))?;
        // Joined name by name: an empty rest would leave a slash behind the name of a file.
        Ok(self.shown(&root.path.iter().chain(rest.iter()).collect::<PathBuf>()))
    }

    /// Returns where `path` leads with all links followed, relative to the run's folder where it is in there and else absolute; nothing
    /// need be there.
    pub fn resolved(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        Ok(self.shown(&self.place(path)?.path))
    }

    /// Returns the absolute path of a folder, for the working directory of a child.
    pub fn folder(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let place = self.place(path)?;
        place.folder().map_err(|e| WorkspaceError::of("open", path, e))?;
        Ok(place.path)
    }

    /// Returns what is known of `path`, links followed.
    pub fn facts(&self, path: &str) -> Result<Facts, WorkspaceError> {
        let metadata = self.place(path)?.metadata().map_err(|e| WorkspaceError::of("look at", path, e))?;
        Ok(metadata.into())
    }

    fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.root()) {
            Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
            Ok(inside) => inside.to_owned(),
            Err(_) => path.to_owned(),
        }
    }
}

/// Returns a path without links as far as it exists; what does not exist yet is none.
fn canonical(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(path), ..) => path,
        (Err(_), Some(folder), Some(name)) => canonical(folder).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a folder with `work`, `out` (may be written), `in` (may be read) and the file `notes.md` (may be written).
    fn bounded(read_only: bool) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["here/sub", "out", "in/deep", "secret"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for file in ["here/f", "in/f", "in/deep/f", "secret/f", "notes.md", "other.md"] {
            std::fs::write(dir.path().join(file), file).unwrap();
        }
        let workspace = Workspace::open(&dir.path().join("here")).unwrap();
        let at = |path: &str| dir.path().join(path);
        let bounded =
            workspace.with_roots(&[at("out"), at("notes.md")], &[at("in"), at("here/sub")], read_only);
        (dir, bounded.unwrap())
    }

    #[cfg(unix)]
    #[test]
    fn what_tepa_keeps_is_not_used_by_any_tool() {
        let dir = tempfile::tempdir().unwrap();
        let kept = [dir.path().join(".tepa/tepa.db"), dir.path().join("kept")];
        let workspace = Workspace::open(dir.path()).unwrap().keeping(&kept);
        std::fs::create_dir(dir.path().join(".tepa")).unwrap();
        std::fs::create_dir(dir.path().join("kept")).unwrap();
        for file in [".tepa/tepa.db", "kept/a", "other"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        for path in [".tepa/tepa.db", "./.tepa/../.tepa/tepa.db", "kept/a"] {
            assert!(matches!(workspace.facts(path), Err(WorkspaceError::Kept(_))), "{path}");
            assert!(workspace.write(path, b"").is_err(), "{path}");
        }
        assert!(workspace.facts("other").is_ok());
    }

    #[test]
    fn what_is_hidden_is_not_used_by_any_way() {
        let (dir, workspace) = bounded(false);
        let at = |path: &str| dir.path().join(path);
        std::os::unix::fs::symlink(at("in/deep"), at("here/way")).unwrap();
        let workspace =
            workspace.hiding(&[at("in/deep"), at("here/sub"), at("absent"), dir.path().to_owned()]);
        for path in ["../in/deep/f", "way/f", "sub/new", "./sub/../sub"] {
            assert!(matches!(workspace.facts(path), Err(WorkspaceError::Hidden(_))), "{path}");
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Hidden(_))), "{path}");
        }
        assert_eq!(workspace.read("f", 99).unwrap(), b"here/f");
        let open: Vec<_> = workspace.hidden_in_writable_roots().collect();
        assert_eq!(open, [at("here/sub").canonicalize().unwrap()]);
    }

    #[test]
    fn the_root_that_a_path_enters_by_its_words_says_what_it_may_do() {
        let (dir, workspace) = bounded(false);
        let absolute = |path: &str| dir.path().join(path).display().to_string();
        assert_eq!(workspace.read(&absolute("in/deep/f"), 99).unwrap(), b"in/deep/f");
        assert_eq!(workspace.read("../in/./f", 99).unwrap(), b"in/f");
        assert_eq!(workspace.read("../in/../here/f", 99).unwrap(), b"here/f");
        assert_eq!(workspace.write("../out/new/f", b"x").unwrap(), absolute("out/new/f"));
        assert_eq!(workspace.write(&absolute("notes.md"), b"x").unwrap(), absolute("notes.md"));
        assert_eq!(workspace.write(&absolute("here/g"), b"x").unwrap(), "g");
        assert_eq!(
            workspace.write("sub/g", b"x").unwrap(),
            "sub/g",
            "a list of what may be read takes nothing away"
        );
        for path in ["../in/f", &absolute("in/new"), &absolute("in")] {
            assert!(matches!(workspace.write(path, b"x"), Err(WorkspaceError::NotWritable(_))), "{path}");
        }
        for path in
            ["../secret/f", "..", "../other.md", &absolute("secret/f"), "../in/../secret/f", "../notes.md.x"]
        {
            assert!(matches!(workspace.read(path, 99), Err(WorkspaceError::Outside(_))), "{path}");
            assert!(matches!(workspace.write(path, b"x"), Err(WorkspaceError::Outside(_))), "{path}");
        }
    }

    #[test]
    fn read_only_means_everything_whatever_is_listed() {
        let (dir, workspace) = bounded(true);
        for path in ["f", "new/f", "../out/f", "../notes.md", "../in/f", "tepa.yaml"] {
            let error = workspace.write(path, b"x").unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "`{path}` was not written: the sandbox is read-only, set `sandbox.mode` to `workspace-write` to change that"
                )
            );
        }
        assert!(!dir.path().join("here/new").exists());
        assert_eq!(workspace.writable_roots().count(), 0);
        assert_eq!(workspace.readable_roots().count(), 5);
    }

    #[cfg(unix)]
    #[test]
    fn the_roots_are_canonical_and_a_root_may_be_entered_by_the_name_it_was_given_by() {
        let (dir, workspace) = bounded(false);
        let base = dir.path().canonicalize().unwrap();
        let writable: Vec<_> = workspace.writable_roots().collect();
        assert_eq!(
            writable,
            [base.join("here"), base.join("out"), base.join("notes.md"), base.join("here/sub")]
        );
        std::os::unix::fs::symlink(base.join("secret"), base.join("here/cache")).unwrap();
        let workspace = workspace.with_roots(&[base.join("here/cache")], &[], false).unwrap();
        assert_eq!(workspace.read("cache/f", 99).unwrap(), b"secret/f");
        assert_eq!(workspace.resolved("cache/f").unwrap(), base.join("secret/f"));
    }

    #[test]
    fn a_root_that_is_not_there_is_named() {
        let (dir, workspace) = bounded(false);
        let absent = dir.path().join("absent");
        let error = workspace.with_roots(&[], std::slice::from_ref(&absent), false).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` does not exist", absent.display()));
        assert!(Workspace::open(&dir.path().join("notes.md")).is_err());
    }
}
