//! Owns the command line as it is typed: names, help, and nothing that is resolved.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{FalseyValueParser, NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{DurationText, LoggingLevel, ProviderKind, SandboxMode};
use crate::report;
use crate::report::graph::Drawing;
use crate::text;
use crate::tool::permission::{self, Rule, RuleError};

/// The exit codes, shown by `tepa run --help` and compared with the README by a test.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    pass: the verdict is pass; a failed check or criterion yields only to you and your hooks
  1    fail: judged and found wanting, nothing to verify, no plan, or stopped by a hook or by you
  2    invalid: command line, prompt, config or key; nothing ran
  3    terminated: a budget (tokens, cost, time, tool calls) ran out
  4    no verdict: provider, MCP server, sandbox, check or journal broke, or a bug in tepa
  130  SIGINT; 143 SIGTERM: children killed, result written";

const RUN_EXAMPLES: &str = "\
Examples:
  tepa run prompts/task.yaml                        run with the configured provider
  tepa run prompts/task.yaml --provider replay      run offline, on prompts/task.replay.yaml
  tepa run task.yaml --output json -q > result.json one result object on standard output
  tepa run task.yaml --record replies.yaml          keep the model's replies, to run offline later";

const PLAN_EXAMPLES: &str = "\
Examples:
  tepa plan task.yaml                               the plan, and what it will cost at least and at most
  tepa plan task.yaml -o plan.json                  save it; the same flags, then: tepa run task.yaml --plan plan.json
  tepa plan task.yaml --format svg -o plan.svg      as a picture

Exit codes: 0 planned, 1 no plan, 2 invalid, 3 a budget ran out, 4 the provider or the output broke, 130 SIGINT, 143 SIGTERM";

const TOOLS_EXAMPLES: &str = "\
Examples:
  tepa tools list                                   every tool, with where it comes from
  tepa tools list --config ci.yaml --output json    the same for programs, with schemas
  tepa tools show file_read                         one tool with its parameters
  tepa tools call file_read --params '{\"path\": \"a.txt\"}'";

const CALL_EXIT_CODES: &str = "\
Exit codes:
  0    the tool returned something
  1    the tool failed
  2    invalid: command line, config, tool or parameters; nothing was called
  4    a server did not start, or a bug in tepa
  130  SIGINT; 143 SIGTERM: children killed";

const CALL_EXAMPLES: &str = "\
Examples:
  tepa tools call directory_list --params '{\"path\": \".\"}'
  tepa tools call deploy_status --params @params.json --config ci.yaml
  echo '{\"message\": \"hi\"}' | tepa tools call everything__echo --params - --output json";

const RUNS_EXAMPLES: &str = "\
Examples:
  tepa runs report latest --format markdown         the report of the newest run
  tepa runs report 0198f3 --format html -o run.html a run by the beginning of its id
  tepa runs plan latest --format svg -o plan.svg    its last plan as a picture
  tepa runs evaluate latest                         its verdict on the files as they are now

