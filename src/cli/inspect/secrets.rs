//! Owns the finding of keys that somebody wrote into a file, or gave beside it, by their shape or because they are keys of this very environment.
//!
//! What is found is never shown: the text in which it stands is masked before anything quotes it, and the value is taken out of all that is
//! written.

use std::sync::OnceLock;

use regex::Regex;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::config::{Environment, KEY_VARIABLES};
use crate::secret::SHORTEST;
use crate::source::{Diagnostic, Diagnostics, Document, Format, SourceFile, Span, parse_settings};

/// What is in every text that holds a key of a kind, what the key looks like, and whose it is.
const SHAPES: [(&[&str], &str, &str); 9] = [
    (&["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{16,}", "a key for Anthropic"),
    (&["sk-"], r"\bsk-[A-Za-z0-9_-]{20,}", "a key for OpenAI"),
    (&["AIza"], r"\bAIza[0-9A-Za-z_-]{30,}", "a key for Google"),
    (&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{30,}", "a token for GitHub"),
    (&["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{22,}", "a token for GitHub"),
    (&["xox"], r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", "a token for Slack"),
    (&["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "a key for AWS"),
    (
        &["PRIVATE KEY"],
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?-----END [A-Z ]*PRIVATE KEY-----)?",
        "a private key",
    ),
    (&["glpat-"], r"\bglpat-[A-Za-z0-9_-]{20,}", "a token for GitLab"),
];

/// Most texts hold no key, and making an expression takes longer than reading a file.
static KEYS: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

/// A key in a file.
#[derive(Debug)]
pub(in crate::cli) struct Found {
    span: Span,
    what: String,
    /// The key as a program gets it.
    key: SecretString,
}

impl Found {
    /// Returns it as a fault of its file.
    pub(in crate::cli) fn fault(&self) -> Diagnostic {
        let message = format!("{} is written into the file", self.what);
        Diagnostic::error("secret", message).at(self.span).hint(
            "whoever reads the file has it, and models are sent the task: revoke it, and keep keys in variables of the environment",
        )
    }

    /// Returns what to say of it when the file is used all the same.
    pub(in crate::cli) fn warning(&self, file: &SourceFile) -> String {
        let place = file.position(self.span.start);
        let (name, line, column) = (file.name(), place.line, place.column);
        format!(
            "{} is written into `{name}`, at line {line}, column {column}: models and records get what the file says",
            self.what
        )
    }
}

/// Returns the keys in a file; from here on they are taken out of all that is written.
pub(in crate::cli) fn seek(file: &SourceFile, environment: &Environment) -> Vec<Found> {
    let mut found = find(file.text(), environment);
    // Nothing but an escape lets a text mean what it does not show.
    if file.text().contains('\\')
        && let Ok(document) = Document::parse(SourceFile::from_text(file.name(), file.text(), file.format()))
    {
        add_escaped(&mut found, &document, environment);
    }
    learn(&found, environment);
    found
}

/// A value that was given beside files, if there are keys in it.
pub(in crate::cli) struct Given {
    /// What is masked, for whoever shows it.
    pub(in crate::cli) masked: Vec<String>,
    /// What to say of it.
    pub(in crate::cli) warnings: Vec<String>,
}

/// Returns a value of `origin` without its keys, if it has any; from here on they are taken out of all that is written.
pub(in crate::cli) fn in_value(origin: &str, text: &str, environment: &Environment) -> Option<Given> {
    let file = SourceFile::from_text(origin, text, Format::Yaml);
    let found = find(file.text(), environment);
    learn(&found, environment);
    (!found.is_empty()).then(|| Given {
        masked: vec![masked(&file, &found).text().to_owned()],
        warnings: told(origin, &found),
    })
}

/// Returns settings without their keys, if they have any; from here on they are taken out of all that is written.
pub(in crate::cli) fn in_settings(settings: &[String], environment: &Environment) -> Option<Given> {
    let parsed = parse_settings("--set", settings);
    let file = parsed.as_ref().map_or_else(Diagnostics::file, Document::file);
    let mut found = find(file.text(), environment);
    if let Ok(document) = &parsed {
        add_escaped(&mut found, document, environment);
    }
    learn(&found, environment);
    if found.is_empty() {
        return None;
    }
    let clean = masked(file, &found);
    let mut rest = clean.text();
    let masked = settings.iter().map(|setting| {
        let (own, others) = rest.split_at(setting.trim_matches('\u{feff}').len().min(rest.len()));
        rest = others.get(1..).unwrap_or_default();
        own.to_owned()
    });
    Some(Given { masked: masked.collect(), warnings: told("`--set`", &found) })
}

fn told(origin: &str, found: &[Found]) -> Vec<String> {
    let told = |found: &Found| {
        format!("{} is written into {origin}: models and records get what it says", found.what)
    };
    found.iter().map(told).collect()
}

fn learn(found: &[Found], environment: &Environment) {
    if !found.is_empty() {
        // Of a key over several lines each line is one.
        let lines = found.iter().flat_map(|found| found.key.expose_secret().lines());
        environment.secrets().learn(lines.map(|line| SecretString::from(line.trim().to_owned())));
    }
}

/// Adds the keys and values of a document that hold a key which is not to be seen in them: each is one place as a whole.
fn add_escaped(found: &mut Vec<Found>, document: &Document, environment: &Environment) {
    let mut texts = Vec::new();
    strings(document.value(), String::new(), &mut texts);
    for (pointer, text, is_key) in texts {
        let span = if is_key { document.span_of_key(&pointer) } else { document.span_of_value(&pointer) };
        let Some(span) = span else { continue };
        let written = document.file().slice(span);
        let hidden =
            find(text, environment).into_iter().filter(|found| !written.contains(found.key.expose_secret()));
        found.extend(hidden.map(|found| Found { span, ..found }));
    }
    found.sort_by_key(|found| found.span);
}

/// Returns every text below a value with its place, and whether it is a key.
fn strings<'v>(value: &'v Value, pointer: String, found: &mut Vec<(String, &'v str, bool)>) {
    match value {
        Value::String(text) => found.push((pointer, text, false)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                strings(item, format!("{pointer}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                let pointer = Document::pointer_below(&pointer, key);
                found.push((pointer.clone(), key, true));
                strings(value, pointer, found);
            }
        }
        _ => {}
    }
}

/// Returns the file with its keys masked, and everything else where it was: what is wrong with it may be shown.
pub(in crate::cli) fn masked(file: &SourceFile, found: &[Found]) -> SourceFile {
    let mut text = file.text().to_owned();
    for Found { span, .. } in found {
        // As long as before, and nothing that a notation has a use for.
        let mask = |c: char| if c.is_whitespace() { c.to_string() } else { "x".repeat(c.len_utf8()) };
        let Span { mut start, mut end } = *span;
        // The quotes of a value that is a key as a whole.
        let quote = text[start..end].chars().next().filter(|c| matches!(c, '"' | '\''));
        if quote.is_some_and(|quote| end - start > 1 && text[..end].ends_with(quote)) {
            (start, end) = (start + 1, end - 1);
        }
        let mask: String = text[start..end].chars().map(mask).collect();
        text.replace_range(start..end, &mask);
    }
    SourceFile::from_text(file.name(), text, file.format())
}

fn find(text: &str, environment: &Environment) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut add = |span: Span, what: String| {
        let overlaps = |other: &Found| span.start < other.span.end && other.span.start < span.end;
        if !found.iter().any(overlaps) {
            let key = SecretString::from(text[span.start..span.end].to_owned());
            found.push(Found { span, what, key });
        }
    };
    for variable in KEY_VARIABLES {
        let Some(key) = environment.secret(variable) else { continue };
        let key = key.expose_secret();
        if key.len() >= SHORTEST {
            for (start, _) in text.match_indices(key) {
                add(Span { start, end: start + key.len() }, format!("the value of `{variable}`"));
            }
        }
    }
    for ((marks, shape, whose), key) in SHAPES.iter().zip(&KEYS) {
        if !marks.iter().any(|mark| text.contains(mark)) {
            continue;
        }
        let Some(key) = key.get_or_init(|| Regex::new(shape).ok()) else { continue };
        for key in key.find_iter(text).filter(|key| is_random(key.as_str())) {
            add(Span { start: key.start(), end: key.end() }, (*whose).to_owned());
        }
    }
    found.sort_by_key(|found| found.span);
    found
}

/// Returns whether a match can be a key: words with dashes in between, as in documentation, have no digits.
fn is_random(text: &str) -> bool {
    text.starts_with("-----") || text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Format;

    fn look(text: &str) -> (String, Vec<String>) {
        let environment = Environment::of("/".into(), [("OPENAI_API_KEY".into(), "own-key-of-mine".into())]);
        let file = SourceFile::from_text("a.yaml", text, Format::Yaml);
        let found = seek(&file, &environment);
        let file = masked(&file, &found);
        assert!(found.iter().all(|found| {
            !environment.secrets().redact(text).contains(&text[found.span.start..found.span.end])
        }));
        (file.text().to_owned(), found.into_iter().map(|found| found.what).collect())
    }

    #[test]
    fn keys_are_known_by_their_shape_and_masked_in_place() {
        for (key, whose) in [
            (format!("sk-ant-{}", "api03-aB1_".repeat(3)), "a key for Anthropic"),
            (format!("sk-{}", "proj-aB1".repeat(3)), "a key for OpenAI"),
            (format!("AIza{}", "Sy0123456".repeat(4)), "a key for Google"),
            (format!("ghp_{}", "aB1".repeat(12)), "a token for GitHub"),
            (format!("github_pat_{}", "aB1_".repeat(6)), "a token for GitHub"),
            (format!("glpat-{}", "aB1_-".repeat(4)), "a token for GitLab"),
            (format!("xoxb-{}", "1234-abcd-".repeat(2)), "a token for Slack"),
            (format!("AKIA{}", "ABCD1234".repeat(2)), "a key for AWS"),
            (format!("ASIA{}", "ABCD1234".repeat(2)), "a key for AWS"),
            ("own-key-of-mine".to_owned(), "the value of `OPENAI_API_KEY`"),
        ] {
            let (text, found) = look(&format!("goal: use {key} for ä\n"));
            assert_eq!(
                (text, found),
                (format!("goal: use {} for ä\n", "x".repeat(key.len())), vec![whose.to_owned()])
            );
        }
    }

    #[test]
    fn a_private_key_is_masked_to_its_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\n  MIIEabc=\n  -----END RSA PRIVATE KEY-----";
        let (text, found) = look(&format!("context:\n  k: |\n  {key}\ngoal: g"));
        assert_eq!(found, ["a private key"]);
        assert!(!text.contains("MIIE") && text.ends_with("\ngoal: g"), "{text}");
    }

    #[test]
    fn words_are_no_keys() {
        for text in [
            "task-force-with-a-very-long-name-indeed",
            "sk-this-is-how-a-key-looks-like",
            "AKIA",
            "risk-1234567890123456789012",
        ] {
            assert_eq!(look(text), (text.to_owned(), vec![]));
        }
    }
}
