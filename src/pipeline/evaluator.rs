//! Owns the verdict of a cycle: facts gathered by tepa, the judge's opinion, and what outranks it.
//!
//! The judge can turn a pass into a fail, never a fail into a pass: a missing file stays missing whatever is said about it. Source of the
//! rules: the seeds' pipeline document, "Evaluator".

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::answer::json_object;
use super::criteria::{self, Criterion};
use super::llm::Question;
use super::planner::said;
use super::run::{Logged, Run, Stop};
use super::shown;
use crate::event::{Role, RunEvent};
use crate::evidence::{self, Baseline, Bundle, Site};
use crate::hook::{EvaluatorInput, PostEvaluator, PreEvaluator};
use crate::outcome::{CheckResult, Evaluation, LogLevel, Overruling, PROTECTED, Reason, Verdict};
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

pub(super) async fn evaluate(run: &Run<'_>) -> Result<(), Stop> {
    let began = run.monotonic();
    let cycle = run.read(super::state::RunState::cycle);
    let prompt = run.read(|state| state.prompt().clone());
    let baseline = Arc::clone(&run.guard.ready().await?.baseline);
    let tampered = check(run, &prompt, &baseline).await?;
    let bundles = gather(run, &prompt, &baseline).await?;
    let input = run.read(|state| EvaluatorInput {
        prompt: state.prompt().clone(),
        results: state.results(),
        scratchpad: state.scratchpad().entries().clone(),
    });
    let (input, _) = run.ask::<PreEvaluator>(input).await?;
    let judged = ask_judge(run, &input, &bundles).await?;
    let checked = run.read(|state| criteria::overrule(overrule(judged, state.checks_of_cycle())));
    let (answer, _) = run.ask::<PostEvaluator>(checked.clone()).await?;
    let mut evaluation = credit_hooks(&checked, answer)?;
    if evaluation.verdict == Verdict::Pass {
        // Judging takes time; what was judged must still be there, and no hook can make up for what is missing.
        let now = gather(run, &prompt, &baseline).await?;
        let tampered_since = run.guard.broken().await?.into_iter().filter(|check| !tampered.contains(check));
        for result in evidence::changes(&bundles, now).into_iter().chain(tampered_since) {
            run.emit(&RunEvent::CheckCompleted { cycle, result })?;
        }
        evaluation = run.read(|state| overrule(evaluation, state.checks_of_cycle()));
    }
    let duration_ms = run.since(began);
    let tokens_used = evaluation.tokens_used;
    let (level, word) = match evaluation.verdict {
        Verdict::Pass => (LogLevel::Info, "pass"),
        Verdict::Fail => (LogLevel::Warn, "fail"),
    };
    let message = format!("{word} with confidence {:.2}", evaluation.confidence);
    run.emit(&RunEvent::EvaluationCompleted { cycle, evaluation, duration_ms })?;
    run.log(Logged { step: None, tool: None, level, message, duration_ms, tokens_used })
}

/// Runs the checks of the prompt and looks at the protected files; returns what became of those.
async fn check(run: &Run<'_>, prompt: &Prompt, baseline: &Arc<Baseline>) -> Result<Vec<CheckResult>, Stop> {
    let cycle = run.read(super::state::RunState::cycle);
    let site = Site {
        workspace: Arc::clone(&run.pipeline.workspace),
        setting: Arc::clone(&run.pipeline.setting),
        temporary: run.pipeline.temporary.clone(),
    };
    let checked = evidence::check(prompt, Arc::clone(baseline), &site).await;
    let checked = checked.map_err(|_| panicked())?;
    let tampered = run.guard.broken().await?;
    for result in checked.results.into_iter().chain(tampered.iter().cloned()) {
        run.emit(&RunEvent::CheckCompleted { cycle, result })?;
    }
    checked.unable.map_or(Ok(tampered), |unable| Err(unable.into()))
}

