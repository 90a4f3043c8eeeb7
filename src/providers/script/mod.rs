//! Owns the file of scripted replies, `tepa.replay/1`: its forms, a reply as written, and a reply as understood.
//!
//! A reply is addressed by what a call is for and not by when it happens, so that concurrent calls cannot swap answers.

mod parse;

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

pub(super) use self::parse::{Fault, parse};
use crate::event::{Purpose, Role};
use crate::outcome::Usage;
use crate::provider::{FinishReason, ProviderError};
use crate::source;

/// The format and its version.
const FORMAT: &str = "tepa.replay/1";

/// How a file is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One YAML document.
    Yaml,
    /// One JSON document.
    Json,
    /// A line for the header, then a line for each reply.
    JsonLines,
}

impl Form {
    /// Returns the form that the ending of a path asks for.
    pub(super) fn of(path: &Path) -> Self {
        match path.extension().map(OsStr::to_ascii_lowercase) {
            Some(ending) if ending == "jsonl" => Self::JsonLines,
            Some(ending) if ending == "json" => Self::Json,
            _ => Self::Yaml,
        }
    }
}

/// Which part of a run asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    Planner,
    Step,
    Evaluator,
}

impl From<Role> for Stage {
    fn from(role: Role) -> Self {
        match role {
            Role::Planner => Self::Planner,
            Role::Executor => Self::Step,
            Role::Evaluator => Self::Evaluator,
        }
    }
}

/// A file of one document.
#[derive(JsonSchema)]
#[schemars(
    title = "tepa replay",
    description = "Scripted replies of models, for runs without one.",
    deny_unknown_fields
)]
#[expect(
    dead_code,
    reason = "a form to publish: files are read piece by piece, so that every fault has its place"
)]
struct WrittenFile {
    /// The form of the file, with its version.
    #[schemars(extend("const" = FORMAT))]
    format: String,
    /// The replies; each is used once.
    replies: Vec<WrittenReply>,
}

/// Returns the published schema of a file of replies that is one document.
pub(super) fn schema() -> Value {
    source::schema_of_strict_file::<WrittenFile>("replay")
}

/// A reply as it stands in the file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WrittenReply {
    /// Which part of a run asks.
    pub(super) stage: Stage,
    /// The cycle, from 1; any if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cycle: Option<u32>,
    /// The id of the step, for `stage: step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<String>,
    /// The tool that the model is to call, for `stage: step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// What has to be in the request; a run that sends something else ends with exit 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expect: Option<Expectation>,
    /// The answer, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The answer, as JSON.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<Value>,
    /// The answer: a call of `tool` with these parameters.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) tool_use: Option<Value>,
    /// The answer: the call fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<WrittenError>,
    /// Tokens; estimated if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<WrittenUsage>,
    /// How long the answer takes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<u64>,
    /// Why the model stopped; follows from the answer if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<FinishReason>,
}

/// Keeps a null that was written apart from a key that was not.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// What has to be, or must not be, in what is sent.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Expectation {
    /// Texts that have to be in it.
    pub(super) contains: Vec<String>,
    /// Texts that must not be in it.
    pub(super) not_contains: Vec<String>,
}

/// The error that a reply is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenError {
    /// What sort of failure it is.
    kind: ErrorKind,
    /// What the provider says.
    message: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ErrorKind {
    RateLimited,
    Overloaded,
    Unreachable,
    Unauthorized,
    ContextTooLong,
    Refused,
    UnknownModel,
    Invalid,
}

