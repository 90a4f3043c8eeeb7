//! Owns the flags that several commands share.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::LayerArguments;
use super::values::{OutputArgument, ReportArgument, Rules, SandboxArgument, boolean, dollars, providers};
use super::variables::VariableArguments;
use crate::config::{DurationText, ProviderKind, session_key};

/// What is said of a run, of planning one, and of judging one.
#[derive(Debug, Args)]
pub(in crate::cli) struct SettingArguments {
    /// Who answers model calls
    #[arg(long, value_name = "PROVIDER", env = "TEPA_PROVIDER", help_heading = "Provider", value_parser = providers())]
    pub(in crate::cli) provider: Option<ProviderKind>,
    /// Reach the provider here instead of at its own address
    #[arg(
        long,
        value_name = "URL",
        env = "TEPA_BASE_URL",
        hide_env_values = true,
        help_heading = "Provider"
    )]
    pub(in crate::cli) base_url: Option<String>,
    /// The model of every role
    #[arg(long, value_name = "MODEL", env = "TEPA_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) model: Option<String>,
    /// The evaluator's model
    #[arg(long, value_name = "MODEL", env = "TEPA_EVALUATOR_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) evaluator_model: Option<String>,
    /// Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]
    #[arg(long, value_name = "FILE", env = "TEPA_REPLAY", help_heading = "Provider")]
    pub(in crate::cli) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) layers: LayerArguments,
    /// Take unknown keys in files as warnings
    #[arg(long, help_heading = "Configuration")]
    pub(in crate::cli) allow_unknown: bool,
    /// Fail a task that has nothing to verify: no path, no check, no criterion
    #[arg(long, env = "TEPA_STRICT", value_parser = boolean(), help_heading = "Configuration")]
    pub(in crate::cli) strict: bool,
    /// What commands and file tools may touch
    #[arg(long, value_enum, value_name = "MODE", env = "TEPA_SANDBOX", help_heading = "Configuration")]
    pub(in crate::cli) sandbox: Option<SandboxArgument>,
    /// Tokens over all model calls before the run is terminated
    #[arg(long, value_name = "N", env = "TEPA_MAX_TOKENS", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// US dollars over all model calls before the run is terminated
    #[arg(long, value_name = "USD", env = "TEPA_MAX_COST", help_heading = "Limits", value_parser = dollars)]
    pub(in crate::cli) max_cost: Option<f64>,
    /// Wall clock of the whole run, such as 90s or 1h 30m
    #[arg(long, value_name = "DURATION", env = "TEPA_TIMEOUT", help_heading = "Limits",
          value_parser = DurationText::parse)]
    pub(in crate::cli) timeout: Option<DurationText>,
}

/// What is said of work that is yet to be done.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkArguments {
    #[command(flatten)]
    pub(in crate::cli) variables: VariableArguments,
    /// The planner's model
    #[arg(long, value_name = "MODEL", env = "TEPA_PLANNER_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) planner_model: Option<String>,
    /// The executor's model
    #[arg(long, value_name = "MODEL", env = "TEPA_EXECUTOR_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) executor_model: Option<String>,
    /// The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`
    #[arg(long, value_name = "RULES", env = "TEPA_TOOLS", help_heading = "Configuration", value_parser = Rules::parse)]
    pub(in crate::cli) tools: Vec<Rules>,
    /// Leave a tool out, or deny the calls that match a rule (again for more)
    #[arg(long, value_name = "RULES", help_heading = "Configuration", value_parser = Rules::parse)]
    pub(in crate::cli) deny_tool: Vec<Rules>,
    /// Cycles before the run fails
    #[arg(long, value_name = "N", env = "TEPA_MAX_CYCLES", help_heading = "Limits",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) max_cycles: Option<u32>,
    /// Calls of tools before the run is terminated
    #[arg(long, value_name = "N", env = "TEPA_MAX_TOOL_CALLS", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tool_calls: Option<u64>,
    /// Milliseconds per tool call
    #[arg(long, value_name = "MS", env = "TEPA_TOOL_TIMEOUT", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) tool_timeout: Option<u64>,
    /// Share history and memory with the runs that have the same key
    #[arg(long, value_name = "KEY", env = "TEPA_SESSION", help_heading = "Session", value_parser = session_key)]
    pub(in crate::cli) session: Option<String>,
    /// Share neither with any run, whatever the configuration says
    #[arg(long, conflicts_with = "session", help_heading = "Session")]
    pub(in crate::cli) no_session: bool,
}

/// What is left when a verdict is there.
#[derive(Debug, Args)]
pub(in crate::cli) struct EndingArguments {
    /// Write every reply of the provider to this file, for `--replay`
    #[arg(long, value_name = "FILE", env = "TEPA_RECORD", help_heading = "Provider")]
    pub(in crate::cli) record: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) told: TellingArguments,
    /// Do not record the run under .tepa/runs
    #[arg(long, help_heading = "Output")]
    pub(in crate::cli) no_journal: bool,
}

/// How the end of a run is told to programs.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct TellingArguments {
    /// What standard output carries: the feedback, one result object, or one event a line
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        env = "TEPA_OUTPUT",
        help_heading = "Output"
    )]
    pub(in crate::cli) output: OutputArgument,
    /// Write the result to this file as well
    #[arg(long, value_name = "FILE", env = "TEPA_RESULT", help_heading = "Output")]
    pub(in crate::cli) result: Option<PathBuf>,
    /// Write a report to this file, such as junit=report.xml (again for more, or with commas in between)
    #[arg(long, value_name = "FORMAT=FILE", env = "TEPA_REPORT", value_delimiter = ',', help_heading = "Output",
          value_parser = ReportArgument::parse)]
    pub(in crate::cli) report: Vec<ReportArgument>,
}
