//! Owns the part of JSON Schema that the API can hold an answer to.
//!
//! Limits of numbers, lengths and counts are left out rather than refused: whoever asked checks the answer against the whole schema anyway.

use serde_json::{Map, Value};

/// Keywords that the API refuses.
const REFUSED: [&str; 16] = [
    "$schema",
    "$id",
    "title",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// Returns what the API takes of a schema; every object in it is closed.
pub(super) fn accepted(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(accepted).collect(),
        Value::Object(keywords) => keyword_by_keyword(keywords),
        other => other.clone(),
    }
}

fn keyword_by_keyword(keywords: &Map<String, Value>) -> Value {
    let mut kept = Map::new();
    for (keyword, value) in keywords {
        let value = match (keyword.as_str(), value) {
            (keyword, _) if REFUSED.contains(&keyword) => continue,
            // The keys below these are names, not keywords.
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.iter().map(|(name, schema)| (name.clone(), accepted(schema))).collect()
            }
            ("items" | "anyOf" | "allOf" | "oneOf", value) => accepted(value),
            (_, value) => value.clone(),
        };
        kept.insert(keyword.clone(), value);
    }
    if kept.contains_key("properties") {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_left_out_and_objects_closed() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["score"],
            "properties": {
                "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "minimum 0"},
                "minimum": {"enum": ["default", "title"]},
                "list": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"x": {"anyOf": [
                    {"type": "string", "maxLength": 3}, {"type": "null"}
                ]}}}},
            },
        });
        assert_eq!(
            accepted(&schema),
            json!({
                "type": "object",
                "required": ["score"],
                "properties": {
                    "score": {"type": "number", "description": "minimum 0"},
                    "minimum": {"enum": ["default", "title"]},
                    "list": {"type": "array", "items": {
                        "type": "object",
                        "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                        "additionalProperties": false,
                    }},
                },
                "additionalProperties": false,
            })
        );
    }
}
