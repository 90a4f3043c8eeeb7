//! Owns what vendors ask of the schema of a tool: one plain object at the top, whatever its author wrote.
//!
//! Only the top is rewritten, and only to allow more: whoever asks checks the arguments against the whole schema anyway. Below it, what goes
//! without saying is said where a vendor insists.

use serde_json::{Map, Value, json};

use crate::tool::ToolSchema;

/// Keywords at the top of a tool's schema that vendors refuse or want in one form only.
const REWRITTEN: [&str; 11] =
    ["type", "properties", "required", "$schema", "$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const"];

/// How many forms and references at the top are followed; they may go round.
const MOST: usize = 100;

/// Returns the schema of a tool's parameters in the form that every vendor takes.
pub(super) fn tool_schema(tool: &ToolSchema) -> Value {
    let mut schema = tool.to_json_schema();
    if tool.raw.is_none() {
        return schema;
    }
    spell_out(&mut schema);
    let top = schema.as_object().cloned().unwrap_or_default();
    let mut left = MOST;
    let members = Members::of(&schema, &schema, &mut left);
    let mut plain: Map<String, Value> = Map::new();
    plain.insert("type".to_owned(), json!("object"));
    plain.insert("properties".to_owned(), Value::Object(members.properties));
    plain.extend(top.into_iter().filter(|(key, _)| !REWRITTEN.contains(&key.as_str())));
    if !members.required.is_empty() {
        plain.insert("required".to_owned(), json!(members.required));
    }
    Value::Object(plain)
}

/// Says of every list that it has items, and of what may be anything that it is a schema.
fn spell_out(schema: &mut Value) {
    if *schema == json!(true) {
        *schema = json!({});
    }
    let Some(keywords) = schema.as_object_mut() else { return };
    for (keyword, value) in keywords.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values_mut().for_each(spell_out);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(spell_out);
            }
            ("items", items) => spell_out(items),
            ("additionalProperties", more) if more.is_object() => spell_out(more),
            _ => {}
        }
    }
    let is_list = match keywords.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    };
    if is_list && !keywords.contains_key("items") {
        keywords.insert("items".to_owned(), json!({}));
    }
}

/// What an object may have, gathered from all of its forms.
#[derive(Default)]
struct Members {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Members {
    fn of(schema: &Value, root: &Value, left: &mut usize) -> Self {
        let list = |key: &str| schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut members = Self { properties, required: list("required") };
        let Some(fewer) = left.checked_sub(1) else { return members };
        *left = fewer;
        if let Some(target) = referred(schema, root) {
            members.take(Self::of(target, root, left), true);
        }
        for form in list("allOf") {
            members.take(Self::of(&form, root, left), true);
        }
        for key in ["anyOf", "oneOf"] {
            // What one form requires another may do without.
            for form in list(key) {
                members.take(Self::of(&form, root, left), false);
            }
        }
        members
    }

    fn take(&mut self, other: Self, always: bool) {
        for (name, property) in other.properties {
            self.properties.entry(name).or_insert(property);
        }
        for name in other.required {
            if always && !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }
}

/// Returns what `schema` refers to inside of `root`.
pub(super) fn referred<'r>(schema: &Value, root: &'r Value) -> Option<&'r Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: Value) -> Value {
        tool_schema(&ToolSchema::from_json_schema("t", "d", schema))
    }

    #[test]
    fn a_plain_object_keeps_every_keyword() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"],
            "$defs": {"A": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "x-own": 1, "additionalProperties": true});
        assert_eq!(of(schema.clone()), schema);
    }

    #[test]
    fn lists_have_items_and_anything_is_a_schema() {
        let schema = of(json!({"properties": {
            "list": {"type": ["array", "null"]},
            "type": {"anyOf": [{"type": "array"}, true]},
            "free": true,
        }}));
        assert_eq!(
            schema["properties"],
            json!({
                "list": {"type": ["array", "null"], "items": {}},
                "type": {"anyOf": [{"type": "array", "items": {}}, {}]},
                "free": {},
            })
        );
    }

    #[test]
    fn the_top_is_an_object_with_the_members_of_all_forms() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "allOf": [{"$ref": "#/definitions/Base"}, {"properties": {"b": {}}, "required": ["b"]}],
            "anyOf": [{"properties": {"c": {"type": "string"}}, "required": ["c"]}, {"properties": {"d": {}}}],
            "definitions": {"Base": {"properties": {"a": {"type": "number"}}, "required": ["a"]}},
        });
        assert_eq!(
            of(schema.clone()),
            json!({
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {}, "c": {"type": "string"}, "d": {}},
                "definitions": schema["definitions"],
                "required": ["a", "b"],
            })
        );
    }

    #[test]
    fn what_says_nothing_or_goes_round_is_an_object_without_members() {
        let empty = json!({"type": "object", "properties": {}});
        for schema in [json!({}), json!({"type": "object"}), json!({"$ref": "#"}), json!(true)] {
            assert_eq!(of(schema.clone()), empty, "{schema}");
        }
    }
}
