//! Owns the loading of what people write: the layers of the configuration and the prompt, every fault of every file at once.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use serde_json::Value;

use super::args::{ColorArgument, GlobalArguments, LayerArguments, SettingArguments, Voices, WorkArguments};
use super::inspect::secrets;
use super::said::{self, Said};
use super::trust;
use super::ui::Ui;
use super::variables;
use crate::config::{
    self, Config, Environment, Layers, LoggingLevel, Origin, Raised, Setting, Stage, Store, Turn,
};
use crate::error::Error;
use crate::prompt::{self, Given, Prompt, Variables};
use crate::session::{learn_secrets, shown};
use crate::source::{Diagnostics, Document, Format, SourceError, SourceFile, UnknownKeys, parse_settings};
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
    let given = variables::given(&work.variables, environment)?;
    let said = [said::settings(settings, global), said::work(work)].concat();
    let (layers, mut invalid) = layers(&settings.layers, said, &global.variables, environment, unknown, ui)?;
    let source = if path == Path::new("-") {
        SourceFile::from_reader("standard input", std::io::stdin().lock(), Format::Yaml)
            .map_err(|e| unreadable(&e))?
    } else {
        read(&environment.resolve(path), &path.display().to_string())?
    };
    let prompt = match filled(source, &given, unknown, environment, ui) {
        Ok(Filled { prompt, unusable }) => {
            if invalid.is_empty() {
                ui.warn(unusable?);
            }
            prompt.map(|(prompt, warnings)| {
                warn(ui, &warnings);
                prompt
            })
        }
        Err(faults) => {
            invalid.push(faults);
            None
        }
    };
    let (Some(prompt), true) = (prompt, invalid.is_empty()) else {
        return Err(Error::Invalid(invalid).into());
    };
    let mut config = settled(&layers, &settings.layers, environment, ui)?;
    if work.no_session {
        config.turn.session = None;
    } else {
        check_session(&config.turn)?;
    }
    Ok((config, prompt))
}

/// A task with its values in it.
struct Filled {
    /// The task and its warnings; absent where values are.
    prompt: Option<(Prompt, Diagnostics)>,
    /// What to say of values that nobody wants, or why there are none for the task.
    unusable: Result<Vec<String>, Error>,
}

