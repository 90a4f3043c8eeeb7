//! Owns the verdict of a cycle: facts gathered by tepa, the judge's opinion, and who outranks whom.
//!
//! The judge can turn a pass into a fail, never a fail into a pass: a missing file stays missing whatever is said about it. Only a hook can,
//! because it is a person who put it there, or the person who is asked; the evaluation then says so. Neither outranks a protected file: what
//! was changed may be what they go by.

use std::sync::Arc;

use super::approval::{self, Ruling};
use super::resume::Grounds;
use super::run::{Logged, Run, Stop};
use super::{criteria, judge, shown, turn};
use crate::event::RunEvent;
use crate::evidence::{self, Baseline, Bundle, Site};
use crate::hook::{EvaluatorInput, PostEvaluator, PreEvaluator, Replaced};
use crate::outcome::{
    CheckResult, Entries, Evaluation, Evidence, LogLevel, Overruling, PROTECTED, Reason, Verdict,
};
use crate::prompt::Prompt;

pub(super) async fn evaluate(run: &Run<'_>) -> Result<(), Stop> {
    let began = run.monotonic();
    let cycle = run.read(super::state::RunState::cycle);
    let prompt = run.read(|state| state.prompt().clone());
    let baseline = Arc::clone(&run.guard.ready().await?.baseline);
    check(run, &prompt, &baseline).await?;
    let bundles = gather(run, &prompt, &baseline).await?;
    if !bundles.is_empty() {
        let evidence = bundles.iter().map(Bundle::recorded).collect();
        run.emit(&RunEvent::EvidenceGathered { cycle, evidence })?;
    }
    run.unfinished().judge_on(&Grounds {
        checks: run.read(|state| state.checks_of_cycle().to_vec()),
        evidence: bundles.iter().map(Bundle::recorded).collect(),
    });
    let input = run.read(|state| EvaluatorInput {
        prompt: Prompt::clone(state.prompt()),
        results: state.results(),
        scratchpad: Entries::clone(state.scratchpad().entries()),
    });
    let (input, _) = run.ask::<PreEvaluator>(input).await?;
    let judged = judge::ask(run, &input, &bundles).await?;
    let checked = run.read(|state| criteria::overrule(overrule(judged, state.checks_of_cycle())));
    let (_, hooks) = run.ask::<PostEvaluator>(checked.clone()).await?;
    let credited = turn::judge(run, credit_hooks(&checked, hooks)).await?;
    let evaluation = look_again(run, credited, &prompt, &baseline, &bundles).await?;
    let (evaluation, stop) = match approval::verdict(run, evaluation).await? {
        Ruling::Stands(evaluation) => (evaluation, None),
        Ruling::Stopped(evaluation, stop) => (evaluation, Some(stop)),
        Ruling::Accepted(evaluation) => {
            (look_again(run, evaluation, &prompt, &baseline, &bundles).await?, None)
        }
    };
    let duration_ms = run.since(began);
    let logged = logged(&evaluation, duration_ms);
    run.emit(&RunEvent::EvaluationCompleted { cycle, evaluation, duration_ms })?;
    run.log(logged)?;
    stop.map_or(Ok(()), Err)
}

/// Returns what the logs say of a verdict that stands.
pub(super) fn logged(evaluation: &Evaluation, duration_ms: u64) -> Logged<'static> {
    let level = match evaluation.verdict {
        Verdict::Pass => LogLevel::Info,
        Verdict::Fail => LogLevel::Warn,
    };
    let message = format!("{} with confidence {:.2}", evaluation.verdict.name(), evaluation.confidence);
    Logged { step: None, tool: None, level, message, duration_ms, tokens_used: evaluation.tokens_used }
}

/// Judging takes time, and so does deciding: what was judged must still be there when a pass becomes final.
async fn look_again(
    run: &Run<'_>,
    evaluation: Evaluation,
    prompt: &Arc<Prompt>,
    baseline: &Arc<Baseline>,
    bundles: &[Bundle],
) -> Result<Evaluation, Stop> {
    if evaluation.verdict == Verdict::Fail {
        return Ok(evaluation);
    }
    let now = gather(run, prompt, baseline).await?;
    let files = evidence::check_files(prompt, Arc::clone(baseline), &site(run)).await;
    let files = files.map_err(|_| panicked())?;
    if let Some(unable) = files.unable {
        return Err(unable.into());
    }
    let (cycle, known) = run.read(|state| (state.cycle(), state.checks_of_cycle().to_vec()));
    let failed = files.results.into_iter().filter(|check| !check.passed && !known.contains(check));
    let changes = evidence::changes(bundles, now).into_iter().chain(failed);
    let found: Vec<CheckResult> = changes.chain(tampered(run).await?).collect();
    for result in found.iter().filter(|check| !known.contains(check)).cloned() {
        run.emit(&RunEvent::CheckCompleted { cycle, result })?;
    }
    Ok(overrule(evaluation, &found))
}

