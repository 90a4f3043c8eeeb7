//! Owns what models are told about a tool: the seeds' `ToolSchema` and `ParameterDef`.

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::params::kind_of;
use super::{ParamsError, RawSchema, check_params};

/// The longest name that every provider takes.
const LONGEST_NAME: usize = 64;

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

    /// Returns whether `value` is of this type.
    pub fn takes(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
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
    /// The whole schema where it came from elsewhere; `parameters` is then its readable form.
    #[serde(default, rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Arc<RawSchema>>,
}

/// A tool definition that cannot be used, with every failing field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid tool definition: {}", .0.join("; "))]
pub struct ToolSchemaError(pub Vec<String>);

impl ToolSchema {
    /// Returns a schema without parameters.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: IndexMap::new(),
            raw: None,
        }
    }

    /// Returns a schema whose parameters are described by a JSON Schema from elsewhere, which is passed through whole.
    pub fn from_json_schema(name: &str, description: &str, schema: Value) -> Self {
        let raw = RawSchema::new(schema);
        Self { parameters: raw.parameters(), raw: Some(Arc::new(raw)), ..Self::new(name, description) }
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
        } else if !takes_name(&self.name) {
            faults
                .push(format!("name: Tool name must be at most {LONGEST_NAME} letters, digits, `_` and `-`"));
        }
        if self.description.trim().is_empty() {
            faults.push("description: Tool description must be non-empty".to_owned());
        }
        // What came from elsewhere need not describe each of its parameters.
        for (name, definition) in self.parameters.iter().filter(|_| self.raw.is_none()) {
            if name.trim().is_empty() {
                faults.push("parameters: Parameter name must be non-empty".to_owned());
            }
            if definition.description.trim().is_empty() {
                faults
                    .push(format!("parameters.{name}.description: Parameter description must be non-empty"));
            }
            if let Some(default) = &definition.default
                && !definition.kind.takes(default)
            {
                faults.push(format!(
                    "parameters.{name}.default: Expected {}, received {}",
                    definition.kind.name(),
                    kind_of(default)
                ));
            }
        }
        if faults.is_empty() { Ok(self) } else { Err(ToolSchemaError(faults)) }
    }

    /// Returns `params` with defaults applied, or every fault.
    pub fn check(&self, params: Value) -> Result<Value, ParamsError> {
        match &self.raw {
            Some(raw) => raw.check(params),
            None => check_params(params, &self.parameters),
        }
    }

    /// Returns the parameters as a JSON Schema; one from elsewhere as it came.
    pub fn to_json_schema(&self) -> Value {
        if let Some(raw) = &self.raw {
            return raw.value().clone();
        }
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

/// Returns whether every provider takes a tool of this name.
fn takes_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
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
    fn a_definition_has_a_name_that_providers_take_and_defaults_of_the_right_type() {
        let schema = ToolSchema::new("a b", "").defaulted("n", ParameterType::Number, "x", json!("1"));
        assert_eq!(
            schema.validated().unwrap_err().to_string(),
            "Invalid tool definition: name: Tool name must be at most 64 letters, digits, `_` and `-`; \
             description: Tool description must be non-empty; parameters.n.default: Expected number, received string"
        );
    }

    #[test]
    fn a_schema_from_elsewhere_is_passed_through_whole() {
        let whole = json!({"type": "object", "x-own": [1], "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "integer"}}});
        let schema = ToolSchema::from_json_schema("t", "d", whole.clone()).validated().unwrap();
        assert_eq!(schema.to_json_schema(), whole);
        let kept: ToolSchema = serde_json::from_value(serde_json::to_value(&schema).unwrap()).unwrap();
        assert_eq!(kept, schema);
        assert!(schema.check(json!({"a": 1.5})).is_err());
        assert_eq!(schema.check(json!({"a": 1, "b": 2})).unwrap(), json!({"a": 1, "b": 2}));
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