/// Returns the evidence as it is now; off the thread, because files may be large and slow.
async fn gather(run: &Run<'_>, prompt: &Prompt, baseline: &Arc<Baseline>) -> Result<Vec<Bundle>, Stop> {
    let (checks, words) = run.read(|state| {
        let outputs = state.results().into_iter();
        let words: Vec<String> = outputs.filter_map(|result| shown::output(&result.output)).collect();
        (state.checks_of_cycle().to_vec(), words)
    });
    let (prompt, baseline) = (prompt.clone(), Arc::clone(baseline));
    let workspace = Arc::clone(&run.pipeline.workspace);
    let gathered =
        tokio::task::spawn_blocking(move || Bundle::gather(&prompt, &workspace, &baseline, &checks, &words));
    gathered.await.map_err(|_| panicked())
}

fn panicked() -> Stop {
    Stop::new(Reason::InternalError, "tepa has a bug: looking at files panicked")
}

async fn ask_judge(run: &Run<'_>, input: &EvaluatorInput, bundles: &[Bundle]) -> Result<Evaluation, Stop> {
    // What hooks make of the prompt is for the eyes of the judge; what it has to prove is what the person wrote.
    let criteria = run.read(|state| criteria::of(state.prompt()));
    let by_criteria = !criteria.is_empty();
    let schema = if by_criteria { &ANSWER_SCHEMA_WITH_CRITERIA } else { &ANSWER_SCHEMA };
    let system = run.render(Template::EvaluatorSystem, json!({"criteria": by_criteria}))?;
    let mut messages = vec![question(run, input, bundles, &criteria)?];
    let attempts = run.pipeline.config.limits.retry_attempts.saturating_add(1);
    let mut raw = String::new();
    for attempt in 1..=attempts {
        let question = Question {
            model: &run.pipeline.config.model.evaluator,
            system: &system,
            messages: &messages,
            tool: None,
            schema: Some(schema),
        };
        raw = run.ask_model(run.purpose(Role::Evaluator, attempt), question).await?.text;
        let tokens_used = run.read(|state| state.role_tokens(Role::Evaluator));
        let strictly = attempt < attempts;
        let answer = json_object(&raw).and_then(|answer| {
            let evaluation = read(&answer)?;
            Ok((evaluation, criteria::read(&answer, &criteria, bundles, strictly)?))
        });
        match answer {
            Ok((evaluation, criteria)) => return Ok(Evaluation { tokens_used, criteria, ..evaluation }),
            Err(problem) => {
                messages.push(Message::assistant(said(raw.clone())));
                let slots = json!({"problem": problem, "criteria": by_criteria});
                messages.push(Message::user(run.render(Template::EvaluatorRepair, slots)?));
            }
        }
    }
    Ok(Evaluation {
        verdict: Verdict::Fail,
        confidence: 0.0,
        feedback: Some(text::truncate(&said(raw), RAW_ANSWER_LIMIT).into_owned()),
        summary: None,
        tokens_used: run.read(|state| state.role_tokens(Role::Evaluator)),
        criteria: criteria::read(&Value::Null, &criteria, bundles, false).unwrap_or_default(),
        overruled: Vec::new(),
    })
}

fn question(
    run: &Run<'_>,
    input: &EvaluatorInput,
    bundles: &[Bundle],
    criteria: &[Criterion],
) -> Result<Message, Stop> {
    let results: Vec<Value> = input
        .results
        .iter()
        .map(|result| {
            json!({
                "stepId": result.step_id,
                "status": result.status,
                "output": shown::output_for_judge(&result.output),
                "error": shown::error_for_judge(result.error.as_ref()),
                "tokensUsed": result.tokens_used,
                "durationMs": result.duration_ms,
            })
        })
        .collect();
    let slots = json!({
        "goal": input.prompt.goal,
        "expected_output": shown::expected_output(&input.prompt),
        "cycle": run.read(super::state::RunState::cycle),
        "results": results,
        "facts": bundles.iter().map(shown::bundle).collect::<Vec<_>>(),
        "criteria": shown::criteria(criteria),
        "checks": run.read(|state| shown::checks(state.checks_of_cycle())),
        "scratchpad": shown::scratchpad_for_judge(&input.scratchpad),
    });
    run.opening(Template::EvaluatorTask, Template::EvaluatorUser, &slots)
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
    Ok(Evaluation {
        verdict,
        confidence,
        feedback,
        summary,
        tokens_used: 0,
        criteria: Vec::new(),
        overruled: Vec::new(),
    })
}

