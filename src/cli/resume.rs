//! Owns `tepa runs resume`: a run that broke off goes on in its own record, with the task and the configuration that it began with.

use std::path::Path;

use super::args::{EndingArguments, GlobalArguments, ResumeArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{approval, load, run};
use crate::config::{Environment, ProviderKind};
use crate::error::Error;
use crate::event::Subject;
use crate::journal;
use crate::pipeline::{Interrupted, ResumeError};
use crate::render;
use crate::session::{Options, Task};

pub(super) fn resume(
    arguments: &ResumeArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let interrupted = read(&arguments.run, environment)?;
    let config = load::for_resuming(arguments, &interrupted.config, global, environment, ui)?;
    let ending = EndingArguments { record: None, told: arguments.told.clone(), no_journal: false };
    let mut options = Options { log: true, ..run::ends(&ending, environment) };
    if config.provider == Some(ProviderKind::Replay) {
        let recorded = interrupted.replies.as_ref().map(|file| environment.resolve(Path::new(file)));
        options.replay = arguments.replay.as_ref().map(|file| environment.resolve(file)).or(recorded);
    }
    options.protected = interrupted.protected.iter().map(|path| environment.resolve(path)).collect();
    let asked = [Subject::Plan, Subject::Verdict].map(|subject| interrupted.asks.contains(&subject));
    options.approval = approval::of((asked[0], asked[1]), Path::new(""), &config, environment, ui);
    run::perform(Task::Resume(Box::new(interrupted)), config, options, &ending, environment, ui)
}

fn read(run: &str, environment: &Environment) -> Result<Interrupted, Error> {
    let folder = journal::find(&environment.directory, run)?;
    let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("the run `{id}` cannot be resumed")).because(e)
    };
    let whole = journal::read_whole(&folder).map_err(|e| fail(&e))?;
    if whole.unknown > 0 {
        return Err(Error::usage(format!("the run `{id}` was recorded by a newer tepa")));
    }
    Interrupted::of(&id, whole.bytes, whole.events).map_err(|e| match &e {
        ResumeError::Ended(reason) => {
            Error::usage(format!("the run `{id}` has ended: {}", render::reason(*reason)))
                .hint(format!("`tepa runs show {id}` shows what it came to"))
        }
        _ => fail(&e),
    })
}
