//! Owns what is said about each event at each level.
//!
//! It remembers the little that a sentence needs and an event does not carry: the budget, what is spent, and which
//! tools a step has. It knows neither columns nor colours.

mod call;
mod ending;
mod plan;
mod turn;

pub(super) use ending::judged;
pub use ending::stop as reason;
pub(super) use plan::why;

use std::collections::HashMap;

use serde_json::Value;

use super::ink::{Text, Tone};
use super::message::{Message, Place, tokens};
use crate::config::LoggingLevel;
use crate::event::{Decision, RunEvent};
use crate::outcome::{LogEntry, LogLevel};
use crate::plan::Step;
use crate::prompt::Prompt;
use crate::sandbox::Confinement;
use crate::text;

/// Characters shown of a goal, of parameters and of what a tool returned.
const LONGEST_VALUE: usize = 200;

/// Turns events into messages.
#[derive(Debug)]
pub(super) struct Words {
    level: LoggingLevel,
    budget: Option<u64>,
    spent: u64,
    tools: HashMap<String, String>,
    /// Who edited the plan that is about to be executed.
    edited_by: Option<String>,
}

impl Words {
    /// Returns words for one run.
    pub(super) fn new(level: LoggingLevel) -> Self {
        Self { level, budget: None, spent: 0, tools: HashMap::new(), edited_by: None }
    }

    /// Whether everything is told.
    pub(super) fn verbose(&self) -> bool {
        self.level == LoggingLevel::Verbose
    }

    /// Whether nothing but the end is told.
    pub(super) fn minimal(&self) -> bool {
        self.level == LoggingLevel::Minimal
    }

    /// Returns what there is to say about `event`, the facts of which are remembered.
    pub(super) fn tell(&mut self, event: &RunEvent) -> Vec<Message> {
        self.remember(event);
        if let RunEvent::RunCompleted { result } = event {
            return ending::completed(result, self.level);
        }
        match self.level {
            LoggingLevel::Minimal => Vec::new(),
            LoggingLevel::Standard => self.standard(event),
            LoggingLevel::Verbose => {
                let mut messages = self.standard(event);
                messages.extend(self.verbosely(event));
                messages
            }
        }
    }

