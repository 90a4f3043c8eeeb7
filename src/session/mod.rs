//! Owns assembly: a configuration, a prompt and the environment become a wired run. The only place that knows every adapter.
//!
//! Whatever can be found wrong before the first model call is found here; nothing is created that the run does not need.

mod bounds;
mod connect;
mod ground;
mod plan_file;
mod secrets;
mod targets;
mod toolbox;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approval::Approval;
use crate::config::{Catalog, Config, Environment, Prices};
use crate::error::Error;
use crate::event::{Clock as _, EventSink, Fanout, SystemClock};
use crate::hook::HookBus;
use crate::hooks;
use crate::journal::{Journal, ResultFile};
use crate::nonce::Nonces;
use crate::pipeline::{Cancel, Finished, Given, Interrupted, Pipeline, Recalled};
use crate::plan::Plan;
use crate::program::Site;
use crate::prompt::Prompt;
use crate::report::{Format, ReportFile};
use crate::secret::Secrets;
use crate::stage::{RuleOfThumb, Stages};
use crate::template::Templates;
use crate::text;
use crate::tool::Registry;

pub use connect::{Access, access, reach};
pub use ground::Ground;
use plan_file::MadeFor;
pub use plan_file::PlanFile;
pub use secrets::learn_secrets;
pub use toolbox::Toolbox;

/// What a run is asked to do beside its prompt and configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The replies of a replay, absolute.
    pub replay: Option<PathBuf>,
    /// Where to record replies, absolute.
    pub record: Option<PathBuf>,
    /// Where to write the result as well, absolute.
    pub result: Option<PathBuf>,
    /// Reports to write, absolute.
    pub reports: Vec<(Format, PathBuf)>,
    /// Where a plan will be written, absolute.
    pub plan_output: Option<PathBuf>,
    /// Files that no run may change beside those that the configuration names, absolute.
    pub protected: Vec<PathBuf>,
    /// Whether to record the run under `.tepa/runs`.
    pub journal: bool,
    /// Whether to log model calls, if the configuration says so.
    pub log: bool,
    /// The plan to execute.
    pub plan: Option<PlanFile>,
    /// Whether the planner goes on when that plan did not pass.
    pub replan: bool,
    /// Who is asked about plans and failed verdicts.
    pub approval: Approval,
}

/// What there is to do.
#[derive(Debug, Clone)]
pub enum Task {
    /// A task from its beginning.
    Run(Prompt),
    /// What an earlier run did is judged once more.
    Evaluate(Box<Recalled>),
    /// A run that broke off goes on.
    Resume(Box<Interrupted>),
}

impl Task {
    fn prompt(&self) -> &Prompt {
        match self {
            Self::Run(prompt) => prompt,
            Self::Evaluate(recalled) => &recalled.prompt,
            Self::Resume(interrupted) => &interrupted.prompt,
        }
    }
}

/// A wired run that has not started.
pub struct Session {
    pipeline: Pipeline,
    toolbox: Toolbox,
    task: Task,
    given: Option<Plan>,
    replan: bool,
    run_id: String,
    secrets: Secrets,
    required_sinks: Vec<Box<dyn EventSink>>,
    clock: Arc<SystemClock>,
    ground: Ground,
}

