//! Owns what must never leave: the values of secrets, and their removal from text on its way out.
//!
//! Removal is by value, wherever the value turns up; a secret shorter than [`SHORTEST`] would tear holes into ordinary text and is not removed.

use std::borrow::Cow;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

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
        Self { values: values.into_iter().filter(|value| value.expose_secret().len() >= SHORTEST).collect() }
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
}
