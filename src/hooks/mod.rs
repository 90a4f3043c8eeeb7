//! Owns external commands as hooks: each gets the data of a point and answers with nothing, other data, or a stop.

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
pub use crate::program::Site;
use crate::program::{self, Call, Program};
use crate::prompt::Prompt;
use crate::script::Outputs;

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
            let config::CommandHook { command: line, timeout, continue_on_error, when, mut env, network } =
                settings.clone();
            let who = format!("the {} hook `{}`", P::NAME, program::name(&line, &self.site.secrets));
            self.environment.fill(&mut env, &who)?;
            let call = Call { line, env, network, timeout };
            let program = Program::prepare(&who, call, &self.outputs, &self.site)?;
            self.protected.extend(program.places().map(Path::to_owned));
            self.bus.register::<P>(Box::new(CommandHook::new(program, when)), continue_on_error);
        }
        Ok(())
    }
}
