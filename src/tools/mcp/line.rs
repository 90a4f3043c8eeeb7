//! Owns the watch on the length of a server's lines: one that is too long is thrown away below, and whoever waits for it has to hear of that.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// The longest line that is read, in bytes.
pub(super) const LONGEST: usize = DEFAULT_MAX_LINE_LENGTH;

/// A stream of lines whose lengths are watched.
pub(super) struct Watched<R> {
    inner: R,
    length: usize,
    too_long: watch::Sender<()>,
}

impl<R> Watched<R> {
    /// Returns the watched stream, and what changes whenever a line in it is too long.
    pub(super) fn new(inner: R) -> (Self, watch::Receiver<()>) {
        let (too_long, heard) = watch::channel(());
        (Self { inner, length: 0, too_long }, heard)
    }

    fn count(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length += part.len();
            if before <= LONGEST && self.length > LONGEST {
                self.too_long.send_replace(());
            }
            if part.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.count(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_heard_of_once() {
        let (mut watched, mut heard) = Watched::new(tokio::io::empty());
        let half = vec![b'x'; LONGEST / 2 + 1];
        watched.count(&half);
        watched.count(b"\n");
        watched.count(&half);
        assert!(!heard.has_changed().unwrap());
        watched.count(&half);
        assert!(heard.has_changed().unwrap());
        heard.borrow_and_update();
        watched.count(&half);
        watched.count(b"\n{}\n");
        assert!(!heard.has_changed().unwrap());
    }
}