impl Session {
    /// Wires a run.
    ///
    /// # Errors
    /// Anything that makes the run impossible: a missing key, a replay file with faults, a folder that cannot be written, a server
    /// that does not start, or not in the time of the run.
    pub async fn connect(
        config: Config,
        task: Task,
        environment: &Environment,
        mut options: Options,
    ) -> Result<Self, Error> {
        let clock = Arc::new(SystemClock::default());
        check_base_url(&config)?;
        toolbox::check_names(&config)?;
        let ground = Ground::of(&config, environment)?;
        let root = ground.workspace.root();
        let catalog = Catalog::load()?;
        let prices = catalog.prices(&config.pricing);
        connect::check_models(&config)?;
        targets::check(&options, &config, task.prompt(), &ground.workspace)?;
        let asked = match &task {
            Task::Run(_) | Task::Resume(_) => config.model.distinct(),
            Task::Evaluate(_) => vec![config.model.evaluator.as_str()],
        };
        check_prices(&config, &prices, &asked)?;
        let (provider, recording) = connect::provider(&config, catalog, environment, &options, root)?;
        let templates =
            Templates::load().map_err(|e| Error::broken("the templates are broken").because(&e))?;
        let mut hooks = HookBus::default();
        let site = Site {
            workspace: Arc::clone(&ground.workspace),
            setting: Arc::clone(&ground.setting),
            temporary: environment.temporary(),
            secrets: environment.secrets().clone(),
        };
        options.protected.extend(hooks::register(
            &mut hooks,
            &config.events,
            task.prompt(),
            environment,
            site.clone(),
        )?);
        let turns = turns::connect(&config, task.prompt(), environment, &ground.workspace, site)?;
        options.protected.extend(turns.protected);
        // What commands consist of is known by now.
        targets::check(&options, &config, task.prompt(), &ground.workspace)?;
        // What costs the most comes when nothing else can go wrong on the way.
        let mut toolbox = match &task {
            Task::Run(_) | Task::Resume(_) => {
                let connecting = Toolbox::connect(&config, environment, root);
                in_time(config.limits.max_duration, connecting).await?
            }
            // The judge has no tools.
            Task::Evaluate(_) => Toolbox::default(),
        };
        let given = match (&task, options.plan) {
            (Task::Run(prompt), Some(file)) => {
                let made_for = MadeFor::of(prompt, &config, &toolbox.registry)?;
                Some(file.plan_for(&made_for, &toolbox.registry)?)
            }
            _ => None,
        };
        let run_id = match &task {
            Task::Resume(interrupted) => {
                check_tools(interrupted, &toolbox.registry)?;
                interrupted.run_id.clone()
            }
            _ => uuid::Uuid::now_v7().to_string(),
        };
        // The files that appear at the end come first: the journal's last line must not say more than they could keep.
        let mut required_sinks: Vec<Box<dyn EventSink>> = Vec::new();
        required_sinks.extend(recording.map(|recording| Box::new(recording) as Box<dyn EventSink>));
        if let Some(path) = options.result {
            required_sinks.push(Box::new(ResultFile::at(&path)?));
        }
        for (format, path) in options.reports {
            required_sinks.push(Box::new(ReportFile::at(format, &path)?));
        }
        if options.journal {
            let journal = match &task {
                Task::Resume(interrupted) => Journal::resume(root, &run_id, interrupted.whole)?,
                _ => Journal::create(root, &run_id)?,
            };
            required_sinks.push(Box::new(journal.result()?));
            required_sinks.push(Box::new(journal));
        }
        let pipeline = Pipeline {
            provider,
            tools: std::mem::take(&mut toolbox.registry),
            hooks,
            stages: turns.stages,
            store: turns.store,
            session: config.turn.session.clone(),
            counter: Arc::new(RuleOfThumb),
            approval: options.approval,
            workspace: Arc::clone(&ground.workspace),
            config,
            prices,
            replies: options.replay.as_deref().map(|path| shown(path, environment)),
            protected: options.protected,
            setting: Arc::clone(&ground.setting),
            temporary: environment.temporary(),
            confinement: ground.confinement.clone(),
            templates,
            nonces: Nonces::random(),
            spent: clock.monotonic(),
            clock: Arc::<SystemClock>::clone(&clock),
        };
        let secrets = environment.secrets().clone();
        let replan = options.replan;
        Ok(Self { pipeline, toolbox, task, given, replan, run_id, secrets, required_sinks, clock, ground })
    }

    /// Returns the tools of the run, for a caller that embeds tepa; what is added here is no business of the rules in a configuration.
    pub fn tools(&mut self) -> &mut Registry {
        &mut self.pipeline.tools
    }

    /// Returns the hooks of the run, for a caller that embeds tepa.
    pub fn hooks(&mut self) -> &mut HookBus {
        &mut self.pipeline.hooks
    }

    /// Returns the stages of the run, for a caller that embeds tepa.
    pub fn stages(&mut self) -> &mut Stages {
        &mut self.pipeline.stages
    }

