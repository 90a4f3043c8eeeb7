//! Owns the loading of what people write: the layers of the configuration and the prompt, every fault of every file at once.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use serde_json::{Value, json};

use super::args::{ColorArgument, GlobalArguments, Rules, SettingArguments, WorkArguments};
use super::trust;
use super::ui::Ui;
use crate::config::{
    self, Config, Environment, Layers, LoggingLevel, Origin, ProviderKind, Raised, SandboxMode, Stage, Store,
    Turn,
};
use crate::error::Error;
use crate::prompt::{self, Prompt};
use crate::session::{learn_secrets, shown};
use crate::source::{Diagnostics, Document, Format, SourceError, SourceFile, UnknownKeys};
use crate::text;
use crate::tools;
use crate::workspace::PROJECT_FILE;

/// Loads configuration and prompt of a run; the faults of all files come back together.
pub(super) fn everything(
    path: &Path,
    settings: &SettingArguments,
    work: &WorkArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<(Config, Prompt)> {
    let unknown = unknown_keys(settings.allow_unknown);
    let (mut layers, mut invalid) = layers(settings.config.as_deref(), environment, unknown, ui)?;
    let source = if path == Path::new("-") {
        SourceFile::from_reader("standard input", std::io::stdin().lock(), Format::Yaml)
            .map_err(unreadable)?
    } else {
        read(&environment.resolve(path), &path.display().to_string())?
    };
    let prompt = match Document::parse(source).and_then(|document| prompt::load(&document, unknown)) {
        Ok((prompt, warnings)) => {
            warn(ui, &warnings);
            Some(prompt)
        }
        Err(faults) => {
            invalid.push(faults);
            None
        }
    };
    let (Some(prompt), true) = (prompt, invalid.is_empty()) else {
        return Err(Error::Invalid(invalid).into());
    };
    layers.push(Origin::CommandLine, flags(settings, global));
    layers.push(Origin::CommandLine, flags_of_work(work));
    let mut config = settled(&layers, environment, ui)?;
    if work.no_session {
        config.turn.session = None;
    } else {
        check_session(&config.turn)?;
    }
    Ok((config, prompt))
}

/// Refuses stages that share something with other runs when nobody says with which, or where nothing is kept.
fn check_session(turn: &Turn) -> Result<(), Error> {
    let shares = |stage: &&Stage| matches!(stage, Stage::Memory(_) | Stage::History(_));
    let Some(stage) = turn.input.iter().chain(&turn.output).find(shares) else { return Ok(()) };
    let name = if matches!(stage, Stage::Memory(_)) { "memory" } else { "history" };
    if turn.store == Store::None {
        return Err(Error::usage(format!("the stage `{name}` needs a store, and `turn.store` is none"))
            .hint("name a store, or share nothing with other runs: `--no-session`"));
    }
    if turn.session.is_some() {
        return Ok(());
    }
    Err(Error::usage(format!("the stage `{name}` needs a session, and none is named")).hint(
        "name one with `--session KEY` or `turn.session`, or share nothing with other runs: `--no-session`",
    ))
}

/// Loads the configuration for the judging of a run.
pub(super) fn for_judging(
    arguments: &SettingArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Config> {
    let unknown = unknown_keys(arguments.allow_unknown);
    let (mut layers, invalid) = layers(arguments.config.as_deref(), environment, unknown, ui)?;
    if !invalid.is_empty() {
        return Err(Error::Invalid(invalid).into());
    }
    layers.push(Origin::CommandLine, flags(arguments, global));
    settled(&layers, environment, ui)
}

/// Returns what the layers add up to, and says what of the command line does not count.
fn settled(layers: &Layers, environment: &Environment, ui: &Ui) -> anyhow::Result<Config> {
    let config = resolved(layers, environment)?;
    learn(&config, environment, ui)?;
    for Raised { key, asked, stays } in layers.raised().into_iter().filter(|_| !ui.quiet) {
        let shown = |value: &Value| match value.as_u64() {
            Some(millis) if key == "maxDuration" => text::duration(millis),
            _ => value.to_string(),
        };
        let (stays, asked) = (shown(&stays), shown(&asked));
        let message = format!(
            "`limits.{key}` stays {stays}: flags and variables lower the limit of a file and do not raise it to {asked}"
        );
        ui.say(&format!("warning: {message}\n"));
    }
    Ok(config)
}

/// Returns what the layers add up to, with the store at its place: whoever opens it need not know the folder of the user.
fn resolved(layers: &Layers, environment: &Environment) -> Result<Config, Error> {
    let mut config = layers.resolve()?;
    if let Store::Sqlite { path } = &mut config.turn.store
        && path.starts_with('~')
    {
        *path = environment.locate(path).display().to_string();
    }
    Ok(config)
}

fn learn(config: &Config, environment: &Environment, ui: &Ui) -> Result<(), Error> {
    for warning in learn_secrets(config, environment)?.into_iter().filter(|_| !ui.quiet) {
        ui.say(&format!("warning: {warning}\n"));
    }
    Ok(())
}

/// Returns whether unknown keys are faults or warnings.
pub(super) fn unknown_keys(allowed: bool) -> UnknownKeys {
    if allowed { UnknownKeys::Warn } else { UnknownKeys::Refuse }
}

/// Reads one file, or says why it cannot be read.
pub(super) fn read(path: &Path, name: &str) -> Result<SourceFile, Error> {
    SourceFile::read(path, name).map_err(unreadable)
}

/// Returns the configuration without a run: the defaults, the user's file, the project's file, and the one that is named.
pub(super) fn standing_config(
    named: Option<&Path>,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Config> {
    let (layers, invalid) = layers(named, environment, UnknownKeys::Refuse, ui)?;
    if !invalid.is_empty() {
        return Err(Error::Invalid(invalid).into());
    }
    let config = resolved(&layers, environment)?;
    learn(&config, environment, ui)?;
    Ok(config)
}

/// Returns the names of the tools here, those of servers aside; nothing where the configuration is broken.
pub(super) fn tool_names(environment: &Environment) -> Option<Vec<String>> {
    let ui = Ui::new(environment, ColorArgument::Never, true);
    let (layers, invalid) = layers(None, environment, UnknownKeys::Refuse, &ui).ok()?;
    let config = layers.resolve().ok().filter(|_| invalid.is_empty())?;
    let built_in = tools::NAMES.map(str::to_owned).into_iter();
    Some(built_in.chain(config.custom_tools.into_iter().map(|tool| tool.name)).collect())
}

/// Returns the layers below the command line, with the faults of every file that has some.
fn layers(
    named: Option<&Path>,
    environment: &Environment,
    unknown: UnknownKeys,
    ui: &Ui,
) -> Result<(Layers, Vec<Diagnostics>), Error> {
    let mut invalid = Vec::new();
    let mut layers = Layers::defaults()?;
    let mut known = tools::NAMES.map(str::to_owned).to_vec();
    for file in config_files(named, environment) {
        match config_layer(&file, environment, &known, &layers, unknown)? {
            None => {}
            Some(Ok((layer, warnings))) => {
                warn(ui, &warnings);
                known.extend(config::custom_tools(&layer).into_iter().map(str::to_owned));
                layers.push(Origin::File(shown(&file.path, environment)), layer);
            }
            Some(Err(faults)) => invalid.push(faults),
        }
    }
    Ok((layers, invalid))
}

/// What was found where a layer of the configuration may be.
pub(super) enum Found {
    /// No file, and nobody named one.
    Nothing,
    /// A layer.
    Valid,
    /// A file with faults.
    Faulty(Diagnostics),
    /// A file that cannot be read.
    Unreadable(Error),
}

/// Returns every file that may hold a layer, with what was found there, and what those that are valid add up to with `flags` above them.
///
/// # Errors
/// What is built in is broken.
pub(super) fn survey(
    named: Option<&Path>,
    flags: Value,
    environment: &Environment,
) -> Result<(Vec<(String, Found)>, Config), Error> {
    let mut layers = Layers::defaults()?;
    let mut known = tools::NAMES.map(str::to_owned).to_vec();
    let mut files = Vec::new();
    for file in config_files(named, environment) {
        let found = match config_layer(&file, environment, &known, &layers, UnknownKeys::Refuse) {
            Ok(None) => Found::Nothing,
            Ok(Some(Ok((layer, _)))) => {
                known.extend(config::custom_tools(&layer).into_iter().map(str::to_owned));
                layers.push(Origin::File(shown(&file.path, environment)), layer);
                Found::Valid
            }
            Ok(Some(Err(faults))) => Found::Faulty(faults),
            Err(error) => Found::Unreadable(error),
        };
        files.push((shown(&file.path, environment), found));
    }
    layers.push(Origin::CommandLine, flags);
    Ok((files, resolved(&layers, environment)?))
}

/// A file that may hold a layer of the configuration.
struct ConfigSource {
    path: PathBuf,
    /// Whether a person named it, so that it has to be there.
    named: bool,
    /// Whether it lies in the folder that the run's own tools write to.
    in_workspace: bool,
}

/// What a file holds and warns of, or its faults.
pub(super) type Layer = Result<(Value, Diagnostics), Diagnostics>;

/// Returns the layer that a file holds or its faults; nothing when there is no such file and nobody named it.
fn config_layer(
    source: &ConfigSource,
    environment: &Environment,
    known_tools: &[String],
    below: &Layers,
    unknown: UnknownKeys,
) -> Result<Option<Layer>, Error> {
    // A link that leads nowhere is there, and reading it says so.
    if !source.named && source.path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let file = read(&source.path, &shown(&source.path, environment))?;
    let own = below.resolve()?.protect;
    Ok(Some(Document::parse(file).and_then(|document| {
        let known: Vec<&str> = known_tools.iter().map(String::as_str).collect();
        let layer = config::load(&document, &known, unknown);
        if source.in_workspace { trust::narrowed(&document, layer, below, &own) } else { layer }
    })))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn unreadable(error: SourceError) -> Error {
    let message = Error::usage(error.to_string());
    match error.hint() {
        Some(hint) => message.hint(hint),
        None => message,
    }
}

fn warn(ui: &Ui, warnings: &Diagnostics) {
    if !warnings.is_empty() && !ui.quiet {
        ui.faults(warnings);
    }
}

/// Returns the files that may hold layers, lowest first.
fn config_files(named: Option<&Path>, environment: &Environment) -> Vec<ConfigSource> {
    let user = ProjectDirs::from("", "", "tepa").map(|dirs| dirs.config_dir().join("config.yaml"));
    let user = user.map(|path| ConfigSource { path, named: false, in_workspace: false });
    let project = environment.directory.join(PROJECT_FILE);
    let project = ConfigSource { path: project, named: false, in_workspace: true };
    let named =
        named.map(|path| ConfigSource { path: environment.resolve(path), named: true, in_workspace: false });
    user.into_iter().chain([project]).chain(named).collect()
}

/// Returns all rules of a flag, or nothing when it was not given.
fn rules(given: &[Rules]) -> Option<Vec<&String>> {
    (!given.is_empty()).then(|| given.iter().flat_map(|rules| &rules.0).collect())
}

/// Returns what the command line (and `TEPA_*`) say, in the form of a configuration file.
fn flags(settings: &SettingArguments, global: &GlobalArguments) -> Value {
    let level = global.log_level.map(LoggingLevel::from);
    let every = settings.model.as_ref();
    json!({
        "provider": settings.provider.or(settings.replay.as_ref().map(|_| ProviderKind::Replay)),
        "baseUrl": settings.base_url,
        "model": {"planner": every, "executor": every, "evaluator": settings.evaluator_model.as_ref().or(every)},
        "limits": {
            "maxTokens": settings.max_tokens,
            "maxCostUsd": settings.max_cost,
            "maxDuration": settings.timeout,
        },
        "evaluator": {"strict": settings.strict.then_some(true)},
        "sandbox": {"mode": settings.sandbox.map(SandboxMode::from)},
        "logging": {"level": level},
    })
}

/// Returns what they say of work that is yet to be done.
fn flags_of_work(work: &WorkArguments) -> Value {
    json!({
        "model": {"planner": work.planner_model, "executor": work.executor_model},
        "limits": {
            "maxCycles": work.max_cycles,
            "maxToolCalls": work.max_tool_calls,
            "toolTimeout": work.tool_timeout,
        },
        "turn": {"session": work.session},
        "tools": rules(&work.tools),
        "denyTools": rules(&work.deny_tool),
    })
}
