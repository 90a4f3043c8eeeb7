//! Owns the arguments of `tepa runs resume`: what may be said once more of a run that broke off.

use std::path::PathBuf;

use clap::Args;

use super::values::dollars;
use super::{LayerArguments, TellingArguments};
use crate::config::DurationText;

#[derive(Debug, Args)]
pub(in crate::cli) struct ResumeArguments {
    /// A run: its id, the beginning of its id, or `latest`
    pub(in crate::cli) run: String,
    /// The replies of a run that replays them [default: the file that it began with]
    #[arg(long, value_name = "FILE", help_heading = "Provider")]
    pub(in crate::cli) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) layers: LayerArguments,
    /// Cycles before the run fails, those that are over included
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) max_cycles: Option<u32>,
    /// Tokens over all model calls before the run is terminated, those that are used included
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// US dollars over all model calls before the run is terminated, those that are spent included
    #[arg(long, value_name = "USD", help_heading = "Limits", value_parser = dollars)]
    pub(in crate::cli) max_cost: Option<f64>,
    /// Calls of tools before the run is terminated, those that were made included
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tool_calls: Option<u64>,
    /// Wall clock of the whole run, such as 90s or 1h 30m, what it has taken included
    #[arg(long, value_name = "DURATION", help_heading = "Limits", value_parser = DurationText::parse)]
    pub(in crate::cli) timeout: Option<DurationText>,
    #[command(flatten)]
    pub(in crate::cli) told: TellingArguments,
}
