//! Owns the decoding of a stream of server-sent events: bytes in, whole events out, the same ones however the bytes are cut.

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name, where it has one.
    pub(super) name: Option<String>,
    /// Its data lines, joined by line breaks.
    pub(super) data: String,
}
