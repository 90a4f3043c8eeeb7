//! Owns assembly: a configuration, a prompt and the environment become a wired run. The only place that knows every adapter.
//!
//! Whatever can be found wrong before the first model call is found here; nothing is created that the run does not need.

mod bounds;
mod confine;
mod connect;
mod secrets;

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use crate::config::{Catalog, Config, Environment, Prices};
use crate::error::Error;
use crate::event::{EventSink, Fanout, SystemClock};
use crate::hook::HookBus;
use crate::journal::{Journal, ResultFile};
use crate::pipeline::{Cancel, Finished, Pipeline};
use crate::prompt::Prompt;
use crate::secret::Secrets;
use crate::template::Templates;
use crate::text;
use crate::tool::Registry;
use crate::tool::permission::{self, Rule};

pub use secrets::learn_secrets;

/// What a run is asked to do beside its prompt and configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The replies of a replay, absolute.
    pub replay: Option<PathBuf>,
    /// Where to record replies, absolute.
    pub record: Option<PathBuf>,
    /// Where to write the result as well, absolute.
    pub result: Option<PathBuf>,
    /// Files that no run may change beside those that the configuration names, absolute.
    pub protected: Vec<PathBuf>,
    /// Whether to record the run under `.tepa/runs`.
    pub journal: bool,
}

/// A wired run that has not started.
pub struct Session {
    pipeline: Pipeline,
    prompt: Prompt,
    run_id: String,
    secrets: Secrets,
    required_sinks: Vec<Box<dyn EventSink>>,
    clock: Arc<SystemClock>,
    /// For the temporary files of commands; it goes when this does.
    temporary: Option<TempDir>,
}

impl Session {
    /// Wires a run.
    ///
    /// # Errors
    /// Anything that makes the run impossible: a missing key, a replay file with faults, a folder that cannot be written.
    pub fn connect(
        config: Config,
        prompt: Prompt,
        environment: &Environment,
        options: Options,
    ) -> Result<Self, Error> {
        check_base_url(&config)?;
        let tools = registry(&config)?;
        let workspace = bounds::workspace(&config, environment)?;
        let catalog = Catalog::load()?;
        let prices = catalog.prices(&config.pricing);
        connect::check_models(&config)?;
        check_prices(&config, &prices)?;
        let (provider, recording) =
            connect::provider(&config, catalog, environment, &options, workspace.root())?;
        let templates =
            Templates::load().map_err(|e| Error::broken("the templates are broken").because(&e))?;
        let run_id = uuid::Uuid::now_v7().to_string();
        // The files that appear at the end come first: the journal's last line must not say more than they could keep.
        let mut required_sinks: Vec<Box<dyn EventSink>> = Vec::new();
        required_sinks.extend(recording.map(|recording| Box::new(recording) as Box<dyn EventSink>));
        if let Some(path) = options.result {
            required_sinks.push(Box::new(ResultFile::at(path)?));
        }
        if options.journal {
            let journal = Journal::create(workspace.root(), &run_id)?;
            required_sinks.push(Box::new(ResultFile::at(journal.folder().join("result.json"))?));
            required_sinks.push(Box::new(journal));
        }
        let confined = confine::confine(&config, environment, &workspace)?;
        let clock = Arc::new(SystemClock::default());
        let pipeline = Pipeline {
            provider,
            tools,
            hooks: HookBus::default(),
            workspace: Arc::new(workspace),
            config,
            prices,
            protected: options.protected,
            setting: Arc::new(confined.setting),
            confinement: confined.confinement,
            templates,
            clock: Arc::<SystemClock>::clone(&clock),
        };
        let secrets = environment.secrets().clone();
        let temporary = confined.temporary;
        Ok(Self { pipeline, prompt, run_id, secrets, required_sinks, clock, temporary })
    }

    /// Returns the hooks of the run, for a caller that embeds tepa.
    pub fn hooks(&mut self) -> &mut HookBus {
        &mut self.pipeline.hooks
    }

    /// Runs to the settlement, showing every event to `sinks`.
    pub async fn run(self, sinks: Vec<Box<dyn EventSink>>, cancel: &Cancel) -> Finished {
        let mut all = self.required_sinks;
        all.extend(sinks);
        let fanout = Fanout::new(self.run_id.clone(), self.clock, self.secrets, all);
        let finished = self.pipeline.run(&self.run_id, self.prompt, fanout, cancel).await;
        if let Some(supervisor) = &self.pipeline.setting.supervisor {
            supervisor.all_gone().await;
        }
        // What could not be removed is not worth the verdict.
        drop(self.temporary);
        finished
    }
}

/// Returns the tools that the rules of the configuration leave, held to them.
pub fn registry(config: &Config) -> Result<Registry, Error> {
    let mut registry = Registry::default();
    for tool in crate::tools::built_in(&config.network) {
        registry.register(tool).map_err(|e| Error::broken("the built-in tools clash").because(&e))?;
    }
    let known = registry.names();
    for rule in config.tools.iter().chain(&config.deny_tools) {
        let rule = Rule::parse(rule)?;
        let name = rule.tool();
        if !known.iter().any(|tool| tool == name) {
            let error = Error::usage(format!("unknown tool `{name}`"));
            return Err(match text::did_you_mean(name, known.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("the tools are {}", text::ticked(&known))),
            });
        }
    }
    permission::apply(registry, &config.tools, &config.deny_tools)
}

/// The configuration is part of the run's record: a password in it would be as well.
fn check_base_url(config: &Config) -> Result<(), Error> {
    let url = config.base_url.as_deref().unwrap_or_default();
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next();
    if !authority.is_some_and(|authority| authority.contains('@')) {
        return Ok(());
    }
    Err(Error::usage("the base URL holds a name or a password, which would end up in records")
        .hint("leave it out: keys come from variables"))
}

/// A cost limit that cannot be held to is refused before anything is paid.
fn check_prices(config: &Config, prices: &Prices) -> Result<(), Error> {
    if config.limits.max_cost_usd.is_none() {
        return Ok(());
    }
    match config.model.distinct().into_iter().find(|model| !prices.knows(model)) {
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
