//! Owns the command line as it is typed: names, help, and nothing that is resolved.

mod config;
mod doctor;
mod gc;
mod help;
mod init;
mod layers;
mod replay;
mod resume;
mod schema;
mod settings;
mod validate;
mod values;
mod variables;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};

use crate::report;
use crate::report::graph::Drawing;

pub(super) use self::config::ConfigArguments;
pub(super) use self::doctor::DoctorArguments;
pub(super) use self::gc::GcArguments;
pub(super) use self::init::InitArguments;
pub(super) use self::layers::{LayerArguments, Voices};
pub(super) use self::replay::ReplayArguments;
pub(super) use self::resume::ResumeArguments;
pub(super) use self::schema::{SchemaArgument, SchemaArguments};
pub(super) use self::settings::{EndingArguments, SettingArguments, TellingArguments, WorkArguments};
pub(super) use self::validate::{FaultOutputArgument, KindArgument, ValidateArguments};
pub(super) use self::values::{
    ColorArgument, LoggingLevelArgument, Named, OutputArgument, PlanFormat, Rules, ToolOutputArgument,
};
use self::values::{boolean, named};
pub(super) use self::variables::{Assignment, Source, VariableArguments};

/// The exit codes, shown by `tepa run --help` and compared with the README by a test.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    pass: the verdict is pass; a failed check or criterion yields only to you and your hooks
  1    fail: found wanting, nothing to verify, no plan, a protected file changed, or stopped
  2    invalid: command line, prompt, config or key; nothing ran
  3    terminated: a budget (tokens, cost, time, tool calls) ran out, or a stage refused
  4    no verdict: provider, MCP server, sandbox, check, stage or record broke, or a bug in tepa
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
  tepa tools call file_read --params '{\"path\": \"a.txt\"}'

Exit codes: 0 done, 1 the tool that was called failed, 2 invalid, 4 a server did not start, 130 SIGINT, 143 SIGTERM";

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
  tepa runs list                                    a table of all of them
  tepa runs show latest                             how the newest one ended, and what happened in it
  tepa runs replay latest --speed 10                the same as if it happened now, ten times as fast
  tepa runs report latest --format markdown         its report
  tepa runs report 0198f3 --format html -o run.html a run by the beginning of its id
  tepa runs plan latest --format svg -o plan.svg    its last plan as a picture
  tepa runs evaluate latest                         its verdict on the files as they are now
  tepa runs gc --keep 20                            without the records of older ones

Exit codes: 0 done, 2 no such run, or its record cannot be used, 4 the output cannot be written; evaluate has those of a run";

const MEMORY_EXAMPLES: &str = "\
Examples:
  tepa memory list --session class-5b               what runs of a session are given
  tepa memory show 0198f3c2-7c1e-7000-8000-000000000000
  tepa memory forget --session class-5b             everything that runs of the session left: goals, results, memories

