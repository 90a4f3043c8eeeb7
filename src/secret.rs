//! Owns what must never leave: the values of secrets, and their removal from text on its way out.
//!
//! Removal is by value, wherever the value turns up; a secret shorter than [`SHORTEST`] would tear holes into ordinary text and is not removed.

use std::borrow::Cow;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The shortest value that is removed from text, in bytes.
pub const SHORTEST: usize = 8;

/// The secrets of a run.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    values: Arc<[SecretString]>,
}

impl Secrets {
    /// Returns the secrets that are long enough to be removed.
    pub fn new(values: impl IntoIterator<Item = SecretString>) -> Self {
        let mut values: Vec<SecretString> =
            values.into_iter().filter(|value| value.expose_secret().len() >= SHORTEST).collect();
        // A secret that contains another one goes first, or its rest would stay.
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        Self { values: values.into() }
    }

    /// Returns `text` with `***` in place of each secret, in its plain and in its JSON-escaped form.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        for value in self.values.iter().map(ExposeSecret::expose_secret) {
            if clean.contains(value) {
                clean = Cow::Owned(clean.replace(value, "***"));
            }
            let quoted = serde_json::Value::from(value).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            if escaped != value && clean.contains(escaped) {
                clean = Cow::Owned(clean.replace(escaped, "***"));
            }
        }
        clean
    }
}

impl Secrets {
    /// Returns `value` with `***` in place of each secret in its texts; keys stay what they are.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (key, self.redact_value(value))).collect()
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_removed_in_plain_and_escaped_form_and_never_printed() {
        let secrets = Secrets::new([SecretString::from("sk-\"12345"), SecretString::from("short")]);
        assert_eq!(secrets.redact(r#"a sk-"12345 b sk-\"12345 c short"#), "a *** b *** c short");
        assert!(matches!(secrets.redact("nothing here"), Cow::Borrowed(_)));
        assert!(!format!("{secrets:?}").contains("12345"));
    }

    #[test]
    fn a_secret_that_contains_another_leaves_nothing() {
        let secrets =
            Secrets::new([SecretString::from("sk-abcdefgh"), SecretString::from("sk-abcdefghIJKL")]);
        assert_eq!(secrets.redact("sk-abcdefghIJKL"), "***");
        let value = serde_json::json!({"sk-abcdefgh": ["sk-abcdefgh", 1]});
        assert_eq!(secrets.redact_value(value), serde_json::json!({"sk-abcdefgh": ["***", 1]}));
    }
}
