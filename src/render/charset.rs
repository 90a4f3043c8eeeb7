//! Owns text for terminals that know no more than ASCII: signs of our own become letters, everything else a question mark.
//!
//! Bytes beyond ASCII are not only unreadable there. Some of them are control characters, which nothing that a model wrote may send.

use std::borrow::Cow;

/// Returns the text in ASCII, each character as wide as it was.
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut narrow = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '✓' => narrow.push('+'),
            '✗' | '×' => narrow.push('x'),
            '…' => narrow.push('~'),
            '·' | '⠋' | '⠦' => narrow.push('.'),
            '←' => narrow.push('<'),
            '→' => narrow.push('>'),
            '–' | '—' | '⠼' | '⠏' => narrow.push('-'),
            '“' | '”' => narrow.push('"'),
            '‘' | '’' => narrow.push('\''),
            // The pictures of a spinner.
            '⠙' | '⠧' => narrow.push('\\'),
            '⠹' | '⠇' => narrow.push('|'),
            '⠸' | '⠴' => narrow.push('/'),
            _ if character.is_ascii() => narrow.push(character),
            _ => {
                let mut buffer = [0; 4];
                let columns = console::measure_text_width(character.encode_utf8(&mut buffer));
                narrow.extend(std::iter::repeat_n('?', columns));
            }
        }
    }
    Cow::Owned(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_become_letters_and_everything_else_a_question_mark() {
        assert_eq!(ascii("\u{1b}[32m✓\u{1b}[0m pass"), "\u{1b}[32m+\u{1b}[0m pass");
        assert_eq!(ascii("✗ 2 × 3 · a→b ← “c…”"), "x 2 x 3 . a>b < \"c~\"");
        assert_eq!(ascii("é \u{9b}2J 日本 e\u{301}"), "? ?2J ???? e");
    }

    #[test]
    fn the_width_stays() {
        for text in ["✓ 日本語 – naïve …", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏·"] {
            assert_eq!(
                console::measure_text_width(&ascii(text)),
                console::measure_text_width(text),
                "{text}"
            );
        }
    }
}
