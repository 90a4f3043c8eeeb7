//! Owns the arguments of `tepa doctor`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::LayerArguments;
use super::values::{ToolOutputArgument, providers};
use crate::config::ProviderKind;

#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArguments {
    /// Ask every provider whose key is set for its models, to see whether it answers and takes the key
    #[arg(long)]
    pub(in crate::cli) online: bool,
    /// What standard output carries: text for people, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: ToolOutputArgument,
    #[command(flatten)]
    pub(in crate::cli) layers: LayerArguments,
    /// Who would answer model calls
    #[arg(long, value_name = "PROVIDER", env = "TEPA_PROVIDER", value_parser = providers())]
    pub(in crate::cli) provider: Option<ProviderKind>,
    /// Where the provider would be reached instead of at its own address
    #[arg(long, value_name = "URL", env = "TEPA_BASE_URL", hide_env_values = true)]
    pub(in crate::cli) base_url: Option<String>,
    /// The model of every role
    #[arg(long, value_name = "MODEL", env = "TEPA_MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) model: Option<String>,
}
