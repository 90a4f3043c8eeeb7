//! Owns what models are told about a tool: the seeds' `ToolSchema` and `ParameterDef`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The five JSON-compatible types of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ParameterType {
    /// Text.
    String,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
}

impl ParameterType {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct ParameterDef {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// What to supply: format, constraints, an example.
    #[schemars(length(min = 1))]
    pub description: String,
    /// Whether it must be supplied; left out, it must be unless there is a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Used when it is not supplied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

impl ParameterDef {
    /// Returns whether a call without it is refused.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && self.required.unwrap_or(true)
    }
}

/// What a planner and an executor's model are told about a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSchema {
    /// Unique, `snake_case`.
    pub name: String,
    /// What it does, on what, and what it returns.
    pub description: String,
    /// In the order in which they are shown.
    pub parameters: IndexMap<String, ParameterDef>,
}

/// A tool definition that cannot be used, with every failing field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid tool definition: {}", .0.join("; "))]
pub struct ToolSchemaError(pub Vec<String>);

impl ToolSchema {
    /// Returns a schema without parameters.
    pub fn new(name: &str, description: &str) -> Self {
        Self { name: name.to_owned(), description: description.to_owned(), parameters: IndexMap::new() }
    }

    /// Adds a parameter that every call must supply.
    #[must_use]
    pub fn required(self, name: &str, kind: ParameterType, description: &str) -> Self {
        self.parameter(name, kind, description, Some(true), None)
    }

    /// Adds a parameter that a call may leave out.
    #[must_use]
    pub fn optional(self, name: &str, kind: ParameterType, description: &str) -> Self {
        self.parameter(name, kind, description, Some(false), None)
    }

    /// Adds a parameter with a default.
    #[must_use]
    pub fn defaulted(self, name: &str, kind: ParameterType, description: &str, default: Value) -> Self {
        self.parameter(name, kind, description, Some(false), Some(default))
    }

    fn parameter(
        mut self,
        name: &str,
        kind: ParameterType,
        description: &str,
        required: Option<bool>,
        default: Option<Value>,
    ) -> Self {
        let definition = ParameterDef { kind, description: description.to_owned(), required, default };
        self.parameters.insert(name.to_owned(), definition);
        self
    }

    /// Returns the schema itself when a model can work with it; the rules of the seeds' `defineTool`.
    pub fn validated(self) -> Result<Self, ToolSchemaError> {
        let mut faults = Vec::new();
        if self.name.trim().is_empty() {
            faults.push("name: Tool name must be non-empty".to_owned());
        }
        if self.description.trim().is_empty() {
            faults.push("description: Tool description must be non-empty".to_owned());
        }
        for (name, definition) in &self.parameters {
            if definition.description.trim().is_empty() {
                faults
                    .push(format!("parameters.{name}.description: Parameter description must be non-empty"));
            }
        }
        if faults.is_empty() { Ok(self) } else { Err(ToolSchemaError(faults)) }
    }

    /// Returns the parameters as a JSON Schema, the form that providers take.
    pub fn to_json_schema(&self) -> Value {
        let properties: serde_json::Map<String, Value> = self
            .parameters
            .iter()
            .map(|(name, definition)| {
                let mut property =
                    json!({"type": definition.kind.name(), "description": definition.description});
                if definition.kind == ParameterType::Array {
                    property["items"] = json!({});
                }
                if let Some(default) = &definition.default {
                    property["default"] = default.clone();
                }
                (name.clone(), property)
            })
            .collect();
        let required: Vec<&String> =
            self.parameters.iter().filter(|(_, d)| d.is_required()).map(|(name, _)| name).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_definition_lists_every_failing_field() {
        let schema = ToolSchema::new("", "does things").required("deploymentId", ParameterType::String, " ");
        assert_eq!(
            schema.validated().unwrap_err().to_string(),
            "Invalid tool definition: name: Tool name must be non-empty; \
             parameters.deploymentId.description: Parameter description must be non-empty"
        );
    }

    #[test]
    fn a_parameter_is_required_unless_it_says_otherwise_or_has_a_default() {
        let schema: ToolSchema =
            serde_json::from_value(json!({"name": "t", "description": "d", "parameters": {
                "plain": {"type": "string", "description": "x"},
                "loose": {"type": "array", "description": "x", "required": false},
                "with": {"type": "number", "description": "x", "default": 3},
            }}))
            .unwrap();
        let json_schema = schema.to_json_schema();
        assert_eq!(json_schema["required"], json!(["plain"]));
        assert_eq!(
            json_schema["properties"]["with"],
            json!({"type": "number", "description": "x", "default": 3})
        );
    }
}
