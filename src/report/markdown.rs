//! Owns the report as Markdown, as it stands in a job's summary or in a comment.
//!
//! What a model, a tool or a file wrote is either a table cell in which every mark of Markdown and HTML is escaped, or stands in a fence that is
//! longer than any run of backticks in it. Parts that would make the whole longer than allowed are left out, and it says so.

use std::fmt::Write as _;

use super::case::{Case, Outcome, cases};
use super::clean;
use super::fold::{Cycle, Report, StepRecord};
use super::words;
use crate::outcome::Vote;
use crate::text;

/// Characters of a cell, of a block, and of one in a list of many.
const CELL: usize = 300;
const BLOCK: usize = 20_000;
const DETAIL: usize = 4_000;

/// Returns the report in at most `room` bytes.
pub(super) fn render(report: &Report, room: usize) -> String {
    let mut parts = vec![head(report)];
    let cases = cases(report);
    parts.push(judged(&cases));
    parts.push(decided(report));
    parts.extend(cases.iter().skip(1).filter(|case| case.outcome == Outcome::Failed).map(detail));
    parts.extend(report.cycles.iter().rev().map(cycle));
    parts.push(artifacts(report));
    parts.push(spent(report));
    parts.push(warnings(report));
    fit(&parts, room)
}

/// Returns the parts in order as far as there is room.
fn fit(parts: &[String], room: usize) -> String {
    let note = "\n*What else there was to say does not fit here; the journal of the run has all of it.*\n";
    let mut whole = String::new();
    for (at, part) in parts.iter().enumerate() {
        let reserve = if at + 1 == parts.len() { 0 } else { note.len() };
        if whole.len() + part.len() + reserve > room {
            if whole.len() + note.len() <= room {
                whole.push_str(note);
            }
            break;
        }
        whole.push_str(part);
    }
    whole
}

fn head(report: &Report) -> String {
    let (tone, word) = words::ending(report);
    let goal = report.prompt.as_ref().map_or("", |prompt| &prompt.goal);
    let mut part = format!("# {} {word}: {}\n\n", tone.sign(), inline(goal));
    let _ = writeln!(part, "{}\n", words::measures(report).join(" · "));
    if let Some(result) = &report.result {
        part += &block(&result.feedback, BLOCK);
    }
    part += &lines(words::overrulings(report.evaluation()));
    part
}

fn judged(cases: &[Case]) -> String {
    let rows = cases.iter().skip(1).map(|case| {
        let (tone, word) = words::outcome(case.outcome);
        [format!("{} {word}", tone.sign()), case.kind.name().to_owned(), inline(&case.name)]
    });
    table("What was judged", ["Outcome", "Of", "What"], rows)
}

fn decided(report: &Report) -> String {
    if report.decisions.is_empty() {
        return String::new();
    }
    format!("## Decisions\n\n{}", lines(words::decisions(report)))
}

fn detail(case: &Case) -> String {
    format!("### {}: {}\n\n{}", case.kind.name(), inline(&case.name), block(&case.detail, DETAIL))
}

fn cycle(cycle: &Cycle) -> String {
    let (tone, word) = words::cycle_ending(cycle);
    let title = format!(
        "Cycle {}: {} {word}, {}, {}",
        cycle.number,
        tone.sign(),
        words::tokens(cycle.tokens),
        text::duration(cycle.duration_ms)
    );
    let mut part = table(&title, ["Step", "Ended", "Tools", "Time", "Tokens"], cycle.steps.iter().map(step));
    for record in &cycle.steps {
        let error = record.result.as_ref().and_then(|result| result.error.as_deref());
        if let Some(error) = error.filter(|_| !record.skipped) {
            let _ = writeln!(part, "Step {} failed:\n\n{}", inline(&record.step.id), block(error, DETAIL));
        }
    }
    if let Some(evaluation) = &cycle.evaluation {
        let vote = |(at, vote): (usize, &Vote)| {
            let (tone, word) = words::verdict(vote.verdict);
            format!("Vote {}: {} {word} {}", at + 1, tone.sign(), words::vote(vote))
        };
        part += &lines(evaluation.votes.iter().enumerate().map(vote));
        part += &lines(words::overrulings(Some(evaluation)));
        if let Some(feedback) = &evaluation.feedback {
            let _ = writeln!(part, "Feedback:\n\n{}", block(feedback, DETAIL));
        }
    }
    part
}

