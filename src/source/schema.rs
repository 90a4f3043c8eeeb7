//! From a document to a Rust type, through the JSON Schema that the type publishes.
//!
//! The schema finds every fault at once; serde, which stops at the first, only decodes what the schema let
//! through. It refuses keys the type does not know, because a misspelt key that is ignored changes what a file
//! means; keys that begin with `x-` belong to the person who writes them.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Document;
use super::node::child;
use super::violation::{UnknownKeys, Violations};
use super::wording::found_in_words;

/// Returns the JSON Schema (draft 2020-12) of what the type accepts.
pub fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>().into()
}

/// Decodes a document. The value is there exactly if the diagnostics hold no error; they may hold warnings.
pub fn decode<T: DeserializeOwned + JsonSchema + 'static>(
    document: &Document,
    unknown: UnknownKeys,
) -> (Option<T>, Diagnostics) {
    let mut faults = document.diagnostics();
    let shape = Shape::of::<T>();
    let mut ignored = Vec::new();
    match &shape.validator {
        Ok(validator) => {
            let mut violations = Violations::new(document, &shape.schema, unknown);
            let errors: Vec<ValidationError<'_>> = validator.iter_errors(document.value()).collect();
            violations.read_all(&errors.iter().collect::<Vec<_>>());
            (faults, ignored) = violations.finish();
        }
        Err(message) => faults.push(Diagnostic::error("schema", message.as_str())),
    }
    if faults.has_errors() {
        return (None, faults);
    }
    let decoded = if ignored.is_empty() {
        deserialize(document, document.value())
    } else {
        let mut value = document.value().clone();
        for (pointer, key) in ignored {
            if let Some(map) = value.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                map.shift_remove(&key);
            }
        }
        deserialize(document, &value)
    };
    match decoded {
        Ok(decoded) => (Some(decoded), faults),
        Err(fault) => {
            faults.push(fault);
            (None, faults)
        }
    }
}

/// The compiled schema of one type.
struct Shape {
    schema: Value,
    validator: Result<Validator, String>,
}

/// Compiling takes longer than reading a file, so every type's schema is compiled once.
static SHAPES: LazyLock<Mutex<HashMap<TypeId, Arc<Shape>>>> = LazyLock::new(Mutex::default);

impl Shape {
    fn of<T: JsonSchema + 'static>() -> Arc<Self> {
        let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = shapes.entry(TypeId::of::<T>()).or_insert_with(|| {
            let schema = schema_of::<T>();
            let validator =
                jsonschema::draft202012::options().build(&schema).map_err(|error| error.to_string());
            Arc::new(Self { schema, validator })
        });
        Arc::clone(shape)
    }
}

fn deserialize<'de, T: Deserialize<'de>>(document: &Document, value: &'de Value) -> Result<T, Diagnostic> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer = error.path().iter().fold(String::new(), |pointer, segment| {
            let deeper = match segment {
                Segment::Seq { index } => child(&pointer, &index.to_string()),
                Segment::Map { key } => child(&pointer, key),
                Segment::Enum { variant } => child(&pointer, variant),
                Segment::Unknown => return pointer,
            };
            // The name of an enum variant is not always a key of the file.
            if value.pointer(&deeper).is_some() { deeper } else { pointer }
        });
        let message = error.inner().to_string();
        let bounds = message.rsplit_once("expected ").and_then(|(_, name)| integer_bounds(name));
        let span = document.span_of_value(&pointer);
        let written = document.written(&pointer);
        let fault = match (bounds, value.pointer(&pointer)) {
            (Some((least, most)), Some(found)) => Diagnostic::error(
                "range",
                format!(
                    "expected a whole number from {least} to {most}, found {}",
                    found_in_words(found, &written)
                ),
            ),
            _ => Diagnostic::error("value", message),
        };
        fault.at(span)
    })
}

/// Returns the least and the greatest value of an integer type, by its name in serde's messages.
fn integer_bounds(name: &str) -> Option<(i128, i128)> {
    let bits: u32 = name.get(1..)?.parse().ok().filter(|bits| *bits <= 64)?;
    match name.as_bytes()[0] {
        b'u' => Some((0, (1 << bits) - 1)),
        b'i' => Some((-(1 << (bits.checked_sub(1)?)), (1 << (bits - 1)) - 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::source::file::{Format, SourceFile};

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Outer {
        name: String,
        inner: Option<Inner>,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Inner {
        small: Option<i8>,
    }

    fn decoded(text: &str, unknown: UnknownKeys) -> (Option<Outer>, Vec<String>) {
        let document = Document::parse(SourceFile::from_text("a.yaml", text, Format::Yaml)).unwrap();
        let (value, faults) = decode::<Outer>(&document, unknown);
        (value, faults.iter().map(|fault| fault.message.clone()).collect())
    }

    #[test]
    fn keys_that_begin_with_x_are_free_where_keys_are_fixed() {
        let text =
            "name: n\nx-note: {any: [thing]}\ninner: {small: 1, x-why: because}\nheaders: {x-key: kept}\n";
        let (value, faults) = decoded(text, UnknownKeys::Refuse);
        assert_eq!(faults, Vec::<String>::new());
        let value = value.unwrap();
        assert_eq!(value.name, "n");
        assert_eq!(value.inner.unwrap().small, Some(1));
        assert_eq!(value.headers["x-key"], "kept");
    }

    #[test]
    fn unknown_keys_can_be_let_through_with_a_warning() {
        let text = "name: n\nnam: m\ninner: {smal: 1}\n";
        let (value, faults) = decoded(text, UnknownKeys::Warn);
        assert_eq!(faults, ["unknown key `nam`", "unknown key `smal`"]);
        assert_eq!(value.unwrap().inner.unwrap().small, None);
        assert!(decoded(text, UnknownKeys::Refuse).0.is_none());
        assert!(decoded("nam: m\n", UnknownKeys::Warn).0.is_none());
    }

    #[test]
    fn null_stands_for_an_absent_optional_value() {
        let (value, faults) = decoded("name: n\ninner:\n", UnknownKeys::Refuse);
        assert!(value.unwrap().inner.is_none() && faults.is_empty());
    }

    #[test]
    fn integer_types_have_bounds() {
        assert_eq!(integer_bounds("u8"), Some((0, 255)));
        assert_eq!(integer_bounds("i8"), Some((-128, 127)));
        assert_eq!(integer_bounds("u64"), Some((0, i128::from(u64::MAX))));
        assert_eq!(integer_bounds("i64"), Some((i128::from(i64::MIN), i128::from(i64::MAX))));
        for name in ["", "u", "u128", "a string", "f64", "i0", "é8"] {
            assert_eq!(integer_bounds(name), None, "{name}");
        }
    }

    #[test]
    fn many_files_share_one_compiled_schema() {
        assert!(Arc::ptr_eq(&Shape::of::<Outer>(), &Shape::of::<Outer>()));
        assert_eq!(schema_of::<Outer>()["required"], serde_json::json!(["name"]));
    }

    #[test]
    fn a_flood_of_faults_is_counted() {
        let text: String = std::iter::once("name: n\n".to_owned())
            .chain((0..5_000).map(|number| format!("key{number}: 1\n")))
            .collect();
        let document = Document::parse(SourceFile::from_text("a.yaml", text, Format::Yaml)).unwrap();
        let (_, faults) = decode::<Outer>(&document, UnknownKeys::Refuse);
        assert_eq!(faults.len(), 5_000);
        assert_eq!(faults.summary(), "a.yaml: 5000 problems, the first 100 are shown");
    }
}
