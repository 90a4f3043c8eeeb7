//! Owns the terminal that is drawn on, and remembers the first fault of it.
//!
//! The drawing library takes some faults for impossible and ignores others; here none reaches it and none is lost.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::TermLike;

use crate::render::charset::ascii;
use crate::render::valve::Valve;

/// A terminal that never fails to be written to: after a fault it takes everything and shows nothing.
#[derive(Clone)]
pub(super) struct Screen {
    term: Arc<dyn TermLike>,
    /// Whether it knows no more than ASCII.
    ascii: bool,
    /// Whether the line that was written last is whole, and the next one begins a line of its own.
    ///
    /// The drawing library fills lines up to get to the next, the last one included. What the terminal writes behind it, such as the `^C`
    /// of an interrupt, would then begin another line, and the picture could not be taken back to where it began.
    line_ended: Arc<Mutex<bool>>,
    health: Arc<Mutex<Health>>,
}

#[derive(Default)]
struct Health {
    valve: Valve,
    fault: Option<io::Error>,
}

impl Screen {
    /// Returns a screen on `term`.
    pub(super) fn new(term: impl TermLike + 'static, ascii: bool) -> Self {
        Self { term: Arc::new(term), ascii, line_ended: Arc::default(), health: Arc::default() }
    }

    /// Returns the fault that has not been told yet.
    pub(super) fn fault(&self) -> io::Result<()> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).fault.take().map_or(Ok(()), Err)
    }

    fn readable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.ascii { ascii(text) } else { Cow::Borrowed(text) }
    }

    fn attempt(&self, draw: impl FnOnce(&dyn TermLike) -> io::Result<()>) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = health.valve.pass(|| draw(self.term.as_ref())) {
            health.fault = Some(error);
        }
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term.fmt(f)
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.term.width()
    }

    fn height(&self) -> u16 {
        self.term.height()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        // The picture is drawn anew, from the line that the cursor is on.
        *self.line_ended.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.attempt(|term| term.move_cursor_up(n));
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.attempt(|term| term.move_cursor_down(n));
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.attempt(|term| term.move_cursor_right(n));
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.attempt(|term| term.move_cursor_left(n));
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.attempt(|term| term.write_line(&self.readable(line)));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let is_filler = !text.is_empty() && text.trim_start_matches(' ').is_empty();
        let ended = std::mem::replace(
            &mut *self.line_ended.lock().unwrap_or_else(PoisonError::into_inner),
            is_filler,
        );
        if is_filler {
            return Ok(());
        }
        if ended {
            self.attempt(|term| term.write_line(""));
        }
        self.attempt(|term| term.write_str(&self.readable(text)));
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.attempt(|term| term.clear_line());
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.attempt(|term| term.flush());
        Ok(())
    }
}
