//! Owns the rules for the checks of an expected output that no schema can see: values that nothing can meet, and checks that contradict
//! each other or have nothing to look at.

use serde_json::Value;

use crate::check;
use crate::source::{Diagnostic, Diagnostics, Document};
use crate::text;

/// Checks that say that nothing is there, or that hold as well when nothing is there.
const WITHOUT_FILE: [&str; 3] = ["absent", "unchanged", "command"];

/// One check as it is written: its name, its value and where it is.
struct Written<'a> {
    name: &'a str,
    value: &'a Value,
    pointer: String,
}

pub(super) fn check(document: &Document, faults: &mut Diagnostics) {
    let list = document.value().get("expectedOutput").and_then(Value::as_array);
    for (at, expected) in list.into_iter().flatten().enumerate() {
        let written = written(expected, at);
        for check in &written {
            if let Some(fault) = check::fault(check.name, check.value) {
                let key = fault.key.map(|key| format!("/{key}")).unwrap_or_default();
                let span = document.span_of_value(&format!("{}{key}", check.pointer));
                faults.push(Diagnostic::error("value", fault.message).at(span));
            }
        }
        if expected.get("path").is_none() {
            for check in written.iter().filter(|check| check.name != "command") {
                let message = format!("`{}` needs a file, and this entry names none", check.name);
                let fault = Diagnostic::error("no-path", message).at(document.span_of_key(&check.pointer));
                faults.push(fault.hint("add the `path` that it is about"));
            }
        }
        contradictions(&written, document, faults);
    }
}

fn written(expected: &Value, at: usize) -> Vec<Written<'_>> {
    let list = expected.get("checks").and_then(Value::as_array);
    let maps = list.into_iter().flatten().enumerate().filter_map(|(index, check)| {
        let map = check.as_object().filter(|map| map.len() == 1)?;
        let (name, value) = map.iter().next()?;
        let pointer = format!("/expectedOutput/{at}/checks/{index}/{name}");
        check::NAMES.contains(&name.as_str()).then_some(Written { name, value, pointer })
    });
    maps.collect()
}

fn contradictions(written: &[Written<'_>], document: &Document, faults: &mut Diagnostics) {
    let mut refuse = |check: &Written<'_>, message: String| {
        let fault = Diagnostic::error("contradiction", message).at(document.span_of_key(&check.pointer));
        faults.push(fault.hint("no run could pass: leave one of them out"));
    };
    if written.iter().any(|check| check.name == "absent") {
        for check in written.iter().filter(|check| !WITHOUT_FILE.contains(&check.name)) {
            refuse(check, format!("`{}` contradicts `absent`", check.name));
        }
    }
    for (asked, refused) in [("contains", "notContains"), ("matches", "notMatches")] {
        for check in written.iter().filter(|check| check.name == refused) {
            if written.iter().any(|other| other.name == asked && other.value == check.value) {
                refuse(check, format!("`{refused}` and `{asked}` say the opposite of one text"));
            }
        }
    }
    one_of_each(written, &mut refuse);
    let bound = |name: &'static str| {
        let bounds = written.iter().filter(move |check| check.name == name);
        bounds.filter_map(|check| Some((check, check.value.as_u64()?)))
    };
    if let (Some((_, least)), Some((check, most))) =
        (bound("minBytes").max_by_key(|(_, bytes)| *bytes), bound("maxBytes").min_by_key(|(_, bytes)| *bytes))
        && least > most
    {
        let (least, most) = (text::bytes(least), text::bytes(most));
        refuse(check, format!("no file has at least {least} (`minBytes`) and at most {most} (`maxBytes`)"));
    }
}

/// Refuses values that one file cannot have at once: two hashes, two values at one place, rows beyond bounds of another check.
fn one_of_each(written: &[Written<'_>], refuse: &mut impl FnMut(&Written<'_>, String)) {
    let of = |name: &'static str| written.iter().filter(move |check| check.name == name);
    let hash = |check: &Written<'_>| check.value.as_str().map(str::to_ascii_lowercase);
    for (first, check) in of("sha256").zip(of("sha256").skip(1)) {
        if hash(first) != hash(check) {
            refuse(check, "a file has one `sha256`, and two are asked of it".to_owned());
        }
    }
    let pointer = |check: &Written<'_>| {
        check.value.get("pointer").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let valued: Vec<&Written<'_>> = of("json").filter(|check| check.value.get("equals").is_some()).collect();
    for (at, check) in valued.iter().enumerate() {
        let clashes = |other: &&&Written<'_>| {
            pointer(other) == pointer(check) && other.value["equals"] != check.value["equals"]
        };
        if valued[..at].iter().any(|other| clashes(&other)) {
            refuse(check, format!("`{}` is asked to have two values", pointer(check)));
        }
    }
    let rows =
        |key: &'static str| of("csv").filter_map(move |check| Some((check, check.value.get(key)?.as_u64()?)));
    if let (Some((least, min)), Some((most, max))) =
        (rows("minRows").max_by_key(|(_, rows)| *rows), rows("maxRows").min_by_key(|(_, rows)| *rows))
        // Within one check it is said already.
        && min > max && least.pointer != most.pointer
    {
        refuse(most, format!("no file has at least {min} (`minRows`) and at most {max} rows (`maxRows`)"));
    }
}
