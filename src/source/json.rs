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
    let rest = &file.text()[start..];
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
        (_, "key must be a string") => {
            hinted("a key must be a string in double quotes", rest).hint_if_none("write it like `\"goal\"`")
        }
        (_, "trailing characters") => hinted("the file goes on after its value", rest)
            .hint_if_none("a file holds one value: check the brackets, or take out what follows"),
        (_, "expected value") => hinted("a JSON value is expected here", rest),
        (_, "expected `,` or `}`" | "expected `,` or `]`") => {
            hinted("a comma or a closing bracket is missing before this", rest)
        }
        (_, "invalid escape") => Diagnostic::error(
            "syntax",
            "a `\\` in this string stands before a character that it means nothing with",
        )
        .hint("write `\\\\` for the character itself"),
        (_, "invalid number") => Diagnostic::error("syntax", "this is no number of JSON")
            .hint("write no zeros in front and no point without digits on both sides, or put it in quotes"),
        (_, message) if message.starts_with("control character") => {
            Diagnostic::error("syntax", "a string ends on the line that it begins on, and holds no tab")
                .hint("write `\\n` for a line break and `\\t` for a tab")
        }
        (_, message) => Diagnostic::error("syntax", message),
    };
    Err(fault.at(Span { start, end }))
}

/// Returns a fault with what is to be done about the slips that people make most, by what stands where JSON ends.
fn hinted(message: &str, rest: &str) -> Diagnostic {
    let fault = Diagnostic::error("syntax", message);
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    let is_key = rest[word.len()..].trim_start().starts_with(':') && !word.is_empty();
    match rest.as_bytes().first() {
        Some(b'/' | b'#') => Diagnostic::error("syntax", "JSON has no comments")
            .hint("take it out, or write YAML, where `#` begins a comment"),
        Some(b'\'') => fault.hint("strings stand in double quotes: write `\"` for `'`"),
        _ if ["true", "false", "null"].contains(&word.to_lowercase().as_str()) => {
            fault.hint(format!("write `{}`", word.to_lowercase()))
        }
        _ if word == "None" => fault.hint("write `null`"),
        _ if is_key && message.contains("value") => {
            fault.hint("this looks like YAML: let the name of the file end in `.yaml`")
        }
        _ if !word.is_empty() && message.contains("value") => fault.hint("put text in double quotes"),
        _ => fault,
    }
}
