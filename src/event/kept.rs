//! Owns what stands in a record for an output that is too long for a line: which text lies beside it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::RunEvent;

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
    /// The key of a reference.
    pub const KEY: &str = "$output";

    /// Returns the value that stands for it.
    pub fn reference(&self) -> Value {
        json!({ Self::KEY: self })
    }

    /// Returns what `value` stands for, if it has the form of a reference.
    pub fn named_by(value: &Value) -> Option<serde_json::Result<Self>> {
        Self::is_reference(value).then(|| Self::deserialize(&value[Self::KEY]))
    }

    /// Returns whether a record could take `value` for a reference.
    pub fn is_reference(value: &Value) -> bool {
        value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(Self::KEY))
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

impl RunEvent {
    /// Returns what steps and tools returned, as far as this fact says it.
    pub fn outputs_mut(&mut self) -> Vec<&mut Arc<Value>> {
        match self {
            Self::ToolCompleted { output, .. } => vec![output],
            Self::StepCompleted { result, .. } => vec![&mut result.output],
            Self::ExecutionCompleted { results: Some(results), .. }
            | Self::ExecutionRecalled { results, .. } => {
                results.iter_mut().map(|result| &mut result.output).collect()
            }
            _ => Vec::new(),
        }
    }
}
