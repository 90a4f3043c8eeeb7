//! Owns the performing of actions: asks the fold what may happen, does it, and sees every run through to one settlement and one last event.
//!
//! Whatever breaks in between (a panic included) becomes a settlement; there is no way out of here without one.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::cancel::Cancel;
use super::estimate::{self, Limit};
use super::protect::{Began, Guard, within};
use super::recall::Recalled;
use super::resume::{Interrupted, Unlogged};
use super::run::{Run, Stop, millis};
use super::state::{Action, Bounds, RunState, Touch, Until};
use super::{Pipeline, approval, artifacts, evaluator, executor, planner, step, turn};
use crate::event::{self, Fanout, RunEvent};
use crate::hook::{PostStep, PreStep};
use crate::outcome::{Artifact, Estimate, Evidence, Reason, RunResult, Settlement, Spending};
use crate::plan::Plan;
use crate::prompt::{Prompt, UNVERIFIABLE};
use crate::text;

/// The share of a run's time after which a person is told.
const LOW_TIME: f64 = 0.8;

/// How much of a run's time is kept for its end at most: children are killed, the result is written.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// What exit code, result and last line derive from.
    pub settlement: Settlement,
    /// The result as it was reported.
    pub result: RunResult,
}

/// A task with a plan that was made before.
#[derive(Debug, Clone)]
pub struct Given {
    /// The task.
    pub prompt: Prompt,
    /// The plan of the first cycle.
    pub plan: Plan,
    /// Whether the planner goes on when it did not pass.
    pub replan: bool,
}

/// A plan that was made and not executed.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What executing it will cost.
    pub estimate: Estimate,
    /// What making it took.
    pub spent: Spending,
}

impl Pipeline {
    /// Runs `prompt` to its settlement.
    ///
    /// Events leave through `fanout` as they happen; `cancel` stops the run from outside.
    pub async fn run(&self, run_id: &str, prompt: Prompt, fanout: Fanout, cancel: &Cancel) -> Finished {
        let run = self.begin(run_id, prompt, self.bounds(self.config.limits.max_cycles), fanout);
        let started = run.start().and_then(|()| approval::check(&run));
        run.settle(started, cancel).await
    }

    /// Runs `prompt` with a plan that was made before; the planner is asked only when that did not pass, and only if it may `replan`.
    pub async fn execute(&self, run_id: &str, given: Given, fanout: Fanout, cancel: &Cancel) -> Finished {
        let Given { prompt, plan, replan } = given;
        let cycles = if replan { self.config.limits.max_cycles } else { 1 };
        let mut run = self.begin(run_id, prompt, self.bounds(cycles), fanout);
        (run.given, run.replan) = (Some(plan), replan);
        let started = run.start().and_then(|()| approval::check(&run));
        run.settle(started, cancel).await
    }

    /// Makes the plan for `prompt` and executes nothing.
    ///
    /// # Errors
    /// There is no plan: how that ended.
    pub async fn plan(
        &self,
        run_id: &str,
        prompt: Prompt,
        fanout: Fanout,
        cancel: &Cancel,
    ) -> Result<Planned, Finished> {
        let bounds = Bounds { until: Until::Plan, ..self.bounds(1) };
        let run = self.begin(run_id, prompt, bounds, fanout);
        run.perform(std::future::ready(run.start()), cancel).await;
        if run.read(RunState::is_stopped) {
            return Err(run.close().await);
        }
        match run.planned() {
            Ok(planned) => Ok(planned),
            Err(stop) => {
                run.stop(stop);
                Err(run.close().await)
            }
        }
    }

