//! Owns the record of a run on disk: one folder a run, events as JSON Lines as they happen, the result when it has ended.
//!
//! A run that cannot be recorded does not go on: both sinks are required ones. A line is written whole before the next event can happen.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::Error;
use crate::event::{Envelope, EventSink, RunEvent};
use crate::persist::Place;

/// Where runs are recorded, below the workspace.
pub const FOLDER: &str = ".tepa/runs";

/// The events of one run, `events.jsonl`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    folder: Dir,
    written: u64,
}

impl Journal {
    /// Creates the folder of the run `run_id` below `root` and opens its journal, locked for as long as it is open.
    pub fn create(root: &Path, run_id: &str) -> Result<Self, Error> {
        let folder = root.join(FOLDER).join(run_id);
        let fail = |e: &io::Error| {
            Error::broken(format!("cannot record the run under `{}`", folder.display()))
                .because(e)
                .hint("make the folder writable, or run without a record: `--no-journal`")
        };
        // An earlier run may have put a link there: what leads out of the workspace is not followed.
        let open = || {
            let root = Dir::open_ambient_dir(root, ambient_authority())?;
            let below = Path::new(FOLDER).join(run_id);
            root.create_dir_all(&below)?;
            let held = root.open_dir(&below)?;
            let file = held.open_with("events.jsonl", OpenOptions::new().append(true).create_new(true))?;
            let file = file.into_std();
            file.try_lock()?;
            io::Result::Ok((held, file))
        };
        let (held, file) = open().map_err(|e| fail(&e))?;
        Ok(Self { file, path: folder.join("events.jsonl"), folder: held, written: 0 })
    }

    /// Returns the sink that will write the result beside the events.
    pub fn result(&self) -> Result<ResultFile, Error> {
        let path = self.path.with_file_name("result.json");
        let place = self.folder.try_clone().and_then(|folder| Place::of(folder, "result.json".into()));
        ResultFile::new(&path, place)
    }
}

impl EventSink for Journal {
    fn name(&self) -> &'static str {
        "the journal"
    }

    fn required(&self) -> bool {
        true
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        let mut line = String::with_capacity(envelope.line.len() + 1);
        line.push_str(&envelope.line);
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.written += line.len() as u64;
        if matches!(envelope.event, RunEvent::RunCompleted { .. }) {
            self.file.sync_data()?;
            self.check_untouched()?;
        }
        Ok(())
    }
}

impl Journal {
    /// A tool that got at the journal could rewrite what it did: then nothing that it says counts.
    fn check_untouched(&self) -> io::Result<()> {
        let (ours, there) = (self.file.metadata()?, fs::metadata(&self.path)?);
        #[cfg(unix)]
        let same = {
            use std::os::unix::fs::MetadataExt as _;
            (ours.dev(), ours.ino()) == (there.dev(), there.ino())
        };
        #[cfg(not(unix))]
        let same = true;
        if same && ours.len() == self.written && there.len() == self.written {
            return Ok(());
        }
        Err(io::Error::other("it was changed by somebody else while the run went on"))
    }
}

/// The result as indented JSON in a file of its own, there whole or not at all.
#[derive(Debug)]
pub struct ResultFile {
    place: Place,
    name: String,
}

impl ResultFile {
    /// Returns a sink that will write `path`, after making sure that it can.
    ///
    /// # Errors
    /// The folder does not take a new file, or `path` is a folder: found before anything is paid for.
    pub fn at(path: &Path) -> Result<Self, Error> {
        Self::new(path, Place::at(path))
    }

    fn new(path: &Path, place: io::Result<Place>) -> Result<Self, Error> {
        let name = format!("`{}`", path.display());
        match place {
            Ok(place) => Ok(Self { place, name }),
            Err(e) => Err(Error::usage(format!("cannot write the result to {name}")).because(&e)),
        }
    }
}

impl EventSink for ResultFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn required(&self) -> bool {
        true
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        let RunEvent::RunCompleted { result } = &envelope.event else {
            return Ok(());
        };
        let mut text = serde_json::to_string_pretty(result)?;
        text.push('\n');
        self.place.write(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_recorded_once() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(dir.path(), "r1").unwrap();
        drop(journal.result().unwrap());
        assert_eq!(fs::read_dir(dir.path().join(".tepa/runs/r1")).unwrap().count(), 1);
        assert!(Journal::create(dir.path(), "r1").is_err());
    }

    #[test]
    fn a_result_that_cannot_be_written_is_found_before_the_run() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ResultFile::at(dir.path()).is_err());
        assert!(ResultFile::at(&dir.path().join("no/such/folder.json")).is_err());
        ResultFile::at(&dir.path().join("result.json")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
