//! Owns when a person is asked and what comes of the answer. Every decision is an event, also the one that nobody was there to make.
//!
//! An edited plan is held to what any plan is held to, and asked about again: what is executed is what somebody approved.

use super::estimate::{self, Limit};
use super::planner::can_run;
use super::run::{Run, Stop};
use super::state::RunState;
use crate::approval::{PlanAnswer, PlanQuestion, VerdictAnswer, VerdictQuestion};
use crate::event::{Decision, NOBODY, RunEvent, Subject};
use crate::outcome::{Evaluation, Overruling, PROTECTED, Reason, Verdict};
use crate::plan::{self, Plan};

/// What became of a verdict.
pub(super) enum Ruling {
    /// It is as it was; the planner may have been told more.
    Stands(Evaluation),
    /// It became a pass.
    Accepted(Evaluation),
    /// It is as it was, and the run ends.
    Stopped(Evaluation, Stop),
}

/// Refuses a run whose plans nobody could approve, before anything is paid for it.
pub(super) fn check(run: &Run<'_>) -> Result<(), Stop> {
    let approval = &run.pipeline.approval;
    if !approval.plans {
        return Ok(());
    }
    approval.somebody().map(drop).or_else(|why| Err(nobody_approves(run, &why)?))
}

/// Asks about the plan of this cycle; returns the one that was approved, if it is another.
pub(super) async fn plan(run: &Run<'_>, plan: &Plan) -> Result<Option<Plan>, Stop> {
    if !run.pipeline.approval.plans {
        return Ok(None);
    }
    let approver = match run.pipeline.approval.somebody() {
        Ok(approver) => approver,
        Err(why) => return Err(nobody_approves(run, &why)?),
    };
    let by = approver.who();
    let cycle = run.read(RunState::cycle);
    let editable = run.given.is_none() || cycle > 1;
    let mut edited: Option<Plan> = None;
    loop {
        let plan = edited.as_ref().unwrap_or(plan);
        let estimate = estimate::of(run, plan, &Limit::left(run))?;
        run.emit(&RunEvent::ApprovalRequested { cycle, about: Subject::Plan })?;
        let mut problem: Option<String> = None;
        let other = loop {
            let question =
                PlanQuestion { cycle, plan, estimate: &estimate, editable, problem: problem.as_deref() };
            match approver.plan(question).await {
                PlanAnswer::Approve => {
                    decided(run, Subject::Plan, Decision::Approved, &by, None)?;
                    return Ok(edited);
                }
                PlanAnswer::Refuse { comment } => {
                    let stop = Stop::new(Reason::Declined, said(&by, "refused the plan", comment.as_deref()));
                    decided(run, Subject::Plan, Decision::Refused, &by, comment)?;
                    return Err(stop);
                }
                PlanAnswer::Edit(_) if !editable => {
                    problem = Some("a plan that was made before is executed as it is".to_owned());
                }
                PlanAnswer::Edit(other) => match read(run, &other) {
                    Ok(other) => break other,
                    Err(fault) => problem = Some(fault),
                },
            }
            // An approver that is a program may answer without a pause; the run still hears of its time and of a signal.
            tokio::task::yield_now().await;
        };
        decided(run, Subject::Plan, Decision::Edited, &by, None)?;
        edited = Some(other);
    }
}

/// Asks about a verdict that is fail.
pub(super) async fn verdict(run: &Run<'_>, mut evaluation: Evaluation) -> Result<Ruling, Stop> {
    if !run.pipeline.approval.fails || evaluation.verdict == Verdict::Pass {
        return Ok(Ruling::Stands(evaluation));
    }
    let approver = match run.pipeline.approval.somebody() {
        Ok(approver) => approver,
        Err(why) => {
            decided(run, Subject::Verdict, Decision::Stopped, NOBODY, Some(why.clone()))?;
            let message = format!("the verdict is fail, and nobody can be asked what to do: {why}");
            return Ok(Ruling::Stopped(evaluation, Stop::new(Reason::Declined, message)));
        }
    };
    let by = approver.who();
    let (cycle, cycles_left, acceptable) = run.read(|state| {
        let tampered = state.checks_of_cycle().iter().any(|check| check.check == PROTECTED && !check.passed);
        (state.cycle(), state.cycles_left(), !tampered)
    });
    run.emit(&RunEvent::ApprovalRequested { cycle, about: Subject::Verdict })?;
    let question = VerdictQuestion { cycle, evaluation: &evaluation, cycles_left, acceptable };
    match approver.verdict(question).await {
        VerdictAnswer::Retry { comment } => {
            if let Some(comment) = &comment {
                let feedback = evaluation.feedback.take().unwrap_or_default();
                let told = format!("{feedback}\n{by} says: {comment}");
                evaluation.feedback = Some(told.trim_start().to_owned());
            }
            decided(run, Subject::Verdict, Decision::Retry, &by, comment)?;
            Ok(Ruling::Stands(evaluation))
        }
        VerdictAnswer::Accept { comment } => {
            evaluation.verdict = Verdict::Pass;
            // The judge's own summary, if there is one, was overruled.
            evaluation.summary = Some(said(&by, "accepted the work", comment.as_deref()));
            evaluation.overruled.push(Overruling {
                by: by.clone(),
                from: Verdict::Fail,
                to: Verdict::Pass,
                reason: comment.clone().unwrap_or_else(|| "no reason given".to_owned()),
            });
            decided(run, Subject::Verdict, Decision::Accepted, &by, comment)?;
            Ok(Ruling::Accepted(evaluation))
        }
        VerdictAnswer::Stop { comment } => {
            let stop = Stop::new(Reason::Declined, said(&by, "stopped the run", comment.as_deref()));
            decided(run, Subject::Verdict, Decision::Stopped, &by, comment)?;
            Ok(Ruling::Stopped(evaluation, stop))
        }
    }
}

fn read(run: &Run<'_>, answer: &serde_json::Value) -> Result<Plan, String> {
    let plan = plan::parse(answer, &run.pipeline.tools.names()).map_err(|e| e.to_string())?;
    can_run(run, &plan)?;
    Ok(plan)
}

fn nobody_approves(run: &Run<'_>, why: &str) -> Result<Stop, Stop> {
    decided(run, Subject::Plan, Decision::Refused, NOBODY, Some(why.to_owned()))?;
    Ok(Stop::new(Reason::Declined, format!("nobody can be asked to approve the plan: {why}")))
}

fn decided(
    run: &Run<'_>,
    about: Subject,
    decision: Decision,
    by: &str,
    comment: Option<String>,
) -> Result<(), Stop> {
    let cycle = run.read(RunState::cycle);
    run.emit(&RunEvent::ApprovalDecided { cycle, about, decision, by: by.to_owned(), comment })
}

fn said(by: &str, what: &str, comment: Option<&str>) -> String {
    let comment = comment.map(|comment| format!(": {comment}")).unwrap_or_default();
    format!("{by} {what}{comment}")
}
