//! Owns the published schema of a prompt file: that of its type, with room for variables.
//!
//! Variables are filled in before a file is held against its type. An editor sees the file before that, so that a number or a boolean of the
//! expected output may be the name of a variable there.

use std::collections::BTreeSet;

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

use super::PromptFile;
use crate::source;

/// A text that is one variable and nothing else.
const VARIABLE: &str = r"^\{\{\s*[A-Za-z_][A-Za-z0-9_-]*\s*\}\}$";

/// Returns the published schema of a prompt file.
pub fn schema() -> Value {
    with_variables(source::schema_of_file::<PromptFile>("prompt"))
}

fn with_variables(mut schema: Value) -> Value {
    let mut pending = vec!["/properties/expectedOutput".to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(place) = pending.pop() {
        let Some(part) = schema.pointer_mut(&place).filter(|_| seen.insert(place)) else { continue };
        let Ok(below) = part.try_into() else { continue };
        let mut variables = Variables::default();
        variables.transform(below);
        pending.extend(variables.named);
    }
    schema
}

/// Lets variables stand for numbers and booleans, and notes which definitions are named on the way.
#[derive(Default)]
struct Variables {
    named: Vec<String>,
}

impl Transform for Variables {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            self.named.extend(name.strip_prefix('#').map(str::to_owned));
        }
        if is_plain(schema) {
            let description = schema.remove("description");
            let written = schema.clone();
            *schema = schemars::json_schema!({"anyOf": [written, {"type": "string", "pattern": VARIABLE}]});
            schema.as_object_mut().and_then(|object| object.insert("description".to_owned(), description?));
        }
    }
}

/// Returns whether all that fits is a number, a boolean, or nothing.
fn is_plain(schema: &Schema) -> bool {
    let plain = ["integer", "number", "boolean"];
    let named = |name: &Value| name.as_str().is_some_and(|name| plain.contains(&name));
    match (schema.get("type"), schema.get("enum").and_then(Value::as_array)) {
        (Some(Value::Array(types)), _) => {
            types.iter().any(named) && types.iter().all(|name| named(name) || name == "null")
        }
        (Some(name), _) => named(name),
        (None, Some(values)) => values.iter().all(|value| value.is_boolean() || value.is_number()),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_variable_may_stand_for_a_number_or_a_boolean_and_for_nothing_else() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let fits = |check: Value| {
            validator.is_valid(&json!({"goal": "g", "context": {}, "expectedOutput": [
                {"path": "a", "description": "d", "checks": [check]}]}))
        };
        for check in [
            json!({"minBytes": 3}),
            json!({"minBytes": "{{ least }}"}),
            json!({"exists": "{{there}}"}),
            json!({"csv": {"minRows": "{{rows-2}}", "columns": ["{{any}} thing"]}}),
            json!({"command": {"run": "true", "exit": "{{code}}"}}),
            json!({"command": {"run": "true", "timeout": "{{time}}"}}),
        ] {
            assert!(fits(check.clone()), "{check}");
        }
        for check in [
            json!({"minBytes": "3"}),
            json!({"minBytes": "{{ two words }}"}),
            json!({"minBytes": "more than {{least}}"}),
            json!({"exists": false}),
            json!({"csv": "{{ csv }}"}),
        ] {
            assert!(!fits(check.clone()), "{check}");
        }
    }

    #[test]
    fn variables_are_known_below_the_expected_output_alone() {
        let text = schema().to_string();
        assert!(text.contains(r"\\{\\{"), "the rule is there");
        let mut schema = schema();
        schema["properties"]["expectedOutput"] = Value::Null;
        schema["$defs"] = Value::Null;
        assert!(!schema.to_string().contains(r"\\{\\{"));
    }
}
