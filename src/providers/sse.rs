//! Owns the decoding of a stream of server-sent events: bytes in, whole events out, the same ones however the bytes are cut.
//!
//! It refuses an event that is too large; an event that the stream does not finish is no event.

use std::collections::VecDeque;

/// The largest event that is taken, in bytes.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its data lines, joined by line breaks.
    pub data: String,
}

/// An event is larger than that may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// The state between two pieces of a stream.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the stream's first line, which may begin with a byte order mark, is over.
    started: bool,
    /// Whether the last line ended with a carriage return, so that a line feed next to it ends nothing.
    after_return: bool,
    name: Option<String>,
    data: Option<String>,
    ready: VecDeque<Event>,
}

impl Decoder {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLarge> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
            if held > MAX_EVENT {
                return Err(TooLarge);
            }
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line();
        }
        Ok(())
    }

    /// Returns the next whole event.
    pub fn take(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        // A line break is never part of another character: lines can be decoded one by one.
        let line = String::from_utf8_lossy(&line);
        let mark =
            if std::mem::replace(&mut self.started, true) { None } else { line.strip_prefix('\u{feff}') };
        let line = mark.unwrap_or(&line);
        if line.is_empty() {
            let name = self.name.take();
            self.ready.extend(self.data.take().map(|data| Event { name, data }));
            return;
        }
        // A comment is a field without a name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Result<(), TooLarge>) {
        let mut decoder = Decoder::default();
        let end = pieces.into_iter().try_for_each(|piece| decoder.push(piece));
        (std::iter::from_fn(|| decoder.take()).collect(), end)
    }

    fn events(text: &str) -> Vec<(Option<String>, String)> {
        let (events, end) = decode([text.as_bytes()]);
        assert_eq!(end, Ok(()));
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn named(name: &str, data: &str) -> (Option<String>, String) {
        (Some(name.to_owned()), data.to_owned())
    }

    fn plain(data: &str) -> (Option<String>, String) {
        (None, data.to_owned())
    }

    #[test]
    fn an_event_ends_with_an_empty_line_of_any_kind() {
        for end in ["\n", "\r", "\r\n"] {
            let text = "event: delta\ndata: a\ndata:  b\n\ndata:c\n\n".replace('\n', end);
            assert_eq!(events(&text), [named("delta", "a\n b"), plain("c")], "{end:?}");
        }
        assert_eq!(events("data: a\r\n\ndata: b\n\r"), [plain("a"), plain("b")]);
    }

    #[test]
    fn what_is_no_field_is_left_out() {
        assert_eq!(
            events("\u{feff}: hello\nid: 7\nretry: 9\nDATA: no\n:\n data: no\ndata: yes: \u{feff}no\n\n"),
            [plain("yes: \u{feff}no")]
        );
        assert_eq!(events("\u{feff}\u{feff}data: no\ndata: yes\n\n"), [plain("yes")]);
    }

    #[test]
    fn data_may_be_empty_but_not_missing() {
        assert_eq!(events("data\n\ndata\ndata\n\ndata:\n\n"), [plain(""), plain("\n"), plain("")]);
        assert_eq!(events("event: lost\n\nevent: a\nevent:\ndata: kept\n\n"), [plain("kept")]);
    }

    #[test]
    fn what_the_stream_does_not_finish_is_no_event() {
        assert_eq!(events("data: a\n\ndata: b\n"), [plain("a")]);
    }

    #[test]
    fn broken_text_is_replaced() {
        let (events, _) = decode([&b"data: a\xff\xe2\n\n"[..]]);
        assert_eq!(events[0].data, "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_event_has_a_largest_size_and_a_stream_has_none() {
        let half = vec![b'x'; MAX_EVENT / 2];
        let (line, data, end) = (&half[..], &b"data: "[..], &b"\n"[..]);
        assert_eq!(decode([data, line, line]).1, Err(TooLarge));
        assert_eq!(decode([data, line, end, data, line]).1, Err(TooLarge));
        assert_eq!(decode([line, line, line]).1, Err(TooLarge));
        let (events, end) = decode([data, line, end, end, data, line, end, end]);
        assert_eq!((events.len(), end), (2, Ok(())));
    }

    proptest! {
        #[test]
        fn the_events_do_not_depend_on_where_the_bytes_are_cut(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(vec![
                        &b"data"[..], b"event", b":", b" ", b"\r", b"\n", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\xe2\x82", b"x",
                    ]).prop_map(<[u8]>::to_vec),
                    prop::collection::vec(any::<u8>(), 0..4),
                ],
                0..40,
            ),
            size in 1_usize..9,
        ) {
            let bytes = parts.concat();
            let whole = decode([&bytes[..]]);
            prop_assert_eq!(&decode(bytes.chunks(size)), &whole);
            prop_assert_eq!(&decode(parts.iter().map(Vec::as_slice)), &whole);
        }
    }
}