    fn begin(&self, run_id: &str, prompt: Prompt, bounds: Bounds, fanout: Fanout) -> Run<'_> {
        let guard = Guard::begin(self, prompt.clone(), None);
        Run::new(self, run_id, RunState::new(prompt, bounds), fanout, guard)
    }

    /// Judges what an earlier run did once more, on the workspace as it is now, without executing anything.
    pub async fn evaluate(
        &self,
        run_id: &str,
        recalled: Recalled,
        fanout: Fanout,
        cancel: &Cancel,
    ) -> Finished {
        let Recalled { prompt, execution, unchanged, .. } = recalled;
        let guard = Guard::begin(
            self,
            prompt.clone(),
            Some(Began { unchanged: unchanged.clone(), ..Began::default() }),
        );
        let bounds = Bounds { until: Until::Verdict, ..self.bounds(1) };
        let run = Run::new(self, run_id, RunState::new(prompt, bounds), fanout, guard);
        let recall = || {
            run.start()?;
            if !unchanged.is_empty() {
                run.emit(&RunEvent::BaselineTaken {
                    unchanged,
                    scripts: Vec::new(),
                    protected: None,
                    before: BTreeMap::new(),
                })?;
            }
            run.emit(&execution)
        };
        let started = recall();
        run.settle(started, cancel).await
    }

    /// Goes on with a run that broke off: what its record says has happened is not done again.
    pub async fn resume(
        &self,
        run_id: &str,
        interrupted: Interrupted,
        fanout: Fanout,
        cancel: &Cancel,
    ) -> Finished {
        let Interrupted {
            prompt,
            events,
            given,
            began,
            known,
            cycle_begun,
            evidence,
            spent,
            mut unfinished,
            answered,
            ..
        } = interrupted;
        let once = given.as_ref().is_some_and(|given| !given.replan);
        let bounds = self.bounds(if once { 1 } else { self.config.limits.max_cycles });
        let mut state = RunState::new(prompt.clone(), bounds);
        for envelope in &events {
            state.apply(&envelope.event);
        }
        for purpose in &answered {
            self.provider.recall(purpose);
        }
        let baseline_known = began.is_some();
        let guard = Guard::begin(self, Arc::unwrap_or_clone(prompt), began);
        let unlogged = unfinished.unlogged.take();
        let mut run = Run::new(self, run_id, state, fanout, guard).with_unfinished(unfinished);
        (run.given, run.spent, run.baseline_known) = (given.map(|given| given.plan), spent, baseline_known);
        let taken_up = Box::pin(run.take_up(unlogged, &known, cycle_begun, &evidence));
        run.perform(taken_up, cancel).await;
        run.close().await
    }

    fn bounds(&self, max_cycles: u32) -> Bounds {
        let limits = &self.config.limits;
        Bounds {
            turn: self.store.is_some() || !self.stages.is_empty(),
            until: Until::End,
            max_cycles,
            max_tokens: limits.max_tokens,
            max_tool_calls: limits.max_tool_calls,
            max_cost: limits.max_cost_usd,
            prices: self.prices.clone(),
            max_parallel_steps: self.abreast(),
            touches: self.tools.list().map(|tool| (tool.name().to_owned(), Touch::of(tool))).collect(),
        }
    }

    /// Returns how many steps may be under way at the same time: hooks around steps may change anything, so they are asked in order.
    fn abreast(&self) -> usize {
        let asked = self.hooks.listens::<PreStep>() || self.hooks.listens::<PostStep>();
        if asked { 1 } else { self.config.limits.max_parallel_steps }
    }
}

