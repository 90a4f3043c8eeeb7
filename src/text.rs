//! Small pieces of grammar for messages: plurals, ticked lists, cuts, sizes, durations, did-you-mean.
//!
//! It knows no language but English and refuses to guess at names that are not similar: a wrong suggestion
//! costs the reader more than none.

pub mod clean;

use std::borrow::Cow;

/// How similar (Jaro-Winkler, 0 to 1) a candidate must be before it is suggested.
const SIMILAR: f64 = 0.8;

/// Longest word that is compared at all; beyond it a typing slip is not what went wrong.
const LONGEST_WORD: usize = 64;

/// Returns the count with its noun: `1 step`, `3 steps`, `2 entries`, `2 matches`.
pub fn plural(noun: &str, count: usize) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    if let Some(stem) = noun.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return format!("{count} {stem}ies");
    }
    let ending = if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) { "es" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Returns the items in backticks as a list: `` `a`, `b` and `c` ``.
pub fn ticked<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items = items.into_iter().map(|item| format!("`{}`", item.as_ref()));
    joined(items, "and")
}

/// Returns the items in backticks as a choice: `` `a`, `b` or `c` ``.
pub fn ticked_or<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items = items.into_iter().map(|item| format!("`{}`", item.as_ref()));
    joined(items, "or")
}

/// Returns the items as a list whose last two stand around `word`: `a, b or c`.
pub fn joined<T: AsRef<str>>(items: impl IntoIterator<Item = T>, word: &str) -> String {
    let items: Vec<T> = items.into_iter().collect();
    let mut list = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 && index + 1 == items.len() {
            list.push(' ');
            list.push_str(word);
            list.push(' ');
        } else if index > 0 {
            list.push_str(", ");
        }
        list.push_str(item.as_ref());
    }
    list
}

/// Returns an amount of money. A cent is a lot for one call; with two digits below it, little would look like nothing.
pub fn dollars(usd: f64) -> String {
    match usd {
        usd if usd > 0.0 && usd < 0.0001 => format!("${usd:.6}"),
        usd if usd < 0.1 => format!("${usd:.4}"),
        usd => format!("${usd:.2}"),
    }
}

/// Returns the tokens of a text of so many characters, by a rule of thumb.
pub fn tokens_in(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

/// Returns the number with its thousands grouped: `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns the text in at most `max_chars` characters; what was cut shows as a closing `…`.
pub fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.char_indices().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let Some(kept) = max_chars.checked_sub(1) else { return Cow::Borrowed("") };
    Cow::Owned(format!("{}…", &text[..char_offset(text, kept)]))
}

/// Returns the last `max_chars` characters of the text; what was cut shows as a leading `…`.
pub fn tail(text: &str, max_chars: usize) -> Cow<'_, str> {
    let chars = text.chars().count();
    if chars <= max_chars {
        return Cow::Borrowed(text);
    }
    let Some(kept) = max_chars.checked_sub(1) else { return Cow::Borrowed("") };
    Cow::Owned(format!("…{}", &text[char_offset(text, chars - kept)..]))
}

/// Returns the first `head` and the last `tail` characters with a note between them that says how many
/// characters are missing, or the whole text if it is no longer than both.
pub fn head_tail(text: &str, head: usize, tail: usize) -> Cow<'_, str> {
    let chars = text.chars().count();
    let shown = head.saturating_add(tail);
    if chars <= shown {
        return Cow::Borrowed(text);
    }
    let first = &text[..char_offset(text, head)];
    let last = &text[char_offset(text, chars - tail)..];
    Cow::Owned(format!("{first}\n[… {} left out …]\n{last}", plural("character", chars - shown)))
}

/// Returns the beginning and the end of the text, in at most `bytes` bytes together and more of the beginning; nothing if it is no longer.
pub fn ends(text: &str, bytes: usize) -> Option<(&str, &str)> {
    if text.len() <= bytes {
        return None;
    }
    let (mut head, mut tail) = (bytes - bytes / 4, text.len() - bytes / 4);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    Some((&text[..head], &text[tail..]))
}

/// Returns the candidate that was probably meant: one that differs only in case, else the most similar one.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().nth(LONGEST_WORD).is_some() {
        return None;
    }
    let word = word.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let lower = candidate.to_lowercase();
        if lower == word {
            return Some(candidate);
        }
        let score = strsim::jaro_winkler(&word, &lower);
        if score > best.map_or(SIMILAR, |(top, _)| top) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns whether a word is another one with a slip of the fingers: a letter or, of long words, a quarter of them.
///
/// A suggestion may be wrong; this is for those who act on the answer.
pub fn is_slip(word: &str, meant: &str) -> bool {
    let letters = meant.chars().count();
    let near = word.chars().count().abs_diff(letters) <= letters;
    near && (1..=(letters / 4).max(1)).contains(&strsim::osa_distance(word, meant))
}

