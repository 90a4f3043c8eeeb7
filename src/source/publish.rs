//! Owns the form in which schemas are published, for editors and for validators that are not ours: one document each, with a name.
//!
//! It says nothing that the types do not say. What the reading of files adds for every type at once is said here: keys that begin with `x-`
//! are free. What tepa writes may have more keys in a later version, so that schemas of it are open.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Returns the published schema of files that people write.
pub fn schema_of_file<T: JsonSchema>(name: &str) -> Value {
    publish::<T>(SchemaSettings::draft2020_12().for_deserialize(), name, free_keys)
}

/// Returns the published schema of files in which no key is free.
pub fn schema_of_strict_file<T: JsonSchema>(name: &str) -> Value {
    publish::<T>(SchemaSettings::draft2020_12().for_deserialize(), name, |_| {})
}

/// Returns the published schema of what tepa writes.
pub fn schema_of_output<T: JsonSchema>(name: &str) -> Value {
    publish::<T>(SchemaSettings::draft2020_12().for_serialize(), name, open)
}

fn publish<T: JsonSchema>(settings: SchemaSettings, name: &str, closing: fn(&mut Schema)) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain_numbers).transform(&mut schema);
    RecursiveTransform(closing).transform(&mut schema);
    let mut document = Map::new();
    let id = format!("urn:tepa:schema:{name}");
    document.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    document.insert("$id".to_owned(), id.into());
    schema.remove("$schema");
    let definitions = schema.remove("$defs");
    document.extend(schema.as_object().cloned().unwrap_or_default());
    document.extend(definitions.map(|definitions| ("$defs".to_owned(), definitions)));
    document.into()
}

/// Takes out formats such as `uint64`: no other validator knows them, and the bounds say it as well.
fn plain_numbers(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if ["int", "uint", "float", "double"].iter().any(|number| format.starts_with(number)) {
        schema.remove("format");
    }
}

/// The keywords that close a map.
const CLOSING: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

fn is_closed(schema: &Schema) -> bool {
    CLOSING.iter().any(|keyword| schema.get(*keyword) == Some(&Value::Bool(false)))
}

fn free_keys(schema: &mut Schema) {
    if is_closed(schema) {
        schema.insert("patternProperties".to_owned(), json!({"^x-": {}}));
    }
}

fn open(schema: &mut Schema) {
    for keyword in CLOSING {
        if schema.get(keyword) == Some(&Value::Bool(false)) {
            schema.remove(keyword);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(title = "a form")]
    struct Form {
        format: u64,
        #[serde(default)]
        rest: Vec<f64>,
    }

    #[test]
    fn files_have_free_keys_and_outputs_are_open() {
        let file = schema_of_file::<Form>("form");
        assert_eq!(file["$id"], "urn:tepa:schema:form");
        assert_eq!(
            (&file["additionalProperties"], &file["patternProperties"]),
            (&json!(false), &json!({"^x-": {}}))
        );
        assert_eq!(file["required"], json!(["format"]));
        let output = schema_of_output::<Form>("form");
        assert_eq!(output.get("additionalProperties"), None);
        assert_eq!(output["required"], json!(["format", "rest"]));
        // A key may be called like a keyword.
        assert_eq!(output["properties"]["format"], json!({"type": "integer", "minimum": 0}));
    }
}
