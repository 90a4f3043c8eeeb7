//! Owns the reading of a report from the recorded events of a run.

use std::io::BufRead;

use super::fold::Report;
use crate::event::{self, RecordError};
use crate::text;

impl Report {
    /// Returns the report of recorded events.
    ///
    /// # Errors
    /// The record cannot be read, is of another version, or is none.
    pub fn read(lines: impl BufRead) -> Result<Self, RecordError> {
        let mut report = Self::default();
        let unknown = event::read(lines, |envelope| report.apply(&envelope))?;
        if unknown > 0 {
            let facts = text::plural("fact", unknown);
            report.warnings.push(format!("the record holds {facts} that this tepa does not know"));
        }
        Ok(report)
    }
}
