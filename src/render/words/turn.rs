//! Owns what is said about the stages around the cycles and about what they give the models.

use crate::render::ink::{Text, Tone};
use crate::render::message::{Message, Place};
use crate::text;
use crate::turn::{Assembled, Scope, StageOutcome, Trace};

/// Returns what the models are given beside the task, and what had to go for lack of room.
pub(super) fn known(cycle: u32, context: &Assembled) -> Vec<Message> {
    let counts = [
        ("rule", context.standing_instructions.len()),
        ("memory", context.memories.len()),
        ("passage", context.retrievables.len()),
        ("message", context.messages.len()),
        ("thought", context.thoughts.len()),
        ("tool result", context.tool_calls.len()),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(noun, count)| text::plural(noun, count)).collect();
    if counts.is_empty() && context.trace.is_none() {
        return Vec::new();
    }
    let known = if counts.is_empty() { "nothing".to_owned() } else { text::joined(counts, "and") };
    let place = if cycle == 0 { Place::default() } else { Place::cycle(cycle) };
    let message = Message::new(place, Text::of(Tone::Plain, "given beside the task")).because(&known);
    let (message, shed) = match &context.trace {
        None => (message, &[][..]),
        Some(Trace { limit, before, after, shed }) => {
            let measure = format!("{} of {} tokens", text::grouped(*after), text::grouped(*limit));
            let message = message.measured(measure);
            let more = format!("it had been {} tokens", text::grouped(*before));
            (if before == after { message } else { message.prose(Tone::Faint, &more) }, &shed[..])
        }
    };
    let gone = context.left_out.iter().chain(shed);
    vec![gone.fold(message, |message, gone| {
        let tokens = text::grouped(gone.tokens);
        let words = format!("left out for lack of room: {} {} with {tokens} tokens", gone.count, gone.of);
        message.prose(Tone::Caution, &words)
    })]
}

/// Returns how a stage ended.
pub(super) fn stage(
    cycle: u32,
    scope: Scope,
    stage: &str,
    outcome: StageOutcome,
    reason: Option<&str>,
) -> Message {
    let (tone, word) = match outcome {
        StageOutcome::Completed => (Tone::Plain, "completed"),
        StageOutcome::Aborted => (Tone::Caution, "refused the run"),
        StageOutcome::Failed => (Tone::Bad, "failed"),
        StageOutcome::ShortCircuited => (Tone::Bad, "ended without going on"),
    };
    let place = if cycle == 0 { Place::default() } else { Place::cycle(cycle) };
    let message = Message::new(place, Text::of(tone, format!("{scope} stage `{stage}` {word}")));
    message.because(reason.unwrap_or_default())
}
