//! Owns the loading of what people write: the layers of the configuration and the prompt, every fault of every file at once.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use serde_json::{Map, Value, json};

use super::args::{GlobalArguments, RunArguments};
use super::ui::Ui;
use crate::config::{self, Config, Environment, Layers, LoggingLevel, Origin};
use crate::error::Error;
use crate::prompt::{self, Prompt};
use crate::session::shown;
use crate::source::{Diagnostics, Document, Format, SourceError, SourceFile, UnknownKeys};
use crate::tools;

/// The file name of a project's configuration.
const PROJECT_FILE: &str = "tepa.yaml";

/// Loads configuration and prompt of a run; the faults of all files come back together.
pub(super) fn everything(
    run: &RunArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<(Config, Prompt)> {
    let unknown = unknown_keys(run.allow_unknown);
    let mut invalid = Vec::new();
    let mut layers = Layers::defaults()?;
    for (path, must_exist) in config_files(run, environment) {
        if !must_exist && !path.exists() {
            continue;
        }
        let name = shown(&path, environment);
        match config_layer(read(&path, &name)?, unknown) {
            Ok((layer, warnings)) => {
                warn(ui, &warnings);
                layers.push(Origin::File(name), layer);
            }
            Err(faults) => invalid.push(faults),
        }
    }
    let source = if run.prompt == Path::new("-") {
        SourceFile::from_reader("standard input", std::io::stdin().lock(), Format::Yaml)
            .map_err(unreadable)?
    } else {
        read(&environment.resolve(&run.prompt), &run.prompt.display().to_string())?
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
    layers.push(Origin::CommandLine, flags(run, global));
    Ok((layers.resolve()?, prompt))
}

/// Returns whether unknown keys are faults or warnings.
pub(super) fn unknown_keys(allowed: bool) -> UnknownKeys {
    if allowed { UnknownKeys::Warn } else { UnknownKeys::Refuse }
}

/// Reads one file, or says why it cannot be read.
pub(super) fn read(path: &Path, name: &str) -> Result<SourceFile, Error> {
    SourceFile::read(path, name).map_err(unreadable)
}

/// Returns the layer that a configuration file holds, or its faults.
pub(super) fn config_layer(
    file: SourceFile,
    unknown: UnknownKeys,
) -> Result<(Value, Diagnostics), Diagnostics> {
    Document::parse(file).and_then(|document| config::load(&document, &tools::NAMES, unknown))
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

/// Returns the files that may hold layers, lowest first, and whether each was asked for.
fn config_files(run: &RunArguments, environment: &Environment) -> Vec<(PathBuf, bool)> {
    let user = ProjectDirs::from("", "", "tepa").map(|dirs| dirs.config_dir().join("config.yaml"));
    let mut files: Vec<(PathBuf, bool)> = user.into_iter().map(|path| (path, false)).collect();
    files.push((environment.directory.join(PROJECT_FILE), false));
    files.extend(run.config.as_ref().map(|path| (environment.resolve(path), true)));
    files
}

/// Returns what the command line (and `TEPA_*`) say, in the form of a configuration file.
fn flags(run: &RunArguments, global: &GlobalArguments) -> Value {
    let mut model = Map::new();
    for (role, own) in [
        ("planner", &run.planner_model),
        ("executor", &run.executor_model),
        ("evaluator", &run.evaluator_model),
    ] {
        if let Some(name) = own.as_ref().or(run.model.as_ref()) {
            model.insert(role.to_owned(), json!(name));
        }
    }
    let level = global.log_level.map(LoggingLevel::from);
    json!({
        "provider": run.provider,
        "baseUrl": run.base_url,
        "model": model,
        "limits": {
            "maxCycles": run.max_cycles,
            "maxTokens": run.max_tokens,
            "maxCostUsd": run.max_cost,
            "toolTimeout": run.tool_timeout,
            "maxDuration": run.timeout,
        },
        "tools": (!run.tools.is_empty()).then_some(&run.tools),
        "logging": {"level": level},
    })
}
