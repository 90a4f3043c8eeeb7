//! Owns the output for a person without a terminal: one line at a time, each with its place in brackets.
//!
//! Lines are never cut or rewritten, so a log can be searched; what belongs to a line stands under it, indented.

use std::io::{self, Write};

use super::Style;
use super::charset::ascii;
use super::clean::shield;
use super::ink::{Text, Tone};
use super::message::{Detail, Message};
use super::valve::Valve;
use super::words::Words;
use crate::event::{Envelope, EventSink};

/// Indents what belongs to a line.
const INDENT: &str = "    ";

/// Writes plain lines.
#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    color: bool,
    ascii: bool,
    words: Words,
    valve: Valve,
}

impl<W: Write + Send> Plain<W> {
    /// Returns a sink that writes to `out`.
    pub fn new(out: W, style: Style) -> Self {
        Self {
            out,
            color: style.color,
            ascii: style.ascii,
            words: Words::new(style.level),
            valve: Valve::default(),
        }
    }

    /// Writes a message at the end of `page`.
    pub(super) fn write(&self, message: &Message, page: &mut String) {
        let brackets = message.place.brackets();
        let mut line = Text::default();
        if !brackets.is_empty() {
            line = line.add(Tone::Faint, brackets).add(Tone::Plain, " ");
            if let Some(mark) = message.mark {
                let (tone, sign) = mark.sign();
                line = line.add(tone, sign).add(Tone::Plain, " ");
            }
        }
        line = line.join(message.head.clone());
        let tail = &message.tail;
        let under = if let [short] = tail.lines.as_slice() {
            line = line.add(Tone::Plain, tail.joint).add(tail.tone, short);
            &[]
        } else {
            if !tail.lines.is_empty() {
                line = line.add(Tone::Plain, tail.joint.trim_end());
            }
            tail.lines.as_slice()
        };
        if self.words.verbose() && !message.measures.is_empty() {
            line = line.add(Tone::Faint, format!(" ({})", message.measures.join(", ")));
        }
        page.push_str(&shield(&line.paint(self.color)));
        page.push('\n');
        let under = under.iter().map(|line| tail.tone.paint(line, self.color));
        let details = message.details.iter().map(|detail| match detail {
            Detail::Prose(tone, line) => tone.paint(line, self.color),
            Detail::Row(row) => row.paint(self.color),
        });
        for line in under.chain(details) {
            page.push_str(format!("{INDENT}{}", shield(&line)).trim_end());
            page.push('\n');
        }
    }
}

impl<W: Write + Send> EventSink for Plain<W> {
    fn name(&self) -> &'static str {
        "the progress lines"
    }

    /// It was told when it happened; what is told from now on may go back to it.
    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.words.tell(&envelope.event);
        Ok(())
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        let mut page = String::new();
        for message in self.words.tell(&envelope.event) {
            self.write(&message, &mut page);
        }
        if page.is_empty() {
            return Ok(());
        }
        let out = &mut self.out;
        let page = if self.ascii { ascii(&page) } else { page.as_str().into() };
        self.valve.pass(|| {
            out.write_all(page.as_bytes())?;
            out.flush()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoggingLevel;
    use crate::event::RunEvent;
    use crate::render::fixture;

    fn render(events: &[RunEvent], color: bool, level: LoggingLevel) -> String {
        let mut written = Vec::new();
        let mut sink = Plain::new(&mut written, Style { color, width: 40, ascii: false, level });
        for envelope in fixture::envelopes(events) {
            sink.emit(&envelope).unwrap();
        }
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn each_level_says_what_it_promises() {
        fixture::compare("plain-minimal.txt", &render(&fixture::run(), false, LoggingLevel::Minimal));
        fixture::compare("plain-standard.txt", &render(&fixture::run(), false, LoggingLevel::Standard));
        fixture::compare("plain-verbose.txt", &render(&fixture::run(), false, LoggingLevel::Verbose));
    }

    #[test]
    fn a_stopped_run_says_why_and_promises_no_verdict() {
        fixture::compare("plain-stopped.txt", &render(&fixture::stopped(), false, LoggingLevel::Standard));
    }

    #[test]
    fn colours_change_no_word() {
        let plain = render(&fixture::run(), false, LoggingLevel::Verbose);
        let painted = render(&fixture::run(), true, LoggingLevel::Verbose);
        assert!(painted.contains("\u{1b}[32m✓"));
        assert_eq!(console::strip_ansi_codes(&painted), plain);
    }

    #[test]
    fn hostile_text_neither_paints_nor_commands_nor_poses_as_the_final_line() {
        let written = render(&fixture::hostile(), false, LoggingLevel::Verbose);
        assert!(!written.chars().any(|c| c != '\n' && c.is_control()), "{written:?}");
        for line in written.lines() {
            assert!(!line.trim_start().starts_with("::"), "{line}");
            assert!(!line.contains("##["), "{line}");
        }
        assert_eq!(written.lines().filter(|line| line.starts_with("pass")).count(), 0, "{written}");
        assert!(written.lines().last().unwrap().starts_with("fail  "), "{written}");
    }

    #[test]
    fn a_writer_that_breaks_is_told_of_once_and_a_closed_one_never() {
        let style = Style { color: false, width: 80, ascii: false, level: LoggingLevel::Standard };
        for (kind, expected) in [(io::ErrorKind::StorageFull, 1), (io::ErrorKind::BrokenPipe, 0)] {
            let mut sink = Plain::new(fixture::Broken(kind), style);
            let envelopes = fixture::envelopes(&fixture::run());
            assert_eq!(envelopes.iter().filter(|envelope| sink.emit(envelope).is_err()).count(), expected);
        }
    }
}
