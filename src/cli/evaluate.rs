//! Owns `tepa runs evaluate`: the work of a recorded run, judged once more on the files as they are now.
//!
//! It is a run of its own with a record of its own; nothing of the recorded one is changed.

use std::fs::TryLockError;

use super::args::{EvaluateArguments, GlobalArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{load, run};
use crate::config::Environment;
use crate::error::Error;
use crate::journal;
use crate::pipeline::Recalled;
use crate::session::Task;

pub(super) fn evaluate(
    arguments: &EvaluateArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let recalled = recall(&arguments.run, environment)?;
    let EvaluateArguments { settings, ending, .. } = arguments;
    let mut config = load::for_judging(settings, global, environment, ui)?;
    if let Some(models) = &recalled.models {
        // They do nothing now; who did the work is what a judge is compared with.
        config.model.planner.clone_from(&models.planner);
        config.model.executor.clone_from(&models.executor);
    }
    let options = run::options(settings, Some(ending), environment);
    run::perform(Task::Evaluate(Box::new(recalled)), config, options, ending, environment, ui)
}

fn recall(run: &str, environment: &Environment) -> Result<Recalled, Error> {
    let folder = journal::find(&environment.directory, run)?;
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("the run `{run}` cannot be judged again")).because(e)
    };
    let file = journal::open_record(&folder).map_err(|e| fail(&e))?;
    if let Err(TryLockError::WouldBlock) = file.get_ref().try_lock_shared() {
        return Err(Error::usage(format!("the run `{run}` still goes on")));
    }
    let mut events = Vec::new();
    let unknown = journal::read(&folder, file, |envelope| events.push(envelope.event.into_owned()))
        .map_err(|e| fail(&e))?;
    if unknown > 0 {
        return Err(Error::usage(format!("the run `{run}` was recorded by a newer tepa")));
    }
    let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Recalled::of(&id, &events).map_err(|e| fail(&e))
}
