//! Owns what is told of the faults of all files: text for people, one JSON object, commands for GitHub Actions.

use serde_json::json;

use super::Ending;
use super::check::{Checked, End};
use super::places::Places;
use crate::cli::answer::json_text;
use crate::cli::args::KindArgument;
use crate::cli::ui::Ui;
use crate::error::{Error, Message};
use crate::render::prose;
use crate::report::github::{data, property};
use crate::source::{Row, Severity};
use crate::text;

/// The code of a file that cannot be read.
pub(super) const UNREADABLE: &str = "unreadable";

/// Writes the faults for people; with `verbose`, also which files nothing was looked for in.
pub(super) fn text(files: &[Checked], ending: &Ending, verbose: bool, ui: &Ui) {
    for file in files {
        match &file.end {
            End::Unreadable(error) => ui.error(&Error::Usage(error.clone()).into()),
            End::Faults(faults) if !faults.is_empty() && (faults.has_errors() || !ui.quiet) => {
                ui.faults(faults);
            }
            End::PassedOver if verbose && !ui.quiet => {
                ui.say(&format!("{}\n", prose(&format!("passed over, not for tepa: {}", file.name))));
            }
            End::Faults(_) | End::PassedOver => {}
        }
    }
    if ui.quiet {
        return;
    }
    let checked = text::plural("file", ending.checked);
    let counts = [
        (ending.broken, "with faults"),
        (ending.unreadable, "could not be read"),
        (ending.passed_over, "passed over"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let mut words: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
    if ending.broken == 0 && ending.checked > 0 {
        words.insert(0, "no faults".to_owned());
    }
    ui.say(&format!("{checked} checked: {}\n", words.join(", ")));
}

pub(super) fn json(files: &[Checked], ending: &Ending) -> String {
    let mut rows = Vec::new();
    for file in files {
        let faults = match &file.end {
            End::PassedOver => continue,
            End::Faults(faults) => json!(faults.rows()),
            End::Unreadable(error) => {
                json!([{"code": UNREADABLE, "severity": "error", "message": why(error), "hint": error.hint,
                    "line": null, "column": null, "endLine": null, "endColumn": null}])
            }
        };
        rows.push(json!({"path": file.name, "kind": file.kind.map(KindArgument::name), "faults": faults}));
    }
    let all =
        json!({"files": rows, "faults": ending.errors + ending.unreadable, "warnings": ending.warnings});
    json_text(&all)
}

/// Returns why something cannot be read, in one sentence.
pub(super) fn why(error: &Message) -> String {
    [&error.text].into_iter().chain(&error.causes).map(String::as_str).collect::<Vec<_>>().join(": ")
}

pub(super) fn github(files: &[Checked], places: &Places<'_>) -> String {
    let mut lines = String::new();
    for file in files {
        let name = places.of(&file.name);
        match &file.end {
            End::PassedOver => {}
            End::Unreadable(error) => {
                let (name, title) = (property(&name), property(UNREADABLE));
                lines += &format!("::error file={name},title={title}::{}\n", data(&why(error)));
            }
            End::Faults(faults) => faults.rows().iter().for_each(|row| lines += &command(&name, row)),
        }
    }
    lines
}

fn command(name: &str, row: &Row<'_>) -> String {
    let level = match row.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut properties = format!("file={}", property(name));
    // On several lines GitHub takes columns for a mistake.
    let columns = if row.line == row.end_line { [row.column, row.end_column] } else { [None, None] };
    for (key, value) in
        [("line", row.line), ("endLine", row.end_line), ("col", columns[0]), ("endColumn", columns[1])]
    {
        if let Some(value) = value {
            properties += &format!(",{key}={value}");
        }
    }
    format!("::{level} {properties},title={}::{}\n", property(row.code), data(&with_hint(row)))
}

/// Returns what is wrong and what to do about it.
pub(super) fn with_hint(row: &Row<'_>) -> String {
    match row.hint {
        Some(hint) => format!("{}; {hint}", row.message),
        None => row.message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_file_cannot_leave_its_place_in_a_command() {
        let row = Row {
            code: "type",
            severity: Severity::Error,
            message: "expected 100%\n::error::x",
            hint: Some("do: this, or that"),
            line: Some(2),
            column: Some(3),
            end_line: Some(2),
            end_column: Some(9),
        };
        assert_eq!(
            command("a,b:c.yaml", &row),
            "::error file=a%2Cb%3Ac.yaml,line=2,endLine=2,col=3,endColumn=9,title=type::expected 100%25%0A::error::x; do: this, or that\n"
        );
        let over_lines =
            Row { end_line: Some(4), severity: Severity::Warning, hint: None, message: "m", ..row };
        assert_eq!(command("a", &over_lines), "::warning file=a,line=2,endLine=4,title=type::m\n");
        let whole = Row { line: None, column: None, end_line: None, end_column: None, ..over_lines };
        assert_eq!(command("a", &whole), "::warning file=a,title=type::m\n");
    }
}
