//! Owns what happens inside one step: its prompt, the model's tool calls or its words, the tools themselves, the result.
//!
//! A failure in here is a failed step, which the planner hears of; only a budget, a hook or a broken record ends the run.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::estimate::Call;
use super::llm::{Fault, Question};
use super::planner::keep_given;
use super::resume::Earlier;
use super::run::{Logged, Run, Stop};
use super::shown::{self, Material};
use super::state::Touch;
use super::texts::Text;
use super::turn;
use crate::event::{Purpose, Role, RunEvent};
use crate::hook::{PostStep, PostStepData, PreStep, PreStepData};
use crate::outcome::{LogEntry, LogLevel, Reason, StepResult, StepStatus};
use crate::plan::Step;
use crate::provider::{FinishReason, Message};
use crate::template::Template;
use crate::text;
use crate::tool::{AnyTool, Observation, ToolContext, ToolError};

/// The largest output of one tool call, in bytes of JSON.
const LARGEST_OUTPUT: usize = 8 * 1024 * 1024;

/// Why a step has no output.
enum Failure {
    /// The run is over.
    Stop(Stop),
    /// The step failed, in these words.
    Step(String),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Stop(stop) => Self::Stop(stop),
            Fault::Provider(error) => Self::Step(error.to_string()),
        }
    }
}

pub(super) async fn run(run: &Run<'_>, index: usize) -> Result<(), Stop> {
    let Some((cycle, planned)) = run.read(|state| Some((state.cycle(), state.step(index)?.clone()))) else {
        return Err(Stop::new(Reason::InternalError, "a step outside the plan was started"));
    };
    let id = planned.id.clone();
    let known = run.unfinished().step(&id);
    let step = if let Some(step) = known { step } else { begin(run, cycle, planned).await? };
    let began = run.monotonic();
    let ended = if step.tools.is_empty() { reason(run, &step).await } else { call_tools(run, &step).await };
    let (status, output, error) = match ended {
        Ok(output) => (StepStatus::Success, output, None),
        Err(Failure::Step(error)) => (StepStatus::Failure, Arc::default(), Some(error)),
        Err(Failure::Stop(why)) => return Err(why),
    };
    let tokens_used = run.read(|state| state.step_tokens(&id));
    let duration_ms = run.since(began);
    let result = StepResult { step_id: id.clone(), status, output, error, tokens_used, duration_ms };
    let tools = step.tools.clone();
    let (after, _) = run.ask::<PostStep>(PostStepData { step, result, cycle }).await?;
    // The graph knows the step by its id, whatever a hook made of the result.
    let result = StepResult { step_id: id.clone(), ..after.result };
    let logged = logged(&result, &tools);
    run.emit(&RunEvent::StepCompleted { cycle, result: result.clone(), skipped: false })?;
    run.log(logged)
}

/// Asks the hooks and waits for what the step has to wait for.
async fn begin(run: &Run<'_>, cycle: u32, planned: Step) -> Result<Step, Stop> {
    let id = planned.id.clone();
    let data = PreStepData { step: planned.clone(), cycle };
    let (PreStepData { step, .. }, changed) =
        run.ask_for::<PreStep>(data, |data| can_stand_in(run, &id, &data.step)).await?;
    keep_given::<PreStep>(run, step == planned, &changed)?;
    run.until(|state| state.may_ask(&id)).await;
    run.emit(&RunEvent::StepStarted { cycle, step: step.clone() })?;
    Ok(step)
}

/// Returns what the logs say of a step.
pub(super) fn logged<'r>(result: &'r StepResult, tools: &[String]) -> Logged<'r> {
    let (level, message) = match &result.error {
        None => (LogLevel::Info, "completed".to_owned()),
        Some(error) => (LogLevel::Error, format!("failed: {error}")),
    };
    Logged {
        step: Some(&result.step_id),
        tool: Some(tools.join(", ")).filter(|tools| !tools.is_empty()),
        level,
        message,
        duration_ms: result.duration_ms,
        tokens_used: result.tokens_used,
    }
}

