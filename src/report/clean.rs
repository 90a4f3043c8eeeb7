//! Owns the cleaning of text that a model, a tool or a file wrote, before it stands in a report.
//!
//! What cannot be seen (control characters, changes of the reading direction) shows as a mark, so that nothing reads as
//! something else and nothing is lost without a trace.

/// What stands in the place of a character that cannot be shown.
const MARK: char = '\u{fffd}';

/// Returns the text with its line breaks and tabs and without anything else that cannot be seen.
pub(super) fn text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|character| if hidden(character) { MARK } else { character }).collect()
}

/// Returns the text as one line of at most `max_chars` characters.
pub(super) fn line(words: &str, max_chars: usize) -> String {
    let words = text(words);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::text::truncate(&words, max_chars).into_owned()
}

fn hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Direction marks, line and paragraph separators, and what XML refuses to hold.
        '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fffe}'
        | '\u{ffff}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_leaves_a_mark() {
        assert_eq!(text("a\u{1b}[2Jb\u{202e}c\r\nd\te\0"), "a\u{fffd}[2Jb\u{fffd}c\nd\te\u{fffd}");
        assert_eq!(line(" one\n two\t three ", 9), "one two …");
    }
}
