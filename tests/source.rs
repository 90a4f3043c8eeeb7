//! Broken files and what is said about them, word for word.
//!
//! `tests/source/faults.txt` holds the cases: a line `=== name.yaml` or `=== name.json`, the file, a line `~~~`, the
//! rendered diagnostics. With `TEPA_BLESS=1` in the environment the second halves are written anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use tepa::source::{Document, Format, SourceFile, UnknownKeys, decode};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/source/faults.txt");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Task {
    #[schemars(length(min = 1))]
    goal: String,
    version: Option<u8>,
    limits: Option<Limits>,
    mode: Option<Mode>,
    strict: Option<bool>,
    #[serde(default)]
    #[schemars(length(min = 1))]
    steps: Option<Vec<Step>>,
    #[serde(default)]
    checks: Vec<Check>,
    server: Option<Server>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    context: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Limits {
    max_cycles: Option<u32>,
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    mode: Option<Pace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Step {
    id: String,
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Mode {
    /// Documented variants are published as a choice of constants.
    Fast,
    /// The other one.
    Thorough,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Pace {
    Slow,
    Quick,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
enum Check {
    Exists(bool),
    MinBytes(u64),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its shape is of interest")]
enum Server {
    Command { program: String },
    Url { address: String, pace: Option<Pace> },
}

fn judge(name: &str, text: &str, unknown: UnknownKeys) -> String {
    let format = if name.contains(".json") { Format::Json } else { Format::Yaml };
    let diagnostics = match Document::parse(SourceFile::from_text(name, text, format)) {
        Ok(document) => {
            let (task, diagnostics) = decode::<Task>(&document, unknown);
            assert_eq!(task.is_none(), diagnostics.has_errors(), "{name}");
            diagnostics
        }
        Err(diagnostics) => diagnostics,
    };
    diagnostics.render(false, 100)
}

#[test]
fn broken_files_are_explained_word_for_word() {
    let cases = std::fs::read_to_string(CASES).unwrap();
    let mut blessed = String::new();
    let mut count = 0;
    for case in cases.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("~~~\n").unwrap();
        let said = judge(name, text, UnknownKeys::Refuse);
        if std::env::var_os("TEPA_BLESS").is_none() {
            assert_eq!(said, expected.trim_end(), "{name}");
        }
        write!(blessed, "=== {name}\n{text}~~~\n{said}\n\n").unwrap();
        count += 1;
    }
    assert!(count >= 25, "{count} cases");
    if std::env::var_os("TEPA_BLESS").is_some() {
        std::fs::write(CASES, blessed).unwrap();
    }
}
