//! Owns the planner's part of a cycle: from goal, tools and feedback to a plan that passed every validation.
//!
//! Source of the rules: the seeds' pipeline document, "Planner".

use std::sync::Arc;

use serde_json::json;

use super::answer::json_object;
use super::llm::Question;
use super::run::{Logged, Run, Stop};
use super::shown;
use super::state::order_of;
use crate::event::{Role, RunEvent};
use crate::hook::{PlannerInput, Point, PostPlanner, PrePlanner, Replaced};
use crate::outcome::{LogLevel, Reason};
use crate::plan::{self, Plan, PlanError};
use crate::prompt::Prompt;
use crate::provider::Message;
use crate::template::Template;

pub(super) async fn plan(run: &Run<'_>) -> Result<(), Stop> {
    let began = run.monotonic();
    let cycle = run.read(super::state::RunState::cycle);
    let plan = match &run.given {
        Some(plan) if cycle == 1 => check_given(run, plan.clone()).await?,
        _ => make(run).await?,
    };
    let tokens_used = run.read(|state| state.role_tokens(Role::Planner));
    let duration_ms = run.since(began);
    let logged = logged(plan.steps.len(), duration_ms, tokens_used);
    run.emit(&RunEvent::PlanCompleted { cycle, plan: Arc::new(plan), tokens_used, duration_ms })?;
    run.log(logged)
}

/// Returns what the logs say of a plan.
pub(super) fn logged(steps: usize, duration_ms: u64, tokens_used: u64) -> Logged<'static> {
    let message = format!("plan: {}", crate::text::plural("step", steps));
    Logged { step: None, tool: None, level: LogLevel::Info, message, duration_ms, tokens_used }
}

/// Lets hooks refuse a plan that was made before; it is executed as it is, or not at all.
async fn check_given(run: &Run<'_>, given: Plan) -> Result<Plan, Stop> {
    // There is nobody to be told what these make of the task, but they may say stop.
    run.ask::<PrePlanner>(input(run)).await?;
    let (plan, changed) = run.ask::<PostPlanner>(given.clone()).await?;
    keep_given::<PostPlanner>(run, plan == given, &changed)?;
    Ok(plan)
}

fn input(run: &Run<'_>) -> PlannerInput {
    run.read(|state| PlannerInput {
        prompt: Prompt::clone(state.prompt()),
        feedback: state.feedback().map(str::to_owned),
    })
}

/// Refuses a change that hooks made to a plan that is to be executed as it is.
pub(super) fn keep_given<P: Point>(
    run: &Run<'_>,
    unchanged: bool,
    changed: &[Replaced<P::Payload>],
) -> Result<(), Stop> {
    if unchanged || run.given.is_none() || run.read(super::state::RunState::cycle) > 1 {
        return Ok(());
    }
    let hooks = crate::text::ticked(changed.iter().map(|replaced| &replaced.hook));
    let message = format!("{} hook {hooks} changed a plan that is to be executed as it is", P::NAME);
    Err(Stop::new(Reason::HookStopped, message))
}

async fn make(run: &Run<'_>) -> Result<Plan, Stop> {
    let (input, _) = run.ask::<PrePlanner>(input(run)).await?;
    let plan = ask_planner(run, &input).await?;
    let (plan, _) = run.ask_for::<PostPlanner>(plan, |plan| can_run(run, plan)).await?;
    Ok(plan)
}

/// Returns why a plan cannot be executed, if it cannot: one that a hook changed is validated as one of a model is.
pub(super) fn can_run(run: &Run<'_>, plan: &Plan) -> Result<(), String> {
    plan::validate(plan.clone(), &run.pipeline.tools.names()).map_err(|e| e.to_string())?;
    order_of(plan).map(drop)
}

async fn ask_planner(run: &Run<'_>, input: &PlannerInput) -> Result<Plan, Stop> {
    let system = system_prompt(run)?;
    let mut messages = vec![question(run, input)?];
    let tools = run.pipeline.tools.names();
    let attempts = run.pipeline.config.limits.retry_attempts.saturating_add(1);
    let mut problem = String::new();
    for attempt in 1..=attempts {
        let question = Question {
            model: &run.pipeline.config.model.planner,
            system: &system,
            messages: &messages,
            tool: None,
            schema: Some(plan::answer_schema()),
        };
        let response = run.ask_model(run.purpose(Role::Planner, attempt), question).await;
        let response = response.map_err(|fault| Stop::from(fault).because_of(&problem))?;
        let parsed = match json_object(&response.text) {
            Ok(answer) => plan::parse(&answer, &tools),
            Err(fault) => Err(PlanError::Malformed(vec![fault])),
        };
        match parsed {
            Ok(plan) => return Ok(plan),
            Err(PlanError::Malformed(faults)) => problem = faults.join("; "),
            Err(other) => return Err(other.into()),
        }
        messages.push(Message::assistant(said(response.text)));
        messages.push(Message::user(run.render(Template::PlannerRepair, json!({"problem": problem}))?));
    }
    let message = format!(
        "The planner's answer could not be parsed as a plan after {}: {problem}",
        crate::text::plural("attempt", attempts as usize)
    );
    Err(Stop::new(Reason::CycleError, message))
}

fn system_prompt(run: &Run<'_>) -> Result<String, Stop> {
    let template = if run.read(super::state::RunState::cycle) > 1 {
        Template::PlannerReviseSystem
    } else {
        Template::PlannerSystem
    };
    let models = &run.pipeline.config.model;
    let slots = json!({
        "tools": shown::tools(&run.pipeline.tools),
        "models": shown::models(models),
        "executor_model": models.executor,
    });
    run.system(Role::Planner, template, slots)
}

fn question(run: &Run<'_>, input: &PlannerInput) -> Result<Message, Stop> {
    let slots = json!({
        "goal": input.prompt.goal,
        "context": shown::map(&input.prompt.context),
        "expected_output": shown::expected_output(&input.prompt),
    });
    let task = run.render(Template::PlannerTask, slots)?;
    let (cycle, scratchpad) = run.read(|state| (state.cycle(), state.scratchpad().clone()));
    if cycle == 1 {
        return run.opening(Role::Planner, &task, Template::PlannerUser, json!({}));
    }
    let mark = |piece: &str| run.pipeline.nonces.of(&[piece, &cycle.to_string()]);
    let scratchpad = run.texts.scratchpad(&scratchpad, |text, form| run.keep(text, form))?;
    let most = run.room([&**scratchpad]);
    let feedback = input.feedback.as_ref();
    let feedback = feedback.map(|feedback| shown::Material::of("feedback", mark("feedback"), feedback));
    let slots = json!({
        "last_cycle": cycle - 1,
        "scratchpad": shown::scratchpad(run.piece(&scratchpad, most)?, mark("planner")),
        "feedback": feedback.unwrap_or_else(|| shown::Material::plain("(none)")),
    });
    run.opening(Role::Planner, &task, Template::PlannerReviseUser, slots)
}

/// Providers refuse an empty message in a conversation.
pub(super) fn said(text: String) -> String {
    if text.trim().is_empty() { "(nothing)".to_owned() } else { text }
}
