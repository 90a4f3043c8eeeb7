//! Owns child processes: one command with its output, and the end of everything that it started.
//!
//! A command is a process group in a session of its own (a job on Windows): it has no terminal that it could draw on or ask. Nothing of the
//! group outlives [`run`], whether the command ends, runs out of time or the future is dropped. A process that leaves its group on purpose
//! escapes, unless there is a [`Supervisor`]: then nothing does, not even when tepa itself is killed.

#[cfg(unix)]
pub mod supervisor;

mod group;
mod output;
mod service;
mod setting;

use std::collections::BTreeMap;
#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::time::{sleep, timeout};

use crate::check::CommandLine;

use self::group::Group;
use self::output::{CUT, Captured};
pub use self::service::{Pipes, Service, Tail};
pub use self::setting::{Leaving, Setting, Supervisor};

/// How much of each output stream is kept, in bytes.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// How long a process that is out of time may take to clean up.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// How long output is awaited after the command itself has ended: what it left in the background may hold the pipes open for ever.
const PIPE_GRACE: Duration = Duration::from_millis(250);

/// How long a killed process may take to go; only a process that hangs in the kernel takes longer.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// What a command has for standard input, as a supervisor is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Input {
    /// Nothing.
    Null,
    /// What is there before it begins: its length in bytes as a big-endian `u64`, then the bytes. The line is silent then.
    Framed,
    /// All that comes, until the line ends.
    Relayed,
}

/// One command to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program, looked up in the `PATH` of `environment`.
    pub program: OsString,
    /// What it is called with.
    pub arguments: Vec<OsString>,
    /// Its working directory; absolute.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// What it reads from standard input; `None` is an empty input.
    pub input: Option<Vec<u8>>,
    /// The longest that it may run.
    pub timeout: Duration,
    /// Who stands in between.
    pub supervisor: Option<Supervisor>,
}

/// How a command ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Standard output; bytes that are not UTF-8 are replaced, and a last line says if something was cut.
    pub stdout: String,
    /// Standard error, in the same form.
    pub stderr: String,
    /// The exit code; for a process that a signal ended, 128 and the number of the signal.
    pub exit_code: i32,
}

impl Outcome {
    /// Returns whether standard output is not whole.
    pub fn stdout_is_cut(&self) -> bool {
        // Replaced bytes alone can make a text longer than what was kept of it.
        self.stdout.len() > OUTPUT_LIMIT && self.stdout.ends_with(CUT)
    }

    /// Returns why the command never began, if its supervisor says so in its place.
    #[cfg(unix)]
    pub fn not_started(&self) -> Option<&str> {
        let said = self.stderr.strip_prefix(supervisor::INSTEAD)?;
        (self.exit_code == i32::from(supervisor::NOT_STARTED)).then(|| said.trim_end())
    }

    /// Returns nothing: there are no supervisors.
    #[cfg(not(unix))]
    pub fn not_started(&self) -> Option<&str> {
        None
    }
}

/// Why a command has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// It ran longer than it may and was killed.
    #[error("Command timed out after {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It was started, but its end could not be learnt; it was killed.
    #[error("cannot wait for the command: {0}")]
    Wait(io::Error),
}

impl Command {
    /// Returns the command that `line` says, without an input.
    pub fn of(line: &CommandLine, folder: PathBuf, setting: Setting, timeout: Duration) -> Self {
        match line {
            CommandLine::Shell(script) => Self::shell(script, folder, &setting, timeout),
            CommandLine::Words(words) => Self::program(words, folder, setting, timeout),
        }
    }

