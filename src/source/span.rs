//! Places in a text: byte ranges for the program, line and column for people.

use serde::Serialize;

/// A range of bytes in a source text; `end` is the first byte that no longer belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Returns whether the span covers no byte: a place between two characters.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A place as an editor names it: line and column from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}
