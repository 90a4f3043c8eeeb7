//! Owns the variables of a task: what a file declares, and the filling of `{{name}}` in its texts once the file is parsed.
//!
//! A value never changes the structure of a file, and nothing in a value is a placeholder. What a file declares is read leniently here:
//! its shape is the schema's business, and a slip in a declaration should not make every use of it a fault as well.

mod fill;
mod placeholder;
mod shell;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use fill::fill;
pub use placeholder::literal;
pub use value::{ENVIRONMENT_PREFIX, Given, GivenText, ValueError, Values};

use crate::source::Document;

/// A variable as a file declares it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Variable")]
pub struct VariableFile {
    /// What it is for; shown when it has no value.
    #[schemars(length(min = 1))]
    pub description: Option<String>,
    /// What values it takes; text if left out.
    pub r#type: Option<Kind>,
    /// What it is when nothing else is given.
    #[schemars(with = "Option<Scalar>")]
    pub default: Option<Value>,
    /// Whether a value has to be given; if left out, it has to be where there is no default.
    pub required: Option<bool>,
}

/// What a default may be.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its shape is of interest")]
enum Scalar {
    Text(String),
    Number(f64),
    Boolean(bool),
}

/// What values a variable takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Kind {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

impl Kind {
    fn expected(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
        }
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
        }
    }
}

/// The variables that a file declares, in its order.
#[derive(Debug, Clone, Default)]
pub struct Variables(Vec<Variable>);

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    kind: Kind,
    description: Option<String>,
    /// With escaped placeholders in it as the characters that they stand for.
    default: Option<Value>,
    required: bool,
}

impl Variables {
    /// Returns the variables of a document.
    pub fn of(document: &Document) -> Self {
        let declared = document.value().get("variables").and_then(Value::as_object);
        let variable = |(name, declared): (&String, &Value)| {
            let kind = declared.get("type").and_then(|kind| serde_json::from_value(kind.clone()).ok());
            let kind: Kind = kind.unwrap_or_default();
            let default = declared.get("default").filter(|value| kind.takes(value));
            let required = declared.get("required").and_then(Value::as_bool);
            Variable {
                name: name.clone(),
                kind,
                description: declared.get("description").and_then(Value::as_str).map(str::to_owned),
                required: required.unwrap_or(default.is_none()),
                default: default.map(fill::unescaped),
            }
        };
        Self(declared.into_iter().flatten().map(variable).collect())
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|variable| variable.name.as_str())
    }

    fn declares(&self, name: &str) -> bool {
        self.names().any(|declared| declared == name)
    }

    fn iter(&self) -> impl Iterator<Item = &Variable> {
        self.0.iter()
    }
}
