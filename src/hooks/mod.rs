//! Owns external commands as hooks: each gets the data of a point and answers with nothing, other data, or a stop.
//!
//! They run as the commands of tools do, confined by the same sandbox, and from copies of the files that they name: a run cannot rewrite who
//! watches it.

mod command;
mod condition;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::command::CommandHook;
use crate::config::{self, CommandHooks, Environment};
use crate::error::Error;
use crate::hook::{
    HookBus, Point, PostEvaluator, PostExecutor, PostPlanner, PostStep, PreEvaluator, PreExecutor,
    PrePlanner, PreStep,
};
use crate::process::Setting;
use crate::prompt::Prompt;
use crate::script::{self, Outputs, Scripts};
use crate::workspace::{Workspace, WorkspaceError};

/// Where hooks are run.
#[derive(Debug)]
pub struct Site {
    /// The folder that they work in, and whose files they may consist of.
    pub workspace: Arc<Workspace>,
    /// How commands are started.
    pub setting: Arc<Setting>,
    /// Where a folder for copies of scripts can be made.
    pub temporary: PathBuf,
}

/// Adds the hooks that `settings` describe to `bus`, in their order; returns the files that they consist of, which no run may change.
///
/// # Errors
/// A variable that is named is not set, or a file that is named cannot be read.
pub fn register(
    bus: &mut HookBus,
    settings: &CommandHooks,
    prompt: &Prompt,
    environment: &Environment,
    site: Site,
) -> Result<Vec<PathBuf>, Error> {
    let outputs = Outputs::of(prompt, &site.workspace);
    let mut registrar = Registrar { bus, environment, outputs, site: Arc::new(site), protected: Vec::new() };
    registrar.add::<PrePlanner>(settings.pre_planner.as_ref())?;
    registrar.add::<PostPlanner>(settings.post_planner.as_ref())?;
    registrar.add::<PreExecutor>(settings.pre_executor.as_ref())?;
    registrar.add::<PreStep>(settings.pre_step.as_ref())?;
    registrar.add::<PostStep>(settings.post_step.as_ref())?;
    registrar.add::<PostExecutor>(settings.post_executor.as_ref())?;
    registrar.add::<PreEvaluator>(settings.pre_evaluator.as_ref())?;
    registrar.add::<PostEvaluator>(settings.post_evaluator.as_ref())?;
    Ok(registrar.protected)
}

struct Registrar<'a> {
    bus: &'a mut HookBus,
    environment: &'a Environment,
    outputs: Outputs,
    site: Arc<Site>,
    protected: Vec<PathBuf>,
}

impl Registrar<'_> {
    fn add<P: Point>(&mut self, list: Option<&Vec<config::CommandHook>>) -> Result<(), Error> {
        for settings in list.into_iter().flatten() {
            let mut settings = settings.clone();
            let name = command::name(&settings.command);
            self.environment.fill(&mut settings.env, &format!("the {} hook `{name}`", P::NAME))?;
            let mut scripts = Scripts::default();
            let workspace = &self.site.workspace;
            let run = script::executed(&settings.command);
            // What is not there yet would be for the run to write.
            if let Some(script) = run
                && let Err(WorkspaceError::Missing(_)) = workspace.facts(script)
            {
                let message = format!("the {} hook `{name}` runs `{script}`, which does not exist", P::NAME);
                return Err(Error::usage(message));
            }
            scripts.take(&settings.command, &self.outputs.except(run), workspace).map_err(|e| {
                Error::usage(format!("a file of the {} hook `{name}` cannot be read", P::NAME)).because(&e)
            })?;
            // The folder that the run writes is no place for a hook to take its modules from.
            settings.env.entry("PYTHONSAFEPATH".to_owned()).or_insert_with(|| "1".to_owned());
            self.protected.extend(scripts.places().map(Path::to_owned));
            let continue_on_error = settings.continue_on_error;
            let hook = CommandHook::new(name, settings, scripts, Arc::clone(&self.site));
            self.bus.register::<P>(Box::new(hook), continue_on_error);
        }
        Ok(())
    }
}
