//! Owns the silence while a person is asked: whoever reads a question is not to lose it under what else happens.
//!
//! Nothing is lost: what was held back is shown once there is a decision, or the run ends without one.

use std::io;

use crate::event::{Envelope, EventSink, Purpose, RunEvent};
use crate::outcome::Usage;

/// Holds events back from a renderer while a person is asked.
#[derive(Debug)]
pub struct Patient<S> {
    sink: S,
    /// What is held back; nobody is asked when there is no list.
    held: Option<Vec<Envelope<'static>>>,
}

impl<S: EventSink> Patient<S> {
    /// Returns the renderer `sink` with patience.
    pub fn new(sink: S) -> Self {
        Self { sink, held: None }
    }
}

impl<S: EventSink> EventSink for Patient<S> {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn required(&self) -> bool {
        self.sink.required()
    }

    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.sink.recall(envelope)
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        match &*envelope.event {
            RunEvent::ApprovalRequested { .. } => {
                self.held.get_or_insert_default();
            }
            RunEvent::ApprovalDecided { .. }
            | RunEvent::RunStopped { .. }
            | RunEvent::RunCompleted { .. } => {
                for held in self.held.take().unwrap_or_default() {
                    self.sink.emit(&held)?;
                }
            }
            _ => {
                if let Some(held) = &mut self.held {
                    held.push(envelope.clone().into_owned());
                    return Ok(());
                }
            }
        }
        self.sink.emit(envelope)
    }

    fn progress(&mut self, purpose: &Purpose, so_far: Usage) {
        if self.held.is_none() {
            self.sink.progress(purpose, so_far);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Decision, Subject};
    use crate::render::fixture;

    #[test]
    fn what_happens_while_a_person_is_asked_is_shown_afterwards() {
        let warning = |message: &str| RunEvent::Warning { code: "w".into(), message: message.into() };
        let asked = RunEvent::ApprovalRequested { cycle: 1, about: Subject::Plan };
        let decided = RunEvent::ApprovalDecided {
            cycle: 1,
            about: Subject::Plan,
            decision: Decision::Approved,
            by: "ada".into(),
            comment: None,
        };
        let events = [asked, warning("low"), decided, warning("after")];
        let mut sink = Patient::new(Heard::default());
        let heard: Vec<usize> = fixture::envelopes(&events)
            .iter()
            .map(|envelope| {
                sink.emit(envelope).unwrap();
                sink.sink.0.len()
            })
            .collect();
        assert_eq!(heard, [1, 1, 3, 4]);
        assert_eq!(sink.sink.0, [1, 2, 3, 4]);
    }

    /// Keeps the numbers of events.
    #[derive(Default)]
    struct Heard(Vec<u64>);

    impl EventSink for Heard {
        fn name(&self) -> &'static str {
            "the test"
        }

        fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
            self.0.push(envelope.seq);
            Ok(())
        }
    }
}
