//! Owns `tepa completions` and the answers that the scripts ask for: what may stand at the cursor, here and now.
//!
//! A script holds nothing but the way to ask. The answer costs a few reads, starts nothing, and is silence where something is wrong: whoever
//! presses a key does not want to read an error. Shells put what they are told on the line as it is, so that no name leaves that could be
//! more than a word there.

use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use clap::ValueHint;
use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter};
use clap_complete::env::Shells;

use super::args::ColorArgument;
use super::layers;
use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::{Catalog, Environment, session_key};
use crate::error::Error;
use crate::journal::{self, Listed};
use crate::render::cell;
use crate::text;

/// The variable in which a script names its shell when it asks.
const ASKED: &str = "COMPLETE";

/// The most runs that are offered, and looked through for sessions.
const MOST_RUNS: usize = 100;

/// Characters shown of a goal.
const LONGEST_GOAL: usize = 60;

/// Prints the script for a shell.
pub(super) fn print(shell: clap_complete::Shell, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer =
        shells.completer(&name).ok_or_else(|| Error::broken(format!("there is no script for `{name}`")))?;
    let mut script = Vec::new();
    completer
        .write_registration(ASKED, "tepa", "tepa", "tepa", &mut script)
        .map_err(|e| Error::broken("cannot make the completion script").because(&e))?;
    let script = String::from_utf8_lossy(&script);
    ui.data(&format!("{}\n", script.trim()))
        .map_err(|e| Error::broken("cannot write the completion script").because(&e))?;
    Ok(ExitStatus::answered())
}

/// Answers the script of a shell, if `arguments` (without the program's name) are its question.
///
/// The `--` before the line that is typed makes sure that no run is taken for a question because a variable happens to be set.
pub(super) fn answered(arguments: &[OsString], environment: &Environment) -> Option<ExitStatus> {
    let (first, line) = arguments.split_first()?;
    let shells = Shells::builtins();
    let shell = shells.completer(environment.variable(ASKED)?)?;
    if first != "--" || line.is_empty() {
        return None;
    }
    let here = place(line, environment);
    let folder = here.directory.clone();
    std::panic::set_hook(Box::new(|_| {}));
    let answer = catch_unwind(AssertUnwindSafe(|| {
        let mut command = taught(super::command(), &Arc::new(here));
        let mut answer = Vec::new();
        shell.write_complete(&mut command, line.to_vec(), Some(&folder), &mut answer).ok()?;
        Some(answer)
    }));
    let answer = answer.ok().flatten().unwrap_or_default();
    let ui = Ui::new(environment, ColorArgument::Never, true);
    // A shell that does not listen any more has no use for an error.
    let _ = ui.data(&String::from_utf8_lossy(&answer));
    Some(ExitStatus::answered())
}

/// Returns the environment of whoever typed a line: `-C` leads to another folder.
fn place(line: &[OsString], environment: &Environment) -> Environment {
    let mut environment = environment.clone();
    let mut words = line.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let folder = match word {
            "-C" | "--directory" => words.next(),
            word => word.strip_prefix("--directory=").or(word.strip_prefix("-C")),
        };
        if let Some(folder) = folder {
            environment.directory = environment.resolve(Path::new(folder));
        }
    }
    environment
}

/// Returns the command line with what may be said here.
fn taught(command: clap::Command, here: &Arc<Environment>) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let tools = ["show", "call"].contains(&command.get_name());
    let command = command.mut_args(|argument| match completer(&argument, tools, here) {
        Some(completer) => argument.add(guarded(completer)),
        None => argument,
    });
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |command| taught(command, here)))
}

/// Returns a completer that says only what is a word in every shell. What clap itself knows of an argument was written here.
fn guarded(completer: ArgValueCompleter) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let mut candidates = completer.complete(typed);
        candidates.retain(|one| one.get_value().to_str().is_some_and(is_a_word));
        candidates
    })
}

/// Returns whether a text stands for itself on the line of any shell, and is no flag.
fn is_a_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._/@:+,=~-".contains(c);
    !text.starts_with('-') && text.chars().all(plain)
}

