//! Owns `tepa runs resume`: a run that broke off goes on in its own record, with the task and the configuration that it began with.

use std::path::Path;

use super::args::{EndingArguments, GlobalArguments, ResumeArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{approval, load, run};
use crate::config::{Environment, ProviderKind};
use crate::error::Error;
use crate::event::{Envelope, Subject};
use crate::journal::{self, Whole};
use crate::pipeline::{Interrupted, ResumeError};
use crate::render;
use crate::session::{Options, Task};

pub(super) fn resume(
    arguments: &ResumeArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let (id, whole) = read(&arguments.run, environment)?;
    let began = interrupted(&id, whole.bytes, whole.events.clone())?;
    let config = load::for_resuming(arguments, &began.config, global, environment, ui)?;
    // What became a secret since it was recorded is one for all that goes on.
    let events = whole.events.into_iter().map(|envelope| envelope.without(environment.secrets()));
    let events = events
        .collect::<Result<_, _>>()
        .map_err(|e| Error::usage(format!("the run `{id}` cannot be resumed")).because(&e))?;
    let interrupted = interrupted(&id, whole.bytes, events)?;
    let ending = EndingArguments { record: None, told: arguments.told.clone(), no_journal: false };
    let mut options = Options { log: true, ..run::ends(&ending, environment) };
    if config.provider == Some(ProviderKind::Replay) {
        let recorded = interrupted.replies.as_ref().map(|file| environment.resolve(Path::new(file)));
        options.replay = arguments.replay.as_ref().map(|file| environment.resolve(file)).or(recorded);
    }
    options.protected = interrupted.protected.iter().map(|path| environment.resolve(path)).collect();
    let asked = [Subject::Plan, Subject::Verdict].map(|subject| interrupted.asks.contains(&subject));
    options.approval = approval::of((asked[0], asked[1]), Path::new(""), &config, environment, ui);
    if !interrupted.asks.is_empty() {
        let nobody = |why| Error::usage(format!("nobody can be asked, as the run `{id}` is to: {why}"));
        options.approval.somebody().map_err(nobody)?;
    }
    run::perform(Task::Resume(Box::new(interrupted)), config, options, &ending, environment, ui)
}

fn read(run: &str, environment: &Environment) -> Result<(String, Whole), Error> {
    let folder = journal::find(&environment.directory, run)?;
    let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let whole = journal::read_whole(&folder)
        .map_err(|e| Error::usage(format!("the run `{id}` cannot be resumed")).because(&e))?;
    if whole.unknown > 0 {
        return Err(Error::usage(format!("the run `{id}` was recorded by a newer tepa")));
    }
    Ok((id, whole))
}

fn interrupted(id: &str, bytes: u64, events: Vec<Envelope<'static>>) -> Result<Interrupted, Error> {
    Interrupted::of(id, bytes, events).map_err(|e| match &e {
        ResumeError::Ended(reason) => {
            Error::usage(format!("the run `{id}` has ended: {}", render::reason(*reason)))
                .hint(format!("`tepa runs show {id}` shows what it came to"))
        }
        _ => Error::usage(format!("the run `{id}` cannot be resumed")).because(&e),
    })
}
