//! Owns the API's own dialect of JSON Schema, in which tools are declared.
//!
//! It passes on no word but those that every model takes: a request with one that the API does not know is refused as a whole. What has no
//! word there is left open, since whoever asks checks the arguments against the whole schema anyway.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use crate::providers::tool_schema::referred;

/// How deep a schema is followed; one that refers to itself has no end.
const DEEPEST: usize = 12;

/// How many schemas one schema may grow to when references are filled in.
const MOST: usize = 2_000;

/// Returns a JSON Schema of a tool in the API's own dialect: types in capitals, references filled in, and few words.
pub(super) fn of(schema: &Value) -> Value {
    Conversion { root: schema, left: Cell::new(MOST) }.converted(schema, DEEPEST)
}

/// One schema on its way.
struct Conversion<'r> {
    root: &'r Value,
    left: Cell<usize>,
}

impl Conversion<'_> {
    fn converted(&self, schema: &Value, depth: usize) -> Value {
        let Some(own) = schema.as_object() else { return json!({}) };
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.get().checked_sub(1)) else {
            return json!({"type": "OBJECT"});
        };
        self.left.set(left);
        let mut result = self.base(schema, depth);
        for (word, value) in own {
            match (word.as_str(), value) {
                ("type", Value::String(name)) => insert(&mut result, "type", json!(name.to_uppercase())),
                ("type", Value::Array(names)) => several_types(&mut result, names),
                ("properties", Value::Object(properties)) => {
                    let properties: Map<String, Value> = properties
                        .iter()
                        .map(|(name, property)| (name.clone(), self.converted(property, depth)))
                        .collect();
                    insert(&mut result, "properties", Value::Object(properties));
                }
                ("items", items) => insert(&mut result, "items", self.converted(items, depth)),
                ("enum", Value::Array(values)) => choice(&mut result, values),
                ("const", value) => choice(&mut result, std::slice::from_ref(value)),
                ("anyOf" | "oneOf", Value::Array(forms)) => self.several_forms(&mut result, forms, depth),
                ("description" | "required", value) => insert(&mut result, word, value.clone()),
                _ => {}
            }
        }
        repaired(result).into()
    }

    /// Returns what a schema takes over from the one that it refers to, or from the only one that it consists of.
    fn base(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let only =
            schema.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1).map(|all| &all[0]);
        let base = referred(schema, self.root).or(only).map(|target| self.converted(target, depth));
        match base {
            Some(Value::Object(base)) => base,
            _ => Map::new(),
        }
    }

    fn several_forms(&self, result: &mut Map<String, Value>, forms: &[Value], depth: usize) {
        let some: Vec<Value> = forms
            .iter()
            .filter(|form| form["type"] != "null")
            .map(|form| self.converted(form, depth))
            .collect();
        if some.len() < forms.len() {
            insert(result, "nullable", json!(true));
        }
        match <[Value; 1]>::try_from(some) {
            Ok([Value::Object(only)]) => {
                for (word, value) in only {
                    result.entry(word).or_insert(value);
                }
            }
            Ok(_) => {}
            Err(several) => insert(result, "anyOf", json!(several)),
        }
    }
}

fn several_types(result: &mut Map<String, Value>, names: &[Value]) {
    let kinds: Vec<&str> = names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
    if kinds.len() < names.len() {
        insert(result, "nullable", json!(true));
    }
    match kinds[..] {
        [] => {}
        [kind] => insert(result, "type", json!(kind.to_uppercase())),
        _ => {
            let forms: Vec<Value> = kinds.iter().map(|kind| json!({"type": kind.to_uppercase()})).collect();
            insert(result, "anyOf", json!(forms));
        }
    }
}

/// The API knows choices among texts only.
fn choice(result: &mut Map<String, Value>, values: &[Value]) {
    if values.iter().all(Value::is_string) {
        insert(result, "type", json!("STRING"));
        insert(result, "enum", json!(values));
    }
}

fn insert(result: &mut Map<String, Value>, word: &str, value: Value) {
    result.insert(word.to_owned(), value);
}

/// Takes out what the API refuses: required names without a property, a list without items.
fn repaired(mut schema: Map<String, Value>) -> Map<String, Value> {
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).map(|names| {
        let known =
            |name: &&Value| known.zip(name.as_str()).is_some_and(|(known, name)| known.contains_key(name));
        names.iter().filter(known).cloned().collect::<Vec<Value>>()
    });
    match required {
        Some(required) if required.is_empty() => drop(schema.shift_remove("required")),
        Some(required) => insert(&mut schema, "required", json!(required)),
        None => {}
    }
    if schema.get("type").is_some_and(|kind| kind == "ARRAY") && !schema.contains_key("items") {
        insert(&mut schema, "items", json!({}));
    }
    schema
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

    #[test]
    fn a_schema_from_elsewhere_keeps_its_shape() {
        let schema = json!({
            "type": "object",
            "x-own": 1,
            "properties": {
                "place": {"$ref": "#/$defs/Place", "description": "Where"},
                "mode": {"enum": ["fast", "slow"], "default": "fast"},
                "size": {"enum": [1, 2]},
                "maybe": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                "either": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Place"}]},
                "list": {"type": ["array", "null"]},
                "one": {"allOf": [{"type": "integer", "minimum": 1}]},
                "free": true,
            },
            "required": ["place", "gone"],
            "$defs": {"Place": {"type": "object", "properties": {"inside": {"type": "string"}},
                "required": ["lost"], "additionalProperties": false}},
        });
        let place = json!({"type": "OBJECT", "properties": {"inside": {"type": "STRING"}}});
        assert_eq!(
            of(&schema),
            json!({
                "type": "OBJECT",
                "properties": {
                    "place": {"type": "OBJECT", "properties": {"inside": {"type": "STRING"}}, "description": "Where"},
                    "mode": {"type": "STRING", "enum": ["fast", "slow"]},
                    "size": {},
                    "maybe": {"nullable": true, "type": "STRING"},
                    "either": {"anyOf": [{"type": "STRING"}, place]},
                    "list": {"nullable": true, "type": "ARRAY", "items": {}},
                    "one": {"type": "INTEGER"},
                    "free": {},
                },
                "required": ["place"],
            })
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_comes_to_an_end() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let text = of(&schema).to_string();
        assert!(text.matches("next").count() < DEEPEST && text.contains("OBJECT"), "{text}");
        let wide: Map<String, Value> = (0..50).map(|n| (format!("p{n}"), json!({"$ref": "#"}))).collect();
        let text = of(&json!({"type": "object", "properties": wide})).to_string();
        assert!(text.len() < 100 * MOST * 50, "{}", text.len());
    }
}
