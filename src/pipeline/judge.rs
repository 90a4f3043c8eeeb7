//! Owns what the judge is asked and what he answers. He gets no tools: what he knows is what tepa shows him.
//!
//! Source of the rules: the seeds' pipeline document, "Evaluator".

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::answer::json_object;
use super::criteria::{self, Criterion};
use super::estimate::Call;
use super::jury::Jury;
use super::llm::Question;
use super::planner::said;
use super::room::Piece;
use super::run::{Run, Stop};
use super::shown::{self, Material};
use crate::event::Role;
use crate::evidence::Bundle;
use crate::hook::EvaluatorInput;
use crate::outcome::{Entries, Evaluation, Verdict};
use crate::prompt::Prompt;
use crate::provider::Message;
use crate::template::Template;
use crate::text;

/// The seeds' limit for an unreadable answer that becomes feedback, in characters.
const RAW_ANSWER_LIMIT: usize = 500;

/// What [`read`] reads, as the APIs take it: closed, and with `null` for what may be missing.
static ANSWER_SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["pass", "fail"]},
            "confidence": {"type": "number"},
            "feedback": {"type": ["string", "null"]},
            "summary": {"type": ["string", "null"]},
        },
        "required": ["verdict", "confidence", "feedback", "summary"],
        "additionalProperties": false,
    }))
});

/// What [`read`] reads when the prompt has criteria.
static ANSWER_SCHEMA_WITH_CRITERIA: LazyLock<Arc<Value>> = LazyLock::new(|| {
    let mut schema = Value::clone(&ANSWER_SCHEMA);
    schema["properties"]["criteria"] = Value::clone(&criteria::SCHEMA);
    schema["required"] = json!(["criteria", "verdict", "confidence", "feedback", "summary"]);
    Arc::new(schema)
});

/// Returns the verdict of the judge: his answer, or what the majority of several say.
///
/// He is asked again only when that can change something: not when he is sure of a pass, and not when a check has failed anyway.
pub(super) async fn ask(
    run: &Run<'_>,
    input: &EvaluatorInput,
    bundles: &[Bundle],
) -> Result<Evaluation, Stop> {
    let seats = run.read(|state| {
        let holds = state.checks_of_cycle().iter().all(|check| check.passed);
        if holds { run.pipeline.config.evaluator.votes } else { 1 }
    });
    let mut jury = Jury::new(seats, run.pipeline.config.evaluator.ask_again_below);
    while jury.is_open() {
        jury.hear(answer(run, input, bundles).await?);
    }
    let tokens_used = run.read(|state| state.role_tokens(Role::Evaluator));
    Ok(Evaluation { tokens_used, ..jury.verdict() })
}

async fn answer(run: &Run<'_>, input: &EvaluatorInput, bundles: &[Bundle]) -> Result<Evaluation, Stop> {
    // What hooks make of the prompt is for the eyes of the judge; what it has to prove is what the person wrote.
    let criteria = run.read(|state| criteria::of(state.prompt()));
    let by_criteria = !criteria.is_empty();
    let schema = if by_criteria { &ANSWER_SCHEMA_WITH_CRITERIA } else { &ANSWER_SCHEMA };
    let system = run.system(Role::Evaluator, Template::EvaluatorSystem, json!({"criteria": by_criteria}))?;
    let mut messages = vec![question(run, input, bundles, &criteria)?];
    let attempts = run.pipeline.config.limits.retry_attempts.saturating_add(1);
    let (mut raw, mut told) = (String::new(), String::new());
    for attempt in 1..=attempts {
        let question = Question {
            model: &run.pipeline.config.model.evaluator,
            system: &system,
            messages: &messages,
            tool: None,
            schema: Some(schema),
        };
        let answer = run.ask_model(run.purpose(Role::Evaluator, attempt), question).await;
        raw = answer.map_err(|fault| Stop::from(fault).because_of(&told))?.text;
        let strictly = attempt < attempts;
        let answer = json_object(&raw).and_then(|answer| {
            let evaluation = read(&answer)?;
            Ok((evaluation, criteria::read(&answer, &criteria, bundles, strictly)?))
        });
        match answer {
            Ok((evaluation, criteria)) => return Ok(Evaluation { criteria, ..evaluation }),
            Err(problem) => {
                messages.push(Message::assistant(said(raw.clone())));
                let slots = json!({"problem": problem, "criteria": by_criteria});
                messages.push(Message::user(run.render(Template::EvaluatorRepair, slots)?));
                told = problem;
            }
        }
    }
    Ok(Evaluation {
        feedback: Some(text::truncate(&said(raw), RAW_ANSWER_LIMIT).into_owned()),
        criteria: criteria::read(&Value::Null, &criteria, bundles, false).unwrap_or_default(),
        ..Evaluation::new(Verdict::Fail, 0.0)
    })
}

/// Returns the call that the judge will be asked with, with what is known of it before any step has run.
pub(super) fn call(run: &Run<'_>) -> Result<Call, Stop> {
    let (prompt, criteria) = run.read(|state| (Prompt::clone(state.prompt()), criteria::of(state.prompt())));
    let input = EvaluatorInput { prompt, results: Vec::new(), scratchpad: Entries::new() };
    let system =
        run.system(Role::Evaluator, Template::EvaluatorSystem, json!({"criteria": !criteria.is_empty()}))?;
    let characters = system.len() + question(run, &input, &[], &criteria)?.content.len();
    Ok(Call { model: run.pipeline.config.model.evaluator.clone(), characters })
}