/// A hook may rewrite a step, but not its place in the graph, and not to tools that do not exist.
fn can_stand_in(run: &Run<'_>, id: &str, step: &Step) -> Result<(), String> {
    if step.id != id {
        return Err(format!("Hook renamed step \"{id}\" to \"{}\": other steps depend on its name", step.id));
    }
    match step.tools.iter().find(|tool| run.pipeline.tools.get(tool).is_none()) {
        None => Ok(()),
        Some(tool) => Err(crate::plan::PlanError::UnknownTool {
            tool: tool.clone(),
            step: step.id.clone(),
            available: run.pipeline.tools.names(),
        }
        .to_string()),
    }
}

async fn reason(run: &Run<'_>, step: &Step) -> Result<Arc<Value>, Failure> {
    let system = run.system(Role::Executor, Template::ExecutorReasoningSystem, json!({}))?;
    let messages = [message(run, step, &[])?];
    let question = Question {
        model: model_of(run, step),
        system: &system,
        messages: &messages,
        tool: None,
        schema: None,
    };
    let response = run.ask_model(purpose(run, step, None), question).await?;
    if response.text.trim().is_empty() {
        return Err(Failure::Step("LLM returned no text for a reasoning step".to_owned()));
    }
    if response.finish_reason == FinishReason::MaxTokens {
        return Err(Failure::Step(format!(
            "LLM answer was cut off at the output limit after {} tokens",
            response.usage.output
        )));
    }
    Ok(Arc::new(Value::String(response.text)))
}

async fn call_tools(run: &Run<'_>, step: &Step) -> Result<Arc<Value>, Failure> {
    let mut outputs: Vec<Arc<Value>> = Vec::with_capacity(step.tools.len());
    let mut earlier: Vec<(&str, Text)> = Vec::new();
    for (at, name) in step.tools.iter().enumerate() {
        earlier.extend(outputs.last().map(|output| (step.tools[at - 1].as_str(), Text::of(output))));
        let tool = run
            .pipeline
            .tools
            .get(name)
            .ok_or_else(|| Failure::Step(format!("Tool \"{name}\" not found")))?;
        let before = run.unfinished().call(&step.id);
        let again = match before {
            Some(Earlier::Ended { output, error: None }) => {
                outputs.push(output);
                continue;
            }
            Some(Earlier::Ended { error: Some(error), .. }) => return Err(Failure::Step(error)),
            Some(Earlier::CutOff) => return Err(Failure::Step(cut_off(run, step, name)?)),
            Some(Earlier::Again { params }) => Some(params),
            None => None,
        };
        // Parameters for a call that cannot be made would be paid for nothing.
        if let Some(message) = run.read(super::state::RunState::tools_used_up) {
            return Err(Stop::new(Reason::ToolBudget, message).into());
        }
        let params = match again {
            Some(params) => params,
            None => ask_for_params(run, step, tool, &earlier).await?,
        };
        let output = invoke(run, step, tool, params).await?;
        outputs.push(output);
    }
    if outputs.len() == 1 {
        return Ok(outputs.pop().unwrap_or_default());
    }
    Ok(Arc::new(outputs.into_iter().map(Arc::unwrap_or_clone).collect()))
}

async fn ask_for_params(
    run: &Run<'_>,
    step: &Step,
    tool: &Arc<dyn AnyTool>,
    earlier: &[(&str, Text)],
) -> Result<Value, Failure> {
    let name = tool.name();
    let system = run.system(Role::Executor, Template::ExecutorSystem, json!({"tool": name}))?;
    let messages = [message(run, step, earlier)?];
    let question = Question {
        model: model_of(run, step),
        system: &system,
        messages: &messages,
        tool: Some(tool.schema()),
        schema: None,
    };
    let response = run.ask_model(purpose(run, step, Some(name)), question).await?;
    let call = response.tool_use.into_iter().find(|call| call.name == name);
    call.map(|call| call.input).ok_or_else(|| {
        Failure::Step(format!("LLM did not call tool \"{name}\" — no tool_use block in response"))
    })
}

