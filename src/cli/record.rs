//! Owns `tepa runs show`: a recorded run for a person, or its result for a program.
//!
//! How it ended comes first; what happened follows in the words in which it was told.

use std::path::Path;

use super::answer::print;
use super::args::{GlobalArguments, ToolOutputArgument};
use super::status::ExitStatus;
use super::ui::Ui;
use super::when;
use crate::config::{Environment, LoggingLevel};
use crate::error::Error;
use crate::event::RunEvent;
use crate::journal::{self, Listed, State};
use crate::outcome::RunResult;
use crate::render::{self, Style, cell};
use crate::report::{self, Report};

pub(super) fn show(
    run: &str,
    output: ToolOutputArgument,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let folder = journal::find(&environment.directory, run)?;
    let (report, events) = read(run, &folder)?;
    let mut listed = journal::recorded(&folder)
        .ok_or_else(|| Error::usage(format!("the record of the run `{run}` does not say how it began")))?;
    // What is told below and what is said above are one run.
    listed.state = report.result.as_ref().map_or(listed.state, State::of);
    if output == ToolOutputArgument::Json {
        let result = report.result.as_ref().ok_or_else(|| unended(&listed))?;
        return print(ui, &format!("{}\n", serde_json::to_string_pretty(result)?));
    }
    let level = global.log_level.map_or(LoggingLevel::Standard, LoggingLevel::from);
    let columns = ui.data_width.map(|columns| u16::try_from(columns).unwrap_or(u16::MAX));
    let style = Style { color: ui.data_color, width: columns.unwrap_or(u16::MAX), ascii: false, level };
    let head = head(&listed, &report, ui);
    print(ui, &format!("{head}{}", render::told(&events, style, columns)))
}

fn read(run: &str, folder: &Path) -> Result<(Report, Vec<RunEvent>), Error> {
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("cannot use the record of the run `{run}`")).because(e)
    };
    let file = journal::open_record(folder).map_err(|e| fail(&e))?;
    let (mut report, mut events) = (Report::default(), Vec::new());
    journal::read(folder, file, |envelope| {
        report.apply(&envelope);
        events.push(envelope.event.into_owned());
    })
    .map_err(|e| fail(&e))?;
    Ok((report, events))
}

/// Says that there is no result, and why.
pub(super) fn unended(run: &Listed) -> Error {
    let id = &run.run_id;
    match run.state {
        State::Running => Error::usage(format!("the run `{id}` has no result yet: it is under way")),
        _ => Error::usage(format!("the run `{id}` has no result: its process is gone"))
            .hint(format!("`tepa runs show {id}` shows how far it came")),
    }
}

/// Returns what a run was and how it ended.
fn head(run: &Listed, report: &Report, ui: &Ui) -> String {
    let models = report.models.iter().map(|(role, model)| format!("{role} {model}"));
    let models = models.collect::<Vec<_>>().join(", ");
    let mut facts = vec![
        ("goal", run.goal.split_whitespace().collect::<Vec<_>>().join(" ")),
        ("began", when::full(run.started_at)),
        ("session", run.session.clone().unwrap_or_default()),
        ("models", format!("{models} ({})", report.provider)),
        ("took", report::measures(report).join(" · ")),
    ];
    // On a terminal a word at the end of a line goes on in the next one, under itself.
    let room = ui.data_width.map(|width| width.saturating_sub(12).clamp(20, 90));
    facts.retain(|(_, fact)| !fact.is_empty());
    let mut page = format!("run {}  {}\n", cell(&run.run_id), ending(run, report.result.as_ref(), ui));
    for (name, fact) in facts {
        let lines = room.map_or_else(|| vec![cell(&fact)], |room| render::wrap(&cell(&fact), room));
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            page += &format!("  {name:8}  {line}\n");
        }
    }
    page
}

/// Returns how a run ended, in one line.
fn ending(run: &Listed, result: Option<&RunResult>, ui: &Ui) -> String {
    let state = when::state(run.state, ui);
    let why = match (run.state, result) {
        (State::Pass, _) => return state,
        (State::Running, _) => "it is under way",
        (State::Lost, _) => "it never ended: its process is gone",
        (_, Some(result)) => render::reason(result.reason),
        (_, None) => return state,
    };
    format!("{state}: {why}")
}