    fn remember(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { config, .. } => {
                self.budget = config.pointer("/limits/maxTokens").and_then(Value::as_u64);
            }
            RunEvent::LlmCompleted { usage, .. } => self.spent = self.spent.saturating_add(usage.total()),
            RunEvent::CycleCompleted { tokens_used, .. } => self.spent = *tokens_used,
            RunEvent::PlanCompleted { plan, .. } | RunEvent::ExecutionStarted { plan: Some(plan), .. } => {
                self.tools = plan.steps.iter().map(|step| (step.id.clone(), tool_list(step))).collect();
            }
            RunEvent::CycleStarted { .. } => self.edited_by = None,
            RunEvent::ApprovalDecided { decision: Decision::Edited, by, .. } => {
                self.edited_by = Some(by.clone());
            }
            RunEvent::StepStarted { step, .. } => {
                self.tools.insert(step.id.clone(), tool_list(step));
            }
            _ => {}
        }
    }

    /// Returns the place of a step with all of its tools.
    fn step(&self, cycle: u32, step: &str) -> Place {
        let tools = self.tools.get(step).filter(|tools| !tools.is_empty());
        Place::step(cycle, step, tools.map(String::as_str))
    }

    /// Returns what is left of the budget, if there is one: `98,500 left`.
    fn left(&self) -> Option<String> {
        self.budget.map(|budget| format!("{} left", text::grouped(budget.saturating_sub(self.spent))))
    }

    fn standard(&self, event: &RunEvent) -> Vec<Message> {
        let message = match event {
            RunEvent::RunStarted { version, prompt, .. } => started(version, prompt),
            RunEvent::RunResumed { spent_ms, .. } => {
                let head = format!("resumed after {}", text::duration(*spent_ms));
                Message::new(Place::default(), Text::of(Tone::Strong, head))
            }
            RunEvent::CycleStarted { cycle } => {
                Message::new(Place::cycle(*cycle), Text::of(Tone::Strong, "started"))
            }
            RunEvent::ExecutionRecalled { run, cycle, results, .. } => {
                let steps = text::plural("step", results.len());
                let head = format!("judging again what run {run} did: {steps}");
                Message::new(Place::cycle(*cycle), Text::of(Tone::Strong, head))
            }
            RunEvent::ContextAssembled { cycle, context, .. } => return turn::known(*cycle, context),
            RunEvent::PlanCompleted { cycle, plan, tokens_used, duration_ms } => {
                plan::made(*cycle, plan, self.verbose())
                    .measured(text::duration(*duration_ms))
                    .measured(tokens(*tokens_used))
            }
            RunEvent::ExecutionStarted { cycle, plan: Some(plan), .. } => {
                plan::changed(*cycle, plan, self.edited_by.as_deref().unwrap_or("a hook"))
            }
            RunEvent::ApprovalDecided { cycle, decision, by, comment, .. } => {
                return decided(*cycle, *decision, by, comment.as_deref()).into_iter().collect();
            }
            RunEvent::StepStarted { cycle, step } => {
                Message::new(self.step(*cycle, &step.id), Text::of(Tone::Plain, "started"))
            }
            RunEvent::StepCompleted { cycle, result, skipped } => {
                plan::step_ended(self.step(*cycle, &result.step_id), result, *skipped)
            }
            // What the pipeline logs of its own work has a duration, and was shown when it happened.
            RunEvent::LogRecorded { entry } if entry.duration_ms.is_none() => logged(entry),
            RunEvent::CheckCompleted { cycle, result } => ending::checked(*cycle, result),
            RunEvent::EvaluationCompleted { cycle, evaluation, duration_ms } => {
                let mut messages = ending::judged(*cycle, evaluation);
                if let Some(last) = messages.last_mut() {
                    last.measures.insert(0, text::duration(*duration_ms));
                }
                return messages;
            }
            RunEvent::Warning { code, message } => {
                let word = if self.verbose() { format!("warning ({code})") } else { "warning".to_owned() };
                Message::new(Place::default(), Text::of(Tone::Caution, word)).because(message)
            }
            RunEvent::RunStopped { reason, message } => {
                Message::new(Place::default(), Text::of(Tone::Bad, ending::stop(*reason))).because(message)
            }
            _ => return Vec::new(),
        };
        vec![message]
    }

    fn verbosely(&self, event: &RunEvent) -> Option<Message> {
        match event {
            RunEvent::RunStarted { provider, config, tools, .. } => Some(setup(provider, config, tools)),
            RunEvent::SandboxApplied { confinement } => Some(sandbox(confinement)),
            RunEvent::HookCompleted { cycle, point, hook, outcome, changed, error, duration_ms } => {
                let message =
                    call::hook(*cycle, point, hook, *outcome, changed).measured(text::duration(*duration_ms));
                Some(message.because(error.as_deref().unwrap_or_default()))
            }
            RunEvent::StageCompleted { cycle, scope, stage, outcome, reason, duration_ms, .. } => {
                let message = turn::stage(*cycle, *scope, stage, *outcome, reason.as_deref());
                Some(message.measured(text::duration(*duration_ms)))
            }
            RunEvent::LlmRetry { purpose, retry, delay_ms, error } => {
                Some(call::retry(purpose, *retry, *delay_ms).because(error))
            }
            RunEvent::LlmCompleted { purpose, model, usage, finish_reason, error, duration_ms, .. } => {
                let mut message =
                    call::model(purpose, model, finish_reason.as_deref(), error.as_deref(), *usage);
                message.measures.insert(0, text::duration(*duration_ms));
                message.measures.extend(self.left());
                Some(message)
            }
            RunEvent::ToolStarted { cycle, step, tool, params, .. } => {
                let place = Place::step(*cycle, step, Some(tool));
                Some(Message::new(place, Text::of(Tone::Plain, format!("called with {}", value(params)))))
            }
            RunEvent::ToolCompleted { cycle, step, tool, output, error, wrote, duration_ms } => {
                let place = Place::step(*cycle, step, Some(tool));
                let message = call::tool(place, output, error.as_deref(), wrote);
                Some(message.measured(text::duration(*duration_ms)))
            }
            RunEvent::ScratchpadWritten { cycle, step, key, value: written } => {
                let words = format!("scratchpad `{key}` is now {}", value(written));
                Some(Message::new(Place::step(*cycle, step, None), Text::of(Tone::Plain, words)))
            }
            RunEvent::ExecutionStarted { cycle, order, prompt, scratchpad, .. } => {
                Some(plan::ordered(*cycle, order, prompt.is_some(), scratchpad.is_some()))
            }
            RunEvent::ExecutionCompleted { cycle, results, tokens_used } => {
                let words = if results.is_some() {
                    "all steps have ended; a hook changed their results"
                } else {
                    "all steps have ended"
                };
                let message = Message::new(Place::cycle(*cycle), Text::of(Tone::Plain, words));
                Some(message.measured(tokens(*tokens_used)))
            }
            RunEvent::CycleCompleted { cycle, verdict, tokens_used, duration_ms } => {
                let word = verdict.name();
                let mut message =
                    Message::new(Place::cycle(*cycle), Text::of(Tone::Plain, format!("ended with {word}")))
                        .measured(text::duration(*duration_ms))
                        .measured(format!("{} so far", tokens(*tokens_used)));
                message.measures.extend(self.left());
                Some(message)
            }
            _ => None,
        }
    }
}

