//! Owns what is said about calls: of models, of tools, of hooks.
//!
//! All of it is for those who asked for everything; a failed call shows by itself in what it was for.

use serde_json::Value;

use super::value;
use crate::event::{HookOutcome, Purpose, Role};
use crate::outcome::Usage;
use crate::render::ink::{Text, Tone};
use crate::render::message::{Mark, Message, Place, tokens};
use crate::text;

/// Returns that a hook was asked.
pub(super) fn hook(cycle: u32, point: &str, hook: &str, outcome: HookOutcome, changed: &[String]) -> Message {
    let (tone, word) = match outcome {
        HookOutcome::Kept => (Tone::Plain, "kept the data"),
        HookOutcome::Replaced => (Tone::Caution, "replaced the data"),
        HookOutcome::Stopped => (Tone::Bad, "stopped the run"),
        HookOutcome::Failed => (Tone::Bad, "failed"),
    };
    let message = Message::new(
        Place::cycle(cycle),
        Text::of(Tone::Plain, format!("{point} hook {hook} ")).add(tone, word),
    );
    if changed.is_empty() {
        message
    } else {
        message.prose(Tone::Faint, &format!("changed {}", changed.join(", ")))
    }
}

/// Returns that a model call is tried again.
pub(super) fn retry(purpose: &Purpose, retry: u32, delay_ms: u64) -> Message {
    let words = format!("{}asks again in {}, retry {retry}", who(purpose), text::duration(delay_ms));
    Message::new(place(purpose), Text::of(Tone::Caution, words))
}

/// Returns that a model answered or did not.
pub(super) fn model(
    purpose: &Purpose,
    model: &str,
    finish_reason: Option<&str>,
    error: Option<&str>,
    usage: Usage,
) -> Message {
    let mut words = format!("{}asked {model}", who(purpose));
    if purpose.attempt > 1 {
        words = format!("{words}, attempt {}", purpose.attempt);
    }
    if let Some(reason) = finish_reason {
        words = format!("{words}, {reason}");
    }
    let message = Message::new(place(purpose), Text::of(Tone::Plain, words));
    if let Some(error) = error {
        return message.marked(Mark::Bad).because(error);
    }
    let mut message = message
        .measured(format!("{} in", tokens(usage.input)))
        .measured(format!("{} out", text::grouped(usage.output)));
    if usage.cached > 0 {
        message = message.measured(format!("{} cached", text::grouped(usage.cached)));
    }
    message
}

/// Returns that a tool returned or failed.
pub(super) fn tool(place: Place, output: &Value, error: Option<&str>, wrote: &[String]) -> Message {
    let Some(error) = error else {
        let message = Message::new(place, Text::of(Tone::Plain, format!("returned {}", value(output))));
        return if wrote.is_empty() {
            message
        } else {
            message.prose(Tone::Faint, &format!("wrote {}", wrote.join(", ")))
        };
    };
    Message::new(place, Text::of(Tone::Bad, "failed")).marked(Mark::Bad).because(error)
}

fn place(purpose: &Purpose) -> Place {
    Place { cycle: purpose.cycle, step: purpose.step.clone(), tool: purpose.tool.clone() }
}

/// Returns who asks; within a step that is clear from the place.
fn who(purpose: &Purpose) -> &'static str {
    match purpose.role {
        Role::Planner => "planner ",
        Role::Executor => "",
        Role::Evaluator => "evaluator ",
    }
}
