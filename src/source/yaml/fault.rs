//! What the YAML parser refuses, in words that say what to do.

use serde_yaml::budget::BudgetBreach;
use serde_yaml::{Error, MessageFormatter, UserMessageFormatter};

use super::{MAX_DEPTH, known_span};
use crate::source::diagnostic::Diagnostic;
use crate::source::file::SourceFile;
use crate::source::span::{Position, Span};
use crate::text;

/// Returns a refusal of the parser as a diagnostic.
pub(super) fn in_words(file: &SourceFile, error: &Error, max_nodes: usize) -> Diagnostic {
    let span = error.location().map(|location| {
        known_span(location).unwrap_or_else(|| {
            // Syntax errors carry line and column only.
            let line = usize::try_from(location.line()).unwrap_or(usize::MAX);
            let column = usize::try_from(location.column()).unwrap_or(usize::MAX);
            let start = file.offset(Position { line, column });
            Span { start, end: start + file.text()[start..].chars().next().map_or(0, char::len_utf8) }
        })
    });
    let error = match error {
        Error::AliasError { error, .. } => error,
        other => other,
    };
    let too_complex = || {
        let message = format!("the file holds more than {max_nodes} values once its aliases are resolved");
        Diagnostic::error("too-complex", message)
    };
    let fault = match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map_or_else(|| "a key".to_owned(), |key| format!("the key `{key}`"));
            Diagnostic::error("duplicate-key", format!("{key} is given twice in one map"))
                .label("already given above")
                .hint("keep one of them")
        }
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            Diagnostic::error("documents", "the file holds more than one document")
                .label("a second one begins here")
                .hint("keep one and remove this line")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => too_deep(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => too_complex(),
        Error::UnknownAnchor { .. } => {
            Diagnostic::error("alias", "a `*` begins an alias, and there is no anchor of this name")
                .hint("put text that begins with `*` in quotes")
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            Diagnostic::error("alias", "this alias stands inside its own anchor")
        }
        Error::UnsupportedTag { tag, .. } => Diagnostic::error("tag", format!("unknown tag `{tag}`"))
            .hint("put text that begins with `!` in quotes"),
        Error::NonFiniteFloat { value, .. } => {
            Diagnostic::error("number", format!("`{value}` is not a finite number"))
        }
        Error::NullIntoString { .. } | Error::Unexpected { expected: "string scalar", .. } => {
            Diagnostic::error("key", "a key must be text")
        }
        other => {
            let message = UserMessageFormatter.format_message(other);
            let colon = span.filter(|_| message.starts_with("mapping values are not allowed"));
            colon.map_or_else(|| syntax(&message), |span| misplaced_colon(file, span))
        }
    };
    match span.and_then(|span| unquoted_placeholder(file, span)) {
        Some(place) if matches!(fault.code, "key" | "syntax") => {
            let message = "YAML reads a value that begins with `{{` as a map";
            let hint = format!("put the whole value in quotes, for example \"{}\"", file.slice(place));
            Diagnostic::error("placeholder", message).at(place).hint(hint)
        }
        _ => fault.at(span),
    }
}

