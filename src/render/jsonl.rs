//! Owns the output for programs: every event as the line that it is, flushed at once.
//!
//! It adds nothing and leaves nothing out; the line comes from the envelope, which is free of secrets.

use std::io::{self, Write};

use super::valve::Valve;
use crate::event::{Envelope, EventSink};

/// Writes one JSON object a line.
#[derive(Debug)]
pub struct Jsonl<W> {
    out: W,
    valve: Valve,
}

impl<W: Write + Send> Jsonl<W> {
    /// Returns a sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, valve: Valve::default() }
    }
}

impl<W: Write + Send> EventSink for Jsonl<W> {
    fn name(&self) -> &'static str {
        "the event stream"
    }

    /// It is the data of the run: a reader who goes away has read enough, but a full disk must not look like a pass.
    fn required(&self) -> bool {
        true
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        let out = &mut self.out;
        self.valve.pass(|| {
            let mut line = String::with_capacity(envelope.line.len() + 1);
            line.push_str(&envelope.line);
            line.push('\n');
            out.write_all(line.as_bytes())?;
            out.flush()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixture;

    #[test]
    fn every_event_is_its_line() {
        let mut written = Vec::new();
        let mut sink = Jsonl::new(&mut written);
        let envelopes = fixture::envelopes(&fixture::run());
        for envelope in &envelopes {
            sink.emit(envelope).unwrap();
        }
        let lines: Vec<String> = String::from_utf8(written).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines, envelopes.iter().map(|envelope| envelope.line.clone()).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_who_went_away_ends_the_printing_quietly() {
        let mut sink = Jsonl::new(fixture::Broken(io::ErrorKind::BrokenPipe));
        for envelope in fixture::envelopes(&fixture::run()) {
            sink.emit(&envelope).unwrap();
        }
    }

    #[test]
    fn a_full_disk_is_told_once() {
        let mut sink = Jsonl::new(fixture::Broken(io::ErrorKind::StorageFull));
        let faults = fixture::envelopes(&fixture::run())
            .iter()
            .filter(|envelope| sink.emit(envelope).is_err())
            .count();
        assert_eq!(faults, 1);
    }
}
