//! Owns the writing of files: whole or not at all, in the place that links lead to.
//!
//! It refuses what is no regular file, what its owner made read-only, tepa's records, and the project's own configuration.

use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Metadata, OpenOptions};

use super::place::Place;
use super::{PROJECT_FILE, RECORDS, Workspace, WorkspaceError};

impl Workspace {
    /// Writes a file whole or not at all, with the folders above it; returns its path as [`Workspace::relative`] does.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<String, WorkspaceError> {
        let fail = |e| WorkspaceError::of("write", path, e);
        let place = self.place(path)?;
        self.check_writable(path, &place)?;
        let folder = || WorkspaceError::Folder(path.to_owned());
        if path.ends_with('/') {
            return Err(folder());
        }
        let (dir, name) = place.enter(true).map_err(fail)?;
        let name = name.ok_or_else(folder)?;
        let old = match dir.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found.map_err(fail)?),
        };
        if let Some(old) = &old {
            check_replaceable(path, old)?;
        }
        // Short, because a name that is as long as names may be has no room for more.
        let draft = format!(".tepa-{:08x}", random());
        let written = (|| {
            let mut file = dir.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
            if let Some(old) = old {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(content)?;
            file.sync_all()?;
            dir.rename(&draft, &dir, name)
        })();
        if let Err(e) = written {
            // The draft may not exist; the error that matters is the one above.
            let _ = dir.remove_file(&draft);
            return Err(fail(e));
        }
        Ok(self.relative(path)?.to_string_lossy().replace('\\', "/"))
    }

    fn check_writable(&self, path: &str, place: &Place<'_>) -> Result<(), WorkspaceError> {
        let path = path.to_owned();
        if self.read_only {
            return Err(WorkspaceError::ReadOnly(path));
        }
        if !place.is_writable() {
            return Err(WorkspaceError::NotWritable(path));
        }
        let inside = place.path.strip_prefix(self.root()).unwrap_or(Path::new(""));
        let first = inside.iter().next().unwrap_or_default();
        // There are file systems to which upper and lower case are the same.
        if first.eq_ignore_ascii_case(RECORDS) {
            return Err(WorkspaceError::Records(path));
        }
        if first.eq_ignore_ascii_case(PROJECT_FILE) {
            return Err(WorkspaceError::Project(path));
        }
        Ok(())
    }
}

fn check_replaceable(path: &str, old: &Metadata) -> Result<(), WorkspaceError> {
    let path = path.to_owned();
    if old.is_dir() {
        return Err(WorkspaceError::Folder(path));
    }
    if !old.is_file() {
        return Err(WorkspaceError::Special(path));
    }
    if old.permissions().readonly() {
        return Err(WorkspaceError::ReadOnlyFile(path));
    }
    Ok(())
}

/// Returns a number that no other draft has by chance.
fn random() -> u32 {
    let id = uuid::Uuid::now_v7();
    let bytes = id.as_bytes();
    u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}
