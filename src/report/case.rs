//! Owns what is judged of a run, one by one: its verdict, each expected output, each criterion, each check.
//!
//! Nothing counts as passed that was not found to be: what the run did not reach is skipped, what broke is broken. Whoever overruled a
//! verdict changed the verdict of the run, and nothing of what was found.

use super::clean;
use super::fold::{Cycle, Report};
use super::words;
use crate::check::Check;
use crate::outcome::{CheckResult, CriterionResult, CriterionVerdict, PROTECTED, RunStatus, Verdict};
use crate::prompt::{Expected, ExpectedOutput, Prompt};

/// Characters of a name.
const LONGEST_NAME: usize = 160;

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Verdict,
    Expected,
    Criterion,
    Check,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Expected => "expected output",
            Self::Criterion => "criterion",
            Self::Check => "check",
        }
    }
}

/// How a case came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// Judged and found wanting.
    Failed,
    /// There is no verdict.
    Broken,
    /// The run did not get that far.
    Skipped,
}

/// One thing that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case<'r> {
    pub(super) kind: Kind,
    /// One clean line.
    pub(super) name: String,
    pub(super) outcome: Outcome,
    /// Why it did not pass; clean, may have several lines.
    pub(super) detail: String,
    /// What was said of a criterion.
    pub(super) said: Option<&'r CriterionResult>,
}

impl Case<'_> {
    fn new(kind: Kind, name: &str, outcome: Outcome, detail: &str) -> Self {
        Self {
            kind,
            name: clean::line(name, LONGEST_NAME),
            outcome,
            detail: clean::text(detail).trim().to_owned(),
            said: None,
        }
    }
}

/// Returns everything that is judged of a run, the verdict first.
pub(super) fn cases(report: &Report) -> Vec<Case<'_>> {
    let mut cases = vec![verdict(report)];
    let judged = Judged::of(report);
    match report.prompt.as_ref().map(|prompt| &prompt.expected_output) {
        None => {}
        Some(ExpectedOutput::Text(text)) => cases.push(judged.expected_alone(text)),
        Some(ExpectedOutput::List(list)) => {
            for (at, expected) in list.iter().enumerate() {
                judged.expected(at, expected, &mut cases);
            }
        }
    }
    cases.extend(judged.checks.iter().filter(|check| !judged.belongs(check)).map(|check| checked(check)));
    cases
}

fn verdict(report: &Report) -> Case<'static> {
    let (outcome, detail) = match &report.result {
        None => (Outcome::Broken, "the run has no end: tepa was killed, or it still goes on"),
        Some(result) => {
            let outcome = match result.status {
                Some(RunStatus::Pass) => Outcome::Passed,
                Some(RunStatus::Fail) => Outcome::Failed,
                Some(RunStatus::Terminated) | None => Outcome::Broken,
            };
            (outcome, result.feedback.as_str())
        }
    };
    Case::new(Kind::Verdict, "verdict", outcome, detail)
}

/// What the last cycle found.
struct Judged<'r> {
    report: &'r Report,
    /// The judge's own verdict on a run that was judged to its end.
    verdict: Option<Verdict>,
    feedback: &'r str,
    checks: Vec<&'r CheckResult>,
    criteria: &'r [CriterionResult],
}

impl<'r> Judged<'r> {
    fn of(report: &'r Report) -> Self {
        let result = report.result.as_ref();
        let evaluation = report.evaluation();
        let settled =
            result.is_some_and(|result| matches!(result.status, Some(RunStatus::Pass | RunStatus::Fail)));
        let own = evaluation.filter(|_| settled).map(|evaluation| {
            evaluation.overruled.first().map_or(evaluation.verdict, |overruling| overruling.from)
        });
        let feedback = evaluation.and_then(|evaluation| evaluation.feedback.as_deref());
        Self {
            report,
            verdict: own,
            feedback: feedback.or(result.map(|result| &*result.feedback)).unwrap_or_default(),
            checks: report.last_cycle().map(latest).unwrap_or_default(),
            criteria: evaluation.map_or(&[], |evaluation| &evaluation.criteria),
        }
    }

    /// Returns what stands and falls with the verdict, because nothing judged it alone.
    fn with_verdict(&self) -> (Outcome, &'r str) {
        match self.verdict {
            Some(Verdict::Pass) => (Outcome::Passed, ""),
            Some(Verdict::Fail) => (Outcome::Failed, self.feedback),
            None => (Outcome::Skipped, "the run ended before it was judged"),
        }
    }

