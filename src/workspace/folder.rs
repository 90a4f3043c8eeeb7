//! Owns walks: an open folder, what is in it, and the way down, which follows no links.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::{Facts, Workspace, WorkspaceError};

/// An open folder of the workspace: what is listed is in there, whatever its path leads to by now.
#[derive(Debug)]
pub struct Folder<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    dir: Dir,
}

/// One name in a folder.
#[derive(Debug)]
pub struct Entry {
    /// The name, which may hold anything.
    pub name: OsString,
    /// What it names.
    pub kind: EntryKind,
}

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, wherever it leads.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

impl Workspace {
    /// Opens a folder for a walk.
    pub fn open_folder(&self, path: &str) -> Result<Folder<'_>, WorkspaceError> {
        let place = self.place(path)?;
        let dir = place.folder().map_err(|e| WorkspaceError::of("open", path, e))?;
        Ok(Folder { workspace: self, path: place.path, dir })
    }
}

impl Folder<'_> {
    /// Returns what is in the folder, in no order; an entry that went away in between is left out.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<Entry>>> {
        Ok(self.dir.entries()?.filter_map(|entry| {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            if self.workspace.hidden.contains(&self.path.join(entry.file_name())) {
                return None;
            }
            let kind = entry.file_type().ok()?;
            let kind = if kind.is_dir() {
                EntryKind::Folder
            } else if kind.is_symlink() {
                EntryKind::Link
            } else if kind.is_file() {
                EntryKind::File
            } else {
                EntryKind::Special
            };
            Some(Ok(Entry { name: entry.file_name(), kind }))
        }))
    }

    /// Opens the folder `name` in here, which must not be a link.
    pub fn descend(&self, name: &OsStr) -> io::Result<Self> {
        let dir = self.dir.open_dir_nofollow(name)?;
        Ok(Self { workspace: self.workspace, path: self.path.join(name), dir })
    }

    /// Returns what is known of that to which the link `name` leads, if that is in the workspace.
    pub fn behind(&self, name: &OsStr) -> Option<Facts> {
        Some(self.workspace.place(self.path.join(name)).ok()?.metadata().ok()?.into())
    }
}
