//! Owns checks: what a person wants to hold once the work is done, one fact each.
//!
//! A [`Check`] is valid by construction: expressions and schemas are compiled, hashes are hashes, and what takes bounds has bounds that
//! something can meet. Running one is the business of others.

mod command;
mod content;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use command::{CommandCheck, CommandLine};
pub use content::{CheckSchema, Pattern, Sha256};

/// One fact about a file, or a command that has to succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Check {
    /// The file or folder is there; goes without saying for an entry with a path.
    Exists(Holds),
    /// The file or folder is there and not empty: what goes without saying for an entry that has a path and no checks.
    #[serde(skip)]
    Filled,
    /// Nothing is there.
    Absent(Holds),
    /// The file has at least so many bytes.
    MinBytes(u64),
    /// The file has at most so many bytes.
    MaxBytes(u64),
    /// The text is somewhere in the file.
    Contains(#[schemars(length(min = 1))] String),
    /// The text is nowhere in the file.
    NotContains(#[schemars(length(min = 1))] String),
    /// The regular expression matches somewhere in the file; `^` and `$` stand for the ends of a line.
    Matches(Pattern),
    /// The regular expression matches nowhere in the file.
    NotMatches(Pattern),
    /// The file is JSON that fits a schema or has a certain value.
    Json(JsonCheck),
    /// The file is CSV with a header.
    Csv(CsvCheck),
    /// The file is YAML.
    Yaml(Holds),
    /// The file has this hash.
    Sha256(Sha256),
    /// The file, or everything in the folder, is what it was when the run began.
    Unchanged(Holds),
    /// A command ends as it should.
    Command(CommandCheck),
}

/// The names of all checks.
pub const NAMES: [&str; 14] = [
    "exists",
    "absent",
    "minBytes",
    "maxBytes",
    "contains",
    "notContains",
    "matches",
    "notMatches",
    "json",
    "csv",
    "yaml",
    "sha256",
    "unchanged",
    "command",
];

impl Check {
    /// Returns the name under which it is written.
    pub fn name(&self) -> &'static str {
        let at = match self {
            Self::Exists(_) | Self::Filled => 0,
            Self::Absent(_) => 1,
            Self::MinBytes(_) => 2,
            Self::MaxBytes(_) => 3,
            Self::Contains(_) => 4,
            Self::NotContains(_) => 5,
            Self::Matches(_) => 6,
            Self::NotMatches(_) => 7,
            Self::Json(_) => 8,
            Self::Csv(_) => 9,
            Self::Yaml(_) => 10,
            Self::Sha256(_) => 11,
            Self::Unchanged(_) => 12,
            Self::Command(_) => 13,
        };
        NAMES[at]
    }
}

/// The word `true`: a check that is written down holds, or it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct Holds;

impl TryFrom<bool> for Holds {
    type Error = &'static str;

    fn try_from(holds: bool) -> Result<Self, Self::Error> {
        if holds { Ok(Self) } else { Err("write `true`, or leave the check out") }
    }
}

impl From<Holds> for bool {
    fn from(_: Holds) -> Self {
        true
    }
}

impl JsonSchema for Holds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Holds".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"enum": [true]})
    }
}

/// What a file of JSON has to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "JsonKeys", into = "JsonKeys")]
pub enum JsonCheck {
    /// It fits a schema.
    Schema(CheckSchema),
    /// It has a value at a place.
    Equals {
        /// The place, as a JSON pointer; empty for the whole file.
        pointer: String,
        /// The value.
        equals: Value,
    },
}

/// The keys of `json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JsonKeys {
    /// A JSON Schema that the file has to fit (2020-12 unless it says otherwise).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<CheckSchema>,
    /// Where the value is, as a JSON pointer such as `/results/0/name`; empty for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// The value that has to be there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "even_null")]
    equals: Option<Value>,
}

/// A value that is written down is there, also when it is `null`.
fn even_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<JsonKeys> for JsonCheck {
    type Error = String;

    fn try_from(keys: JsonKeys) -> Result<Self, String> {
        match keys {
            JsonKeys { schema: Some(schema), pointer: None, equals: None } => Ok(Self::Schema(schema)),
            JsonKeys { schema: None, pointer, equals: Some(equals) } => {
                let pointer = pointer.unwrap_or_default();
                if pointer.is_empty() || pointer.starts_with('/') {
                    return Ok(Self::Equals { pointer, equals });
                }
                Err(format!("`{pointer}` is not a JSON pointer: write `/{pointer}`"))
            }
            _ => Err("`json` takes either `schema`, or `equals` with the `pointer` of a value".to_owned()),
        }
    }
}

impl From<JsonCheck> for JsonKeys {
    fn from(check: JsonCheck) -> Self {
        match check {
            JsonCheck::Schema(schema) => Self { schema: Some(schema), ..Self::default() },
            JsonCheck::Equals { pointer, equals } => {
                Self { schema: None, pointer: Some(pointer), equals: Some(equals) }
            }
        }
    }
}

impl JsonSchema for JsonCheck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JsonCheck".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        JsonKeys::json_schema(generator)
    }
}

/// What a file of CSV has to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CsvKeys", into = "CsvKeys")]
pub struct CsvCheck {
    /// The columns that the header names, in this order; any if left out.
    pub columns: Option<Vec<String>>,
    /// The least number of rows below the header.
    pub min_rows: Option<u64>,
    /// The greatest number of rows below the header.
    pub max_rows: Option<u64>,
}

