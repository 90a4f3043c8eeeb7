//! Owns what checks compare content with: regular expressions, JSON Schemas, hashes.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A regular expression; equal ones are written alike.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Returns the expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what finds it in bytes, which need not be text.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a regular expression must not be empty".to_owned());
        }
        // Files have lines, whichever system wrote them.
        let regex = RegexBuilder::new(&text).multi_line(true).crlf(true).build();
        let regex = regex.map_err(|error| {
            let reason = error.to_string();
            // The message draws the expression; its last line says what is wrong.
            let reason = reason.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
            format!("`{text}` is not a regular expression: {reason}")
        })?;
        Ok(Self { text, regex })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "minLength": 1})
    }
}

/// A JSON Schema that was compiled; equal ones are written alike.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct CheckSchema {
    schema: Value,
    validator: Arc<jsonschema::Validator>,
}

impl CheckSchema {
    /// Returns what does not fit, each with its place, at most `most`.
    ///
    /// # Errors
    /// A pattern of the schema takes too long to decide, in words.
    pub fn violations(&self, value: &Value, most: usize) -> Result<Vec<String>, String> {
        let errors = self.validator.iter_errors(value).take(most);
        let placed = errors.map(|error| {
            let words = match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("`{place}`: {error}"),
            };
            match error.kind() {
                ValidationErrorKind::BacktrackLimitExceeded { .. } => {
                    Err(format!("a pattern of the schema takes too long: {words}"))
                }
                _ => Ok(words),
            }
        });
        placed.collect()
    }
}

impl TryFrom<Value> for CheckSchema {
    type Error = String;

    fn try_from(schema: Value) -> Result<Self, String> {
        let validator = jsonschema::options().build(&schema);
        let validator = validator.map_err(|error| {
            let place = error.instance_path().as_str();
            let why = match place {
                "" => error.to_string(),
                _ if place.ends_with("/type") => format!("{} is no type", error.instance()),
                _ => format!("at `{place}`, {error}"),
            };
            format!("this is not a JSON Schema: {why}")
        })?;
        Ok(Self { schema, validator: Arc::new(validator) })
    }
}

impl From<CheckSchema> for Value {
    fn from(schema: CheckSchema) -> Self {
        schema.schema
    }
}

impl PartialEq for CheckSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl fmt::Debug for CheckSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckSchema").field(&self.schema).finish()
    }
}

impl JsonSchema for CheckSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CheckSchema".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["object", "boolean"]})
    }
}

/// A hash, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256(String);

impl Sha256 {
    /// Returns the 64 digits.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!("`{text}` is not a sha256: it has 64 hexadecimal digits"))
        }
    }
}

impl From<Sha256> for String {
    fn from(hash: Sha256) -> Self {
        hash.0
    }
}

impl JsonSchema for Sha256 {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sha256".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}
