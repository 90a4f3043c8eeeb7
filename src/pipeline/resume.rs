//! Owns what the record of a run that broke off says: all that has happened, and of what was under way the parts that had ended.
//!
//! The fold takes the events as they are. What is kept here beside it are answers of models and calls of tools inside a step, a plan or a
//! judgement that never came to its own end: they are not asked for and not made again. A call that may have changed something and has no end
//! is not made again either; the planner hears of it.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::protect::Began;
use super::turn::Known;
use crate::event::{Decision, Envelope, Given, Purpose, Role, RunEvent, Subject};
use crate::outcome::{CheckResult, Effect, Evidence, Reason, StepResult};
use crate::plan::Step;
use crate::prompt::Prompt;
use crate::provider::{FinishReason, Response};
use crate::turn::Assembled;

/// A run that broke off.
#[derive(Debug, Clone)]
pub struct Interrupted {
    /// Its id.
    pub run_id: String,
    /// How long the whole lines of its record are, in bytes.
    pub whole: u64,
    /// The task.
    pub prompt: Arc<Prompt>,
    /// The configuration as it was recorded: without the values that servers, tools, hooks and stages are handed.
    pub config: Value,
    /// The names of the tools that the run had.
    pub tools: Vec<String>,
    /// What a person was to be asked about.
    pub asks: Vec<Subject>,
    /// The file with the replies of a replay, as it was named.
    pub replies: Option<String>,
    /// Files that it may not change.
    pub protected: Vec<PathBuf>,
    /// The whole record.
    pub events: Vec<Envelope<'static>>,
    pub(super) given: Option<Given>,
    pub(super) began: Option<Began>,
    /// What stages had assembled: once for the run, and last in a cycle.
    pub(super) known: Vec<Known>,
    /// Whether the stages that begin the cycle are done.
    pub(super) cycle_begun: bool,
    /// What the judge was last shown of the expected outputs.
    pub(super) evidence: Vec<Evidence>,
    /// Wall clock that was used up.
    pub(super) spent: Duration,
    pub(super) unfinished: Unfinished,
    /// Every answer that will not be asked for again.
    pub(super) answered: Vec<Purpose>,
}

/// Why a run cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// Its record does not say what it was to do.
    #[error("its record has no beginning")]
    NoTask,
    /// It does not hold the task as it was.
    #[error(
        "its record does not hold the task as it was: secrets were taken out of it, or somebody changed it"
    )]
    AnotherTask,
    /// It came to an end that stands: there is a verdict, or somebody decided that it does not go on.
    #[error("it has ended")]
    Ended(Reason),
    /// Somebody changed it.
    #[error("its record has gaps, or lines of another run: somebody changed it")]
    Changed,
    /// What it would go on with is not all there.
    #[error(
        "secrets were taken out of what its record says of the cycle that broke off, and it would go on without them"
    )]
    Blurred,
    /// It judged the work of another run.
    #[error("it judged another run once more and did nothing that could go on")]
    Judged,
}

/// How a call of a tool came to nothing or to something before the run broke off.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Earlier {
    /// It ended.
    Ended { output: Arc<Value>, error: Option<String> },
    /// It only looks, and is made again with these parameters.
    Again { params: Value },
    /// It may have changed something.
    CutOff,
}

/// What had ended of that which was under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Unfinished {
    steps: HashMap<String, Step>,
    answers: HashMap<Purpose, VecDeque<Response>>,
    calls: HashMap<String, VecDeque<Earlier>>,
    judged_on: Option<Grounds>,
    /// An end without its entry in the logs.
    pub(super) unlogged: Option<Unlogged>,
}

/// What a judge's answer goes by.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Grounds {
    pub(super) checks: Vec<CheckResult>,
    pub(super) evidence: Vec<Evidence>,
}

/// Something whose end is recorded, and the entry of the logs about it is not.
#[derive(Debug, Clone)]
pub(super) enum Unlogged {
    Plan { steps: usize, duration_ms: u64, tokens_used: u64 },
    Step { result: StepResult, tools: Vec<String> },
    Evaluation { evaluation: Box<crate::outcome::Evaluation>, duration_ms: u64 },
}

impl Unfinished {
    /// Takes the step as it began.
    pub(super) fn step(&mut self, id: &str) -> Option<Step> {
        self.steps.remove(id)
    }

    /// Takes the next answer to a call with this address.
    pub(super) fn answer(&mut self, purpose: &Purpose) -> Option<Response> {
        self.answers.get_mut(purpose)?.pop_front()
    }

    /// Takes the next call of a step.
    pub(super) fn call(&mut self, step: &str) -> Option<Earlier> {
        self.calls.get_mut(step)?.pop_front()
    }

    /// Forgets what the judge said if it was said of something else.
    pub(super) fn judge_on(&mut self, grounds: &Grounds) {
        if self.judged_on.take().is_some_and(|judged_on| judged_on != *grounds) {
            self.answers.retain(|purpose, _| purpose.role != Role::Evaluator);
        }
    }
}

