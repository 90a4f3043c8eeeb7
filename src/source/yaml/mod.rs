//! The one place that knows the YAML crate: text to a tree with places, and a value to text.
//!
//! It refuses what would make a file mean something else than it seems to (a key given twice, a tag nobody
//! handles, a second document, a number that cannot be kept exactly) and what is built to exhaust the program
//! (deep nesting, aliases that multiply).

mod fault;

use std::fmt;
use std::thread;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_yaml::{DuplicateKeyPolicy, Location, Spanned};

pub(super) use self::fault::too_deep;
use super::diagnostic::Diagnostic;
use super::file::{Format, SourceFile};
use super::node::{Children, Entry, Node};
use super::span::Span;
use crate::text;

/// How deep lists and maps may be nested.
pub(super) const MAX_DEPTH: usize = 64;

/// Stack of the parsing thread in bytes: the parser recurses, in a debug build with some 40 KiB a level.
const STACK: usize = 16 * 1024 * 1024;

/// The codes of faults that say nothing about the text but that there is too much of it.
const LIMITS: [&str; 3] = ["too-deep", "too-complex", "parser"];

/// Parses YAML text into a plain value, with at most `max_nodes` keys and values; the message of a refusal
/// names line and column.
pub fn parse_yaml_value(text: &str, max_nodes: usize) -> Result<Value, String> {
    read(text, max_nodes).map_err(|refusal| refusal.message)
}

/// Why text was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlRefusal {
    /// What is wrong, with line and column.
    pub message: String,
    /// Whether it was only too much to be read, so that nobody knows whether anything is wrong.
    pub is_limit: bool,
}

/// Returns why text is not taken for YAML, if it is not; `max_nodes` is as for [`parse_yaml_value`].
pub fn yaml_refusal(text: &str, max_nodes: usize) -> Option<YamlRefusal> {
    read(text, max_nodes).err()
}

fn read(text: &str, max_nodes: usize) -> Result<Value, YamlRefusal> {
    let file = SourceFile::from_text("text", text, Format::Yaml);
    parse(&file, max_nodes).map(|placed| placed.value).map_err(|fault| {
        let place = fault.span.map(|span| file.position(span.start));
        let place = place.map(|at| format!(" at line {}, column {}", at.line, at.column));
        YamlRefusal {
            message: format!("{}{}", fault.message, place.unwrap_or_default()),
            is_limit: LIMITS.contains(&fault.code),
        }
    })
}

/// Returns a value as YAML text.
pub fn to_yaml(value: &impl Serialize) -> Result<String, String> {
    serde_yaml::to_string(value).map_err(|error| error.to_string())
}

/// A value together with the places of all its parts.
pub(super) struct Placed {
    pub(super) value: Value,
    pub(super) node: Node,
}

/// Parses a file of either format: YAML's flow style contains JSON.
pub(super) fn parse(file: &SourceFile, max_nodes: usize) -> Result<Placed, Diagnostic> {
    let parse = move || {
        let options = serde_yaml::options! {
            with_snippet: false,
            strict_booleans: true,
            reject_unsupported_tags: true,
            duplicate_keys: DuplicateKeyPolicy::Error,
            budget: serde_yaml::budget! {
                max_nodes: max_nodes,
                max_depth: MAX_DEPTH,
                flow_nesting_limit: MAX_DEPTH,
                max_documents: 1,
            },
        };
        let mut placed: Placed = serde_yaml::from_str_with_options(file.text(), options)
            .map_err(|error| fault::in_words(file, &error, max_nodes))?;
        settle(file, &mut placed.value, &mut placed.node)?;
        Ok(placed)
    };
    let failed = || Diagnostic::error("parser", "the parser gave up on this file");
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parse);
        thread.map_err(|_| failed())?.join().map_err(|_| failed())?
    })
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `defined`, not `referenced`: a fault in an aliased value is mended where its anchor is.
        let Spanned { value: Content { value, children }, defined, .. } = Spanned::deserialize(deserializer)?;
        Ok(Self { value, node: Node { span: known_span(defined).unwrap_or_default(), children } })
    }
}

