//! Owns what a report knows of a run: a fold over its events, the same during the run and from its journal.
//!
//! It decides nothing and asks nobody: what no event said is not in a report. Events are free of secrets, so a report is.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::event::{Decision, Envelope, RunEvent, Subject};
use crate::outcome::{CheckResult, Evaluation, Evidence, RunResult, StepResult};
use crate::plan::{Plan, Step};
use crate::prompt::Prompt;

/// A run as far as its events tell.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The run.
    pub run_id: String,
    /// tepa's version.
    pub version: String,
    /// Who answered model calls.
    pub provider: String,
    /// Role and model, in the order in which roles speak.
    pub models: Vec<(String, String)>,
    /// When it began.
    pub began: Option<Timestamp>,
    /// The task.
    pub prompt: Option<Arc<Prompt>>,
    /// The cycles that began.
    pub cycles: Vec<Cycle>,
    /// What persons decided, in order.
    pub decisions: Vec<Decided>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The result; absent while the run goes on, and for ever when tepa itself was killed.
    pub result: Option<RunResult>,
}

/// One decision of a person, or that there was nobody who could decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The cycle; 0 before the first.
    pub cycle: u32,
    /// What about.
    pub about: Subject,
    /// How.
    pub decision: Decision,
    /// Who.
    pub by: String,
    /// What they said of it.
    pub comment: Option<String>,
}

/// One cycle.
#[derive(Debug, Clone)]
pub struct Cycle {
    /// From 1.
    pub number: u32,
    /// When it began.
    pub began: Timestamp,
    /// The plan that was executed.
    pub plan: Option<Arc<Plan>>,
    /// How long planning took, in milliseconds.
    pub planning_ms: Option<u64>,
    /// Its steps, in plan order.
    pub steps: Vec<StepRecord>,
    /// Where a step is among them.
    places: HashMap<String, usize>,
    /// Facts on disk.
    pub checks: Vec<CheckResult>,
    /// What the judge was shown.
    pub evidence: Vec<Evidence>,
    /// The verdict that stands.
    pub evaluation: Option<Evaluation>,
    /// When and for how long the judge was asked, in milliseconds from the beginning of the cycle.
    pub judging: Option<Span>,
    /// Tokens of its model calls.
    pub tokens: u64,
    /// From its beginning to its last event, in milliseconds.
    pub duration_ms: u64,
}

/// A piece of a cycle's time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From the beginning of the cycle.
    pub from: u64,
    /// How long.
    pub length: u64,
}

/// One step and what became of it.
#[derive(Debug, Clone)]
pub struct StepRecord {
    /// The step as it ran, or as it was planned when it did not.
    pub step: Step,
    /// When it began, in milliseconds from the beginning of the cycle.
    pub began: Option<u64>,
    /// Its tool calls, in order.
    pub calls: Vec<ToolCall>,
    /// How it ended.
    pub result: Option<StepResult>,
    /// Whether it never ran because a dependency failed.
    pub skipped: bool,
}

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// The parameters.
    pub params: Value,
    /// What it returned; null when it failed or never ended.
    pub output: Arc<Value>,
    /// Why it failed.
    pub error: Option<String>,
    /// Wall clock, in milliseconds; absent when it never ended.
    pub duration_ms: Option<u64>,
}

impl Report {
    /// Takes one event in.
    pub fn apply(&mut self, envelope: &Envelope) {
        let ts = envelope.ts;
        if let Some(cycle) = self.cycles.last_mut().filter(|_| self.result.is_none()) {
            cycle.duration_ms = since(cycle.began, ts);
        }
        match &*envelope.event {
            RunEvent::RunStarted { version, provider, prompt, config, .. } => {
                self.run_id.clone_from(&envelope.run_id);
                self.version.clone_from(version);
                self.provider.clone_from(provider);
                self.began = Some(ts);
                self.models = models(config);
                self.prompt = Some(prompt.clone());
            }
            RunEvent::CycleStarted { cycle } => self.cycles.push(Cycle::begun(*cycle, ts)),
            RunEvent::ExecutionRecalled { cycle, plan, results, .. } => {
                let mut cycle = Cycle::begun(*cycle, ts);
                cycle.follow(plan);
                for result in results {
                    if let Some(record) = cycle.step(&result.step_id) {
                        record.result = Some(result.clone());
                    }
                }
                self.cycles.push(cycle);
            }
            RunEvent::ApprovalDecided { cycle, about, decision, by, comment } => {
                self.decisions.push(Decided {
                    cycle: *cycle,
                    about: *about,
                    decision: *decision,
                    by: by.clone(),
                    comment: comment.clone(),
                });
            }
            RunEvent::Warning { message, .. } => self.warnings.push(message.clone()),
            RunEvent::RunCompleted { result } => self.result = Some((**result).clone()),
            // It goes on: what was its end is none.
            RunEvent::RunResumed { .. } => self.result = None,
            event => {
                if let Some(cycle) = self.cycles.last_mut() {
                    cycle.apply(event, ts);
                }
            }
        }
    }

