//! The shape of a document: where each key and each value stands, without the values themselves.
//!
//! Values live beside it as one `serde_json::Value`; both are walked with the same JSON pointers.

use super::span::Span;

/// One value of a document with its place.
#[derive(Debug)]
pub(super) struct Node {
    /// Where the value is written; for a value that came through an alias, where its anchor is.
    pub(super) span: Span,
    /// What is below it.
    pub(super) children: Children,
}

/// What a value holds.
#[derive(Debug)]
pub(super) enum Children {
    /// A string, number, boolean or null.
    None,
    /// The items of a list.
    List(Vec<Node>),
    /// The entries of a map in the order of the text.
    Map(Vec<Entry>),
}

/// One entry of a map.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) key: Span,
    pub(super) value: Node,
}

/// A value found through a pointer, with the span of its key if it stands in a map.
pub(super) struct Found<'a> {
    pub(super) key: Option<Span>,
    pub(super) value: &'a Node,
}

impl Node {
    /// Returns what a JSON pointer (RFC 6901) leads to.
    pub(super) fn find(&self, pointer: &str) -> Option<Found<'_>> {
        let mut found = Found { key: None, value: self };
        for segment in segments(pointer) {
            found = match &found.value.children {
                Children::None => return None,
                Children::List(items) => {
                    Found { key: None, value: items.get(segment.parse::<usize>().ok()?)? }
                }
                Children::Map(entries) => {
                    let entry = entries.iter().find(|entry| entry.name == segment)?;
                    Found { key: Some(entry.key), value: &entry.value }
                }
            };
        }
        Some(found)
    }
}

/// Returns the segments of a JSON pointer, unescaped; the empty pointer has none.
pub(super) fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// Returns the pointer to a key or an index below `pointer`.
pub(super) fn child(pointer: &str, segment: &str) -> String {
    format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
}
