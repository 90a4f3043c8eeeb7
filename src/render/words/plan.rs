//! Owns what is said about a plan and its steps.
//!
//! The list of steps stands under the plan as rows; whoever draws the steps elsewhere leaves the rows out.

use super::tool_list;
use crate::outcome::{StepResult, StepStatus};
use crate::plan::{Plan, Step};
use crate::render::ink::{Text, Tone};
use crate::render::message::{Mark, Message, Place, tokens};
use crate::text;

/// Returns that there is a plan.
pub(super) fn made(cycle: u32, plan: &Plan, with_reasoning: bool) -> Message {
    let head = Text::of(Tone::Plain, format!("plan: {}", text::plural("step", plan.steps.len())));
    let message = Message::new(Place::cycle(cycle), head);
    let message = if with_reasoning { message.prose(Tone::Faint, &plan.reasoning) } else { message };
    listed(message, plan)
}

/// Returns that somebody changed the plan after it was made.
pub(super) fn changed(cycle: u32, plan: &Plan, who: &str) -> Message {
    let words = format!("{who} changed the plan: {}", text::plural("step", plan.steps.len()));
    listed(Message::new(Place::cycle(cycle), Text::of(Tone::Caution, words)), plan)
}

/// Returns in which order the steps run and what else a hook changed.
pub(super) fn ordered(cycle: u32, order: &[String], prompt: bool, scratchpad: bool) -> Message {
    let head = Text::of(Tone::Plain, format!("order: {}", order.join(", ")));
    let mut message = Message::new(Place::cycle(cycle), head);
    for (changed, what) in [(prompt, "prompt"), (scratchpad, "scratchpad")] {
        if changed {
            message = message.prose(Tone::Caution, &format!("a hook changed the {what}"));
        }
    }
    message
}

/// Returns how a step ended.
pub(super) fn step_ended(place: Place, result: &StepResult, skipped: bool) -> Message {
    let (mark, tone, word) = match result.status {
        StepStatus::Success => (Mark::Good, Tone::Plain, "completed"),
        StepStatus::Failure if skipped => (Mark::Skipped, Tone::Faint, "skipped"),
        StepStatus::Failure => (Mark::Bad, Tone::Bad, "failed"),
    };
    let message = Message::new(place, Text::of(tone, word)).marked(mark).because(why(result, skipped));
    if skipped {
        return message;
    }
    message.measured(text::duration(result.duration_ms)).measured(tokens(result.tokens_used))
}

/// Returns why a step did not succeed, without the word that its mark says already.
pub(in crate::render) fn why(result: &StepResult, skipped: bool) -> &str {
    let error = result.error.as_deref().unwrap_or_default();
    if skipped { error.strip_prefix("Skipped: ").unwrap_or(error) } else { error }
}

fn listed(message: Message, plan: &Plan) -> Message {
    plan.steps.iter().enumerate().fold(message, |message, (at, step)| message.row(row(at + 1, step)))
}

fn row(number: usize, step: &Step) -> Text {
    let mut row = Text::of(Tone::Faint, format!("{number}. ")).add(Tone::Name, &step.id);
    if !step.tools.is_empty() {
        row = row.add(Tone::Plain, format!(" ({})", tool_list(step)));
    }
    if !step.dependencies.is_empty() {
        row = row.add(Tone::Faint, format!(" after {}", text::joined(&step.dependencies, "and")));
    }
    row.add(Tone::Plain, format!(": {}", step.description))
}
