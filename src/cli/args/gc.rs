//! Owns the arguments of `tepa runs gc`: what goes, and what stays although it is old.

use clap::Args;

use super::ToolOutputArgument;
use crate::config::DurationText;

#[derive(Debug, Args)]
pub(in crate::cli) struct GcArguments {
    /// How many stay: the newest ones
    #[arg(long, value_name = "N")]
    pub(in crate::cli) keep: Option<usize>,
    /// Only those that began longer ago than this, such as 30d or 12h
    #[arg(long, value_name = "DURATION", value_parser = DurationText::parse)]
    pub(in crate::cli) older_than: Option<DurationText>,
    /// Those as well that `tepa runs resume` could go on with: lost, interrupted, terminated by a limit, without a verdict
    #[arg(long)]
    pub(in crate::cli) resumable: bool,
    /// Say what would go, and remove nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// What standard output carries: a summary for people, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: ToolOutputArgument,
}
