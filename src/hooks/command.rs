//! Owns one command that is asked: what it is told, how its end is read.
//!
//! Whatever is not plainly an answer is an error: half of a JSON value must not be taken for a whole one, nor a crash for agreement.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Site, condition};
use crate::check::CommandLine;
use crate::config;
use crate::hook::{CycleMeta, Hook, HookError, Reply};
use crate::process::{self, Command, OUTPUT_LIMIT, Outcome, ProcessError};
use crate::script::Scripts;
use crate::text;

/// The longest that a hook may take if nothing else is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How many characters of standard error are quoted.
const QUOTED: usize = 2_000;

/// How many characters of its line a hook is called by.
const NAMED: usize = 60;

/// The exit code that stops a run.
const STOP: i32 = 2;

/// A command as a hook.
pub(super) struct CommandHook {
    name: String,
    /// What the configuration says, with the values of its variables filled in.
    settings: config::CommandHook,
    /// The files that the command names, as they were when the run began.
    scripts: Arc<Scripts>,
    site: Arc<Site>,
}

/// Returns what a hook is called: the start of its line.
pub(super) fn name(line: &CommandLine) -> String {
    let line = line.to_string();
    let mut lines = line.trim_start().lines();
    let first = lines.next().unwrap_or_default().trim_end();
    let whole = if lines.next().is_some() { format!("{first} …") } else { first.to_owned() };
    text::truncate(&whole, NAMED).into_owned()
}

impl CommandHook {
    pub(super) fn new(
        name: String,
        settings: config::CommandHook,
        scripts: Scripts,
        site: Arc<Site>,
    ) -> Self {
        Self { name, settings, scripts: Arc::new(scripts), site }
    }

    async fn run(&self, document: Value) -> Result<Reply, HookError> {
        let (scripts, site) = (Arc::clone(&self.scripts), Arc::clone(&self.site));
        let unpacked = tokio::task::spawn_blocking(move || scripts.unpack(&site.temporary)).await;
        let copies = unpacked.map_err(|e| HookError(e.to_string()))?.map_err(HookError)?;
        let config::CommandHook { command, env, network, timeout, .. } = &self.settings;
        let setting = (*self.site.setting).clone().handing(env, *network);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, |timeout| Duration::from_millis(timeout.0));
        let folder = self.site.workspace.root().to_owned();
        let command = Command::of(&copies.instead_in(command), folder, setting, timeout);
        let command = Command { input: Some(document.to_string().into_bytes()), ..command };
        let ended = process::run(command).await;
        let answer = match read(ended) {
            Ok(Reply::Abort(reason)) => Ok(Reply::Abort(copies.named_in(&reason))),
            Ok(reply) => Ok(reply),
            Err(reason) => Err(HookError(copies.named_in(&reason))),
        };
        // The copies go when nothing can name them any more.
        let gone = tokio::task::spawn_blocking(move || drop(copies)).await;
        gone.map_err(|e| HookError(e.to_string()))?;
        answer
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn applies(&self, payload: &Value, meta: &CycleMeta) -> bool {
        self.settings.when.as_ref().is_none_or(|when| condition::holds(when, payload, meta))
    }

    fn ask<'a>(
        &'a self,
        point: &'static str,
        payload: &'a Value,
        meta: &'a CycleMeta,
    ) -> BoxFuture<'a, Result<Reply, HookError>> {
        Box::pin(self.run(json!({"event": point, "data": payload, "cycle": meta})))
    }
}

/// Returns what the end of a command says, or why it says nothing.
fn read(ended: Result<Outcome, ProcessError>) -> Result<Reply, String> {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(ProcessError::TimedOut(limit)) => {
            return Err(format!("timed out after {} ms", limit.as_millis()));
        }
        Err(error) => return Err(error.to_string()),
    };
    if let Some(reason) = outcome.not_started() {
        return Err(reason.to_owned());
    }
    let stderr = outcome.stderr.trim();
    let failed = |what: String| match text::tail(stderr, QUOTED) {
        said if said.is_empty() => Err(what),
        said => Err(format!("{what}: {said}")),
    };
    match outcome.exit_code {
        0 if outcome.stdout_is_cut() => {
            let most = text::bytes(OUTPUT_LIMIT as u64);
            failed(format!("wrote more than {most} to its standard output"))
        }
        0 if outcome.stdout.trim().is_empty() => Ok(Reply::Keep),
        0 => match serde_json::from_str(&outcome.stdout) {
            Ok(data) => Ok(Reply::Replace(data)),
            Err(e) => failed(format!("its standard output is not one JSON value ({e})")),
        },
        STOP if stderr.is_empty() => Ok(Reply::Abort("it gave no reason".to_owned())),
        STOP => Ok(Reply::Abort(text::truncate(stderr, QUOTED).into_owned())),
        code @ 129..=192 => failed(format!("exit code {code}, as after signal {}", code - 128)),
        code => failed(format!("exit code {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Result<Reply, String> {
        read(Ok(Outcome { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit_code }))
    }

    #[test]
    fn every_end_means_one_thing() {
        assert_eq!(ended(0, " \n", "noise"), Ok(Reply::Keep));
        assert_eq!(ended(0, "{\"a\": 1}\n", "noise"), Ok(Reply::Replace(json!({"a": 1}))));
        assert_eq!(ended(2, "{}", " too dear \n"), Ok(Reply::Abort("too dear".to_owned())));
        assert_eq!(ended(2, "", " "), Ok(Reply::Abort("it gave no reason".to_owned())));
        assert_eq!(ended(1, "{}", "boom\n"), Err("exit code 1: boom".to_owned()));
        assert_eq!(ended(127, "", ""), Err("exit code 127".to_owned()));
        assert_eq!(ended(137, "", ""), Err("exit code 137, as after signal 9".to_owned()));
        let timeout = read(Err(ProcessError::TimedOut(Duration::from_secs(60))));
        assert_eq!(timeout, Err("timed out after 60000 ms".to_owned()));
    }

    #[test]
    fn what_is_not_one_json_value_is_no_answer() {
        for stdout in ["{\"a\": ", "{} {}", "kept", "{} trailing"] {
            let fault = ended(0, stdout, "why").unwrap_err();
            assert!(
                fault.starts_with("its standard output is not one JSON value (") && fault.ends_with(": why")
            );
        }
        let flood = format!("\"{}\"", "x".repeat(OUTPUT_LIMIT - 2)) + "\n[output truncated at 1 MB]";
        assert_eq!(ended(0, &flood, ""), Err("wrote more than 1.0 MB to its standard output".to_owned()));
    }

    #[test]
    fn what_is_said_is_quoted_and_no_book() {
        let long = "x".repeat(100_000);
        let Ok(Reply::Abort(reason)) = ended(2, "", &long) else { panic!("no stop") };
        assert!(reason.chars().count() <= QUOTED && ended(1, "", &long).unwrap_err().len() < QUOTED + 50);
    }

    #[test]
    fn a_hook_is_called_by_the_start_of_its_line() {
        let words = CommandLine::Words(["python3", "filter.py"].map(str::to_owned).to_vec());
        assert_eq!(name(&words), "python3 filter.py");
        assert_eq!(name(&CommandLine::Shell("\nset -e\nexit 2\n".to_owned())), "set -e …");
        assert_eq!(name(&CommandLine::Shell("x".repeat(100))).chars().count(), NAMED);
    }
}