/// Looks whether what a run was judged by before it was resumed is still there.
///
/// # Errors
/// It is not: the verdict that its record has was given to something else.
pub(super) async fn still_holds(run: &Run<'_>, judged: &[Evidence]) -> Result<(), Stop> {
    let prompt = run.read(|state| state.prompt().clone());
    let baseline = Arc::clone(&run.guard.ready().await?.baseline);
    let checked = evidence::check(&prompt, Arc::clone(&baseline), &site(run)).await;
    let checked = checked.map_err(|_| panicked())?;
    if let Some(unable) = checked.unable {
        return Err(unable.into());
    }
    let known = run.read(|state| state.checks().to_vec());
    let found = checked.results.into_iter().chain(tampered(run).await?);
    let failed: Vec<String> = found
        .filter(|check| !check.passed && !known.contains(check))
        .map(|check| complaint(&check))
        .collect();
    let now: Vec<Evidence> = gather(run, &prompt, &baseline).await?.iter().map(Bundle::recorded).collect();
    if failed.is_empty() && (judged.is_empty() || now == judged) {
        return Ok(());
    }
    let what = if failed.is_empty() { "files were changed since".to_owned() } else { failed.join("; ") };
    let message =
        format!("the run had passed when it broke off, and what was judged is not there any more: {what}");
    Err(Stop::new(Reason::CheckError, message))
}

fn site(run: &Run<'_>) -> Site {
    Site {
        workspace: Arc::clone(&run.pipeline.workspace),
        setting: Arc::clone(&run.pipeline.setting),
        temporary: run.pipeline.temporary.clone(),
    }
}

/// Runs the checks of the prompt and looks at the protected files.
async fn check(run: &Run<'_>, prompt: &Prompt, baseline: &Arc<Baseline>) -> Result<(), Stop> {
    let cycle = run.read(super::state::RunState::cycle);
    let checked = evidence::check(prompt, Arc::clone(baseline), &site(run)).await;
    let checked = checked.map_err(|_| panicked())?;
    let tampered = self::tampered(run).await?;
    for result in checked.results.into_iter().chain(tampered) {
        run.emit(&RunEvent::CheckCompleted { cycle, result })?;
    }
    checked.unable.map_or(Ok(()), |unable| Err(unable.into()))
}

/// Returns the protected files that are not what they were, with those that were not when an earlier run did the work.
async fn tampered(run: &Run<'_>) -> Result<Vec<CheckResult>, Stop> {
    let before = run.read(|state| state.tampered_before().to_vec());
    Ok([before, run.guard.broken().await?].concat())
}

/// Returns the evidence as it is now; off the thread, because files may be large and slow.
async fn gather(run: &Run<'_>, prompt: &Arc<Prompt>, baseline: &Arc<Baseline>) -> Result<Vec<Bundle>, Stop> {
    let (checks, words) = run.read(|state| {
        // Only what has no file has nothing else to be quoted.
        let quotable = prompt.expected().iter().any(|expected| expected.path.is_none());
        let outputs = if quotable { state.last_results() } else { Vec::new() };
        let words: Vec<String> = outputs.iter().flat_map(|result| shown::words(&result.output)).collect();
        (state.checks_of_cycle().to_vec(), words)
    });
    let (prompt, baseline) = (Arc::clone(prompt), Arc::clone(baseline));
    let workspace = Arc::clone(&run.pipeline.workspace);
    let gathered =
        tokio::task::spawn_blocking(move || Bundle::gather(&prompt, &workspace, &baseline, &checks, &words));
    gathered.await.map_err(|_| panicked())
}

fn panicked() -> Stop {
    Stop::new(Reason::InternalError, "tepa has a bug: looking at files panicked")
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
    if check.check == "exists" && check.actual == "is empty" {
        return format!("expected output \"{path}\" is empty");
    }
    let of = check.path.as_ref().map(|path| format!(" of \"{path}\"")).unwrap_or_default();
    format!("check `{}`{of} failed: expected {}, found {}", check.check, check.expected, check.actual)
}

/// A hook that flips the verdict is a person's decision: it stands, and the evaluation says whom it overruled.
fn credit_hooks(before: &Evaluation, hooks: Vec<Replaced<Evaluation>>) -> Evaluation {
    let mut stands = before.clone();
    for Replaced { hook, data } in hooks {
        let mut overruled = std::mem::take(&mut stands.overruled);
        if stands.verdict != data.verdict {
            let words = match data.verdict {
                Verdict::Pass => data.summary.as_ref(),
                Verdict::Fail => data.feedback.as_ref(),
            };
            overruled.push(Overruling {
                by: format!("postEvaluator hook `{hook}`"),
                from: stands.verdict,
                to: data.verdict,
                reason: words.cloned().unwrap_or_default(),
            });
        }
        // What was found and what it took is not for a hook to say.
        let Evaluation { criteria, votes, tokens_used, .. } = stands;
        stands = Evaluation { tokens_used, criteria, votes, overruled, ..data };
    }
    stands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(passed: bool) -> CheckResult {
        CheckResult {
            check: "exists".into(),
            path: Some("a.md".into()),
            evidence: None,
            passed,
            expected: "exists".into(),
            actual: if passed { "exists".into() } else { "does not exist".into() },
        }
    }

    #[test]
    fn a_pass_cannot_stand_beside_a_failed_check() {
        let pass = Evaluation { summary: Some("done".into()), ..Evaluation::new(Verdict::Pass, 0.9) };
        assert_eq!(overrule(pass.clone(), &[check(true)]), pass);
        let overruled = overrule(pass, &[check(true), check(false)]);
        assert_eq!(overruled.verdict, Verdict::Fail);
        assert_eq!(overruled.feedback.as_deref(), Some("expected output \"a.md\" does not exist"));
        assert_eq!(overruled.overruled.len(), 1);
    }

    #[test]
    fn a_fail_keeps_the_judges_words_and_gains_the_checks() {
        let fail = Evaluation { feedback: Some("weak".into()), ..Evaluation::new(Verdict::Fail, 0.9) };
        let told = overrule(fail, &[check(false)]);
        assert_eq!(told.feedback.as_deref(), Some("weak\nexpected output \"a.md\" does not exist"));
        assert!(told.overruled.is_empty());
    }
}
