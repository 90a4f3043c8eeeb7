//! Owns the knowledge which turns are under way: each one holds a lock on a file of its own beside the database, which ends with its process.
//!
//! A file is made, and looked at by others, only while a transaction that writes is open. So there is a row for every file, and who
//! looks never meets one that is half made.
//!
//! The folder of these files may come with a clone, and a command of an earlier run may have put anything there: a link in its place is
//! refused, only regular files are opened, and only what has a name of ours is removed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, OpenOptions};
use rusqlite::Transaction;
use uuid::Uuid;

use super::fault::Fault;
use crate::digest;

/// The turns that are under way.
#[derive(Debug, Default)]
pub(super) struct Living {
    /// Absent for a database that nobody else sees.
    folder: Option<Folder>,
    held: HashMap<String, File>,
}

impl Living {
    /// Returns the turns of the database at `path`; none of them is held yet.
    pub(super) fn beside(path: &Path) -> Result<Self, Fault> {
        Ok(Self { folder: Some(Folder::beside(path)?), held: HashMap::new() })
    }

    /// Holds a turn that begins in this transaction.
    pub(super) fn enter(&mut self, _: &Transaction<'_>, turn: &str) -> Result<(), Fault> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let (dir, name) = (folder.open()?, name(turn));
        let file = match dir.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Fault::said(if is_locked(&dir, &name)? {
                    format!("the turn `{turn}` is under way already")
                } else {
                    format!("`{name}` is in the way in `{}`: remove it", folder.path.display())
                }));
            }
            file => file?.into_std(),
        };
        file.try_lock().map_err(io::Error::from)?;
        self.held.insert(turn.to_owned(), file);
        Ok(())
    }

    /// Lets go of a turn that has ended.
    pub(super) fn leave(&mut self, turn: &str) {
        let (Some(folder), Some(held)) = (&self.folder, self.held.remove(turn)) else { return };
        // Whoever looks next removes what is left.
        let _ = folder.open().map(|dir| dir.remove_file(name(turn)));
        drop(held);
    }

    /// Marks the turns whose process is gone, and removes what they left; makes the folder before the first one.
    pub(super) fn sweep(&self, transaction: &Transaction<'_>) -> Result<(), Fault> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let dir = folder.open()?;
        let mut running = transaction.prepare_cached("SELECT id FROM turns WHERE status = 'running'")?;
        let running = running.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let mut alive = HashSet::new();
        for turn in &running {
            let name = name(turn);
            if is_locked(&dir, &name)? {
                alive.insert(name);
            } else {
                transaction.execute(
                    "UPDATE turns SET status = 'aborted', reason = 'process_gone' WHERE id = ?1",
                    [turn],
                )?;
            }
        }
        for entry in dir.entries()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let left = is_name(&name) && !alive.contains(&name) && entry.file_type()?.is_file();
            if left && !is_locked(&dir, &name)? {
                // It may have been removed by its owner just now.
                let _ = dir.remove_file(&name);
            }
        }
        Ok(())
    }
}

/// Where the files lie: a name in a folder that is held open.
#[derive(Debug)]
struct Folder {
    parent: Dir,
    name: OsString,
    /// For messages.
    path: PathBuf,
}

impl Folder {
    fn beside(database: &Path) -> Result<Self, Fault> {
        let path = folder(database);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::said(format!("`{}` is no folder", path.display())));
        };
        let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
        Ok(Self { parent, name: name.to_owned(), path })
    }

    /// Opens the folder, which is made if it is not there.
    fn open(&self) -> Result<Dir, Fault> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match self.parent.create_dir_with(&self.name, &builder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        if !self.parent.symlink_metadata(&self.name)?.is_dir() {
            return Err(Fault::said(format!(
                "`{}` has to be a folder, and no link to one: remove it, or name another file in `turn.store.path`",
                self.path.display()
            )));
        }
        Ok(self.parent.open_dir_nofollow(&self.name)?)
    }
}

/// Returns where the files of turns that are under way lie.
pub(super) fn folder(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".running");
    name.into()
}

/// Makes a folder, with those above it, that nobody else can look into.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the name of a turn's file, which is its id where that is a UUID.
fn name(turn: &str) -> String {
    if is_uuid(turn) { turn.to_owned() } else { digest::sha256_of(turn) }
}

/// Returns whether a file may have been given this name by [`name`].
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    is_uuid(name) || name.len() == 64 && name.bytes().all(plain)
}

fn is_uuid(text: &str) -> bool {
    Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text)
}

/// Returns whether somebody holds a file. What is none, a pipe for example, is not even opened: that could take for ever.
fn is_locked(dir: &Dir, name: &str) -> io::Result<bool> {
    let file = match dir.symlink_metadata(name) {
        Ok(found) if !found.is_file() => return Ok(false),
        Ok(_) => {
            let mut options = OpenOptions::new();
            // It may be something else by now.
            dir.open_with(name, options.read(true).follow(FollowSymlinks::No).nonblock(true))
        }
        Err(error) => Err(error),
    };
    match file.map(|file| file.into_std().try_lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) | Ok(Err(TryLockError::Error(error))) => Err(error),
        Ok(Ok(())) => Ok(false),
        Ok(Err(TryLockError::WouldBlock)) => Ok(true),
    }
}
