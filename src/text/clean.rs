//! Owns the cleaning of text that a model, a tool or a file wrote, before a person sees it.
//!
//! No control character gets through: a model must not be able to move the cursor, colour a line, or turn the
//! reading direction so that a verdict looks like another. Colours are dropped, everything else shows as what it is. Nor does a line get through that a
//! CI runner would take for a command to itself.

use console::AnsiCodeIterator;
use std::borrow::Cow;

/// Returns the text as one line without control characters.
pub fn line(text: &str) -> String {
    lines(text).join(" ")
}

/// Returns the lines of the text without control characters and without empty lines at both ends.
pub fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(one_line).collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
    lines.drain(..blank);
    lines
}

/// Returns the text safe to print for a person and in a CI log.
pub fn prose(text: &str) -> String {
    lines(text).iter().map(|line| shield(line)).collect::<Vec<_>>().join("\n")
}

/// Returns the text as one line that is safe to print for a person and in a CI log: a cell of a table, a fact among others.
pub fn cell(text: &str) -> String {
    shield(&line(text)).into_owned()
}

/// Returns text that is drawn already, and may be painted, such that no CI runner takes a line of it for a command.
pub fn shielded(text: &str) -> String {
    text.split('\n').map(shield).collect::<Vec<_>>().join("\n")
}

/// Returns the line, which may be painted, such that no CI runner takes it for a command.
///
/// GitHub's runner obeys `::name::` at the start of a line, however far it is indented, and it and Azure's obey
/// `##[name]` and `##vso[name]` anywhere in a line.
pub fn shield(line: &str) -> Cow<'_, str> {
    let mut safe = Cow::Borrowed(line);
    if line.contains("##") {
        let mut spaced = String::with_capacity(line.len() + 1);
        for (at, character) in line.char_indices() {
            if line[..at].ends_with("##") && (character == '[' || character.is_alphabetic()) {
                spaced.push(' ');
            }
            spaced.push(character);
        }
        safe = Cow::Owned(spaced);
    }
    if console::strip_ansi_codes(line).trim_start().starts_with("::") {
        safe = Cow::Owned(format!("| {safe}"));
    }
    safe
}

fn one_line(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let pieces = AnsiCodeIterator::new(line).filter(|(piece, is_code)| !(*is_code && is_colour(piece)));
    pieces.flat_map(|(piece, _)| piece.chars()).for_each(|character| show(character, &mut clean));
    clean.truncate(clean.trim_end().len());
    clean
}

/// Adds a character to a text as what it is: one that would not be seen is named.
pub fn show(character: char, text: &mut String) {
    match character {
        '\t' => text.push_str("    "),
        '\0'..='\u{1f}' => text.extend(char::from_u32(0x2400 + u32::from(character))),
        '\u{7f}' => text.push('␡'),
        _ if is_hidden(character) => text.extend(character.escape_unicode()),
        _ => text.push(character),
    }
}

/// Returns whether the character is not seen where it stands, and may change what is.
pub fn is_hidden(character: char) -> bool {
    character.is_control() || turns_direction(character)
}

/// Whether an escape sequence is what programs paint their output with.
fn is_colour(code: &str) -> bool {
    code.starts_with("\u{1b}[") && code.ends_with('m')
}

/// Whether the character reorders or breaks the line that it stands in, without being seen.
fn turns_direction(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_get_through() {
        assert_eq!(line("\u{1b}[2J\u{1b}[1;1H\u{1b}[32mpass\u{1b}[0m"), "␛[2J␛[1;1Hpass");
        assert_eq!(line("a\u{7}\u{8}b\u{202e}c\rd\u{9b}2J\u{7f}"), "a␇␈b\\u{202e}c␍d\\u{9b}2J␡");
        assert_eq!(line("one\r\ntwo\n\n"), "one two");
        assert_eq!(cell("a\n::error::b\r\n ##[c]\u{2028}d"), "a ::error::b  ## [c]\\u{2028}d");
        assert!(!line("\u{1b}]0;title\u{7}x\u{1b}").contains(char::is_control));
    }

    #[test]
    fn lines_keep_their_indentation_and_lose_blank_ends() {
        assert_eq!(lines("\n\n  a\n\n\tb  \n\n"), ["  a", "", "    b"]);
        assert!(lines(" \n ").is_empty());
    }

    #[test]
    fn no_line_is_a_command_to_a_ci_runner() {
        assert_eq!(shield("::error::x"), "| ::error::x");
        assert_eq!(shield("   ::set-output::x"), "|    ::set-output::x");
        assert_eq!(shield("\u{1b}[36m::error::x\u{1b}[0m"), "| \u{1b}[36m::error::x\u{1b}[0m");
        assert_eq!(shield("a ##[error]x"), "a ## [error]x");
        assert_eq!(shield("##vso[task]###[x]"), "## vso[task]### [x]");
        assert_eq!(shield("std::fs and ## Title"), "std::fs and ## Title");
    }
}
