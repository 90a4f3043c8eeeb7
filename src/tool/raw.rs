//! Owns a JSON Schema of parameters that came from elsewhere: kept whole, checked as its author wrote it, shown as a list of parameters.
//!
//! A schema that cannot be compiled checks nothing: whoever wrote it checks the call anyway.

use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use indexmap::IndexMap;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::params::kind_of;
use super::{ParameterDef, ParameterType, ParamsError};
use crate::text;

/// How many faults of one call are listed; a schema of many forms has a fault for each.
const MOST_FAULTS: usize = 20;

/// How many characters one fault may take.
const LONGEST_FAULT: usize = 300;

/// How many references are followed one after the other.
const FARTHEST: usize = 8;

/// How deep forms within forms are followed; they may go round.
const DEEPEST: usize = 3;

/// A JSON Schema as it came, compiled when it is first needed.
pub struct RawSchema {
    schema: Value,
    compiled: OnceLock<Result<Validator, String>>,
}

impl RawSchema {
    /// Returns the form in which a [`super::ToolSchema`] holds `schema`.
    pub fn new(schema: Value) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// Returns the schema as it came.
    pub fn value(&self) -> &Value {
        &self.schema
    }

    /// Returns why nothing can be checked against the schema, if that is so.
    pub fn fault(&self) -> Option<&str> {
        self.compiled().as_ref().err().map(String::as_str)
    }

    fn compiled(&self) -> &Result<Validator, String> {
        self.compiled.get_or_init(|| {
            let built = jsonschema::options().build(&self.schema);
            built.map_err(|error| text::truncate(&error.to_string(), LONGEST_FAULT).into_owned())
        })
    }

    /// Returns `params` as the tool takes them, or every fault.
    pub(super) fn check(&self, params: Value) -> Result<Value, ParamsError> {
        let params = match params {
            Value::Null => Value::Object(Map::new()),
            object @ Value::Object(_) => object,
            other => {
                return Err(ParamsError(vec![format!("expected an object, received {}", kind_of(&other))]));
            }
        };
        let Ok(validator) = self.compiled() else { return Ok(params) };
        if validator.is_valid(&params) {
            return Ok(params);
        }
        // Models send null for a parameter they mean to leave out.
        let without_null = without_null(&params);
        if validator.is_valid(&without_null) {
            return Ok(without_null);
        }
        let faults = validator.iter_errors(&without_null).flat_map(|error| faults_of(&error));
        let mut faults: Vec<String> = faults.take(MOST_FAULTS + 1).collect();
        if faults.len() > MOST_FAULTS {
            faults.truncate(MOST_FAULTS);
            faults.push("and more".to_owned());
        }
        Err(ParamsError(faults))
    }

    /// Returns the parameters as a person and a planner read them; what five types cannot say comes down to the nearest.
    pub(super) fn parameters(&self) -> IndexMap<String, ParameterDef> {
        let root = self.resolved(&self.schema);
        let required: HashSet<&str> =
            texts(root.get("required")).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = root.get("properties").and_then(Value::as_object).into_iter().flatten();
        let parameters = properties.map(|(name, property)| {
            let target = self.resolved(property);
            let says = |key| [property, target].iter().find_map(|schema| schema.get(key)?.as_str());
            let definition = ParameterDef {
                kind: self.nearest_type(target, DEEPEST),
                description: says("description").or_else(|| says("title")).unwrap_or_default().to_owned(),
                required: Some(required.contains(name.as_str())),
                default: property.get("default").cloned(),
            };
            (name.clone(), definition)
        });
        parameters.collect()
    }

    /// Returns what a schema refers to, or the schema itself.
    fn resolved<'s>(&'s self, mut schema: &'s Value) -> &'s Value {
        for _ in 0..FARTHEST {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { break };
            let target = reference.strip_prefix('#').and_then(|pointer| self.schema.pointer(pointer));
            let Some(target) = target else { break };
            schema = target;
        }
        schema
    }

    fn nearest_type(&self, schema: &Value, depth: usize) -> ParameterType {
        let named = match schema.get("type") {
            Some(Value::String(name)) => named_type(name),
            Some(Value::Array(names)) => {
                one_of(names.iter().filter_map(Value::as_str).filter(|name| *name != "null").map(named_type))
            }
            _ => None,
        };
        let by_values = || {
            let values = schema.get("const").map(std::slice::from_ref);
            let values = values.or_else(|| texts(schema.get("enum")))?;
            one_of(values.iter().filter(|value| !value.is_null()).map(|value| named_type(kind_of(value))))
        };
        let by_forms = || {
            let forms = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| texts(schema.get(*key)))?;
            let depth = depth.checked_sub(1)?;
            let forms = forms.iter().map(|form| self.resolved(form)).filter(|form| form["type"] != "null");
            one_of(forms.map(|form| Some(self.nearest_type(form, depth))))
        };
        let by_members = || schema.get("properties").map(|_| ParameterType::Object);
        named.or_else(by_values).or_else(by_forms).or_else(by_members).unwrap_or(ParameterType::String)
    }
}

