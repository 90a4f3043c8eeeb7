//! Owns the reports that a run writes at its end: their formats, and the sink that makes one.
//!
//! A run whose report cannot be written does not pass, and a file that cannot be written is refused before anything is paid for.

use std::io;
use std::path::Path;

use super::fold::Report;
use super::{html, junit, markdown};
use crate::error::Error;
use crate::event::{Envelope, EventSink, RunEvent};
use crate::persist::Place;

/// Bytes of a Markdown report: a comment or a summary that is longer is refused where it goes.
const LONGEST: usize = 1_000_000;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML, for CI systems.
    Junit,
    /// Markdown, for summaries and comments.
    Markdown,
    /// One page, for a browser.
    Html,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Junit, Self::Markdown, Self::Html];

    /// Returns the format's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// Returns the report in this format.
    pub fn render(self, report: &Report) -> io::Result<String> {
        match self {
            Self::Junit => Ok(junit::render(report)),
            Self::Markdown => Ok(markdown::render(report, LONGEST)),
            Self::Html => html::render(report),
        }
    }
}

/// A report in a file, there whole or not at all.
#[derive(Debug)]
pub struct ReportFile {
    format: Format,
    place: Place,
    name: String,
    report: Report,
}

impl ReportFile {
    /// Returns a sink that will write `path`, after making sure that it can.
    ///
    /// # Errors
    /// The folder does not take a new file, or `path` is a folder.
    pub fn at(format: Format, path: &Path) -> Result<Self, Error> {
        let name = format!("the {} report `{}`", format.name(), path.display());
        let place = Place::at(path);
        let place = place.map_err(|e| Error::usage(format!("cannot write {name}")).because(&e))?;
        Ok(Self { format, place, name, report: Report::default() })
    }
}

impl EventSink for ReportFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn required(&self) -> bool {
        true
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.report.apply(envelope);
        if matches!(*envelope.event, RunEvent::RunCompleted { .. }) {
            // A second last event comes when something else could not be written: the file then says so.
            self.place.write(self.format.render(&self.report)?.as_bytes())?;
        }
        Ok(())
    }

    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.report.apply(envelope);
        Ok(())
    }
}
