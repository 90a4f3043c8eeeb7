//! Owns what GitHub Actions is told: the job's summary, outputs for later steps, annotations, and that nothing in between is a command.
//!
//! The runner obeys lines of what a step prints. So it is told to listen to nothing until a word that nobody can guess, and
//! what is said to it afterwards is escaped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use super::case::{Case, Outcome, cases};
use super::clean;
use super::fold::Report;
use super::markdown;
use crate::config::Environment;
use crate::error::Error;
use crate::event::{Envelope, EventSink};
use crate::outcome::RunStatus;
use crate::text::clean::show;

/// Bytes that a summary may have, a little less than the MiB beyond which GitHub shows nothing.
const SUMMARY: u64 = 1_000_000;

/// Annotations that GitHub shows of one step.
const ANNOTATIONS: usize = 10;

/// Characters of an annotation.
const LONGEST: usize = 1_000;

/// The GitHub Actions job that the run is a step of, or as much of it as is there.
#[derive(Debug)]
pub struct Job {
    summary: Option<File>,
    outputs: Option<File>,
    /// The word that nobody can guess, when the runner reads what is printed.
    token: Option<String>,
    seen: Arc<Mutex<Report>>,
}

impl Job {
    /// Returns the job that the environment tells of.
    ///
    /// # Errors
    /// A file that is promised to it cannot be written.
    pub fn detect(environment: &Environment) -> Result<Self, Error> {
        let open = |variable: &str| {
            let Some(path) = environment.variable(variable) else { return Ok(None) };
            let file = OpenOptions::new().append(true).create(true).open(environment.resolve(path.as_ref()));
            file.map(Some).map_err(|e| {
                Error::usage(format!("cannot write `{path}`, which `{variable}` names")).because(&e)
            })
        };
        let watched = environment.variable("GITHUB_ACTIONS") == Some("true");
        Ok(Self {
            summary: open("GITHUB_STEP_SUMMARY")?,
            outputs: open("GITHUB_OUTPUT")?,
            token: watched.then(random),
            seen: Arc::default(),
        })
    }

    /// Returns a sink that remembers the run, when anybody will ask about it.
    pub fn sink(&self) -> Option<Box<dyn EventSink>> {
        let wanted = self.summary.is_some() || self.token.is_some();
        wanted.then(|| Box::new(Watch(Arc::clone(&self.seen))) as Box<dyn EventSink>)
    }

    /// Returns what is printed before anything else: from here on no line is a command.
    pub fn silence(&self) -> String {
        self.token.as_ref().map(|token| format!("::stop-commands::{token}\n")).unwrap_or_default()
    }

    /// Returns what is printed when nothing of the run is printed any more.
    pub fn listen(&self) -> String {
        self.token.as_ref().map(|token| format!("::{token}::\n")).unwrap_or_default()
    }

    /// Returns what GitHub shows at the top of the job when the run did not pass.
    pub fn annotations(&self) -> String {
        if self.token.is_none() {
            return String::new();
        }
        annotations(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends the summary, and the outputs that tell a later step how the run ended.
    pub fn write(&mut self, outputs: &[(&str, String)]) -> io::Result<()> {
        if let Some(file) = &mut self.summary {
            let report = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let room = SUMMARY.saturating_sub(file.metadata()?.len());
            let summary = markdown::render(&report, usize::try_from(room).unwrap_or(usize::MAX));
            file.write_all(summary.as_bytes())?;
        }
        if let Some(file) = &mut self.outputs {
            file.write_all(heredocs(outputs, &random()).as_bytes())?;
        }
        Ok(())
    }
}

/// Returns the status as an output: `none` when there is no verdict.
pub fn status(status: Option<RunStatus>) -> String {
    status.map_or("none".to_owned(), super::junit::wire)
}

struct Watch(Arc<Mutex<Report>>);

impl EventSink for Watch {
    fn name(&self) -> &'static str {
        "the job's summary"
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).apply(envelope);
        Ok(())
    }

    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.emit(envelope)
    }
}

fn annotations(report: &Report) -> String {
    let bad =
        cases(report).into_iter().filter(|case| matches!(case.outcome, Outcome::Failed | Outcome::Broken));
    let line = |case: Case| {
        let title = format!("tepa: {} {}", case.kind.name(), case.name);
        let text = crate::text::truncate(&case.detail, LONGEST).into_owned();
        format!("::error title={}::{}\n", property(&clean::line(&title, LONGEST)), data(&text))
    };
    bad.take(ANNOTATIONS).map(line).collect::<Vec<_>>().concat()
}

fn heredocs(outputs: &[(&str, String)], word: &str) -> String {
    let one = |(name, value): &(&str, String)| format!("{name}<<{word}\n{value}\n{word}\n");
    outputs.iter().map(one).collect::<Vec<_>>().concat()
}

/// Returns a word that what is printed cannot know.
fn random() -> String {
    format!("tepa-{}", uuid::Uuid::new_v4().simple())
}

/// Returns text as it stands in the message of a workflow command; what the runner has no escape for is named.
pub fn data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '%' => escaped.push_str("%25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            _ => show(character, &mut escaped),
        }
    }
    escaped
}

/// Returns text as it stands in a property of a workflow command.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place_in_a_command() {
        assert_eq!(data("100%\r\n::error::x"), "100%25%0D%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
        assert_eq!(property("\u{1b}]0;x\u{7}\u{202e}"), "␛]0;x␇\\u{202e}");
    }

    #[test]
    fn an_output_ends_where_its_word_stands() {
        let outputs = [("status", "pass".to_owned()), ("result", "a\nb".to_owned())];
        assert_eq!(heredocs(&outputs, "W"), "status<<W\npass\nW\nresult<<W\na\nb\nW\n");
        assert_ne!(random(), random());
    }
}
