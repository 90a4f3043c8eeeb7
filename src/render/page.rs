//! Owns how a message stands on a page as wide as the terminal: measures at the right edge, what belongs to a head under it.
//!
//! Lists are cut, sentences are wrapped; nothing is wider than the page.

use console::measure_text_width;

use super::clean::shield;
use super::ink::{Text, Tone};
use super::layout::{cut, spread, wrap};
use super::message::{Detail, Message};

/// What messages are written on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// Columns.
    pub(super) width: usize,
    /// Whether colours are wanted.
    pub(super) color: bool,
}

impl Page {
    /// Returns the lines of the messages.
    pub(super) fn lines(self, messages: &[Message]) -> Vec<String> {
        messages.iter().flat_map(|message| self.message(message)).collect()
    }

    /// Returns the lines of one message.
    pub(super) fn message(self, message: &Message) -> Vec<String> {
        let indent = if message.place.cycle > 0 { 2 } else { 0 };
        let under = " ".repeat(indent + 4);
        let room = self.width.saturating_sub(under.len());
        let prose = |tone: Tone, line: &str| -> Vec<String> {
            let parts = wrap(&shield(line), room).into_iter();
            // A break may bring to the front what was harmless further back.
            parts
                .map(|part| format!("{under}{}", tone.paint(&cut(&shield(&part), room), self.color)))
                .collect()
        };

        let head = shield(&opening(message, indent).paint(self.color)).into_owned();
        let measures = Tone::Faint.paint(&message.measures.join(" · "), self.color);
        let free = self.width.saturating_sub(measure_text_width(&head));
        let taken = measure_text_width(&measures);
        let reserved = if taken > 0 { taken + 2 } else { 0 };
        let tail = &message.tail;

        let mut lines = Vec::new();
        match tail.lines.as_slice() {
            [short]
                if measure_text_width(tail.joint) + measure_text_width(&shield(short)) + reserved <= free =>
            {
                let head = format!("{head}{}{}", tail.joint, tail.tone.paint(&shield(short), self.color));
                lines.push(spread(&head, &measures, self.width));
            }
            below => {
                let head = if below.is_empty() { head } else { format!("{head}{}", tail.joint.trim_end()) };
                if reserved <= free {
                    lines.push(spread(&head, &measures, self.width));
                } else {
                    lines.push(cut(&head, self.width));
                    if taken > 0 {
                        lines.push(cut(&format!("{under}{measures}"), self.width));
                    }
                }
                lines.extend(below.iter().flat_map(|line| prose(tail.tone, line)));
            }
        }
        for detail in &message.details {
            match detail {
                Detail::Prose(tone, line) => lines.extend(prose(*tone, line)),
                Detail::Row(row) => {
                    lines.push(format!("{under}{}", cut(&shield(&row.paint(self.color)), room)));
                }
            }
        }
        lines
    }
}

/// Returns where and how, then what.
fn opening(message: &Message, indent: usize) -> Text {
    let mut text = Text::of(Tone::Plain, " ".repeat(indent));
    if let Some(mark) = message.mark {
        let (tone, sign) = mark.sign();
        text = text.add(tone, sign).add(Tone::Plain, " ");
    }
    if let Some(step) = &message.place.step {
        text = text.add(Tone::Name, step).add(Tone::Plain, " ");
    }
    if let Some(tool) = &message.place.tool {
        text = text.add(Tone::Faint, format!("({tool}) "));
    }
    text.join(message.head.clone())
}
