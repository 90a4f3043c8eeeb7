//! Owns the reading of files: whole, their ends, or their hash.
//!
//! Only regular files are opened: a pipe would wait for ever, a device may do something, and what the kernel makes up about processes
//! (`/proc`) holds the keys of tepa's own environment.

use std::io::{self, Read as _, Seek as _, SeekFrom};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{File, OpenOptions};

use super::{Workspace, WorkspaceError};
use crate::digest::{self, LARGEST_HASHED};

/// Size and hash of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Size in bytes.
    pub bytes: u64,
    /// Lower-case hexadecimal; absent for a file larger than [`LARGEST_HASHED`].
    pub sha256: Option<String>,
}

impl Workspace {
    /// Returns the bytes of a regular file of at most `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let fail = |e| WorkspaceError::of("read", path, e);
        let too_large = || WorkspaceError::TooLarge { path: path.to_owned(), limit };
        let file = self.open_file(path)?;
        if file.metadata().map_err(fail)?.len() > limit {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // It may grow while it is read.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
    }

    /// Returns at most `limit` bytes of a regular file from `offset` on.
    pub fn part(&self, path: &str, offset: u64, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let mut file = self.open_file(path)?;
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(limit).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|e| WorkspaceError::of("read", path, e))
    }

    /// Returns size and hash of a regular file.
    pub fn digest(&self, path: &str) -> Result<Digest, WorkspaceError> {
        let file = self.open_file(path)?;
        let fail = |e| WorkspaceError::of("read", path, e);
        let size = file.metadata().map_err(fail)?.len();
        if size > LARGEST_HASHED {
            return Ok(Digest { bytes: size, sha256: None });
        }
        let (bytes, hash) = digest::sha256(file).map_err(fail)?;
        Ok(Digest { bytes, sha256: Some(hash) })
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
        read().map_err(|e| WorkspaceError::of("read", path, e))
    }

    fn open_file(&self, path: &str) -> Result<File, WorkspaceError> {
        let fail = |e| WorkspaceError::of("read", path, e);
        let place = self.place(path)?;
        let (dir, name) = place.enter(false).map_err(fail)?;
        let Some(name) = name else { return Err(WorkspaceError::Folder(path.to_owned())) };
        let regular = |metadata: cap_std::fs::Metadata| {
            if metadata.is_file() {
                Ok(())
            } else if metadata.is_dir() {
                Err(WorkspaceError::Folder(path.to_owned()))
            } else {
                Err(WorkspaceError::Special(path.to_owned()))
            }
        };
        // Looked at before it is opened, because opening a device may do something, and after, because it may be something else by then.
        regular(dir.symlink_metadata(name).map_err(fail)?)?;
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = dir.open_with(name, &options).map_err(fail)?;
        regular(file.metadata().map_err(fail)?)?;
        if is_made_up(&file).map_err(fail)? {
            return Err(WorkspaceError::Special(path.to_owned()));
        }
        Ok(file)
    }
}

/// Returns whether a file is the kernel's view of a process and not kept anywhere.
#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fstatfs(file)?.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "asking can fail where there is something to ask")]
fn is_made_up(_: &File) -> io::Result<bool> {
    Ok(false)
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
    fn a_huge_file_is_measured_and_not_read() {
        let (dir, workspace) = workspace();
        std::fs::File::create(dir.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(workspace.digest("sparse").unwrap(), Digest { bytes: 1 << 40, sha256: None });
        assert_eq!(workspace.ends("sparse", 1, 2).unwrap(), (vec![0], vec![0, 0]));
        assert!(matches!(workspace.read("sparse", 1 << 20), Err(WorkspaceError::TooLarge { .. })));
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

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let root = Workspace::open(std::path::Path::new("/")).unwrap();
        for path in ["dev/zero", "/dev/full", "/proc/self/environ", "proc/version"] {
            assert!(matches!(root.read(path, 99), Err(WorkspaceError::Special(_))), "{path}");
        }
    }
}
