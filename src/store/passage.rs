//! Owns the cutting of a text into passages: at blank lines where there are any, else between lines, else anywhere.

use std::ops::Range;

/// Most characters of a passage.
const LONGEST: usize = 2_000;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// Where it stands.
    pub(super) bytes: Range<usize>,
    /// Its first line, from 1.
    pub(super) from_line: usize,
    /// Its last line.
    pub(super) to_line: usize,
}

/// Returns the passages of a text in their order; blank lines between them belong to none.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let (mut at, mut line) = (0, 1);
    loop {
        let blank = blank_lines(&text[at..]);
        line += newlines(&text[at..at + blank]);
        at += blank;
        if at == text.len() {
            return passages;
        }
        let part = &text[at..at + cut(&text[at..])];
        let end = at + part.trim_end().len();
        let to_line = line + newlines(&text[at..end]);
        passages.push(Passage { bytes: at..end, from_line: line, to_line });
        line += newlines(part);
        at += part.len();
    }
}

/// Returns how long the first passage of a text is, with the blank lines behind it.
fn cut(text: &str) -> usize {
    let Some((most, _)) = text.char_indices().nth(LONGEST) else { return text.len() };
    let (mut at, mut line_end, mut blank_end) = (0, None, None);
    for line in text[..most].split_inclusive('\n') {
        at += line.len();
        if line.ends_with('\n') {
            line_end = Some(at);
            if line.trim().is_empty() {
                blank_end = line_end;
            }
        }
    }
    blank_end.or(line_end).unwrap_or(most)
}

/// Returns how many bytes of a text are blank lines at its beginning.
fn blank_lines(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum()
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the passages as `first-last` lines with their texts.
    fn cut_up(text: &str) -> Vec<(String, &str)> {
        let passages = passages(text).into_iter();
        passages.map(|p| (format!("{}-{}", p.from_line, p.to_line), &text[p.bytes])).collect()
    }

    #[test]
    fn a_short_text_is_one_passage_without_the_blank_around_it() {
        assert_eq!(cut_up(""), []);
        assert_eq!(cut_up(" \n\t\n"), []);
        assert_eq!(cut_up("\n\na\n\nb\n\n"), [("3-5".to_owned(), "a\n\nb")]);
        assert_eq!(cut_up("\r\n  a\r\nb"), [("2-3".to_owned(), "  a\r\nb")]);
    }

    #[test]
    fn a_long_text_is_cut_at_the_last_blank_line_that_fits() {
        let (one, two) = ("a\n".repeat(600), "b\n".repeat(600));
        let text = format!("{one}\r\n{two} \n\n{one}");
        assert_eq!(
            cut_up(&text),
            [
                ("1-600".to_owned(), one.trim_end()),
                ("602-1201".to_owned(), two.trim_end()),
                ("1204-1803".to_owned(), one.trim_end())
            ]
        );
    }

    #[test]
    fn a_text_without_blank_lines_is_cut_between_lines_and_a_long_line_anywhere() {
        let line = format!("{}\n", "ü".repeat(800));
        let text = line.repeat(3);
        let lines: Vec<_> = cut_up(&text).into_iter().map(|(lines, _)| lines).collect();
        assert_eq!(lines, ["1-2", "3-3"]);
        let text = format!("x\n{}\ny", "𝄞".repeat(4_500));
        let found = cut_up(&text);
        let lines: Vec<_> = found.iter().map(|(lines, _)| lines.as_str()).collect();
        assert_eq!(lines, ["1-1", "2-2", "2-2", "2-3"]);
        assert!(found.iter().all(|(_, text)| text.chars().count() <= LONGEST));
        assert_eq!(
            found.iter().map(|(_, text)| text.chars().filter(|c| *c == '𝄞').count()).sum::<usize>(),
            4_500
        );
    }
}
