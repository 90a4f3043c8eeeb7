//! Owns the key-value store that lives as long as a run: steps, planner and evaluator see the same one.
//!
//! Keys that begin with `_` belong to the pipeline; a step that tries to write one is refused.

use std::sync::Arc;

use serde_json::Value;

use crate::outcome::Entries;

/// The key under which the pipeline keeps the results of the last cycle.
pub const EXECUTION_SUMMARY: &str = "_execution_summary";

/// Why a value was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScratchpadError {
    /// The key belongs to the pipeline.
    #[error("the scratchpad key `{0}` is reserved: keys that begin with `_` can be read only")]
    Reserved(String),
    /// The tool does not say that it writes.
    #[error("the scratchpad can be written by tools that say so (`Tool::notes`), and this one does not")]
    Undeclared,
}

/// The store, in the order in which keys were first written; a clone shares what is in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scratchpad {
    entries: Arc<Entries>,
}

impl Scratchpad {
    /// Returns the value of `key`.
    pub fn read(&self, key: &str) -> Option<&Value> {
        self.entries.get(key).map(AsRef::as_ref)
    }

    /// Returns whether `key` exists.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Writes a value for a step.
    pub fn write(&mut self, key: &str, value: impl Into<Arc<Value>>) -> Result<(), ScratchpadError> {
        if key.starts_with('_') {
            return Err(ScratchpadError::Reserved(key.to_owned()));
        }
        self.record(key, value);
        Ok(())
    }

    /// Writes a value for the pipeline itself; every key is open to it.
    pub fn record(&mut self, key: &str, value: impl Into<Arc<Value>>) {
        Arc::make_mut(&mut self.entries).insert(key.to_owned(), value.into());
    }

    /// Returns all entries.
    pub fn entries(&self) -> &Arc<Entries> {
        &self.entries
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries = Arc::default();
    }
}

impl From<Entries> for Scratchpad {
    fn from(entries: Entries) -> Self {
        Self { entries: Arc::new(entries) }
    }
}
