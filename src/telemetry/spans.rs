//! Owns the fold of events into spans.
//!
//! Names and attributes follow OpenTelemetry's conventions for generative AI; what they have no word for begins with `tepa.`. What models
//! and tools are told or say, and errors that may quote it, become part of a span only when content is wanted.

use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use serde_json::{Value, json};

use super::context::Context;
use super::tree::{Place, Tree, fail};
use super::value::{count, event, flag, list, measure, name, name_of, words};
use crate::event::{Envelope, Purpose, Role, RunEvent, ToolUse};
use crate::outcome::{
    CheckResult, CostQualifier, CriterionResult, Evaluation, RunResult, RunStatus, StepResult, StepStatus,
    Verdict,
};
use crate::plan::Step;

/// What the workflow is called.
const WORKFLOW: &str = "tepa";

/// What an operation is called.
const OPERATION: &str = "gen_ai.operation.name";

/// A run as spans, as far as it has come.
#[derive(Debug)]
pub(super) struct Spans {
    tree: Tree,
    /// Whether content is wanted.
    content: bool,
    provider: String,
    /// Tries that failed, until their call has ended.
    retries: Vec<(Purpose, Event)>,
}

impl Spans {
    /// Returns the spans of a run that has not begun.
    pub(super) fn new(run: Context, content: bool) -> Self {
        Self { tree: Tree::new(run), content, provider: String::new(), retries: Vec::new() }
    }

    /// Takes what has happened.
    pub(super) fn apply(&mut self, envelope: &Envelope) {
        self.tree.at(envelope.ts);
        match &*envelope.event {
            RunEvent::RunStarted { .. } => self.start(envelope),
            RunEvent::CycleStarted { cycle } => self.cycle(*cycle, None),
            RunEvent::ExecutionRecalled { cycle, run, .. } => self.cycle(*cycle, Some(run)),
            RunEvent::LlmRetry { .. } => self.retry(&envelope.event),
            RunEvent::LlmCompleted { .. } => self.chat(&envelope.event),
            RunEvent::HookCompleted { .. } => self.hook(&envelope.event),
            RunEvent::PlanCompleted { plan, duration_ms, .. } => {
                self.tree.stage(Place::Plan, self.tree.before(*duration_ms));
                let steps = count("tepa.plan.steps", plan.steps.len());
                self.tree.end(&Place::Plan, |span| span.attributes.push(steps));
            }
            RunEvent::StepStarted { step, .. } => self.step(step),
            RunEvent::StepCompleted { result, skipped: true, .. } => {
                let attributes =
                    vec![words("tepa.step.id", &result.step_id), flag("tepa.step.skipped", true)];
                let span =
                    self.tree.span(self.tree.id_of(&Place::Cycle), &called(&result.step_id), self.tree.now());
                self.tree.add(Span { attributes, ..span });
            }
            RunEvent::StepCompleted { result, .. } => self.step_ended(result),
            RunEvent::ToolStarted { step, tool, params, .. } => self.tool(step, tool, params),
            RunEvent::ToolCompleted { step, tool, output, error, .. } => {
                let message = self.said(error.as_deref());
                let result = self.content.then(|| words("gen_ai.tool.call.result", &output.to_string()));
                self.tree.end(&Place::Tool(step.clone(), tool.clone()), |span| match error {
                    Some(_) => fail(span, "tool_error", message),
                    None => span.attributes.extend(result),
                });
            }
            RunEvent::CheckCompleted { result, .. } => self.check(result),
            RunEvent::EvaluationCompleted { evaluation, duration_ms, .. } => {
                self.tree.stage(Place::Evaluation, self.tree.before(*duration_ms));
                let verdict = name("tepa.verdict", &evaluation.verdict);
                self.tree.end(&Place::Evaluation, |span| span.attributes.push(verdict));
                for judged in results(evaluation, self.tree.now()) {
                    self.tree.note(&Place::Cycle, judged);
                }
            }
            RunEvent::CycleCompleted { verdict, .. } => {
                let verdict = name("tepa.verdict", verdict);
                self.tree.end(&Place::Cycle, |span| span.attributes.push(verdict));
            }
            RunEvent::Warning { code, message } => {
                let mut attributes = vec![words("tepa.warning.code", code)];
                attributes.extend(self.content.then(|| words("tepa.warning.message", message)));
                self.tree.note(&Place::Run, event(self.tree.now(), "tepa.warning", attributes));
            }
            RunEvent::RunCompleted { result } => self.complete(result),
            _ => {}
        }
    }

    /// Returns all spans; what has not ended ends with the last event.
    pub(super) fn take(&mut self) -> Vec<Span> {
        self.tree.close("_OTHER");
        self.tree.take()
    }

