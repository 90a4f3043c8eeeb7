//! Owns coloured text: pieces with a tone each, painted only when the caller wants colours.
//!
//! A piece is cleaned when it is added, so no text can carry a control character of its own.

use console::Style;

use super::clean;

/// What a piece of text is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Text to read.
    Plain,
    /// The one thing to see.
    Strong,
    /// There for those who look for it.
    Faint,
    /// The name of something.
    Name,
    /// Under way.
    Busy,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Worth a look.
    Caution,
    /// The run passes.
    Won,
    /// The run does not pass.
    Lost,
}

impl Tone {
    /// Returns the text in this tone.
    pub(super) fn paint(self, text: &str, color: bool) -> String {
        let style = match self {
            _ if text.is_empty() => return String::new(),
            Self::Plain => return text.to_owned(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dim(),
            Self::Name | Self::Busy => Style::new().cyan(),
            Self::Good => Style::new().green(),
            Self::Bad => Style::new().red(),
            Self::Caution => Style::new().yellow(),
            Self::Won => Style::new().green().bold(),
            Self::Lost => Style::new().red().bold(),
        };
        style.apply_to(text).force_styling(color).to_string()
    }
}

/// One line of text in several tones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text(Vec<(Tone, String)>);

impl Text {
    /// Returns a text with one piece.
    pub(super) fn of(tone: Tone, text: impl AsRef<str>) -> Self {
        Self::default().add(tone, text)
    }

    /// Returns the text with a piece more.
    #[must_use]
    pub(super) fn add(mut self, tone: Tone, text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        // Spaces at the ends separate pieces; cleaning would take them.
        let start = &text[..text.len() - text.trim_start_matches(' ').len()];
        let end = if start.len() == text.len() { "" } else { &text[text.trim_end_matches(' ').len()..] };
        self.0.push((tone, format!("{start}{}{end}", clean::line(text.trim_matches(' ')))));
        self
    }

    /// Returns the text with all pieces of `other` after it.
    #[must_use]
    pub(super) fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns the text with its colours, or without.
    pub(super) fn paint(&self, color: bool) -> String {
        self.0.iter().map(|(tone, text)| tone.paint(text, color)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_from_the_caller_alone() {
        let text = Text::of(Tone::Good, "✓ ").add(Tone::Plain, "done");
        assert_eq!(text.paint(false), "✓ done");
        assert_eq!(text.paint(true), "\u{1b}[32m✓ \u{1b}[0mdone");
    }

    #[test]
    fn a_piece_brings_no_colour_of_its_own() {
        assert_eq!(Text::of(Tone::Plain, " \u{1b}[31mred\u{1b}[0m ").paint(false), " red ");
        assert_eq!(Text::of(Tone::Plain, "  ").paint(false), "  ");
    }
}
