//! Owns every decision of a run as a fold over its events: what may happen next, when it is over, how it is settled.
//!
//! No IO, no clock, no await: equal event lists give equal states. What an action does is the driver's business.

mod budget;
mod schedule;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub use budget::{Bounds, Held, Until};
use schedule::Schedule;
pub use schedule::Touch;

use serde_json::{Value, json};

use crate::event::{Decision, Role, RunEvent};
use crate::outcome::{
    Caution, CheckResult, Effect, Evaluation, LogEntry, PROTECTED, Reason, Settlement, StepResult,
    StepStatus, UsageReport, Verdict,
};
use crate::plan::{Plan, graph};
use crate::prompt::Prompt;
use crate::tool::{EXECUTION_SUMMARY, Scratchpad};
use crate::turn::Assembled;

/// Something that may be done now.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Assemble what the models are given beside the task.
    Assemble,
    /// Begin the cycle with this number.
    StartCycle(u32),
    /// Ask the planner.
    Plan,
    /// Settle the order of the steps.
    StartExecution,
    /// Run the step at this index of the plan.
    RunStep(usize),
    /// Record that the step at this index cannot run because this dependency failed.
    SkipStep(usize, String),
    /// Close the execution.
    FinishExecution,
    /// Gather evidence and ask the judge.
    Evaluate,
    /// Close the cycle with its verdict.
    EndCycle(Verdict),
    /// Store that the run passed, and do what is done once after that.
    Conclude,
    /// Nothing is left to do.
    Settle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    BetweenCycles,
    Planning,
    Planned,
    Executing,
    Executed,
    Evaluated,
}

/// What is known of a run after the events so far.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    bounds: Bounds,
    prompt: Arc<Prompt>,
    phase: Phase,
    cycle: u32,
    plan: Option<Arc<Plan>>,
    schedule: Schedule,
    steps_prompt: Option<Arc<Prompt>>,
    results: HashMap<String, StepResult>,
    finished: Vec<StepResult>,
    previous: Option<Vec<StepResult>>,
    scratchpad: Scratchpad,
    usage: UsageReport,
    step_tokens: HashMap<String, u64>,
    role_tokens: BTreeMap<Role, u64>,
    logs: Vec<LogEntry>,
    cycle_logs_from: usize,
    written: Vec<(String, String)>,
    checks: Vec<CheckResult>,
    checked_in: u32,
    tampered: Vec<CheckResult>,
    tool_calls: u64,
    warned: BTreeSet<String>,
    cautions: Vec<Caution>,
    evaluation: Option<Evaluation>,
    accepted: bool,
    /// What the models are given beside the task, and the cycle from which that counts.
    context: Option<(u32, Arc<Assembled>)>,
    /// As it stood before the first cycle.
    first_context: Option<Arc<Assembled>>,
    tools_called: BTreeSet<String>,
    concluded: bool,
    stop: Option<(Reason, String)>,
    /// Calls of tools by step, with what they observed: that counts when the call has ended.
    under_way: HashMap<String, (Effect, Vec<RunEvent>)>,
}

