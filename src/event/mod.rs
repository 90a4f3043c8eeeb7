//! Owns the facts of a run: immutable, numbered, serializable, in the order in which they happened.
//!
//! An event can be shown, stored and reported; it can never change a run. That is what a [`crate::hook`] does.

mod clock;
mod fact;
mod fanout;
mod kept;
mod purpose;
mod record;

use std::borrow::Cow;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::Usage;
use crate::secret::Secrets;
use crate::source::schema_of_output;

pub use clock::{Clock, SystemClock};
pub use fact::{Decision, Given, HookOutcome, NOBODY, RunEvent, Subject, ToolUse};
pub use fanout::{Fanout, SinkError, recall};
pub use kept::{Form, Kept};
pub use purpose::{Purpose, Role};
pub use record::{RecordError, read, read_whole};

/// The version of the wire format; within a version, fields and types are only ever added.
pub const SCHEMA: &str = "tepa.events/1";

/// An event with its place in the run, as sinks receive it.
#[derive(Debug, Clone)]
pub struct Envelope<'e> {
    /// From 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub ts: jiff::Timestamp,
    /// The run.
    pub run_id: String,
    /// The fact, free of secrets.
    pub event: Cow<'e, RunEvent>,
    /// Whether secrets were taken out of it: then it does not say all that happened.
    pub redacted: bool,
    /// The whole as one line of JSON without a line break, free of secrets.
    pub line: String,
}

impl Envelope<'_> {
    /// Returns the same without `secrets`.
    ///
    /// # Errors
    /// Without them it is no event any more.
    pub fn without(self, secrets: &Secrets) -> serde_json::Result<Self> {
        if let Cow::Borrowed(_) = secrets.redact(&self.line) {
            return Ok(self);
        }
        let Self { seq, ts, run_id, event, .. } = self;
        let wire = Wire { schema: SCHEMA.to_owned(), seq, ts, run_id, redacted: true, event: &*event };
        let line = secrets.redact(&serde_json::to_string(&wire)?).into_owned();
        let Wire { run_id, event, .. } = serde_json::from_str::<Wire<RunEvent>>(&line)?;
        Ok(Self { seq, ts, run_id, event: Cow::Owned(event), redacted: true, line })
    }

    /// Returns the same for whoever keeps it longer than the fact is lent.
    pub fn into_owned(self) -> Envelope<'static> {
        let Self { seq, ts, run_id, event, redacted, line } = self;
        Envelope { seq, ts, run_id, event: Cow::Owned(event.into_owned()), redacted, line }
    }
}

/// The form of an envelope on the wire.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "tepa event", description = "A fact of a run: one line of JSON.")]
pub struct Wire<E> {
    /// The form of the line, with its version.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// From 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub ts: jiff::Timestamp,
    /// The run.
    pub run_id: String,
    /// Whether secrets were taken out of the line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// The fact.
    #[serde(flatten)]
    pub event: E,
}

/// Returns the published schema of one event.
pub fn schema() -> Value {
    schema_of_output::<Wire<RunEvent>>("event")
}

/// Receives every event of a run, in order.
pub trait EventSink: Send {
    /// What the sink is called when it breaks.
    fn name(&self) -> &str;

    /// Whether the run must not go on without this sink.
    fn required(&self) -> bool {
        false
    }

    /// Takes one event.
    fn emit(&mut self, envelope: &Envelope) -> io::Result<()>;

    /// Takes an event from before the run was resumed. What stores events has it already; what makes one whole of them needs it again.
    fn recall(&mut self, _: &Envelope) -> io::Result<()> {
        Ok(())
    }

    /// Keeps a text; returns the path below the workspace where it can be read, or nothing where this is not the place for it.
    fn keep(&mut self, _: &str, _: Form) -> io::Result<Option<String>> {
        Ok(None)
    }

    /// Takes how far a model call has come; not a fact, so nothing keeps it.
    fn progress(&mut self, _: &Purpose, _: Usage) {}
}