/// Says what is most likely meant with a `:` where none can be: the line itself tells, or the one before it.
fn misplaced_colon(file: &SourceFile, span: Span) -> Diagnostic {
    let number = file.position(span.start).line;
    let line = file.line_span(number);
    let before = file.slice(Span { start: line.start, end: span.start });
    let text = file.slice(line).trim();
    let fault = |message: &str| Diagnostic::error("syntax", message);
    if let Some((key, value)) = text.split_once(": ").filter(|_| before.contains(": ")) {
        let quoted = format!("{key}: \"{}\"", value.replace('"', "\\\""));
        let quoted = text::truncate(&quoted, 60).into_owned();
        return fault("a value with `: ` in it has to stand in quotes").hint(format!("write {quoted}"));
    }
    let earlier = (1..number).rev().map(|line| file.slice(file.line_span(line)).trim());
    let earlier = earlier.into_iter().find(|line| !line.is_empty() && !line.starts_with('#'));
    let blank = |line: &&str| {
        line.starts_with('-') && !line.starts_with("- ")
            || line.contains(':') && !line.contains(": ") && !line.ends_with(':')
    };
    match earlier.filter(blank) {
        Some(line) if line.starts_with('-') => fault("this continues a line that is no item of a list")
            .hint(format!("a `-` needs a blank behind it: `- {}`", text::truncate(&line[1..], 40))),
        Some(line) => fault("this follows a line that is no key with a value").hint(format!(
            "a `:` needs a blank behind it: `{}`",
            text::truncate(&line.replacen(':', ": ", 1), 40)
        )),
        None => fault("this key is indented deeper than the one above, which has a value already")
            .hint("give keys of one map the same indentation"),
    }
}

/// Returns where a placeholder begins a value without quotes on the line of a fault, as in `minRows: {{rows}}`.
fn unquoted_placeholder(file: &SourceFile, span: Span) -> Option<Span> {
    let line = file.line_span(file.position(span.start).line);
    let text = file.slice(line);
    let at = text.find("{{")?;
    let before = text[..at].trim_end();
    let end = at + text[at..].find("}}")? + 2;
    let begins = before.is_empty() || before.ends_with([':', '-', ',', '[']);
    begins.then(|| Span { start: line.start + at, end: line.start + end })
}

/// Returns a syntax error in plainer words than the parser's where it is a slip that people make often.
fn syntax(message: &str) -> Diagnostic {
    const PLAINER: [(&str, &str, &str); 7] = [
        ("tabs disallowed", "a tab cannot indent YAML", "indent with spaces"),
        (
            "invalid trailing content after",
            "the text in quotes has ended before this",
            "within the quotes write `''` for `'`, or `\\\"` for `\"`; or leave the quotes out",
        ),
        (
            "while parsing a quoted scalar, found unknown escape character",
            "a `\\` in this text stands before a letter that it means nothing with",
            "write `\\\\` for the character itself, or put the text in single quotes",
        ),
        ("unclosed quote", "this quote is never closed", "put the same quote at the end of the text"),
        (
            "invalid indentation in multiline quoted scalar",
            "text in quotes goes on here with too little indentation",
            "close the quote above, or indent this line",
        ),
        (
            "while parsing a block collection, did not find expected '-'",
            "another `- ` item of the list above is expected here",
            "check the indentation",
        ),
        (
            "while parsing a block mapping, did not find expected key",
            "another key of the map above is expected here",
            "check the indentation",
        ),
    ];
    let fault = |message: &str| Diagnostic::error("syntax", message);
    if let Some((_, plainer, hint)) = PLAINER.iter().find(|(start, ..)| message.starts_with(start)) {
        return fault(plainer).hint(*hint);
    }
    if message.starts_with("recursion limit") {
        return too_deep();
    }
    let after = |start: &str| message.strip_prefix(start).and_then(|rest| rest.chars().next());
    if let Some(bracket) = after("unclosed bracket '") {
        return fault(&format!("this `{bracket}` is never closed"));
    }
    if let Some((open, close)) =
        message.strip_prefix("mismatched bracket '").and_then(|rest| rest.split_once("' closed by '"))
    {
        return fault(&format!("this `{open}` is closed by a `{}`", close.trim_end_matches('\'')));
    }
    match after("unexpected character: `") {
        Some(character) if character.is_control() => {
            fault(&format!("the control character U+{:04X} is not allowed", u32::from(character)))
        }
        Some(character) => {
            fault(&format!("a value cannot begin with {character:?}")).hint("put it in quotes")
        }
        None => fault(message),
    }
}

/// Returns the refusal of what is nested too deep.
pub(in crate::source) fn too_deep() -> Diagnostic {
    Diagnostic::error("too-deep", format!("lists and maps are nested more than {MAX_DEPTH} deep"))
}