    /// Returns the command whose first word is a program and whose others are its arguments, without an input.
    pub fn program(words: &[String], folder: PathBuf, setting: Setting, timeout: Duration) -> Self {
        let mut words = words.iter().map(Into::into);
        let Setting { environment, supervisor } = setting;
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            folder,
            environment,
            input: None,
            timeout,
            supervisor,
        }
    }

    /// Returns the command that hands `script` to the shell of the system.
    pub fn shell(script: &str, folder: PathBuf, setting: &Setting, timeout: Duration) -> Self {
        let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let Setting { environment, supervisor } = setting.clone();
        let arguments = vec![flag.into(), script.into()];
        Self { program: program.into(), arguments, folder, environment, input: None, timeout, supervisor }
    }

    /// Returns what is really started: the supervisor with the command as its arguments, or the command itself.
    #[cfg(unix)]
    fn line(&self, input: Input) -> Result<(OsString, Vec<OsString>), ProcessError> {
        let Some(Supervisor { program, policy, .. }) = &self.supervisor else {
            return Ok((self.program.clone(), self.arguments.clone()));
        };
        // The supervisor could only say so in the words of the command.
        if !self.is_there() {
            let program = self.program.to_string_lossy().into_owned();
            return Err(ProcessError::Start { program, source: io::ErrorKind::NotFound.into() });
        }
        let orders = supervisor::Orders { policy: policy.clone(), input };
        let orders = serde_json::to_string(&orders).map_err(|e| ProcessError::Wait(e.into()))?;
        let head = [supervisor::ARGUMENT.into(), orders.into(), self.program.clone()];
        Ok((program.clone().into(), head.into_iter().chain(self.arguments.iter().cloned()).collect()))
    }

    /// Returns whether there is a file where the program would be looked up.
    #[cfg(unix)]
    fn is_there(&self) -> bool {
        let path = self.environment.get(OsStr::new("PATH"));
        let named = self.program.as_encoded_bytes().contains(&b'/');
        match path.filter(|_| !named) {
            Some(path) => std::env::split_paths(path)
                .any(|folder| self.folder.join(folder).join(&self.program).is_file()),
            // Without a path to search, the system searches its own.
            None => !named || self.folder.join(&self.program).is_file(),
        }
    }

    #[cfg(not(unix))]
    fn line(&self, _: Input) -> Result<(OsString, Vec<OsString>), ProcessError> {
        Ok((self.program.clone(), self.arguments.clone()))
    }
}

/// Runs a command to its end.
pub async fn run(command: Command) -> Result<Outcome, ProcessError> {
    let limit = command.timeout;
    let input = if command.input.is_some() { Input::Framed } else { Input::Null };
    let (mut group, (stdin, out, err)) = Group::start(&command, input)?;
    let mut stdout = Captured::default();
    let mut stderr = Captured::default();
    let status = {
        // Boxed, because dropping it early ends the line to a supervisor.
        let mut input = Box::pin(feed(stdin, command.input, command.supervisor.is_some()).fuse());
        let mut line = None;
        let mut pipes = pin!(async { tokio::join!(stdout.fill(out), stderr.fill(err)) }.fuse());
        let mut deadline = pin!(sleep(limit));
        let status = loop {
            tokio::select! {
                status = group.exited() => break Some(status.map_err(ProcessError::Wait)?),
                handed = &mut input, if !input.is_terminated() => line = handed,
                _ = &mut pipes, if !pipes.is_terminated() => {}
                () = &mut deadline => break None,
            }
        };
        drop((line, input));
        let Some(status) = status else {
            // What it says on its way out is read, so that it does not hang on it.
            let mut leaving = pin!(group.terminate());
            loop {
                tokio::select! {
                    () = &mut leaving => return Err(ProcessError::TimedOut(limit)),
                    _ = &mut pipes, if !pipes.is_terminated() => {}
                }
            }
        };
        if !pipes.is_terminated() {
            let _ = timeout(PIPE_GRACE, pipes).await;
        }
        status
    };
    group.end().await;
    Ok(Outcome { stdout: stdout.into_text(), stderr: stderr.into_text(), exit_code: exit_code(status) })
}

/// Hands `input` to the command; one that does not read it all is not at fault. Returns the line to a supervisor, which must stay open.
async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>, supervised: bool) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    if let Some(input) = input {
        if supervised {
            stdin.write_all(&(input.len() as u64).to_be_bytes()).await.ok()?;
        }
        let _ = stdin.write_all(&input).await;
    }
    supervised.then_some(stdin)
}

fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(600);

    fn script(folder: &Path, text: &str, timeout: Duration) -> Command {
        let path = std::env::var_os("PATH").unwrap();
        let environment = BTreeMap::from([("PATH".into(), path)]);
        Command::shell(text, folder.to_owned(), &Setting { environment, supervisor: None }, timeout)
    }

    /// Returns once `look` has something to show; fails after a while.
    async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..1000 {
            if let Some(seen) = look() {
                return seen;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("it did not happen");
    }

    /// Returns the line that a script wrote into `path`, once it is whole.
    fn line_in(path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok()?.strip_suffix('\n').map(str::to_owned)
    }

    /// Returns why `command` has no outcome when all its time passes as soon as `ready` holds a line.
    async fn out_of_time_after(ready: &Path, command: Command) -> ProcessError {
        let clock = async {
            eventually(|| line_in(ready)).await;
            tokio::time::pause();
            tokio::time::advance(LONG).await;
            tokio::time::resume();
        };
        tokio::join!(run(command), clock).0.unwrap_err()
    }

    /// Returns `Some` when no process `pid` runs; one that was killed and not yet reaped does not run.
    fn gone(pid: &str) -> Option<()> {
        let alive = std::process::Command::new("sh")
            .args(["-c", "kill -0 $0 2>/dev/null && ! grep -q '^State:.Z' /proc/$0/status 2>/dev/null", pid])
            .status()
            .unwrap()
            .success();
        (!alive).then_some(())
    }

    #[tokio::test]
    async fn output_and_exit_code_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(script(folder.path(), "echo out; echo err >&2; exit 3", LONG)).await.unwrap();
        assert_eq!(outcome, Outcome { stdout: "out\n".into(), stderr: "err\n".into(), exit_code: 3 });
    }

    #[tokio::test]
    async fn a_signal_shows_in_the_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(script(folder.path(), "kill -9 $$", LONG)).await.unwrap();
        assert_eq!(outcome.exit_code, 137);
    }

    #[tokio::test]
    async fn input_is_handed_over_and_may_be_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let input = vec![b'x'; 1 << 20];
        let read = Command { input: Some(input.clone()), ..script(folder.path(), "wc -c | tr -d ' '", LONG) };
        assert_eq!(run(read).await.unwrap().stdout, "1048576\n");
        let ignored = Command { input: Some(input), ..script(folder.path(), "exec <&-; echo done", LONG) };
        assert_eq!(run(ignored).await.unwrap().stdout, "done\n");
        let absent = script(folder.path(), "wc -c | tr -d ' '", LONG);
        assert_eq!(run(absent).await.unwrap().stdout, "0\n");
    }

    #[tokio::test]
    async fn output_beyond_the_limit_is_read_and_dropped() {
        let folder = tempfile::tempdir().unwrap();
        // A byte before three million bytes of two-byte characters puts the limit inside one.
        let text = "printf x; yes ßßß | tr -d '\\n' | head -c 3000000; echo ended >&2";
        let outcome = run(script(folder.path(), text, LONG)).await.unwrap();
        assert_eq!((outcome.exit_code, outcome.stderr.as_str()), (0, "ended\n"));
        let kept = outcome.stdout.strip_suffix("\n[output truncated at 1 MB]").unwrap();
        assert_eq!(kept.len(), OUTPUT_LIMIT - 1);
        assert!(kept.starts_with("xß") && kept.ends_with('ß'));
    }

    #[tokio::test]
    async fn a_command_that_is_out_of_time_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let text = "trap '' TERM; sleep 300 & echo $! > pid; while :; do sleep 0.02; done";
        let error = out_of_time_after(&folder.path().join("pid"), script(folder.path(), text, LONG)).await;
        assert_eq!(error.to_string(), "Command timed out after 600000 ms");
        let pid = line_in(&folder.path().join("pid")).unwrap();
        eventually(|| gone(&pid)).await;
    }

    #[tokio::test]
    async fn a_command_that_is_out_of_time_may_clean_up() {
        let folder = tempfile::tempdir().unwrap();
        let text = "trap 'echo cleaned > mark; exit' TERM; echo yes > ready; while :; do sleep 0.02; done";
        out_of_time_after(&folder.path().join("ready"), script(folder.path(), text, LONG)).await;
        assert_eq!(line_in(&folder.path().join("mark")).as_deref(), Some("cleaned"));
    }

    #[tokio::test]
    async fn dropping_the_future_kills_the_grandchildren() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let pid = tokio::select! {
            ended = run(script(folder.path(), "sleep 300 & echo $! > pid; wait", LONG)) => panic!("{ended:?}"),
            pid = eventually(|| line_in(&file)) => pid,
        };
        eventually(|| gone(&pid)).await;
    }

    #[tokio::test]
    async fn what_was_left_in_the_background_neither_blocks_nor_stays() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["sleep 300 & echo $!", "sleep 300 >/dev/null 2>&1 & echo $!"] {
            let outcome = run(script(folder.path(), text, LONG)).await.unwrap();
            assert_eq!(outcome.exit_code, 0);
            eventually(|| gone(outcome.stdout.trim())).await;
        }
    }

    #[tokio::test]
    async fn a_program_that_does_not_exist_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let command = Command { program: "no-such-program".into(), ..script(folder.path(), "", LONG) };
        let error = run(command).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot start `no-such-program`: "), "{error}");
    }
}
