//! Owns what stands in a record for an output that is too long for a line: which text lies beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The key of a reference.
const KEY: &str = "$output";

/// How a value is written as a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// It is one.
    Text,
    /// Indented JSON.
    Json,
}

/// A text that is kept beside a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The hash of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// How many they are.
    pub bytes: u64,
    /// What it is.
    pub form: Form,
}

impl Kept {
    /// Returns the value that stands for it.
    pub fn reference(&self) -> Value {
        json!({ KEY: self })
    }

    /// Returns what `value` stands for, if it has the form of a reference.
    pub fn named_by(value: &Value) -> Option<serde_json::Result<Self>> {
        Self::is_reference(value).then(|| Self::deserialize(&value[KEY]))
    }

    /// Returns whether a record could take `value` for a reference.
    pub fn is_reference(value: &Value) -> bool {
        value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(KEY))
    }

    /// Returns the name of its file.
    pub fn file(&self) -> String {
        let ending = match self.form {
            Form::Text => "txt",
            Form::Json => "json",
        };
        format!("{}.{ending}", self.sha256)
    }
}
