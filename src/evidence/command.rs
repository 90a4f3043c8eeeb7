//! Owns the checks that are commands: run as the commands of tools are, in the same sandbox, from copies of their scripts.
//!
//! A command that runs out of time failed. One that could not begin decides nothing, unless what is missing is for the run to make.

use super::{Finding, Site};
use crate::check::{CommandCheck, CommandLine};
use crate::process::{self, Command, Outcome, ProcessError};
use crate::script::{self, Copies};
use crate::text;

/// Characters that are quoted of what a command said.
const QUOTED: usize = 500;

/// The code with which a shell says that there is no such command.
const NO_COMMAND: i32 = 127;

pub(super) async fn run(check: &CommandCheck, copies: &Copies, site: &Site) -> Result<Finding, String> {
    let expected = expected(check);
    let line = line(check);
    let unable = |reason: String| Err(format!("`{line}`: {reason}"));
    let failed = |actual: String| Ok(Finding::of(false, expected.clone(), actual));
    match process::run(command(&copies.instead_in(&check.run), check, site)).await {
        Err(ProcessError::TimedOut(limit)) => failed(format!("timed out after {} ms", limit.as_millis())),
        Err(ProcessError::Start { .. }) if to_be_made(check, site) => {
            failed("there is no such program".to_owned())
        }
        Err(error) => unable(error.to_string()),
        Ok(outcome) => {
            if let Some(reason) = outcome.not_started() {
                return if to_be_made(check, site) {
                    failed(reason.to_owned())
                } else {
                    unable(reason.to_owned())
                };
            }
            let wanted = check.exit.map_or(0, i32::from);
            if outcome.exit_code == NO_COMMAND && wanted != NO_COMMAND && !to_be_made(check, site) {
                return unable(actual(&outcome));
            }
            let says = |text: &String| outcome.stdout.contains(text);
            let passed = outcome.exit_code == wanted && check.stdout_contains.as_ref().is_none_or(says);
            Ok(Finding::of(passed, expected, actual(&outcome)))
        }
    }
}

fn command(line: &CommandLine, check: &CommandCheck, site: &Site) -> Command {
    Command::of(line, site.workspace.root().to_owned(), (*site.setting).clone(), check.timeout())
}

/// Returns whether the command names something in the workspace that is not there, or may not be run: the run did not make it, or not well.
fn to_be_made(check: &CommandCheck, site: &Site) -> bool {
    let program = match &check.run {
        CommandLine::Words(words) => words.first().map(String::as_str),
        CommandLine::Shell(_) => None,
    };
    let inside = |word: &&str| word.contains('/') && site.workspace.relative(word).is_ok();
    program.as_ref().is_some_and(inside)
        || script::words(&check.run)
            .iter()
            .filter(|word| inside(word))
            .any(|word| site.workspace.facts(word).is_err())
}

fn line(check: &CommandCheck) -> String {
    text::truncate(&check.run.to_string(), QUOTED).into_owned()
}

fn expected(check: &CommandCheck) -> String {
    let line = line(check);
    let exit = check.exit.unwrap_or(0);
    match &check.stdout_contains {
        None => format!("`{line}` to exit with {exit}"),
        Some(words) => format!("`{line}` to exit with {exit} and to print `{words}`"),
    }
}

fn actual(outcome: &Outcome) -> String {
    let (stderr, stdout) = (outcome.stderr.trim(), outcome.stdout.trim());
    let said = if stderr.is_empty() { stdout } else { stderr };
    let code = outcome.exit_code;
    if said.is_empty() {
        format!("exit code {code}")
    } else {
        format!("exit code {code}: {}", text::tail(said, QUOTED))
    }
}