    fn expected_alone(&self, text: &str) -> Case<'r> {
        let (outcome, detail) = self.with_verdict();
        Case::new(Kind::Expected, text, outcome, detail)
    }

    /// Adds an expected output, its criteria and its checks.
    fn expected(&self, at: usize, expected: &Expected, cases: &mut Vec<Case<'r>>) {
        let name = expected.path.as_deref().unwrap_or(&expected.description);
        let before = cases.iter().filter(|case| case.kind == Kind::Criterion).count();
        let own = self.own_criteria(expected, name, before);
        let checks = self.own_checks(at, expected);
        let bad: Vec<String> = own
            .iter()
            .chain(&checks)
            .filter(|case| case.outcome == Outcome::Failed)
            .map(|case| format!("{}\n{}", case.name, case.detail))
            .collect();
        let (outcome, detail) = match self.with_verdict() {
            (Outcome::Skipped, detail) if bad.is_empty() => (Outcome::Skipped, detail.to_owned()),
            _ if !bad.is_empty() => (Outcome::Failed, bad.join("\n\n")),
            // All of its criteria were found to hold: what is wanting is something else.
            (Outcome::Failed, _)
                if !own.is_empty() && own.iter().all(|case| case.outcome == Outcome::Passed) =>
            {
                (Outcome::Passed, String::new())
            }
            (outcome, detail) => (outcome, detail.to_owned()),
        };
        cases.push(Case::new(Kind::Expected, name, outcome, &detail));
        cases.extend(own);
        cases.extend(checks);
    }

    /// Returns the criteria of an expected output, of which there are some `before`: they are numbered throughout.
    fn own_criteria(&self, expected: &Expected, name: &str, before: usize) -> Vec<Case<'r>> {
        let case = |(text, number): (&String, usize)| {
            let id = format!("C{number}");
            let said = self.criteria.iter().find(|said| said.id == id && said.criterion == *text);
            let (outcome, detail) = match said {
                Some(said) if said.verdict == CriterionVerdict::Pass => (Outcome::Passed, String::new()),
                Some(said) => (Outcome::Failed, found(said)),
                None => (Outcome::Skipped, "it was not judged by itself".to_owned()),
            };
            Case { said, ..Case::new(Kind::Criterion, &format!("{name}: {text}"), outcome, &detail) }
        };
        expected.criteria.iter().zip(before + 1..).map(case).collect()
    }

    fn own_checks(&self, at: usize, expected: &Expected) -> Vec<Case<'r>> {
        let path = expected.path.as_deref();
        let own: Vec<_> = self.checks.iter().filter(|check| is_of(check, at, expected)).collect();
        let mut run: Vec<&str> = own.iter().map(|check| &*check.check).collect();
        let planned = expected.all_checks();
        let unreached = planned.iter().map(Check::name).filter(|name| {
            let at = run.iter().position(|other| other == name);
            at.map(|at| run.swap_remove(at)).is_none()
        });
        let skipped = |name: &str| {
            Case::new(Kind::Check, &check_name(name, path), Outcome::Skipped, "the run did not get there")
        };
        own.into_iter().map(|check| checked(check)).chain(unreached.map(skipped)).collect()
    }

    /// Whether a check stands under an expected output already.
    fn belongs(&self, check: &CheckResult) -> bool {
        let expected = self.report.prompt.as_deref().map_or(&[][..], Prompt::expected);
        expected.iter().enumerate().any(|(at, expected)| is_of(check, at, expected))
    }
}

/// Whether a check is one of the expected output at this position; older records know that by its path alone.
fn is_of(check: &CheckResult, at: usize, expected: &Expected) -> bool {
    match &check.evidence {
        Some(id) => *id == format!("E{}", at + 1),
        None => check.check != PROTECTED && check.path.is_some() && check.path == expected.path,
    }
}

/// Returns the checks of a cycle; of one that was run again only how it came out last.
fn latest(cycle: &Cycle) -> Vec<&CheckResult> {
    let mut latest: Vec<&CheckResult> = Vec::new();
    for check in &cycle.checks {
        let same = |other: &CheckResult| {
            (&other.check, &other.path, &other.evidence, &other.expected)
                == (&check.check, &check.path, &check.evidence, &check.expected)
        };
        latest.retain(|earlier| !same(earlier));
        latest.push(check);
    }
    latest
}

fn check_name(check: &str, path: Option<&str>) -> String {
    path.map_or_else(|| check.to_owned(), |path| format!("{check} {path}"))
}

fn checked(check: &CheckResult) -> Case<'static> {
    let name = check_name(&check.check, check.path.as_deref());
    let outcome = if check.passed { Outcome::Passed } else { Outcome::Failed };
    let detail = if check.passed {
        String::new()
    } else {
        format!("expected {}\nactual   {}", check.expected, check.actual)
    };
    Case::new(Kind::Check, &name, outcome, &detail)
}

/// Returns what was found about a criterion that does not hold.
fn found(said: &CriterionResult) -> String {
    let mut lines = vec![words::criterion(said.verdict).1, &said.reason];
    let quoted = said
        .quote
        .as_ref()
        .map(|quote| format!("quoted from {}: {quote}", said.evidence.as_deref().unwrap_or("no evidence")));
    lines.extend(quoted.as_deref());
    lines.join("\n")
}
