//! Owns settings that are typed one by one, such as `limits.maxCycles=3`: all of them together are one document.
//!
//! The value is YAML, so that what a key takes in a file it takes here. A key with a dot in it stands in quotes. It refuses a setting without a
//! value: nothing says nothing.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, MAX_NODES};
use super::file::{Format, SourceFile};
use super::node::{Children, Entry, Node};
use super::span::Span;
use super::yaml::{self, Placed};

/// One key on the way to a value, with its place.
type Key = (String, Span);

/// Returns the document that settings add up to, in the order in which they were typed: of one key, the last counts.
///
/// # Errors
/// What is no setting: every fault, with its place in the argument.
pub fn parse_settings(name: &str, settings: &[String]) -> Result<Document, Diagnostics> {
    let settings: Vec<&str> = settings.iter().map(|setting| setting.trim_matches('\u{feff}')).collect();
    let file = Arc::new(SourceFile::from_text(name, settings.join("\n"), Format::Yaml));
    let mut faults = Diagnostics::new(Arc::clone(&file));
    let (mut map, mut entries) = (Map::new(), Vec::new());
    let mut start = 0;
    for setting in settings {
        match parse(name, setting, start) {
            Ok((keys, placed)) => insert(&mut map, &mut entries, &keys, placed),
            Err(fault) => faults.push(fault),
        }
        start += setting.len() + 1;
    }
    if faults.has_errors() {
        return Err(faults);
    }
    let span = Span { start: 0, end: file.text().len() };
    Ok(Document::of(file, Value::Object(map), Node { span, children: Children::Map(entries) }))
}

/// Returns keys and value of a setting that begins at `start` of all of them.
fn parse(name: &str, setting: &str, start: usize) -> Result<(Vec<Key>, Placed), Diagnostic> {
    let whole = Span { start, end: start + setting.len() };
    let fault = |message: String| {
        let fault = Diagnostic::error("setting", message).at(Some(whole));
        fault.hint("write `key=value`, such as `limits.maxCycles=3`; a key with a dot in it stands in quotes")
    };
    let mut keys = Vec::new();
    let mut at = 0;
    loop {
        let rest = &setting[at..];
        let (key, before, after) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.split_once('"') {
                Some((key, _)) => (key, 1, 1),
                None => return Err(fault("a quote has no end".to_owned())),
            },
            None => (&rest[..rest.find(['.', '=']).unwrap_or(rest.len())], 0, 0),
        };
        if key.trim().is_empty() {
            return Err(fault("a key is missing".to_owned()));
        }
        let span = Span { start: start + at + before, end: start + at + before + key.len() };
        keys.push((key.to_owned(), span));
        at += before + key.len() + after;
        match setting[at..].chars().next() {
            Some('.') => at += 1,
            Some('=') => break,
            _ => return Err(fault(format!("`{key}` is given no value"))),
        }
    }
    let value = &setting[at + 1..];
    let begins = start + at + 1;
    let sub = SourceFile::from_text(name, value, Format::Yaml);
    if sub.is_blank() {
        return Err(fault("the value is missing".to_owned()));
    }
    let mut placed = yaml::parse(&sub, MAX_NODES).map_err(|mut fault| {
        fault.span = fault.span.map(|span| moved(span, begins));
        fault
    })?;
    if placed.value.is_null() {
        return Err(fault("the value is missing".to_owned()));
    }
    if keys.len() + depth(&placed.value) > yaml::MAX_DEPTH {
        return Err(yaml::too_deep().at(whole));
    }
    shift(&mut placed.node, begins);
    Ok((keys, placed))
}

/// Returns how many lists and maps are in each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn moved(span: Span, by: usize) -> Span {
    Span { start: span.start + by, end: span.end + by }
}

fn shift(node: &mut Node, by: usize) {
    node.span = moved(node.span, by);
    match &mut node.children {
        Children::None => {}
        Children::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Children::Map(entries) => {
            for entry in entries {
                entry.key = moved(entry.key, by);
                shift(&mut entry.value, by);
            }
        }
    }
}

fn insert(map: &mut Map<String, Value>, entries: &mut Vec<Entry>, keys: &[Key], placed: Placed) {
    let Some(((name, key), below)) = keys.split_first() else { return };
    let at = entries.iter().position(|entry| entry.name == *name);
    let old = at.map(|at| entries.remove(at)).zip(map.shift_remove(name));
    let Placed { value, node } = if below.is_empty() {
        placed
    } else {
        let (mut inner, mut nodes) = match old {
            Some((
                Entry { value: Node { children: Children::Map(nodes), .. }, .. },
                Value::Object(inner),
            )) => (inner, nodes),
            _ => Default::default(),
        };
        let span = Span { start: key.start, end: placed.node.span.end };
        insert(&mut inner, &mut nodes, below, placed);
        Placed { value: inner.into(), node: Node { span, children: Children::Map(nodes) } }
    };
    map.insert(name.clone(), value);
    entries.push(Entry { name: name.clone(), key: *key, value: node });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(settings: &[&str]) -> Result<Document, Diagnostics> {
        parse_settings("--set", &settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn settings_add_up_and_every_part_has_its_place() {
        let document = parsed(&[
            "limits.maxCycles=3",
            "pricing.\"gpt-4.1\".input=0.5",
            "tools=[a, 'b=c']",
            "limits.maxTokens=5",
            "limits.maxCycles=4",
            "model={planner: p}",
            "turn.session=ünïcode",
        ])
        .unwrap();
        let expected = json!({"pricing": {"gpt-4.1": {"input": 0.5}}, "tools": ["a", "b=c"],
            "limits": {"maxTokens": 5, "maxCycles": 4}, "model": {"planner": "p"}, "turn": {"session": "ünïcode"}});
        assert_eq!(document.value(), &expected);
        let slice = |span: Option<Span>| document.file().slice(span.unwrap());
        assert_eq!(slice(document.span_of_key("/limits/maxCycles")), "maxCycles");
        assert_eq!(slice(document.span_of_value("/limits/maxCycles")), "4");
        assert_eq!(slice(document.span_of_key("/pricing/gpt-4.1")), "gpt-4.1");
        assert_eq!(slice(document.span_of_value("/tools/1")), "'b=c'");
        assert_eq!(slice(document.span_of_key("/model/planner")), "planner");
        assert_eq!(slice(document.span_of_value("/turn/session")), "ünïcode");
    }

    #[test]
    fn what_is_no_setting_is_refused_with_its_place() {
        for (setting, message) in [
            ("limits.maxCycles", "`maxCycles` is given no value"),
            ("limits.maxCycles=", "the value is missing"),
            ("limits.maxCycles= ~", "the value is missing"),
            ("=3", "a key is missing"),
            ("limits..maxCycles=3", "a key is missing"),
            ("", "a key is missing"),
            ("\"a=3", "a quote has no end"),
            ("\"a\"b=3", "`a` is given no value"),
        ] {
            let faults = parsed(&["a=1", setting]).unwrap_err();
            let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
            assert_eq!(messages, [message], "{setting}");
        }
        let deep = |keys: usize| format!("{}a=[[1]]", "a.".repeat(keys - 1));
        assert!(parsed(&[&deep(62)]).is_ok());
        for keys in [63, 100_000] {
            assert_eq!(parsed(&[&deep(keys)]).unwrap_err().iter().next().unwrap().code, "too-deep");
        }
        let faults = parsed(&["a=1", "b=[1, 2"]).unwrap_err();
        assert!(faults.render(false, 100).contains("--set:2:"), "{}", faults.render(false, 100));
    }
}
