//! Owns the turn around the cycles: what is assembled once before the first, what is stored and done once after a pass, and the stages of
//! each cycle.
//!
//! Output stages run after a pass and take nothing back when they break. The store is told how the turn ended when everything else is done,
//! so that what it says is what the exit code says.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::{MappedMutexGuard, MutexGuard};

use super::artifacts;
use super::run::{Run, Stop, millis};
use super::state::{RunState, Until};
use crate::event::RunEvent;
use crate::outcome::{Artifact, Evaluation, Overruling, Reason, RunStatus, Settlement, Verdict};
use crate::prompt::Prompt;
use crate::stage::{self, Ended, Owner, StageRun, StoreError, TurnContext, TurnStore};
use crate::turn::{
    Assembled, Note, Scope, Speaker, StageOutcome, ToolCall, TrustTier, Turn, TurnEnd, TurnMessage,
    TurnStatus,
};

/// The turn of a run in flight.
pub(super) struct Course {
    context: TurnContext,
    /// What the stages of cycles work on.
    dispatch: Option<TurnContext>,
    /// Whether the store knows of the turn.
    begun: bool,
    /// What the store was told of its end.
    settled: Option<TurnStatus>,
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::new(Reason::StoreError, error.to_string())
    }
}

/// Takes the turn up and assembles what the models are given; no model has been asked yet.
pub(super) async fn assemble(run: &Run<'_>) -> Result<(), Stop> {
    let mut course = course(run).await;
    if let Some(store) = recording(run) {
        let turn = turn(&course.context);
        if !course.begun {
            store.begin(&turn).await?;
            course.begun = true;
        }
        course.context.store(message(&course.context, Speaker::User, turn.goal)).await?;
    }
    perform(run, Scope::TurnInput, &mut course.context).await?;
    run.emit(&assembled(0, &course.context))
}

/// Takes the turn of a run up again that broke off.
pub(super) async fn resume(run: &Run<'_>, known: &[Known], cycle_begun: bool) -> Result<(), Stop> {
    if !run.read(RunState::is_turn) {
        return Ok(());
    }
    let mut course = course(run).await;
    if let Some(store) = recording(run) {
        store.resume(&turn(&course.context)).await?;
        course.begun = true;
    }
    for known in known {
        if known.cycle == 0 {
            known.restore(&mut course.context);
        } else {
            known.restore(course.dispatched(known.cycle));
        }
    }
    drop(course);
    let (cycle, is_planning) = run.read(|state| (state.cycle(), state.is_planning()));
    if is_planning && !cycle_begun {
        begin_cycle(run, cycle).await?;
    }
    Ok(())
}

/// What stages had assembled before the run broke off.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// 0 for the whole run.
    pub(super) cycle: u32,
    pub(super) context: Assembled,
    pub(super) stash: Map<String, Value>,
    pub(super) met: Option<TrustTier>,
}

impl Known {
    fn restore(&self, into: &mut TurnContext) {
        into.turn = self.context.clone();
        into.stash = self.stash.clone().into();
        if let Some(tier) = self.met {
            into.meet(tier);
        }
    }
}

fn turn(context: &TurnContext) -> Turn {
    Turn {
        id: context.id().to_owned(),
        session: context.session().map(str::to_owned),
        goal: context.prompt().goal.clone(),
        started_at: context.now(),
    }
}

fn assembled(cycle: u32, context: &TurnContext) -> RunEvent {
    RunEvent::ContextAssembled {
        cycle,
        context: Arc::new(context.turn.clone()),
        stash: context.stash.values().clone(),
        met: Some(context.met()).filter(|met| *met != TrustTier::FirstParty),
    }
}

/// Runs the input stages of a cycle.
pub(super) async fn begin_cycle(run: &Run<'_>, cycle: u32) -> Result<(), Stop> {
    if run.pipeline.stages.dispatch_input.is_empty() {
        return Ok(());
    }
    let mut course = course(run).await;
    let dispatch = course.dispatched(cycle);
    let before = dispatch.turn.clone();
    perform(run, Scope::DispatchInput, dispatch).await?;
    if dispatch.turn == before {
        return Ok(());
    }
    run.emit(&assembled(cycle, dispatch))
}

/// Runs the output stages of a cycle; they may withhold its pass.
pub(super) async fn judge(run: &Run<'_>, evaluation: Evaluation) -> Result<Evaluation, Stop> {
    if run.pipeline.stages.dispatch_output.is_empty() {
        return Ok(evaluation);
    }
    let cycle = run.read(RunState::cycle);
    let mut course = course(run).await;
    let dispatch = course.dispatched(cycle);
    dispatch.judge(evaluation.clone());
    perform(run, Scope::DispatchOutput, dispatch).await?;
    Ok(match dispatch.withheld() {
        Some(reason) => withhold(evaluation, reason),
        None => evaluation,
    })
}

