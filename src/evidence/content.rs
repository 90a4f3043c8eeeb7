//! Owns what checks look for in the content of a file: text, JSON, CSV, YAML, and the words for what was expected and what is there.

use csv::StringRecord;
use regex::bytes::Regex;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::file::{Found, MOST_NAMED, Trouble, exactly};
use crate::check::{CsvCheck, JsonCheck};
use crate::source::yaml_refusal;
use crate::text;

/// Keys and values that a file of YAML may hold.
pub(super) const MOST_NODES: usize = 1_000_000;

/// Characters that are quoted of a value or of what matched.
const QUOTED: usize = 200;

/// Returns an expression that finds `text` as it stands.
pub(super) fn literal(text: &str) -> Result<Regex, Trouble> {
    Regex::new(&regex::escape(text)).map_err(|e| Trouble::Unable(format!("the text is too long: {e}")))
}

pub(super) fn search(bytes: &[u8], wanted: &Regex, there: bool) -> Found {
    match wanted.find(bytes) {
        None => (!there, format!("nothing like it in {}", exactly(bytes.len() as u64))),
        Some(found) => {
            let line = bytes[..found.start()].split(|byte| *byte == b'\n').count();
            let matched = String::from_utf8_lossy(found.as_bytes()).into_owned();
            (there, format!("`{}` in line {line}", text::truncate(&matched, QUOTED)))
        }
    }
}

fn as_text(bytes: &[u8]) -> Result<&str, Trouble> {
    std::str::from_utf8(bytes).map_err(|_| Trouble::Failed("not UTF-8".to_owned()))
}

pub(super) fn read_json(bytes: &[u8], check: &JsonCheck) -> Result<Found, Trouble> {
    let text = as_text(bytes)?;
    let value: Value = serde_json::from_str(text).map_err(|e| {
        // What only has to be read over has no limits: nesting, the size of numbers.
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Trouble::Unable(format!("tepa cannot look into this JSON: {e}")),
            Err(_) => Trouble::Failed(format!("not JSON: {e}")),
        }
    })?;
    Ok(match check {
        JsonCheck::Schema(schema) => match schema.violations(&value, MOST_NAMED).map_err(Trouble::Unable)? {
            violations if violations.is_empty() => (true, "JSON that fits it".to_owned()),
            violations => {
                let violations: Vec<_> =
                    violations.iter().map(|violation| text::truncate(violation, QUOTED)).collect();
                (false, violations.join("; "))
            }
        },
        JsonCheck::Equals { pointer, equals } => match value.pointer(pointer) {
            None => (false, format!("nothing at `{pointer}`")),
            // Numbers are equal by their value, however they are written.
            Some(found) => {
                let same = jsonschema::is_valid(&json!({"const": equals}), found);
                (same, format!("`{}`", text::truncate(&found.to_string(), QUOTED)))
            }
        },
    })
}

pub(super) fn json_in_words(check: &JsonCheck) -> String {
    match check {
        JsonCheck::Schema(_) => "JSON that fits the schema".to_owned(),
        JsonCheck::Equals { pointer, equals } if pointer.is_empty() => format!("the JSON value `{equals}`"),
        JsonCheck::Equals { pointer, equals } => format!("the JSON value `{equals}` at `{pointer}`"),
    }
}

/// Returns the header of CSV and how many rows there are below it.
pub(super) fn table(bytes: &[u8]) -> csv::Result<(StringRecord, u64)> {
    let mut reader = csv::Reader::from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let header = reader.headers()?.clone();
    let mut rows = 0;
    for row in reader.records() {
        row?;
        rows += 1;
    }
    Ok((header, rows))
}

pub(super) fn read_csv(bytes: &[u8], check: &CsvCheck) -> Found {
    let (header, rows) = match table(bytes) {
        Ok(counted) => counted,
        Err(e) => return (false, format!("not CSV: {e}")),
    };
    let columns: Vec<&str> = header.iter().collect();
    let passed = check.columns.as_ref().is_none_or(|wanted| wanted.iter().eq(&columns))
        && check.min_rows.is_none_or(|least| rows >= least)
        && check.max_rows.is_none_or(|most| rows <= most);
    (passed, format!("CSV with {} and {}", columns_in_words(&columns), counted_rows(rows)))
}

pub(super) fn csv_in_words(check: &CsvCheck) -> String {
    let CsvCheck { columns, min_rows, max_rows } = check;
    let rows = match (min_rows, max_rows) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {}", counted_rows(*least))),
        (None, Some(most)) => Some(format!("at most {}", counted_rows(*most))),
        (Some(least), Some(most)) if least == most => Some(counted_rows(*least)),
        (Some(least), Some(most)) => Some(format!("{least} to {}", counted_rows(*most))),
    };
    let parts: Vec<String> = columns.as_deref().map(columns_in_words).into_iter().chain(rows).collect();
    if parts.is_empty() { "CSV".to_owned() } else { format!("CSV with {}", parts.join(" and ")) }
}

fn columns_in_words(columns: &[impl AsRef<str>]) -> String {
    if columns.is_empty() {
        return "no columns".to_owned();
    }
    text::truncate(&format!("the columns {}", text::ticked(columns)), QUOTED).into_owned()
}

pub(super) fn counted_rows(rows: u64) -> String {
    text::plural("row", usize::try_from(rows).unwrap_or(usize::MAX))
}

pub(super) fn read_yaml(bytes: &[u8]) -> Result<Found, Trouble> {
    let text = as_text(bytes)?;
    match yaml_refusal(text.strip_prefix('\u{feff}').unwrap_or(text), MOST_NODES) {
        None => Ok((true, "YAML".to_owned())),
        Some(refusal) if refusal.is_limit => {
            Err(Trouble::Unable(format!("tepa cannot look into this YAML: {}", refusal.message)))
        }
        Some(refusal) => Ok((false, format!("not YAML: {}", refusal.message))),
    }
}
