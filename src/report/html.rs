//! Owns the report as a page: one file, nothing from elsewhere, no script.
//!
//! Every string is cleaned on its way in and escaped by the template; what is not escaped are the page's own style and the picture of the
//! plan, which escapes its own. A policy in the page forbids whatever it does not need.

use std::io;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::case::{Case, Kind, Outcome, cases};
use super::clean;
use super::fold::{Cycle, Report, Span, StepRecord, ToolCall};
use super::graph::{self, Mark};
use super::quote;
use super::words::{self, Tone};
use crate::outcome::{CriterionResult, Evaluation, Evidence, Part};
use crate::text;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// The hash by which the page's policy knows its own style.
static STYLE_HASH: LazyLock<String> =
    LazyLock::new(|| format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE))));

/// Characters of a title, of a text, and of what a tool was given or returned.
const TITLE: usize = 200;
const TEXT: usize = 20_000;
const VALUE: usize = 4_000;

/// Material that is longer is folded: its characters, its lines.
const FOLDED: (usize, usize) = (1_200, 12);

/// Parts of a bar.
const WHOLE: u64 = 1_000;

/// Returns the report.
pub(super) fn render(report: &Report) -> io::Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("page.html", PAGE).map_err(io::Error::other)?;
    let template = environment.get_template("page.html").map_err(io::Error::other)?;
    template.render(minijinja::value::Serde(cleaned(page(report)))).map_err(io::Error::other)
}

/// Returns everything that the page shows.
fn page(report: &Report) -> Value {
    let (tone, word) = words::ending(report);
    let goal = report.prompt.as_ref().map_or("", |prompt| &prompt.goal);
    let result = report.result.as_ref();
    let files = result.map_or(&[][..], |result| &result.outputs).iter().map(|file| {
        json!({"path": file.path, "size": text::bytes(file.bytes), "description": file.description, "sha256": file.sha256})
    });
    let spent = result.iter().flat_map(|result| &result.usage.by_role).map(|(role, usage)| {
        let model = report.models.iter().find(|(of, _)| of == role).map(|(_, model)| model);
        json!({"role": role, "model": model, "input": usage.input, "cached": usage.cached, "output": usage.output})
    });
    json!({
        "style": STYLE,
        "style_hash": *STYLE_HASH,
        "word": word,
        "ending": ending((tone, word)),
        "title": clean::line(goal, TITLE),
        "goal": cut(goal, TEXT),
        "measures": words::measures(report),
        "feedback": result.map(|result| cut(&result.feedback, TEXT)),
        "overruled": words::overrulings(report.evaluation()),
        "decisions": words::decisions(report).iter().map(|words| cut(words, VALUE)).collect::<Vec<_>>(),
        "cases": cases(report).iter().skip(1).map(|case| judged(case, report)).collect::<Vec<_>>(),
        "cycles": report.cycles.iter().map(|one| cycle(one, report)).collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
        "spent": spent.collect::<Vec<_>>(),
        "cost": result.map(|result| words::cost(result.cost)),
        "warnings": report.warnings,
        "version": report.version,
        "run_id": report.run_id,
        "began": report.began.map(|began| began.to_string()),
    })
}

fn ending((tone, word): (Tone, &str)) -> Value {
    json!({"tone": tone.name(), "sign": tone.sign(), "word": word})
}

fn judged(case: &Case, report: &Report) -> Value {
    let mut value = ending(words::outcome(case.outcome));
    let class = if matches!(case.kind, Kind::Criterion | Kind::Check) { "part" } else { "" };
    value["kind"] = json!({"name": case.kind.name(), "class": class});
    value["name"] = json!(case.name);
    let detail = match case.said {
        Some(_) if case.outcome == Outcome::Passed => String::new(),
        Some(said) => format!("{}\n{}", words::criterion(said.verdict).1, said.reason),
        None => case.detail.clone(),
    };
    value["detail"] = json!(cut(&detail, VALUE));
    value["proof"] = json!(case.said.zip(report.last_cycle()).map(|(said, cycle)| proof(said, cycle)));
    value
}

