//! Owns the process that stands between tepa and a command: it confines the command, and sees it off with everything that it started.
//!
//! It is tepa itself, started again with [`ARGUMENT`]. Whatever the command leaves behind becomes its child (it is a subreaper), however far
//! it went from its process group, so nothing gets away. Its own standard input is the line to tepa: when that ends, because tepa says so
//! or is no more, the command ends as well.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use super::{Input, PIPE_GRACE, TERM_GRACE};
use crate::sandbox::{self, Policy};

/// The first argument of a process that is a supervisor.
pub const ARGUMENT: &str = "__supervise";

/// The exit code of a command that was not started: `env` and `chroot` use it so.
pub const NOT_STARTED: u8 = 125;

/// What its standard error begins with then.
pub const INSTEAD: &str = "tepa: ";

/// How long the killing of what is left may take before it is given up; only a process that hangs in the kernel takes longer.
const KILLING: Duration = Duration::from_secs(2);

/// How often what is left is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// What a supervisor is told on its command line, before program and arguments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Orders {
    /// What the command may touch; everything if left out.
    pub(super) policy: Option<Policy>,
    pub(super) input: Input,
}

/// Runs the command that `arguments` (without the program's own name and [`ARGUMENT`]) order; returns its exit code.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, NotStarted> {
    let orders = arguments.next().and_then(|text| serde_json::from_str::<Orders>(text.to_str()?).ok());
    let (Some(orders), Some(program)) = (orders, arguments.next()) else {
        return Err(NotStarted::Orders);
    };
    supervise(orders, &program, arguments.collect()).map(exit_code)
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The arguments are not those that tepa gives.
    #[error("this is how tepa starts the commands of a run; it is not for people")]
    Orders,
    /// There is no such program, or it cannot be run.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// As it was named.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The sandbox cannot be entered.
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    /// The sandbox would not hold what it held before.
    #[error("the kernel confines less than it did when the run began")]
    Weaker,
    /// Nobody would see the command off.
    #[error("cannot supervise `{program}`: {source}")]
    Supervise {
        /// As it was named.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
}

fn supervise(orders: Orders, program: &OsString, arguments: Vec<OsString>) -> Result<ExitStatus, NotStarted> {
    let name = program.to_string_lossy().into_owned();
    let unable = |source| NotStarted::Supervise { program: name.clone(), source };
    adopt_orphans().map_err(unable)?;
    let mut command = Command::new(program);
    let stdin = if orders.input == Input::Null { Stdio::null() } else { Stdio::piped() };
    // A group of its own: the supervisor must outlive what it signals.
    command.args(arguments).stdin(stdin).process_group(0);
    let mut child = start(command, orders.policy, &name)?;
    let group = Pid::from_child(&child);
    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A line that breaks has ended.
        let _ = listen(io::stdin().lock(), orders.input, stdin);
        if orders.input == Input::Relayed {
            // It has been told by the end of its input.
            thread::sleep(TERM_GRACE);
        }
        let _ = rustix::process::kill_process_group(group, Signal::TERM);
        thread::sleep(TERM_GRACE);
        loop {
            kill_descendants();
            thread::sleep(LOOK);
        }
    });
    let status = child.wait().map_err(unable)?;
    see_off_the_rest();
    Ok(status)
}

/// Sees to it that nothing is left of what the command started, once it has ended itself.
fn see_off_the_rest() {
    let ended = Instant::now();
    while anything_left() && ended.elapsed() < KILLING {
        // What still has something to say gets a moment; what would never end must not hold the run up.
        if ended.elapsed() > PIPE_GRACE {
            kill_descendants();
        }
        thread::sleep(LOOK);
    }
}

/// Collects the children that have ended, orphans that were adopted included; returns whether there are others.
fn anything_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Starts the command from a thread that entered the sandbox: the command inherits it, and the supervisor stays outside, out of its reach.
fn start(mut command: Command, policy: Option<Policy>, name: &str) -> Result<Child, NotStarted> {
    let started = thread::spawn(move || {
        if let Some(policy) = policy {
            let entered = sandbox::enter(&policy)?;
            // The policy names the level that was found when the run began.
            if entered.landlock < policy.landlock {
                return Err(NotStarted::Weaker);
            }
        }
        command.spawn().map_err(|source| NotStarted::Start { program: String::new(), source })
    });
    match started.join() {
        Ok(Err(NotStarted::Start { source, .. })) => {
            Err(NotStarted::Start { program: name.to_owned(), source })
        }
        Ok(ended) => ended,
        Err(_) => Err(NotStarted::Supervise {
            program: name.to_owned(),
            source: io::Error::other("the thread that starts it panicked"),
        }),
    }
}

/// Hands the command its input and returns when the line to tepa has ended.
fn listen(mut line: impl Read, input: Input, stdin: Option<ChildStdin>) -> io::Result<()> {
    match (input, stdin) {
        (Input::Framed, Some(mut stdin)) => {
            let mut length = [0; 8];
            line.read_exact(&mut length)?;
            let mut bytes = Vec::new();
            line.by_ref().take(u64::from_be_bytes(length)).read_to_end(&mut bytes)?;
            // A command that does not read its input is not at fault, and must not keep the end of the line from being heard.
            thread::spawn(move || stdin.write_all(&bytes));
        }
        (Input::Relayed, Some(mut stdin)) => {
            io::copy(&mut line, &mut stdin)?;
            return Ok(());
        }
        _ => {}
    }
    io::copy(&mut line, &mut io::sink()).map(|_| ())
}

/// Makes this process the parent of everything below it that loses its own.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Kills everything below this process, once: what is killed may have had time to start something.
fn kill_descendants() {
    for pid in descendants() {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Returns what runs below this process; what has ended and was not collected does not run.
fn descendants() -> Vec<Pid> {
    let mut parents = Vec::new();
    for entry in PathBuf::from("/proc").read_dir().into_iter().flatten().flatten() {
        let pid =
            entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()).and_then(Pid::from_raw);
        let stat = std::fs::read_to_string(entry.path().join("stat"));
        if let (Some(pid), Ok(stat)) = (pid, stat)
            && let Some((alive, parent)) = read_stat(&stat)
        {
            parents.push((pid, parent, alive));
        }
    }
    let mut below = vec![rustix::process::getpid()];
    let mut found = Vec::new();
    while let Some(parent) = below.pop() {
        for (pid, _, alive) in parents.iter().filter(|(_, of, _)| *of == Some(parent)) {
            below.push(*pid);
            if *alive {
                found.push(*pid);
            }
        }
    }
    found
}

/// Reads state and parent from a line of `/proc/PID/stat`; the name before them may hold anything, brackets and blanks included.
fn read_stat(stat: &str) -> Option<(bool, Option<Pid>)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let alive = !matches!(fields.next()?, "Z" | "X");
    Some((alive, Pid::from_raw(fields.next()?.parse().ok()?)))
}

/// Returns the code that a shell gives: 128 and the number of the signal for a command that a signal ended.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_be_called_anything() {
        let parent = Pid::from_raw(7);
        assert_eq!(read_stat("42 (sh) S 7 42 42 0"), Some((true, parent)));
        assert_eq!(read_stat("42 (a) Z 9 (b) ) Z 7 42"), Some((false, parent)));
        assert_eq!(read_stat("42"), None);
    }
}
