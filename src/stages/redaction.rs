//! Owns the removal of what patterns match, in text and in strings of JSON at any depth.

use std::borrow::Cow;

use regex::bytes::NoExpand;
use serde_json::Value;

use crate::check::Pattern;

/// What stands in the place of a match.
const STARS: &[u8] = b"***";

/// What is removed.
#[derive(Clone)]
pub(super) struct Redaction(pub(super) Vec<Pattern>);

impl Redaction {
    pub(super) fn text(&self, text: &str) -> String {
        let redacted = self.0.iter().fold(Cow::Borrowed(text.as_bytes()), |text, pattern| {
            Cow::Owned(pattern.regex().replace_all(&text, NoExpand(STARS)).into_owned())
        });
        // A pattern may match half of a character.
        String::from_utf8_lossy(&redacted).into_owned()
    }

    /// Names of keys are text as well.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, item)| (self.text(key), self.value(item))).collect(),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_matches_is_gone_wherever_it_stands() {
        let pattern = |text: &str| Pattern::try_from(text.to_owned()).unwrap();
        let redaction = Redaction(vec![pattern("sk-[a-z]{3,}"), pattern(r"(\d)\d+"), pattern("(?-u:\\xc3)")]);
        assert_eq!(redaction.text("sk-abc, sk-ab, 12345, 1"), "***, sk-ab, ***, 1");
        assert_eq!(redaction.text("é"), "***\u{fffd}");
        let value = json!({"a": ["x sk-abcdef", {"sk-abc": 12345, "n": null}], "b": true});
        assert_eq!(redaction.value(&value), json!({"a": ["x ***", {"***": 12345, "n": null}], "b": true}));
    }
}
