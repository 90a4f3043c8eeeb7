//! Owns the reading of a report from the recorded events of a run.

use super::fold::Report;
use crate::event::{Envelope, RecordError};
use crate::text;

impl Report {
    /// Returns the report of the events that `read` hands on; it returns how many facts there are that this program does not know.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn read(
        read: impl FnOnce(&mut dyn FnMut(Envelope<'static>)) -> Result<usize, RecordError>,
    ) -> Result<Self, RecordError> {
        let mut report = Self::default();
        let unknown = read(&mut |envelope| report.apply(&envelope))?;
        if unknown > 0 {
            let facts = text::plural("fact", unknown);
            report.warnings.push(format!("the record holds {facts} that this tepa does not know"));
        }
        Ok(report)
    }
}