fn withhold(mut evaluation: Evaluation, reason: &str) -> Evaluation {
    if evaluation.verdict == Verdict::Fail {
        let said = evaluation.feedback.take().unwrap_or_default();
        evaluation.feedback = Some(format!("{said}\n{reason}"));
        return evaluation;
    }
    evaluation.verdict = Verdict::Fail;
    evaluation.feedback = Some(reason.to_owned());
    evaluation.overruled.push(Overruling {
        by: Scope::DispatchOutput.key().to_owned(),
        from: Verdict::Pass,
        to: Verdict::Fail,
        reason: reason.to_owned(),
    });
    evaluation
}

/// Notes the end of a cycle.
pub(super) async fn end_cycle(run: &Run<'_>, cycle: u32, verdict: Verdict) -> Result<(), Stop> {
    let Some(store) = recording(run) else { return Ok(()) };
    let (feedback, tokens_used) =
        run.read(|state| (state.feedback().map(str::to_owned), state.tokens_used()));
    let verdict = verdict.name().to_owned();
    Ok(store.note(&run.id, Note::Cycle { cycle, verdict, feedback, tokens_used }).await?)
}

/// Whether what tools do is kept.
pub(super) fn is_recorded(run: &Run<'_>) -> bool {
    recording(run).is_some()
}

/// Keeps what a tool did.
pub(super) async fn called(
    run: &Run<'_>,
    step: &str,
    tool: &str,
    params: Value,
    output: &Value,
    error: Option<String>,
) -> Result<(), Stop> {
    let Some(store) = recording(run) else { return Ok(()) };
    let call = ToolCall {
        id: uuid::Uuid::now_v7().to_string(),
        turn: run.id.clone(),
        step: step.to_owned(),
        tool: tool.to_owned(),
        params,
        output: output.clone(),
        error,
        created_at: run.pipeline.clock.now(),
    };
    let owner = Owner { turn: &run.id, session: run.pipeline.session.as_deref() };
    Ok(store.store(owner, call.into()).await?)
}

/// Stores what a run that passed has to say, then runs the output stages.
pub(super) async fn conclude(run: &Run<'_>) -> Result<(), Stop> {
    // What speaks against the pass has to be heard before anything is made of it.
    run.pipeline.provider.finish()?;
    let Some(evaluation) = run.read(|state| state.evaluation().cloned()) else {
        return Err(Stop::new(Reason::InternalError, "a run without a verdict was concluded"));
    };
    let mut course = course(run).await;
    if course.begun {
        let said = run.read(RunState::settlement).feedback().to_owned();
        course.context.store(message(&course.context, Speaker::Assistant, said)).await?;
    }
    let ended = run.read(|state| Ended {
        cycles: state.cycle(),
        tokens_used: state.tokens_used(),
        cost: state.cost(),
        duration_ms: run.taken(),
    });
    let trusted = &run.pipeline.config.trusted_tools;
    if run.read(|state| state.tools_called().iter().any(|tool| !trusted.contains(tool))) {
        course.context.meet(TrustTier::ThirdPartyPublic);
    }
    if let Some(tier) = course.dispatch.as_ref().map(TurnContext::least_trusted) {
        course.context.meet(tier);
    }
    course.context.end(evaluation, ended);
    let before = left_behind(run).await?;
    let done = perform(run, Scope::TurnOutput, &mut course.context).await;
    for artifact in left_behind(run).await?.into_iter().filter(|artifact| !before.contains(artifact)) {
        let message = format!("`{}` is not what was judged: an output stage changed it", artifact.path);
        run.emit(&RunEvent::Warning { code: "output_changed".to_owned(), message })?;
    }
    let error = match done {
        Ok(()) => None,
        Err(stop) if stop.reason == Reason::JournalError => return Err(stop),
        Err(Stop { reason, message }) => {
            let code =
                if reason == Reason::Refused { "output_refused" } else { Scope::TurnOutput.error_code() };
            if let Some(store) = recording(run)
                && reason != Reason::Refused
            {
                let note = Note::Error { code: code.to_owned(), message: message.clone() };
                // What cannot be noted is told all the same.
                let _ = store.note(&run.id, note).await;
            }
            if run.pipeline.config.evaluator.strict && reason != Reason::Refused {
                return Err(Stop::new(Reason::StageError, message));
            }
            run.emit(&RunEvent::Warning { code: code.to_owned(), message: message.clone() })?;
            Some(message)
        }
    };
    run.emit(&RunEvent::TurnCompleted { error })
}

/// Returns the files of the run as they are now; none where there is no stage that could change them.
async fn left_behind(run: &Run<'_>) -> Result<Vec<Artifact>, Stop> {
    if run.pipeline.stages.turn_output.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = run.read(artifacts::wanted);
    artifacts::on_disk(wanted, Arc::clone(&run.pipeline.workspace)).await
}