    fn start(&mut self, envelope: &Envelope) {
        let RunEvent::RunStarted { version, provider, prompt, .. } = &*envelope.event else { return };
        provider_name(provider).clone_into(&mut self.provider);
        let mut attributes = vec![
            words(OPERATION, "invoke_workflow"),
            words("gen_ai.workflow.name", WORKFLOW),
            words("tepa.run.id", &envelope.run_id),
            words("tepa.version", version),
        ];
        if self.content {
            attributes.push(words("gen_ai.input.messages", &message("user", &prompt.goal, &[], None)));
        }
        self.tree.begin(Place::Run, &format!("invoke_workflow {WORKFLOW}"), self.tree.now(), attributes);
    }

    fn cycle(&mut self, cycle: u32, recalled: Option<&String>) {
        let mut attributes = vec![count("tepa.cycle", cycle)];
        attributes.extend(recalled.map(|run| words("tepa.recalled.run", run)));
        self.tree.begin(Place::Cycle, &format!("cycle {cycle}"), self.tree.now(), attributes);
    }

    fn retry(&mut self, failed: &RunEvent) {
        let RunEvent::LlmRetry { purpose, retry, delay_ms, error } = failed else { return };
        let attributes = vec![
            count("tepa.retry.number", *retry),
            count("tepa.retry.delay_ms", *delay_ms),
            words("error.message", error),
        ];
        self.retries.push((purpose.clone(), event(self.tree.now(), "tepa.retry", attributes)));
    }

