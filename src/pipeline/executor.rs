//! Owns an execution: the order of the steps before the first, those that are under way together, the results after the last.
//!
//! Source of the rules: the seeds' pipeline document, "Executor". What happens inside a step is in [`super::step`].

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{AbortHandle, Aborted, FutureExt as _, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::approval;
use super::planner::{can_run, keep_given};
use super::run::{Run, Stop};
use super::state::{Action, order_of};
use super::step;
use crate::event::RunEvent;
use crate::hook::{ExecutorInput, ExecutorOutput, PostExecutor, PreExecutor};
use crate::outcome::{Entries, Reason, StepResult, StepStatus};
use crate::plan::Plan;
use crate::prompt::Prompt;

pub(super) async fn start(run: &Run<'_>) -> Result<(), Stop> {
    let Some(input) = run.read(|state| {
        Some(ExecutorInput {
            plan: Plan::clone(state.plan()?),
            prompt: Prompt::clone(state.prompt()),
            cycle: state.cycle(),
            scratchpad: Entries::clone(state.scratchpad().entries()),
            previous_results: state.previous_results().map(<[StepResult]>::to_vec),
        })
    }) else {
        return Err(Stop::new(Reason::InternalError, "an execution without a plan was started"));
    };
    run.texts.forget_outputs();
    let began = run.guard.ready().await?;
    if run.read(super::state::RunState::cycle) == 1
        && let Some(event) = began.event(run.pipeline.workspace.root()).filter(|_| !run.baseline_known)
    {
        run.emit(&event)?;
    }
    let plan = input.plan.clone();
    let (input, changed) = run.ask_for::<PreExecutor>(input, |input| can_run(run, &input.plan)).await?;
    keep_given::<PreExecutor>(run, input.plan == plan, &changed)?;
    let edited = approval::plan(run, &input.plan).await?;
    let by_hooks = !changed.is_empty();
    run.emit(&RunEvent::ExecutionStarted {
        cycle: run.read(super::state::RunState::cycle),
        order: order(edited.as_ref().unwrap_or(&input.plan))?,
        plan: edited.or_else(|| by_hooks.then_some(input.plan)).map(Arc::new),
        prompt: by_hooks.then(|| Arc::new(input.prompt)),
        scratchpad: by_hooks.then_some(input.scratchpad),
    })
}

/// Runs the steps of the plan to the end of the last one, those together that may be.
///
/// Whatever stops the run stops the steps after it at once; those before it go on, because one after the other they would have ended first.
pub(super) async fn steps(run: &Run<'_>) -> Result<(), Stop> {
    let mut under_way = FuturesUnordered::new();
    let mut handles: BTreeMap<usize, AbortHandle> = BTreeMap::new();
    let mut stopped: Option<(usize, Stop)> = None;
    loop {
        let (most, actions) = run.read(|state| (state.abreast_at_most(), state.next()));
        let mut skipped = false;
        for action in actions {
            let (Action::RunStep(index) | Action::SkipStep(index, _)) = action else { break };
            let Some(rank) = run.read(|state| state.rank(index)) else { break };
            if stopped.as_ref().is_some_and(|(from, _)| rank >= *from) {
                break;
            }
            if let Action::SkipStep(_, dependency) = action {
                skip(run, index, &dependency)?;
                skipped = true;
            } else if handles.len() < most && !handles.contains_key(&rank) {
                let (step, handle) = abortable(step::run(run, index));
                handles.insert(rank, handle);
                under_way.push(step.map(move |ended| (rank, ended)));
            }
        }
        if skipped {
            continue;
        }
        let Some((rank, ended)) = under_way.next().await else {
            return stopped.map_or(Ok(()), |(_, stop)| Err(stop));
        };
        handles.remove(&rank);
        match ended {
            Ok(Err(stop)) if stop.reason == Reason::JournalError => return Err(stop),
            Ok(Err(stop)) => {
                handles.split_off(&rank).values().for_each(AbortHandle::abort);
                stopped = Some((rank, stop));
            }
            // Ended, or ended by a stop before it.
            Ok(Ok(())) | Err(Aborted) => {}
        }
    }
}

/// Records a step that cannot run: no tokens are spent on inputs that are broken.
fn skip(run: &Run<'_>, index: usize, dependency: &str) -> Result<(), Stop> {
    let Some((cycle, step_id)) = run.read(|state| Some((state.cycle(), state.step(index)?.id.clone())))
    else {
        return Ok(());
    };
    let result = StepResult {
        step_id,
        status: StepStatus::Failure,
        output: Arc::default(),
        error: Some(format!("Skipped: dependency \"{dependency}\" failed")),
        tokens_used: 0,
        duration_ms: 0,
    };
    run.emit(&RunEvent::StepCompleted { cycle, result, skipped: true })
}

pub(super) async fn finish(run: &Run<'_>) -> Result<(), Stop> {
    let (cycle, output) = run.read(|state| {
        let results = state.results();
        let tokens_used = results.iter().map(|result| result.tokens_used).sum();
        (state.cycle(), ExecutorOutput { results, logs: state.cycle_logs().to_vec(), tokens_used })
    });
    let tokens_used = output.tokens_used;
    let (output, changed) = run.ask::<PostExecutor>(output).await?;
    run.emit(&RunEvent::ExecutionCompleted {
        cycle,
        results: (!changed.is_empty()).then_some(output.results),
        tokens_used,
    })
}

fn order(plan: &Plan) -> Result<Vec<String>, Stop> {
    order_of(plan).map_err(|message| Stop::new(Reason::CycleError, message))
}
