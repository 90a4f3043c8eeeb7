//! Owns the arguments of `tepa init`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::values::providers;
use crate::config::ProviderKind;

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArguments {
    /// The folder to write to; it is made where there is none
    #[arg(value_name = "DIR", default_value = ".")]
    pub(in crate::cli) folder: PathBuf,
    /// What the task has to accomplish
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) goal: Option<String>,
    /// The file that is expected, relative to the folder
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) output_path: Option<String>,
    /// Who answers model calls [default: the first whose key is set, else anthropic]
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    pub(in crate::cli) provider: Option<ProviderKind>,
    /// The model of every role [default: those that the provider has otherwise]
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) model: Option<String>,
    /// Where the server of the provider `openai-compatible` is
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) base_url: Option<String>,
    /// Write no workflow for GitHub Actions
    #[arg(long)]
    pub(in crate::cli) no_workflow: bool,
    /// Ask nothing: what no flag says is as it is by default
    #[arg(short, long)]
    pub(in crate::cli) yes: bool,
}
