//! Owns the stages that a configuration may name: what each does to what models are given, to the store, and to the run.
//!
//! A built-in stage does all its work before the ones after it, so what it refuses or breaks keeps them from running.

mod budget;
mod command;
#[cfg(test)]
mod fake;
mod history;
mod memory;
mod policy;
mod redaction;
mod retrieve;
mod safety;
mod standing;
mod telemetry;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use self::budget::Budget;
use self::command::CommandStage;
use self::history::History;
use self::memory::{Leaving, Loading};
use self::policy::Policy;
use self::redaction::Redaction;
use self::retrieve::Retrieve;
use self::safety::Safety;
use self::standing::Standing;
use self::telemetry::Telemetry;
use crate::config::{self, Config, Environment, Memory, Refusal, Stage};
use crate::error::Error;
use crate::program::{self, Call, Program, Site};
use crate::prompt::Prompt;
use crate::script::Outputs;
use crate::stage::{Next, Retriever, StageError, Stages, TurnContext, TurnStage};
use crate::turn::Scope;

/// Makes what finds passages for one stage `retrieve`.
pub type Retrievers<'a> = &'a dyn Fn(&config::Retrieve) -> Result<Arc<dyn Retriever>, Error>;

/// The stages of a run.
pub struct Built {
    /// The lists.
    pub stages: Stages,
    /// Files that stages consist of or read again in every cycle: no run may change them.
    pub protected: Vec<PathBuf>,
}

/// Returns the stages that `config` describes for `prompt`.
///
/// # Errors
/// A variable that a command is handed is not set, or a file that it names cannot be read.
pub fn build(
    config: &Config,
    prompt: &Prompt,
    environment: &Environment,
    site: Site,
    retrievers: Retrievers<'_>,
) -> Result<Built, Error> {
    let outputs = Outputs::of(prompt, &site.workspace);
    // What must not stay in what was said must not be remembered either, whichever of the two stages comes first.
    let redacted = config.turn.output.iter().filter_map(|stage| match stage {
        Stage::Safety(safety) => Some(&safety.redact),
        _ => None,
    });
    let redacted = redacted.flatten().cloned().collect();
    let mut builder =
        Builder { environment, outputs, site: Arc::new(site), retrievers, redacted, protected: Vec::new() };
    let stages = Stages {
        turn_input: builder.list(Scope::TurnInput, &config.turn.input)?,
        turn_output: builder.list(Scope::TurnOutput, &config.turn.output)?,
        dispatch_input: builder.list(Scope::DispatchInput, &config.cycle.input)?,
        dispatch_output: builder.list(Scope::DispatchOutput, &config.cycle.output)?,
    };
    Ok(Built { stages, protected: builder.protected })
}

struct Builder<'a> {
    environment: &'a Environment,
    outputs: Outputs,
    site: Arc<Site>,
    retrievers: Retrievers<'a>,
    redacted: Vec<crate::check::Pattern>,
    protected: Vec<PathBuf>,
}

impl Builder<'_> {
    fn list(&mut self, scope: Scope, stages: &[Stage]) -> Result<Vec<Arc<dyn TurnStage>>, Error> {
        stages.iter().map(|stage| self.stage(scope, stage)).collect()
    }

    fn stage(&mut self, scope: Scope, stage: &Stage) -> Result<Arc<dyn TurnStage>, Error> {
        let workspace = &self.site.workspace;
        Ok(match stage {
            Stage::Policy(settings) => stage_of(Policy(settings.clone())),
            Stage::Standing(config::Standing { files }) => {
                // Read again in every cycle, they would be rules that a run makes for itself.
                if scope == Scope::DispatchInput {
                    let places = files.iter().filter_map(|file| workspace.resolved(file).ok());
                    self.protected.extend(places.map(|place| workspace.root().join(place)));
                }
                stage_of(Standing { files: files.clone(), workspace: Arc::clone(workspace) })
            }
            Stage::Retrieve(settings) => stage_of(Retrieve {
                retriever: (self.retrievers)(settings)?,
                top_k: settings.top_k,
                min_score: settings.min_score,
            }),
            Stage::Memory(Memory::Load { min_confidence, limit }) => {
                stage_of(Loading { min_confidence: *min_confidence, limit: *limit })
            }
            Stage::Memory(Memory::Leave { confidence, importance }) => stage_of(Leaving {
                confidence: *confidence,
                importance: *importance,
                redaction: Redaction(self.redacted.clone()),
            }),
            Stage::History(settings) => stage_of(History(settings.clone())),
            Stage::Budget(settings) => stage_of(Budget(settings.clone())),
            Stage::Safety(config::Safety { redact, scope }) => {
                stage_of(Safety { redaction: Redaction(redact.clone()), scope: scope.clone() })
            }
            Stage::Telemetry(config::Telemetry { file }) => stage_of(Telemetry {
                root: workspace.root().to_owned(),
                file: file.into(),
                secrets: self.environment.secrets().clone(),
            }),
            Stage::Command(settings) => stage_of(self.command(scope, settings.clone())?),
        })
    }

    fn command(&mut self, scope: Scope, settings: config::CommandStage) -> Result<CommandStage, Error> {
        let config::CommandStage { run: line, timeout, mut env, network } = settings;
        let who = format!("the {scope} stage `{}`", program::name(&line));
        self.environment.fill(&mut env, &who)?;
        let call = Call { line, env, network, timeout };
        let program = Program::prepare(&who, call, &self.outputs, &self.site)?;
        self.protected.extend(program.places().map(Path::to_owned));
        Ok(CommandStage { program, scope })
    }
}

/// What a built-in stage does before the ones after it.
trait Work: Send + Sync {
    fn name(&self) -> &str;

    fn work(&self, context: &mut TurnContext) -> impl Future<Output = Result<(), StageError>> + Send;
}

struct Worked<W>(W);

fn stage_of(work: impl Work + 'static) -> Arc<dyn TurnStage> {
    Arc::new(Worked(work))
}

impl<W: Work> TurnStage for Worked<W> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn handle<'a>(
        &'a self,
        context: &'a mut TurnContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(async move {
            self.0.work(context).await?;
            if context.aborted().is_none() {
                next.run(context).await;
            }
            Ok(())
        })
    }
}

/// Keeps a run from going on in the way that its configuration says.
fn refuse(context: &mut TurnContext, how: Refusal, reason: String) -> Result<(), StageError> {
    match how {
        Refusal::Abort => {
            context.abort(reason);
            Ok(())
        }
        Refusal::Error => Err(StageError::new(reason)),
    }
}

/// Returns the task as JSON, as it is counted.
fn task(context: &TurnContext) -> String {
    // It came from text, so it can become text again.
    serde_json::to_string(context.prompt()).unwrap_or_default()
}
