//! Owns the knowledge which turns are under way: each one holds a lock on a file of its own beside the database, which ends with its process.
//!
//! A file is made, and looked at by others, only while a transaction that writes is open. So there is a row for every file, and who
//! looks never meets one that is half made.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Transaction;

use super::fault::Fault;
use crate::digest;

/// The turns that are under way.
#[derive(Debug, Default)]
pub(super) struct Living {
    /// Absent for a database that nobody else sees.
    folder: Option<PathBuf>,
    held: HashMap<String, File>,
}

impl Living {
    /// Returns the turns of the database at `path`; none of them is held yet.
    pub(super) fn beside(path: &Path) -> Self {
        Self { folder: Some(folder(path)), held: HashMap::new() }
    }

    /// Holds a turn that begins in this transaction.
    pub(super) fn enter(&mut self, _: &Transaction<'_>, turn: &str) -> Result<(), Fault> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(name(turn)))?;
        match file.try_lock() {
            Ok(()) => {
                self.held.insert(turn.to_owned(), file);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => {
                Err(Fault::said(format!("the turn `{turn}` is under way already")))
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Lets go of a turn that has ended.
    pub(super) fn leave(&mut self, turn: &str) {
        let (Some(folder), Some(held)) = (&self.folder, self.held.remove(turn)) else { return };
        // Whoever looks next removes what is left.
        let _ = fs::remove_file(folder.join(name(turn)));
        drop(held);
    }

    /// Marks the turns whose process is gone, and removes what they left; makes the folder before the first one.
    pub(super) fn sweep(&self, transaction: &Transaction<'_>) -> Result<(), Fault> {
        let Some(folder) = &self.folder else { return Ok(()) };
        make_private(folder)?;
        let mut running = transaction.prepare_cached("SELECT id FROM turns WHERE status = 'running'")?;
        let running = running.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        let mut alive = HashSet::new();
        for turn in &running {
            let name = name(turn);
            if is_locked(&folder.join(&name))? {
                alive.insert(name);
            } else {
                transaction.execute(
                    "UPDATE turns SET status = 'aborted', reason = 'process_gone' WHERE id = ?1",
                    [turn],
                )?;
            }
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let known = entry.file_name().to_str().is_some_and(|name| alive.contains(name));
            if !known && !is_locked(&entry.path())? {
                // It may have been removed by its owner just now.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
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

/// Returns the name of a turn's file, which is its id where that can be a name.
fn name(turn: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=64).contains(&turn.len()) && turn.bytes().all(plain) {
        turn.to_owned()
    } else {
        digest::sha256_of(turn)
    }
}

fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
