//! Owns the check of a model's parameters against a tool's definition; every fault is listed, defaults are applied.
//!
//! Unknown parameters are refused: dropping one would run something other than what the model asked for.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::ParameterDef;

/// Parameters that a tool cannot be called with, with every fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Parameter validation failed: {}", .0.join("; "))]
pub struct ParamsError(pub Vec<String>);

/// Returns `params` with defaults applied.
pub fn check_params(
    params: Value,
    definitions: &IndexMap<String, ParameterDef>,
) -> Result<Value, ParamsError> {
    let mut given = match params {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => return Err(ParamsError(vec![format!("expected an object, received {}", kind_of(&other))])),
    };
    let mut faults = Vec::new();
    let mut checked = Map::new();
    for (name, definition) in definitions {
        // Models send null for a parameter they mean to leave out.
        match given.shift_remove(name).filter(|value| !value.is_null()) {
            Some(value) if definition.kind.takes(&value) => {
                checked.insert(name.clone(), value);
            }
            Some(value) => {
                faults.push(format!(
                    "{name}: Expected {}, received {}",
                    definition.kind.name(),
                    kind_of(&value)
                ));
            }
            None => match &definition.default {
                Some(default) => {
                    checked.insert(name.clone(), default.clone());
                }
                None if definition.is_required() => faults.push(format!("{name}: Required")),
                None => {}
            },
        }
    }
    for name in given.keys() {
        let known: Vec<&str> = definitions.keys().map(String::as_str).collect();
        faults.push(format!("{name}: Unknown parameter (known: {})", known.join(", ")));
    }
    if faults.is_empty() { Ok(Value::Object(checked)) } else { Err(ParamsError(faults)) }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{ParameterType, ToolSchema};
    use serde_json::json;

    fn schema() -> ToolSchema {
        ToolSchema::new("t", "d")
            .required("path", ParameterType::String, "p")
            .optional("cwd", ParameterType::String, "c")
            .defaulted("maxDepth", ParameterType::Number, "m", json!(1))
    }

    #[test]
    fn defaults_are_applied_and_null_counts_as_left_out() {
        let checked = check_params(json!({"path": "a", "cwd": null}), &schema().parameters).unwrap();
        assert_eq!(checked, json!({"path": "a", "maxDepth": 1}));
    }

    #[test]
    fn every_fault_is_listed() {
        let error = check_params(json!({"maxDepth": "2", "paht": "a"}), &schema().parameters).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Parameter validation failed: path: Required; maxDepth: Expected number, received string; \
             paht: Unknown parameter (known: path, cwd, maxDepth)"
        );
    }
}