impl Interrupted {
    /// Returns what the events of the run `run_id` say, all of them in order, whose lines are `whole` bytes long.
    ///
    /// # Errors
    /// There is nothing that could go on.
    pub fn of(run_id: &str, whole: u64, events: Vec<Envelope<'static>>) -> Result<Self, ResumeError> {
        let Some(RunEvent::RunStarted {
            prompt,
            prompt_sha256,
            config,
            tools,
            asks,
            replies,
            given,
            protects,
            ..
        }) = events.first().map(|envelope| &*envelope.event)
        else {
            return Err(ResumeError::NoTask);
        };
        if prompt.sha256() != *prompt_sha256 || events[0].redacted {
            return Err(ResumeError::AnotherTask);
        }
        // A run that plans has tools.
        if tools.is_empty() {
            return Err(ResumeError::Judged);
        }
        if events.iter().zip(1..).any(|(envelope, seq)| envelope.seq != seq || envelope.run_id != run_id) {
            return Err(ResumeError::Changed);
        }
        let mut fold = Fold::default();
        for envelope in &events {
            fold.apply(envelope)?;
        }
        if let Some(reason) = fold.ended {
            return Err(ResumeError::Ended(reason));
        }
        if fold.blurred {
            return Err(ResumeError::Blurred);
        }
        let spent = fold.spent();
        let Fold { unfinished, began, answered, known, cycle_begun, evidence, .. } = fold.finish();
        Ok(Self {
            run_id: run_id.to_owned(),
            whole,
            prompt: prompt.clone(),
            config: config.clone(),
            tools: tools.clone(),
            asks: asks.clone(),
            replies: replies.clone(),
            protected: protects.iter().map(PathBuf::from).collect(),
            given: given.clone(),
            began,
            known,
            cycle_begun,
            evidence,
            spent,
            unfinished,
            answered,
            events,
        })
    }
}

/// Returns why a run ends with this, if it does.
fn ending(event: &RunEvent) -> Option<Reason> {
    match event {
        RunEvent::RunStopped { reason, .. } => Some(*reason),
        RunEvent::ApprovalDecided { decision: Decision::Stopped, .. } => Some(Reason::Declined),
        RunEvent::RunCompleted { result } => Some(result.reason),
        _ => None,
    }
}

/// Returns whether a run that goes on needs all that this says.
fn is_gone_on_with(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::PlanCompleted { .. }
            | RunEvent::ExecutionStarted { .. }
            | RunEvent::BaselineTaken { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::StepCompleted { .. }
            | RunEvent::ToolCompleted { .. }
            | RunEvent::ScratchpadWritten { .. }
    )
}

/// What is known after some of the events.
#[derive(Default)]
struct Fold {
    unfinished: Unfinished,
    began: Option<Began>,
    grounds: Grounds,
    /// What the last verdict was given to.
    evidence: Vec<Evidence>,
    /// How the run ended for good.
    ended: Option<Reason>,
    /// Whether secrets were taken out of what it would go on with.
    blurred: bool,
    /// Every call to a model of what is under way, and whether its answer can be used.
    asked: Vec<(Purpose, bool)>,
    answered: Vec<Purpose>,
    /// Calls of tools without an end, by step: what they may change, and their parameters unless secrets were taken out of them.
    open: HashMap<String, (Effect, Option<Value>)>,
    known: Vec<Known>,
    cycle_begun: bool,
    spent_before: Duration,
    since: Option<jiff::Timestamp>,
    until: Option<jiff::Timestamp>,
}