async fn invoke(
    run: &Run<'_>,
    step: &Step,
    tool: &Arc<dyn AnyTool>,
    params: Value,
) -> Result<Arc<Value>, Failure> {
    let pipeline = run.pipeline;
    let name = tool.name().to_owned();
    let limit = tool.timeout().unwrap_or(Duration::from_millis(pipeline.config.limits.tool_timeout));
    let touch = Touch::of(&**tool);
    run.until(|state| state.may_call(&step.id, touch)).await;
    let (cycle, scratchpad) = run.read(|state| (state.cycle(), state.scratchpad().clone()));
    let context = ToolContext::new(
        Arc::clone(&pipeline.workspace),
        scratchpad,
        Arc::clone(&pipeline.setting),
        limit,
        pipeline.clock.now(),
    );
    let context = Arc::new(context.noting(touch.notes));
    run.emit(&RunEvent::ToolStarted {
        cycle,
        step: step.id.clone(),
        tool: name.clone(),
        params: params.clone(),
        effect: touch.effect,
    })?;
    run.warn_of_budgets()?;
    let kept = turn::is_recorded(run).then(|| params.clone());
    let began = run.monotonic();
    // A task of its own: a tool that computes without a pause must not keep the run from hearing of its time or of a signal.
    let mut call = Invocation(tokio::spawn({
        let (tool, context) = (Arc::clone(tool), Arc::clone(&context));
        async move { tool.invoke(params, &context).await }
    }));
    let ended = match tokio::time::timeout(limit, &mut call.0).await {
        Ok(Ok(ended)) => ended.and_then(|output| bounded(&name, output)).map(Arc::new),
        Ok(Err(_)) => Err(ToolError::new(format!("Tool \"{name}\" panicked: this is a bug in the tool"))),
        Err(_) => Err(ToolError::new(format!("Tool \"{name}\" timed out after {} ms", limit.as_millis()))),
    };
    drop(call);
    let wrote = record_observations(run, step, &name, &context)?;
    let (output, error) = match &ended {
        Ok(output) => (Arc::clone(output), None),
        Err(error) => (Arc::default(), Some(error.to_string())),
    };
    let duration_ms = run.since(began);
    run.emit(&RunEvent::ToolCompleted {
        cycle,
        step: step.id.clone(),
        tool: name.clone(),
        output: Arc::clone(&output),
        error: error.clone(),
        wrote,
        duration_ms,
    })?;
    if let Some(params) = kept {
        turn::called(run, &step.id, &name, params, &output, error).await?;
    }
    ended.map_err(|error| Failure::Step(error.0))
}

/// Records the end of a call that the run did not see: nobody knows how far it came.
fn cut_off(run: &Run<'_>, step: &Step, tool: &str) -> Result<String, Stop> {
    let error = format!("Tool \"{tool}\" was interrupted, and may have run");
    run.emit(&RunEvent::ToolCompleted {
        cycle: run.read(super::state::RunState::cycle),
        step: step.id.clone(),
        tool: tool.to_owned(),
        output: Arc::new(Value::Null),
        error: Some(error.clone()),
        wrote: Vec::new(),
        duration_ms: 0,
    })?;
    Ok(error)
}

/// A tool call under way; dropping it ends the call and everything that it started.
struct Invocation(JoinHandle<Result<Value, ToolError>>);

impl Drop for Invocation {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Refuses an output that no model could read and that every later record would carry along.
fn bounded(tool: &str, output: Value) -> Result<Value, ToolError> {
    let size = serde_json::to_vec(&output).map_or(usize::MAX, |bytes| bytes.len());
    if size <= LARGEST_OUTPUT {
        return Ok(output);
    }
    let (size, most) = (text::bytes(size as u64), text::bytes(LARGEST_OUTPUT as u64));
    Err(ToolError::new(format!(
        "Tool \"{tool}\" returned {size}; at most {most} can be handed on: ask it for less"
    )))
}

fn record_observations(
    run: &Run<'_>,
    step: &Step,
    tool: &str,
    context: &ToolContext,
) -> Result<Vec<String>, Stop> {
    let cycle = run.read(super::state::RunState::cycle);
    let mut wrote = Vec::new();
    for observation in context.take_observations() {
        match observation {
            Observation::Wrote(path) => wrote.push(path),
            Observation::Scratchpad { key, value } => {
                run.emit(&RunEvent::ScratchpadWritten { cycle, step: step.id.clone(), key, value })?;
            }
            Observation::Log { level, message } => {
                let entry = LogEntry {
                    timestamp: run.pipeline.clock.now().as_millisecond(),
                    cycle,
                    step: Some(step.id.clone()),
                    tool: Some(tool.to_owned()),
                    level,
                    message,
                    duration_ms: None,
                    tokens_used: None,
                };
                run.emit(&RunEvent::LogRecorded { entry })?;
            }
        }
    }
    Ok(wrote)
}

/// Returns the calls that a step will make, with what is known of them before it runs.
pub(super) fn calls(run: &Run<'_>, step: &Step) -> Result<Vec<Call>, Stop> {
    let known = message(run, step, &[])?.content.len();
    let model = model_of(run, step).to_owned();
    if step.tools.is_empty() {
        let system = run.system(Role::Executor, Template::ExecutorReasoningSystem, json!({}))?;
        return Ok(vec![Call { model, characters: known + system.len() }]);
    }
    let call = |name: &String| {
        let system = run.system(Role::Executor, Template::ExecutorSystem, json!({"tool": name}))?;
        let schema = run.pipeline.tools.get(name).map(|tool| json!(tool.schema()).to_string());
        let characters = known + system.len() + schema.map_or(0, |schema| schema.len());
        Ok(Call { model: model.clone(), characters })
    };
    step.tools.iter().map(call).collect()
}

/// What a step is told.
#[derive(Serialize)]
struct Told<'t> {
    step: &'t Step,
    scratchpad: Material<'t>,
    inputs: Vec<Output<'t>>,
    earlier: Vec<Output<'t>>,
}

