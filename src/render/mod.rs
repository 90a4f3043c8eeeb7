//! Owns what a person or a program sees of a run while it happens: plain lines, a live picture, JSON Lines.
//!
//! A renderer receives events and writes; it cannot affect a run. It asks neither the environment nor the terminal
//! what they can do: the caller knows and says so in a [`Style`].

mod charset;
mod ink;
mod jsonl;
mod layout;
mod live;
mod message;
mod page;
mod patience;
mod plain;
pub mod question;
mod record;
mod valve;
mod words;

#[cfg(test)]
mod fixture;

use crate::config::LoggingLevel;
use crate::text::clean;

pub use charset::ascii;
pub use clean::{cell, prose};
pub use jsonl::Jsonl;
pub use layout::wrap;
pub use live::Live;
pub use patience::Patient;
pub use plain::Plain;
pub use record::told;
pub use words::reason;

/// How a renderer for people writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are wanted.
    pub color: bool,
    /// Columns of the terminal. Plain lines are never cut, and the live picture looks for itself: they do not ask for it.
    pub width: u16,
    /// Whether the terminal knows no more than ASCII.
    pub ascii: bool,
    /// How much is shown.
    pub level: LoggingLevel,
}