/// Returns a size in the largest decimal unit that fits: `512 B`, `1.2 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        // A size that would round up to 1000.0 belongs to the larger unit already.
        if count >= unit - unit / 20_000 {
            let tenths = (u128::from(count) * 10 + u128::from(unit) / 2) / u128::from(unit);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{count} B")
}

/// Returns a duration given in milliseconds: `850 ms`, `1.2 s`, `2 m 05 s`, `1 h 02 m`.
pub fn duration(milliseconds: u64) -> String {
    let tenths = milliseconds.saturating_add(50) / 100;
    let seconds = milliseconds.saturating_add(500) / 1000;
    let minutes = milliseconds.saturating_add(30_000) / 60_000;
    if milliseconds < 1_000 {
        format!("{milliseconds} ms")
    } else if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else if seconds < 3_600 {
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    } else {
        format!("{} h {:02} m", minutes / 60, minutes % 60)
    }
}

/// Returns the byte offset of the character at `index`, or the end of the text.
fn char_offset(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_a_letter_or_two() {
        for (word, meant) in [("limts", "limits"), ("gaol", "goal"), ("expectedOutupt", "expectedOutput")] {
            assert!(is_slip(word, meant), "{word}");
        }
        for (word, meant) in [("services", "secrets"), ("modules", "model"), ("goal", "goal"), ("x", "goal")]
        {
            assert!(!is_slip(word, meant), "{word}");
        }
    }

    #[test]
    fn plurals_follow_the_noun() {
        assert_eq!(plural("step", 0), "0 steps");
        assert_eq!(plural("step", 1), "1 step");
        assert_eq!(plural("step", 3), "3 steps");
        assert_eq!(plural("entry", 2), "2 entries");
        assert_eq!(plural("key", 2), "2 keys");
        assert_eq!(plural("match", 2), "2 matches");
    }

    #[test]
    fn lists_end_in_a_word() {
        assert_eq!(ticked(["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(ticked_or(["a", "b"]), "`a` or `b`");
        assert_eq!(ticked(["a"]), "`a`");
        assert_eq!(ticked(Vec::<String>::new()), "");
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate("größer", 6), "größer");
        assert_eq!(truncate("größer", 4), "grö…");
        assert_eq!(truncate("größer", 1), "…");
        assert_eq!(truncate("größer", 0), "");
        assert_eq!(truncate("", 0), "");
    }

    #[test]
    fn a_tail_counts_characters_from_the_end() {
        assert_eq!(tail("größer", 6), "größer");
        assert_eq!(tail("größer", 4), "…ßer");
        assert_eq!(tail("größer", 1), "…");
        assert_eq!(tail("größer", 0), "");
    }

    #[test]
    fn head_and_tail_say_what_is_missing() {
        assert_eq!(head_tail("äöüabc", 2, 1), "äö\n[… 3 characters left out …]\nc");
        assert_eq!(head_tail("äöüabc", 5, 1), "äöüabc");
        assert_eq!(head_tail("ab", usize::MAX, usize::MAX), "ab");
    }

    #[test]
    fn ends_are_cut_between_characters() {
        assert_eq!(ends("größer", 8), None);
        assert_eq!(ends("größer", 7), Some(("größ", "r")));
        assert_eq!(ends("ööö", 5), Some(("öö", "")));
        assert_eq!(ends("ab", 0), Some(("", "")));
    }

    #[test]
    fn suggestions_are_close_or_absent() {
        let keys = ["goal", "context", "expectedOutput"];
        assert_eq!(did_you_mean("Goal", keys), Some("goal"));
        assert_eq!(did_you_mean("expected_output", keys), Some("expectedOutput"));
        assert_eq!(did_you_mean("contxt", keys), Some("context"));
        assert_eq!(did_you_mean("temperature", keys), None);
        assert_eq!(did_you_mean("", keys), None);
        assert_eq!(did_you_mean(&"goal".repeat(100), keys), None);
    }

    #[test]
    fn sizes_round_into_their_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_000), "1.0 kB");
        assert_eq!(bytes(1_234_567), "1.2 MB");
        assert_eq!(bytes(999_960), "1.0 MB");
        assert_eq!(bytes(u64::MAX), "18446744.1 TB");
    }

    #[test]
    fn durations_round_into_their_unit() {
        assert_eq!(duration(0), "0 ms");
        assert_eq!(duration(999), "999 ms");
        assert_eq!(duration(1_249), "1.2 s");
        assert_eq!(duration(59_960), "1 m 00 s");
        assert_eq!(duration(125_000), "2 m 05 s");
        assert_eq!(duration(3_599_700), "1 h 00 m");
        assert_eq!(duration(3_725_000), "1 h 02 m");
        assert!(duration(u64::MAX).ends_with(" m"));
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn little_money_is_not_nothing() {
        let shown: Vec<String> = [0.0, 0.00001, 0.0123, 0.5, 12.0].map(dollars).into();
        assert_eq!(shown, ["$0.0000", "$0.000010", "$0.0123", "$0.50", "$12.00"]);
    }
}
