//! Owns the one door through which facts leave a run: numbering, redaction, and the order in which sinks receive them.
//!
//! Each event is turned into JSON once. A sink that breaks is dropped and named; only a required one ends the run.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::{Clock, Envelope, EventSink, Form, Purpose, RunEvent, SCHEMA, Wire};
use crate::outcome::Usage;
use crate::secret::Secrets;

/// A required sink that broke.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {sink}: {source}")]
pub struct SinkError {
    /// What the sink is called.
    pub sink: String,
    /// What the operating system said.
    pub source: io::Error,
}

/// Tells sinks what happened before a run was resumed; how an attempt ended that is followed by another is told to nobody again.
pub fn recall(sinks: &mut [Box<dyn EventSink>], before: &[Envelope]) {
    let ends =
        |event: &RunEvent| matches!(event, RunEvent::RunStopped { .. } | RunEvent::RunCompleted { .. });
    for envelope in before.iter().filter(|envelope| !ends(&envelope.event)) {
        // A sink that breaks over this breaks over the next event as well, and is named then.
        for sink in &mut *sinks {
            drop(sink.recall(envelope));
        }
    }
}

/// Hands every event to every sink.
pub struct Fanout {
    run_id: String,
    seq: u64,
    clock: Arc<dyn Clock>,
    secrets: Secrets,
    sinks: Vec<Box<dyn EventSink>>,
    /// What is said right after the first event.
    opening: Vec<RunEvent>,
}

impl Fanout {
    /// Returns a fanout to `sinks`, in the order in which they receive; required ones belong first.
    pub fn new(
        run_id: String,
        clock: Arc<dyn Clock>,
        secrets: Secrets,
        sinks: Vec<Box<dyn EventSink>>,
    ) -> Self {
        Self { run_id, seq: 0, clock, secrets, sinks, opening: Vec::new() }
    }

    /// Returns the fanout with warnings from before the run, which follow its first event.
    #[must_use]
    pub fn warning(mut self, code: &str, messages: impl IntoIterator<Item = String>) -> Self {
        let warnings =
            messages.into_iter().map(|message| RunEvent::Warning { code: code.to_owned(), message });
        self.opening.extend(warnings);
        self
    }

    /// Returns the fanout of a run that goes on after these events.
    #[must_use]
    pub fn resumed(mut self, before: &[Envelope]) -> Self {
        self.seq = before.last().map_or(0, |last| last.seq);
        recall(&mut self.sinks, before);
        self
    }

    /// Numbers an event, removes secrets and hands it on.
    ///
    /// # Errors
    /// A required sink broke; it is dropped, and the sinks after it have not seen the event.
    pub fn emit(&mut self, event: &RunEvent) -> Result<(), SinkError> {
        let envelope =
            self.envelope(event).map_err(|e| SinkError { sink: "an event".to_owned(), source: e.into() })?;
        let mut broken = Vec::new();
        let mut at = 0;
        while at < self.sinks.len() {
            let sink = &mut self.sinks[at];
            match sink.emit(&envelope) {
                Ok(()) => at += 1,
                Err(source) => {
                    let error = SinkError { sink: sink.name().to_owned(), source };
                    let required = sink.required();
                    drop(self.sinks.remove(at));
                    if required {
                        return Err(error);
                    }
                    broken.push(error);
                }
            }
        }
        for warning in std::mem::take(&mut self.opening) {
            self.emit(&warning)?;
        }
        for error in broken {
            self.emit(&RunEvent::Warning { code: "output_lost".to_owned(), message: error.to_string() })?;
        }
        Ok(())
    }

    /// Keeps a text without secrets where it can be read later; returns where, unless no sink keeps any.
    ///
    /// # Errors
    /// It could not be written.
    pub fn keep(&mut self, text: &str, form: Form) -> Result<Option<String>, SinkError> {
        let text = self.secrets.redact(text);
        for sink in &mut self.sinks {
            let kept = sink.keep(&text, form);
            let kept = kept.map_err(|source| SinkError { sink: sink.name().to_owned(), source })?;
            if kept.is_some() {
                return Ok(kept);
            }
        }
        Ok(None)
    }

    /// Shows how far a model call has come.
    pub fn progress(&mut self, purpose: &Purpose, so_far: Usage) {
        for sink in &mut self.sinks {
            sink.progress(purpose, so_far);
        }
    }

    fn envelope<'e>(&mut self, event: &'e RunEvent) -> serde_json::Result<Envelope<'e>> {
        self.seq += 1;
        let ts = self.clock.now();
        let run_id = self.run_id.clone();
        let wire = Wire { schema: SCHEMA.to_owned(), seq: self.seq, ts, run_id, redacted: false, event };
        let line = serde_json::to_string(&wire)?;
        let Wire { seq, run_id, .. } = wire;
        let envelope = Envelope { seq, ts, run_id, event: Cow::Borrowed(event), redacted: false, line };
        envelope.without(&self.secrets)
    }
}

impl std::fmt::Debug for Fanout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fanout").field("run_id", &self.run_id).field("seq", &self.seq).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SystemClock;
    use secrecy::SecretString;
    use std::sync::Mutex;

    struct Collect {
        lines: Arc<Mutex<Vec<String>>>,
        breaks: bool,
        required: bool,
    }

    impl EventSink for Collect {
        fn name(&self) -> &'static str {
            "the collection"
        }

        fn required(&self) -> bool {
            self.required
        }

        fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
            if self.breaks {
                return Err(io::Error::other("full"));
            }
            self.lines.lock().unwrap().push(envelope.line.clone());
            Ok(())
        }
    }

    fn fanout(sinks: Vec<(bool, bool)>) -> (Fanout, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sinks = sinks
            .into_iter()
            .map(|(breaks, required)| {
                Box::new(Collect { lines: Arc::clone(&lines), breaks, required }) as Box<dyn EventSink>
            })
            .collect();
        let secrets = Secrets::new([SecretString::from("sk-secret-value")]);
        (Fanout::new("run".into(), Arc::new(SystemClock::default()), secrets, sinks), lines)
    }

    fn warning(message: &str) -> RunEvent {
        RunEvent::Warning { code: "w".into(), message: message.into() }
    }

    #[test]
    fn no_sink_ever_sees_a_secret() {
        let (mut fanout, lines) = fanout(vec![(false, false)]);
        fanout.emit(&warning("key sk-secret-value leaked")).unwrap();
        assert!(lines.lock().unwrap()[0].contains("key *** leaked"));
    }

    #[test]
    fn a_sink_that_breaks_is_dropped_and_the_others_are_told_once() {
        let (mut fanout, lines) = fanout(vec![(true, false), (false, false)]);
        fanout.emit(&warning("one")).unwrap();
        fanout.emit(&warning("two")).unwrap();
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("cannot write the collection: full"), "{}", lines[1]);
    }

    #[test]
    fn a_required_sink_that_breaks_is_an_error() {
        let (mut fanout, _) = fanout(vec![(true, true)]);
        assert_eq!(
            fanout.emit(&warning("one")).unwrap_err().to_string(),
            "cannot write the collection: full"
        );
    }
}
