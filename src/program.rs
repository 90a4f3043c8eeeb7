//! Owns one command that is asked about a run: what is taken of it when the run begins, what it is told, how its end is read.
//!
//! Whatever is not plainly an answer is an error: half of a JSON value must not be taken for a whole one, nor a crash for agreement. It runs
//! as the commands of tools do, confined by the same sandbox, and from copies of the files that it names: a run cannot rewrite who watches it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use crate::check::CommandLine;
use crate::duration::DurationText;
use crate::error::Error;
use crate::process::{self, Command, OUTPUT_LIMIT, Outcome, ProcessError, Setting};
use crate::script::{self, Outputs, Scripts};
use crate::secret::Secrets;
use crate::source;
use crate::text;
use crate::workspace::{Workspace, WorkspaceError};

/// The longest that a program may take if nothing else is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How many characters of standard error are quoted.
const QUOTED: usize = 2_000;

/// How many characters of its line a program is called by.
const NAMED: usize = 60;

/// The exit code that stops a run.
const STOP: i32 = 2;

/// Where programs are run.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder that they work in, and whose files they may consist of.
    pub workspace: Arc<Workspace>,
    /// How commands are started.
    pub setting: Arc<Setting>,
    /// Where a folder for copies of scripts can be made.
    pub temporary: PathBuf,
    /// What is taken out of what programs are called by and what is quoted of them, before it is cut: half of a secret is not found any more.
    pub secrets: Secrets,
}

/// How a program is called.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is run.
    pub line: CommandLine,
    /// Variables beside those that every command has, with their values filled in.
    pub env: IndexMap<String, String>,
    /// Whether it may use the network; what holds for every command if nothing is said.
    pub network: Option<bool>,
    /// The longest that it may take; 60 seconds if nothing is said.
    pub timeout: Option<DurationText>,
}

/// What a program says.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Nothing: everything stays as it is.
    Keep,
    /// Other data.
    Replace(Value),
    /// That the run is to stop, and why.
    Stop(String),
}

/// A command that is asked.
pub struct Program {
    name: String,
    call: Call,
    /// The files that the command names, as they were when the run began.
    scripts: Arc<Scripts>,
    site: Arc<Site>,
}

/// Returns what a program is called: the start of its line.
pub fn name(line: &CommandLine, secrets: &Secrets) -> String {
    let line = line.to_string();
    let line = secrets.redact(&line);
    let mut lines = line.trim_start().lines();
    let first = lines.next().unwrap_or_default().trim_end();
    let whole = if lines.next().is_some() { format!("{first} …") } else { first.to_owned() };
    text::truncate(&whole, NAMED).into_owned()
}

impl Program {
    /// Takes the files that a command consists of; `who` is what it is called in messages.
    ///
    /// # Errors
    /// The script that it runs does not exist, or a file that it names cannot be read.
    pub fn prepare(who: &str, mut call: Call, outputs: &Outputs, site: &Arc<Site>) -> Result<Self, Error> {
        let run = script::executed(&call.line);
        // What is not there yet would be for the run to write.
        if let Some(script) = run
            && let Err(WorkspaceError::Missing(_)) = site.workspace.facts(script)
        {
            return Err(Error::usage(format!("{who} runs `{script}`, which does not exist")));
        }
        let mut scripts = Scripts::default();
        scripts
            .take(&call.line, &outputs.except(run), &site.workspace)
            .map_err(|e| Error::usage(format!("a file of {who} cannot be read")).because(&e))?;
        // The folder that the run writes is no place for a program to take its modules from.
        call.env.entry("PYTHONSAFEPATH".to_owned()).or_insert_with(|| "1".to_owned());
        Ok(Self {
            name: name(&call.line, &site.secrets),
            call,
            scripts: Arc::new(scripts),
            site: Arc::clone(site),
        })
    }

    /// Returns what it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the files that it consists of, which no run may change.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.scripts.places()
    }

    /// Hands `document` to the command and returns what it says.
    ///
    /// # Errors
    /// It says nothing that could be understood, in words.
    pub async fn ask(&self, document: &Value) -> Result<Answer, String> {
        let (scripts, site) = (Arc::clone(&self.scripts), Arc::clone(&self.site));
        let unpacked = tokio::task::spawn_blocking(move || scripts.unpack(&site.temporary)).await;
        let copies = unpacked.map_err(|e| e.to_string())??;
        let Call { line, env, network, timeout } = &self.call;
        let setting = (*self.site.setting).clone().handing(env, *network);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, |timeout| Duration::from_millis(timeout.0));
        let folder = self.site.workspace.root().to_owned();
        let command = Command::of(&copies.instead_in(line), folder, setting, timeout);
        let command = Command { input: Some(document.to_string().into_bytes()), ..command };
        let answer = match read(process::run(command).await, &self.site.secrets) {
            Ok(Answer::Stop(reason)) => Ok(Answer::Stop(copies.named_in(&reason))),
            Ok(answer) => Ok(answer),
            Err(reason) => Err(copies.named_in(&reason)),
        };
        // The copies go when nothing can name them any more.
        let gone = tokio::task::spawn_blocking(move || drop(copies)).await;
        gone.map_err(|e| e.to_string())?;
        answer
    }
}

