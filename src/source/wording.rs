//! Words for kinds of values, for what was found and for the plain rules of a schema.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::text;

/// How many names of a list are shown.
const MOST_NAMES: usize = 20;

/// How many characters of something from the file are shown within a sentence.
const SHOWN_CHARS: usize = 40;

pub(super) const STRING: &str = "a string";
pub(super) const NUMBER: &str = "a number";
pub(super) const INTEGER: &str = "a whole number";
pub(super) const BOOLEAN: &str = "`true` or `false`";
pub(super) const LIST: &str = "a list";
pub(super) const MAP: &str = "a map";
pub(super) const NOTHING: &str = "nothing";

/// Returns the expected kinds of value, without the null of an optional key.
pub(super) fn type_names(kind: &TypeKind) -> Vec<&'static str> {
    let name = |kind| match kind {
        JsonType::Null => NOTHING,
        JsonType::Boolean => BOOLEAN,
        JsonType::Integer => INTEGER,
        JsonType::Number => NUMBER,
        JsonType::String => STRING,
        JsonType::Array => LIST,
        JsonType::Object => MAP,
    };
    match kind {
        TypeKind::Single(kind) => vec![name(*kind)],
        // That a key may be left empty is no help to someone who filled it.
        TypeKind::Multiple(kinds) => kinds.iter().map(name).filter(|name| *name != NOTHING).collect(),
    }
}

/// Returns what was found, as a person wrote it.
pub(super) fn found_in_words(found: &Value, written: &str) -> String {
    match found {
        Value::Null if written.is_empty() => NOTHING.to_owned(),
        Value::Null | Value::Bool(_) => format!("`{written}`"),
        Value::Number(_) => format!("the number {}", shortened(written)),
        Value::String(string) => format!("the string {:?}", shortened(string)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

/// Returns the code and the second half of a sentence for a plain rule about one value.
pub(super) fn rule(kind: &Kind, found: &Value) -> Option<(&'static str, String)> {
    let length = found.as_array().map_or(0, Vec::len);
    let counted = |noun: &str, limit: u64| text::plural(noun, usize::try_from(limit).unwrap_or(usize::MAX));
    Some(match kind {
        Kind::Minimum { limit } => ("range", format!("must be at least {limit}, found {found}")),
        Kind::Maximum { limit } => ("range", format!("must be at most {limit}, found {found}")),
        Kind::ExclusiveMinimum { limit } => ("range", format!("must be more than {limit}, found {found}")),
        Kind::ExclusiveMaximum { limit } => ("range", format!("must be less than {limit}, found {found}")),
        Kind::MultipleOf { multiple_of } => {
            ("range", format!("must be a multiple of {multiple_of}, found {found}"))
        }
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } | Kind::MinProperties { limit: 1 } => {
            ("empty", "must not be empty".to_owned())
        }
        Kind::MinLength { limit } => ("size", format!("must have at least {}", counted("character", *limit))),
        Kind::MaxLength { limit } => ("size", format!("must have at most {}", counted("character", *limit))),
        Kind::MinItems { limit } => {
            ("size", format!("must have at least {}, found {length}", counted("item", *limit)))
        }
        Kind::MaxItems { limit } => {
            ("size", format!("must have at most {}, found {length}", counted("item", *limit)))
        }
        Kind::MinProperties { limit } => ("size", format!("must have at least {}", counted("key", *limit))),
        Kind::MaxProperties { limit } => ("size", format!("must have at most {}", counted("key", *limit))),
        Kind::UniqueItems => ("size", "must not hold an item twice".to_owned()),
        Kind::Pattern { pattern } => ("pattern", format!("must match the pattern `{pattern}`")),
        Kind::OneOfMultipleValid { .. } => ("form", "fits more than one of its forms".to_owned()),
        _ => return None,
    })
}

pub(super) fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    if names.len() > MOST_NAMES {
        shown.push(format!("{} more", names.len() - MOST_NAMES));
    }
    text::joined(shown, "and")
}

pub(super) fn listed_or(names: &[&str]) -> String {
    text::ticked_or(names.iter().take(MOST_NAMES))
}

/// Returns something from the file short enough to stand in a sentence.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    text::truncate(text, SHOWN_CHARS)
}
