//! Owns child processes: one command with its output, and the end of everything that it started.
//!
//! A command is a process group in a session of its own (a job on Windows): it has no terminal that it could draw on or ask. Nothing of the group outlives [`run`], whether the command ends, runs out of
//! time or the future is dropped; a process that leaves its group on purpose does escape.

mod service;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::time::{sleep, timeout};

pub use service::{Pipes, Service, Tail};

/// How much of each output stream is kept, in bytes.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// What stands at the end of output that is not whole.
const CUT: &str = "[output truncated at 1 MB]";

/// How long a process that is out of time may take to clean up.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// How long output is awaited after the command itself has ended: what it left in the background may hold the pipes open for ever.
const PIPE_GRACE: Duration = Duration::from_millis(250);

/// How long a killed process may take to go; only a process that hangs in the kernel takes longer.
const KILL_GRACE: Duration = Duration::from_secs(1);

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
    /// Returns the command that hands `script` to the shell of the system.
    pub fn shell(
        script: &str,
        folder: PathBuf,
        environment: BTreeMap<OsString, OsString>,
        timeout: Duration,
    ) -> Self {
        let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let arguments = vec![flag.into(), script.into()];
        Self { program: program.into(), arguments, folder, environment, input: None, timeout }
    }
}

/// Runs a command to its end.
pub async fn run(command: Command) -> Result<Outcome, ProcessError> {
    let mut group = Group::start(&command)?;
    let mut stdout = Captured::default();
    let mut stderr = Captured::default();
    let status = {
        let (stdin, out, err) =
            (group.child.stdin().take(), group.child.stdout().take(), group.child.stderr().take());
        let mut pipes = pin!(
            async { tokio::join!(feed(stdin, command.input), stdout.fill(out), stderr.fill(err)) }.fuse()
        );
        let mut deadline = pin!(sleep(command.timeout));
        let status = loop {
            tokio::select! {
                status = group.exited() => break status.map_err(ProcessError::Wait)?,
                _ = &mut pipes, if !pipes.is_terminated() => {}
                () = &mut deadline => {
                    group.terminate().await;
                    return Err(ProcessError::TimedOut(command.timeout));
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

/// A running command and its descendants.
struct Group {
    child: Box<dyn ChildWrapper>,
    ended: bool,
}

impl Group {
    fn start(command: &Command) -> Result<Self, ProcessError> {
        let stdin = if command.input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut wrap = CommandWrap::with_new(&command.program, |child| {
            child
                .args(&command.arguments)
                .current_dir(&command.folder)
                .env_clear()
                .envs(&command.environment)
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        #[cfg(unix)]
        wrap.wrap(process_wrap::tokio::ProcessSession);
        #[cfg(windows)]
        wrap.wrap(process_wrap::tokio::JobObject);
        let child = wrap.wrap(KillOnDrop).spawn().map_err(|source| ProcessError::Start {
            program: command.program.to_string_lossy().into_owned(),
            source,
        })?;
        Ok(Self { child, ended: false })
    }

    /// Returns how the command itself ended; waiting for the group would wait for what it left in the background.
    async fn exited(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }

    /// Asks the group to end, then ends it.
    async fn terminate(mut self) {
        #[cfg(unix)]
        {
            const SIGTERM: i32 = 15;
            if self.child.signal(SIGTERM).is_ok() {
                let _ = timeout(TERM_GRACE, self.exited()).await;
            }
        }
        self.end().await;
    }

    /// Kills what is left of the group. That nothing is left is the usual case and an error of the system call.
    async fn end(mut self) {
        let _ = self.child.start_kill();
        let _ = timeout(KILL_GRACE, self.child.wait()).await;
        self.ended = true;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.start_kill();
        }
    }
}

/// Hands `input` to the command; one that does not read it all is not at fault.
async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
    }
}

/// The kept part of one output stream.
#[derive(Default)]
struct Captured {
    bytes: Vec<u8>,
    cut: bool,
}

impl Captured {
    /// Reads to the end, beyond the limit as well: a command must not hang because nobody reads.
    async fn fill(&mut self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; 16 << 10];
        // A pipe that breaks has ended.
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            let kept = count.min(OUTPUT_LIMIT - self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..kept]);
            self.cut |= kept < count;
        }
    }

    fn into_text(mut self) -> String {
        if !self.cut {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        // The cut may have torn a character apart.
        let torn = self.bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        self.bytes.truncate(self.bytes.len() - torn);
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(CUT);
        text
    }
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
        Command::shell(text, folder.to_owned(), BTreeMap::from([("PATH".into(), path)]), timeout)
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
