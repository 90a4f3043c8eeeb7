//! What a schema's validator objects to, in words and with a place.
//!
//! It refuses to repeat the schema to the reader: of a choice between several forms only the one that the
//! author meant is spoken of, if that can be told.

use std::borrow::Cow;
use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::advice::{Slip, homes, purpose};
use super::diagnostic::{Diagnostic, Diagnostics, Severity};
use super::document::Document;
use super::file::Format;
use super::node::{child, segments};
use super::wording::{NOTHING, found_in_words, listed, listed_or, rule, shortened, type_names};
use crate::text;

/// Places for a misplaced key up to which they are named; a key that is known all over tells nothing.
const MOST_HOMES: usize = 2;

/// What becomes of a key that the type does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// It is an error.
    Refuse,
    /// It is a warning, and the key is left out.
    Warn,
}

/// A key to leave out before decoding: the pointer to its map, and its name.
type Ignored = (String, String);

/// Turns the violations of one document into diagnostics.
pub(super) struct Violations<'a> {
    document: &'a Document,
    schema: &'a Value,
    unknown: UnknownKeys,
    faults: Diagnostics,
    ignored: Vec<Ignored>,
}

impl<'a> Violations<'a> {
    pub(super) fn new(document: &'a Document, schema: &'a Value, unknown: UnknownKeys) -> Self {
        Self { document, schema, unknown, faults: document.diagnostics(), ignored: Vec::new() }
    }

    /// Returns the diagnostics and the keys to leave out.
    pub(super) fn finish(self) -> (Diagnostics, Vec<Ignored>) {
        (self.faults, self.ignored)
    }

