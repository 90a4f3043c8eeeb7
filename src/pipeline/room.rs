//! Owns how much of what steps, tools and the scratchpad hold is shown in one message, and what is said of the rest.
//!
//! When all of it together is too long, the longest pieces are cut first, in the middle: each may be as long as any other, and what is shorter
//! stays whole. That follows from the pieces alone, so that the same run asks the same. The rest lies in a file, if the run is recorded.

use std::borrow::Cow;

use serde::Serialize;

use super::run::{Run, Stop};
use super::texts::Text;
use crate::text;

/// A text as far as there is room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) content: Cow<'t, str>,
    pub(super) cut: Option<Cut<'t>>,
}

/// What there was no room for, and what comes behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cut<'t> {
    /// The first byte that is left out.
    from: usize,
    /// The first byte behind that.
    to: usize,
    /// The bytes of the whole.
    of: usize,
    /// Where the whole can be read.
    path: Option<&'t str>,
    /// Whether it can be read nowhere, and whoever reads this could ask for it once more.
    gone: bool,
    tail: Cow<'t, str>,
}

impl<'t, T: Into<Cow<'t, str>>> From<T> for Piece<'t> {
    fn from(whole: T) -> Self {
        Self { content: whole.into(), cut: None }
    }
}

impl<'t> Piece<'t> {
    /// Returns a text in at most `most` bytes, for somebody who cannot read the rest.
    pub(super) fn of(whole: impl Into<Cow<'t, str>>, most: usize) -> Self {
        let whole = whole.into();
        let Some((head, tail)) = text::ends(&whole, most) else { return whole.into() };
        let cut = Cut::between(&whole, head, tail);
        Self { cut: Some(Cut { tail: tail.to_owned().into(), ..cut }), content: head.to_owned().into() }
    }
}

impl Cut<'_> {
    fn between(whole: &str, head: &str, tail: &str) -> Self {
        let to = whole.len() - tail.len();
        Self { from: head.len(), to, of: whole.len(), path: None, gone: false, tail: Cow::Borrowed("") }
    }
}

/// Returns how long each of these may be, so that all together are no longer than `limit`.
pub(super) fn each(lengths: impl IntoIterator<Item = usize>, limit: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.into_iter().collect();
    lengths.sort_unstable();
    let (mut left, mut open) = (limit, lengths.len());
    for length in lengths {
        let share = left / open;
        if length > share {
            return share;
        }
        left -= length;
        open -= 1;
    }
    limit
}

impl Run<'_> {
    /// Returns how long each of these may be in one message.
    pub(super) fn room<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> usize {
        each(texts.into_iter().map(str::len), self.pipeline.config.limits.max_prompt_bytes)
    }

    /// Returns a text in at most `most` bytes, with where the rest can be read.
    pub(super) fn piece<'t>(&self, whole: &'t Text, most: usize) -> Result<Piece<'t>, Stop> {
        let Some((head, tail)) = text::ends(whole, most) else { return Ok(Piece::from(&**whole)) };
        let path = whole.place(|text, form| self.keep(text, form))?;
        let cut = Cut { path, gone: path.is_none(), tail: tail.into(), ..Cut::between(whole, head, tail) };
        Ok(Piece { content: head.into(), cut: Some(cut) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_cut_first_and_all_of_them_to_the_same_length() {
        for (lengths, limit, most) in [
            (&[][..], 10, 10),
            (&[3, 4], 10, 10),
            (&[10], 10, 10),
            (&[2, 90, 3, 50], 25, 10),
            (&[11, 11, 2], 20, 9),
            (&[5, 5, 5], 1, 0),
        ] {
            assert_eq!(each(lengths.iter().copied(), limit), most, "{lengths:?}");
        }
    }

    #[test]
    fn what_is_cut_says_what_is_missing() {
        assert_eq!(Piece::of("größer", 8), Piece::from("größer"));
        let Piece { content, cut: Some(cut) } = Piece::of("größer als alle", 8) else { panic!("not cut") };
        assert_eq!((&*content, &*cut.tail), ("größ", "le"));
        assert_eq!((cut.from, cut.to, cut.of), (6, 15, 17));
    }
}