impl RunState {
    /// Returns the state before the first event.
    pub fn new(prompt: impl Into<Arc<Prompt>>, bounds: Bounds) -> Self {
        Self {
            bounds,
            prompt: prompt.into(),
            phase: Phase::BetweenCycles,
            cycle: 0,
            plan: None,
            schedule: Schedule::default(),
            steps_prompt: None,
            results: HashMap::new(),
            finished: Vec::new(),
            previous: None,
            scratchpad: Scratchpad::default(),
            usage: UsageReport::default(),
            step_tokens: HashMap::new(),
            role_tokens: BTreeMap::new(),
            logs: Vec::new(),
            cycle_logs_from: 0,
            written: Vec::new(),
            checks: Vec::new(),
            checked_in: 0,
            tampered: Vec::new(),
            tool_calls: 0,
            warned: BTreeSet::new(),
            cautions: Vec::new(),
            evaluation: None,
            accepted: false,
            context: None,
            first_context: None,
            tools_called: BTreeSet::new(),
            concluded: false,
            stop: None,
            under_way: HashMap::new(),
        }
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::CycleStarted { cycle } => self.begin_cycle(*cycle),
            RunEvent::LlmCompleted { purpose, model, usage, .. } => {
                self.usage.charge(&purpose.role.to_string(), model, *usage);
                *self.role_tokens.entry(purpose.role).or_default() += usage.total();
                if let Some(step) = &purpose.step {
                    *self.step_tokens.entry(step.clone()).or_default() += usage.total();
                }
            }
            RunEvent::PlanCompleted { plan, .. } => {
                self.plan = Some(plan.clone());
                self.phase = Phase::Planned;
            }
            RunEvent::ExecutionStarted { order, plan, prompt, scratchpad, .. } => {
                if let Some(plan) = plan {
                    self.plan = Some(plan.clone());
                }
                self.steps_prompt.clone_from(prompt);
                if let Some(entries) = scratchpad {
                    self.scratchpad = entries.clone().into();
                }
                if let Some(plan) = &self.plan {
                    self.schedule = Schedule::of(plan, order, &self.bounds.touches);
                }
                self.phase = Phase::Executing;
            }
            RunEvent::ToolCompleted { step, wrote, .. } => self.end_call(step, wrote),
            RunEvent::ScratchpadWritten { step, .. } => self.observed(Some(step), event),
            RunEvent::LogRecorded { entry } => self.observed(entry.step.as_ref(), event),
            RunEvent::StepCompleted { result, .. } => {
                self.schedule.end(&result.step_id);
                self.results.insert(result.step_id.clone(), result.clone());
            }
            RunEvent::ExecutionCompleted { results, .. } => self.finish_execution(results.as_deref()),
            RunEvent::CheckCompleted { cycle, result } => {
                if self.checked_in != *cycle {
                    self.checked_in = *cycle;
                    self.checks.clear();
                }
                self.checks.push(result.clone());
            }
            RunEvent::EvaluationCompleted { cycle, evaluation, .. } => {
                // A cycle without checks has none; those of the one before are not its own.
                if self.checked_in != *cycle {
                    self.checks.clear();
                }
                self.evaluation = Some(evaluation.clone());
                self.phase = Phase::Evaluated;
            }
            RunEvent::CycleCompleted { .. } => {
                self.previous = Some(std::mem::take(&mut self.finished));
                self.phase = Phase::BetweenCycles;
            }
            RunEvent::ExecutionRecalled { cycle, plan, results, scratchpad, wrote, tampered, .. } => {
                self.begin_cycle(*cycle);
                self.plan = Some(plan.clone());
                self.finished.clone_from(results);
                self.scratchpad = scratchpad.clone().into();
                self.written.clone_from(wrote);
                self.tampered.clone_from(tampered);
                self.phase = Phase::Executed;
            }
            // Whoever accepts wants no further cycle, also when the verdict cannot be a pass.
            RunEvent::ApprovalDecided { decision: Decision::Accepted, .. } => self.accepted = true,
            RunEvent::ContextAssembled { cycle, context, .. } => {
                if *cycle == 0 {
                    self.first_context = Some(Arc::clone(context));
                }
                self.context = Some((*cycle, Arc::clone(context)));
            }
            RunEvent::TurnCompleted { .. } => self.concluded = true,
            RunEvent::ToolStarted { step, tool, effect, .. } => {
                self.tool_calls += 1;
                self.schedule.call(step);
                self.tools_called.insert(tool.clone());
                self.under_way.insert(step.clone(), (*effect, Vec::new()));
            }
            RunEvent::RunResumed { .. } => self.resume(),
            RunEvent::Warning { code, message } => {
                self.warned.insert(code.clone());
                self.cautions.push(Caution { code: code.clone(), message: message.clone() });
            }
            RunEvent::RunStopped { reason, message } => {
                // A journal that breaks while a run is being stopped must not hide why it was stopped; a broken provider's word after a verdict must stand.
                self.stop.get_or_insert_with(|| (*reason, message.clone()));
            }
            RunEvent::RunStarted { .. }
            | RunEvent::SandboxApplied { .. }
            | RunEvent::HookCompleted { .. }
            | RunEvent::StageCompleted { .. }
            | RunEvent::ApprovalRequested { .. }
            | RunEvent::ApprovalDecided { .. }
            | RunEvent::LlmRetry { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::BaselineTaken { .. }
            | RunEvent::EvidenceGathered { .. }
            | RunEvent::RunCompleted { .. } => {}
        }
    }

    /// Returns everything that may be done now, in the order in which it would be done one after the other.
    pub fn next(&self) -> Vec<Action> {
        if self.stop.is_some() {
            return vec![Action::Settle];
        }
        if self.bounds.turn && self.context.is_none() {
            return vec![Action::Assemble];
        }
        match self.phase {
            Phase::BetweenCycles => match &self.evaluation {
                Some(evaluation) if self.cycle > 0 && evaluation.verdict == Verdict::Pass => {
                    let is_turn = self.bounds.turn && self.bounds.until == Until::End;
                    vec![if is_turn && !self.concluded { Action::Conclude } else { Action::Settle }]
                }
                Some(_) if self.bounds.until == Until::Verdict => vec![Action::Settle],
                _ if self.accepted || self.cycles_left() == 0 => vec![Action::Settle],
                _ => vec![Action::StartCycle(self.cycle + 1)],
            },
            Phase::Planning => vec![Action::Plan],
            Phase::Planned if self.bounds.until == Until::Plan => vec![Action::Settle],
            Phase::Planned => vec![Action::StartExecution],
            Phase::Executing => self.ready_steps(),
            Phase::Executed => vec![Action::Evaluate],
            Phase::Evaluated => {
                vec![Action::EndCycle(self.evaluation.as_ref().map_or(Verdict::Fail, |e| e.verdict))]
            }
        }
    }

