//! Owns the record of a run on disk: one folder a run, events as JSON Lines as they happen, the result when it has ended.
//!
//! A run that cannot be recorded does not go on: both sinks are required ones. A line is written whole before the next event can happen.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::event::{Envelope, EventSink, RunEvent};

/// Where runs are recorded, below the workspace.
pub const FOLDER: &str = ".tepa/runs";

/// The events of one run, `events.jsonl`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
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
        fs::create_dir_all(&folder).map_err(|e| fail(&e))?;
        let path = folder.join("events.jsonl");
        let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(|e| fail(&e))?;
        file.try_lock().map_err(|e| fail(&e.into()))?;
        Ok(Self { file, path })
    }

    /// Returns the folder of the run.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
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
        if matches!(envelope.event, RunEvent::RunCompleted { .. }) {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// The result as indented JSON in a file of its own, there whole or not at all.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    name: String,
}

impl ResultFile {
    /// Returns a sink that will write `path`, after making sure that it can.
    ///
    /// # Errors
    /// The folder does not take a new file, or `path` is a folder: found before anything is paid for.
    pub fn at(path: PathBuf) -> Result<Self, Error> {
        let name = format!("`{}`", path.display());
        let fail = |e: &io::Error| Error::usage(format!("cannot write the result to {name}")).because(e);
        if path.is_dir() {
            return Err(fail(&io::ErrorKind::IsADirectory.into()));
        }
        draft_beside(&path).map_err(|e| fail(&e))?;
        Ok(Self { path, name })
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
        let mut draft = draft_beside(&self.path)?;
        serde_json::to_writer_pretty(&mut draft, result)?;
        draft.write_all(b"\n")?;
        draft.as_file().sync_all()?;
        draft.persist(&self.path)?;
        Ok(())
    }
}

/// Returns an unnamed draft in the folder of `path`, gone when it is dropped, with the rights that a plain new file would have.
fn draft_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tepa-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_recorded_once() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(dir.path(), "r1").unwrap();
        assert_eq!(journal.folder(), dir.path().join(".tepa/runs/r1"));
        assert!(Journal::create(dir.path(), "r1").is_err());
    }

    #[test]
    fn a_result_that_cannot_be_written_is_found_before_the_run() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ResultFile::at(dir.path().to_path_buf()).is_err());
        assert!(ResultFile::at(dir.path().join("no/such/folder.json")).is_err());
        ResultFile::at(dir.path().join("result.json")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