/// Returns who completes the values of an argument; nobody where clap knows all of them.
fn completer(argument: &clap::Arg, of_tools: bool, here: &Arc<Environment>) -> Option<ArgValueCompleter> {
    let here = Arc::clone(here);
    let folder = here.directory.clone();
    Some(match argument.get_id().as_str() {
        id @ ("prompt" | "files" | "config") => {
            let paths = PathCompleter::any().current_dir(folder).filter(is_written_by_people);
            ArgValueCompleter::new(if id == "prompt" { paths.stdio() } else { paths })
        }
        "run" => ArgValueCompleter::new(move |typed: &OsStr| beginning(typed, runs(&here))),
        "session" => ArgValueCompleter::new(move |typed: &OsStr| beginning(typed, sessions(&here))),
        "model" | "planner_model" | "executor_model" | "evaluator_model" => {
            ArgValueCompleter::new(|typed: &OsStr| beginning(typed, models()))
        }
        "tools" | "deny_tool" => ArgValueCompleter::new(move |typed: &OsStr| listed(typed, &here)),
        "name" if of_tools => ArgValueCompleter::new(move |typed: &OsStr| beginning(typed, tools(&here))),
        _ => match argument.get_value_hint() {
            ValueHint::FilePath => ArgValueCompleter::new(PathCompleter::file().current_dir(folder)),
            ValueHint::DirPath => ArgValueCompleter::new(PathCompleter::dir().current_dir(folder)),
            ValueHint::AnyPath => ArgValueCompleter::new(PathCompleter::any().current_dir(folder)),
            _ => return None,
        },
    })
}

fn is_written_by_people(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    ["yaml", "yml", "json"].contains(&ending) && path.is_file()
}

fn beginning(typed: &OsStr, candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let begins = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(&*typed);
    candidates.into_iter().filter(begins).collect()
}

/// Completes the last of several names with commas in between.
fn listed(typed: &OsStr, environment: &Environment) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) =
        typed.rsplit_once(',').map_or(("", typed), |(_, last)| (&typed[..typed.len() - last.len()], last));
    let names = beginning(OsStr::new(last), tools(environment));
    names.into_iter().map(|name| name.add_prefix(before)).collect()
}

/// Returns the newest runs; what carries no id of a run is none.
fn recorded(environment: &Environment) -> Vec<Listed> {
    let mut runs = journal::newest(&environment.directory, MOST_RUNS).unwrap_or_default();
    runs.retain(|run| uuid::Uuid::try_parse(&run.run_id).is_ok());
    runs
}

fn runs(environment: &Environment) -> Vec<CompletionCandidate> {
    let runs = recorded(environment);
    if runs.is_empty() {
        return Vec::new();
    }
    let named = runs.iter().zip(1..).map(|(run, order)| {
        let goal = run.goal.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = format!("{}: {}", run.state.name(), text::truncate(&goal, LONGEST_GOAL));
        CompletionCandidate::new(&run.run_id).help(Some(help(&words))).display_order(Some(order))
    });
    let latest = CompletionCandidate::new(journal::LATEST).help(Some(help("the newest run")));
    std::iter::once(latest.display_order(Some(0))).chain(named).collect()
}

fn sessions(environment: &Environment) -> Vec<CompletionCandidate> {
    let keys = recorded(environment).into_iter().filter_map(|run| run.session);
    let mut keys: Vec<String> = keys.filter_map(|key| session_key(&key).ok()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().map(CompletionCandidate::new).collect()
}

fn models() -> Vec<CompletionCandidate> {
    let Ok(catalog) = Catalog::load() else { return Vec::new() };
    let model = |(name, provider): (&str, crate::config::ProviderKind)| {
        CompletionCandidate::new(name).help(Some(help(provider.name())))
    };
    catalog.models().map(model).collect()
}

fn tools(environment: &Environment) -> Vec<CompletionCandidate> {
    let names = layers::tool_names(environment).unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns words from a file as they may stand on a terminal.
fn help(words: &str) -> StyledStr {
    StyledStr::from(cell(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_for_more_than_a_word_is_none() {
        for word in ["a/b-c.yaml", "~/x", "junit=a,b", "llama3:8b", "Übung.yaml", "0198", "."] {
            assert!(is_a_word(word), "{word}");
        }
        for other in [
            "a b",
            "$(x)",
            "`x`",
            "a;b",
            "a\nb",
            "a\u{1b}[2J",
            "a*",
            "{a,b}",
            "!x",
            "'a",
            "\\a",
            "--yes",
            "a\u{202e}",
        ] {
            assert!(!is_a_word(other), "{other}");
        }
    }
}