Exit codes of report and plan: 0 done, 2 no such run, or its record cannot be used, 4 the output cannot be written";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Runs a task from a file through Plan, Execute, Evaluate; the exit code is the verdict.
#[derive(Debug, Parser)]
#[command(name = "tepa", version, styles = STYLES, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) global: GlobalArguments,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Args)]
pub(super) struct GlobalArguments {
    /// How much to show
    #[arg(long, global = true, value_enum, value_name = "LEVEL", env = "TEPA_LOG_LEVEL")]
    pub(super) log_level: Option<LoggingLevelArgument>,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto", env = "TEPA_COLOR")]
    pub(super) color: ColorArgument,
    /// Show nothing but errors
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Work in this folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a task
    #[command(after_help = EXIT_CODES, after_long_help = format!("{EXIT_CODES}\n\n{RUN_EXAMPLES}"))]
    Run(Box<RunArguments>),
    /// Make the plan of a task without executing it, with what it will cost
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArguments>),
    /// Check prompt and config files without calling a provider
    #[command(after_help = "Exit codes: 0 valid, 1 faults found, 2 usage or unreadable file")]
    Validate(ValidateArguments),
    /// Show the tools that a run has, and call one by hand
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArguments),
    /// Make something of runs that are recorded under .tepa/runs
    #[command(after_help = RUNS_EXAMPLES)]
    Runs(RunsArguments),
    /// Print a completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// The task: a .yaml, .yml or .json file, or - for YAML on standard input
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: PathBuf,
    #[command(flatten)]
    pub(super) settings: SettingArguments,
    #[command(flatten)]
    pub(super) work: WorkArguments,
    /// Execute this plan, made by `tepa plan`, and no other
    #[arg(long, value_name = "FILE", help_heading = "Control")]
    pub(super) plan: Option<PathBuf>,
    /// Let the planner go on when the plan of `--plan` did not pass
    #[arg(long, requires = "plan", help_heading = "Control")]
    pub(super) replan: bool,
    /// Show every plan before it is executed, and ask at the terminal; where there is none, the plan is refused
    #[arg(long, env = "TEPA_APPROVE", value_parser = FalseyValueParser::new(), help_heading = "Control")]
    pub(super) approve: bool,
    /// Ask at the terminal what to do about a fail: retry, accept, stop; where there is none, the run stops
    #[arg(long, env = "TEPA_ASK_ON_FAIL", value_parser = FalseyValueParser::new(), help_heading = "Control")]
    pub(super) ask_on_fail: bool,
    #[command(flatten)]
    pub(super) ending: EndingArguments,
}

#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    /// The task: a .yaml, .yml or .json file, or - for YAML on standard input
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: PathBuf,
    #[command(flatten)]
    pub(super) settings: SettingArguments,
    #[command(flatten)]
    pub(super) work: WorkArguments,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// The form of the plan; `json` is what `tepa run --plan` takes [default: text, with --output json]
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_parser = named(PlanFormat::ALL.map(|format| (format.name(), format))))]
    pub(super) format: Option<Named<PlanFormat>>,
}

/// The form in which a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanFormat {
    /// For people.
    Text,
    /// For `tepa run --plan`.
    Json,
    /// As a picture.
    Drawn(Drawing),
}

impl PlanFormat {
    const ALL: [Self; 5] = [
        Self::Text,
        Self::Json,
        Self::Drawn(Drawing::Mermaid),
        Self::Drawn(Drawing::Dot),
        Self::Drawn(Drawing::Svg),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Drawn(drawing) => drawing.name(),
        }
    }
}

/// What is said of a run, of planning one, and of judging one.
#[derive(Debug, Args)]
pub(super) struct SettingArguments {
    /// Who answers model calls
    #[arg(long, value_name = "PROVIDER", env = "TEPA_PROVIDER", help_heading = "Provider", value_parser = providers())]
    pub(super) provider: Option<ProviderKind>,
    /// Reach the provider here instead of at its own address
    #[arg(
        long,
        value_name = "URL",
        env = "TEPA_BASE_URL",
        hide_env_values = true,
        help_heading = "Provider"
    )]
    pub(super) base_url: Option<String>,
    /// The model of every role
    #[arg(long, value_name = "MODEL", env = "TEPA_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(super) model: Option<String>,
    /// The evaluator's model
    #[arg(long, value_name = "MODEL", env = "TEPA_EVALUATOR_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(super) evaluator_model: Option<String>,
    /// Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]
    #[arg(long, value_name = "FILE", env = "TEPA_REPLAY", help_heading = "Provider")]
    pub(super) replay: Option<PathBuf>,
    /// A configuration file, on top of the user's and the project's
    #[arg(long, value_name = "FILE", env = "TEPA_CONFIG", help_heading = "Configuration")]
    pub(super) config: Option<PathBuf>,
    /// Take unknown keys in files as warnings
    #[arg(long, help_heading = "Configuration")]
    pub(super) allow_unknown: bool,
    /// Fail a task that has nothing to verify: no path, no check, no criterion
    #[arg(long, env = "TEPA_STRICT", value_parser = FalseyValueParser::new(), help_heading = "Configuration")]
    pub(super) strict: bool,
    /// What commands and file tools may touch
    #[arg(long, value_enum, value_name = "MODE", env = "TEPA_SANDBOX", help_heading = "Configuration")]
    pub(super) sandbox: Option<SandboxArgument>,
    /// Tokens over all model calls before the run is terminated
    #[arg(long, value_name = "N", env = "TEPA_MAX_TOKENS", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_tokens: Option<u64>,
    /// US dollars over all model calls before the run is terminated
    #[arg(long, value_name = "USD", env = "TEPA_MAX_COST", help_heading = "Limits", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// Wall clock of the whole run, such as 90s or 1h 30m
    #[arg(long, value_name = "DURATION", env = "TEPA_TIMEOUT", help_heading = "Limits",
          value_parser = DurationText::parse)]
    pub(super) timeout: Option<DurationText>,
}

