//! Owns what must never leave: the values of secrets, and their removal from text on its way out.
//!
//! Removal is by value, wherever the value turns up and in whatever form a program writes it down; a secret shorter than [`SHORTEST`] would tear
//! holes into ordinary text and is not removed. There is one [`Secrets`] in a process: what one place learns is removed everywhere.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The shortest value that is removed from text, in bytes.
pub const SHORTEST: usize = 8;

/// What stands in the place of a secret.
const STARS: &str = "***";

/// What a URL keeps as it is, by RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What Python's `quote` keeps as well.
const PATH: &AsciiSet = &RESERVED.remove(b'/');

/// What `encodeURIComponent` keeps.
const COMPONENT: &AsciiSet = &RESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');

/// What `encodeURI` keeps.
const WHOLE: &AsciiSet = &COMPONENT
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');

/// How lines end in Base64 that is broken into lines: as they are, and in a text of JSON.
const BREAKS: [&str; 4] = ["\\r\\n", "\\n", "\r\n", "\n"];

/// The secrets of a process; clones are the same.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    values: Vec<SecretString>,
    /// Finds every form of every value; absent while there is none.
    forms: Option<AhoCorasick>,
}

impl Secrets {
    /// Returns the secrets that are long enough to be removed.
    pub fn new(values: impl IntoIterator<Item = SecretString>) -> Self {
        let secrets = Self::default();
        secrets.learn(values);
        secrets
    }

    /// Adds values; those that are too short or known are passed over.
    pub fn learn(&self, values: impl IntoIterator<Item = SecretString>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.values.len();
        let fresh = |value: &SecretString| {
            let text = value.expose_secret();
            text.len() >= SHORTEST && !known.values.iter().any(|known| known.expose_secret() == text)
        };
        let mut added: Vec<SecretString> = values.into_iter().filter(fresh).collect();
        added.sort_by(|one, other| one.expose_secret().cmp(other.expose_secret()));
        added.dedup_by(|one, other| one.expose_secret() == other.expose_secret());
        known.values.extend(added);
        if known.values.len() == before {
            return;
        }
        let forms: Vec<String> = known.values.iter().flat_map(|value| forms(value.expose_secret())).collect();
        // Patterns that a machine of any size can be built from: only then is there nothing to find.
        known.forms = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms).ok();
    }

    /// Returns `text` with `***` in place of each secret: as it is, escaped for JSON, encoded for a URL or in Base64.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(forms) = &known.forms else { return Cow::Borrowed(text) };
        let clean = replaced(forms, text);
        // Base64 is often broken into lines, wherever a secret in it begins.
        match joined(&clean).filter(|joined| forms.is_match(&joined.text)) {
            None => clean,
            Some(joined) => Cow::Owned(joined.without(forms, &clean)),
        }
    }

    /// Returns `value` with `***` in place of each secret, in texts and in keys.
    pub fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (self.redact(&key).into_owned(), self.redact_value(value)))
                .collect(),
            other => other,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Secrets({})", known.values.len())
    }
}

/// Returns whether something of this name (a variable, a header) holds a secret, by what such things are called.
pub fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 9] =
        ["key", "token", "secret", "passw", "cred", "auth", "cookie", "session", "webhook"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

fn replaced<'a>(forms: &AhoCorasick, text: &'a str) -> Cow<'a, str> {
    if !forms.is_match(text) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    forms.replace_all_with(text, &mut clean, |_, _, clean| {
        clean.push_str(STARS);
        true
    });
    Cow::Owned(clean)
}

/// A text without its line breaks, and where its parts came from.
struct Joined {
    text: String,
    /// Where each part begins, here and there.
    parts: Vec<(usize, usize)>,
}

/// Returns `text` with its lines joined; nothing when it has only one.
fn joined(text: &str) -> Option<Joined> {
    let mut joined = Joined { text: String::new(), parts: vec![(0, 0)] };
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(['\n', '\r', '\\']) {
        at += found;
        match BREAKS.iter().find(|line_break| text[at..].starts_with(**line_break)) {
            None => at += 1,
            Some(line_break) => {
                joined.text.push_str(&text[from..at]);
                at += line_break.len();
                from = at;
                joined.parts.push((joined.text.len(), from));
            }
        }
    }
    joined.text.push_str(&text[from..]);
    (joined.parts.len() > 1).then_some(joined)
}

impl Joined {
    /// Returns `text`, of which this was made, without what `forms` finds here.
    fn without(&self, forms: &AhoCorasick, text: &str) -> String {
        let there = |at: usize| {
            let part = self.parts.partition_point(|(here, _)| *here <= at) - 1;
            self.parts[part].1 + at - self.parts[part].0
        };
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for found in forms.find_iter(&self.text) {
            clean.push_str(&text[from..there(found.start())]);
            clean.push_str(STARS);
            // The end of what was found, not the beginning of what comes behind a line break.
            from = there(found.end() - 1) + 1;
        }
        clean.push_str(&text[from..]);
        clean
    }
}

