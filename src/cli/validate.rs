//! Owns `tepa validate`: every fault of every file, without a provider.

use serde_json::Value;

use super::args::ValidateArguments;
use super::load;
use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::{self, Environment};
use crate::prompt;
use crate::source::{Diagnostics, Document, SourceFile, UnknownKeys};
use crate::text;

pub(super) fn run(arguments: &ValidateArguments, environment: &Environment, ui: &Ui) -> ExitStatus {
    let unknown = load::unknown_keys(arguments.allow_unknown);
    let mut broken = 0;
    let mut unreadable = 0;
    for path in &arguments.files {
        let file = match load::read(&environment.resolve(path), &path.display().to_string()) {
            Ok(file) => file,
            Err(error) => {
                unreadable += 1;
                ui.error(&error.into());
                continue;
            }
        };
        let faults = check(file, unknown);
        broken += usize::from(faults.has_errors());
        if !faults.is_empty() && (faults.has_errors() || !ui.quiet) {
            ui.faults(&faults);
        }
    }
    if !ui.quiet {
        let checked = text::plural("file", arguments.files.len() - unreadable);
        let mut verdict = if broken == 0 { "no faults".to_owned() } else { format!("{broken} with faults") };
        if unreadable > 0 {
            verdict = format!("{verdict}, {unreadable} could not be read");
        }
        ui.say(&format!("{checked} checked: {verdict}\n"));
    }
    match (unreadable, broken) {
        (1.., _) => ExitStatus::usage(),
        (0, 0) => ExitStatus::answered(),
        (0, _) => ExitStatus::faults_found(),
    }
}

fn check(file: SourceFile, unknown: UnknownKeys) -> Diagnostics {
    let mut document = match Document::parse(file) {
        Ok(document) => document,
        Err(faults) => return faults,
    };
    let ended = if looks_like_config(document.value()) {
        config::load(&document, &crate::tools::NAMES, unknown).map(|(_, warnings)| warnings)
    } else {
        let (values, _) = prompt::Variables::of(&document).resolve(&prompt::Given::default());
        prompt::load(&mut document, &values, unknown).map(|(_, warnings)| warnings)
    };
    ended.unwrap_or_else(|faults| faults)
}

/// A file without any key of a prompt and with at least one of a configuration is a configuration.
fn looks_like_config(value: &Value) -> bool {
    let has = |key: &&str| value.get(key).is_some();
    let prompt = ["goal", "expectedOutput"].iter().any(has);
    let config = config::keys().iter().any(|key| value.get(key).is_some());
    config && !prompt
}