/// What is said of work that is yet to be done.
#[derive(Debug, Args)]
pub(super) struct WorkArguments {
    /// The planner's model
    #[arg(long, value_name = "MODEL", env = "TEPA_PLANNER_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(super) planner_model: Option<String>,
    /// The executor's model
    #[arg(long, value_name = "MODEL", env = "TEPA_EXECUTOR_MODEL", help_heading = "Provider", value_parser = NonEmptyStringValueParser::new())]
    pub(super) executor_model: Option<String>,
    /// The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`
    #[arg(long, value_name = "RULES", env = "TEPA_TOOLS", help_heading = "Configuration", value_parser = Rules::parse)]
    pub(super) tools: Vec<Rules>,
    /// Leave a tool out, or deny the calls that match a rule (again for more)
    #[arg(long, value_name = "RULES", help_heading = "Configuration", value_parser = Rules::parse)]
    pub(super) deny_tool: Vec<Rules>,
    /// Cycles before the run fails
    #[arg(long, value_name = "N", env = "TEPA_MAX_CYCLES", help_heading = "Limits",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_cycles: Option<u32>,
    /// Calls of tools before the run is terminated
    #[arg(long, value_name = "N", env = "TEPA_MAX_TOOL_CALLS", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_tool_calls: Option<u64>,
    /// Milliseconds per tool call
    #[arg(long, value_name = "MS", env = "TEPA_TOOL_TIMEOUT", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) tool_timeout: Option<u64>,
}

/// What is left when a verdict is there.
#[derive(Debug, Args)]
pub(super) struct EndingArguments {
    /// Write every reply of the provider to this file, for `--replay`
    #[arg(long, value_name = "FILE", env = "TEPA_RECORD", help_heading = "Provider")]
    pub(super) record: Option<PathBuf>,
    /// What standard output carries: the feedback, one result object, or one event a line
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        env = "TEPA_OUTPUT",
        help_heading = "Output"
    )]
    pub(super) output: OutputArgument,
    /// Write the result to this file as well
    #[arg(long, value_name = "FILE", env = "TEPA_RESULT", help_heading = "Output")]
    pub(super) result: Option<PathBuf>,
    /// Write a report to this file, such as junit=report.xml (again for more, or with commas in between)
    #[arg(long, value_name = "FORMAT=FILE", env = "TEPA_REPORT", value_delimiter = ',', help_heading = "Output",
          value_parser = ReportArgument::parse)]
    pub(super) report: Vec<ReportArgument>,
    /// Do not record the run under .tepa/runs
    #[arg(long, help_heading = "Output")]
    pub(super) no_journal: bool,
}

#[derive(Debug, Args)]
pub(super) struct ValidateArguments {
    /// Prompt and config files
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Take unknown keys as warnings
    #[arg(long)]
    pub(super) allow_unknown: bool,
}

