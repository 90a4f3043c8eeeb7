//! Owns the checks that are commands: run as the commands of tools are, in the same sandbox, from copies of their scripts.
//!
//! A command that runs out of time failed. One that could not begin decides nothing, unless what is missing is for the run to make: a
//! script that was there when the run began is not.

use super::{Finding, Site};
use crate::check::{CommandCheck, CommandLine};
use crate::process::{self, Command, Outcome, ProcessError};
use crate::script::{self, Copies};
use crate::text;

/// Characters that are quoted of what a command said.
const QUOTED: usize = 500;

/// The codes with which a shell says that a command may not be run, and that there is none.
const NOT_RUN: i32 = 126;
const NO_COMMAND: i32 = 127;

pub(super) async fn run(check: &CommandCheck, copies: &Copies, site: &Site) -> Result<Finding, String> {
    let expected = expected(check);
    let line = line(check);
    let unable = |reason: &str| Err(format!("`{line}`: {}", copies.named_in(reason)));
    let failed = |actual: String| Ok(Finding::of(false, expected.clone(), actual));
    match process::run(command(&copies.instead_in(&check.run), check, site)).await {
        Err(ProcessError::TimedOut(limit)) => failed(format!("timed out after {} ms", limit.as_millis())),
        Err(error @ ProcessError::Start { .. }) => match to_be_made(check, copies, site) {
            // What is there and does not start is the fault of the system.
            Some(program) if !is_file(program, site) => failed("there is no such program".to_owned()),
            _ => unable(&error.to_string()),
        },
        Err(error) => unable(&error.to_string()),
        Ok(outcome) => {
            if let Some(reason) = outcome.not_started() {
                // It may also be the sandbox that cannot be entered.
                let is_unfit =
                    reason.starts_with("cannot start") && to_be_made(check, copies, site).is_some();
                return if is_unfit { failed(reason.to_owned()) } else { unable(reason) };
            }
            let (wanted, actual) = (check.exit.map_or(0, i32::from), actual(&outcome));
            if outcome.exit_code != wanted && !begun(&outcome, check, copies, site) {
                return unable(&actual);
            }
            let says = check.stdout_contains.as_ref().is_none_or(|text| outcome.stdout.contains(text));
            if outcome.exit_code == wanted && !says && outcome.stdout_is_cut() {
                return unable("it printed more than 1 MB, and what comes after that is not kept");
            }
            let passed = outcome.exit_code == wanted && says;
            Ok(Finding::of(passed, expected, copies.named_in(&actual)))
        }
    }
}

fn command(line: &CommandLine, check: &CommandCheck, site: &Site) -> Command {
    Command::of(line, site.workspace.root().to_owned(), (*site.setting).clone(), check.timeout())
}

/// Returns the program if it is for the run to make: it is in the workspace, and was not there when the run began.
fn to_be_made<'a>(check: &'a CommandCheck, copies: &Copies, site: &Site) -> Option<&'a str> {
    let CommandLine::Words(words) = &check.run else { return None };
    words.first().map(String::as_str).filter(|program| is_of_run(program, copies, site))
}

/// Returns whether a line for a shell got as far as what the run made, or did not make, for all that its exit code says.
fn begun(outcome: &Outcome, check: &CommandCheck, copies: &Copies, site: &Site) -> bool {
    let of_run: Vec<&str> =
        script::words(&check.run).into_iter().filter(|word| is_of_run(word, copies, site)).collect();
    // A shell that finds no command says so; and of what a script of the run did not find, it names the script.
    let complains = |word: &&str| outcome.stderr.lines().any(|line| line.contains(&format!("{word}: ")));
    match outcome.exit_code {
        NOT_RUN | NO_COMMAND if outcome.stderr.trim().is_empty() => true,
        NOT_RUN => !of_run.is_empty(),
        NO_COMMAND => of_run.iter().any(|word| complains(word) || site.workspace.facts(word).is_err()),
        _ => true,
    }
}

/// Returns whether a word names something in the workspace that no copy stands in for.
fn is_of_run(word: &str, copies: &Copies, site: &Site) -> bool {
    let is_path = word.contains('/') || is_file(word, site);
    is_path && !copies.stand_in_for(word) && site.workspace.relative(word).is_ok()
}

fn is_file(word: &str, site: &Site) -> bool {
    site.workspace.facts(word).is_ok_and(|facts| facts.is_file)
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
