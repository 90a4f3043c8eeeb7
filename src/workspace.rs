//! Owns the run's root: every read and write of a path that a prompt or a model names goes through it.
//!
//! A path that leads outside the root is refused by the operating system's own relative lookups ([`cap_std`]), so `..` and symbolic links
//! cannot lead out, not even when they change between a check and a use.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use sha2::{Digest as _, Sha256};

/// Why a path could not be used; the path is named as it was given.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is outside the root.
    #[error("`{0}` is outside the workspace")]
    Outside(String),
    /// Nothing is there.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// It is a folder where a file is needed.
    #[error("`{0}` is a folder, not a file")]
    Folder(String),
    /// It is neither file nor folder.
    #[error("`{0}` is not a regular file")]
    Special(String),
    /// It belongs to the records of runs.
    #[error("`{0}` is part of tepa's own records, which only tepa writes")]
    Records(String),
    /// It is larger than the caller takes.
    #[error("`{path}` is larger than {}", crate::text::bytes(*.limit))]
    TooLarge {
        /// The path.
        path: String,
        /// In bytes.
        limit: u64,
    },
    /// Anything else that the operating system says.
    #[error("cannot {verb} `{path}`: {source}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
}

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

/// Size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Size in bytes.
    pub bytes: u64,
    /// Lower-case hexadecimal; absent for a file larger than [`LARGEST_HASHED`].
    pub sha256: Option<String>,
}

/// The largest file that is hashed, in bytes: a sparse file of a terabyte takes no time to make and hours to read.
pub const LARGEST_HASHED: u64 = 256 * 1024 * 1024;

/// The folder of the runs' own records: reading it is free, writing is tepa's alone.
pub const RECORDS: &str = ".tepa";

/// The run's root.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The root as it was given, which may lead through links.
    given: PathBuf,
    dir: Dir,
}

