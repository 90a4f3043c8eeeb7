//! Owns one run in flight: the fold and the door through which its events leave, shared by everything that is under way.
//!
//! An event is applied to the fold and handed to the sinks in one motion; nothing can be decided on a fact that was not recorded.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::Pipeline;
use super::protect::Guard;
use super::reserve::Reserves;
use super::resume::Unfinished;
use super::state::RunState;
use super::texts::Texts;
use super::turn::Course;
use crate::event::{Fanout, Form, Purpose, RunEvent};
use crate::evidence::CheckError;
use crate::hook::{CycleMeta, HookFault, Point, Replaced};
use crate::outcome::{Caution, LogEntry, LogLevel, Reason, Usage};
use crate::plan::{Plan, PlanError};
use crate::provider::ProviderError;
use crate::template::{Template, TemplateError};

/// Why the run cannot or must not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Stop {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl From<PlanError> for Stop {
    fn from(error: PlanError) -> Self {
        Self::new(Reason::CycleError, error.to_string())
    }
}

impl From<CheckError> for Stop {
    fn from(error: CheckError) -> Self {
        Self::new(Reason::CheckError, error.to_string())
    }
}

impl From<HookFault> for Stop {
    fn from(fault: HookFault) -> Self {
        let reason = match fault {
            HookFault::Aborted { .. } | HookFault::Failed { .. } => Reason::HookStopped,
            HookFault::Unfit { .. } => Reason::CycleError,
        };
        Self::new(reason, fault.to_string())
    }
}

impl Stop {
    /// Says of a call that failed why it was made at all: an answer before it could not be used.
    pub(super) fn because_of(mut self, problem: &str) -> Self {
        if self.reason == Reason::ProviderError && !problem.is_empty() {
            self.message += &format!("; it was asked again, because its answer could not be used: {problem}");
        }
        self
    }
}

impl From<ProviderError> for Stop {
    fn from(error: ProviderError) -> Self {
        Self::new(Reason::ProviderError, error.to_string())
    }
}

impl From<TemplateError> for Stop {
    fn from(error: TemplateError) -> Self {
        Self::new(Reason::InternalError, error.to_string())
    }
}

/// What the logs say of a piece of the pipeline's own work; unlike what a tool observes, it has a duration.
pub(super) struct Logged<'a> {
    pub(super) step: Option<&'a str>,
    pub(super) tool: Option<String>,
    pub(super) level: LogLevel,
    pub(super) message: String,
    pub(super) duration_ms: u64,
    pub(super) tokens_used: u64,
}

pub(super) struct Run<'p> {
    pub(super) id: String,
    /// When it began, by the clock that never goes back.
    pub(super) began: Duration,
    /// What is done around the cycles.
    pub(super) turn: tokio::sync::Mutex<Option<Course>>,
    pub(super) pipeline: &'p Pipeline,
    pub(super) guard: Guard,
    /// The plan of the first cycle, when somebody made it before.
    pub(super) given: Option<Plan>,
    /// Whether the planner goes on when that did not pass.
    pub(super) replan: bool,
    pub(super) reserves: Reserves,
    /// Wall clock that was used up before it was resumed.
    pub(super) spent: Duration,
    /// Whether the record says what the state of things was when it began.
    pub(super) baseline_known: bool,
    unfinished: Mutex<Unfinished>,
    pub(super) texts: Texts,
    /// A step has ended.
    ended: Notify,
    inner: Mutex<Inner>,
}

struct Inner {
    state: RunState,
    fanout: Fanout,
}

impl<'p> Run<'p> {
    pub(super) fn new(
        pipeline: &'p Pipeline,
        run_id: &str,
        state: RunState,
        fanout: Fanout,
        guard: Guard,
    ) -> Self {
        Self {
            id: run_id.to_owned(),
            began: pipeline.clock.monotonic(),
            turn: tokio::sync::Mutex::default(),
            pipeline,
            guard,
            given: None,
            replan: false,
            reserves: Reserves::default(),
            spent: Duration::ZERO,
            baseline_known: false,
            unfinished: Mutex::default(),
            texts: Texts::default(),
            ended: Notify::new(),
            inner: Mutex::new(Inner { state, fanout }),
        }
    }

    /// Returns a run that goes on with what it had finished of that which was under way.
    pub(super) fn with_unfinished(self, unfinished: Unfinished) -> Self {
        Self { unfinished: Mutex::new(unfinished), ..self }
    }

    /// What had ended of that which was under way when the run broke off; nothing in one that did not.
    pub(super) fn unfinished(&self) -> MutexGuard<'_, Unfinished> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the milliseconds that the run has taken, with those before it was resumed.
    pub(super) fn taken(&self) -> u64 {
        millis(self.spent) + self.since(self.began)
    }

    /// Records a fact. A run that cannot be recorded must not go on.
    pub(super) fn emit(&self, event: &RunEvent) -> Result<(), Stop> {
        let mut inner = self.lock();
        inner.state.apply(event);
        let emitted = inner.fanout.emit(event).map_err(|e| Stop::new(Reason::JournalError, e.to_string()));
        drop(inner);
        if matches!(event, RunEvent::StepCompleted { .. }) {
            self.ended.notify_waiters();
        }
        emitted
    }