fn step(record: &StepRecord) -> [String; 5] {
    let (tone, word) = words::step_ending(record);
    let measured = |measure: &dyn Fn(&crate::outcome::StepResult) -> String| {
        record.result.as_ref().map(measure).unwrap_or_default()
    };
    [
        inline(&record.step.id),
        format!("{} {word}", tone.sign()),
        inline(&record.step.tools.join(", ")),
        measured(&|result| text::duration(result.duration_ms)),
        measured(&|result| result.tokens_used.to_string()),
    ]
}

fn artifacts(report: &Report) -> String {
    if report.result.as_ref().is_none_or(|result| result.outputs.is_empty()) {
        return String::new();
    }
    let outputs = report.result.iter().flat_map(|result| &result.outputs);
    let rows = outputs.map(|artifact| {
        let hash = artifact.sha256.as_deref().unwrap_or_default();
        [inline(&artifact.path), text::bytes(artifact.bytes), inline(hash), inline(&artifact.description)]
    });
    table("Files", ["Path", "Size", "SHA-256", "What"], rows)
}

fn spent(report: &Report) -> String {
    let Some(result) = report.result.as_ref().filter(|result| result.tokens_used > 0) else {
        return String::new();
    };
    let roles = result.usage.by_role.iter().map(|(role, usage)| {
        let model = report.models.iter().find(|(of, _)| of == role).map_or("", |(_, model)| model);
        [
            inline(role),
            inline(model),
            usage.input.to_string(),
            usage.cached.to_string(),
            usage.output.to_string(),
        ]
    });
    let title = format!("Tokens and cost: {}", words::cost(result.cost));
    table(&title, ["Role", "Model", "Input", "of it cached", "Output"], roles)
}

fn warnings(report: &Report) -> String {
    if report.warnings.is_empty() {
        return String::new();
    }
    format!("## Warnings\n\n{}", block(&report.warnings.join("\n"), BLOCK))
}

/// Returns a section with a table; one without rows is its title.
fn table<const N: usize>(title: &str, heads: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<_> = rows.map(|row| format!("| {} |\n", row.join(" | "))).collect();
    if rows.is_empty() {
        return format!("## {title}\n\n");
    }
    format!("## {title}\n\n| {} |\n|{}\n{}\n", heads.join(" | "), " --- |".repeat(N), rows.concat())
}

/// Returns a list with one line for each text, nothing when there is none.
fn lines(texts: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<_> = texts.into_iter().map(|text| format!("- {}\n", inline(&text))).collect();
    if lines.is_empty() { String::new() } else { lines.concat() + "\n" }
}

/// Returns the start of a text as one line in which nothing means anything.
fn inline(words: &str) -> String {
    let mut escaped = String::new();
    let mut before = ' ';
    for character in clean::line(words, CELL).chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' => escaped += "&#124;",
            // Names of servers become links without any mark, from this character on.
            '.' if before.eq_ignore_ascii_case(&'w') => escaped += "\\.",
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '~' | ':'
            | '@' | '$' | '=' | '^' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
        before = character;
    }
    escaped
}

/// Returns a text in a fence that it cannot close.
fn block(words: &str, max_chars: usize) -> String {
    let words = clean::text(words);
    let words = text::head_tail(words.trim_end(), max_chars / 2, max_chars / 2);
    let longest = words.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{words}\n{fence}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_means_anything() {
        assert_eq!(inline("a | b\n<img src=x>&amp; `c`"), "a &#124; b &lt;img src\\=x&gt;&amp;amp; \\`c\\`");
        assert_eq!(
            inline("[x](https://e.org) www.e.org @all"),
            "\\[x\\]\\(https\\://e.org\\) www\\.e.org \\@all"
        );
    }

    #[test]
    fn no_text_closes_its_fence() {
        assert_eq!(block("a", 10), "```text\na\n```\n\n");
        assert_eq!(block("````\n# b", 10), "`````text\n````\n# b\n`````\n\n");
    }

    #[test]
    fn what_does_not_fit_is_left_out_whole() {
        let parts = ["a".repeat(100), "b".repeat(500)];
        assert_eq!(fit(&parts, 600).len(), 600);
        let cut = fit(&parts, 599);
        assert!(cut.starts_with(&parts[0]) && cut.ends_with("all of it.*\n") && !cut.contains("bb"), "{cut}");
        assert_eq!(fit(&parts, 10), "");
    }
}
