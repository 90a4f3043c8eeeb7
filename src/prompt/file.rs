//! Owns what a prompt file may say, and the rules that its schema cannot see.

use std::collections::HashMap;
use std::path::{Component, Path};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::variables::{self, Values, VariableFile};
use super::{ExpectedOutput, Prompt, checks};
use crate::source::{Diagnostic, Diagnostics, Document, UnknownKeys, decode};

/// A prompt file: one task.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "tepa prompt")]
pub struct PromptFile {
    /// Where its schema lies, for editors; tepa does not look there.
    #[serde(rename = "$schema", default, skip_serializing)]
    #[schemars(with = "String")]
    pub schema: Option<String>,
    /// What to accomplish. Planner, executor and evaluator all see it.
    #[schemars(length(min = 1))]
    pub goal: String,
    /// Background for the models: paths, settings, domain knowledge. Anything goes.
    pub context: Map<String, Value>,
    /// What success looks like.
    pub expected_output: ExpectedOutput,
    /// Values that are not known yet, by name: `{{name}}` stands for them in the texts of the other keys.
    pub variables: Option<IndexMap<String, Option<VariableFile>>>,
}

/// Returns the prompt that a document holds, with its warnings, or every fault; its placeholders are filled with `values`.
///
/// Without a prompt and without a fault, values that only stand in for others are what is in the way.
pub fn load(
    document: &mut Document,
    values: &Values,
    unknown: UnknownKeys,
) -> Result<(Prompt, Diagnostics), Diagnostics> {
    let mut of_variables = document.diagnostics();
    let filled = variables::fill(document, values, &mut of_variables);
    let (mut file, mut faults) = decode::<PromptFile>(document, unknown);
    if filled.soften(document, &faults) {
        (file, faults) = decode::<PromptFile>(document, unknown);
    }
    let document = &*document;
    // The rules below read the tree itself, so that they find their faults beside those of the schema.
    let mut own = document.diagnostics();
    check_blank(document.value(), "", document, &mut own);
    check_paths(document, &mut own);
    checks::check(document, &mut own);
    // What decoding says of a value without its place is said there with it.
    faults.retain(|fault| fault.code != "value" || !own.iter().any(|other| other.message == fault.message));
    faults.extend(own);
    filled.forgive(&mut faults);
    filled.explain(&mut faults);
    faults.extend(of_variables);
    match file {
        Some(file) if !faults.has_errors() => {
            let PromptFile { goal, context, expected_output, .. } = file;
            Ok((Prompt { goal, context, expected_output }, faults))
        }
        _ => Err(faults),
    }
}

/// Keys below which anything goes: what a model is told, and what checks compare JSON with.
const FREE: [&str; 3] = ["context", "schema", "equals"];

/// Refuses texts of white space alone, everywhere but where anything goes.
fn check_blank(value: &Value, pointer: &str, document: &Document, faults: &mut Diagnostics) {
    match value {
        Value::String(text) if !text.is_empty() && text.trim().is_empty() => {
            let name = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
            let fault = Diagnostic::error("empty", format!("`{name}` must not be empty"));
            faults
                .push(fault.at(document.span_of_value(pointer)).hint("write what is meant, or leave it out"));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                check_blank(item, &format!("{pointer}/{at}"), document, faults);
            }
        }
        Value::Object(map) => {
            for (key, value) in
                map.iter().filter(|(key, _)| !FREE.contains(&key.as_str()) && !key.starts_with("x-"))
            {
                check_blank(value, &format!("{pointer}/{key}"), document, faults);
            }
        }
        _ => {}
    }
}

fn check_paths(document: &Document, faults: &mut Diagnostics) {
    let Some(list) = document.value().get("expectedOutput").and_then(Value::as_array) else {
        return;
    };
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, expected) in list.iter().enumerate() {
        let Some(path) = expected.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()) else {
            continue;
        };
        let span = document.span_of_value(&format!("/expectedOutput/{at}/path"));
        let Some(normal) = normalized(path) else {
            let fault =
                Diagnostic::error("outside-workspace", format!("`{path}` is outside the workspace")).at(span);
            faults.push(
                fault.hint(
                    "use a path relative to the folder that `tepa run` works in, without `..` out of it",
                ),
            );
            continue;
        };
        if normal.is_empty() {
            let fault = Diagnostic::error("no-file", format!("`{path}` is the workspace itself")).at(span);
            faults.push(fault.hint("name the file or folder that is expected in it"));
            continue;
        }
        if let Some(earlier) = first.insert(normal, at) {
            let message = format!("`{path}` is expected twice: entry {} names it as well", earlier + 1);
            let fault = Diagnostic::error("duplicate-path", message).at(span);
            faults.push(fault.hint("put all criteria of a file into one entry"));
        }
    }
}

/// Returns a relative path without `.` and `..`, or `None` when it leads out.
fn normalized(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}