/// A value before its own place is known.
struct Content {
    value: Value,
    children: Children,
}

impl Content {
    fn scalar(value: impl Into<Value>) -> Self {
        Self { value: value.into(), children: Children::None }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Content, E> {
        Ok(Content::scalar(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let (mut values, mut nodes) = (Vec::new(), Vec::new());
        while let Some(Placed { value, node }) = items.next_element()? {
            values.push(value);
            nodes.push(node);
        }
        Ok(Content { value: Value::Array(values), children: Children::List(nodes) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let (mut values, mut entries) = (Map::new(), Vec::new());
        while let Some(Spanned { value: name, defined, .. }) = map.next_key::<Spanned<String>>()? {
            let Placed { value, node } = map.next_value()?;
            values.insert(name.clone(), value);
            entries.push(Entry { name, key: known_span(defined).unwrap_or_default(), value: node });
        }
        Ok(Content { value: Value::Object(values), children: Children::Map(entries) })
    }
}

/// Makes spans cover whole values (the parser gives where a list or map begins) and whole numbers whole: the
/// parser reads `010` and integers beyond 64 bits as floats.
fn settle(file: &SourceFile, value: &mut Value, node: &mut Node) -> Result<(), Diagnostic> {
    let mut end = node.span.end;
    match (&mut node.children, value) {
        (Children::List(nodes), Value::Array(values)) => {
            for (node, value) in nodes.iter_mut().zip(values) {
                settle(file, value, node)?;
                end = end.max(node.span.end);
            }
        }
        (Children::Map(entries), Value::Object(values)) => {
            for (entry, value) in entries.iter_mut().zip(values.values_mut()) {
                settle(file, value, &mut entry.value)?;
                end = end.max(entry.key.end).max(entry.value.span.end);
            }
        }
        (_, value) => {
            let written = file.slice(node.span).trim_end();
            node.span.end = node.span.start + written.len();
            if value.is_f64() {
                *value = number(written, value).map_err(|fault| fault.at(node.span))?;
            }
            return Ok(());
        }
    }
    let closing = match file.slice(node.span) {
        "[" => ']',
        "{" => '}',
        _ => {
            node.span.end = end;
            return Ok(());
        }
    };
    let rest = file.text().get(end..).unwrap_or_default();
    let after = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
    node.span.end = if after.starts_with(closing) { end + rest.len() - after.len() + 1 } else { end };
    Ok(())
}

/// Returns the number that was written, given what the parser took it for.
fn number(written: &str, parsed: &Value) -> Result<Value, Diagnostic> {
    let digits = written.trim_start_matches(['+', '-']).replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(parsed.clone());
    }
    let signed = if written.starts_with('-') { format!("-{digits}") } else { digits };
    let exact = signed.parse::<u64>().map(Number::from).or_else(|_| signed.parse::<i64>().map(Number::from));
    exact.map(Value::Number).map_err(|_| {
        let message = format!("the number {} is too large to be kept exactly", text::truncate(written, 40));
        Diagnostic::error("number", message).hint("put it in quotes if it is a name rather than a quantity")
    })
}

fn known_span(location: Location) -> Option<Span> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let length = usize::try_from(location.span().byte_len()?).ok()?;
    Some(Span { start, end: start + length })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Value {
        parse_yaml_value(text, 1_000).unwrap()
    }

    fn refusal(text: &str) -> String {
        parse_yaml_value(text, 1_000).unwrap_err()
    }

    #[test]
    fn too_much_is_told_from_what_is_wrong() {
        let limit = |text: &str| yaml_refusal(text, 100).map(|refusal| refusal.is_limit);
        assert_eq!(limit("[1, 2]"), None);
        assert_eq!(limit("[1, 2"), Some(false));
        assert_eq!(limit("{a: 1, a: 2}"), Some(false));
        assert_eq!(limit(&"[".repeat(100)), Some(true));
        assert_eq!(limit(&"- 1\n".repeat(100)), Some(true));
    }

    #[test]
    fn scalars_keep_their_kind() {
        let text = "[1, -2, +3, 0x1F, 010, 18446744073709551615, -9223372036854775808, 1.0, 1e3, .5, -0.5]";
        let expected = json!([1, -2, 3, 31, 10, u64::MAX, i64::MIN, 1.0, 1000.0, 0.5, -0.5]);
        assert_eq!(value(text), expected);
        assert_eq!(value("[~, null, ]"), json!([null, null]));
        assert_eq!(value("a:\nb: Null\n"), json!({"a": null, "b": null}));
        assert_eq!(value("[true, False, yes, no, on, y]"), json!([true, false, "yes", "no", "on", "y"]));
        assert_eq!(
            value("[2026-01-31, 12:30:45, '3', 1.2.3, v1]"),
            json!(["2026-01-31", "12:30:45", "3", "1.2.3", "v1"])
        );
        assert_eq!(value("1: a\ntrue: b\n"), json!({"1": "a", "true": "b"}));
    }

    #[test]
    fn numbers_that_cannot_be_kept_are_refused() {
        assert_eq!(
            refusal("a: 18446744073709551616"),
            "the number 18446744073709551616 is too large to be kept exactly at line 1, column 4"
        );
        assert!(
            refusal("a: -9223372036854775809").starts_with("the number -9223372036854775809 is too large")
        );
        assert_eq!(refusal("- .inf"), "`.inf` is not a finite number at line 1, column 3");
    }

    #[test]
    fn aliases_and_merges_are_resolved() {
        let text = "base: &b {a: 1, c: 2}\nuse: *b\nmore:\n  <<: *b\n  c: 3\n";
        let base = json!({"a": 1, "c": 2});
        assert_eq!(value(text), json!({"base": base, "use": base, "more": {"c": 3, "a": 1}}));
    }

    #[test]
    fn hostile_text_is_refused_with_a_place() {
        assert_eq!(
            refusal(&"[".repeat(1_000_000)),
            "lists and maps are nested more than 64 deep at line 1, column 65"
        );
        assert_eq!(
            refusal(&"- ".repeat(5_000)),
            "lists and maps are nested more than 64 deep at line 1, column 129"
        );
        let level = |level: usize| {
            let uses = vec![format!("*a{}", level - 1); 9].join(", ");
            format!("a{level}: &a{level} [{uses}]\n")
        };
        let levels: Vec<String> = (1..10).map(level).collect();
        let bomb = format!("a0: &a0 [x, x, x]\n{}", levels.concat());
        assert!(
            refusal(&bomb).starts_with("the file holds more than 1000 values once its aliases are resolved")
        );
        assert!(refusal(&"- a\n".repeat(1_001)).starts_with("the file holds more than 1000 values"));
        assert!(refusal("a: b: c: d").ends_with("at line 1, column 5"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let before = json!({"text": "two\nlines\n", "odd": ["yes", "1", "null", "~", "2026-01-31", "# no", "a: b"],
            "n": [1, -1, 0.5, null, true], "empty": [{}, [], ""], "uni": "ü\u{1b}"});
        assert_eq!(value(&to_yaml(&before).unwrap()), before);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_written_so_that_it_is_read_again(texts in proptest::collection::vec("(?s).{0,30}", 1..4), key in ".{0,10}") {
            let before = json!({"list": texts, key: {"deeper": texts[0]}});
            let written = to_yaml(&before).unwrap();
            proptest::prop_assert_eq!(parse_yaml_value(&written, 1_000), Ok(before), "{}", written);
        }

        #[test]
        fn no_text_makes_the_parser_fail(text in r#"[\[\]{}:,&*!|>'"%@`#?a1 \n\t\r~.<-]{0,60}"#) {
            if let Err(message) = parse_yaml_value(&text, 1_000) {
                proptest::prop_assert!(!message.contains("gave up"), "{}", message);
            }
        }
    }
}