/// Returns the task in a file with what was given for its variables, or its faults.
fn filled(
    source: SourceFile,
    given: &Given,
    unknown: UnknownKeys,
    environment: &Environment,
    ui: &Ui,
) -> Result<Filled, Diagnostics> {
    let mut names = Vec::new();
    let mut errors = Vec::new();
    let prompt = without_showing_keys(source, environment, ui, |source| {
        let mut document = Document::parse(source)?;
        let declared = Variables::of(&document);
        names = declared.names().map(str::to_owned).collect();
        let values;
        (values, errors) = declared.resolve(given);
        prompt::load(&mut document, &values, unknown)
    });
    let prompt = match prompt {
        Err(faults) if faults.has_errors() => return Err(faults),
        loaded => loaded.ok(),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let unusable = variables::check_names(given, &names).and_then(|()| variables::check_values(&errors));
    Ok(Filled { prompt, unusable: unusable.map(|()| variables::warnings(given, &names)) })
}

/// Returns what `load` makes of a file. Where keys are written into it, that is said, and what is wrong with the file is told without them.
fn without_showing_keys<T>(
    source: SourceFile,
    environment: &Environment,
    ui: &Ui,
    mut load: impl FnMut(SourceFile) -> Result<(T, Diagnostics), Diagnostics>,
) -> Result<(T, Diagnostics), Diagnostics> {
    let found = secrets::seek(&source, environment);
    if found.is_empty() {
        return load(source);
    }
    ui.warn(found.iter().map(|found| found.warning(&source)));
    let shown = match load(secrets::masked(&source, &found)) {
        Ok((_, warnings)) | Err(warnings) => warnings,
    };
    match load(source) {
        Ok((value, _)) => Ok((value, shown)),
        Err(_) if shown.has_errors() => Err(shown),
        Err(faults) => Err(faults),
    }
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
    let said = said::settings(arguments, global);
    let layers = valid(layers(&arguments.layers, said, &global.variables, environment, unknown, ui)?)?;
    settled(&layers, &arguments.layers, environment, ui)
}

/// Returns every value of the configuration of a run that counts, with who said it.
pub(super) fn settings(
    settings: &SettingArguments,
    work: &WorkArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Vec<Setting>> {
    let unknown = unknown_keys(settings.allow_unknown);
    let said = [said::settings(settings, global), said::work(work)].concat();
    let layers = valid(layers(&settings.layers, said, &global.variables, environment, unknown, ui)?)?;
    settled(&layers, &settings.layers, environment, ui)?;
    let mut found = layers.settings()?;
    found.retain(|setting| !(work.no_session && setting.key == "turn.session"));
    Ok(found)
}

/// Returns the layers of files without faults.
fn valid((layers, invalid): (Layers, Vec<Diagnostics>)) -> Result<Layers, Error> {
    if invalid.is_empty() { Ok(layers) } else { Err(Error::Invalid(invalid)) }
}

/// Returns what the layers add up to, and says what of the command line does not count.
fn settled(
    layers: &Layers,
    arguments: &LayerArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Config> {
    let config = resolved(layers, environment)?;
    if arguments.hermetic && config.logging.level == LoggingLevel::Verbose && !ui.quiet {
        ui.say("hermetic: neither the user's configuration nor the project's is read\n");
    }
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
    SourceFile::read(path, name).map_err(|e| unreadable(&e))
}

/// Returns the configuration without a run: the defaults, the user's file, the project's file, the one that is named, and what is set.
pub(super) fn standing_config(
    arguments: &LayerArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Config> {
    let (said, variables) = (Vec::new(), Voices::default());
    let layers = valid(layers(arguments, said, &variables, environment, UnknownKeys::Refuse, ui)?)?;
    let config = resolved(&layers, environment)?;
    learn(&config, environment, ui)?;
    Ok(config)
}

/// Returns the names of the tools here, those of servers aside; nothing where the configuration is broken.
pub(super) fn tool_names(environment: &Environment) -> Option<Vec<String>> {
    let ui = Ui::new(environment, ColorArgument::Never, true);
    let (arguments, said, voices) = (LayerArguments::default(), Vec::new(), Voices::default());
    let (layers, invalid) = layers(&arguments, said, &voices, environment, UnknownKeys::Refuse, &ui).ok()?;
    let config = layers.resolve().ok().filter(|_| invalid.is_empty())?;
    let built_in = tools::NAMES.map(str::to_owned).into_iter();
    Some(built_in.chain(config.custom_tools.into_iter().map(|tool| tool.name)).collect())
}

/// Returns all layers, with the faults of every file that has some and of what is set.
fn layers(
    arguments: &LayerArguments,
    said: Said,
    variables: &Voices,
    environment: &Environment,
    unknown: UnknownKeys,
    ui: &Ui,
) -> Result<(Layers, Vec<Diagnostics>), Error> {
    let mut invalid = Vec::new();
    let mut layers = Layers::defaults()?;
    let mut known = tools::NAMES.map(str::to_owned).to_vec();
    for file in config_files(arguments, environment) {
        match config_layer(&file, environment, &known, &layers, unknown, ui)? {
            None => {}
            Some(Ok((layer, warnings))) => {
                warn(ui, &warnings);
                known.extend(config::custom_tools(&layer).into_iter().map(str::to_owned));
                layers.push(Origin::File(shown(&file.path, environment)), layer);
            }
            Some(Err(faults)) => invalid.push(faults),
        }
    }
    let set = match set(&arguments.set, &known, unknown) {
        Ok(set) => set.map(|(layer, warnings)| {
            warn(ui, &warnings);
            layer
        }),
        Err(faults) => {
            invalid.push(faults);
            None
        }
    };
    said::push(&mut layers, said, set, variables)?;
    Ok((layers, invalid))
}

/// Returns the layers below the project's file; what is wrong with the user's own is told where it is used.
pub(super) fn below_project(environment: &Environment, ui: &Ui) -> Result<Layers, Error> {
    let mut layers = Layers::defaults()?;
    let user =
        config_files(&LayerArguments::default(), environment).into_iter().find(|file| !file.in_workspace);
    let Some(file) = user else { return Ok(layers) };
    let known = tools::NAMES.map(str::to_owned);
    if let Ok(Some(Ok((layer, _)))) = config_layer(&file, environment, &known, &layers, UnknownKeys::Warn, ui)
    {
        layers.push(Origin::File(shown(&file.path, environment)), layer);
    }
    Ok(layers)
}

/// Returns the layer of what is set by `--set`: held to what a file is held to.
fn set(
    settings: &[String],
    known: &[String],
    unknown: UnknownKeys,
) -> Result<Option<(Value, Diagnostics)>, Diagnostics> {
    if settings.is_empty() {
        return Ok(None);
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    config::load(&parse_settings("--set", settings)?, &known, unknown).map(Some)
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

/// Returns every file that may hold a layer, with what was found there, and what those that are valid add up to with what is set and said above them.
///
/// # Errors
/// What is built in is broken.
pub(super) fn survey(
    arguments: &LayerArguments,
    said: Said,
    voices: &Voices,
    environment: &Environment,
) -> Result<(Vec<(String, Found)>, Config), Error> {
    let ui = Ui::new(environment, ColorArgument::Never, true);
    let mut layers = Layers::defaults()?;
    let mut known = tools::NAMES.map(str::to_owned).to_vec();
    let mut files = Vec::new();
    for file in config_files(arguments, environment) {
        let found = match config_layer(&file, environment, &known, &layers, UnknownKeys::Refuse, &ui) {
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
    let set = set(&arguments.set, &known, UnknownKeys::Refuse).unwrap_or_else(|faults| {
        files.push(("--set".to_owned(), Found::Faulty(faults)));
        None
    });
    said::push(&mut layers, said, set.map(|(layer, _)| layer), voices)?;
    Ok((files, resolved(&layers, environment)?))
}

/// A file that may hold a layer of the configuration.
pub(super) struct ConfigSource {
    pub(super) path: PathBuf,
    /// Whether it does not count.
    pub(super) passed_over: bool,
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
    ui: &Ui,
) -> Result<Option<Layer>, Error> {
    if source.passed_over {
        return Ok(None);
    }
    // A link that leads nowhere is there, and reading it says so.
    if !source.named && source.path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let file = read(&source.path, &shown(&source.path, environment))?;
    let own = below.resolve()?.protect;
    Ok(Some(without_showing_keys(file, environment, ui, |file| {
        let document = Document::parse(file)?;
        let known: Vec<&str> = known_tools.iter().map(String::as_str).collect();
        let layer = config::load(&document, &known, unknown);
        if source.in_workspace { trust::narrowed(&document, layer, below, &own) } else { layer }
    })))
}

/// Returns the error of a file that cannot be read.
pub(super) fn unreadable(error: &SourceError) -> Error {
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
pub(super) fn config_files(arguments: &LayerArguments, environment: &Environment) -> Vec<ConfigSource> {
    let passed_over = arguments.hermetic;
    let user = ProjectDirs::from("", "", "tepa").map(|dirs| dirs.config_dir().join("config.yaml"));
    let user = user.map(|path| ConfigSource { path, passed_over, named: false, in_workspace: false });
    let path = environment.directory.join(PROJECT_FILE);
    let project = ConfigSource { path, passed_over, named: false, in_workspace: true };
    let named = arguments.config.as_deref().map(|path| environment.resolve(path));
    let named = named.map(|path| ConfigSource { path, passed_over: false, named: true, in_workspace: false });
    user.into_iter().chain([project]).chain(named).collect()
}
