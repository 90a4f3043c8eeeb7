//! Owns the record of a run on disk: one folder a run, events as JSON Lines as they happen, the result when it has ended.
//!
//! A run that cannot be recorded does not go on: both sinks are required ones. A line is written whole before the next event can happen.

mod gc;
mod list;
mod outputs;
mod record;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::Error;
use crate::event::{Envelope, EventSink, Form, RunEvent};
use crate::outcome::Effect;
use crate::persist::Place;

use outputs::Outputs;

pub use gc::{Going, Rule, Shelf};
pub use list::{Listed, State, list, newest, recorded};
pub use record::{Whole, open_record, read, read_whole};

/// Where runs are recorded, below the workspace.
pub const FOLDER: &str = ".tepa/runs";

/// The file of a run's events, in its folder.
pub const EVENTS: &str = "events.jsonl";

/// The file of a run's result, in its folder.
pub const RESULT: &str = "result.json";

/// The name of the newest run.
pub const LATEST: &str = "latest";

/// Returns the folder of the run below `root` that `name` names: its id, the beginning of its id, or [`LATEST`].
///
/// # Errors
/// There is no such run, or more than one.
pub fn find(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let folder = root.join(FOLDER);
    let ids = list::ids(root)?;
    let found: Vec<&String> = match name {
        LATEST => ids.last().into_iter().collect(),
        "" => Vec::new(),
        name => ids.iter().filter(|id| id.starts_with(name)).collect(),
    };
    match found.as_slice() {
        [id] => Ok(folder.join(id)),
        [] if ids.is_empty() => Err(Error::usage(format!("no run is recorded under `{FOLDER}`"))
            .hint("run a task here, or say where with `-C DIR`")),
        [] => Err(Error::usage(format!("no run under `{FOLDER}` is called `{name}`"))
            .hint(format!("the newest is `{}`", ids[ids.len() - 1]))),
        [id, ..] if *id == name => Ok(folder.join(id)),
        several => Err(Error::usage(format!("`{name}` is the beginning of {} runs", several.len()))
            .hint("give more of the id")),
    }
}

/// The events of one run.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    folder: Dir,
    written: u64,
    outputs: Outputs,
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
            let file = held.open_with(EVENTS, OpenOptions::new().append(true).create_new(true))?;
            let file = file.into_std();
            file.try_lock()?;
            io::Result::Ok((held, file))
        };
        let (held, file) = open().map_err(|e| fail(&e))?;
        let outputs = Outputs::of(&format!("{FOLDER}/{run_id}"));
        Ok(Self { file, path: folder.join(EVENTS), folder: held, written: 0, outputs })
    }

    /// Opens the journal of a run below `root` that broke off, locked, to go on after its first `whole` bytes: the whole lines that were read.
    ///
    /// # Errors
    /// The run is under way, or its record is not what was read.
    pub fn resume(root: &Path, run_id: &str, whole: u64) -> Result<Self, Error> {
        let folder = root.join(FOLDER).join(run_id);
        let fail = |e: &io::Error| Error::usage(format!("the run `{run_id}` cannot be resumed")).because(e);
        let open = || {
            let root = Dir::open_ambient_dir(root, ambient_authority())?;
            let held = root.open_dir(Path::new(FOLDER).join(run_id))?;
            let mut options = OpenOptions::new();
            options.read(true).append(true).follow(FollowSymlinks::No).nonblock(true);
            let file = held.open_with(EVENTS, &options)?.into_std();
            file.try_lock().map_err(|e| match e {
                TryLockError::WouldBlock => io::Error::other("it is under way in another process"),
                TryLockError::Error(e) => e,
            })?;
            let length = file.metadata()?.len();
            let mut torn = Vec::new();
            (&file).seek(SeekFrom::Start(whole))?;
            (&file).take(length.saturating_sub(whole)).read_to_end(&mut torn)?;
            if length < whole || torn.contains(&b'\n') {
                return Err(io::Error::other("somebody else has written its record meanwhile"));
            }
            // The rest of a line that was being written: nothing came of what it would have said.
            file.set_len(whole)?;
            file.sync_data()?;
            io::Result::Ok((held, file))
        };
        let (held, file) = open().map_err(|e| fail(&e))?;
        let outputs = Outputs::of(&format!("{FOLDER}/{run_id}"));
        Ok(Self { file, path: folder.join(EVENTS), folder: held, written: whole, outputs })
    }

    /// Returns the sink that will write the result beside the events.
    pub fn result(&self) -> Result<ResultFile, Error> {
        let path = self.path.with_file_name(RESULT);
        let place = self.folder.try_clone().and_then(|folder| Place::of(folder, RESULT.into()));
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

    fn keep(&mut self, text: &str, form: Form) -> io::Result<Option<String>> {
        let kept = self.outputs.keep(&self.folder, text, form)?;
        Ok(Some(self.outputs.path(&kept)))
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        // What is about to change something has to be known of even after the machine has lost its power.
        let is_awaited = matches!(
            *envelope.event,
            RunEvent::ToolStarted { effect: Effect::Writes, .. } | RunEvent::RunCompleted { .. }
        );
        let line = self.outputs.line(&self.folder, envelope)?;
        let line = format!("{line}\n");
        self.file.write_all(line.as_bytes())?;
        self.written += line.len() as u64;
        if is_awaited {
            self.file.sync_data()?;
        }
        if matches!(*envelope.event, RunEvent::RunCompleted { .. }) {
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
        let RunEvent::RunCompleted { result } = &*envelope.event else {
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
    fn a_run_is_found_by_its_id_by_its_beginning_or_as_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let find = |name: &str| find(dir.path(), name).map_err(|e| e.to_string());
        assert_eq!(find("latest").unwrap_err(), "no run is recorded under `.tepa/runs`");
        for id in ["0198-b", "0198-a", "0197"] {
            Journal::create(dir.path(), id).unwrap();
        }
        let folder = |id: &str| dir.path().join(FOLDER).join(id);
        assert_eq!(find("latest").unwrap(), folder("0198-b"));
        assert_eq!(find("0197").unwrap(), folder("0197"));
        assert_eq!(find("0198-a").unwrap(), folder("0198-a"));
        assert_eq!(find("0198").unwrap_err(), "`0198` is the beginning of 2 runs");
        assert_eq!(find("../..").unwrap_err(), "no run under `.tepa/runs` is called `../..`");
        assert!(find("").is_err());
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
