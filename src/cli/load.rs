//! Owns the loading of what people write: the layers of the configuration and the prompt, every fault of every file at once.

use std::path::Path;

use serde_json::Value;

use super::args::{
    GlobalArguments, LayerArguments, ResumeArguments, SettingArguments, Voices, WorkArguments,
};
use super::inspect::secrets;
use super::layers::layers;
use super::said::{self};
use super::ui::Ui;
use super::variables;
use crate::config::{Config, Environment, Layers, LoggingLevel, Raised, Setting, Stage, Store, Turn};
use crate::error::Error;
use crate::prompt::{self, Given, Prompt, Variables};
use crate::session::learn_secrets;
use crate::source::{Diagnostics, Document, Format, SourceError, SourceFile, UnknownKeys};
use crate::text;

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
    let given = variables::given(&work.variables, environment, ui)?;
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
    let shown = variables::masked(given, environment);
    let masked = secrets::masked(&source, &secrets::seek(&source, environment));
    let mut names = Vec::new();
    let mut errors = Vec::new();
    let prompt = without_showing_keys(source, environment, ui, |source| {
        let mut document = Document::parse(source)?;
        let declared = Variables::of(&document);
        names = declared.names().map(str::to_owned).collect();
        errors = declared.resolve(&shown).1;
        prompt::load(&mut document, &declared.resolve(given).0, unknown)
    });
    let prompt = match prompt {
        // What is wrong is told of values without the keys in them: a message may hold half of one.
        Err(faults) if faults.has_errors() => {
            let told = Document::parse(masked).and_then(|mut document| {
                let (values, _) = Variables::of(&document).resolve(&shown);
                prompt::load(&mut document, &values, unknown)
            });
            return Err(told.err().filter(Diagnostics::has_errors).unwrap_or(faults));
        }
        loaded => loaded.ok(),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let unusable = variables::check_names(given, &names).and_then(|()| variables::check_values(&errors));
    Ok(Filled { prompt, unusable: unusable.map(|()| variables::warnings(given, &names)) })
}

/// Returns what `load` makes of a file. Where keys are written into it, that is said, and what is wrong with the file is told without them.
pub(super) fn without_showing_keys<T>(
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

/// Loads the configuration for a run that goes on: what was recorded, with the limits that are said now.
pub(super) fn for_resuming(
    arguments: &ResumeArguments,
    recorded: &Value,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Config> {
    let said = said::resumed(arguments, global);
    let layers = layers(&arguments.layers, said, &global.variables, environment, UnknownKeys::Refuse, ui)?;
    let today = settled(&valid(layers)?, &arguments.layers, environment, ui)?;
    let limits = today.limits.clone();
    let mut config = today.resumed(recorded)?;
    // What a file of today says of a limit counts beside what is said on the command line.
    let of = &mut config.limits;
    if arguments.max_cycles.is_some() {
        of.max_cycles = limits.max_cycles;
    }
    if arguments.max_tokens.is_some() {
        of.max_tokens = limits.max_tokens;
    }
    if arguments.max_cost.is_some() {
        of.max_cost_usd = limits.max_cost_usd;
    }
    if arguments.max_tool_calls.is_some() {
        of.max_tool_calls = limits.max_tool_calls;
    }
    if arguments.timeout.is_some() {
        of.max_duration = limits.max_duration;
    }
    learn(&config, environment, ui)?;
    Ok(config)
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
pub(super) fn resolved(layers: &Layers, environment: &Environment) -> Result<Config, Error> {
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

/// Returns the error of a file that cannot be read.
pub(super) fn unreadable(error: &SourceError) -> Error {
    let message = Error::usage(error.to_string());
    match error.hint() {
        Some(hint) => message.hint(hint),
        None => message,
    }
}

pub(super) fn warn(ui: &Ui, warnings: &Diagnostics) {
    if !warnings.is_empty() && !ui.quiet {
        ui.faults(warnings);
    }
}
