//! The published schemas, held against what runs leave: no key without a description, no value of another form.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The forms of events and results, and the types of events that were seen.
pub struct Forms {
    event: Validator,
    result: Validator,
    pub seen: BTreeSet<String>,
}

impl Default for Forms {
    fn default() -> Self {
        let form = |schema| jsonschema::draft202012::new(&strict(schema)).unwrap();
        Self {
            event: form(tepa::event::schema()),
            result: form(tepa::outcome::schema()),
            seen: BTreeSet::new(),
        }
    }
}

impl Forms {
    /// Returns what does not fit of all runs that are recorded in a folder.
    pub fn faults_of_runs(&mut self, folder: &Path) -> Vec<String> {
        let runs = fs::read_dir(folder.join(".tepa/runs")).into_iter().flatten();
        let mut faults = Vec::new();
        for run in runs {
            let run = run.unwrap().path();
            let read = |name: &str| fs::read_to_string(run.join(name)).unwrap_or_default();
            for line in read("events.jsonl").lines() {
                let event = serde_json::from_str(line).unwrap();
                faults.extend(self.faults_of_event(&event));
            }
            let result: Value = serde_json::from_str(&read("result.json")).unwrap_or_default();
            faults.extend(found(&self.result, "the result", &result));
        }
        faults
    }

    pub fn faults_of_event(&mut self, event: &Value) -> Vec<String> {
        let kind = event["type"].as_str().unwrap_or_default();
        self.seen.insert(kind.to_owned());
        found(&self.event, kind, event)
    }
}

fn found(validator: &Validator, what: &str, value: &Value) -> Vec<String> {
    let faults = validator.iter_errors(value);
    faults.map(|fault| format!("{what} at `{}`: {fault} {value}", fault.instance_path())).collect()
}

/// Returns a schema that refuses what it does not describe: what is published is open to keys of later versions.
fn strict(mut schema: Value) -> Value {
    close(&mut schema, false);
    schema
}

/// Closes a schema and all in it; one that is a part of another, in the same place, sees only its own keys and stays open.
fn close(schema: &mut Value, part: bool) {
    let Some(map) = schema.as_object_mut() else { return };
    let describes = ["properties", "oneOf", "anyOf"].iter().any(|keyword| map.contains_key(*keyword));
    for (keyword, below) in map.iter_mut() {
        let parts = matches!(keyword.as_str(), "oneOf" | "anyOf" | "allOf");
        match (keyword.as_str(), below) {
            ("properties" | "$defs", Value::Object(below)) => {
                for schema in below.values_mut() {
                    close(schema, false);
                }
            }
            ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(below)) => {
                for schema in below {
                    close(schema, parts);
                }
            }
            ("items" | "additionalProperties", below) => close(below, false),
            _ => {}
        }
    }
    if describes && !part {
        map.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}
