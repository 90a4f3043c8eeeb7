//! Owns the terminal: the one place that writes to standard output and standard error.
//!
//! Data goes to standard output, everything for a person to standard error. A reader that goes away ends the printing, not the command.

use std::io::{self, Write as _};

use console::Style;

use super::args::ColorArgument;
use crate::config::Environment;
use crate::error::{Error, Message};
use crate::render::{ascii, prose};
use crate::secret::Secrets;
use crate::source::Diagnostics;

/// The terminal.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
#[derive(Debug, Clone)]
pub(super) struct Ui {
    /// Whether standard error takes colour.
    pub(super) color: bool,
    /// Whether standard output takes colour.
    pub(super) data_color: bool,
    /// Whether standard output is a terminal.
    pub(super) data_terminal: bool,
    /// Whether the terminal knows no more than ASCII.
    pub(super) ascii: bool,
    /// Columns of standard output, where it is a terminal.
    pub(super) data_width: Option<usize>,
    /// Whether standard error can be drawn on.
    pub(super) live: bool,
    /// Whether only errors are shown.
    pub(super) quiet: bool,
    secrets: Secrets,
}

impl Ui {
    pub(super) fn new(environment: &Environment, color: ColorArgument, quiet: bool) -> Self {
        let dumb = environment.variable("TERM") == Some("dumb");
        let terminal = environment.stderr_is_terminal;
        let wanted = |terminal: bool| match color {
            ColorArgument::Always => true,
            ColorArgument::Never => false,
            ColorArgument::Auto if environment.variable("NO_COLOR").is_some() => false,
            ColorArgument::Auto
                if environment.variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") =>
            {
                true
            }
            ColorArgument::Auto => terminal && !dumb,
        };
        let (color, data_color) = (wanted(terminal), wanted(environment.stdout_is_terminal));
        let columns = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        let data_width = environment.stdout_is_terminal.then(|| columns.unwrap_or(80));
        let live = terminal && !dumb && environment.variable("CI").is_none();
        let data_terminal = environment.stdout_is_terminal;
        let ascii = !environment.speaks_utf8();
        let secrets = environment.secrets().clone();
        Self { color, data_color, data_terminal, ascii, data_width, live, quiet, secrets }
    }

    /// Returns the columns of standard error as they are now: a window may have become another.
    pub(super) fn width() -> u16 {
        console::Term::stderr().size_checked().map_or(100, |(_, columns)| columns)
    }

    /// Writes data. A reader that went away is no error, and neither is a terminal that was closed.
    pub(super) fn data(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let text = self.secrets.redact(text);
        // What goes into a file or another program is data, whatever a terminal can show.
        let text = if self.data_terminal && self.ascii { ascii(&text) } else { text.as_ref().into() };
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if self.data_terminal || e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            end => end,
        }
    }

    /// Writes for a person. There is nowhere to report a standard error that is gone.
    pub(super) fn say(&self, text: &str) {
        let text = self.secrets.redact(text);
        let text = if self.ascii { ascii(&text) } else { text.as_ref().into() };
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Writes what a person should know that ends nothing.
    pub(super) fn warn(&self, warnings: impl IntoIterator<Item: AsRef<str>>) {
        for warning in warnings.into_iter().filter(|_| !self.quiet) {
            self.say(&format!("warning: {}\n", prose(warning.as_ref())));
        }
    }

    /// Writes the faults of a file as rustc would.
    pub(super) fn faults(&self, diagnostics: &Diagnostics) {
        let width = usize::from(Self::width());
        self.say(&format!("{}\n\n", diagnostics.render(self.color, width).trim_end()));
    }

    /// Writes an error: what, why, what to do.
    pub(super) fn error(&self, error: &anyhow::Error) {
        match error.downcast_ref::<Error>() {
            Some(Error::Invalid(files)) => files.iter().for_each(|file| self.faults(file)),
            Some(Error::Usage(message) | Error::Broken(message) | Error::Late(message)) => {
                self.message(message);
            }
            None => self.message(&Message {
                text: error.to_string(),
                causes: error.chain().skip(1).map(ToString::to_string).collect(),
                hint: None,
            }),
        }
    }

    fn message(&self, message: &Message) {
        // What was typed may hold anything; none of it may draw on the terminal.
        let mut text =
            format!("{} {}\n", self.styled("error:", Style::new().red().bold()), prose(&message.text));
        for cause in &message.causes {
            text += &format!("  {}\n", prose(cause));
        }
        if let Some(hint) = &message.hint {
            text += &format!("{} {}\n", self.styled("hint:", Style::new().cyan().bold()), prose(hint));
        }
        self.say(&text);
    }

    pub(super) fn styled(&self, word: &str, style: Style) -> String {
        style.force_styling(self.color).apply_to(word).to_string()
    }
}
