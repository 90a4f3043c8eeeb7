//! Owns the check that a command ends as it should.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::DurationText;

/// The longest that a command may run if nothing else is said, in milliseconds.
const DEFAULT_TIMEOUT: u64 = 30_000;

/// A command and the end that it has to come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandCheck {
    /// A text for the shell, or a program with its arguments; it works in the folder of the run.
    ///
    /// Files that it names are taken as they were when the run began, unless they are expected outputs.
    pub run: CommandLine,
    /// The exit code that it has to end with; 0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub exit: Option<u8>,
    /// Text that has to be in its standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub stdout_contains: Option<String>,
    /// The longest that it may run: milliseconds, or text such as `2m`; 30 seconds if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
}

impl CommandCheck {
    /// Returns the longest that it may run.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.0))
    }
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A text for the shell of the system.
    Shell(String),
    /// A program with its arguments; never empty.
    Words(Vec<String>),
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(text) => f.write_str(text.trim_end()),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

impl Serialize for CommandLine {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shell(text) => serializer.serialize_str(text),
            Self::Words(words) => words.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let line = match Value::deserialize(deserializer)? {
            Value::String(text) => Self::Shell(text),
            list => Self::Words(serde_json::from_value(list).map_err(D::Error::custom)?),
        };
        let said = match &line {
            Self::Shell(text) => !text.trim().is_empty(),
            Self::Words(words) => words.first().is_some_and(|program| !program.is_empty()),
        };
        if said { Ok(line) } else { Err(D::Error::custom("a command needs at least one word")) }
    }
}

impl JsonSchema for CommandLine {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommandLine".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": {"type": "string"},
        })
    }
}