    /// Runs to the settlement, showing every event to `sinks`; nothing that was started for the run is left afterwards.
    pub async fn run(mut self, sinks: Vec<Box<dyn EventSink>>, cancel: &Cancel) -> Finished {
        let fanout = self.fanout(sinks);
        let run_id = self.run_id.as_str();
        let finished = match (self.task, self.given) {
            (Task::Run(prompt), None) => self.pipeline.run(run_id, prompt, fanout, cancel).await,
            (Task::Run(prompt), Some(plan)) => {
                let given = Given { prompt, plan, replan: self.replan };
                self.pipeline.execute(run_id, given, fanout, cancel).await
            }
            (Task::Resume(interrupted), _) => {
                let fanout = fanout.resumed(&interrupted.events);
                self.pipeline.resume(run_id, *interrupted, fanout, cancel).await
            }
            (Task::Evaluate(recalled), _) => self.pipeline.evaluate(run_id, *recalled, fanout, cancel).await,
        };
        self.toolbox.close().await;
        self.ground.leave().await;
        finished
    }

    /// Makes a plan and executes nothing.
    ///
    /// # Errors
    /// There is no plan: how that ended. A plan that cannot be put into a file is a bug.
    pub async fn plan(
        mut self,
        sinks: Vec<Box<dyn EventSink>>,
        cancel: &Cancel,
    ) -> Result<Result<PlanFile, Finished>, Error> {
        let fanout = self.fanout(sinks);
        let prompt = self.task.prompt().clone();
        let made_for = MadeFor::of(&prompt, &self.pipeline.config, &self.pipeline.tools)?;
        let goal = prompt.goal.clone();
        let planned = self.pipeline.plan(&self.run_id, prompt, fanout, cancel).await;
        self.toolbox.close().await;
        self.ground.leave().await;
        Ok(planned.map(|planned| PlanFile::new(&planned, goal, made_for)))
    }

    fn fanout(&mut self, sinks: Vec<Box<dyn EventSink>>) -> Fanout {
        let mut all = std::mem::take(&mut self.required_sinks);
        all.extend(sinks);
        let clock = Arc::<SystemClock>::clone(&self.clock);
        Fanout::new(self.run_id.clone(), clock, self.secrets.clone(), all)
            .warning("tools", self.toolbox.warnings.clone())
    }
}

/// A run that goes on with other tools than it had is another run.
fn check_tools(interrupted: &Interrupted, registry: &Registry) -> Result<(), Error> {
    let missing: Vec<&String> =
        interrupted.tools.iter().filter(|name| registry.get(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let noun = if missing.len() == 1 { "a tool that is" } else { "tools that are" };
    Err(Error::usage(format!("the run had {noun} not there now: {}", text::ticked(missing)))
        .hint("give it the configuration that it had, with `--config FILE`"))
}

/// Returns what connecting comes to, unless it takes all the time that the run has.
async fn in_time<T>(
    limit: Option<u64>,
    connecting: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let Some(limit) = limit else { return connecting.await };
    let Ok(connected) = tokio::time::timeout(Duration::from_millis(limit), connecting).await else {
        let message =
            format!("the time of the run was gone before it began: servers took {}", text::duration(limit));
        return Err(Error::late(message).hint(
            "give it more time with `--timeout` or `limits.maxDuration`, or leave out a server that is not needed",
        ));
    };
    connected
}

/// Refuses a base URL with a password in it: the configuration is part of the run's record.
///
/// # Errors
/// There is one.
pub fn check_base_url(config: &Config) -> Result<(), Error> {
    let url = config.base_url.as_deref().unwrap_or_default();
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next();
    if !authority.is_some_and(|authority| authority.contains('@')) {
        return Ok(());
    }
    Err(Error::usage("the base URL holds a name or a password, which would end up in records")
        .hint("leave it out: keys come from variables"))
}

/// A cost limit that cannot be held to is refused before anything is paid.
fn check_prices(config: &Config, prices: &Prices, asked: &[&str]) -> Result<(), Error> {
    if config.limits.max_cost_usd.is_none() {
        return Ok(());
    }
    match asked.iter().find(|model| !prices.knows(model)) {
        None => Ok(()),
        Some(model) => {
            Err(Error::usage(format!("a cost is limited, and no price is known for the model `{model}`"))
                .hint("name its price under `pricing` in a configuration file, or leave the limit out"))
        }
    }
}

/// Returns a path as a person would write it from the folder the run works in.
pub fn shown(path: &std::path::Path, environment: &Environment) -> String {
    match path.strip_prefix(&environment.directory).unwrap_or(path).display().to_string() {
        here if here.is_empty() => ".".to_owned(),
        path => path,
    }
}