/// What a step or a tool returned.
#[derive(Serialize)]
struct Output<'t> {
    of: &'t str,
    output: Material<'t>,
}

fn message(run: &Run<'_>, step: &Step, earlier: &[(&str, Text)]) -> Result<Message, Stop> {
    let (cycle, prompt, scratchpad, inputs) = run.read(|state| {
        let inputs = state.inputs(step).into_iter();
        let inputs =
            inputs.map(|(id, output)| (id.to_owned(), state.tools_of(id).to_vec(), Arc::clone(output)));
        let prompt = Arc::clone(state.steps_prompt());
        (state.cycle().to_string(), prompt, state.scratchpad().clone(), inputs.collect::<Vec<_>>())
    });
    let task = run.texts.task.try_of(&prompt, || {
        let slots = json!({"goal": prompt.goal, "context": shown::map(&prompt.context)});
        run.render(Template::ExecutorTask, slots).map(Arc::from)
    })?;
    let scratchpad = run.texts.scratchpad(&scratchpad, |text, form| run.keep(text, form))?;
    let outputs: Vec<Arc<Text>> = inputs.iter().map(|(id, _, output)| run.texts.output(id, output)).collect();
    let mark = |place: &[&str]| run.pipeline.nonces.of(&[&["step", cycle.as_str()], place].concat());
    let trusted = &run.pipeline.config.trusted_tools;
    let texts = outputs.iter().map(|text| &***text).chain(earlier.iter().map(|(_, text)| &**text));
    let most = run.room(texts.chain([&**scratchpad]));
    let inputs = inputs.iter().zip(&outputs).map(|((id, tools, _), text)| {
        let text = run.piece(text, most)?;
        Ok(Output { of: id, output: Material::returned(tools, trusted, mark(&["output", id]), text) })
    });
    let returned = earlier.iter().enumerate().map(|(at, (tool, text))| {
        let mark = mark(&["tool", &step.id, &at.to_string()]);
        let text = run.piece(text, most)?;
        Ok(Output { of: tool, output: Material::returned(&[(*tool).to_owned()], trusted, mark, text) })
    });
    // What a model has seen the mark of may write it: whatever can still change has a mark for each question.
    let asked = mark(&["scratchpad", &step.id, &earlier.len().to_string()]);
    let told = Told {
        step,
        scratchpad: shown::scratchpad(run.piece(&scratchpad, most)?, asked),
        inputs: inputs.collect::<Result<_, Stop>>()?,
        earlier: returned.collect::<Result<_, Stop>>()?,
    };
    run.opening(Role::Executor, &task, Template::ExecutorStep, &told)
}

fn model_of<'a>(run: &'a Run<'_>, step: &'a Step) -> &'a str {
    step.model.as_deref().unwrap_or(&run.pipeline.config.model.executor)
}

fn purpose(run: &Run<'_>, step: &Step, tool: Option<&str>) -> Purpose {
    Purpose { step: Some(step.id.clone()), tool: tool.map(str::to_owned), ..run.purpose(Role::Executor, 1) }
}
