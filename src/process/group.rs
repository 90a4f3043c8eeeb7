//! Owns one running command and everything that it started: its start, its end, and the end of what it leaves.

use std::io;
use std::process::{ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::setting::SUPERVISOR_GRACE;
use super::{Command, Input, KILL_GRACE, ProcessError, TERM_GRACE};

/// The way to a command's input and from its two outputs.
pub(super) type Streams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// A running command and its descendants.
pub(super) struct Group {
    /// Absent once it is on its way out.
    child: Option<Box<dyn ChildWrapper>>,
    /// Held by a supervised one until it is gone.
    leaving: Option<TaskTrackerToken>,
}

impl Group {
    pub(super) fn start(command: &Command, input: Input) -> Result<(Self, Streams), ProcessError> {
        let piped = input != Input::Null || command.supervisor.is_some();
        let stdin = if piped { Stdio::piped() } else { Stdio::null() };
        let (program, arguments) = command.line(input)?;
        let mut wrap = CommandWrap::with_new(program, |child| {
            child
                .args(arguments)
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
        // A supervisor must outlive what it sees off.
        let leaving = command.supervisor.as_ref().map(|supervisor| supervisor.leaving.0.token());
        if leaving.is_none() {
            wrap.wrap(KillOnDrop);
        }
        let mut child = wrap.spawn().map_err(|source| ProcessError::Start {
            program: command.program.to_string_lossy().into_owned(),
            source,
        })?;
        let (stdin, stdout, stderr) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        Ok((Self { child: Some(child), leaving }, (stdin, stdout, stderr)))
    }

    /// Returns how the command itself ended; waiting for the group would wait for what it left in the background.
    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        match &mut self.child {
            Some(child) => child.inner_mut().wait().await,
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Asks the group to end, then ends it. A supervisor does both, and has been told: the line to it has ended.
    pub(super) async fn terminate(mut self) {
        let grace = if self.leaving.is_some() { SUPERVISOR_GRACE } else { TERM_GRACE };
        #[cfg(unix)]
        if let (Some(child), None) = (&self.child, &self.leaving) {
            const SIGTERM: i32 = 15;
            let _ = child.signal(SIGTERM);
        }
        let _ = timeout(grace, self.exited()).await;
        self.end().await;
    }

    /// Kills what is left of the group. That nothing is left is the usual case and an error of the system call.
    pub(super) async fn end(mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.start_kill();
            let _ = timeout(KILL_GRACE, child.wait()).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        match (self.leaving.take(), Handle::try_current()) {
            // It sees the command off by itself, because the line to it ends; whoever ends the process waits for that.
            (Some(leaving), Ok(handle)) => {
                handle.spawn(async move {
                    let _ = timeout(SUPERVISOR_GRACE, child.wait()).await;
                    drop(leaving);
                });
            }
            (Some(_), Err(_)) => {}
            (None, _) => {
                let _ = child.start_kill();
            }
        }
    }
}
