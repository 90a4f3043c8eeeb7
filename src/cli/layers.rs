//! Owns the layers of a configuration as they are found: which files may hold one, what each says, and what is set and said above them.
//!
//! A file with faults keeps no other from being read: all faults are told at once.

use std::path::PathBuf;

use directories::ProjectDirs;
use serde_json::Value;

use super::args::{ColorArgument, LayerArguments, Voices};
use super::inspect::secrets::{self, Given};
use super::load::{read, resolved, warn, without_showing_keys};
use super::said::{self, Said};
use super::trust;
use super::ui::Ui;
use crate::config::{self, Config, Environment, Layers, Origin};
use crate::error::Error;
use crate::session::{learn_secrets, shown};
use crate::source::{Diagnostics, Document, UnknownKeys, parse_settings};
use crate::tools;
use crate::workspace::PROJECT_FILE;

/// How the layer of what is set is called.
pub(super) const SET: &str = "--set";

/// Returns all layers, with the faults of every file that has some and of what is set.
pub(super) fn layers(
    arguments: &LayerArguments,
    said: Said,
    variables: &Voices,
    environment: &Environment,
    unknown: UnknownKeys,
    ui: &Ui,
) -> Result<(Layers, Vec<Diagnostics>), Error> {
    let (mut layers, set, places) = gather(arguments, environment, unknown, ui)?;
    let mut invalid = Vec::new();
    for (_, found) in places {
        match found {
            Found::Nothing => {}
            Found::Valid(warnings) => warn(ui, &warnings),
            Found::Faulty(faults) => invalid.push(faults),
            Found::Unreadable(error) => return Err(error),
        }
    }
    said::push(&mut layers, said, set, variables)?;
    Ok((layers, invalid))
}

/// What was found where a layer of the configuration may be.
pub(super) enum Found {
    /// No file, and nobody named one.
    Nothing,
    /// A layer, with what it warns of.
    Valid(Diagnostics),
    /// A layer with faults.
    Faulty(Diagnostics),
    /// A file that cannot be read.
    Unreadable(Error),
}

/// Every place where a layer may be, by its name, with what was found there.
type Places = Vec<(String, Found)>;

/// Returns the valid layers of files, that of what is set, and what was found of each.
fn gather(
    arguments: &LayerArguments,
    environment: &Environment,
    unknown: UnknownKeys,
    ui: &Ui,
) -> Result<(Layers, Option<Value>, Places), Error> {
    let mut layers = Layers::defaults()?;
    let mut known = tools::NAMES.map(str::to_owned).to_vec();
    let mut places = Vec::new();
    for file in config_files(arguments, environment) {
        let name = shown(&file.path, environment);
        let found = match config_layer(&file, environment, &known, &layers, unknown, ui) {
            Ok(None) => Found::Nothing,
            Ok(Some(Ok((layer, warnings)))) => {
                known.extend(config::custom_tools(&layer).into_iter().map(str::to_owned));
                layers.push(Origin::File(name.clone()), layer);
                Found::Valid(warnings)
            }
            Ok(Some(Err(faults))) => Found::Faulty(faults),
            Err(error) => Found::Unreadable(error),
        };
        places.push((name, found));
    }
    let (set, found) = match set(&arguments.set, &known, unknown, environment, ui) {
        Ok(None) => return Ok((layers, None, places)),
        Ok(Some((layer, warnings))) => (Some(layer), Found::Valid(warnings)),
        Err(faults) => (None, Found::Faulty(faults)),
    };
    places.push((SET.to_owned(), found));
    Ok((layers, set, places))
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

/// Returns the layer of what is set by `--set`: held to what a file is held to.
fn set(
    settings: &[String],
    known: &[String],
    unknown: UnknownKeys,
    environment: &Environment,
    ui: &Ui,
) -> Result<Option<(Value, Diagnostics)>, Diagnostics> {
    if settings.is_empty() {
        return Ok(None);
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let load = |settings: &[String]| config::load(&parse_settings(SET, settings)?, &known, unknown);
    let Some(Given { masked, warnings }) = secrets::in_settings(settings, environment) else {
        return load(settings).map(Some);
    };
    ui.warn(warnings);
    load(settings).map(Some).map_err(|faults| load(&masked).err().unwrap_or(faults))
}

/// What the doctor wants to know of the configuration.
pub(super) struct Survey {
    /// What was found of each layer.
    pub(super) places: Places,
    /// What those that are valid add up to with what is set and said above them.
    pub(super) config: Config,
    /// What to say of what it declares secret; none of that is shown from now on.
    pub(super) secrets: Result<Vec<String>, Error>,
}

/// Looks at all layers, whatever is wrong with some of them.
///
/// # Errors
/// What is built in is broken, or flags contradict each other.
pub(super) fn survey(
    arguments: &LayerArguments,
    said: Said,
    voices: &Voices,
    environment: &Environment,
) -> Result<Survey, Error> {
    let ui = Ui::new(environment, ColorArgument::Never, true);
    let (mut layers, set, places) = gather(arguments, environment, UnknownKeys::Refuse, &ui)?;
    said::push(&mut layers, said, set, voices)?;
    let config = resolved(&layers, environment)?;
    let secrets = learn_secrets(&config, environment);
    Ok(Survey { places, config, secrets })
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
