//! Owns `tepa runs`: what can be made of recorded runs, without executing anything.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::args::{GlobalArguments, RunsArguments, RunsCommand};
use super::evaluate;
use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::Environment;
use crate::error::Error;
use crate::journal;
use crate::persist::Place;
use crate::report::Report;

pub(super) fn run(
    arguments: &RunsArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    match &arguments.command {
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