/// The keys of `csv`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CsvKeys {
    /// The columns that the header names, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    columns: Option<Vec<String>>,
    /// The least number of rows below the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_rows: Option<u64>,
    /// The greatest number of rows below the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_rows: Option<u64>,
}

impl TryFrom<CsvKeys> for CsvCheck {
    type Error = String;

    fn try_from(keys: CsvKeys) -> Result<Self, String> {
        let CsvKeys { columns, min_rows, max_rows } = keys;
        match (min_rows, max_rows) {
            (Some(least), Some(most)) if least > most => {
                Err(format!("no file has at least {least} and at most {most} rows"))
            }
            _ => Ok(Self { columns, min_rows, max_rows }),
        }
    }
}

impl From<CsvCheck> for CsvKeys {
    fn from(check: CsvCheck) -> Self {
        let CsvCheck { columns, min_rows, max_rows } = check;
        Self { columns, min_rows, max_rows }
    }
}

impl JsonSchema for CsvCheck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CsvCheck".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        CsvKeys::json_schema(generator)
    }
}

/// What is wrong with the value of a check that has the right shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The key below the check, where one is to blame.
    pub key: Option<&'static str>,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// Returns what no schema can see in the value of the check `name`, if anything is wrong with it; a value of another shape is not its business.
pub fn fault(name: &str, value: &Value) -> Option<Fault> {
    let whole = |error: serde_json::Error| Fault { key: None, message: error.to_string() };
    let read = |map: &Map<String, Value>, key: &'static str| {
        let read = map.get(key).map(|value| serde_json::from_value::<CheckSchema>(value.clone()));
        read.and_then(Result::err).map(|error| Fault { key: Some(key), message: error.to_string() })
    };
    match (name, value) {
        ("matches" | "notMatches", Value::String(_)) => {
            serde_json::from_value::<Pattern>(value.clone()).err().map(whole)
        }
        ("sha256", Value::String(_)) => serde_json::from_value::<Sha256>(value.clone()).err().map(whole),
        ("json", Value::Object(map)) => {
            let shaped = map.get("pointer").is_none_or(Value::is_string);
            read(map, "schema").or_else(|| {
                let known = map.keys().all(|key| ["schema", "pointer", "equals"].contains(&key.as_str()));
                let all = || serde_json::from_value::<JsonCheck>(value.clone()).err().map(whole);
                if shaped && known { all() } else { None }
            })
        }
        ("csv", Value::Object(map)) => {
            let bound = |key: &str| map.get(key).and_then(Value::as_u64);
            let keys = CsvKeys { columns: None, min_rows: bound("minRows"), max_rows: bound("maxRows") };
            CsvCheck::try_from(keys).err().map(|message| Fault { key: None, message })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(check: Value) -> Result<Check, String> {
        serde_json::from_value(check).map_err(|error| error.to_string())
    }

    #[test]
    fn every_check_is_written_as_it_was_read_and_knows_its_name() {
        let hash = "a".repeat(64);
        let all = [
            json!({"exists": true}),
            json!({"absent": true}),
            json!({"minBytes": 1}),
            json!({"maxBytes": 2}),
            json!({"contains": "a"}),
            json!({"notContains": "b"}),
            json!({"matches": "^a.*$"}),
            json!({"notMatches": "b+"}),
            json!({"json": {"schema": {"type": "object"}}}),
            json!({"csv": {"columns": ["a", "b"], "minRows": 1}}),
            json!({"yaml": true}),
            json!({"sha256": hash}),
            json!({"unchanged": true}),
            json!({"command": {"run": "true", "exit": 0}}),
        ];
        for (written, name) in all.iter().zip(NAMES) {
            let check = read(written.clone()).unwrap();
            assert_eq!((check.name(), &serde_json::to_value(&check).unwrap()), (name, written));
        }
        let null = json!({"json": {"pointer": "/a", "equals": null}});
        assert_eq!(serde_json::to_value(read(null.clone()).unwrap()).unwrap(), null);
    }

    #[test]
    fn what_cannot_be_meant_is_no_check() {
        for (written, problem) in [
            (json!({"exists": false}), "write `true`, or leave the check out"),
            (json!({"matches": "("}), "`(` is not a regular expression: unclosed group"),
            (json!({"sha256": "abc"}), "`abc` is not a sha256: it has 64 hexadecimal digits"),
            (json!({"json": {}}), "`json` takes either `schema`, or `equals`"),
            (json!({"json": {"pointer": "a", "equals": 1}}), "`a` is not a JSON pointer: write `/a`"),
            (json!({"json": {"schema": {"type": "objekt"}}}), "is not a JSON Schema"),
            (json!({"csv": {"minRows": 3, "maxRows": 2}}), "no file has at least 3 and at most 2 rows"),
            (json!({"command": {"run": []}}), "a command needs at least one word"),
        ] {
            let said = read(written.clone()).unwrap_err();
            assert!(said.contains(problem), "{written}: {said}");
            let (name, value) = written.as_object().unwrap().iter().next().unwrap();
            // What a schema sees by itself is not said twice.
            if !["exists", "command"].contains(&name.as_str()) {
                assert_eq!(fault(name, value).unwrap().message, said, "{written}");
            }
        }
        assert_eq!(fault("matches", &json!(5)), None);
        assert_eq!(fault("json", &json!({"shema": {}})), None);
    }
}
