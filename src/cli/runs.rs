//! Owns `tepa runs`: what can be made of recorded runs, without executing anything.

use std::path::Path;

use super::answer::{json_text, print};
use super::args::{GlobalArguments, RunsArguments, RunsCommand, ToolOutputArgument};
use super::status::ExitStatus;
use super::table::{Column, table};
use super::ui::Ui;
use super::{evaluate, gc, record, replay, resume, when};
use crate::config::Environment;
use crate::error::Error;
use crate::journal::{self, Listed};
use crate::persist::Place;
use crate::render::prose;
use crate::report::{self, Report};
use crate::text;

pub(super) fn run(
    arguments: &RunsArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    match &arguments.command {
        RunsCommand::List { session, output } => {
            let mut runs = journal::list(&environment.directory)?;
            runs.retain(|run| session.is_none() || run.session == *session);
            if runs.is_empty() && !ui.quiet {
                ui.say(&match session {
                    Some(session) => format!("no run of a session `{}` is recorded\n", prose(session)),
                    None => format!("no run is recorded under `{}`\n", journal::FOLDER),
                });
            }
            let text = match output {
                ToolOutputArgument::Json => json_text(&serde_json::to_value(&runs)?),
                ToolOutputArgument::Text => listed(&runs, ui),
            };
            print(ui, &text)
        }
        RunsCommand::Show { run, output } => record::show(run, *output, global, environment, ui),
        RunsCommand::Replay(arguments) => replay::replay(arguments, global, environment, ui),
        RunsCommand::Report { run, format, output } => {
            let report = read(run, environment)?;
            let text = format
                .0
                .render(&report)
                .map_err(|e| Error::broken("the report cannot be made").because(&e))?;
            put(&text, output.as_deref(), environment, ui)
        }
        RunsCommand::Resume(arguments) => resume::resume(arguments, global, environment, ui),
        RunsCommand::Gc(arguments) => gc::gc(arguments, environment, ui),
        RunsCommand::Evaluate(arguments) => evaluate::evaluate(arguments, global, environment, ui),
        RunsCommand::Plan { run, format, output } => {
            let report = read(run, environment)?;
            let plan = report.cycles.iter().rev().find_map(|cycle| cycle.plan.as_ref());
            let plan =
                plan.ok_or_else(|| Error::usage(format!("the run `{}` has no plan", report.run_id)))?;
            put(&format.0.render(plan), output.as_deref(), environment, ui)
        }
    }
}

/// Returns the runs as a table.
fn listed(runs: &[Listed], ui: &Ui) -> String {
    let columns = [
        Column::of("RUN"),
        Column::of("BEGAN").goes(1),
        Column::of("STATUS").painted(),
        Column::of("CYCLES").right().goes(5),
        Column::of("TOKENS").right().goes(3),
        Column::of("COST").right().goes(2),
        Column::of("TIME").right().goes(4),
        Column::of("SESSION").goes(6),
        Column::of("GOAL"),
    ];
    // A person types the beginning of an id, a program takes the whole.
    let shown = if ui.data_width.is_some() { telling(runs) } else { usize::MAX };
    table(columns, runs.iter().map(|run| row(run, shown, ui)), ui)
}

/// Returns how much of the ids tells these runs apart, at least a dozen characters and one.
fn telling(runs: &[Listed]) -> usize {
    let shared = |pair: &[Listed]| {
        let (a, b) = (pair[0].run_id.chars(), pair[1].run_id.chars());
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    runs.windows(2).map(shared).max().map_or(0, |shared| shared + 1).max(13)
}

fn row(run: &Listed, shown: usize, ui: &Ui) -> [String; 9] {
    let goal = run.goal.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        run.run_id.chars().take(shown).collect(),
        when::short(run.started_at),
        when::state(run.state, ui),
        run.cycles.to_string(),
        text::grouped(run.tokens_used),
        run.cost.map_or_else(|| "-".to_owned(), report::cost),
        run.duration_ms.map_or_else(|| "-".to_owned(), text::duration),
        run.session.clone().unwrap_or_else(|| "-".to_owned()),
        goal,
    ]
}

fn read(run: &str, environment: &Environment) -> Result<Report, Error> {
    let folder = journal::find(&environment.directory, run)?;
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("cannot use the record of the run `{run}`")).because(e)
    };
    let file = journal::open_record(&folder).map_err(|e| fail(&e))?;
    Report::read(|take| journal::read(&folder, file, take)).map_err(|e| fail(&e))
}

/// Writes to a file or to standard output; what became a secret since the run was recorded does not leave.
fn put(text: &str, output: Option<&Path>, environment: &Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let Some(path) = output else {
        return print(ui, text);
    };
    let text = environment.secrets().redact(text);
    Place::at(&environment.resolve(path))
        .and_then(|place| place.write(text.as_bytes()))
        .map_err(|e| Error::broken(format!("cannot write `{}`", path.display())).because(&e))?;
    Ok(ExitStatus::answered())
}