/// Returns what the end of a command says, or why it says nothing.
fn read(ended: Result<Outcome, ProcessError>, secrets: &Secrets) -> Result<Answer, String> {
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
    let stderr = secrets.redact(outcome.stderr.trim());
    let failed = |what: String| match text::tail(&stderr, QUOTED) {
        said if said.is_empty() => Err(what),
        said => Err(format!("{what}: {said}")),
    };
    match outcome.exit_code {
        0 if outcome.stdout_is_cut() => {
            let most = text::bytes(OUTPUT_LIMIT as u64);
            failed(format!("wrote more than {most} to its standard output"))
        }
        0 if outcome.stdout.trim().is_empty() => Ok(Answer::Keep),
        0 => match source::parse_strict_json(&outcome.stdout) {
            Ok(data) => Ok(Answer::Replace(data)),
            Err(e) => failed(format!("its standard output is not one JSON value ({e})")),
        },
        STOP if stderr.is_empty() => Ok(Answer::Stop("it gave no reason".to_owned())),
        STOP => Ok(Answer::Stop(text::truncate(&stderr, QUOTED).into_owned())),
        code @ 129..=192 => failed(format!("exit code {code}, as after signal {}", code - 128)),
        code => failed(format!("exit code {code}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &str = "sk-0123456789abcdefg";

    fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Result<Answer, String> {
        let outcome = Outcome { stdout: stdout.to_owned(), stderr: stderr.to_owned(), exit_code };
        read(Ok(outcome), &Secrets::new([SECRET.into()]))
    }

    #[test]
    fn every_end_means_one_thing() {
        assert_eq!(ended(0, " \n", "noise"), Ok(Answer::Keep));
        assert_eq!(ended(0, "{\"a\": 1}\n", "noise"), Ok(Answer::Replace(json!({"a": 1}))));
        assert_eq!(ended(2, "{}", " too dear \n"), Ok(Answer::Stop("too dear".to_owned())));
        assert_eq!(ended(2, "", " "), Ok(Answer::Stop("it gave no reason".to_owned())));
        assert_eq!(ended(1, "{}", "boom\n"), Err("exit code 1: boom".to_owned()));
        assert_eq!(ended(127, "", ""), Err("exit code 127".to_owned()));
        assert_eq!(ended(137, "", ""), Err("exit code 137, as after signal 9".to_owned()));
        let timeout = read(Err(ProcessError::TimedOut(Duration::from_secs(60))), &Secrets::default());
        assert_eq!(timeout, Err("timed out after 60000 ms".to_owned()));
    }

    #[test]
    fn what_is_not_one_json_value_is_no_answer() {
        for stdout in ["{\"a\": ", "{} {}", "kept", "{} trailing", "{\"a\": 1, \"a\": 2}"] {
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
        let Ok(Answer::Stop(reason)) = ended(2, "", &long) else { panic!("no stop") };
        assert!(reason.chars().count() <= QUOTED && ended(1, "", &long).unwrap_err().len() < QUOTED + 50);
    }

    #[test]
    fn nothing_of_a_secret_stands_where_a_text_was_cut() {
        let beside =
            |before: usize, after: usize| format!("{}{SECRET}{}", "x".repeat(before), "y".repeat(after));
        let line = CommandLine::Shell(beside(NAMED - 10, 9));
        assert!(!name(&line, &Secrets::new([SECRET.into()])).contains("sk-"));
        let Ok(Answer::Stop(reason)) = ended(2, "", &beside(QUOTED - 10, 50)) else { panic!("no stop") };
        assert!(!reason.contains("sk-"), "{reason}");
        let fault = ended(1, "", &beside(50, QUOTED - 10)).unwrap_err();
        assert!(!fault.contains("defg"), "{fault}");
    }

    #[test]
    fn a_program_is_called_by_the_start_of_its_line() {
        let words = CommandLine::Words(["python3", "filter.py"].map(str::to_owned).to_vec());
        let name = |line: &CommandLine| name(line, &Secrets::default());
        assert_eq!(name(&words), "python3 filter.py");
        assert_eq!(name(&CommandLine::Shell("\nset -e\nexit 2\n".to_owned())), "set -e …");
        assert_eq!(name(&CommandLine::Shell("x".repeat(100))).chars().count(), NAMED);
    }
}
