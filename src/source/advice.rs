//! Owns what a person is advised to do about a value or a key, by what the slip looks like and by what the schema says.
//!
//! It refuses to guess: where nothing tells what was meant, there is no advice.

use std::borrow::Cow;

use serde_json::Value;

use super::wording::{BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, shortened};

/// A value of the wrong type.
pub(super) struct Slip<'a> {
    pub(super) found: &'a Value,
    /// What would be right.
    pub(super) expected: &'a [&'a str],
    /// How the value is written.
    pub(super) written: &'a str,
    /// The line that it begins on.
    pub(super) line: &'a str,
    /// Whether the file is JSON.
    pub(super) json: bool,
}

impl Slip<'_> {
    /// Returns how it is put right.
    pub(super) fn advice(&self) -> Option<Cow<'static, str>> {
        let expects = |name: &str| self.expected.contains(&name);
        let words = match self.found {
            Value::Number(_) | Value::Bool(_) if expects(STRING) => {
                return Some(format!("put it in quotes: \"{}\"", shortened(self.written)).into());
            }
            Value::String(text) => return self.of_text(text),
            Value::Object(_) if expects(LIST) && self.json => "put it in brackets: `[{…}]`",
            Value::Object(_) if expects(LIST) => "begin each item of the list with `- `",
            Value::Object(map) if expects(STRING) && map.len() == 1 && !self.json => {
                let one_line = !self.written.contains(['\n', '{']);
                let quoted =
                    || format!("put text with `: ` in it in quotes: \"{}\"", shortened(self.written));
                return one_line.then(|| quoted().into());
            }
            Value::Array(_) if expects(MAP) && (self.json || self.written.starts_with('[')) => {
                "write it in braces, as keys with values"
            }
            Value::Array(_) if expects(MAP) => "write it as keys with values, without `- ` in front",
            Value::Array(_) if expects(STRING) && !self.json => {
                "write it as one text; `|` begins a text of several lines"
            }
            Value::Null if self.written.is_empty() && expects(STRING) && self.line.contains(" #") => {
                "what follows ` #` is a comment: put text that begins with `#` in quotes"
            }
            Value::Null if self.written.is_empty() => "write a value behind the `:`",
            _ => return None,
        };
        Some(words.into())
    }

    fn of_text(&self, text: &str) -> Option<Cow<'static, str>> {
        let expects = |name: &str| self.expected.contains(&name);
        let words = match text.to_lowercase().as_str() {
            "yes" | "no" | "on" | "off" if expects(BOOLEAN) => "write `true` or `false`",
            "true" | "false" if expects(BOOLEAN) => "remove the quotes",
            other if (expects(INTEGER) || expects(NUMBER)) && other.parse::<f64>().is_ok() => {
                "remove the quotes"
            }
            _ if expects(LIST) && self.json => {
                return Some(format!("put it in brackets: [\"{}\"]", shortened(text)).into());
            }
            _ if expects(LIST) => {
                let shown = shortened(text);
                return Some(format!("put it in brackets, or begin each item with `- `: [{shown}]").into());
            }
            _ if expects(MAP) => "write it as keys with values: `key: value`",
            _ => return None,
        };
        Some(words.into())
    }
}

/// Returns the first sentence of what a map's schema says of a key.
pub(super) fn purpose<'s>(map: &'s Value, key: &str) -> Option<&'s str> {
    let words = map.get("properties")?.get(key)?.get("description")?.as_str()?;
    let end = words.find([';', '\n']).unwrap_or(words.len());
    let sentence = words[..end].split_once(". ").map_or(&words[..end], |(first, _)| first);
    Some(sentence.trim_end_matches('.'))
}

/// Returns the keys at the top of a file below which a key has its place, as the schema of the file says.
pub(super) fn homes<'s>(schema: &'s Value, key: &str) -> Vec<&'s str> {
    let resolved = |form: &'s Value| match form.get("$ref").and_then(Value::as_str) {
        Some(reference) => schema.pointer(reference.trim_start_matches('#')).unwrap_or(form),
        None => form,
    };
    let knows = |form: &'s Value| {
        let forms = form.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let all = std::iter::once(form).chain(forms).chain(form.get("items")).map(resolved);
        all.into_iter().any(|form| form.get("properties").is_some_and(|keys| keys.get(key).is_some()))
    };
    let top = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    top.filter(|(_, form)| knows(resolved(form))).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_has_its_home_where_the_schema_knows_it() {
        let schema = json!({
            "properties": {
                "limits": {"anyOf": [{"$ref": "#/$defs/limits"}, {"type": "null"}]},
                "items": {"items": {"$ref": "#/$defs/item"}},
                "name": {"type": "string"},
            },
            "$defs": {
                "limits": {"properties": {"most": {}, "time": {}}},
                "item": {"properties": {"time": {"description": "How long. And more."}}},
            },
        });
        assert_eq!(homes(&schema, "most"), ["limits"]);
        assert_eq!(homes(&schema, "time"), ["limits", "items"]);
        assert_eq!(homes(&schema, "name"), Vec::<&str>::new());
        assert_eq!(purpose(&schema["$defs"]["item"], "time"), Some("How long"));
        assert_eq!(purpose(&schema["$defs"]["limits"], "time"), None);
    }

    #[test]
    fn there_is_no_advice_where_nothing_tells_what_was_meant() {
        let slip = |found: &Value, expected: &[&str], written: &str| {
            let json = false;
            Slip { found, expected, written, line: "", json }.advice().map(Cow::into_owned)
        };
        assert_eq!(slip(&json!("many"), &[INTEGER], "many"), None);
        assert_eq!(slip(&json!({"a": {"b": 1}}), &[STRING], "a: {b: 1}"), None);
        assert_eq!(slip(&json!("7"), &[INTEGER], "'7'").as_deref(), Some("remove the quotes"));
        assert_eq!(slip(&json!(7), &[STRING], "007").as_deref(), Some("put it in quotes: \"007\""));
    }
}