/// Lets failed checks outrank the judge, and puts them into the feedback word for word.
fn overrule(mut evaluation: Evaluation, checks: &[CheckResult]) -> Evaluation {
    let failed: Vec<String> = checks.iter().filter(|check| !check.passed).map(complaint).collect();
    if failed.is_empty() {
        return evaluation;
    }
    let complaints = failed.join("\n");
    if evaluation.verdict == Verdict::Pass {
        evaluation.overruled.push(Overruling {
            by: "checks".to_owned(),
            from: Verdict::Pass,
            to: Verdict::Fail,
            reason: failed.join("; "),
        });
        evaluation.verdict = Verdict::Fail;
        evaluation.feedback = Some(complaints);
    } else {
        let said = evaluation.feedback.take().unwrap_or_default();
        evaluation.feedback = Some(format!("{said}\n{complaints}"));
    }
    evaluation
}

fn complaint(check: &CheckResult) -> String {
    let path = check.path.as_deref().unwrap_or_default();
    if check.check == PROTECTED {
        return format!(
            "protected file \"{path}\" was {}: leave it as it was when the run began",
            check.actual
        );
    }
    if check.check == "exists" && check.actual == "does not exist" {
        return format!("expected output \"{path}\" does not exist");
    }
    let of = check.path.as_ref().map(|path| format!(" of \"{path}\"")).unwrap_or_default();
    format!("check `{}`{of} failed: expected {}, found {}", check.check, check.expected, check.actual)
}

/// A hook that flips the verdict of the judge is a person's decision: it stands unless a check contradicts it, and the result says so.
fn credit_hooks(before: &Evaluation, mut after: Evaluation) -> Result<Evaluation, Stop> {
    if !(0.0..=1.0).contains(&after.confidence) {
        let message = "postEvaluator hooks must leave a confidence from 0.0 to 1.0";
        return Err(Stop::new(Reason::HookStopped, message));
    }
    after.overruled.clone_from(&before.overruled);
    after.criteria.clone_from(&before.criteria);
    if before.verdict != after.verdict {
        after.overruled.push(Overruling {
            by: "postEvaluator hook".to_owned(),
            from: before.verdict,
            to: after.verdict,
            reason: after.feedback.clone().or_else(|| after.summary.clone()).unwrap_or_default(),
        });
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(passed: bool) -> CheckResult {
        CheckResult {
            check: "exists".into(),
            path: Some("a.md".into()),
            passed,
            expected: "exists".into(),
            actual: if passed { "exists".into() } else { "does not exist".into() },
        }
    }

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

    #[test]
    fn a_pass_cannot_stand_beside_a_failed_check() {
        let pass = read(&json!({"verdict": "pass", "confidence": 0.9, "summary": "done"})).unwrap();
        assert_eq!(overrule(pass.clone(), &[check(true)]), pass);
        let overruled = overrule(pass, &[check(true), check(false)]);
        assert_eq!(overruled.verdict, Verdict::Fail);
        assert_eq!(overruled.feedback.as_deref(), Some("expected output \"a.md\" does not exist"));
        assert_eq!(overruled.overruled.len(), 1);
    }

    #[test]
    fn a_fail_keeps_the_judges_words_and_gains_the_checks() {
        let fail = read(&json!({"verdict": "fail", "confidence": 0.9, "feedback": "weak"})).unwrap();
        let told = overrule(fail, &[check(false)]);
        assert_eq!(told.feedback.as_deref(), Some("weak\nexpected output \"a.md\" does not exist"));
        assert!(told.overruled.is_empty());
    }
}