impl Fold {
    fn apply(&mut self, envelope: &Envelope<'_>) -> Result<(), ResumeError> {
        self.since.get_or_insert(envelope.ts);
        self.until = Some(envelope.ts);
        let whole = !envelope.redacted;
        self.weigh(envelope);
        match &*envelope.event {
            RunEvent::ExecutionRecalled { .. } => return Err(ResumeError::Judged),
            RunEvent::BaselineTaken { unchanged, scripts, protected, before } => {
                self.began = Some(Began {
                    unchanged: unchanged.clone(),
                    scripts: scripts.clone(),
                    protected: protected.clone(),
                    before: before.clone(),
                });
            }
            RunEvent::ContextAssembled { cycle, context, stash, met } => {
                self.known.retain(|known| known.cycle == 0);
                self.cycle_begun |= *cycle > 0;
                let (context, stash) = (Assembled::clone(context), stash.clone());
                self.known.push(Known { cycle: *cycle, context, stash, met: *met });
            }
            RunEvent::EvidenceGathered { evidence, .. } => {
                self.grounds.evidence.clone_from(evidence);
                self.evidence.clone_from(evidence);
            }
            RunEvent::CycleStarted { .. } => {
                self.cycle_begun = false;
                self.evidence.clear();
                self.close(|_| true);
                self.unfinished = Unfinished::default();
                self.open.clear();
            }
            RunEvent::LlmCompleted { purpose, finish_reason, text, tool_use, usage, .. } => {
                self.cycle_begun = true;
                let response =
                    finish_reason.as_deref().and_then(FinishReason::of_name).map(|finish_reason| Response {
                        text: text.clone(),
                        tool_use: tool_use.clone(),
                        finish_reason,
                        usage: *usage,
                    });
                self.answer(purpose, response.filter(|_| whole));
            }
            RunEvent::PlanCompleted { plan, tokens_used, duration_ms, .. } => {
                self.close(|purpose| purpose.role == Role::Planner);
                self.unfinished.unlogged = Some(Unlogged::Plan {
                    steps: plan.steps.len(),
                    duration_ms: *duration_ms,
                    tokens_used: *tokens_used,
                });
            }
            RunEvent::StepStarted { step, .. } => {
                self.unfinished.steps.insert(step.id.clone(), step.clone());
            }
            RunEvent::ToolStarted { cycle, step, tool, params, effect } => {
                let purpose = Purpose {
                    role: Role::Executor,
                    cycle: *cycle,
                    step: Some(step.clone()),
                    tool: Some(tool.clone()),
                    attempt: 1,
                };
                self.unfinished.answer(&purpose);
                self.open.insert(step.clone(), (*effect, whole.then(|| params.clone())));
            }
            RunEvent::ToolCompleted { step, output, error, .. } => {
                self.open.remove(step);
                let ended = Earlier::Ended { output: output.clone(), error: error.clone() };
                self.unfinished.calls.entry(step.clone()).or_default().push_back(ended);
            }
            RunEvent::StepCompleted { result, skipped, .. } => {
                let id = &result.step_id;
                self.close(|purpose| purpose.step.as_ref() == Some(id));
                self.unfinished.calls.remove(id);
                let tools = self.unfinished.step(id).map(|step| step.tools).unwrap_or_default();
                self.open.remove(id);
                if !skipped {
                    self.unfinished.unlogged = Some(Unlogged::Step { result: result.clone(), tools });
                }
            }
            RunEvent::CheckCompleted { result, .. } => self.grounds.checks.push(result.clone()),
            RunEvent::EvaluationCompleted { evaluation, duration_ms, .. } => {
                self.close(|purpose| purpose.role == Role::Evaluator);
                self.grounds = Grounds::default();
                self.unfinished.judged_on = None;
                self.unfinished.unlogged = Some(Unlogged::Evaluation {
                    evaluation: Box::new(evaluation.clone()),
                    duration_ms: *duration_ms,
                });
            }
            RunEvent::LogRecorded { entry } if entry.duration_ms.is_some() => self.unfinished.unlogged = None,
            RunEvent::RunResumed { spent_ms, .. } => {
                self.grounds = Grounds::default();
                self.asked.retain(|(_, usable)| *usable);
                self.spent_before = Duration::from_millis(*spent_ms);
                self.since = Some(envelope.ts);
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes in what says that nothing goes on.
    fn weigh(&mut self, envelope: &Envelope<'_>) {
        let decided = ending(&envelope.event).filter(|reason| !reason.goes_on());
        // Whatever went wrong after that, nobody wanted it to go on.
        self.ended = self.ended.or(decided);
        self.blurred |= envelope.redacted && is_gone_on_with(&envelope.event);
    }

    /// Takes what came of a call to a model.
    fn answer(&mut self, purpose: &Purpose, response: Option<Response>) {
        if purpose.role == Role::Evaluator {
            self.unfinished.judge_on(&self.grounds);
            self.unfinished.judged_on = Some(self.grounds.clone());
        }
        // One that was cut is asked again: there may be more room for it.
        let usable = response.filter(|response| response.finish_reason != FinishReason::MaxTokens);
        self.asked.push((purpose.clone(), usable.is_some()));
        if let Some(response) = usable {
            self.unfinished.answers.entry(purpose.clone()).or_default().push_back(response);
        }
    }

    /// Takes in that something has ended: nothing of it is asked again.
    fn close(&mut self, of: impl Fn(&Purpose) -> bool) {
        let (closed, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.asked).into_iter().partition(|(purpose, _)| of(purpose));
        self.asked = open;
        self.answered.extend(closed.into_iter().map(|(purpose, _)| purpose));
        self.unfinished.answers.retain(|purpose, _| !of(purpose));
    }

    fn spent(&self) -> Duration {
        let segment =
            self.since.zip(self.until).map(|(since, until)| until.duration_since(since).unsigned_abs());
        self.spent_before + segment.unwrap_or_default()
    }

    fn finish(mut self) -> Self {
        for (step, (effect, params)) in self.open.drain() {
            let cut = match (effect, params) {
                (Effect::Writes, _) => Earlier::CutOff,
                (Effect::Reads, Some(params)) => Earlier::Again { params },
                // Its parameters are asked for again.
                (Effect::Reads, None) => continue,
            };
            self.unfinished.calls.entry(step).or_default().push_back(cut);
        }
        let usable = self.asked.drain(..).filter(|(_, usable)| *usable);
        self.answered.extend(usable.map(|(purpose, _)| purpose));
        self
    }
}
