//! Owns the warning about lengths of time that were hardly meant: a bare number is milliseconds, and people think in seconds.

use serde_json::Value;

use crate::source::{Diagnostic, Diagnostics, Document};

/// The keys of time that people write by hand, and that nobody wants to be under a second.
const KEYS: [&str; 3] = ["maxDuration", "timeout", "startupTimeout"];

/// Below so many milliseconds a bare number was hardly meant.
const LEAST: u64 = 1000;

/// Keys below which anything goes.
const FREE: [&str; 3] = ["context", "schema", "equals"];

/// Warns of bare numbers that are less than a second.
pub(in crate::cli) fn check(document: &Document, faults: &mut Diagnostics) {
    look(document.value(), "", document, faults);
}

fn look(value: &Value, pointer: &str, document: &Document, faults: &mut Diagnostics) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !FREE.contains(&key.as_str())) {
                let below = Document::pointer_below(pointer, key);
                match value.as_u64() {
                    Some(number) if number < LEAST && KEYS.contains(&key.as_str()) => {
                        let message = format!("`{key}` of {number} is {number} milliseconds");
                        let hint =
                            format!("write the unit: `{number}s`, or `{number}ms` if that is what is meant");
                        let fault = Diagnostic::warning("short-time", message);
                        faults.push(fault.at(document.span_of_value(&below)).hint(hint));
                    }
                    _ => look(value, &below, document, faults),
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                look(item, &format!("{pointer}/{at}"), document, faults);
            }
        }
        _ => {}
    }
}