/// Returns what the judge quoted of a criterion, and where that is on the page.
fn proof(said: &CriterionResult, cycle: &Cycle) -> Value {
    let named = |evidence: &Evidence| Some(&evidence.id) == said.evidence.as_ref();
    json!({
        "quote": said.quote.as_deref().map(|quote| cut(quote, VALUE)),
        "evidence": said.evidence.as_deref().map(|id| clean::line(id, TITLE)),
        "anchor": cycle.evidence.iter().position(named).map(|at| anchor(cycle, at)),
    })
}

/// Returns the name of a place on the page; nothing that anybody else wrote is in it.
fn anchor(cycle: &Cycle, at: usize) -> String {
    format!("cycle-{}-E{}", cycle.number, at + 1)
}

/// Returns one piece of evidence, with what the judge quoted from it marked.
fn exhibit(at: usize, evidence: &Evidence, cycle: &Cycle) -> Value {
    let criteria = cycle.evaluation.as_ref().map_or(&[][..], |evaluation| &evaluation.criteria);
    let own = criteria.iter().filter(|said| said.evidence.as_ref() == Some(&evidence.id));
    let quotes: Vec<String> = own.filter_map(|said| said.quote.as_deref()).map(clean::text).collect();
    let parts = evidence.parts.iter().map(|part| match part {
        Part::Note(note) => json!({"note": cut(note, VALUE), "pieces": null}),
        Part::Material(material) => {
            let material = clean::text(&cut(material, TEXT));
            let pieces = quote::pieces(&material, &quotes).into_iter();
            let pieces = pieces.map(|piece| json!({"text": piece.text, "quoted": piece.quoted}));
            json!({"note": null, "pieces": pieces.collect::<Vec<_>>()})
        }
    });
    let material = evidence.parts.iter().filter_map(|part| match part {
        Part::Material(material) => Some((material.chars().count(), material.lines().count())),
        Part::Note(_) => None,
    });
    let (chars, lines) = material.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    json!({
        "anchor": anchor(cycle, at),
        "id": clean::line(&evidence.id, TITLE),
        "path": evidence.path.as_deref().map(|path| clean::line(path, TITLE)),
        "summary": cut(&evidence.summary, VALUE),
        "shape": evidence.shape.as_deref().map(|shape| cut(shape, VALUE)),
        "parts": parts.collect::<Vec<_>>(),
        "folded": (chars > FOLDED.0 || lines > FOLDED.1).then(|| text::plural("line", lines)),
    })
}

/// Returns the verdict of a cycle, and the votes that it comes from.
fn verdict(evaluation: &Evaluation) -> Value {
    let votes = evaluation.votes.iter().map(|vote| {
        let mut value = ending(words::verdict(vote.verdict));
        value["said"] = json!(cut(&words::vote(vote), VALUE));
        value
    });
    let said = evaluation.feedback.as_deref().or(evaluation.summary.as_deref()).unwrap_or_default();
    json!({
        "confidence": format!("{:.2}", evaluation.confidence),
        "votes": votes.collect::<Vec<_>>(),
        "overruled": words::overrulings(Some(evaluation)),
        "text": cut(said, TEXT),
    })
}

