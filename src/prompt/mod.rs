//! Owns the task: a goal, its context and the output that is expected.
//!
//! A [`Prompt`] cannot be invalid: [`load`] either returns one or every fault of its file with its place.

mod checks;
mod file;
mod publish;
mod variables;

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::check::{Check, Holds};
use crate::digest;

pub use file::{PromptFile, load};
pub use publish::schema;
pub use variables::{
    ENVIRONMENT_PREFIX, Given, GivenText, ValueError, Values, VariableFile, Variables, literal,
};

/// What to say of a task with nothing that a verdict could be held against.
pub const UNVERIFIABLE: &str = "the task names no path, no check and no criterion";

/// The seeds' `TepaPrompt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "A task.")]
pub struct Prompt {
    /// What to accomplish.
    pub goal: String,
    /// Background: anything.
    #[serde(default)]
    pub context: Map<String, Value>,
    /// What success looks like.
    pub expected_output: ExpectedOutput,
}

/// A sentence, or a list of artifacts.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedOutput {
    /// In words.
    Text(String),
    /// As artifacts; never empty.
    List(Vec<Expected>),
}

/// One expected artifact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expected {
    /// Where it is to be, relative to the workspace. It must exist for the run to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub path: Option<String>,
    /// What it should contain.
    #[schemars(length(min = 1))]
    pub description: String,
    /// What is checked one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub criteria: Vec<String>,
    /// What tepa finds out by itself once the steps are done; a failed check cannot be outvoted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

impl Expected {
    /// Returns the checks that are to be run, in order, with the one that goes without saying: what has a path has to exist, and must not
    /// be empty unless checks say what else it has to be.
    pub fn all_checks(&self) -> Vec<Check> {
        let said = |check: &Check| matches!(check, Check::Exists(_) | Check::Absent(_));
        let goes_without_saying =
            || if self.checks.is_empty() { Check::Filled } else { Check::Exists(Holds) };
        let implied = self.path.is_some() && !self.checks.iter().any(said);
        implied.then(goes_without_saying).into_iter().chain(self.checks.iter().cloned()).collect()
    }

    fn names_something(&self) -> bool {
        self.path.is_some() || !self.checks.is_empty() || !self.criteria.is_empty()
    }
}

impl Prompt {
    /// Returns the expected artifacts that name a path, in order.
    pub fn expected_paths(&self) -> impl Iterator<Item = (&str, &Expected)> {
        self.expected().iter().filter_map(|expected| Some((expected.path.as_deref()?, expected)))
    }

    /// Returns whether there is anything that a verdict could be held against: a path, a check or a criterion.
    pub fn is_verifiable(&self) -> bool {
        self.expected().iter().any(Expected::names_something)
    }

    /// Returns the SHA-256 of the task as JSON, in lower-case hexadecimal.
    pub fn sha256(&self) -> String {
        // It came from text, so it can become text again.
        digest::sha256_of(&serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns the expected artifacts, in order; none where the output is described in words.
    pub fn expected(&self) -> &[Expected] {
        match &self.expected_output {
            ExpectedOutput::Text(_) => &[],
            ExpectedOutput::List(list) => list,
        }
    }
}

impl Serialize for ExpectedOutput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ExpectedOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExpectedOutputVisitor)
    }
}

/// Reads item by item, so that what is wrong with one is known by its place.
struct ExpectedOutputVisitor;

impl<'de> Visitor<'de> for ExpectedOutputVisitor {
    type Value = ExpectedOutput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list")
    }

    fn visit_str<E>(self, text: &str) -> Result<ExpectedOutput, E> {
        Ok(ExpectedOutput::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<ExpectedOutput, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(ExpectedOutput::List)
    }
}

impl schemars::JsonSchema for ExpectedOutput {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExpectedOutput".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What success looks like: a sentence, or a list of artifacts.",
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": generator.subschema_for::<Expected>(),
        })
    }
}
