//! Owns what is left of a run for those who did not watch it: reports for CI systems and people.
//!
//! A report is a fold over the events of a run and cannot affect it. It shows what was judged and what was found, and
//! never the words of a model, a tool or a file as anything but text.

mod case;
mod clean;
mod file;
mod fold;
pub mod github;
pub mod graph;
mod html;
mod junit;
mod markdown;
mod quote;
mod record;
mod words;

pub use file::{Format, ReportFile};
pub use fold::{Cycle, Decided, Report, Span, StepRecord, ToolCall};
pub use words::{cost, measures};