impl Workspace {
    /// Opens the folder `root`, an absolute path.
    pub fn open(root: &Path) -> io::Result<Self> {
        let given = root.to_owned();
        let root = root.canonicalize()?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, given, dir })
    }

    /// Returns the absolute path of the root, for the working directory of a child.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `path` relative to the root, without `.` parts; an absolute path has to lie in the root.
    pub fn relative(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let given = Path::new(path);
        let inside = if given.is_absolute() {
            let inside = given.strip_prefix(&self.root).or_else(|_| given.strip_prefix(&self.given));
            inside.map_err(|_| WorkspaceError::Outside(path.to_owned()))?
        } else {
            given
        };
        let mut parts = PathBuf::new();
        for component in inside.components() {
            match component {
                Component::Normal(part) => parts.push(part),
                Component::CurDir => {}
                Component::ParentDir if parts.pop() => {}
                _ => return Err(WorkspaceError::Outside(path.to_owned())),
            }
        }
        if parts.as_os_str().is_empty() {
            parts.push(".");
        }
        Ok(parts)
    }

    /// Returns the absolute path of a folder in the workspace, for a walk or the working directory of a child.
    pub fn folder(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let relative = self.relative(path)?;
        if !self.facts(path)?.is_folder {
            return Err(WorkspaceError::Io {
                verb: "open",
                path: path.to_owned(),
                source: io::ErrorKind::NotADirectory.into(),
            });
        }
        let real = self.dir.canonicalize(&relative).map_err(|e| failure("open", path, e))?;
        Ok(self.root.join(real))
    }

    /// Returns what is known of `path`, links followed.
    pub fn facts(&self, path: &str) -> Result<Facts, WorkspaceError> {
        let metadata = self.dir.metadata(self.relative(path)?).map_err(|e| failure("look at", path, e))?;
        Ok(Facts { is_folder: metadata.is_dir(), is_file: metadata.is_file(), bytes: metadata.len() })
    }

    /// Returns the bytes of a regular file of at most `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let mut bytes = Vec::new();
        let file = self.open_file(path)?;
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| failure("read", path, e))?;
        if bytes.len() as u64 > limit {
            return Err(WorkspaceError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }

    /// Returns size and hash of a regular file.
    pub fn digest(&self, path: &str) -> Result<Digest, WorkspaceError> {
        let file = self.open_file(path)?;
        let fail = |e| failure("read", path, e);
        let size = file.metadata().map_err(fail)?.len();
        if size > LARGEST_HASHED {
            return Ok(Digest { bytes: size, sha256: None });
        }
        let mut hash = Sha256::new();
        // A file that grows while it is read is read no further than its limit.
        let mut file = file.take(LARGEST_HASHED);
        let (mut bytes, mut chunk) = (0, vec![0; 64 << 10]);
        loop {
            let count = file.read(&mut chunk).map_err(fail)?;
            if count == 0 {
                return Ok(Digest { bytes, sha256: Some(hexadecimal(&hash.finalize())) });
            }
            hash.update(&chunk[..count]);
            bytes += count as u64;
        }
    }

    /// Returns the first `head` bytes of a regular file and the last `tail` bytes of what comes after them.
    pub fn ends(&self, path: &str, head: u64, tail: u64) -> Result<(Vec<u8>, Vec<u8>), WorkspaceError> {
        let mut file = self.open_file(path)?;
        let mut read = || {
            let size = file.metadata()?.len();
            let (mut first, mut last) = (Vec::new(), Vec::new());
            io::Read::by_ref(&mut file).take(head).read_to_end(&mut first)?;
            file.seek(SeekFrom::Start(size.saturating_sub(tail).max(head)))?;
            io::Read::by_ref(&mut file).take(tail).read_to_end(&mut last)?;
            Ok((first, last))
        };
        read().map_err(|e| failure("read", path, e))
    }

    /// Writes a file whole or not at all, with the folders above it; returns its path relative to the root.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<String, WorkspaceError> {
        let fail = |e| failure("write", path, e);
        let relative = self.relative(path)?;
        if relative.starts_with(RECORDS) {
            return Err(WorkspaceError::Records(path.to_owned()));
        }
        if relative.file_name().is_none() {
            return Err(WorkspaceError::Folder(path.to_owned()));
        }
        if self.dir.metadata(&relative).is_ok_and(|m| m.is_dir()) {
            return Err(WorkspaceError::Folder(path.to_owned()));
        }
        let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            // Looked at first: a link in the way has to be told apart from a folder that is not there yet.
            match self.dir.metadata(parent) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    self.dir.create_dir_all(parent).map_err(fail)?;
                }
                Err(e) => return Err(fail(e)),
            }
        }
        // Short, because a name that is as long as names may be has no room for more.
        let draft = relative.with_file_name(format!(".tepa-{:08x}", random()));
        let written = (|| {
            let mut file = self.dir.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
            file.write_all(content)?;
            if let Ok(old) = self.dir.metadata(&relative) {
                file.set_permissions(old.permissions())?;
            }
            file.sync_all()?;
            self.dir.rename(&draft, &self.dir, &relative)
        })();
        if let Err(e) = written {
            // The draft may not exist; the error that matters is the one above.
            let _ = self.dir.remove_file(&draft);
            return Err(fail(e));
        }
        Ok(relative.to_string_lossy().replace('\\', "/"))
    }

    fn open_file(&self, path: &str) -> Result<cap_std::fs::File, WorkspaceError> {
        // Looked at before it is opened: opening a pipe that nobody writes to would wait for ever.
        let facts = self.facts(path)?;
        if facts.is_folder {
            return Err(WorkspaceError::Folder(path.to_owned()));
        }
        if !facts.is_file {
            return Err(WorkspaceError::Special(path.to_owned()));
        }
        self.dir.open(self.relative(path)?).map_err(|e| failure("read", path, e))
    }
}

fn failure(verb: &'static str, path: &str, source: io::Error) -> WorkspaceError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(path),
        // cap-std's own refusal carries no errno; the system's permission errors do.
        io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => WorkspaceError::Outside(path),
        _ => WorkspaceError::Io { verb, path, source },
    }
}

/// Returns a number that no other draft has by chance.
fn random() -> u32 {
    let id = uuid::Uuid::now_v7();
    let bytes = id.as_bytes();
    u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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
