//! Owns the commands: from arguments to a value, from an end to an exit code.
//!
//! Nothing below this floor prints, parses flags or knows an exit code's number beyond a settlement's own.

mod args;
mod completions;
mod load;
mod run;
mod signals;
mod status;
mod tools;
mod ui;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

pub use self::args::{Arguments, EXIT_CODES};
use self::args::{Command, ToolsCommand};
pub use self::status::ExitStatus;
use self::ui::Ui;
use crate::config::Environment;
use crate::error::Error;

/// Runs the command line `arguments`, the program's name first.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    replace_panic_message();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => return answer_of_clap(&answer).into(),
    };
    let environment = match Environment::capture() {
        Ok(environment) => environment,
        Err(e) => {
            let error = Error::usage("cannot tell which folder this is").because(&e);
            let environment = Environment::of(std::path::PathBuf::from("/"), []);
            Ui::new(&environment, arguments.global.color, false).error(&error.into());
            return ExitStatus::usage().into();
        }
    };
    let ui = Ui::new(&environment, arguments.global.color, arguments.global.quiet);
    match dispatch(arguments, environment, &ui) {
        Ok(status) => status.into(),
        Err(error) => {
            ui.error(&error);
            ExitStatus::of_error(&error).into()
        }
    }
}

fn dispatch(arguments: Arguments, mut environment: Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    init_tracing(&environment, ui);
    if let Some(directory) = &arguments.global.directory {
        let wanted = environment.resolve(directory);
        if !wanted.is_dir() {
            return Err(Error::usage(format!("`{}` is not a folder to work in", directory.display())).into());
        }
        environment.directory = wanted;
    }
    match arguments.command {
        Command::Run(run) => run::run(&run, &arguments.global, &environment, ui),
        Command::Validate(files) => Ok(validate::run(&files, &environment, ui)),
        Command::Tools { command: ToolsCommand::List } => tools::list(ui),
        Command::Tools { command: ToolsCommand::Show { name } } => tools::show(&name, ui),
        Command::Completions { shell } => completions::print(shell, ui),
    }
}

/// Returns the command line as clap knows it, for completions and tests.
pub fn command() -> clap::Command {
    Arguments::command()
}

fn answer_of_clap(answer: &clap::Error) -> ExitStatus {
    // A terminal that is gone cannot be told; the code still says what happened.
    let _ = answer.print();
    if answer.use_stderr() { ExitStatus::usage() } else { ExitStatus::answered() }
}

/// Log lines for people who work on tepa itself, asked for by `TEPA_LOG=debug`.
fn init_tracing(environment: &Environment, ui: &Ui) {
    if let Some(filter) = environment.variable("TEPA_LOG") {
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_ansi(ui.color)
            .with_writer(std::io::stderr)
            .finish();
        // Only the first subscriber of a process is taken; a second call of this function finds it there.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}

/// A panic is a bug, and says so in one sentence; the run still settles with exit 4.
fn replace_panic_message() {
    std::panic::set_hook(Box::new(|panic| {
        use std::io::Write as _;
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let _ = writeln!(std::io::stderr(), "error: this is a bug in tepa: {what} ({place})");
    }));
}