    /// Takes violations in. Where a value is not among the allowed ones, that it is not of their type is no news.
    pub(super) fn read_all(&mut self, errors: &[&ValidationError<'_>]) {
        let choices: HashSet<&str> = errors
            .iter()
            .filter(|error| is_choice(error))
            .map(|error| error.instance_path().as_str())
            .collect();
        for error in errors {
            if !(is_type(error) && choices.contains(error.instance_path().as_str())) {
                self.read(error);
            }
        }
    }

    fn read(&mut self, error: &ValidationError<'_>) {
        let pointer = error.instance_path().as_str();
        match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let known = self.known_keys([error]);
                self.unknown_keys(pointer, unexpected.iter().map(String::as_str), &known);
            }
            Kind::Required { property } => self.missing_key(pointer, error, property),
            Kind::Type { kind } => {
                let keys = self.known_keys([error]);
                self.wrong_type(pointer, error.instance(), &type_names(kind), &keys);
            }
            Kind::Enum { .. } | Kind::Constant { .. } => self.wrong_choice(pointer, &[error]),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.no_form(pointer, error, context);
            }
            kind => {
                let rule = rule(kind, error.instance()).unwrap_or_else(|| {
                    ("form", format!("is not valid: {}", error.masked_with("this value")))
                });
                self.push(
                    pointer,
                    Diagnostic::error(rule.0, format!("{} {}", self.subject(pointer), rule.1)),
                );
            }
        }
    }

    fn push(&mut self, pointer: &str, fault: Diagnostic) {
        self.faults.push(fault.at(self.document.span_of_value(pointer)));
    }

    fn unknown_keys<'k>(&mut self, pointer: &str, keys: impl Iterator<Item = &'k str>, known: &[&str]) {
        for key in keys {
            if !key.starts_with("x-") {
                let shown = shortened(key);
                let mut fault = Diagnostic::error("unknown-key", format!("unknown key `{shown}`"))
                    .label("not a key here")
                    .at(self.document.span_of_key(&child(pointer, key)))
                    .suggest(key, known.iter().copied());
                if self.unknown == UnknownKeys::Warn {
                    fault.severity = Severity::Warning;
                }
                // What is there for editors, such as `$schema`, is not what anybody looks for.
                let told: Vec<&str> = known.iter().copied().filter(|key| !key.starts_with('$')).collect();
                let homes = if pointer.is_empty() { homes(self.schema, key) } else { Vec::new() };
                if (1..=MOST_HOMES).contains(&homes.len()) {
                    fault.hint = Some(format!("it belongs under {}", text::ticked_or(homes)));
                } else if !told.is_empty() {
                    let list = format!("known here: {}", listed(&told));
                    fault.hint = Some(fault.hint.map_or(list.clone(), |meant| format!("{meant} {list}")));
                }
                self.faults.push(fault);
            }
            self.ignored.push((pointer.to_owned(), key.to_owned()));
        }
    }

    fn missing_key(&mut self, pointer: &str, error: &ValidationError<'_>, property: &Value) {
        let key = property.as_str().unwrap_or_default();
        let place = if pointer.is_empty() { String::new() } else { format!(" in {}", self.subject(pointer)) };
        let mut fault = Diagnostic::error("missing-key", format!("the key `{key}` is missing{place}"));
        let (map, _) = error.schema_path().as_str().rsplit_once('/').unwrap_or_default();
        if let Some(purpose) = self.schema.pointer(map).and_then(|map| purpose(map, key)) {
            fault = fault.hint(format!("`{key}`: {purpose}"));
        }
        self.faults.push(fault.at(self.document.span_of_heading(pointer)));
    }

    /// Says that a value is of another type; `keys` are those of the map that it should have been, if any.
    fn wrong_type(&mut self, pointer: &str, found: &Value, expected: &[&str], keys: &[&str]) {
        let names = text::joined(expected, "or");
        let written = self.written(pointer);
        let mut fault =
            Diagnostic::error("type", format!("expected {names}, found {}", found_in_words(found, &written)))
                .label(format!("expected {names}"));
        let line = self.document.line_at(pointer);
        let json = self.document.file().format() == Format::Json;
        if let Some(advice) = (Slip { found, expected, written: &written, line, json }).advice() {
            let known = || format!("{advice}; known here: {}", listed(keys));
            fault = fault.hint(if keys.is_empty() { advice.to_string() } else { known() });
        }
        self.push(pointer, fault);
    }

    fn wrong_choice(&mut self, pointer: &str, errors: &[&ValidationError<'_>]) {
        let Some(found) = errors.first().map(|error| error.instance()) else { return };
        let mut choices: Vec<String> = Vec::new();
        for choice in errors.iter().flat_map(|error| choices_of(error)).filter(|choice| !choice.is_null()) {
            choices.push(choice.as_str().map_or_else(|| choice.to_string(), str::to_owned));
        }
        let only_true = choices == ["true"] && !found.is_string();
        let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
        let found_words = found_in_words(found, &self.written(pointer));
        let fault =
            Diagnostic::error("choice", format!("expected {}, found {found_words}", listed_or(&choices)))
                .suggest(found.as_str().unwrap_or_default(), choices.iter().copied());
        let fault = match found.as_str() {
            Some("true" | "false") if choices == ["true"] => fault.hint("remove the quotes"),
            _ if only_true => fault.hint("write `true`, or leave it out"),
            _ => fault,
        };
        self.push(pointer, fault);
    }

    /// Reads the violations of the form that was meant, out of the branches of an `anyOf` or `oneOf`.
    fn no_form(
        &mut self,
        pointer: &str,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
    ) {
        let mut branches = Vec::new();
        flatten(pointer, context, &mut branches);
        let own = |error: &ValidationError<'_>| error.instance_path().as_str() == pointer;
        let of_type: Vec<&Branch<'_>> = branches
            .iter()
            .filter(|branch| !branch.iter().any(|error| own(error) && is_type(error)))
            .collect();
        let choices: Vec<_> =
            branches.iter().flatten().copied().filter(|error| own(error) && is_choice(error)).collect();
        if of_type.is_empty() && choices.is_empty() {
            return self.wrong_type(pointer, error.instance(), &expected_types(&branches, &own), &[]);
        }
        if of_type.iter().all(|branch| branch.iter().all(|error| own(error) && is_choice(error))) {
            return self.wrong_choice(pointer, &choices);
        }
        if let [meant] = of_type.as_slice() {
            return self.read_all(meant);
        }
        // Of a tagged form the tag is published as a constant; a plain choice below is no tag.
        let tag = |error: &&ValidationError<'static>| {
            matches!(error.kind(), Kind::Constant { .. }) && is_below(error, pointer)
        };
        let tagged: Vec<&Branch<'_>> =
            of_type.iter().copied().filter(|branch| !branch.iter().any(&tag)).collect();
        if tagged.is_empty() {
            let tags: Vec<_> =
                of_type.iter().flat_map(|branch| branch.iter().copied().filter(&tag)).collect();
            let place = tags.first().map_or(pointer, |error| error.instance_path().as_str());
            return self.wrong_choice(place, &tags);
        }
        let shaped: Vec<&Branch<'_>> = tagged
            .iter()
            .copied()
            .filter(|branch| !branch.iter().any(|error| own(error) && is_keys(error)))
            .collect();
        match (tagged.as_slice(), shaped.as_slice()) {
            ([meant], _) | (_, [meant]) => self.read_all(meant),
            (_, []) => self.no_shape(pointer, error.instance(), &tagged),
            _ => self.push(
                pointer,
                Diagnostic::error("form", format!("{} fits none of its forms", self.subject(pointer))),
            ),
        }
    }

    /// Speaks of a map that has the keys of none of its forms.
    fn no_shape(&mut self, pointer: &str, found: &Value, forms: &[&Branch<'_>]) {
        let known = self.known_keys(forms.iter().flat_map(|form| form.iter().copied()));
        let keys = found.as_object().into_iter().flat_map(|map| map.keys());
        let strange: Vec<&str> =
            keys.map(String::as_str).filter(|key| !known.contains(key) && !key.starts_with("x-")).collect();
        if strange.is_empty() {
            let keys = listed_or(&known);
            let fault = Diagnostic::error(
                "form",
                format!("{} must have exactly one of the keys {keys}", self.subject(pointer)),
            );
            let several = found.as_object().is_some_and(|map| map.len() > 1);
            let fault = if several { fault.hint("make each of them an item of its own") } else { fault };
            self.faults.push(fault.at(self.document.span_of_heading(pointer)));
        } else {
            self.unknown_keys(pointer, strange.into_iter(), &known);
        }
    }

    /// Returns the keys that the schemas behind these violations know.
    fn known_keys<'e>(&self, errors: impl IntoIterator<Item = &'e ValidationError<'e>>) -> Vec<&'a str> {
        let mut known = Vec::new();
        for error in errors {
            let schema = error.schema_path().as_str().rsplit_once('/').map_or("", |(schema, _)| schema);
            let properties = self.schema.pointer(schema).and_then(|schema| schema.get("properties"));
            for key in properties.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()) {
                if !known.contains(&key.as_str()) {
                    known.push(key.as_str());
                }
            }
        }
        known
    }

    /// Returns what a sentence about a value begins with: `` `goal` ``, ``item 2 of `steps` ``, `the file`.
    fn subject(&self, pointer: &str) -> String {
        let path: Vec<String> = segments(pointer).collect();
        match path.as_slice() {
            [] => "the file".to_owned(),
            [.., name] if self.document.span_of_key(pointer).is_some() => format!("`{}`", shortened(name)),
            [.., list, index] => format!("item {} of `{}`", ordinal(index), shortened(list)),
            [index] => format!("item {}", ordinal(index)),
        }
    }

    fn written(&self, pointer: &str) -> Cow<'a, str> {
        self.document.written(pointer)
    }
}

