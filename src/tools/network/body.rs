//! Owns the body of an answer: as much of it as is kept, read as the text that it is.
//!
//! It refuses to grow with what a server sends (a packed body is measured unpacked) and to make text of what is none.

use encoding_rs::{DecoderResult, Encoding, UTF_8};
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName};

use crate::text;

/// How much of a body is kept, in bytes.
pub(super) const LIMIT: usize = 1 << 20;

/// How far into a body a NUL is looked for.
const SNIFFED: usize = 8 << 10;

/// The kept part of a body.
#[derive(Debug, Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
    cut: bool,
}

impl Body {
    /// Reads a body to its end or to the limit; what is beyond is not even received.
    pub(super) async fn read(response: &mut Response) -> reqwest::Result<Self> {
        let mut body = Self::default();
        while let Some(chunk) = response.chunk().await? {
            let kept = chunk.len().min(LIMIT - body.bytes.len());
            body.bytes.extend_from_slice(&chunk[..kept]);
            if kept < chunk.len() {
                body.cut = true;
                break;
            }
        }
        Ok(body)
    }

    /// Returns whether something of it is missing.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns the text, or `None` if it is not text in the encoding that the headers name.
    pub(super) fn text(&self, headers: &HeaderMap) -> Option<String> {
        let mut decoder = charset(headers).new_decoder();
        let mut text =
            String::with_capacity(decoder.max_utf8_buffer_length_without_replacement(self.bytes.len())?);
        // The end of what was cut may be half a character, which the decoder then waits for.
        let (result, _) = decoder.decode_to_string_without_replacement(&self.bytes, &mut text, !self.cut);
        let whole = result == DecoderResult::InputEmpty;
        (whole && !text.as_bytes().iter().take(SNIFFED).any(|byte| *byte == 0)).then_some(text)
    }

    /// Returns what a model is shown of it: the text, a line that says if something was cut, or what it is instead of text.
    pub(super) fn shown(&self, headers: &HeaderMap) -> String {
        let Some(mut shown) = self.text(headers) else {
            let size = text::bytes(self.bytes.len() as u64);
            let size = if self.cut { format!("more than {size}") } else { size };
            let kind = [CONTENT_TYPE, CONTENT_ENCODING].map(|name| value(headers, &name).unwrap_or_default());
            let kind = text::joined(kind.into_iter().filter(|part| !part.is_empty()), "as");
            let kind = if kind.is_empty() { "no content type" } else { &kind };
            return format!("[body of {size} that is not text: {}]", text::truncate(kind, 100));
        };
        if self.cut {
            if !shown.ends_with('\n') {
                shown.push('\n');
            }
            shown.push_str("[body truncated at 1 MB]");
        }
        shown
    }
}

/// Returns the encoding that the content type names; most that name none are UTF-8.
fn charset(headers: &HeaderMap) -> &'static Encoding {
    let kind = value(headers, &CONTENT_TYPE).unwrap_or_default();
    let mut parameters = kind.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let named = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    named
        .and_then(|(_, label)| Encoding::for_label(label.trim().trim_matches('"').as_bytes()))
        .unwrap_or(UTF_8)
}

fn value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::network::server::{Server, answer};
    use std::io::Write as _;

    /// `hello` in a gzip.
    const HELLO: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";

    /// Returns a gzip that goes on with zeros for ever, as far as 50 MB.
    fn bomb() -> Vec<u8> {
        // A block with fixed codes, one zero, then again and again: the last byte, 258 times.
        let mut bits = vec![0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0];
        let again = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
        bits.extend(again.into_iter().cycle().take(again.len() * 200_000));
        let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        bytes.extend(bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)));
        bytes
    }

    /// Returns what is read of the body that `respond` sends.
    async fn read(respond: impl FnMut(&str, &mut std::net::TcpStream) + Send + 'static) -> (Body, HeaderMap) {
        let server = Server::start(respond);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut response = client.get(server.url("/")).send().await.unwrap();
        let body = Body::read(&mut response).await.unwrap();
        (body, response.headers().clone())
    }

    #[tokio::test]
    async fn a_body_without_end_is_read_up_to_the_limit() {
        let (body, headers) = read(|_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            while stream.write_all(b"8\r\nendless\n\r\n").is_ok() {}
        })
        .await;
        assert_eq!((body.bytes.len(), body.is_cut()), (LIMIT, true));
        assert!(body.shown(&headers).ends_with("\n[body truncated at 1 MB]"));
    }

    #[tokio::test]
    async fn a_body_as_long_as_the_limit_is_whole() {
        let (body, headers) = read(|_, stream| answer(stream, "200 OK", "", &vec![b'x'; LIMIT])).await;
        assert_eq!(body.shown(&headers), "x".repeat(LIMIT));
    }

    #[tokio::test]
    async fn a_packed_body_is_measured_unpacked() {
        let packed = "content-encoding: gzip\r\n";
        let (body, headers) = read(move |_, stream| answer(stream, "200 OK", packed, HELLO)).await;
        assert_eq!(body.shown(&headers), "hello");
        let (body, _) = read(move |_, stream| answer(stream, "200 OK", packed, &bomb())).await;
        assert_eq!((body.bytes.len(), body.is_cut()), (LIMIT, true));
    }

    fn shown(kind: &'static str, bytes: &[u8], cut: bool) -> String {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
        Body { bytes: bytes.to_vec(), cut }.shown(&headers)
    }

    #[test]
    fn text_is_read_by_its_charset() {
        assert_eq!(shown("text/plain", "größe".as_bytes(), false), "größe");
        assert_eq!(shown("text/plain; charset=ISO-8859-1", b"gr\xf6\xdfe", false), "größe");
        assert_eq!(shown("text/plain; x=y; Charset=\"windows-1252\"", b"\x80", false), "€");
        assert_eq!(shown("text/plain;charset=utf-16le", b"o\0k\0", false), "ok");
        assert_eq!(shown("text/plain;charset=nonsense", b"\xef\xbb\xbfok", false), "ok");
        assert_eq!(shown("text/plain", b"", false), "");
    }

    #[test]
    fn what_is_not_text_is_named_and_not_shown() {
        assert_eq!(shown("image/png", b"\x89PNG\r\n", false), "[body of 6 B that is not text: image/png]");
        assert_eq!(shown("text/plain", b"a\0b", false), "[body of 3 B that is not text: text/plain]");
        assert_eq!(shown("", b"\xff\xff", true), "[body of more than 2 B that is not text: no content type]");
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, "text/html".parse().unwrap()),
            (CONTENT_ENCODING, "br".parse().unwrap()),
        ]);
        let packed = Body { bytes: vec![0xff], cut: false };
        assert_eq!(packed.shown(&headers), "[body of 1 B that is not text: text/html as br]");
    }

    #[test]
    fn a_cut_tears_no_character_apart() {
        assert_eq!(shown("text/plain", b"gr\xc3", true), "gr\n[body truncated at 1 MB]");
        assert_eq!(shown("text/plain", b"gr\n", true), "gr\n[body truncated at 1 MB]");
        assert_eq!(shown("text/plain", b"gr\xc3", false), "[body of 3 B that is not text: text/plain]");
    }
}
