//! Owns the finding of keys that somebody wrote into a file, by their shape or because they are keys of this very environment.
//!
//! What is found is never shown: the text in which it stands is masked before anything quotes it, and the value is taken out of all that is
//! written.

use std::sync::LazyLock;

use regex::Regex;
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::{Environment, KEY_VARIABLES};
use crate::secret::SHORTEST;
use crate::source::{Diagnostic, SourceFile, Span};

/// What keys look like, and whose they are.
const SHAPES: [(&str, &str); 9] = [
    (r"\bsk-ant-[A-Za-z0-9_-]{16,}", "a key for Anthropic"),
    (r"\bsk-[A-Za-z0-9_-]{20,}", "a key for OpenAI"),
    (r"\bAIza[0-9A-Za-z_-]{30,}", "a key for Google"),
    (r"\bgh[pousr]_[A-Za-z0-9]{30,}", "a token for GitHub"),
    (r"\bgithub_pat_[A-Za-z0-9_]{22,}", "a token for GitHub"),
    (r"\bxox[abeprs]-[A-Za-z0-9-]{10,}", "a token for Slack"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "a key for AWS"),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?-----END [A-Z ]*PRIVATE KEY-----)?", "a private key"),
    (r"\bglpat-[A-Za-z0-9_-]{20,}", "a token for GitLab"),
];

static KEYS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    SHAPES.iter().filter_map(|(shape, whose)| Some((Regex::new(shape).ok()?, *whose))).collect()
});

/// A key in a file.
#[derive(Debug)]
pub(in crate::cli) struct Found {
    span: Span,
    what: String,
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
    let found = find(file.text(), environment);
    if found.is_empty() {
        return found;
    }
    // Of a key over several lines each line is one.
    let lines = found.iter().flat_map(|found| file.slice(found.span).lines());
    environment.secrets().learn(lines.map(|line| SecretString::from(line.trim().to_owned())));
    found
}

/// Returns the file with its keys masked, and everything else where it was: what is wrong with it may be shown.
pub(in crate::cli) fn masked(file: &SourceFile, found: &[Found]) -> SourceFile {
    let mut text = file.text().to_owned();
    for Found { span, .. } in found {
        // As long as before, and nothing that a notation has a use for.
        let mask = |c: char| if c.is_whitespace() { c.to_string() } else { "x".repeat(c.len_utf8()) };
        let mask: String = text[span.start..span.end].chars().map(mask).collect();
        text.replace_range(span.start..span.end, &mask);
    }
    SourceFile::from_text(file.name(), text, file.format())
}

fn find(text: &str, environment: &Environment) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut add = |span: Span, what: String| {
        let overlaps = |other: &Found| span.start < other.span.end && other.span.start < span.end;
        if !found.iter().any(overlaps) {
            found.push(Found { span, what });
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
    for (shape, whose) in KEYS.iter() {
        for key in shape.find_iter(text).filter(|key| is_random(key.as_str())) {
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
            (format!("xoxb-{}", "1234-abcd-".repeat(2)), "a token for Slack"),
            (format!("AKIA{}", "ABCD1234".repeat(2)), "a key for AWS"),
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
