//! Owns the conversion of a JSON Schema to the part of the language that OpenAI's strict mode takes.
//!
//! It refuses a schema whose meaning would change. What only narrows values is left out: whoever asks checks the answer anyway.

use serde_json::{Map, Value, json};

/// The keywords that strict mode takes as they are.
const KEPT: [&str; 14] = [
    "type",
    "description",
    "enum",
    "const",
    "pattern",
    "multipleOf",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "required",
    "additionalProperties",
];

/// The keywords without which a schema allows more, but nothing else.
const LEFT_OUT: [&str; 12] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "default",
    "examples",
    "deprecated",
    "format",
    "minLength",
    "maxLength",
    "uniqueItems",
    "readOnly",
];

/// Returns the strict form of `schema`, in which what was optional is required and may be null; `None` when it has none.
pub(super) fn strict_schema(schema: &Value) -> Option<Value> {
    // The whole answer has to be one object, described in place.
    (schema["type"] == "object").then(|| strict(schema)).flatten()
}

fn strict(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    if let Some(target) = schema.get("$ref") {
        // Nothing may stand beside a reference.
        return target.as_str()?.starts_with('#').then(|| json!({"$ref": target}));
    }
    if !["type", "enum", "const", "anyOf", "oneOf"].iter().any(|key| schema.contains_key(*key)) {
        return None;
    }
    let mut result = Map::new();
    for (key, value) in schema {
        let (key, value) = match key.as_str() {
            "properties" => (key.as_str(), properties(schema, value)?),
            "items" => ("items", strict(value)?),
            // Of alternatives that exclude each other, one is taken in either case.
            "anyOf" | "oneOf" => ("anyOf", Value::Array(alternatives(value)?)),
            "$defs" | "definitions" => (key.as_str(), each(value, |_, schema| strict(schema))?),
            kept if KEPT.contains(&kept) => (kept, value.clone()),
            left_out if LEFT_OUT.contains(&left_out) => continue,
            _ => return None,
        };
        result.insert(key.to_owned(), value);
    }
    let values = schema.get("const").map(std::slice::from_ref);
    if let Some(values) = values.or_else(|| schema.get("enum")?.as_array().map(Vec::as_slice))
        && !schema.contains_key("type")
    {
        // A type has to be given even where the values say it.
        let are_text = values.iter().all(Value::is_string);
        result.insert("type".to_owned(), are_text.then(|| json!("string"))?);
    }
    if allows(schema, "object") {
        let names: Vec<&String> = schema.get("properties")?.as_object()?.keys().collect();
        result.insert("required".to_owned(), json!(names));
        let more = result.insert("additionalProperties".to_owned(), json!(false));
        if !matches!(more, None | Some(Value::Bool(_))) {
            return None;
        }
    }
    if allows(schema, "array") && !schema.contains_key("items") {
        return None;
    }
    Some(Value::Object(result))
}

fn properties(owner: &Map<String, Value>, properties: &Value) -> Option<Value> {
    let required = owner.get("required").and_then(Value::as_array);
    each(properties, |name, schema| {
        let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
        let schema = strict(schema)?;
        Some(if is_required { schema } else { nullable(schema) })
    })
}

fn alternatives(schemas: &Value) -> Option<Vec<Value>> {
    schemas.as_array()?.iter().map(strict).collect()
}

fn each(map: &Value, convert: impl Fn(&str, &Value) -> Option<Value>) -> Option<Value> {
    let entries = map.as_object()?.iter();
    let converted = entries.map(|(name, schema)| Some((name.clone(), convert(name, schema)?)));
    converted.collect::<Option<Map<_, _>>>().map(Value::Object)
}

/// Returns a strict schema that allows null too.
fn nullable(mut schema: Value) -> Value {
    let nothing = json!({"type": "null"});
    if schema.as_object().is_some_and(|schema| allows(schema, "null")) {
        return schema;
    }
    if let Some(alternatives) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        if !alternatives.contains(&nothing) {
            alternatives.push(nothing);
        }
        return schema;
    }
    if schema["type"].is_string() && schema.get("enum").is_none() && schema.get("const").is_none() {
        schema["type"] = json!([schema["type"], "null"]);
        return schema;
    }
    json!({"anyOf": [schema, nothing]})
}

fn allows(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|known| known == kind),
        Some(known) => known == kind,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_optional_becomes_required_and_nullable() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Plan",
            "type": "object",
            "properties": {
                "reasoning": {"type": "string", "minLength": 1},
                "model": {"type": "string", "description": "Whose"},
                "size": {"enum": ["s", "l"]},
                "note": {"type": ["string", "null"]},
                "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Step"}},
                "first": {"$ref": "#/$defs/Step", "description": "The first"},
                "way": {"oneOf": [{"const": "a"}, {"const": "b"}]},
            },
            "required": ["reasoning", "steps"],
            "$defs": {"Step": {"type": "object", "properties": {"id": {"type": "integer", "format": "uint32"}},
                "required": ["id"]}},
        });
        assert_eq!(
            strict_schema(&schema),
            Some(json!({
                "type": "object",
                "properties": {
                    "reasoning": {"type": "string"},
                    "model": {"type": ["string", "null"], "description": "Whose"},
                    "size": {"anyOf": [{"type": "string", "enum": ["s", "l"]}, {"type": "null"}]},
                    "note": {"type": ["string", "null"]},
                    "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Step"}},
                    "first": {"anyOf": [{"$ref": "#/$defs/Step"}, {"type": "null"}]},
                    "way": {"anyOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"},
                        {"type": "null"}]},
                },
                "required": ["reasoning", "model", "size", "note", "steps", "first", "way"],
                "$defs": {"Step": {"type": "object", "properties": {"id": {"type": "integer"}},
                    "required": ["id"], "additionalProperties": false}},
                "additionalProperties": false,
            }))
        );
    }

    #[test]
    fn a_strict_schema_stays_as_it_is() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "number", "minimum": 0}},
            "required": ["a"], "additionalProperties": false});
        assert_eq!(strict_schema(&schema), Some(schema));
    }

    #[test]
    fn a_schema_that_would_change_its_meaning_has_no_strict_form() {
        for property in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
            json!({"type": "array"}),
            json!({"enum": ["a", 1]}),
            json!({"type": "string", "not": {"const": ""}}),
            json!({"allOf": [{"type": "string"}]}),
            json!({"$ref": "https://host/schema.json"}),
        ] {
            let schema = json!({"type": "object", "properties": {"a": property}, "required": ["a"]});
            assert_eq!(strict_schema(&schema), None, "{schema}");
        }
        assert_eq!(strict_schema(&json!({"type": "array", "items": {"type": "string"}})), None);
        assert_eq!(strict_schema(&json!({"anyOf": [{"type": "object", "properties": {}}]})), None);
    }
}