/// Returns the number a person counts a list index as.
fn ordinal(index: &str) -> usize {
    index.parse::<usize>().map_or(0, |index| index.saturating_add(1))
}

/// The violations of one branch of a choice.
type Branch<'e> = Vec<&'e ValidationError<'static>>;

/// Collects branches; one that is itself nothing but a choice is replaced by its own branches.
fn flatten<'e>(pointer: &str, context: &'e [Vec<ValidationError<'static>>], branches: &mut Vec<Branch<'e>>) {
    for branch in context {
        match branch.as_slice() {
            [error] if error.instance_path().as_str() == pointer => match error.kind() {
                Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                    flatten(pointer, context, branches);
                }
                _ => branches.push(vec![error]),
            },
            errors => branches.push(errors.iter().collect()),
        }
    }
}

fn is_type(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

fn is_choice(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. })
}

fn is_keys(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => unexpected.iter().any(|key| !key.starts_with("x-")),
        Kind::Required { .. } => true,
        _ => false,
    }
}

/// Returns whether the violation is about a direct child of the value at `pointer`.
fn is_below(error: &ValidationError<'_>, pointer: &str) -> bool {
    error.instance_path().as_str().rsplit_once('/').is_some_and(|(parent, _)| parent == pointer)
}

fn choices_of<'e>(error: &'e ValidationError<'_>) -> Vec<&'e Value> {
    match error.kind() {
        Kind::Enum { options } => options.as_array().into_iter().flatten().collect(),
        Kind::Constant { expected_value } => vec![expected_value],
        _ => Vec::new(),
    }
}

fn expected_types(branches: &[Branch<'_>], own: &impl Fn(&ValidationError<'_>) -> bool) -> Vec<&'static str> {
    let mut names = Vec::new();
    for error in branches.iter().flatten().filter(|error| own(error)) {
        if let Kind::Type { kind } = error.kind() {
            names.extend(type_names(kind).into_iter().filter(|name| *name != NOTHING));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}
