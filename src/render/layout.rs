//! Owns how text fits into columns: cuts, wraps and aligns by display width, not by bytes or characters.
//!
//! It takes cleaned text only; a cut shows as `…`, a wrap never loses a character but the space it broke at.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// Columns beyond which a picture is not drawn wider: the eye would lose the line.
const WIDEST: usize = 120;

/// Columns below which nothing sensible can be drawn; narrower terminals wrap.
const NARROWEST: usize = 20;

/// Returns how many of the terminal's columns are used; the last one is left free, as some terminals wrap in it.
pub(super) fn usable(width: u16) -> usize {
    usize::from(width).saturating_sub(1).clamp(NARROWEST, WIDEST)
}

/// Returns the line in at most `width` columns.
pub(super) fn cut(line: &str, width: usize) -> String {
    truncate_str(line, width, "…").trim_end().to_owned()
}

/// Returns the line in exactly `width` columns.
pub(super) fn fit(line: &str, width: usize) -> String {
    pad_str(line, width, Alignment::Left, Some("…")).into_owned()
}

/// Returns one line with `left` at the left and `right` at the right edge; `left` is cut where they would meet.
pub(super) fn spread(left: &str, right: &str, width: usize) -> String {
    if right.is_empty() {
        return cut(left, width);
    }
    let room = width.saturating_sub(measure_text_width(right) + 2);
    cut(&format!("{}  {right}", fit(left, room)), width)
}

/// Returns the line broken at spaces into lines of at most `width` columns, each indented like the first; those of
/// an item of a list stand under its text.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let bullet = if text.starts_with("- ") || text.starts_with("* ") { 2 } else { 0 };
    let (bullet, body) = text.split_at(bullet);
    let indent = (line.len() - text.len()).min(width / 2);
    let room = width.saturating_sub(indent + bullet.len()).max(1);
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in body.split(' ') {
        let taken = measure_text_width(&current);
        if current.is_empty() || taken + 1 + measure_text_width(word) > room {
            if !current.is_empty() {
                lines.push(std::mem::take(&mut current));
            }
        } else {
            current.push(' ');
        }
        for character in word.chars() {
            let mut buffer = [0; 4];
            let character = character.encode_utf8(&mut buffer);
            if measure_text_width(&current) + measure_text_width(character) > room {
                lines.push(std::mem::take(&mut current));
            }
            current.push_str(character);
        }
    }
    lines.push(current);
    let starts = std::iter::once(bullet).chain(std::iter::repeat(&"  "[..bullet.len()]));
    lines.into_iter().zip(starts).map(|(line, start)| format!("{:indent$}{start}{line}", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_counts_columns() {
        assert_eq!(cut("日本語のテキスト", 7), "日本語…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(fit("ab", 4), "ab  ");
    }

    #[test]
    fn the_left_side_gives_way_to_the_right_one() {
        assert_eq!(spread("left", "right", 12), "left   right");
        assert_eq!(spread("a long left side", "right", 12), "a lo…  right");
        assert_eq!(spread("a long left side", "", 12), "a long left…");
    }

    #[test]
    fn wrapped_lines_keep_every_word() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  - one two", 8), ["  - one", "    two"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
