//! Owns what a tool is handed for one call: the workspace, the scratchpad, the environment of its children, and a place for what it observes.
//!
//! A tool cannot reach the events or the state of the run; the pipeline collects its observations after the call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::scratchpad::{Scratchpad, ScratchpadError};
use crate::outcome::LogLevel;
use crate::process::Setting;
use crate::workspace::Workspace;

/// Something that a call did beside returning a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// A value was written to the scratchpad.
    Scratchpad {
        /// The key.
        key: String,
        /// The value.
        value: Arc<Value>,
    },
    /// An entry for the run's logs.
    Log {
        /// How weighty it is.
        level: LogLevel,
        /// The text.
        message: String,
    },
    /// A file was written, relative to the workspace.
    Wrote(String),
}

/// What a tool is handed for one call.
#[derive(Debug)]
pub struct ToolContext {
    workspace: Arc<Workspace>,
    setting: Arc<Setting>,
    timeout: Duration,
    now: jiff::Timestamp,
    /// Whether the scratchpad may be written.
    notes: bool,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    scratchpad: Scratchpad,
    observations: Vec<Observation>,
}

impl ToolContext {
    /// Returns the context of one call that began at `now` and may take as long as `timeout`.
    pub fn new(
        workspace: Arc<Workspace>,
        scratchpad: Scratchpad,
        setting: Arc<Setting>,
        timeout: Duration,
        now: jiff::Timestamp,
    ) -> Self {
        let seen = Mutex::new(Seen { scratchpad, observations: Vec::new() });
        Self { workspace, setting, timeout, now, notes: false, seen }
    }

    /// Returns the context of a call that may write the scratchpad if its tool says that it does.
    #[must_use]
    pub fn noting(self, notes: bool) -> Self {
        Self { notes, ..self }
    }

    /// Returns what the call may read and write.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Returns the whole environment of a child process; provider keys are not in it.
    pub fn child_environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.setting.environment
    }

    /// Returns how child processes are started: in what environment, confined by whom.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Returns the longest that the call may take (`limits.toolTimeout`); the pipeline enforces it.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns when the call began.
    pub fn now(&self) -> jiff::Timestamp {
        self.now
    }

    /// Returns the value of a scratchpad key, this call's own writes included.
    pub fn read_scratchpad(&self, key: &str) -> Option<Value> {
        self.seen().scratchpad.read(key).cloned()
    }

    /// Writes a scratchpad key.
    ///
    /// # Errors
    /// The key belongs to the pipeline, or the tool does not say that it writes the scratchpad: then others do not wait for it.
    pub fn write_scratchpad(&self, key: &str, value: Value) -> Result<(), ScratchpadError> {
        if !self.notes {
            return Err(ScratchpadError::Undeclared);
        }
        let value = Arc::new(value);
        let mut seen = self.seen();
        seen.scratchpad.write(key, Arc::clone(&value))?;
        seen.observations.push(Observation::Scratchpad { key: key.to_owned(), value });
        Ok(())
    }

    /// Adds an entry to the run's logs.
    pub fn log(&self, level: LogLevel, message: &str) {
        self.seen().observations.push(Observation::Log { level, message: message.to_owned() });
    }

    /// Says that the call wrote a file, relative to the workspace.
    pub fn wrote(&self, path: &str) {
        self.seen().observations.push(Observation::Wrote(path.to_owned()));
    }

    /// Returns what the call observed so far, once.
    pub fn take_observations(&self) -> Vec<Observation> {
        std::mem::take(&mut self.seen().observations)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        // A tool that panicked while it held the lock left whole values behind: each is written in one statement.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
