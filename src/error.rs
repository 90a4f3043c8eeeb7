//! Owns the error that ends a command before or instead of a verdict.
//!
//! It refuses to carry verdicts: a run that was judged and found wanting is a [`crate::outcome::Settlement`], not an error.

use std::fmt;

use crate::source::Diagnostics;

/// What went wrong, by what it means for the caller.
#[derive(Debug)]
pub enum Error {
    /// A file that a person wrote has faults; nothing ran.
    Invalid(Vec<Diagnostics>),
    /// The command line, a file or the environment cannot be used; nothing ran.
    Usage(Message),
    /// The world or tepa itself broke; there is no verdict.
    Broken(Message),
    /// The time was used up before there was a run.
    Late(Message),
}

/// One sentence, the chain of its causes, and what to do about it.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// What went wrong, where.
    pub text: String,
    /// Why, outermost first.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Error {
    /// Returns an error of the kind that nothing ran for.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(Message { text: text.into(), ..Message::default() })
    }

    /// Returns an error of the kind that leaves a run without a verdict.
    pub fn broken(text: impl Into<String>) -> Self {
        Self::Broken(Message { text: text.into(), ..Message::default() })
    }

    /// Returns an error of the kind that a run had no time left for.
    pub fn late(text: impl Into<String>) -> Self {
        Self::Late(Message { text: text.into(), ..Message::default() })
    }

    /// Adds what to do about it; faults of a file carry their own hints.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Usage(message) | Self::Broken(message) | Self::Late(message) = &mut self {
            message.hint = Some(hint.into());
        }
        self
    }

    /// Adds the chain of causes below `cause`, outermost first.
    #[must_use]
    pub fn because(mut self, cause: &(dyn std::error::Error + 'static)) -> Self {
        if let Self::Usage(message) | Self::Broken(message) | Self::Late(message) = &mut self {
            let mut next = Some(cause);
            while let Some(error) = next {
                message.causes.push(error.to_string());
                next = error.source();
            }
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(files) => {
                let names: Vec<_> = files.iter().map(|faults| faults.file().name()).collect();
                write!(f, "{} cannot be used", crate::text::ticked(&names))
            }
            Self::Usage(message) | Self::Broken(message) | Self::Late(message) => f.write_str(&message.text),
        }
    }
}

impl std::error::Error for Error {}
