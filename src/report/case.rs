//! Owns what is judged of a run, one by one: its verdict, each expected output, each criterion, each check.
//!
//! Nothing counts as passed that was not found to be: what the run did not reach is skipped, what broke is broken.

use super::clean;
use super::fold::{Criterion, Cycle, Report};
use crate::outcome::{CheckResult, RunStatus, Verdict};
use crate::prompt::{Expected, ExpectedOutput};

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
pub(super) struct Case {
    pub(super) kind: Kind,
    /// One clean line.
    pub(super) name: String,
    pub(super) outcome: Outcome,
    /// Why it did not pass; clean, may have several lines.
    pub(super) detail: String,
}

impl Case {
    fn new(kind: Kind, name: &str, outcome: Outcome, detail: &str) -> Self {
        Self {
            kind,
            name: clean::line(name, LONGEST_NAME),
            outcome,
            detail: clean::text(detail).trim().to_owned(),
        }
    }

    /// Whether this is the criterion that something was said about.
    pub(super) fn of(&self, said: &Criterion) -> bool {
        let name = criterion_name(said.path.as_deref().unwrap_or_default(), &said.criterion);
        self.kind == Kind::Criterion && self.name == clean::line(&name, LONGEST_NAME)
    }
}

fn criterion_name(of: &str, text: &str) -> String {
    format!("{of}: {text}")
}

/// Returns everything that is judged of a run, the verdict first.
pub(super) fn cases(report: &Report) -> Vec<Case> {
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

fn verdict(report: &Report) -> Case {
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
    /// The verdict of a run that was judged to its end.
    verdict: Option<Verdict>,
    feedback: &'r str,
    checks: Vec<&'r CheckResult>,
    criteria: &'r [Criterion],
}

impl<'r> Judged<'r> {
    fn of(report: &'r Report) -> Self {
        let last = report.last_cycle();
        let status = report.result.as_ref().and_then(|result| result.status);
        let evaluation = last.and_then(|cycle| cycle.evaluation.as_ref());
        let verdict = match (status, evaluation) {
            (Some(RunStatus::Pass), _) => Some(Verdict::Pass),
            (Some(RunStatus::Fail), Some(_)) => Some(Verdict::Fail),
            _ => None,
        };
        Self {
            report,
            verdict,
            feedback: report.result.as_ref().map_or("", |result| &result.feedback),
            checks: last.map(latest).unwrap_or_default(),
            criteria: last.map_or(&[], |cycle| &cycle.criteria),
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

    fn expected_alone(&self, text: &str) -> Case {
        let (outcome, detail) = self.with_verdict();
        Case::new(Kind::Expected, text, outcome, detail)
    }

    /// Adds an expected output, its criteria and its checks.
    fn expected(&self, at: usize, expected: &Expected, cases: &mut Vec<Case>) {
        let name = expected.path.as_deref().unwrap_or(&expected.description);
        let own = self.own_criteria(expected, name);
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

    fn own_criteria(&self, expected: &Expected, name: &str) -> Vec<Case> {
        let case = |text: &String| {
            let said =
                self.criteria.iter().find(|said| said.criterion == *text && said.path == expected.path);
            let (outcome, detail) = match (said, self.verdict) {
                (Some(said), _) if said.verdict == "pass" => (Outcome::Passed, String::new()),
                (Some(said), _) => (Outcome::Failed, found(said)),
                (None, Some(Verdict::Pass)) => (Outcome::Passed, String::new()),
                (None, _) => (Outcome::Skipped, "it was not judged by itself".to_owned()),
            };
            Case::new(Kind::Criterion, &criterion_name(name, text), outcome, &detail)
        };
        expected.criteria.iter().map(case).collect()
    }

    fn own_checks(&self, at: usize, expected: &Expected) -> Vec<Case> {
        let own: Vec<_> = self.checks.iter().filter(|check| check.path == expected.path).collect();
        if expected.path.is_some() && !own.is_empty() {
            return own.into_iter().map(|check| checked(check)).collect();
        }
        // Checks without a path do not say whose they are; they stand at the end.
        if expected.path.is_none() && !self.checks.is_empty() {
            return Vec::new();
        }
        let planned = self.report.planned_checks.iter().filter(|(of, _)| *of == at);
        let implied = expected.path.is_some().then_some("exists");
        let names = implied.into_iter().chain(planned.map(|(_, name)| name.as_str()));
        let name = |check: &str| format!("{check} {}", expected.path.as_deref().unwrap_or_default());
        names
            .map(|check| Case::new(Kind::Check, &name(check), Outcome::Skipped, "the run did not get there"))
            .collect()
    }

    /// Whether a check stands under an expected output already.
    fn belongs(&self, check: &CheckResult) -> bool {
        let Some(prompt) = &self.report.prompt else { return false };
        check
            .path
            .as_deref()
            .is_some_and(|path| prompt.expected_paths().any(|(expected, _)| expected == path))
    }
}

/// Returns the checks of a cycle; of one that was run again only how it came out last.
fn latest(cycle: &Cycle) -> Vec<&CheckResult> {
    let mut latest: Vec<&CheckResult> = Vec::new();
    for check in &cycle.checks {
        latest.retain(|earlier| {
            (&earlier.check, &earlier.path, &earlier.expected) != (&check.check, &check.path, &check.expected)
        });
        latest.push(check);
    }
    latest
}

fn checked(check: &CheckResult) -> Case {
    let name = match &check.path {
        Some(path) => format!("{} {path}", check.check),
        None => check.check.clone(),
    };
    let outcome = if check.passed { Outcome::Passed } else { Outcome::Failed };
    let detail = if check.passed {
        String::new()
    } else {
        format!("expected {}\nactual   {}", check.expected, check.actual)
    };
    Case::new(Kind::Check, &name, outcome, &detail)
}

/// Returns what was found about a criterion that does not hold.
fn found(said: &Criterion) -> String {
    let mut lines = vec![said.verdict.clone()];
    lines.extend(said.reason.clone());
    if let Some(quote) = &said.quote {
        let evidence = said.evidence.as_deref().unwrap_or("no evidence");
        lines.push(format!("quoted from {evidence}: {quote}"));
    }
    lines.join("\n")
}
