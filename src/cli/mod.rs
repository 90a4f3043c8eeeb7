//! Owns the commands: from arguments to a value, from an end to an exit code.
//!
//! Nothing below this floor prints, parses flags or knows an exit code's number beyond a settlement's own.

mod answer;
mod approval;
mod args;
mod completions;
mod config;
mod doctor;
mod editor;
mod evaluate;
mod gc;
mod init;
mod inspect;
mod keyboard;
mod layers;
mod load;
mod manual;
mod memory;
mod misspelt;
mod plan;
mod record;
mod replay;
mod resume;
mod run;
mod runs;
mod runtime;
mod said;
mod schema;
mod signals;
mod status;
mod table;
mod tool_call;
mod tools;
mod trust;
mod ui;
mod validate;
mod variables;
mod when;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

pub use self::args::{Arguments, EXIT_CODES};
use self::args::{ColorArgument, Command, ToolsCommand, Voices};
pub use self::status::ExitStatus;
use self::ui::Ui;
use crate::config::Environment;
use crate::error::Error;
#[cfg(unix)]
use crate::process::supervisor;
use crate::secret::Secrets;
use crate::text::clean;

/// Runs the command line `arguments`, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    let arguments = {
        // What whoever started tepa left open is a way around every rule for the commands of a run.
        close_fds::set_fds_cloexec(3, &[]);
        let mut arguments = arguments.into_iter().peekable();
        let program = arguments.next();
        // Before anything else: a supervisor is one thread and the sandbox that it builds.
        if arguments.next_if(|first| first == supervisor::ARGUMENT).is_some() {
            return supervisor::main(arguments).unwrap_or_else(|error| {
                use std::io::Write as _;
                // What has gone wrong before the command began stands in the place of its own errors.
                let _ = writeln!(std::io::stderr(), "{}{error}", supervisor::INSTEAD);
                ExitCode::from(supervisor::NOT_STARTED)
            });
        }
        program.into_iter().chain(arguments)
    };
    signals::outlive_limits();
    let (mut environment, lost) = match Environment::capture() {
        Ok(environment) => (environment, None),
        Err(e) => (Environment::of(PathBuf::from("/"), []), Some(e)),
    };
    replace_panic_message(environment.secrets().clone());
    // The link, not the path behind it: the binary may be replaced while a run goes on.
    environment.launcher = cfg!(target_os = "linux").then(|| PathBuf::from("/proc/self/exe"));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(status) = completions::answered(arguments.get(1..).unwrap_or_default(), &environment) {
        return status.into();
    }
    // What was typed comes back in clap's own words.
    let plain = !arguments.iter().any(|argument| argument.to_string_lossy().contains(clean::is_hidden))
        && !environment.beginning_with("TEPA_").values().any(|value| value.contains(clean::is_hidden))
        && environment.unreadable("TEPA_").is_empty();
    let arguments = match parse(arguments, &environment) {
        Ok(arguments) => arguments,
        Err(answer) => return answer_of_clap(&answer, plain, &environment).into(),
    };
    let ui = Ui::new(&environment, arguments.global.color, arguments.global.quiet);
    let ended = match lost {
        Some(e) => Err(Error::usage("cannot tell which folder this is").because(&e).into()),
        None => dispatch(arguments, environment, &ui),
    };
    match ended {
        Ok(status) => status.into(),
        Err(error) => {
            ui.error(&error);
            ExitStatus::of_error(&error).into()
        }
    }
}

/// Parses the command line; a variable that is set to nothing says nothing, and neither does one that a flag takes back.
fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Arguments, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let alone = arguments.iter().any(|argument| argument == "--no-session");
    let said = |argument: clap::Arg| {
        let blank = argument.get_env().is_some_and(|variable| environment.is_blank(variable));
        if blank || alone && argument.get_id() == "session" { argument.env(None::<&str>) } else { argument }
    };
    let matches = everywhere(Arguments::command(), &said).try_get_matches_from(arguments)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    arguments.global.variables = Voices::of(&matches);
    Ok(arguments)
}

