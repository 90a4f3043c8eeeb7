//! Owns `tepa runs`: what can be made of recorded runs, without executing anything.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::args::{GlobalArguments, RunsArguments, RunsCommand, ToolOutputArgument};
use super::evaluate;
use super::status::ExitStatus;
use super::table::table;
use super::tools::json_text;
use super::ui::Ui;
use crate::config::Environment;
use crate::error::Error;
use crate::journal::{self, Listed};
use crate::persist::Place;
use crate::render::prose;
use crate::report::Report;
use crate::text;

/// Characters shown of a goal.
const LONGEST_GOAL: usize = 60;

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
            if let Some(session) = session.as_deref().filter(|_| runs.is_empty() && !ui.quiet) {
                ui.say(&format!("no run of a session `{}` is recorded\n", prose(session)));
            }
            let text = match output {
                ToolOutputArgument::Json => json_text(&serde_json::to_value(&runs)?),
                ToolOutputArgument::Text => table(runs.iter().map(row)),
            };
            ui.data(&text).map_err(|e| Error::broken("cannot write to standard output").because(&e))?;
            Ok(ExitStatus::answered())
        }
        RunsCommand::Report { run, format, output } => {
            let report = read(run, environment)?;
            let text = format
                .0
                .render(&report)
                .map_err(|e| Error::broken("the report cannot be made").because(&e))?;
            put(&text, output.as_deref(), environment, ui)
        }
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

/// Returns a run as a row: id, when, what became of it, cycles, tokens, session, goal.
fn row(run: &Listed) -> [String; 7] {
    let goal = run.goal.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        run.run_id.clone(),
        run.started_at.strftime("%Y-%m-%d %H:%M").to_string(),
        run.state.name().to_owned(),
        text::plural("cycle", run.cycles as usize),
        format!("{} tokens", text::grouped(run.tokens_used)),
        prose(run.session.as_deref().unwrap_or("-")),
        prose(&text::truncate(&goal, LONGEST_GOAL)),
    ]
}

fn read(run: &str, environment: &Environment) -> Result<Report, Error> {
    let path = journal::find(&environment.directory, run)?.join(journal::EVENTS);
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("cannot use the record of the run `{run}`")).because(e)
    };
    let file = File::open(&path).map_err(|e| fail(&e))?;
    Report::read(BufReader::new(file)).map_err(|e| fail(&e))
}

/// Writes to a file or to standard output; what became a secret since the run was recorded does not leave.
fn put(text: &str, output: Option<&Path>, environment: &Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let Some(path) = output else {
        ui.data(text).map_err(|e| Error::broken("cannot write to standard output").because(&e))?;
        return Ok(ExitStatus::answered());
    };
    let text = environment.secrets().redact(text);
    Place::at(&environment.resolve(path))
        .and_then(|place| place.write(text.as_bytes()))
        .map_err(|e| Error::broken(format!("cannot write `{}`", path.display())).because(&e))?;
    Ok(ExitStatus::answered())
}
