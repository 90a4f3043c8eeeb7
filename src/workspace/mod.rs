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

pub use error::WorkspaceError;
pub use folder::{Entry, EntryKind, Folder};
pub use read::{Digest, LARGEST_HASHED};

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
}

impl From<cap_std::fs::Metadata> for Facts {
    fn from(metadata: cap_std::fs::Metadata) -> Self {
        Self { is_folder: metadata.is_dir(), is_file: metadata.is_file(), bytes: metadata.len() }
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
}

impl Workspace {
    /// Opens the folder `root`, an absolute path, which may be read and written.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = Root::open(root, true)?;
        if root.path.is_dir() {
            Ok(Self { roots: vec![root], read_only: false })
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
        Ok(self.shown(&root.path.join(rest)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, workspace)
    }

    #[test]
    fn a_file_is_written_whole_with_its_folders_and_nothing_else_is_left() {
        let (dir, workspace) = workspace();
        assert_eq!(workspace.write("./a/b/../c.txt", b"one").unwrap(), "a/c.txt");
        assert_eq!(workspace.write("a/c.txt", b"two").unwrap(), "a/c.txt");
        assert_eq!(workspace.read("a/c.txt", 10).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn an_absolute_path_has_to_lie_in_the_root() {
        let (_dir, workspace) = workspace();
        let inside = workspace.root().join("x.txt");
        assert_eq!(workspace.write(inside.to_str().unwrap(), b"x").unwrap(), "x.txt");
        assert!(matches!(workspace.read("/etc/hostname", 10), Err(WorkspaceError::Outside(_))));
        assert!(matches!(workspace.write("../x", b""), Err(WorkspaceError::Outside(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_cannot_lead_out() {
        let (dir, workspace) = workspace();
        std::os::unix::fs::symlink("/etc", dir.path().join("out")).unwrap();
        assert!(matches!(workspace.read("out/hostname", 1000), Err(WorkspaceError::Outside(_))));
        assert!(matches!(workspace.write("out/x", b""), Err(WorkspaceError::Outside(_))));
        assert!(matches!(workspace.folder("out"), Err(WorkspaceError::Outside(_))));
    }

    #[test]
    fn a_huge_file_is_measured_and_not_read() {
        let (dir, workspace) = workspace();
        std::fs::File::create(dir.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(workspace.digest("sparse").unwrap(), Digest { bytes: 1 << 40, sha256: None });
        assert_eq!(workspace.ends("sparse", 1, 2).unwrap(), (vec![0], vec![0, 0]));
    }

    #[test]
    fn the_records_of_runs_are_not_for_others_to_write() {
        let (_dir, workspace) = workspace();
        for path in [".tepa/runs/x/events.jsonl", "./a/../.tepa/x"] {
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Records(_))));
        }
        assert_eq!(workspace.write(&"n".repeat(255), b"x").unwrap().len(), 255);
    }

    #[test]
    fn size_kind_and_absence_are_told_apart() {
        let (_dir, workspace) = workspace();
        workspace.write("f", b"12345").unwrap();
        assert!(matches!(workspace.read("f", 4), Err(WorkspaceError::TooLarge { limit: 4, .. })));
        assert!(matches!(workspace.read(".", 4), Err(WorkspaceError::Folder(_))));
        assert!(matches!(workspace.read("g", 4), Err(WorkspaceError::Missing(_))));
        let digest = workspace.digest("f").unwrap();
        let hash = "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5";
        assert_eq!(digest, Digest { bytes: 5, sha256: Some(hash.to_owned()) });
        assert_eq!(workspace.ends("f", 2, 2).unwrap(), (b"12".to_vec(), b"45".to_vec()));
        assert_eq!(workspace.ends("f", 9, 2).unwrap(), (b"12345".to_vec(), vec![]));
    }
}
