//! Owns scripted runs for the tests of the renderers, and the comparison with what they should look like.
//!
//! `TEPA_BLESS=1` rewrites the expectations instead of comparing them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use crate::event::{Envelope, RunEvent, SCHEMA, Wire};

/// A writer that fails always, in one way.
pub(super) struct Broken(pub(super) io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a run that fails in its first cycle and passes in its second.
pub(super) fn run() -> Vec<RunEvent> {
    events(include_str!("fixtures/run.jsonl"))
}

/// Returns a run that is interrupted while two of its steps run.
pub(super) fn stopped() -> Vec<RunEvent> {
    events(include_str!("fixtures/stopped.jsonl"))
}

/// Returns a run in which every text tries to be something else.
pub(super) fn hostile() -> Vec<RunEvent> {
    events(include_str!("fixtures/hostile.jsonl"))
}

/// Returns the events as sinks receive them.
pub(super) fn envelopes(events: &[RunEvent]) -> Vec<Envelope<'static>> {
    events.iter().zip(1..).map(|(event, seq)| envelope(event, seq)).collect()
}

fn envelope(event: &RunEvent, seq: u64) -> Envelope<'static> {
    let ts = jiff::Timestamp::UNIX_EPOCH;
    let run_id = "01890000-0000-7000-8000-000000000000".to_owned();
    let wire = Wire { schema: SCHEMA.to_owned(), seq, ts, run_id: run_id.clone(), redacted: false, event };
    let line = serde_json::to_string(&wire).unwrap();
    Envelope { seq, ts, run_id, event: Cow::Owned(event.clone()), redacted: false, line }
}

fn events(lines: &str) -> Vec<RunEvent> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Compares with a file of `fixtures/`.
pub(super) fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render/fixtures").join(name);
    if std::env::var_os("TEPA_BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(actual, expected, "{name} is not as expected:\n{actual}");
}
