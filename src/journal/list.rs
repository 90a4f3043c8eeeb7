//! Owns what is known of recorded runs without reading them whole: how each began and what became of it, both as its events have it.
//!
//! The result beside them is for whoever wants nothing else: two sources could tell one end in two ways.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Serialize;

use super::FOLDER;
use super::record::{last_line, open_record};
use crate::error::Error;
use crate::event::{self, RunEvent};
use crate::outcome::{Cost, Reason, RunResult, RunStatus};

/// The longest first line of a record that is read, in bytes: it holds the task and the configuration.
const LONGEST_START: u64 = 16 << 20;

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The id.
    pub run_id: String,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// The key under which it shares history and memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The goal.
    pub goal: String,
    /// What became of it.
    pub state: State,
    /// Why it ended; nothing as long as it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Cycles begun.
    pub cycles: u32,
    /// Tokens of all model calls.
    pub tokens_used: u64,
    /// What it cost; nothing as long as it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Wall clock, in milliseconds; nothing as long as it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// A limit, a refusal or a signal ended it.
    Terminated,
    /// It came to no verdict.
    Error,
    /// It is under way.
    Running,
    /// Its process is gone, and it left no result.
    Lost,
}

impl State {
    /// Returns what became of a run with this result.
    pub fn of(result: &RunResult) -> Self {
        match result.status {
            Some(RunStatus::Pass) => Self::Pass,
            Some(RunStatus::Fail) => Self::Fail,
            Some(RunStatus::Terminated) => Self::Terminated,
            None => Self::Error,
        }
    }

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Terminated => "terminated",
            Self::Error => "error",
            Self::Running => "running",
            Self::Lost => "lost",
        }
    }
}

/// Returns the runs recorded below `root`, the newest first; what is no record is passed over.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn list(root: &Path) -> Result<Vec<Listed>, Error> {
    newest(root, usize::MAX)
}

/// Returns at most `most` of the runs recorded below `root`, the newest first.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn newest(root: &Path, most: usize) -> Result<Vec<Listed>, Error> {
    let ids = ids(root)?;
    let folders = ids.iter().rev().map(|id| root.join(FOLDER).join(id));
    Ok(folders.filter_map(|folder| recorded(&folder)).take(most).collect())
}

/// Returns the names of all that lies where runs below `root` are recorded, the oldest first: ids begin with the time.
pub(super) fn ids(root: &Path) -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(root.join(FOLDER)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::usage(format!("cannot read `{FOLDER}`")).because(&e)),
        Ok(entries) => entries,
    };
    let mut ids: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Returns what is known of the run that is recorded in `folder`, if one is.
pub fn recorded(folder: &Path) -> Option<Listed> {
    let record = open_record(folder).ok()?;
    let file = record.get_ref();
    // The name by which it is found again.
    described(folder.file_name()?.to_str()?, file, is_held(file))
}

/// Returns whether a run is under way: whoever records it holds its lock for as long as it lives.
pub(super) fn is_held(events: &fs::File) -> bool {
    matches!(events.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}

/// Returns what these events say of the run `id`, if they are those of a run.
pub(super) fn described(id: &str, file: &fs::File, is_held: bool) -> Option<Listed> {
    let mut start = Vec::new();
    BufReader::new(file).take(LONGEST_START).read_until(b'\n', &mut start).ok()?;
    let mut first = None;
    event::read(start.as_slice(), |envelope| first = Some(envelope)).ok()?;
    let first = first?;
    let RunEvent::RunStarted { prompt, session, .. } = first.event.into_owned() else { return None };
    let result = result(file);
    let state = match &result {
        Some(result) => State::of(result),
        None if is_held => State::Running,
        None => State::Lost,
    };
    Some(Listed {
        run_id: id.to_owned(),
        started_at: first.ts,
        session,
        goal: prompt.goal.clone(),
        state,
        reason: result.as_ref().map(|result| result.reason),
        cycles: result.as_ref().map_or(0, |result| result.cycles),
        tokens_used: result.as_ref().map_or(0, |result| result.tokens_used),
        cost: result.as_ref().map(|result| result.cost),
        duration_ms: result.as_ref().map(|result| result.duration_ms),
    })
}

/// Returns the result that the last event carries.
fn result(file: &fs::File) -> Option<RunResult> {
    let mut last = None;
    event::read(last_line(file).ok()?.as_slice(), |envelope| last = Some(envelope.event.into_owned()))
        .ok()?;
    let Some(RunEvent::RunCompleted { result }) = last else { return None };
    Some(*result)
}