fn cycle(cycle: &Cycle, report: &Report) -> Value {
    let name = format!("plan-{}", cycle.number);
    let marks: Vec<Mark> = cycle
        .steps
        .iter()
        .map(|record| {
            let (tone, _) = words::step_ending(record);
            Mark { class: tone.name(), sign: tone.sign() }
        })
        .collect();
    let span =
        |span: Span| json!({"duration": text::duration(span.length), "bar": bar(span, cycle.duration_ms)});
    let checks = cycle.checks.iter().map(|check| {
        let tone = if check.passed { (Tone::Good, "passed") } else { (Tone::Bad, "failed") };
        let mut value = ending(tone);
        value["name"] = json!(format!("{} {}", check.check, check.path.as_deref().unwrap_or_default()));
        let detail = format!("expected {}\nactual   {}", check.expected, check.actual);
        value["detail"] = json!((!check.passed).then(|| cut(&detail, VALUE)));
        value
    });
    let evidence = cycle.evidence.iter().enumerate().map(|(at, one)| exhibit(at, one, cycle));
    let criteria = cycle.evaluation.iter().flat_map(|evaluation| &evaluation.criteria).map(|said| {
        let mut value = ending(words::criterion(said.verdict));
        value["name"] = json!(said.criterion);
        value["reason"] = json!(said.reason);
        value["proof"] = proof(said, cycle);
        value
    });
    json!({
        "number": cycle.number,
        "ending": ending(words::cycle_ending(cycle)),
        "duration": text::duration(cycle.duration_ms),
        "tokens": words::tokens(cycle.tokens),
        "bar": bar(whole_span(cycle, report), report.result.as_ref().map_or(0, |result| result.duration_ms)),
        "reasoning": cycle.plan.as_ref().map(|plan| cut(&plan.reasoning, TEXT)),
        "graph": cycle.plan.as_ref().filter(|plan| !plan.steps.is_empty()).map(|plan| graph::drawing(plan, &marks, &name)),
        "planning": cycle.planning_ms.map(|length| span(Span { from: 0, length })),
        "steps": cycle.steps.iter().map(|record| step(record, cycle)).collect::<Vec<_>>(),
        "judging": cycle.judging.map(span),
        "checks": checks.collect::<Vec<_>>(),
        "evidence": evidence.collect::<Vec<_>>(),
        "criteria": criteria.collect::<Vec<_>>(),
        "verdict": cycle.evaluation.as_ref().map(verdict),
    })
}

fn step(record: &StepRecord, cycle: &Cycle) -> Value {
    let (tone, word) = words::step_ending(record);
    let ran = record.result.as_ref().filter(|_| !record.skipped);
    let length = ran.map(|result| result.duration_ms);
    let span = record.began.zip(length).map(|(from, length)| Span { from, length });
    let step = &record.step;
    json!({
        "ending": ending((tone, word)),
        "open": tone == Tone::Bad,
        "id": clean::line(&step.id, TITLE),
        "description": cut(&step.description, TEXT),
        "tools": if step.tools.is_empty() { "reasoning".to_owned() } else { clean::line(&step.tools.join(", "), TITLE) },
        "after": clean::line(&step.dependencies.join(", "), TITLE),
        "duration": length.map(text::duration),
        "tokens": ran.map(|result| words::tokens(result.tokens_used)),
        "bar": span.and_then(|span| bar(span, cycle.duration_ms)),
        "error": record.result.as_ref().and_then(|result| result.error.as_deref()).map(|error| cut(error, VALUE)),
        "calls": record.calls.iter().map(call).collect::<Vec<_>>(),
        "output": record.result.as_ref().map(|result| shown(&result.output)),
    })
}

fn call(call: &ToolCall) -> Value {
    json!({
        "tool": call.tool,
        "duration": call.duration_ms.map(text::duration),
        "params": shown(&call.params),
        "output": shown(&call.output),
        "error": call.error.as_deref().map(|error| cut(error, VALUE)),
    })
}

/// Returns when a cycle was, from the beginning of the run.
fn whole_span(cycle: &Cycle, report: &Report) -> Span {
    let began = report.began.unwrap_or(cycle.began);
    let from = cycle.began.as_millisecond().saturating_sub(began.as_millisecond());
    Span { from: u64::try_from(from).unwrap_or(0), length: cycle.duration_ms }
}

/// Returns the part of a bar that a span takes of `whole`, wide enough to be seen.
fn bar(span: Span, whole: u64) -> Option<Value> {
    let part = |time: u64| time.min(whole).saturating_mul(WHOLE) / whole.max(1);
    let x = part(span.from).min(WHOLE - 4);
    let width = part(span.length).clamp(4, WHOLE - x);
    (whole > 0).then(|| json!({"x": x, "width": width}))
}

/// Returns a value as it reads best, nothing for none.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(cut(text, VALUE)),
        value => Some(cut(&serde_json::to_string_pretty(value).unwrap_or_default(), VALUE)),
    }
}

fn cut(words: &str, max_chars: usize) -> String {
    text::head_tail(words.trim_end(), max_chars / 2, max_chars / 2).into_owned()
}

/// Returns the value with every string in it cleaned.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean::text(&text)),
        Value::Array(items) => items.into_iter().map(cleaned).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, cleaned(value))).collect(),
        value => value,
    }
}
