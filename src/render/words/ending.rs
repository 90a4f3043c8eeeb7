//! Owns what is said about checks, verdicts and the end of a run.
//!
//! The final line begins with the verdict, in one word, at the start of the line; nothing else that is shown does.

use crate::config::LoggingLevel;
use crate::outcome::{
    Artifact, CheckResult, CostQualifier, CriterionResult, CriterionVerdict, Evaluation, Reason, RunResult,
    RunStatus, Verdict, Vote,
};
use crate::render::ink::{Text, Tone};
use crate::render::layout::fit;
use crate::render::message::{Mark, Message, Place, tokens};
use crate::text;

/// Characters shown of what a check expected or found.
const LONGEST_FINDING: usize = 1_000;

/// Columns that a path or a size is padded to at most.
const WIDEST_CELL: usize = 48;

/// Returns how a check came out.
pub(super) fn checked(cycle: u32, result: &CheckResult) -> Message {
    let mut head = Text::of(Tone::Plain, format!("check {}", result.check));
    if let Some(path) = &result.path {
        head = head.add(Tone::Plain, format!(" {path}"));
    }
    let message = Message::new(Place::cycle(cycle), head);
    if result.passed {
        return message.marked(Mark::Good);
    }
    let finding = |label: &str, text: &str| format!("{label} {}", text::truncate(text, LONGEST_FINDING));
    message
        .marked(Mark::Bad)
        .prose(Tone::Plain, &finding("expected", &result.expected))
        .prose(Tone::Plain, &finding("actual  ", &result.actual))
}

/// Returns what came of a criterion.
fn criterion(cycle: u32, result: &CriterionResult) -> Message {
    let path = result.path.as_ref().map(|path| format!(" ({path})")).unwrap_or_default();
    let said = format!("{}{path}", result.criterion);
    let name = format!("criterion {}", result.id);
    // What is met may be cut where there is no room; what is not has to be read.
    if result.verdict == CriterionVerdict::Pass {
        let head = Text::of(Tone::Plain, format!("{name}: {said}"));
        return Message::new(Place::cycle(cycle), head).marked(Mark::Good);
    }
    let message = Message::new(Place::cycle(cycle), Text::of(Tone::Plain, name)).because(&said);
    let finding = |label: &str, text: &str| format!("{label}{}", text::truncate(text, LONGEST_FINDING));
    match result.verdict {
        CriterionVerdict::Pass | CriterionVerdict::Fail => {
            message.marked(Mark::Bad).prose(Tone::Plain, &finding("not met: ", &result.reason))
        }
        CriterionVerdict::Unproven => {
            message.marked(Mark::Bad).prose(Tone::Plain, &finding("not proven: ", &result.reason))
        }
    }
}

/// Returns the verdict of a cycle, and before it the criteria and who changed it.
pub(in crate::render) fn judged(cycle: u32, evaluation: &Evaluation) -> Vec<Message> {
    let mut messages: Vec<Message> =
        evaluation.criteria.iter().map(|result| criterion(cycle, result)).collect();
    messages.extend(votes(cycle, &evaluation.votes));
    messages.extend(evaluation.overruled.iter().enumerate().map(|(at, overruling)| {
        let whom = if at == 0 { "judge" } else { "verdict" };
        let (from, to) = (overruling.from.name(), overruling.to.name());
        let head = Text::of(Tone::Caution, format!("{} overruled the {whom}", overruling.by));
        let reason = format!("{from} → {to}: {}", overruling.reason);
        Message::new(Place::cycle(cycle), head).because(&reason)
    }));
    // The summary of a pass that was overruled says what is not so.
    let (mark, tone, said) = match evaluation.verdict {
        Verdict::Pass => (Mark::Good, Tone::Won, &evaluation.summary),
        Verdict::Fail => (Mark::Bad, Tone::Lost, &evaluation.feedback),
    };
    let head = Text::of(tone, evaluation.verdict.name())
        .add(Tone::Plain, format!(" with confidence {:.2}", evaluation.confidence));
    messages.push(
        Message::new(Place::cycle(cycle), head)
            .marked(mark)
            .measured(tokens(evaluation.tokens_used))
            .prose(Tone::Plain, said.as_deref().unwrap_or_default()),
    );
    messages
}