fn question(
    run: &Run<'_>,
    input: &EvaluatorInput,
    bundles: &[Bundle],
    criteria: &[Criterion],
) -> Result<Message, Stop> {
    let cycle = run.read(super::state::RunState::cycle);
    let mark =
        |place: &[&str]| run.pipeline.nonces.of(&[&["judge", cycle.to_string().as_str()], place].concat());
    let scratchpad = shown::entries_for_judge(&input.scratchpad);
    let said: Vec<_> = input
        .results
        .iter()
        .map(|result| (shown::output(&result.output), result.error.as_deref().map(shown::error)))
        .collect();
    let all = said.iter().flat_map(|(output, error)| [output.as_deref(), error.as_deref()]).flatten();
    let most = run.room(all.chain([&*scratchpad]));
    // Whom the executor trusts is nothing to the judge.
    let shown_of = |kind: &str, step: &str, text: Cow<'_, str>| {
        json!(Material::of("step-result", mark(&[kind, step]), Piece::of(text, most)))
    };
    let results: Vec<Value> = input
        .results
        .iter()
        .zip(said)
        .map(|(result, (output, error))| {
            json!({
                "stepId": result.step_id,
                "status": result.status,
                "output": output.map(|output| shown_of("output", &result.step_id, output.into())),
                "error": error.map(|error| shown_of("error", &result.step_id, error)),
                "tokensUsed": result.tokens_used,
                "durationMs": result.duration_ms,
            })
        })
        .collect();
    let facts = bundles.iter().map(|bundle| &bundle.shown).map(|evidence| {
        shown::evidence(evidence, |part| mark(&["evidence", &evidence.id, &part.to_string()]))
    });
    let facts: Vec<Value> = facts.collect();
    let slots = json!({
        "goal": input.prompt.goal,
        "expected_output": shown::expected_output(&input.prompt),
    });
    let task = run.render(Template::EvaluatorTask, slots)?;
    let slots = json!({
        "cycle": cycle,
        "results": results,
        "facts": facts,
        "criteria": shown::criteria(criteria),
        "checks": run.read(|state| shown::checks(state.checks_of_cycle(), |at| mark(&["check", &at.to_string()]))),
        "scratchpad": shown::scratchpad(Piece::of(scratchpad, most), mark(&["scratchpad"])),
    });
    run.opening(Role::Evaluator, &task, Template::EvaluatorUser, slots)
}

/// Reads the judge's answer, or says what is wrong with it in words for the judge.
fn read(answer: &Value) -> Result<Evaluation, String> {
    let verdict = match answer["verdict"].as_str() {
        Some("pass") => Verdict::Pass,
        Some("fail") => Verdict::Fail,
        _ => return Err("`verdict` must be \"pass\" or \"fail\"".to_owned()),
    };
    let confidence = answer["confidence"].as_f64().filter(|c| (0.0..=1.0).contains(c));
    let Some(confidence) = confidence else {
        return Err("`confidence` must be a number from 0.0 to 1.0".to_owned());
    };
    let words = |key: &str| answer[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let (feedback, summary) = (words("feedback"), words("summary"));
    if verdict == Verdict::Fail && feedback.is_none() {
        return Err("`feedback` is required when the verdict is fail".to_owned());
    }
    Ok(Evaluation { feedback, summary, ..Evaluation::new(verdict, confidence) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_only_when_it_is_whole() {
        let good = json!({"verdict": "fail", "confidence": 0.5, "feedback": "do more"});
        assert_eq!(read(&good).unwrap().feedback.as_deref(), Some("do more"));
        for (broken, problem) in [
            (json!({"confidence": 1}), "`verdict` must be"),
            (json!({"verdict": "PASS", "confidence": 1}), "`verdict` must be"),
            (json!({"verdict": "pass", "confidence": 7}), "`confidence` must be"),
            (json!({"verdict": "pass"}), "`confidence` must be"),
            (json!({"verdict": "fail", "confidence": 1, "feedback": " "}), "`feedback` is required"),
        ] {
            assert!(read(&broken).unwrap_err().starts_with(problem), "{broken}");
        }
    }

    #[test]
    fn what_fits_the_schema_can_be_read() {
        let schema = jsonschema::validator_for(&ANSWER_SCHEMA).unwrap();
        for answer in [
            json!({"verdict": "pass", "confidence": 1, "feedback": null, "summary": "done"}),
            json!({"verdict": "fail", "confidence": 0.2, "feedback": "do more", "summary": null}),
        ] {
            assert!(schema.is_valid(&answer) && read(&answer).is_ok(), "{answer}");
        }
        assert!(!schema.is_valid(&json!({"verdict": "pass", "confidence": 1})));
        let schema = jsonschema::validator_for(&ANSWER_SCHEMA_WITH_CRITERIA).unwrap();
        let entry = json!({"id": "C1", "verdict": "fail", "reason": "r", "evidence": null, "quote": null});
        let mut answer = json!({"verdict": "fail", "confidence": 1, "feedback": "f", "summary": null});
        assert!(!schema.is_valid(&answer));
        answer["criteria"] = json!([entry]);
        assert!(schema.is_valid(&answer));
    }
}
