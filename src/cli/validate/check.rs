//! Owns the checking of one file: what it is, and everything that is wrong with it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::files::Found;
use super::kind;
use crate::cli::args::KindArgument as Kind;
use crate::cli::inspect;
use crate::cli::trust;
use crate::config::{self, Environment, Layers};
use crate::error::Message;
use crate::prompt::{self, Given, UNVERIFIABLE, ValueError, Variables};
use crate::providers::replies;
use crate::session::PlanFile;
use crate::source::{Diagnostic, Diagnostics, Document, Format, SourceError, SourceFile, UnknownKeys};
use crate::text;
use crate::tools;

/// What files are checked against.
pub(super) struct Rules<'a> {
    pub(super) kind: Option<Kind>,
    pub(super) unknown: UnknownKeys,
    pub(super) given: &'a Given,
    pub(super) environment: &'a Environment,
    /// The configuration below that of the project.
    pub(super) below: &'a Layers,
}

/// What came of a file.
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) kind: Option<Kind>,
    pub(super) end: End,
    /// The variables that it declares.
    pub(super) variables: Vec<String>,
    /// Values that were given and are not of their type.
    pub(super) values: Vec<ValueError>,
}

/// How the checking of a file ended.
pub(super) enum End {
    /// It was looked at.
    Faults(Diagnostics),
    /// It is nothing for tepa, and nobody said that it is.
    PassedOver,
    /// It could not be read.
    Unreadable(Message),
}

/// Checks one file.
pub(super) fn check(found: &Found, rules: &Rules<'_>) -> Checked {
    let mut checked = Checked {
        name: found.name.clone(),
        kind: rules.kind,
        end: End::PassedOver,
        variables: Vec::new(),
        values: Vec::new(),
    };
    if let Some(refused) = &found.refused {
        checked.end = End::Unreadable(refused.clone());
        return checked;
    }
    let file = match read(found) {
        Ok(file) => file,
        Err(error) => {
            let of_others = matches!(
                error,
                SourceError::NotUtf8 { .. } | SourceError::TooLarge { .. } | SourceError::Empty { .. }
            );
            if found.named || !of_others || found.is_called_for_tepa() {
                let (text, hint) = (error.to_string(), error.hint());
                checked.end = End::Unreadable(Message { text, causes: Vec::new(), hint });
            }
            return checked;
        }
    };
    // From here on nothing sees what must not be shown: messages quote what they are about.
    let secrets = inspect::secrets::seek(&file, rules.environment);
    let file = inspect::secrets::masked(&file, &secrets);
    if is_lines(found) {
        checked.kind = Some(Kind::Replay);
        let mut faults = lines(file, found);
        for secret in &secrets {
            faults.push(secret.fault());
        }
        checked.end = End::Faults(faults);
        return checked;
    }
    let telling = kind::is_telling(file.text()) || found.is_called_for_tepa();
    let mut document = match Document::parse(file) {
        Ok(document) => document,
        Err(faults) => {
            if found.named || telling {
                checked.end = End::Faults(faults);
            }
            return checked;
        }
    };
    let of_content = if found.named { kind::of_named } else { kind::of_found };
    let of_name = || found.is_project_file().then_some(Kind::Config);
    checked.kind = rules.kind.or_else(of_name).or_else(|| of_content(document.value()));
    let mut faults = match checked.kind {
        Some(Kind::Prompt) => prompt_faults(&mut document, rules, &mut checked),
        Some(Kind::Config) => config_faults(&document, found, rules),
        Some(Kind::Replay) => replay_faults(&document, &found.path),
        Some(Kind::Plan) => plan_faults(&document),
        None if found.named => {
            let mut faults = document.diagnostics();
            faults.push(unknown_kind());
            faults
        }
        None => return checked,
    };
    for secret in &secrets {
        faults.push(secret.fault());
    }
    checked.end = End::Faults(faults);
    checked
}

fn read(found: &Found) -> Result<SourceFile, SourceError> {
    if !is_lines(found) || !found.path.is_file() {
        return SourceFile::read(&found.path, &found.name);
    }
    let unreadable = |source| SourceError::Unreadable { name: found.name.clone(), source };
    SourceFile::from_reader(&found.name, File::open(&found.path).map_err(unreadable)?, Format::Json)
}