/// Returns how often the judge was asked and what he said each time.
fn votes(cycle: u32, votes: &[Vote]) -> Option<Message> {
    if votes.is_empty() {
        return None;
    }
    let head = Text::of(Tone::Plain, text::plural("vote", votes.len()));
    let said = |vote: &Vote| format!("{} with confidence {:.2}", vote.verdict.name(), vote.confidence);
    let said: Vec<String> = votes.iter().map(said).collect();
    Some(Message::new(Place::cycle(cycle), head).because(&said.join(", ")))
}

/// Returns the artifacts and the final line; at the minimal level the final line alone.
pub(super) fn completed(result: &RunResult, level: LoggingLevel) -> Vec<Message> {
    let mut messages = Vec::new();
    if level > LoggingLevel::Minimal && !result.outputs.is_empty() {
        messages.push(artifacts(&result.outputs));
    }
    messages.push(final_line(result));
    messages
}

/// Returns why a run was stopped, in words.
pub fn stop(reason: Reason) -> &'static str {
    match reason {
        Reason::Passed => "the run passed",
        Reason::MaxCycles => "the cycles are used up",
        Reason::ProtectedPathModified => "a protected file was changed",
        Reason::CycleError => "no plan to execute",
        Reason::DispatchError => "a stage of the cycle failed",
        Reason::HookStopped => "stopped by a hook",
        Reason::Declined => "declined",
        Reason::Refused => "refused",
        Reason::StageError => "a stage failed",
        Reason::StoreError => "the store failed",
        Reason::NothingVerified => "nothing to verify",
        Reason::TokenBudget => "the token budget is used up",
        Reason::ToolBudget => "the tool calls are used up",
        Reason::CostBudget => "the money is used up",
        Reason::TimeBudget => "the time is used up",
        Reason::Interrupted => "interrupted",
        Reason::Terminated => "told to terminate",
        Reason::ProviderError => "the provider failed",
        Reason::CheckError => "a check could not be run",
        Reason::JournalError => "the journal failed",
        Reason::InternalError => "tepa failed",
    }
}

fn final_line(result: &RunResult) -> Message {
    let (mark, tone, word) = match result.status {
        Some(RunStatus::Pass) => (Mark::Good, Tone::Won, "pass"),
        Some(RunStatus::Fail) => (Mark::Bad, Tone::Lost, "fail"),
        Some(RunStatus::Terminated) => (Mark::Bad, Tone::Lost, "terminated"),
        None => (Mark::Bad, Tone::Lost, "no verdict"),
    };
    let mut facts = vec![
        text::plural("cycle", usize::try_from(result.cycles).unwrap_or(usize::MAX)),
        tokens(result.tokens_used),
        text::duration(result.duration_ms),
    ];
    facts.extend(cost(result));
    if !matches!(result.reason, Reason::Passed) {
        facts.push(stop(result.reason).to_owned());
    }
    Message::new(Place::default(), Text::of(tone, word)).marked(mark).followed(
        "  ",
        Tone::Plain,
        &facts.join(", "),
    )
}

fn cost(result: &RunResult) -> Option<String> {
    let usd = result.cost.usd?;
    let sum = text::dollars(usd);
    match result.cost.qualifier {
        CostQualifier::Priced => Some(sum),
        CostQualifier::Partial => Some(format!("at least {sum}")),
        CostQualifier::Unpriced => None,
    }
}

fn artifacts(outputs: &[Artifact]) -> Message {
    let cells: Vec<(Text, String, &str)> = outputs
        .iter()
        .map(|artifact| {
            (Text::of(Tone::Name, &artifact.path), text::bytes(artifact.bytes), artifact.description.as_str())
        })
        .collect();
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0).min(WIDEST_CELL);
    let paths = widest(&mut cells.iter().map(|(path, ..)| console::measure_text_width(&path.paint(false))));
    let sizes = widest(&mut cells.iter().map(|(_, size, _)| size.len()));
    let message =
        Message::new(Place::default(), Text::of(Tone::Strong, text::plural("artifact", outputs.len())));
    cells.into_iter().fold(message, |message, (path, size, description)| {
        let gap = paths.saturating_sub(console::measure_text_width(&path.paint(false)));
        let row =
            path.add(Tone::Plain, " ".repeat(gap + 2)).add(Tone::Faint, format!("{}  ", fit(&size, sizes)));
        message.row(row.add(Tone::Plain, description))
    })
}