fn without_null(params: &Value) -> Value {
    let kept = params.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Returns the type that all have in common; of different ones an object is the one that must not be taken for text.
fn one_of(kinds: impl Iterator<Item = Option<ParameterType>>) -> Option<ParameterType> {
    let kinds: Vec<ParameterType> = kinds.collect::<Option<_>>()?;
    let first = *kinds.first()?;
    if kinds.iter().all(|kind| *kind == first) {
        return Some(first);
    }
    let has_object = kinds.contains(&ParameterType::Object);
    Some(if has_object { ParameterType::Object } else { ParameterType::String })
}

fn named_type(name: &str) -> Option<ParameterType> {
    Some(match name {
        "string" => ParameterType::String,
        "number" | "integer" => ParameterType::Number,
        "boolean" => ParameterType::Boolean,
        "object" => ParameterType::Object,
        "array" => ParameterType::Array,
        _ => return None,
    })
}

fn texts(list: Option<&Value>) -> Option<&[Value]> {
    list?.as_array().map(Vec::as_slice)
}

fn faults_of(error: &ValidationError<'_>) -> Vec<String> {
    let path = error.instance_path().as_str();
    let at = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    let fault = |path: &str, what: &str| {
        let path = if path.is_empty() { "/" } else { path };
        text::truncate(&format!("{path}: {what}"), LONGEST_FAULT).into_owned()
    };
    match error.kind() {
        Kind::Required { property } => {
            vec![fault(&at(property.as_str().unwrap_or_default()), "Required")]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|name| fault(&at(name), "Unknown parameter")).collect()
        }
        Kind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => text::joined(kinds.iter().map(|kind| kind.to_string()), "or"),
            };
            vec![fault(path, &format!("Expected {expected}, received {}", kind_of(error.instance())))]
        }
        _ => vec![fault(path, &error.masked_with("the value").to_string())],
    }
}

impl PartialEq for RawSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl fmt::Debug for RawSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawSchema").field(&self.schema).finish()
    }
}

impl Serialize for RawSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.schema.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn weird() -> RawSchema {
        RawSchema::new(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "default": 1, "x-unit": "pieces"},
                "where": {"$ref": "#/$defs/Place", "title": "A place"},
                "mode": {"enum": ["fast", "slow"]},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "mixed": {"oneOf": [{"type": "number"}, {"$ref": "#/$defs/Place"}]},
                "list": {"type": ["array", "null"], "items": {"type": "boolean"}},
                "free": true,
            },
            "required": ["count"],
            "$defs": {"Place": {"type": "object", "description": "Where", "properties": {"x": {"type": "number"}},
                "required": ["x"], "additionalProperties": false}},
        }))
    }

    #[test]
    fn the_list_of_parameters_says_the_nearest_type() {
        let parameters = weird().parameters();
        let shown: Vec<_> = parameters
            .iter()
            .map(|(name, d)| (name.as_str(), d.kind.name(), d.description.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("count", "number", ""),
                ("where", "object", "Where"),
                ("mode", "string", ""),
                ("either", "string", ""),
                ("mixed", "object", ""),
                ("list", "array", ""),
                ("free", "string", ""),
            ]
        );
        assert_eq!(parameters["count"].required, Some(true));
        assert!(!parameters["where"].is_required());
    }

    #[test]
    fn every_violation_is_listed_by_its_path() {
        let error = weird()
            .check(json!({"where": {"y": 1}, "mode": "off", "count": 0, "list": [true, 1]}))
            .unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("Parameter validation failed: "), "{text}");
        for fault in [
            "/where/x: Required",
            "/where/y: Unknown parameter",
            "/mode: the value is not one of",
            "/count: the value is less than the minimum of 1",
            "/list/1: Expected boolean, received number",
        ] {
            assert!(text.contains(fault), "{fault}: {text}");
        }
        assert_eq!(
            weird().check(json!(null)).unwrap_err().to_string(),
            "Parameter validation failed: /count: Required"
        );
        assert!(weird().check(json!([])).is_err());
    }

    #[test]
    fn null_is_left_out_where_it_does_not_fit() {
        let checked = weird().check(json!({"count": 2, "mode": null, "either": null})).unwrap();
        assert_eq!(checked, json!({"count": 2}));
        let fits = json!({"count": 2, "list": null});
        assert_eq!(weird().check(fits.clone()).unwrap(), fits);
    }

    #[test]
    fn a_schema_that_does_not_compile_checks_nothing() {
        let schema = RawSchema::new(json!({"type": "object", "properties": {"a": {"type": "sting"}}}));
        assert!(schema.fault().is_some());
        assert_eq!(schema.check(json!({"a": 1})).unwrap(), json!({"a": 1}));
        let remote = RawSchema::new(json!({"$ref": "https://host.invalid/schema.json"}));
        assert!(remote.fault().is_some());
        assert!(remote.parameters().is_empty());
        assert!(weird().fault().is_none());
    }

    #[test]
    fn references_that_go_round_come_to_an_end() {
        let schema = RawSchema::new(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}, "B": {"$ref": "#/$defs/B"}}}));
        assert_eq!(schema.parameters()["a"].kind, ParameterType::String);
        let itself = RawSchema::new(json!({"$ref": "#"}));
        assert!(itself.parameters().is_empty());
    }
}
