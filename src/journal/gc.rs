//! Owns the removal of records: which runs go, and how one leaves the disk.
//!
//! Everything is reached from a handle on the folder of records, and no link is followed: what lies there may have been put there by a run. What
//! is no record of a run stays, and so does a run that anybody holds.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::list::{described, is_held};
use super::record::MOST;
use super::{EVENTS, FOLDER, Listed, State};
use crate::error::Error;
use crate::outcome::Reason;

/// Which runs go: those of which all that is said here holds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rule {
    /// How many of the newest stay.
    pub keep: usize,
    /// They began before this.
    pub before: Option<jiff::Timestamp>,
    /// Whether those go as well that could be resumed.
    pub resumable: bool,
}

impl Rule {
    fn takes(&self, run: &Listed) -> bool {
        let resumable = run.state == State::Lost || run.reason.is_some_and(Reason::goes_on);
        self.before.is_none_or(|before| run.started_at < before) && (self.resumable || !resumable)
    }
}

/// A run that is to go.
#[derive(Debug, Clone)]
pub struct Going {
    /// The run.
    pub run: Listed,
    /// What all files of its folder hold, in bytes.
    pub bytes: u64,
}

/// The folder of records, held open.
#[derive(Debug)]
pub struct Shelf(Dir);

impl Shelf {
    /// Opens the folder of records below `root`; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be opened, or a link leads to it.
    pub fn open(root: &Path) -> Result<Option<Self>, Error> {
        let root = Dir::open_ambient_dir(root, ambient_authority());
        let below = |dir: Dir, name| dir.open_dir_nofollow(Path::new(name));
        match root.and_then(|root| FOLDER.split('/').try_fold(root, below)) {
            Ok(dir) => Ok(Some(Self(dir))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::usage(format!("cannot open `{FOLDER}` itself")).because(&e)),
        }
    }

    /// Returns the runs that `rule` takes, the newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn going(&self, rule: &Rule) -> Result<Vec<Going>, Error> {
        let entries =
            self.0.entries().map_err(|e| Error::usage(format!("cannot read `{FOLDER}`")).because(&e))?;
        let mut ids: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        ids.sort_unstable();
        let found = ids.iter().rev().filter_map(|id| {
            let (folder, events) = self.record(id).ok()?;
            let held = is_held(&events);
            Some((described(id, &events, held)?, held, folder))
        });
        let old = found.skip(rule.keep).filter(|(run, held, _)| !held && rule.takes(run));
        Ok(old.map(|(run, _, folder)| Going { run, bytes: size(&folder) }).collect())
    }

    /// Removes a run with everything in its folder.
    ///
    /// # Errors
    /// It is not what it was when it was chosen, or something in its folder cannot be removed; then its record is still there.
    pub fn remove(&self, Going { run, .. }: &Going) -> io::Result<()> {
        let (folder, events) = self.record(&run.run_id)?;
        events.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => io::Error::other("it is in use by another process"),
            TryLockError::Error(e) => e,
        })?;
        if described(&run.run_id, &events, false).as_ref() != Some(run) {
            return Err(io::Error::other("it has gone on meanwhile"));
        }
        let entries = folder.entries()?.collect::<io::Result<Vec<_>>>()?;
        // The events last: what is left of a removal that was cut short is still a record, and goes the next time.
        for entry in entries.iter().filter(|entry| entry.file_name() != EVENTS) {
            if entry.file_type()?.is_dir() {
                folder.remove_dir_all(entry.file_name())?;
            } else {
                folder.remove_file_or_symlink(entry.file_name())?;
            }
        }
        folder.remove_file(EVENTS)?;
        self.0.remove_dir(&run.run_id)
    }

    /// Opens the folder of a run and its events.
    fn record(&self, id: &str) -> io::Result<(Dir, File)> {
        let folder = self.0.open_dir_nofollow(id)?;
        let mut options = OpenOptions::new();
        // Opening a pipe would wait for whoever writes to it.
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let events = folder.open_with(EVENTS, &options)?.into_std();
        let metadata = events.metadata()?;
        if !metadata.is_file() || metadata.len() > MOST {
            return Err(io::Error::other(format!("`{EVENTS}` is no record")));
        }
        Ok((folder, events))
    }
}

/// Returns what the files below a folder hold, as far as it can be seen.
fn size(folder: &Dir) -> u64 {
    let entries = folder.entries().into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => {
            folder.open_dir_nofollow(entry.file_name()).map_or(0, |below| size(&below))
        }
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use std::fs;

    const STARTED: &str = r#"{"schema":"tepa.events/1","seq":1,"ts":"2026-01-01T00:00:00Z","runId":"r","type":"run.started","version":"0","provider":"replay","prompt":{"goal":"g","context":{},"expectedOutput":[{"path":"o","description":"o"}]},"config":{},"tools":[]}"#;

    /// Returns the shelf of a folder in which the run `r` began and was lost.
    fn lost(root: &Path) -> Shelf {
        drop(Journal::create(root, "r").unwrap());
        fs::write(root.join(FOLDER).join("r").join(EVENTS), format!("{STARTED}\n")).unwrap();
        Shelf::open(root).unwrap().unwrap()
    }

    #[test]
    fn what_is_held_or_has_gone_on_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = lost(dir.path());
        let rule = Rule { resumable: true, ..Rule::default() };
        let going = shelf.going(&rule).unwrap();
        assert_eq!((going.len(), going[0].bytes), (1, STARTED.len() as u64 + 1));
        assert!(shelf.going(&Rule::default()).unwrap().is_empty());
        let events = dir.path().join(FOLDER).join("r").join(EVENTS);
        let held = File::open(&events).unwrap();
        held.lock().unwrap();
        assert!(shelf.going(&rule).unwrap().is_empty());
        assert_eq!(shelf.remove(&going[0]).unwrap_err().to_string(), "it is in use by another process");
        drop(held);
        fs::write(&events, format!("{}\n", STARTED.replace("\"g\"", "\"another\""))).unwrap();
        assert_eq!(shelf.remove(&going[0]).unwrap_err().to_string(), "it has gone on meanwhile");
        shelf.remove(&shelf.going(&rule).unwrap()[0]).unwrap();
        assert!(dir.path().join(FOLDER).exists() && !events.exists());
    }
}