    /// Waits until enough steps have ended.
    pub(super) async fn until(&self, enough: impl Fn(&RunState) -> bool) {
        loop {
            // Before looking: a step that ends in between must not be missed.
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.read(&enough) {
                return;
            }
            ended.await;
        }
    }

    /// Says what a person should know, unless that was said before the run was resumed.
    pub(super) fn warn_once(&self, code: &str, message: String) -> Result<(), Stop> {
        let caution = Caution { code: code.to_owned(), message };
        if self.read(|state| state.cautions().contains(&caution)) {
            return Ok(());
        }
        let Caution { code, message } = caution;
        self.emit(&RunEvent::Warning { code, message })
    }

    /// Says which budgets are nearly used up, each one once.
    pub(super) fn warn_of_budgets(&self) -> Result<(), Stop> {
        while let Some((code, message)) = self.read(RunState::low_budget) {
            self.emit(&RunEvent::Warning { code: code.to_owned(), message })?;
        }
        Ok(())
    }

    /// Adds an entry about the pipeline's own work to the run's logs.
    pub(super) fn log(&self, about: Logged<'_>) -> Result<(), Stop> {
        let cycle = self.read(RunState::cycle);
        self.emit(&RunEvent::LogRecorded {
            entry: LogEntry {
                timestamp: self.pipeline.clock.now().as_millisecond(),
                cycle,
                step: about.step.map(str::to_owned),
                tool: about.tool,
                level: about.level,
                message: about.message,
                duration_ms: Some(about.duration_ms),
                tokens_used: Some(about.tokens_used),
            },
        })
    }

    /// Puts a text where it can be read later; returns where that is, unless nothing of this run is kept.
    pub(super) fn keep(&self, text: &str, form: Form) -> Result<Option<String>, Stop> {
        let kept = self.lock().fanout.keep(text, form);
        kept.map_err(|e| Stop::new(Reason::JournalError, e.to_string()))
    }

    /// Shows how far a model call has come.
    pub(super) fn progress(&self, purpose: &Purpose, so_far: Usage) {
        self.lock().fanout.progress(purpose, so_far);
    }

    /// Returns what `read` takes from the fold.
    pub(super) fn read<T>(&self, read: impl FnOnce(&RunState) -> T) -> T {
        read(&self.lock().state)
    }

    /// Asks the hooks of `P`, each one of which is an event; returns what each of those who replaced the payload made of it as well.
    pub(super) async fn ask<P: Point>(
        &self,
        payload: P::Payload,
    ) -> Result<(P::Payload, Vec<Replaced<P::Payload>>), Stop> {
        self.ask_for::<P>(payload, |_| Ok(())).await
    }

    /// As [`Self::ask`], for data that the run can only go on with if it `fits`.
    pub(super) async fn ask_for<P: Point>(
        &self,
        payload: P::Payload,
        fits: impl Fn(&P::Payload) -> Result<(), String>,
    ) -> Result<(P::Payload, Vec<Replaced<P::Payload>>), Stop> {
        if !self.pipeline.hooks.listens::<P>() {
            return Ok((payload, Vec::new()));
        }
        let meta = self.read(|state| CycleMeta {
            cycle_number: state.cycle(),
            total_cycles_used: state.cycle(),
            tokens_used: state.tokens_used(),
        });
        let mut unrecorded = Ok(());
        let record = |asked: crate::hook::Asked| {
            let name = asked.hook.clone();
            let emitted = self.emit(&RunEvent::HookCompleted {
                cycle: meta.cycle_number,
                point: P::NAME.to_owned(),
                hook: asked.hook,
                outcome: asked.outcome,
                changed: asked.changed,
                error: asked.error.clone(),
                duration_ms: millis(asked.took),
            });
            let warned = asked.error.filter(|_| asked.passed_over).map_or(Ok(()), |error| {
                let message =
                    format!("{} hook `{name}` failed, and the run goes on without it: {error}", P::NAME);
                self.emit(&RunEvent::Warning { code: "hook_failed".to_owned(), message })
            });
            if unrecorded.is_ok() {
                unrecorded = emitted.and(warned);
            }
        };
        let answer = self.pipeline.hooks.ask::<P>(payload, meta, &*self.pipeline.clock, fits, record).await;
        unrecorded?;
        Ok(answer?)
    }

    pub(super) fn render(&self, template: Template, slots: impl serde::Serialize) -> Result<String, Stop> {
        Ok(self.pipeline.templates.render(template, slots)?)
    }

    pub(super) fn monotonic(&self) -> Duration {
        self.pipeline.clock.monotonic()
    }

    /// Returns the milliseconds since `began`.
    pub(super) fn since(&self, began: Duration) -> u64 {
        millis(self.monotonic().saturating_sub(began))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock was held is a bug that ends the run as an internal error; the result must still be written.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
