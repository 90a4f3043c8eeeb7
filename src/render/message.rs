//! Owns the message: one thing that happened, in words, before it is known how it will be drawn.
//!
//! Plain lines and the live picture are made from the same messages, so they cannot say different things.

use super::clean;
use super::ink::{Text, Tone};
use crate::text;

/// Where in the run something happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1; 0 outside of all cycles.
    pub(super) cycle: u32,
    /// The step.
    pub(super) step: Option<String>,
    /// The tool, or several with commas between them.
    pub(super) tool: Option<String>,
}

impl Place {
    /// Returns a place that is about a whole cycle.
    pub(super) fn cycle(cycle: u32) -> Self {
        Self { cycle, ..Self::default() }
    }

    /// Returns a place within a step.
    pub(super) fn step(cycle: u32, step: &str, tool: Option<&str>) -> Self {
        Self { cycle, step: Some(step.to_owned()), tool: tool.map(ToOwned::to_owned) }
    }

    /// Returns the place in brackets as the seeds' `Logger` writes it.
    pub(super) fn brackets(&self) -> String {
        let cycle = (self.cycle > 0).then(|| format!("[cycle {}]", self.cycle));
        let step = self.step.as_ref().map(|step| format!("[step {step}]"));
        let tool = self.tool.as_ref().map(|tool| format!("({tool})"));
        [cycle, step, tool].into_iter().flatten().collect()
    }
}

/// How something ended, at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// As it should.
    Good,
    /// Not as it should.
    Bad,
    /// Not at all.
    Skipped,
}

impl Mark {
    /// Returns the sign with its tone.
    pub(super) fn sign(self) -> (Tone, &'static str) {
        match self {
            Self::Good => (Tone::Good, "✓"),
            Self::Bad => (Tone::Bad, "✗"),
            Self::Skipped => (Tone::Faint, "–"),
        }
    }
}

/// A line under the head of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Detail {
    /// Sentences, which may be wrapped.
    Prose(Tone, String),
    /// A row of a list, which may be cut.
    Row(Text),
}

/// One thing that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// Where.
    pub(super) place: Place,
    /// How it ended, if that is what the message is about.
    pub(super) mark: Option<Mark>,
    /// What.
    pub(super) head: Text,
    /// More about it, which stands behind the head when it is short and under it when it is long.
    pub(super) tail: Tail,
    /// Durations, tokens and the like, each with its unit.
    pub(super) measures: Vec<String>,
    /// What there is to say about it.
    pub(super) details: Vec<Detail>,
}

impl Message {
    /// Returns a message without details.
    pub(super) fn new(place: Place, head: Text) -> Self {
        Self { place, head, ..Self::default() }
    }

    /// Returns the message with a mark.
    #[must_use]
    pub(super) fn marked(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Returns the message with a measure more.
    #[must_use]
    pub(super) fn measured(mut self, measure: impl Into<String>) -> Self {
        self.measures.push(measure.into());
        self
    }

    /// Returns the message with each line of `text` as a detail.
    #[must_use]
    pub(super) fn prose(mut self, tone: Tone, text: &str) -> Self {
        self.details.extend(clean::lines(text).into_iter().map(|line| Detail::Prose(tone, line)));
        self
    }

    /// Returns the message with a row more.
    #[must_use]
    pub(super) fn row(mut self, row: Text) -> Self {
        self.details.push(Detail::Row(row));
        self
    }

    /// Returns the message with why something failed or was done.
    #[must_use]
    pub(super) fn because(self, reason: &str) -> Self {
        self.followed(": ", Tone::Plain, reason)
    }

    /// Returns the message with more behind `joint`.
    #[must_use]
    pub(super) fn followed(mut self, joint: &'static str, tone: Tone, text: &str) -> Self {
        self.tail = Tail { joint, tone, lines: reason(text) };
        self
    }
}

/// What stands behind a head or under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tail {
    /// What stands between head and tail on one line.
    pub(super) joint: &'static str,
    /// The tone of the lines.
    pub(super) tone: Tone,
    /// The lines.
    pub(super) lines: Vec<String>,
}

impl Default for Tail {
    fn default() -> Self {
        Self { joint: "", tone: Tone::Plain, lines: Vec::new() }
    }
}

/// Characters shown of the start of a long reason.
const REASON_HEAD: usize = 1_500;

/// Characters shown of the end of a long reason; that is where programs say what went wrong.
const REASON_TAIL: usize = 500;

/// Returns the lines of a reason; of a long one, its start and its end.
pub(super) fn reason(text: &str) -> Vec<String> {
    clean::lines(&text::head_tail(text, REASON_HEAD, REASON_TAIL))
}

/// Returns the count with its noun: `12,345 tokens`.
pub(super) fn tokens(count: u64) -> String {
    if count == 1 { "1 token".to_owned() } else { format!("{} tokens", text::grouped(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_name_only_what_applies() {
        assert_eq!(Place::default().brackets(), "");
        assert_eq!(Place::cycle(2).brackets(), "[cycle 2]");
        assert_eq!(Place::step(2, "a", Some("file_read")).brackets(), "[cycle 2][step a](file_read)");
    }
}
