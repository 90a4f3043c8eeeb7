//! The syntax check that makes a `.json` file JSON before the YAML parser, which accepts more, reads it.

use serde_json::Value;
use serde_json::error::Category;

use super::diagnostic::Diagnostic;
use super::file::SourceFile;
use super::span::Span;
use crate::text;

/// Returns why the text is not JSON.
pub(super) fn check(file: &SourceFile) -> Result<(), Diagnostic> {
    let Err(error) = serde_json::from_str::<Value>(file.text()) else { return Ok(()) };
    let line = file.line_span(error.line());
    // The column counts bytes and names the last one that was read.
    let mut start = (line.start + error.column().saturating_sub(1)).min(line.end);
    while !file.text().is_char_boundary(start) {
        start -= 1;
    }
    let end = start + file.slice(Span { start, end: line.end }).chars().next().map_or(0, char::len_utf8);
    let message = error.to_string();
    let message = message.rfind(" at line ").map_or(message.as_str(), |place| &message[..place]);
    let fault = match (error.classify(), message) {
        (_, "recursion limit exceeded") => {
            Diagnostic::error("too-deep", "arrays and objects are nested too deep")
        }
        (Category::Eof, _) => Diagnostic::error("syntax", "the file ends too early")
            .hint("a closing `]`, `}` or quote is missing"),
        (_, "trailing comma") => Diagnostic::error("syntax", "JSON allows no comma before a closing bracket")
            .hint("remove the comma"),
        (_, "key must be a string")
            if file.text()[..start].ends_with('{') && file.text()[start..].starts_with('{') =>
        {
            let name = file.text()[start + 1..].split('}').next().unwrap_or_default();
            let quoted = format!("\"{{{{{}}}}}\"", text::truncate(name, 40));
            Diagnostic::error("placeholder", "a placeholder has to stand inside a string")
                .hint(format!("put the whole value in double quotes, for example {quoted}"))
        }
        (_, "key must be a string") => Diagnostic::error("syntax", "a key must be a string in double quotes"),
        (_, "trailing characters") => Diagnostic::error("syntax", "the file goes on after its value"),
        (_, "expected value") => Diagnostic::error("syntax", "a JSON value is expected here"),
        (_, message) => Diagnostic::error("syntax", message),
    };
    Err(fault.at(Span { start, end }))
}
