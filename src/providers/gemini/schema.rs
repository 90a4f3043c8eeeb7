//! Owns the API's own dialect of JSON Schema, in which tools are declared.
//!
//! It passes on no word but those that every model takes: a request with one that the API does not know is refused as a whole.

use serde_json::{Map, Value, json};

/// Returns a JSON Schema of a tool in the API's own dialect: types in capitals, and few words.
pub(super) fn of(schema: &Value) -> Value {
    let Some(schema) = schema.as_object() else { return json!({}) };
    let mut converted = Map::new();
    for (word, value) in schema {
        let value = match (word.as_str(), value) {
            ("type", Value::String(name)) => json!(name.to_uppercase()),
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, property)| (name.clone(), of(property))).collect()
            }
            ("items", items) => of(items),
            ("description" | "required", value) => value.clone(),
            _ => continue,
        };
        converted.insert(word.clone(), value);
    }
    converted.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{ParameterType, ToolSchema};

    #[test]
    fn every_type_of_a_parameter_has_its_word() {
        let tool = ToolSchema::new("t", "d")
            .required("s", ParameterType::String, "x")
            .optional("n", ParameterType::Number, "x")
            .defaulted("b", ParameterType::Boolean, "x", json!(true))
            .optional("o", ParameterType::Object, "x")
            .optional("a", ParameterType::Array, "x");
        assert_eq!(
            of(&tool.to_json_schema()),
            json!({
                "type": "OBJECT",
                "properties": {
                    "s": {"type": "STRING", "description": "x"},
                    "n": {"type": "NUMBER", "description": "x"},
                    "b": {"type": "BOOLEAN", "description": "x"},
                    "o": {"type": "OBJECT", "description": "x"},
                    "a": {"type": "ARRAY", "description": "x", "items": {}},
                },
                "required": ["s"],
            })
        );
    }
}