fn started(version: &str, prompt: &Prompt) -> Message {
    let goal = text::truncate(&prompt.goal.replace('\n', " "), LONGEST_VALUE).into_owned();
    Message::new(Place::default(), Text::of(Tone::Faint, format!("tepa {version}"))).followed(
        "  ",
        Tone::Strong,
        &goal,
    )
}

/// Returns what a person decided, unless the end of the run says it.
fn decided(cycle: u32, decision: Decision, by: &str, comment: Option<&str>) -> Option<Message> {
    let (tone, what) = match decision {
        Decision::Approved => (Tone::Plain, "approved the plan"),
        Decision::Edited => (Tone::Plain, "edited the plan"),
        Decision::Retry => (Tone::Plain, "asked for another cycle"),
        Decision::Accepted => (Tone::Caution, "accepted the work"),
        Decision::Refused | Decision::Stopped => return None,
    };
    let message = Message::new(Place::cycle(cycle), Text::of(tone, format!("{by} {what}")));
    Some(message.because(comment.unwrap_or_default()))
}

/// Returns who answers, with what, and within which limits.
fn setup(provider: &str, config: &Value, tools: &[String]) -> Message {
    let name = |role: &str| config.pointer(&format!("/model/{role}")).and_then(Value::as_str).unwrap_or("?");
    let limit = |key: &str| config.pointer(&format!("/limits/{key}")).and_then(Value::as_u64);
    let mut limits = Vec::new();
    if let Some(cycles) = limit("maxCycles") {
        limits.push(text::plural("cycle", usize::try_from(cycles).unwrap_or(usize::MAX)));
    }
    limits.extend(limit("maxTokens").map(tokens));
    limits.extend(limit("maxDuration").map(text::duration));
    Message::new(Place::default(), Text::of(Tone::Plain, format!("provider {provider}")))
        .prose(Tone::Faint, &format!("planner {}", name("planner")))
        .prose(Tone::Faint, &format!("executor {}", name("executor")))
        .prose(Tone::Faint, &format!("evaluator {}", name("evaluator")))
        .prose(Tone::Faint, &format!("tools {}", tools.join(", ")))
        .prose(Tone::Faint, &format!("at most {}", limits.join(", ")))
}

/// Returns what commands are confined to.
fn sandbox(confinement: &Confinement) -> Message {
    let Confinement { mode, landlock, seccomp, network, .. } = confinement;
    let message = Message::new(Place::default(), Text::of(Tone::Plain, format!("sandbox {mode}")));
    let by = match (landlock, seccomp) {
        (0, false) => "commands are not confined".to_owned(),
        (0, true) => "by seccomp".to_owned(),
        (level, false) => format!("by Landlock {level}"),
        (level, true) => format!("by Landlock {level} and seccomp"),
    };
    let network = if *network { "network on" } else { "network off" };
    message.prose(Tone::Faint, &format!("{by}, {network}"))
}

fn logged(entry: &LogEntry) -> Message {
    let (tone, word) = match entry.level {
        LogLevel::Info => (Tone::Plain, "info"),
        LogLevel::Warn => (Tone::Caution, "warn"),
        LogLevel::Error => (Tone::Bad, "error"),
    };
    let place = Place { cycle: entry.cycle, step: entry.step.clone(), tool: entry.tool.clone() };
    let mut message = Message::new(place, Text::of(tone, word)).because(&entry.message);
    message.measures.extend(entry.duration_ms.map(text::duration));
    message.measures.extend(entry.tokens_used.map(tokens));
    message
}

fn tool_list(step: &Step) -> String {
    step.tools.join(", ")
}

/// Returns the start of a value as one line of JSON.
fn value(value: &Value) -> String {
    text::truncate(&value.to_string(), LONGEST_VALUE).into_owned()
}