    /// Returns the last cycle, whose facts are those of the run.
    pub fn last_cycle(&self) -> Option<&Cycle> {
        self.cycles.last()
    }

    /// Returns the verdict of the last cycle, with what it stands on.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.last_cycle()?.evaluation.as_ref()
    }
}

impl Cycle {
    fn begun(number: u32, began: Timestamp) -> Self {
        Self {
            number,
            began,
            plan: None,
            planning_ms: None,
            steps: Vec::new(),
            places: HashMap::new(),
            checks: Vec::new(),
            evidence: Vec::new(),
            evaluation: None,
            judging: None,
            tokens: 0,
            duration_ms: 0,
        }
    }

    fn apply(&mut self, event: &RunEvent, ts: Timestamp) {
        match event {
            RunEvent::LlmCompleted { usage, .. } => self.tokens = self.tokens.saturating_add(usage.total()),
            RunEvent::PlanCompleted { plan, duration_ms, .. } => {
                self.planning_ms = Some(*duration_ms);
                self.follow(plan);
            }
            RunEvent::ExecutionStarted { plan: Some(plan), .. } => self.follow(plan),
            RunEvent::StepStarted { step, .. } => {
                let began = since(self.began, ts);
                if let Some(record) = self.step(&step.id) {
                    record.step = step.clone();
                    record.began = Some(began);
                }
            }
            RunEvent::ToolStarted { step, tool, params, .. } => {
                if let Some(record) = self.step(step) {
                    record.calls.push(ToolCall {
                        tool: tool.clone(),
                        params: params.clone(),
                        output: Arc::default(),
                        error: None,
                        duration_ms: None,
                    });
                }
            }
            RunEvent::ToolCompleted { step, tool, output, error, duration_ms, .. } => {
                let Some(record) = self.step(step) else { return };
                let mut open = record.calls.iter_mut().rev();
                if let Some(call) = open.find(|call| call.tool == *tool && call.duration_ms.is_none()) {
                    call.output = Arc::clone(output);
                    call.error.clone_from(error);
                    call.duration_ms = Some(*duration_ms);
                }
            }
            RunEvent::StepCompleted { result, skipped, .. } => {
                if let Some(record) = self.step(&result.step_id) {
                    record.result = Some(result.clone());
                    record.skipped = *skipped;
                }
            }
            RunEvent::ExecutionCompleted { results: Some(results), .. } => {
                for result in results {
                    if let Some(record) = self.step(&result.step_id) {
                        record.result = Some(result.clone());
                    }
                }
            }
            RunEvent::CheckCompleted { result, .. } => self.checks.push(result.clone()),
            RunEvent::EvidenceGathered { evidence, .. } => self.evidence.clone_from(evidence),
            RunEvent::EvaluationCompleted { evaluation, duration_ms, .. } => {
                let end = since(self.began, ts);
                self.judging = Some(Span { from: end.saturating_sub(*duration_ms), length: *duration_ms });
                self.evaluation = Some(evaluation.clone());
            }
            _ => {}
        }
    }

    fn follow(&mut self, plan: &Arc<Plan>) {
        let record = |step: &Step| StepRecord {
            step: step.clone(),
            began: None,
            calls: Vec::new(),
            result: None,
            skipped: false,
        };
        self.steps = plan.steps.iter().map(record).collect();
        self.places = plan.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        self.plan = Some(Arc::clone(plan));
    }

    fn step(&mut self, id: &str) -> Option<&mut StepRecord> {
        self.steps.get_mut(*self.places.get(id)?)
    }
}

/// Returns the milliseconds from one moment to another, none when the clock was set back.
fn since(began: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond().saturating_sub(began.as_millisecond())).unwrap_or(0)
}

fn models(config: &Value) -> Vec<(String, String)> {
    let model = |role: &str| {
        let name = config.get("model")?.get(role)?.as_str()?;
        Some((role.to_owned(), name.to_owned()))
    };
    ["planner", "executor", "evaluator"].into_iter().filter_map(model).collect()
}