    /// Returns how the run ends, once [`Action::Settle`] is what is left to do.
    pub fn settlement(&self) -> Settlement {
        match (&self.stop, &self.evaluation) {
            (Some((reason, message)), _) => Settlement::stopped(*reason, message.clone()),
            (None, Some(evaluation)) => {
                let tampered = self.checks.iter().any(|check| check.check == PROTECTED && !check.passed);
                Settlement::judged(evaluation, tampered)
            }
            (None, None) => Settlement::stopped(Reason::InternalError, "the run ended without a verdict"),
        }
    }

    fn begin_cycle(&mut self, cycle: u32) {
        self.cycle = cycle;
        self.phase = Phase::Planning;
        self.plan = None;
        self.schedule = Schedule::default();
        self.steps_prompt = None;
        self.results.clear();
        self.step_tokens.clear();
        self.role_tokens.clear();
        self.cycle_logs_from = self.logs.len();
    }

    fn finish_execution(&mut self, changed: Option<&[StepResult]>) {
        self.finished = changed.map_or_else(|| self.in_order().cloned().collect(), <[StepResult]>::to_vec);
        let summary: Vec<Value> = self.finished.iter().map(summarize).collect();
        self.scratchpad.record(EXECUTION_SUMMARY, Value::Array(summary));
        self.phase = Phase::Executed;
    }

    fn end_call(&mut self, step: &str, wrote: &[String]) {
        self.written.extend(wrote.iter().map(|path| (path.clone(), step.to_owned())));
        let (_, observed) = self.under_way.remove(step).unwrap_or_default();
        for observed in observed {
            self.observe(observed);
        }
    }

    /// Takes what a call of a tool observed; what nobody is at work on counts at once.
    fn observed(&mut self, step: Option<&String>, event: &RunEvent) {
        match step.and_then(|step| self.under_way.get_mut(step)) {
            Some((_, observed)) => observed.push(event.clone()),
            None => self.observe(event.clone()),
        }
    }

    fn observe(&mut self, event: RunEvent) {
        match event {
            RunEvent::ScratchpadWritten { key, value, .. } => self.scratchpad.record(&key, value),
            RunEvent::LogRecorded { entry } => self.log(entry),
            _ => {}
        }
    }

    /// Goes on after a stop: what was under way begins once more.
    fn resume(&mut self) {
        self.stop = None;
        // What only looks is done again, and counts once.
        let again = self.under_way.drain().filter(|(_, (effect, _))| *effect == Effect::Reads);
        self.tool_calls -= again.count() as u64;
        if self.phase == Phase::Executed {
            self.accepted = false;
            if self.checked_in == self.cycle {
                self.checked_in = 0;
                self.checks.clear();
            }
        }
    }

    fn in_order(&self) -> impl Iterator<Item = &StepResult> {
        self.schedule.order().filter_map(|at| self.results.get(&self.step(at)?.id))
    }

    /// Adds an entry of a step after those of the steps before it, whichever came first, and any other at the end.
    fn log(&mut self, entry: LogEntry) {
        let rank = |entry: &LogEntry| entry.step.as_ref().and_then(|step| self.schedule.rank(step));
        let at = match rank(&entry) {
            None => self.logs.len(),
            Some(own) => {
                let later = |entry: &&LogEntry| rank(entry).is_some_and(|other| other > own);
                self.logs.len() - self.logs[self.cycle_logs_from..].iter().rev().take_while(later).count()
            }
        };
        self.logs.insert(at, entry);
    }

    /// Returns the steps that may be under way: no more than there is room for, the earliest first.
    fn ready_steps(&self) -> Vec<Action> {
        if self.schedule.is_over() {
            return vec![Action::FinishExecution];
        }
        self.schedule.ready().take(self.abreast_at_most()).filter_map(|at| self.readiness(at)).collect()
    }

    fn readiness(&self, at: usize) -> Option<Action> {
        let failed =
            |id: &&String| self.results.get(*id).is_some_and(|end| end.status == StepStatus::Failure);
        Some(match self.step(at)?.dependencies.iter().find(failed) {
            Some(id) => Action::SkipStep(at, id.clone()),
            None => Action::RunStep(at),
        })
    }
}

/// Returns the ids of a plan's steps in the order in which they run, or the message of a circular plan.
pub(super) fn order_of(plan: &Plan) -> Result<Vec<String>, String> {
    let order = graph::order(&plan.steps).map_err(|e| e.to_string())?;
    Ok(order.into_iter().map(|at| plan.steps[at].id.clone()).collect())
}

/// One entry of `_execution_summary`: the form that the seeds' pipeline document gives.
fn summarize(result: &StepResult) -> Value {
    let mut entry = json!({"stepId": result.step_id, "status": result.status, "output": result.output});
    if let Some(error) = &result.error {
        entry["error"] = json!(error);
    }
    entry
}