#[derive(Debug, Args)]
pub(super) struct ToolsArguments {
    /// A configuration file, on top of the user's and the project's
    #[arg(long, value_name = "FILE", env = "TEPA_CONFIG", global = true)]
    pub(super) config: Option<PathBuf>,
    /// What standard output carries: text for people, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(super) output: ToolOutputArgument,
    #[command(subcommand)]
    pub(super) command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ToolsCommand {
    /// List the tools that a run has here: built-in ones, commands, those of MCP servers
    List,
    /// Show one tool with its parameters
    Show {
        /// The tool
        name: String,
    },
    /// Call one tool in this folder and print what it returns
    #[command(after_help = CALL_EXIT_CODES, after_long_help = format!("{CALL_EXIT_CODES}\n\n{CALL_EXAMPLES}"))]
    Call(CallArguments),
}

#[derive(Debug, Args)]
pub(super) struct RunsArguments {
    #[command(subcommand)]
    pub(super) command: RunsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum RunsCommand {
    /// Write the report of a run, as `tepa run --report` does
    Report {
        /// A run: its id, the beginning of its id, or `latest`
        run: String,
        /// The form of the report
        #[arg(long, value_name = "FORMAT", default_value = "markdown", value_parser = named(report::Format::ALL.map(|format| (format.name(), format))))]
        format: Named<report::Format>,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step
    #[command(after_help = EXIT_CODES)]
    Evaluate(Box<EvaluateArguments>),
    /// Draw the last plan of a run
    Plan {
        /// A run: its id, the beginning of its id, or `latest`
        run: String,
        /// The form of the drawing
        #[arg(long, value_name = "FORMAT", default_value = "mermaid", value_parser = named(Drawing::ALL.map(|drawing| (drawing.name(), drawing))))]
        format: Named<Drawing>,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(super) struct EvaluateArguments {
    /// A run: its id, the beginning of its id, or `latest`
    pub(super) run: String,
    #[command(flatten)]
    pub(super) settings: SettingArguments,
    #[command(flatten)]
    pub(super) ending: EndingArguments,
}

#[derive(Debug, Args)]
pub(super) struct CallArguments {
    /// The tool
    pub(super) name: String,
    /// Its parameters as one JSON object, or @FILE, or - for standard input
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub(super) params: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ToolOutputArgument {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LoggingLevelArgument {
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
pub(super) enum SandboxArgument {
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
pub(super) enum ColorArgument {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputArgument {
    /// The final feedback
    Text,
    /// One result object
    Json,
    /// One event a line
    Jsonl,
}

/// Rules for tools, as they stand in one argument with commas in between.
#[derive(Debug, Clone)]
pub(super) struct Rules(pub(super) Vec<String>);

impl Rules {
    fn parse(text: &str) -> Result<Self, RuleError> {
        let rules = permission::split(text).into_iter();
        rules.map(|rule| Rule::parse(rule).map(|rule| rule.to_string())).collect::<Result<_, _>>().map(Self)
    }
}

/// A report and the file for it.
#[derive(Debug, Clone)]
pub(super) struct ReportArgument {
    pub(super) format: report::Format,
    pub(super) path: PathBuf,
}

impl ReportArgument {
    fn parse(text: &str) -> Result<Self, String> {
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
pub(super) struct Named<T>(pub(super) T);

/// Returns a parser that takes one of the names.
fn named<const N: usize, T: Copy + Send + Sync + 'static>(
    names: [(&'static str, T); N],
) -> impl TypedValueParser<Value = Named<T>> {
    PossibleValuesParser::new(names.map(|(name, _)| name)).try_map(move |given| {
        names.iter().find(|(name, _)| *name == given).map(|(_, value)| Named(*value)).ok_or("unknown format")
    })
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| format!("`{text}` is not an amount of money"))?;
    if amount.is_finite() && amount > 0.0 { Ok(amount) } else { Err(format!("`{text}` is not above zero")) }
}

fn providers() -> impl TypedValueParser<Value = ProviderKind> {
    PossibleValuesParser::new(ProviderKind::ALL.map(ProviderKind::name)).try_map(|name| {
        ProviderKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or("unknown provider")
    })
}