/// Tells the store how the turn ended, unless it was told that already.
///
/// # Errors
/// The store cannot take it: a pass that nobody will know of is none.
pub(super) async fn settle(run: &Run<'_>, settlement: &Settlement) -> Result<(), Stop> {
    let status = match settlement.status() {
        Some(RunStatus::Pass) => TurnStatus::Ack,
        Some(RunStatus::Terminated) => TurnStatus::Aborted,
        Some(RunStatus::Fail) | None => TurnStatus::Nack,
    };
    let mut course = run.turn.lock().await;
    let open = course.as_mut().filter(|course| course.begun && course.settled != Some(status));
    let (Some(course), Some(store)) = (open, recording(run)) else { return Ok(()) };
    let settled = async {
        if settlement.status().is_none()
            || matches!(settlement.reason(), Reason::CycleError | Reason::DispatchError)
        {
            let code = reason_name(settlement.reason());
            store.note(&run.id, Note::Error { code, message: settlement.feedback().to_owned() }).await?;
        }
        store.settle(&run.id, &end(run, settlement, status)).await
    };
    match settled.await {
        Ok(()) => {
            course.settled = Some(status);
            Ok(())
        }
        Err(error) if status == TurnStatus::Ack => Err(error.into()),
        Err(error) => {
            // It did not pass: what the store does not know cannot make anybody believe that it did.
            let message = format!("the end of the run is not in the store: {error}");
            run.emit(&RunEvent::Warning { code: "store_error".to_owned(), message })
        }
    }
}

fn end(run: &Run<'_>, settlement: &Settlement, status: TurnStatus) -> TurnEnd {
    let (cycles, tokens_used) = run.read(|state| (state.cycle(), state.tokens_used()));
    TurnEnd {
        status,
        reason: reason_name(settlement.reason()),
        feedback: if status == TurnStatus::Ack { String::new() } else { settlement.feedback().to_owned() },
        cycles,
        tokens_used,
        ended_at: run.pipeline.clock.now(),
    }
}

fn reason_name(reason: Reason) -> String {
    let name = serde_json::to_value(reason).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn message(context: &TurnContext, role: Speaker, said: String) -> TurnMessage {
    // The same for a run that is resumed: then it is not stored twice.
    let said_by = match role {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    };
    let id = format!("{}-{said_by}", context.id());
    TurnMessage { id, turn: context.id().to_owned(), role, content: said, created_at: context.now() }
}

/// Returns the store if this run is a turn: making a plan and judging again are none.
fn recording<'r>(run: &'r Run<'_>) -> Option<&'r Arc<dyn TurnStore>> {
    let is_turn = run.read(|state| state.goes() == Until::End);
    run.pipeline.store.as_ref().filter(|_| is_turn)
}

async fn course<'r>(run: &'r Run<'_>) -> MappedMutexGuard<'r, Course> {
    let pipeline = run.pipeline;
    let begin = || Course {
        context: TurnContext::new(
            &run.id,
            pipeline.session.clone(),
            run.read(|state| Prompt::clone(state.prompt())),
            pipeline.tools.names(),
            pipeline.store.clone(),
            Arc::clone(&pipeline.counter),
            Arc::clone(&pipeline.clock),
        ),
        dispatch: None,
        begun: false,
        settled: None,
    };
    MutexGuard::map(run.turn.lock().await, |course| course.get_or_insert_with(begin))
}

impl Course {
    /// Returns the context of a cycle.
    fn dispatched(&mut self, cycle: u32) -> &mut TurnContext {
        let context = &self.context;
        let dispatch = self.dispatch.get_or_insert_with(|| context.dispatched());
        if dispatch.cycle() != cycle {
            dispatch.begin_cycle(cycle);
        }
        dispatch
    }
}

/// Runs the stages of a list, each of which is an event.
async fn perform(run: &Run<'_>, scope: Scope, context: &mut TurnContext) -> Result<(), Stop> {
    let stages = run.pipeline.stages.of(scope);
    let cycle = context.cycle();
    let told: Mutex<(Result<(), Stop>, Option<String>)> = Mutex::new((Ok(()), None));
    let record = |StageRun { at, stage, outcome, reason, took }: StageRun| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome == StageOutcome::Aborted {
            told.1 = Some(stage.clone());
        }
        let event =
            RunEvent::StageCompleted { cycle, scope, at, stage, outcome, reason, duration_ms: millis(took) };
        let emitted = run.emit(&event);
        if told.0.is_ok() {
            told.0 = emitted;
        }
    };
    let ended = stage::run(scope, stages, context, &*run.pipeline.clock, &record).await;
    let (unrecorded, refused_by) = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    unrecorded?;
    for message in context.take_warnings() {
        run.emit(&RunEvent::Warning { code: "stage_warning".to_owned(), message })?;
    }
    if let Err(fault) = ended {
        let reason = match scope {
            Scope::TurnInput | Scope::TurnOutput => Reason::StageError,
            Scope::DispatchInput | Scope::DispatchOutput => Reason::DispatchError,
        };
        return Err(Stop::new(reason, fault.to_string()));
    }
    match (context.aborted(), refused_by) {
        (Some(why), Some(stage)) => {
            Err(Stop::new(Reason::Refused, format!("{scope} stage `{stage}` refused the run: {why}")))
        }
        _ => Ok(()),
    }
}
