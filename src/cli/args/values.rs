//! Owns the values of flags: their names on the command line, and what they stand for.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};

use crate::config::{LoggingLevel, ProviderKind, SandboxMode};
use crate::report;
use crate::report::graph::Drawing;
use crate::text;
use crate::tool::permission::{self, Rule, RuleError};

/// The form in which a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum PlanFormat {
    /// For people.
    Text,
    /// For `tepa run --plan`.
    Json,
    /// As a picture.
    Drawn(Drawing),
}

impl PlanFormat {
    pub(in crate::cli) const ALL: [Self; 5] = [
        Self::Text,
        Self::Json,
        Self::Drawn(Drawing::Mermaid),
        Self::Drawn(Drawing::Dot),
        Self::Drawn(Drawing::Svg),
    ];

    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Drawn(drawing) => drawing.name(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ToolOutputArgument {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LoggingLevelArgument {
    /// The final line only
    Minimal,
    /// Plan, steps, verdict
    Standard,
    /// With durations, tokens, reasoning, arguments, retries
    Verbose,
}

impl From<LoggingLevelArgument> for LoggingLevel {
    fn from(argument: LoggingLevelArgument) -> Self {
        match argument {
            LoggingLevelArgument::Minimal => Self::Minimal,
            LoggingLevelArgument::Standard => Self::Standard,
            LoggingLevelArgument::Verbose => Self::Verbose,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SandboxArgument {
    /// Nothing is written
    ReadOnly,
    /// The folder that the run works in is written
    WorkspaceWrite,
    /// Commands are not confined
    Off,
}

impl From<SandboxArgument> for SandboxMode {
    fn from(argument: SandboxArgument) -> Self {
        match argument {
            SandboxArgument::ReadOnly => Self::ReadOnly,
            SandboxArgument::WorkspaceWrite => Self::WorkspaceWrite,
            SandboxArgument::Off => Self::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ColorArgument {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum OutputArgument {
    /// The final feedback
    Text,
    /// One result object
    Json,
    /// One event a line
    Jsonl,
}

/// Rules for tools, as they stand in one argument with commas in between.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Rules(pub(in crate::cli) Vec<String>);

impl Rules {
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let rules = permission::split(text).into_iter();
        rules.map(|rule| Rule::parse(rule).map(|rule| rule.to_string())).collect::<Result<_, _>>().map(Self)
    }
}

/// A report and the file for it.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ReportArgument {
    pub(in crate::cli) format: report::Format,
    pub(in crate::cli) path: PathBuf,
}

impl ReportArgument {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let names = report::Format::ALL.map(report::Format::name);
        let formats = text::ticked_or(names);
        match text.split_once('=') {
            None => Err(format!("it needs a format and a file: FORMAT=FILE, with {formats}")),
            Some((_, "")) => Err("it names no file".to_owned()),
            Some((name, path)) => report::Format::ALL
                .into_iter()
                .find(|format| format.name() == name)
                .map(|format| Self { format, path: path.into() })
                .ok_or_else(|| format!("`{name}` is no format of a report: it is {formats}")),
        }
    }
}

/// A value that has a name on the command line.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Named<T>(pub(in crate::cli) T);

/// Returns a parser that takes one of the names.
pub(super) fn named<const N: usize, T: Copy + Send + Sync + 'static>(
    names: [(&'static str, T); N],
) -> impl TypedValueParser<Value = Named<T>> {
    PossibleValuesParser::new(names.map(|(name, _)| name)).try_map(move |given| {
        names.iter().find(|(name, _)| *name == given).map(|(_, value)| Named(*value)).ok_or("unknown format")
    })
}

pub(super) fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| format!("`{text}` is not an amount of money"))?;
    if amount.is_finite() && amount > 0.0 { Ok(amount) } else { Err(format!("`{text}` is not above zero")) }
}

pub(super) fn providers() -> impl TypedValueParser<Value = ProviderKind> {
    PossibleValuesParser::new(ProviderKind::ALL.map(ProviderKind::name)).try_map(|name| {
        ProviderKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or("unknown provider")
    })
}

/// Returns a parser of what variables say of flags: `1`, `true`, `yes`, `on` and their opposites, and nothing else.
pub(super) fn boolean() -> impl TypedValueParser<Value = bool> {
    BoolishValueParser::new()
}