    fn chat(&mut self, completed: &RunEvent) {
        let RunEvent::LlmCompleted {
            purpose,
            model,
            usage,
            finish_reason,
            text,
            tool_use,
            error,
            duration_ms,
        } = completed
        else {
            return;
        };
        let start = self.tree.before(*duration_ms);
        let parent = match (purpose.role, &purpose.step) {
            (Role::Planner, _) => self.tree.stage(Place::Plan, start),
            (Role::Evaluator, _) => self.tree.stage(Place::Evaluation, start),
            (Role::Executor, step) => self.tree.id_of(&Place::Step(step.clone().unwrap_or_default())),
        };
        let mut span = self.tree.span(parent, &format!("chat {model}"), start);
        span.kind = SpanKind::Client.into();
        span.attributes = vec![
            words(OPERATION, "chat"),
            words("gen_ai.provider.name", &self.provider),
            words("gen_ai.request.model", model),
            count("gen_ai.usage.input_tokens", usage.input),
            count("gen_ai.usage.output_tokens", usage.output),
            count("gen_ai.usage.cache_read.input_tokens", usage.cached),
            count("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
            name("tepa.role", &purpose.role),
            count("tepa.attempt", purpose.attempt),
        ];
        span.attributes
            .extend(finish_reason.iter().map(|reason| list("gen_ai.response.finish_reasons", [reason])));
        if self.content {
            let said = message("assistant", text, tool_use, finish_reason.as_deref());
            span.attributes.push(words("gen_ai.output.messages", &said));
        }
        let (own, others) = std::mem::take(&mut self.retries).into_iter().partition(|(of, _)| of == purpose);
        self.retries = others;
        span.events = own.into_iter().map(|(_, retry)| retry).collect();
        if let Some(error) = error {
            fail(&mut span, "provider_error", error.clone());
        }
        self.tree.add(span);
    }

    fn hook(&mut self, completed: &RunEvent) {
        let RunEvent::HookCompleted { point, hook, outcome, error, duration_ms, .. } = completed else {
            return;
        };
        let start = self.tree.before(*duration_ms);
        let parent = match point {
            point if point.ends_with("Planner") => self.tree.stage(Place::Plan, start),
            point if point.ends_with("Evaluator") => self.tree.stage(Place::Evaluation, start),
            _ => self.tree.id_of(&Place::Cycle),
        };
        let mut span = self.tree.span(parent, &format!("hook {point}"), start);
        span.attributes = vec![words("tepa.hook.name", hook), name("tepa.hook.outcome", outcome)];
        if error.is_some() {
            let message = self.said(error.as_deref());
            fail(&mut span, &format!("hook_{}", name_of(outcome)), message);
        }
        self.tree.add(span);
    }

    fn step(&mut self, step: &Step) {
        let mut attributes = vec![words("tepa.step.id", &step.id), list("tepa.step.tools", &step.tools)];
        if self.content {
            attributes.push(words("tepa.step.description", &step.description));
        }
        self.tree.begin(Place::Step(step.id.clone()), &called(&step.id), self.tree.now(), attributes);
    }

    fn step_ended(&mut self, result: &StepResult) {
        let message = self.said(result.error.as_deref());
        self.tree.end(&Place::Step(result.step_id.clone()), |span| {
            if result.status == StepStatus::Failure {
                fail(span, "step_failed", message);
            }
        });
    }

    fn tool(&mut self, step: &str, tool: &str, params: &Value) {
        let mut attributes = vec![
            words(OPERATION, "execute_tool"),
            words("gen_ai.tool.name", tool),
            words("gen_ai.tool.type", "function"),
        ];
        if self.content {
            attributes.push(words("gen_ai.tool.call.arguments", &params.to_string()));
        }
        let place = Place::Tool(step.to_owned(), tool.to_owned());
        self.tree.begin(place, &format!("execute_tool {tool}"), self.tree.now(), attributes);
    }

    fn check(&mut self, result: &CheckResult) {
        let mut attributes =
            vec![words("tepa.check.name", &result.check), flag("tepa.check.passed", result.passed)];
        attributes.extend(result.path.iter().map(|path| words("tepa.check.path", path)));
        if self.content {
            attributes.push(words("tepa.check.expected", &result.expected));
            attributes.push(words("tepa.check.actual", &result.actual));
        }
        let now = self.tree.now();
        if self.tree.find(&Place::Cycle).is_some() {
            self.tree.stage(Place::Evaluation, now);
        }
        self.tree.note(&Place::Evaluation, event(now, "tepa.check", attributes));
    }

    fn complete(&mut self, result: &RunResult) {
        let reason = name_of(&result.reason);
        let message = self.said(result.error.as_deref());
        if let Some(run) = self.tree.find(&Place::Run) {
            run.attributes.extend([
                words("tepa.run.status", result.status.as_ref().map_or("none".to_owned(), name_of).as_str()),
                words("tepa.run.reason", &reason),
                count("process.exit.code", result.exit_code),
                count("tepa.cycles", result.cycles),
                count("tepa.usage.input_tokens", result.usage.total.input),
                count("tepa.usage.output_tokens", result.usage.total.output),
            ]);
            let cost = result.cost.usd.filter(|_| result.cost.qualifier == CostQualifier::Priced);
            run.attributes.extend(cost.map(|usd| measure("tepa.cost.usd", usd)));
            match result.status {
                Some(RunStatus::Pass) => {
                    run.status = Some(Status { code: StatusCode::Ok.into(), message: String::new() });
                }
                _ => fail(run, &reason, message),
            }
        }
        self.tree.close(&reason);
    }

    /// Returns an error that may quote what models and tools say, where that may leave.
    fn said(&self, error: Option<&str>) -> String {
        error.filter(|_| self.content).unwrap_or_default().to_owned()
    }
}

/// Returns what was judged: the whole and each criterion.
fn results(evaluation: &Evaluation, now: u64) -> Vec<Event> {
    let words_of = match evaluation.verdict {
        Verdict::Pass => &evaluation.summary,
        Verdict::Fail => &evaluation.feedback,
    };
    let mut whole = vec![
        words("gen_ai.evaluation.name", "verdict"),
        name("gen_ai.evaluation.score.label", &evaluation.verdict),
        measure("gen_ai.evaluation.score.value", evaluation.confidence),
    ];
    whole.extend(words_of.iter().map(|said| words("gen_ai.evaluation.explanation", said)));
    if !evaluation.overruled.is_empty() {
        whole.push(list("tepa.evaluation.overruled_by", evaluation.overruled.iter().map(|by| &by.by)));
    }
    let criterion = |result: &CriterionResult| {
        let mut attributes = vec![
            words("gen_ai.evaluation.name", &result.id),
            name("gen_ai.evaluation.score.label", &result.verdict),
            words("gen_ai.evaluation.explanation", &result.reason),
        ];
        attributes.extend(result.path.iter().map(|path| words("tepa.criterion.path", path)));
        attributes
    };
    let criteria = evaluation.criteria.iter().map(criterion);
    let all = std::iter::once(whole).chain(criteria);
    all.map(|attributes| event(now, "gen_ai.evaluation.result", attributes)).collect()
}

/// Returns a message as the conventions write one, as JSON.
fn message(role: &str, text: &str, calls: &[ToolUse], finish_reason: Option<&str>) -> String {
    let said = (!text.is_empty()).then(|| json!({"type": "text", "content": text}));
    let calls = calls
        .iter()
        .map(|call| json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.input}));
    let parts: Vec<Value> = said.into_iter().chain(calls).collect();
    let mut message = json!({"role": role, "parts": parts});
    if let Some(reason) = finish_reason {
        message["finish_reason"] = json!(reason);
    }
    json!([message]).to_string()
}

/// Returns what the conventions call a provider.
fn provider_name(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        name => name,
    }
}

fn called(step: &str) -> String {
    format!("step {step}")
}