impl Run<'_> {
    /// Says that the run goes on, and mends what its record ends in the middle of.
    async fn take_up(
        &self,
        unlogged: Option<Unlogged>,
        known: &[turn::Known],
        cycle_begun: bool,
        judged: &[Evidence],
    ) -> Result<(), Stop> {
        self.emit(&RunEvent::RunResumed {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            spent_ms: millis(self.spent),
        })?;
        match &unlogged {
            Some(Unlogged::Plan { steps, duration_ms, tokens_used }) => {
                self.log(planner::logged(*steps, *duration_ms, *tokens_used))?;
            }
            Some(Unlogged::Step { result, tools }) => self.log(step::logged(result, tools))?,
            Some(Unlogged::Evaluation { evaluation, duration_ms }) => {
                self.log(evaluator::logged(evaluation, *duration_ms))?;
            }
            None => {}
        }
        self.confine()?;
        approval::check(self)?;
        // What it began with is compared before anything goes on; without a word of that, no step has run.
        if self.baseline_known {
            self.guard.ready().await?;
        }
        if self.read(RunState::has_passed) {
            evaluator::still_holds(self, judged).await?;
        }
        turn::resume(self, known, cycle_begun).await
    }

    fn start(&self) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let config = pipeline
            .config
            .recorded()
            .map_err(|e| Stop::new(Reason::InternalError, format!("the configuration is not JSON: {e}")))?;
        self.emit(&RunEvent::RunStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provider: pipeline.provider.name().to_owned(),
            prompt: self.read(|state| state.prompt().clone()),
            session: pipeline.session.clone(),
            prompt_sha256: self.read(|state| state.prompt().sha256()),
            config,
            tools: pipeline.tools.names(),
            given: self.given.clone().map(|plan| event::Given { plan, replan: self.replan }),
            asks: pipeline.approval.subjects(),
            protects: pipeline.protected.iter().map(|path| within(pipeline.workspace.root(), path)).collect(),
            replies: pipeline.replies.clone(),
        })?;
        self.confine()
    }

    /// Says what is in force, and what makes the verdict worth less.
    fn confine(&self) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let confinement = pipeline.confinement.clone();
        let open = confinement.gaps.join(", ");
        self.emit(&RunEvent::SandboxApplied { confinement })?;
        if !open.is_empty() {
            let message = format!("commands are not confined as they should be: they can {open}");
            self.warn_once("sandbox_incomplete", message)?;
        }
        self.warn_of_judging()
    }

    /// Says what makes the verdict worth less, before anything is paid for it.
    fn warn_of_judging(&self) -> Result<(), Stop> {
        let config = &self.pipeline.config;
        if !self.read(|state| state.prompt().is_verifiable()) {
            let message = UNVERIFIABLE;
            if config.evaluator.strict {
                return Err(Stop::new(Reason::NothingVerified, message));
            }
            let message =
                format!("nothing is verified: {message}, so its verdict is the word of a model alone");
            self.warn_once("nothing_verified", message)?;
        }
        if config.model.evaluator == config.model.executor {
            let message = format!(
                "`{}` judges its own work: give the evaluator another model than the executor",
                config.model.evaluator
            );
            self.warn_once("judge_is_executor", message)?;
        }
        Ok(())
    }

    async fn settle(&self, started: Result<(), Stop>, cancel: &Cancel) -> Finished {
        self.perform(std::future::ready(started), cancel).await;
        self.close().await
    }

    /// Performs what there is to do once the run has begun: until nothing is left, it is told to stop, or its time is up.
    async fn perform(&self, begun: impl Future<Output = Result<(), Stop>>, cancel: &Cancel) {
        let work = Box::pin(async {
            begun.await?;
            self.work().await
        });
        self.drive(work, cancel).await;
    }

    fn planned(&self) -> Result<Planned, Stop> {
        let plan = self.read(|state| state.plan().map(|plan| Plan::clone(plan)));
        let plan = plan.ok_or_else(|| Stop::new(Reason::InternalError, "there is no plan"))?;
        let estimate = estimate::of(self, &plan, &Limit::whole(self))?;
        let spent = self.read(|state| Spending { tokens: state.tokens_used(), usd: state.cost().usd });
        Ok(Planned { plan, estimate, spent })
    }

    async fn drive(&self, work: impl Future<Output = Result<(), Stop>>, cancel: &Cancel) {
        let work = AssertUnwindSafe(work).catch_unwind();
        let limit = self.pipeline.config.limits.max_duration;
        let stop = tokio::select! {
            biased;
            cause = cancel.stopped() => Some(Stop::new(cause.reason(), cause.message())),
            stop = self.time_is_up(limit) => Some(stop),
            ended = work => match ended {
                Ok(Ok(())) => None,
                Ok(Err(stop)) => Some(stop),
                Err(_) => Some(Stop::new(Reason::InternalError, "tepa has a bug: the run panicked")),
            },
        };
        if let Some(stop) = stop {
            self.stop(stop);
        }
    }

    async fn work(&self) -> Result<(), Stop> {
        let mut cycle_began = self.monotonic();
        loop {
            // The fold returns everything that may start; doing the first is always right. Only steps may be under way together.
            let Some(action) = self.read(RunState::next).into_iter().next() else {
                return Err(Stop::new(
                    Reason::InternalError,
                    "tepa has a bug: the run has nothing left to do",
                ));
            };
            match action {
                Action::StartCycle(cycle) => {
                    cycle_began = self.monotonic();
                    self.emit(&RunEvent::CycleStarted { cycle })?;
                    self.warn_of_budgets()?;
                    turn::begin_cycle(self, cycle).await?;
                }
                Action::Assemble => turn::assemble(self).await?,
                Action::Plan => planner::plan(self).await?,
                Action::StartExecution => executor::start(self).await?,
                Action::RunStep(_) | Action::SkipStep(..) => executor::steps(self).await?,
                Action::FinishExecution => executor::finish(self).await?,
                Action::Evaluate => evaluator::evaluate(self).await?,
                Action::EndCycle(verdict) => {
                    let (cycle, tokens_used) = self.read(|state| (state.cycle(), state.tokens_used()));
                    let duration_ms = self.since(cycle_began);
                    self.emit(&RunEvent::CycleCompleted { cycle, verdict, tokens_used, duration_ms })?;
                    turn::end_cycle(self, cycle, verdict).await?;
                }
                Action::Conclude => turn::conclude(self).await?,
                Action::Settle => return Ok(()),
            }
        }
    }

    /// Waits until the time of the run is used up but for what its end takes; says so when most of it is gone.
    async fn time_is_up(&self, limit: Option<u64>) -> Stop {
        let Some(limit) = limit else { return std::future::pending().await };
        let whole = Duration::from_millis(limit);
        let low = whole.mul_f64(LOW_TIME);
        let end = whole.saturating_sub((whole / 20).min(FOR_THE_END));
        let spent = self.pipeline.spent + self.spent;
        tokio::time::sleep(low.saturating_sub(spent)).await;
        let message = format!("{} of {} are gone", text::duration(millis(low)), text::duration(limit));
        let warned = self.emit(&RunEvent::Warning { code: "time_budget_low".to_owned(), message });
        if let Err(stop) = warned {
            return stop;
        }
        tokio::time::sleep(end.saturating_sub(low.max(spent))).await;
        Stop::new(Reason::TimeBudget, format!("Time budget exceeded: {limit} ms"))
    }

    fn stop(&self, stop: Stop) {
        let Stop { reason, message } = stop;
        // When even this cannot be recorded, the fold still knows it, and the settlement derives from the fold.
        if let Err(unrecorded) = self.emit(&RunEvent::RunStopped { reason, message }) {
            let Stop { reason, message } = unrecorded;
            let _ = self.emit(&RunEvent::RunStopped { reason, message });
        }
    }

    async fn close(&self) -> Finished {
        // A run that was stopped had no use for all replies of a script.
        if is_judged(self.read(RunState::settlement).reason())
            && let Err(error) = self.pipeline.provider.finish()
        {
            self.stop(error.into());
        }
        let wanted = self.read(artifacts::wanted);
        // A run that could not look at its files has no artifacts to show, and says so by the settlement that follows.
        let outputs = match artifacts::on_disk(wanted, Arc::clone(&self.pipeline.workspace)).await {
            Ok(outputs) => outputs,
            Err(stop) => {
                self.stop(stop);
                Vec::new()
            }
        };
        // The store is told last of all that may still go wrong, but for the last event itself.
        if let Err(stop) = turn::settle(self, &self.read(RunState::settlement)).await {
            self.stop(stop);
        }
        let mut settlement = self.read(RunState::settlement);
        let mut result = self.result(&settlement, &outputs);
        // A result that could not be written where it was asked for is no verdict; the sinks that are left are told so.
        while let Err(stop) = self.emit(&RunEvent::RunCompleted { result: Box::new(result.clone()) }) {
            settlement = Settlement::stopped(stop.reason, stop.message.clone());
            self.stop(stop);
            // It cannot be told more than that.
            let _ = turn::settle(self, &settlement).await;
            result = self.result(&settlement, &outputs);
        }
        Finished { settlement, result }
    }

    fn result(&self, settlement: &Settlement, outputs: &[Artifact]) -> RunResult {
        let judged = is_judged(settlement.reason());
        self.read(|state| RunResult {
            status: settlement.status(),
            cycles: state.cycle(),
            tokens_used: state.tokens_used(),
            outputs: outputs.to_vec(),
            logs: state.logs().to_vec(),
            feedback: settlement.feedback().to_owned(),
            run_id: self.id.clone(),
            reason: settlement.reason(),
            exit_code: settlement.exit_code(),
            duration_ms: self.taken(),
            usage: state.usage().clone(),
            cost: state.cost(),
            checks: state.checks().to_vec(),
            criteria: state.evaluation().map(|last| last.criteria.clone()).unwrap_or_default(),
            evaluation: state.evaluation().cloned(),
            sandbox: Some(self.pipeline.confinement.clone()),
            warnings: state.cautions().to_vec(),
            error: (!judged).then(|| settlement.feedback().to_owned()),
        })
    }
}

/// Returns whether a run ended by a verdict.
fn is_judged(reason: Reason) -> bool {
    matches!(reason, Reason::Passed | Reason::MaxCycles | Reason::ProtectedPathModified)
}
