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
use crate::check::Pattern;
use crate::config::{self, Config, Environment, Memory, Refusal, Stage};
use crate::error::Error;
use crate::program::{self, Call, Program, Site};
use crate::prompt::Prompt;
use crate::script::Outputs;
use crate::stage::{Next, Retriever, StageError, Stages, TurnContext, TurnStage};
use crate::text;
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
    builder.protected.sort();
    builder.protected.dedup();
    Ok(Built { stages, protected: builder.protected })
}

struct Builder<'a> {
    environment: &'a Environment,
    outputs: Outputs,
    site: Arc<Site>,
    retrievers: Retrievers<'a>,
    redacted: Vec<Pattern>,
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
                // They would be rules that a run makes for the next one, or for itself where they are read in every cycle. A task
                // may be about them.
                let is_task =
                    |file: &&String| scope == Scope::TurnInput && self.outputs.hold(file, workspace);
                let places = files.iter().filter(|file| !is_task(file));
                let places = places.filter_map(|file| workspace.resolved(file).ok());
                self.protected.extend(places.map(|place| workspace.root().join(place)));
                stage_of(Standing { files: files.clone(), workspace: Arc::clone(workspace) })
            }
            Stage::Retrieve(settings) => stage_of(Retrieve {
                retriever: (self.retrievers)(settings)?,
                files: text::ticked(&settings.files),
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
        let who = format!("the {scope} stage `{}`", program::name(&line, &self.site.secrets));
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use serde_json::{Value, json};

    use super::fake::{Shelf, Trial, passage};
    use super::*;
    use crate::config::{Layers, Origin};
    use crate::process::Setting;
    use crate::turn::StageOutcome;
    use crate::workspace::Workspace;

    fn built(folder: &Path, settings: Value) -> Result<Built, String> {
        let mut layers = Layers::defaults().unwrap();
        layers.push(Origin::CommandLine, settings);
        let config = layers.resolve().unwrap();
        let environment = Environment::of(folder.to_owned(), Vec::<(OsString, OsString)>::new());
        let workspace = Arc::new(Workspace::open(folder).unwrap());
        let setting = Arc::new(Setting::default());
        let site =
            Site { workspace, setting, temporary: folder.to_owned(), secrets: environment.secrets().clone() };
        let retrievers = |settings: &config::Retrieve| -> Result<Arc<dyn Retriever>, Error> {
            Ok(Arc::new(Shelf::of(vec![passage(&settings.files[0], None)])))
        };
        let prompt = Trial::default().context.prompt().clone();
        build(&config, &prompt, &environment, site, &retrievers).map_err(|e| e.to_string())
    }

    #[tokio::test]
    async fn stages_are_built_in_order_and_what_they_consist_of_is_protected() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("stage.sh"), "exit 0").unwrap();
        std::fs::write(folder.path().join("AGENTS.md"), "Rules.").unwrap();
        let standing = json!({"standing": {"files": ["AGENTS.md"]}});
        let Built { stages, protected } = built(
            folder.path(),
            json!({
                "turn": {
                    "input": [
                        standing,
                        {"retrieve": {"files": ["a"], "trust": "first-party"}},
                        {"retrieve": {"files": ["b"], "trust": "first-party"}},
                        {"memory": {}}, {"history": {}}, {"policy": {"maxPromptTokens": 9}}, {"budget": {"contextWindow": 9}},
                    ],
                    "output": [{"safety": {"redact": ["x"]}}, {"memory": {"write": "summary"}}, {"telemetry": {"file": "t"}}],
                },
                "cycle": {"input": [standing], "output": [{"command": {"run": "sh stage.sh now"}}]},
            }),
        )
        .unwrap();
        let names = |list: &[Arc<dyn TurnStage>]| {
            list.iter().map(|stage| stage.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&stages.turn_input),
            ["standing", "retrieve", "retrieve", "memory", "history", "policy", "budget"]
        );
        assert_eq!(names(&stages.turn_output), ["safety", "memory", "telemetry"]);
        assert_eq!(names(&stages.dispatch_input), ["standing"]);
        assert_eq!(names(&stages.dispatch_output), ["sh stage.sh now"]);
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(protected, [root.join("AGENTS.md"), root.join("stage.sh")]);
        let mut trial = Trial::default();
        trial.run_list(&stages).await.unwrap();
        let found: Vec<_> = trial.context.turn.retrievables.iter().map(|found| found.id.as_str()).collect();
        assert_eq!(found, ["a", "b"], "each list of files has a retriever of its own");
        assert!(trial.context.aborted().is_some(), "the last stage refused");
    }

    #[test]
    fn a_command_that_cannot_be_asked_is_found_when_the_run_begins() {
        let folder = tempfile::tempdir().unwrap();
        let fault =
            |command: Value| built(folder.path(), json!({"turn": {"input": [{"command": command}]}})).err();
        assert_eq!(
            fault(json!({"run": ["python3", "absent.py"]})).unwrap(),
            "the turn-input stage `python3 absent.py` runs `absent.py`, which does not exist"
        );
        let unset = fault(json!({"run": "true", "env": {"A": "${NO_SUCH}"}})).unwrap();
        assert!(unset.starts_with("cannot fill in `A` of the turn-input stage `true`: "), "{unset}");
    }

    #[tokio::test]
    async fn what_refuses_keeps_those_after_it_from_running() {
        let mut trial = Trial::default();
        let policy =
            |most: u64| stage_of(Policy(serde_json::from_value(json!({"maxPromptTokens": most})).unwrap()));
        let stages = [policy(1_000), policy(1), policy(2)];
        let runs = std::sync::Mutex::new(Vec::new());
        let record = |run: crate::stage::StageRun| runs.lock().unwrap().push((run.at, run.outcome));
        let clock = crate::event::SystemClock::default();
        let ended = crate::stage::run(Scope::TurnInput, &stages, &mut trial.context, &clock, &record).await;
        assert!(ended.is_ok());
        assert_eq!(*runs.lock().unwrap(), [(1, StageOutcome::Aborted), (0, StageOutcome::Completed)]);
    }
}