Exit codes: 0 done, 2 no such store, memory or session, 4 the store or the output cannot be used";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Runs a task from a file through Plan, Execute, Evaluate; the exit code is the verdict.
#[derive(Debug, Parser)]
#[command(name = "tepa", version, styles = STYLES, propagate_version = true, arg_required_else_help = true, after_help = help::TEPA)]
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
    /// Which of all this was said by variables.
    #[arg(skip)]
    pub(super) variables: Voices,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write a first task, a configuration and a CI workflow
    #[command(after_help = help::INIT)]
    Init(InitArguments),
    /// Run a task
    #[command(after_help = EXIT_CODES, after_long_help = format!("{EXIT_CODES}\n\n{RUN_EXAMPLES}"))]
    Run(Box<RunArguments>),
    /// Make the plan of a task without executing it, with what it will cost
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArguments>),
    /// Check prompt and config files without calling a provider
    #[command(after_help = help::VALIDATE)]
    Validate(ValidateArguments),
    /// Show the tools that a run has, and call one by hand
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools(ToolsArguments),
    /// Make something of runs that are recorded under .tepa/runs
    #[command(after_help = RUNS_EXAMPLES)]
    Runs(RunsArguments),
    /// Show or remove what runs left for later runs
    #[command(after_help = MEMORY_EXAMPLES)]
    Memory(MemoryArguments),
    /// Show the configuration, each value with who said it
    #[command(after_help = config::EXAMPLES)]
    Config(Box<ConfigArguments>),
    /// Print the JSON Schema of what tepa reads or writes
    #[command(after_help = schema::EXAMPLES)]
    Schema(SchemaArguments),
    /// Say what works here and what does not: configuration, keys, sandbox, folder, programs
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArguments),
    /// Print a completion script
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages, one for each command
    #[command(after_help = help::MAN)]
    Man {
        /// The folder for them; it is made where there is none
        #[arg(value_name = "DIR")]
        folder: PathBuf,
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
    #[arg(long, env = "TEPA_APPROVE", value_parser = boolean(), help_heading = "Control")]
    pub(super) approve: bool,
    /// Ask at the terminal what to do about a fail: retry, accept, stop; where there is none, the run stops
    #[arg(long, env = "TEPA_ASK_ON_FAIL", value_parser = boolean(), help_heading = "Control")]
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

#[derive(Debug, Args)]
pub(super) struct ToolsArguments {
    #[command(flatten)]
    pub(super) layers: LayerArguments,
    /// What standard output carries: text for people, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub(super) output: ToolOutputArgument,
    #[command(subcommand)]
    pub(super) command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ToolsCommand {
    /// List the tools that a run has here: built-in ones, commands, those of MCP servers
    #[command(after_help = help::TOOLS_LIST)]
    List,
    /// Show one tool with its parameters
    #[command(after_help = help::TOOLS_SHOW)]
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
    /// List recorded runs, the newest first
    #[command(after_help = help::RUNS_LIST)]
    List {
        /// Only those of this session
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        /// The form of the list
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        output: ToolOutputArgument,
    },
    /// Show a run: how it ended, and what happened in its cycles
    #[command(after_help = help::RUNS_SHOW)]
    Show {
        /// A run: its id, the beginning of its id, or `latest`
        run: String,
        /// Text for people, or the run's result object
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        output: ToolOutputArgument,
    },
    /// Show a run again as it was shown when it happened; executes nothing
    #[command(after_help = help::RUNS_REPLAY)]
    Replay(ReplayArguments),
    /// Write the report of a run, as `tepa run --report` does
    #[command(after_help = help::RUNS_REPORT)]
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
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", help::RUNS_EVALUATE))]
    Evaluate(Box<EvaluateArguments>),
    /// Go on with a run that broke off or was ended by a limit: what is done is not done again
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", help::RUNS_RESUME))]
    Resume(Box<ResumeArguments>),
    /// Draw the last plan of a run
    #[command(after_help = help::RUNS_PLAN)]
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
    /// Remove records of runs that ended, all that is in their folders; what is under way or could be resumed stays
    #[command(after_help = help::RUNS_GC)]
    Gc(GcArguments),
}

#[derive(Debug, Args)]
pub(super) struct MemoryArguments {
    /// The store, if it is not that of this folder
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) store: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum MemoryCommand {
    /// List memories, the newest first: id, session, importance x confidence, date, first words
    #[command(after_help = help::MEMORY_LIST)]
    List {
        /// Only those of this session
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        /// What standard output carries: text for people, or JSON
        #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
        output: ToolOutputArgument,
    },
    /// Show one memory whole
    #[command(after_help = help::MEMORY_SHOW)]
    Show {
        /// The id of a memory
        id: String,
    },
    /// Remove memories, or all that runs of a session left, so that the text is not in the file any more
    #[command(after_help = help::MEMORY_FORGET)]
    Forget {
        /// Ids of memories
        #[arg(value_name = "ID", required_unless_present = "session", conflicts_with = "session")]
        ids: Vec<String>,
        /// Everything of this session
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
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
