//! Owns the arguments of `tepa schema`.

use clap::{Args, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  tepa schema prompt > prompt.schema.json
  tepa schema event | jq '.oneOf[].properties.type.const'

For hover texts and completion in an editor, the first line of a file names its schema:
  # yaml-language-server: $schema=prompt.schema.json

Exit codes: 0 printed, 2 no such form, 4 the output cannot be written";

#[derive(Debug, Args)]
pub(in crate::cli) struct SchemaArguments {
    /// The form
    #[arg(value_name = "FORM")]
    pub(in crate::cli) form: SchemaArgument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SchemaArgument {
    /// A task, as `tepa run` takes it
    Prompt,
    /// A configuration file, such as tepa.yaml
    Config,
    /// What a run came to: --output json, --result FILE
    Result,
    /// A line of --output jsonl and of a journal
    Event,
    /// Scripted replies, for --replay
    Replay,
}
