//! Owns the flags of `tepa validate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::boolean;
use super::variables::VariableArguments;

#[derive(Debug, Args)]
pub(in crate::cli) struct ValidateArguments {
    /// Files, folders with everything below them, or globs such as 'prompts/**/*.yaml'
    #[arg(required = true, value_name = "PATH")]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Take every file for one of this kind instead of telling by what is in it
    #[arg(long, value_enum, value_name = "KIND")]
    pub(in crate::cli) kind: Option<KindArgument>,
    /// The form of the faults: text on standard error, or data on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: FaultOutputArgument,
    /// Take warnings as faults
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// Take unknown keys as warnings
    #[arg(long)]
    pub(in crate::cli) allow_unknown: bool,
    /// Hold the project's configuration to what is built in, and not to the user's
    #[arg(long, env = "TEPA_HERMETIC", value_parser = boolean(), help_heading = "Configuration")]
    pub(in crate::cli) hermetic: bool,
    #[command(flatten)]
    pub(in crate::cli) variables: VariableArguments,
}

/// What a file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum KindArgument {
    /// A task
    Prompt,
    /// A configuration
    Config,
    /// Replies for `--provider replay`
    Replay,
    /// A plan of `tepa plan`
    Plan,
}

impl KindArgument {
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Config => "config",
            Self::Replay => "replay",
            Self::Plan => "plan",
        }
    }
}

/// The form of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FaultOutputArgument {
    /// For people
    Text,
    /// One object with every file
    Json,
    /// Workflow commands, which GitHub Actions shows beside the lines
    Github,
    /// SARIF 2.1.0, which code scanners and editors read
    Sarif,
}