/// Changes every argument of a command and of the commands below it.
fn everywhere(command: clap::Command, change: &impl Fn(clap::Arg) -> clap::Arg) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = command.mut_args(change);
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |below| everywhere(below, change)))
}

fn dispatch(arguments: Arguments, mut environment: Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    init_tracing(&environment, ui);
    let called_in = environment.directory.clone();
    if let Some(directory) = &arguments.global.directory {
        let wanted = environment.resolve(directory);
        if !wanted.is_dir() {
            return Err(Error::usage(format!("`{}` is not a folder to work in", directory.display())).into());
        }
        environment.directory = wanted;
    }
    if matches!(arguments.command, Command::Run(_) | Command::Plan(_) | Command::Config(_)) {
        misspelt::warn(&environment, ui);
    }
    match arguments.command {
        Command::Run(run) => run::run(&run, &arguments.global, &environment, ui),
        Command::Plan(plan) => plan::plan(&plan, &arguments.global, &environment, ui),
        Command::Validate(files) => validate::run(&files, &arguments.global, &called_in, &environment, ui),
        Command::Tools(arguments) => match &arguments.command {
            ToolsCommand::List => tools::list(&arguments, &environment, ui),
            ToolsCommand::Show { name } => tools::show(name, &arguments, &environment, ui),
            ToolsCommand::Call(call) => tool_call::call(call, &arguments, &environment, ui),
        },
        Command::Runs(runs) => runs::run(&runs, &arguments.global, &environment, ui),
        Command::Memory(memory) => memory::run(&memory, &environment, ui),
        Command::Config(show) => config::run(&show, &arguments.global, &environment, ui),
        Command::Schema(arguments) => schema::run(arguments.form, ui),
        Command::Init(arguments) => init::run(&arguments, &environment, ui),
        Command::Doctor(doctor) => doctor::run(&doctor, &arguments.global, &environment, ui),
        Command::Completions { shell } => completions::print(shell, ui),
        Command::Man { folder } => manual::write(&folder, &environment, ui),
    }
}

/// Returns the command line as clap knows it, for completions and tests.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Writes what clap says; with its colours where all that it can quote is `plain`.
fn answer_of_clap(answer: &clap::Error, plain: bool, environment: &Environment) -> ExitStatus {
    let to_person = answer.use_stderr();
    let ui = Ui::new(environment, ColorArgument::Auto, false);
    let text = answer.render();
    let text = if !plain {
        text.to_string().split('\n').map(clean::line).collect::<Vec<_>>().join("\n")
    } else if to_person && ui.color || !to_person && ui.data_color {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    let text = clean::shielded(&text);
    if to_person {
        ui.say(&text);
        return ExitStatus::usage();
    }
    match ui.data(&text) {
        Ok(()) => ExitStatus::answered(),
        Err(_) => ExitStatus::unreported(),
    }
}

/// Standard error for log lines: each one is written in one piece, and free of secrets.
struct Redacting(Ui);

impl std::io::Write for Redacting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.say(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Log lines for people who work on tepa itself, asked for by `TEPA_LOG=debug`.
fn init_tracing(environment: &Environment, ui: &Ui) {
    let Some(filter) = environment.variable(crate::config::LOG) else { return };
    let Ok(filter) = filter.parse::<Targets>() else {
        let name = crate::config::LOG;
        ui.warn([format!(
            "the variable `{name}` says nothing of log lines: write it like `debug` or `tepa=trace`"
        )]);
        return;
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::level_filters::LevelFilter::TRACE)
        .with_ansi(ui.color)
        .with_writer({
            let ui = ui.clone();
            move || Redacting(ui.clone())
        })
        .finish()
        .with(filter);
    // Only the first subscriber of a process is taken; a second call of this function finds it there.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// A panic is a bug, and says so in one sentence; the run still settles with exit 4.
fn replace_panic_message(secrets: Secrets) {
    std::panic::set_hook(Box::new(move |panic| {
        use std::io::Write as _;
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let what = secrets.redact(what);
        let _ = writeln!(std::io::stderr(), "error: this is a bug in tepa: {what} ({place})");
    }));
}
