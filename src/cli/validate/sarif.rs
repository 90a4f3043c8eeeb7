//! Owns the faults of all files as SARIF 2.1.0, which code scanners and editors read.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::check::{Checked, End};
use super::places::Places;
use super::report::{UNREADABLE, why, with_hint};
use crate::cli::answer::json_text;
use crate::source::{Row, Severity};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// What a part of a URI keeps as it is, by RFC 3986.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn render(files: &[Checked], places: &Places<'_>) -> String {
    let mut results = Vec::new();
    let mut codes = BTreeSet::new();
    for file in files {
        let name = places.of(&file.name);
        match &file.end {
            End::PassedOver => {}
            End::Unreadable(error) => {
                codes.insert(UNREADABLE);
                results.push(result(UNREADABLE, "error", &why(error), &name, None));
            }
            End::Faults(faults) => {
                for row in faults.rows() {
                    codes.insert(row.code);
                    let level = match row.severity {
                        Severity::Error => "error",
                        Severity::Warning => "warning",
                    };
                    results.push(result(row.code, level, &with_hint(&row), &name, region(&row)));
                }
            }
        }
    }
    let rules: Vec<Value> = codes.into_iter().map(|code| json!({"id": code})).collect();
    let driver = json!({"name": "tepa", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let run = json!({"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results});
    json_text(&json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}))
}

fn result(code: &str, level: &str, message: &str, name: &str, region: Option<Value>) -> Value {
    let mut place = Map::from_iter([("artifactLocation".to_owned(), json!({"uri": uri(name)}))]);
    place.extend(region.map(|region| ("region".to_owned(), region)));
    let locations = json!([{"physicalLocation": place}]);
    json!({"ruleId": code, "level": level, "message": {"text": message}, "locations": locations})
}

fn region(row: &Row<'_>) -> Option<Value> {
    let (line, column) = (row.line?, row.column?);
    Some(
        json!({"startLine": line, "startColumn": column, "endLine": row.end_line, "endColumn": row.end_column}),
    )
}

/// Returns a name as a URI: relative where the name is, with slashes on every system.
fn uri(name: &str) -> String {
    let path = Path::new(name);
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(part) => Some(utf8_percent_encode(&part.to_string_lossy(), KEPT).to_string()),
        Component::ParentDir => Some("..".to_owned()),
        Component::Prefix(prefix) => Some(prefix.as_os_str().to_string_lossy().into_owned()),
        Component::RootDir | Component::CurDir => None,
    });
    let parts = parts.collect::<Vec<_>>().join("/");
    if path.is_absolute() { format!("file:///{parts}") } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_uri() {
        assert_eq!(uri("./a b/ü#1.yaml"), "a%20b/%C3%BC%231.yaml");
        assert_eq!(uri("../a.yaml"), "../a.yaml");
        assert_eq!(uri("100%.yaml"), "100%25.yaml");
        #[cfg(unix)]
        assert_eq!(uri("/tmp/a.yaml"), "file:///tmp/a.yaml");
    }
}