/// Returns the forms in which programs write a value down.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let escaped = escaped(value);
    // A text in JSON may itself be JSON.
    forms.push(self::escaped(&escaped));
    forms.push(escaped);
    forms.push(forms[0].replace('/', "\\/"));
    for set in [RESERVED, NON_ALPHANUMERIC, PATH, COMPONENT, WHOLE] {
        let encoded = utf8_percent_encode(value, set).to_string();
        forms.push(lower_hexadecimal(&encoded));
        forms.push(encoded.replace("%20", "+"));
        forms.push(encoded);
    }
    for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
        forms.push(engine.encode(value));
    }
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| inner_base64(engine, value, before)));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns `value` as it stands in a text of JSON.
fn escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn lower_hexadecimal(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Two digits follow each sign, by construction.
        let (digits, rest) = part.split_at(2);
        lower += &format!("%{}{rest}", digits.to_ascii_lowercase());
    }
    lower
}

/// Returns the characters that only `value` decides when it stands behind `before` other bytes and in front of some more.
fn inner_base64(engine: &base64::engine::GeneralPurpose, value: &str, before: usize) -> String {
    let bytes = [&vec![0; before], value.as_bytes()].concat();
    let encoded = engine.encode(&bytes);
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded[first..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets<const N: usize>(values: [&str; N]) -> Secrets {
        Secrets::new(values.map(SecretString::from))
    }

    #[test]
    fn a_secret_is_removed_in_plain_and_escaped_form_and_never_printed() {
        let secrets = secrets(["sk-\"12345", "short"]);
        assert_eq!(secrets.redact(r#"a sk-"12345 b sk-\"12345 c short"#), "a *** b *** c short");
        assert_eq!(secrets.redact(r#"{\"nested\": \"sk-\\\"12345\"}"#), r#"{\"nested\": \"***\"}"#);
        assert!(matches!(secrets.redact("nothing here"), Cow::Borrowed(_)));
        assert!(!format!("{secrets:?}").contains("12345"));
    }

    #[test]
    fn a_secret_that_contains_another_leaves_nothing() {
        let secrets = secrets(["sk-abcdefgh", "sk-abcdefghIJKL"]);
        assert_eq!(secrets.redact("sk-abcdefghIJKL"), "***");
        let value = serde_json::json!({"sk-abcdefgh": ["sk-abcdefgh", 1]});
        assert_eq!(secrets.redact_value(value), serde_json::json!({"***": ["***", 1]}));
    }

    #[test]
    fn a_secret_is_removed_in_the_forms_of_urls() {
        let secrets = secrets(["p@ss/wörd +1"]);
        for form in [
            "p%40ss%2Fw%C3%B6rd%20%2B1",
            "p%40ss%2fw%c3%b6rd%20%2b1",
            "p%40ss%2Fw%C3%B6rd+%2B1",
            "p%40ss/w%C3%B6rd%20%2B1",
            "p@ss/w%C3%B6rd%20+1",
        ] {
            assert_eq!(secrets.redact(&format!("?q={form}&r=1")), "?q=***&r=1");
        }
    }

    #[test]
    fn a_secret_is_removed_from_base64_wherever_it_begins() {
        let value = "hunter2-hunter2?>";
        let secrets = secrets([value]);
        for (before, after) in [("", ""), ("u:", ""), ("user:", "\n"), ("ab", "cd"), ("abc", "d")] {
            for engine in [&STANDARD, &URL_SAFE] {
                let encoded = engine.encode(format!("{before}{value}{after}"));
                let clean = secrets.redact(&encoded).into_owned();
                assert!(clean.contains(STARS), "{encoded}");
                // What is left decides at most one byte at each end.
                assert!(
                    clean.len() <= before.len().div_ceil(3) * 4 + after.len() * 4 + 11,
                    "{encoded} {clean}"
                );
            }
        }
        assert_eq!(secrets.redact(&STANDARD.encode(value)), STARS);
    }

    #[test]
    fn a_secret_is_removed_from_base64_in_lines() {
        let value = "a secret that is long enough to be broken more than once by every width";
        let secrets = secrets([value]);
        let encoded = STANDARD.encode(format!("before {value} behind it"));
        for width in [7, 20, 76] {
            for line_break in BREAKS {
                let lines: Vec<&str> =
                    encoded.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
                let clean = secrets.redact(&lines.join(line_break)).into_owned();
                assert_eq!(clean.matches(STARS).count(), 1, "{clean}");
                let left: String = clean.chars().filter(char::is_ascii_alphanumeric).collect();
                assert!(left.len() < 34, "{left}");
            }
        }
        assert!(matches!(secrets.redact("two\nlines \\n of \\ nothing"), Cow::Borrowed(_)));
        assert_eq!(secrets.redact(&format!("{value}\n{value}")), "***\n***");
    }

    #[test]
    fn what_one_place_learns_is_removed_everywhere() {
        let here = Secrets::default();
        let there = here.clone();
        here.learn([SecretString::from("late-secret"), SecretString::from("late-secret")]);
        assert_eq!(there.redact("a late-secret"), "a ***");
        assert_eq!(format!("{there:?}"), "Secrets(1)");
    }
}
