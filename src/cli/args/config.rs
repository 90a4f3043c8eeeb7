//! Owns the arguments of `tepa config`.

use clap::Args;

use super::{SettingArguments, ToolOutputArgument, WorkArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  tepa config                                       what is set, and by whom
  tepa config --all --config ci.yaml                the defaults as well
  tepa config --max-tokens 90000 --output json      what a run with these flags would use
  tepa config --files                               where configuration is looked for

Exit codes: 0 shown, 2 invalid, 4 the output cannot be written";

#[derive(Debug, Args)]
pub(in crate::cli) struct ConfigArguments {
    /// Show defaults as well
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Show which files are looked for, and which are there
    #[arg(long, conflicts_with = "all")]
    pub(in crate::cli) files: bool,
    /// What standard output carries: text for people, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: ToolOutputArgument,
    #[command(flatten)]
    pub(in crate::cli) settings: SettingArguments,
    #[command(flatten)]
    pub(in crate::cli) work: WorkArguments,
}
