//! Owns the words of reports for people: how a run, a cycle and a step ended, what it took and what it cost.

use super::case::Outcome;
use super::fold::{Cycle, Decided, Report, StepRecord};
use crate::event::{Decision, NOBODY, Subject};
use crate::outcome::{
    Cost, CostQualifier, CriterionVerdict, Evaluation, RunStatus, StepStatus, Verdict, Vote,
};
use crate::text;

/// How good something is; the word says it too, so that nobody depends on colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    /// Neither: not reached, not known, left out.
    Open,
}

impl Tone {
    /// Returns the class by which a page colours it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Open => "open",
        }
    }

    /// Returns a sign that is told apart without colour.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Open => "–",
        }
    }
}

/// Returns how the run ended.
pub(super) fn ending(report: &Report) -> (Tone, &'static str) {
    let Some(result) = &report.result else { return (Tone::Open, "no end") };
    match result.status {
        Some(RunStatus::Pass) => (Tone::Good, "pass"),
        Some(RunStatus::Fail) => (Tone::Bad, "fail"),
        Some(RunStatus::Terminated) => (Tone::Open, "terminated"),
        None => (Tone::Open, "no verdict"),
    }
}

/// Returns how a cycle ended.
pub(super) fn cycle_ending(cycle: &Cycle) -> (Tone, &'static str) {
    cycle.evaluation.as_ref().map_or((Tone::Open, "not judged"), |evaluation| verdict(evaluation.verdict))
}

/// Returns a verdict.
pub(super) fn verdict(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Pass => (Tone::Good, "pass"),
        Verdict::Fail => (Tone::Bad, "fail"),
    }
}

/// Returns how a criterion came out.
pub(super) fn criterion(verdict: CriterionVerdict) -> (Tone, &'static str) {
    match verdict {
        CriterionVerdict::Pass => (Tone::Good, "pass"),
        CriterionVerdict::Fail => (Tone::Bad, "fail"),
        CriterionVerdict::Unproven => (Tone::Bad, "unproven"),
    }
}

/// Returns how sure a judge was, and why, if he said so.
pub(super) fn vote(vote: &Vote) -> String {
    let reason = vote.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("with confidence {:.2}{reason}", vote.confidence)
}

/// Returns who changed the verdict of the judge, in order: from what to what, and why.
pub(super) fn overrulings(evaluation: Option<&Evaluation>) -> Vec<String> {
    let all = evaluation.map_or(&[][..], |evaluation| &evaluation.overruled).iter().enumerate();
    all.map(|(at, one)| {
        let whom = if at == 0 { "judge" } else { "verdict" };
        let ((_, from), (_, to)) = (verdict(one.from), verdict(one.to));
        format!("{} overruled the {whom}: {from} → {to}: {}", one.by, one.reason)
    })
    .collect()
}

/// Returns what persons decided, in order: when, who, what, and what they said of it.
pub(super) fn decisions(report: &Report) -> Vec<String> {
    report.decisions.iter().map(decision).collect()
}

fn decision(decided: &Decided) -> String {
    let Decided { cycle, about, decision, by, comment } = decided;
    let what = match (decision, about) {
        (_, Subject::Plan) if by == NOBODY => "could be asked about the plan",
        (_, Subject::Verdict) if by == NOBODY => "could be asked about the verdict",
        (Decision::Approved, _) => "approved the plan",
        (Decision::Refused, _) => "refused the plan",
        (Decision::Edited, _) => "edited the plan",
        (Decision::Retry, _) => "asked for another cycle",
        (Decision::Accepted, _) => "accepted the work",
        (Decision::Stopped, _) => "let the verdict stand and ended the run",
    };
    let when = if *cycle == 0 { "before the first cycle".to_owned() } else { format!("cycle {cycle}") };
    let comment = comment.as_ref().map(|comment| format!(": {comment}")).unwrap_or_default();
    format!("{when}: {by} {what}{comment}")
}

/// Returns how a step ended.
pub(super) fn step_ending(record: &StepRecord) -> (Tone, &'static str) {
    match record.result.as_ref().map(|result| result.status) {
        Some(StepStatus::Success) => (Tone::Good, "completed"),
        Some(StepStatus::Failure) if record.skipped => (Tone::Open, "skipped"),
        Some(StepStatus::Failure) => (Tone::Bad, "failed"),
        None if record.began.is_some() => (Tone::Open, "not finished"),
        None => (Tone::Open, "not begun"),
    }
}

/// Returns how something that is judged came out.
pub(super) fn outcome(outcome: Outcome) -> (Tone, &'static str) {
    match outcome {
        Outcome::Passed => (Tone::Good, "passed"),
        Outcome::Failed => (Tone::Bad, "failed"),
        Outcome::Broken => (Tone::Open, "no verdict"),
        Outcome::Skipped => (Tone::Open, "not reached"),
    }
}

/// Returns what a run took, piece by piece: cycles, tokens, cost, time, exit code; nothing before it has ended.
pub fn measures(report: &Report) -> Vec<String> {
    let Some(result) = &report.result else { return Vec::new() };
    vec![
        text::plural("cycle", count(u64::from(result.cycles))),
        tokens(result.tokens_used),
        cost(result.cost),
        text::duration(result.duration_ms),
        format!("exit {}", result.exit_code),
    ]
}

/// Returns a number of tokens.
pub(super) fn tokens(number: u64) -> String {
    text::plural("token", count(number))
}

/// Returns what something cost.
pub fn cost(cost: Cost) -> String {
    let Some(usd) = cost.usd else { return "no price known".to_owned() };
    // Below ten cents two digits would say that it was free.
    let sum = text::dollars(usd);
    match cost.qualifier {
        CostQualifier::Priced => sum,
        CostQualifier::Partial => format!("at least {sum}"),
        CostQualifier::Unpriced => "no price known".to_owned(),
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