/// Returns whether a file is a script with a reply a line.
fn is_lines(found: &Found) -> bool {
    found.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"))
}

fn prompt_faults(document: &mut Document, rules: &Rules<'_>, checked: &mut Checked) -> Diagnostics {
    let variables = Variables::of(document);
    checked.variables = variables.names().map(str::to_owned).collect();
    let (values, errors) = variables.resolve(rules.given);
    checked.values =
        errors.into_iter().filter(|error| !matches!(error, ValueError::Missing { .. })).collect();
    let mut faults = match prompt::load(document, &values, rules.unknown) {
        Ok((prompt, mut warnings)) => {
            if !prompt.is_verifiable() {
                let message = format!("nothing is verified: {UNVERIFIABLE}");
                let place = document.span_of_key("/expectedOutput");
                warnings.push(Diagnostic::warning("nothing-verified", message).at(place).hint(
                    "list files with a `path`, and what has to hold of them under `criteria` or `checks`",
                ));
            }
            warnings
        }
        Err(faults) => faults,
    };
    inspect::commands::in_prompt(document, rules.environment, &mut faults);
    inspect::times::check(document, &mut faults);
    faults
}

fn config_faults(document: &Document, found: &Found, rules: &Rules<'_>) -> Diagnostics {
    let own = rules.below.resolve();
    let is_project = found.is_project_file();
    let own_tools = own.iter().flat_map(|config| &config.custom_tools).map(|tool| tool.name.as_str());
    let known: Vec<&str> = tools::NAMES.into_iter().chain(own_tools).collect();
    let mut layer = config::load(document, &known, rules.unknown);
    if is_project {
        let protect = own.as_ref().map(|config| config.protect.clone()).unwrap_or_default();
        layer = trust::narrowed(document, layer, rules.below, &protect);
    }
    let mut faults = match layer {
        Ok((_, faults)) | Err(faults) => faults,
    };
    // Scripts are looked for where the run would be that reads the file.
    let mut environment = rules.environment.clone();
    if let Some(folder) = found.path.parent().filter(|_| is_project) {
        folder.clone_into(&mut environment.directory);
    }
    inspect::commands::in_config(document, &environment, &mut faults);
    inspect::models::check(document, &mut faults);
    inspect::floor::check(document, &mut faults);
    inspect::times::check(document, &mut faults);
    faults
}

fn replay_faults(document: &Document, path: &Path) -> Diagnostics {
    let mut faults = document.diagnostics();
    for (reply, message) in replies::faults(document.file().text(), path) {
        let place = match reply {
            Some(number) => document.span_of_value(&format!("/replies/{}", number - 1)),
            // What is wrong with the head of the file begins with a key of it, or with what stands under `format`.
            None => ["format", "replies"].into_iter().find_map(|key| {
                let named = message.starts_with(&format!("`{key}`"))
                    || key == "format" && message.starts_with("`tepa.");
                document.span_of_value(&format!("/{key}")).filter(|_| named)
            }),
        };
        faults.push(Diagnostic::error("reply", message).at(place));
    }
    faults
}

/// Returns the faults of a script with a reply a line; its messages name the lines.
fn lines(file: SourceFile, found: &Found) -> Diagnostics {
    let wrong = replies::faults(file.text(), &found.path);
    let mut faults = Diagnostics::new(Arc::new(file));
    for (_, message) in wrong {
        let line = message.strip_prefix("line ").and_then(|rest| rest.split([' ', ',']).next()?.parse().ok());
        let place = line.map(|line| faults.file().line_span(line));
        faults.push(Diagnostic::error("reply", message).at(place));
    }
    faults
}

fn plan_faults(document: &Document) -> Diagnostics {
    let mut faults = document.diagnostics();
    for (pointer, message) in PlanFile::faults(document.value()) {
        let place = document.span_of_value(&pointer).filter(|_| !pointer.is_empty());
        faults.push(Diagnostic::error("plan", message).at(place));
    }
    faults
}

fn unknown_kind() -> Diagnostic {
    let message = "nothing in this file says what it is for";
    let keys = text::ticked(["goal", "context", "expectedOutput"]);
    let hint = format!(
        "a prompt has the keys {keys}, a configuration such as `provider`, `model` or `limits`; or say what it is meant to be with `--kind`"
    );
    Diagnostic::error("unknown-kind", message).hint(hint)
}