impl WrittenError {
    /// Returns how an error is written; a hole in a script has no place in another one.
    pub(super) fn of(error: &ProviderError) -> Option<Self> {
        let kind = match error {
            ProviderError::RateLimited { .. } => ErrorKind::RateLimited,
            ProviderError::Overloaded(_) => ErrorKind::Overloaded,
            ProviderError::Unreachable(_) => ErrorKind::Unreachable,
            ProviderError::Unauthorized(_) => ErrorKind::Unauthorized,
            ProviderError::ContextTooLong(_) => ErrorKind::ContextTooLong,
            ProviderError::Refused(_) => ErrorKind::Refused,
            ProviderError::UnknownModel(_) => ErrorKind::UnknownModel,
            ProviderError::Invalid(_) => ErrorKind::Invalid,
            ProviderError::Unscripted(_) => return None,
        };
        Some(Self { kind, message: error.to_string() })
    }
}

impl From<WrittenError> for ProviderError {
    fn from(WrittenError { kind, message }: WrittenError) -> Self {
        match kind {
            ErrorKind::RateLimited => Self::RateLimited { message, retry_after: None },
            ErrorKind::Overloaded => Self::Overloaded(message),
            ErrorKind::Unreachable => Self::Unreachable(message),
            ErrorKind::Unauthorized => Self::Unauthorized(message),
            ErrorKind::ContextTooLong => Self::ContextTooLong(message),
            ErrorKind::Refused => Self::Refused(message),
            ErrorKind::UnknownModel => Self::UnknownModel(message),
            ErrorKind::Invalid => Self::Invalid(message),
        }
    }
}

/// Tokens; unlike [`Usage`] it knows every key, since a person may write it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "Tokens of a call.")]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct WrittenUsage {
    /// Read by the model, all of them.
    input: u64,
    /// Written by the model.
    output: u64,
    /// The part of `input` that came from a cache.
    cached: u64,
    /// The part of `input` that was written to a cache.
    cache_write: u64,
}

impl From<Usage> for WrittenUsage {
    fn from(Usage { input, output, cached, cache_write }: Usage) -> Self {
        Self { input, output, cached, cache_write }
    }
}

impl From<WrittenUsage> for Usage {
    fn from(WrittenUsage { input, output, cached, cache_write }: WrittenUsage) -> Self {
        Self { input, output, cached, cache_write }
    }
}

/// What a call is for, without its cycle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) stage: Stage,
    pub(super) step: Option<String>,
    pub(super) tool: Option<String>,
}

impl Address {
    /// Returns the address of a call.
    pub(super) fn of(purpose: &Purpose) -> Self {
        Self { stage: purpose.role.into(), step: purpose.step.clone(), tool: purpose.tool.clone() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Planner => "planner",
            Stage::Step => "step",
            Stage::Evaluator => "evaluator",
        })?;
        if let Some(step) = &self.step {
            write!(f, " `{step}`")?;
        }
        if let Some(tool) = &self.tool {
            write!(f, ", tool `{tool}`")?;
        }
        Ok(())
    }
}

/// A reply that can be given.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its place among the replies of the file, from 1.
    pub(super) number: usize,
    pub(super) address: Address,
    pub(super) cycle: Option<u32>,
    pub(super) expect: Expectation,
    pub(super) delay: Duration,
    pub(super) answer: Result<Words, ProviderError>,
}

/// What a model is scripted to say.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) text: String,
    /// The parameters of a call of the tool in the address.
    pub(super) tool_use: Option<Value>,
    pub(super) usage: Option<Usage>,
    pub(super) finish_reason: FinishReason,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reply {} ({}", self.number, self.address)?;
        if let Some(cycle) = self.cycle {
            write!(f, ", cycle {cycle}")?;
        }
        f.write_str(")")
    }
}

/// Returns a whole file.
pub(super) fn write(replies: &[Value], form: Form) -> Result<String, String> {
    let whole = || json!({"format": FORMAT, "replies": replies});
    match form {
        Form::Yaml => source::to_yaml(&whole()),
        Form::Json => Ok(format!("{:#}\n", whole())),
        Form::JsonLines => {
            let lines = std::iter::once(json!({"format": FORMAT}).to_string());
            let lines = lines.chain(replies.iter().map(Value::to_string));
            Ok(lines.map(|line| line + "\n").collect())
        }
    }
}
