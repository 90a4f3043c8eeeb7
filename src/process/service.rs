//! Owns a child process that stays: it answers over its pipes until it is closed, and leaves nothing behind.
//!
//! Closing asks politely first: end of input, then SIGTERM, then the end of the whole group. Dropping goes straight to the last.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::group::Group;
use super::{Command, Input, PIPE_GRACE, ProcessError, TERM_GRACE, exit_code};

/// How much of what a service last said on standard error is kept, in bytes.
const TAIL_LIMIT: usize = 8 << 10;

/// A running service and its descendants.
pub struct Service {
    group: Group,
    tail: Tail,
    reader: JoinHandle<()>,
}

/// The pipes of a service: what it says, and what it hears.
pub type Pipes = (ChildStdout, ChildStdin);

impl Service {
    /// Starts `command`; its input and its time limit are of no meaning here.
    pub fn start(command: &Command) -> Result<(Self, Pipes), ProcessError> {
        let (group, streams) = Group::start(command, Input::Relayed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(ProcessError::Wait(std::io::Error::other("it has no pipes")));
        };
        let tail = Tail::default();
        let reader = tokio::spawn(tail.clone().fill(stderr));
        Ok((Self { group, tail, reader }, (stdout, stdin)))
    }

    /// Returns the last of what the service said on standard error.
    pub fn tail(&self) -> Tail {
        self.tail.clone()
    }

    /// Returns the exit code of a service that has ended or is about to, once what it said last is read.
    pub async fn ended(&mut self) -> Option<i32> {
        let status = timeout(PIPE_GRACE, self.group.exited()).await.ok()?.ok()?;
        self.read().await;
        Some(exit_code(status))
    }

    async fn read(&mut self) {
        if !self.reader.is_finished() {
            let _ = timeout(PIPE_GRACE, &mut self.reader).await;
        }
    }

    /// Ends the service, whose input has been closed; returns its exit code if it ended by itself.
    pub async fn close(mut self) -> Option<i32> {
        let ended = timeout(TERM_GRACE, self.group.exited()).await;
        let code = ended.ok().and_then(Result::ok).map(exit_code);
        if code.is_some() {
            // What it said last may still be in the pipe.
            self.read().await;
            self.group.end().await;
        } else {
            self.group.terminate().await;
        }
        self.reader.abort();
        code
    }
}

/// The last of what a service said on standard error; clones see the same.
#[derive(Debug, Clone, Default)]
pub struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Returns the text, from the start of a line where it was cut.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let whole =
            if bytes.len() < TAIL_LIMIT { &text } else { text.split_once('\n').map_or(&*text, |cut| cut.1) };
        whole.trim_end().to_owned()
    }

    async fn fill(self, mut pipe: ChildStderr) {
        let mut chunk = vec![0; 4 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend_from_slice(&chunk[..count]);
            let over = bytes.len().saturating_sub(TAIL_LIMIT);
            bytes.drain(..over);
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;
    use crate::process::Setting;

    fn start(script: &str) -> (Service, BufReader<ChildStdout>, ChildStdin) {
        let environment = BTreeMap::from([("PATH".into(), std::env::var_os("PATH").unwrap())]);
        let command =
            Command::shell(script, "/".into(), &Setting { environment, supervisor: None }, Duration::MAX);
        let (service, (stdout, stdin)) = Service::start(&command).unwrap();
        (service, BufReader::new(stdout), stdin)
    }

    async fn line(stdout: &mut BufReader<ChildStdout>) -> String {
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    fn gone(pid: &str) -> bool {
        let test = "kill -0 $0 2>/dev/null && ! grep -q '^State:.Z' /proc/$0/status 2>/dev/null";
        !std::process::Command::new("sh").args(["-c", test, pid]).status().unwrap().success()
    }

    async fn until_gone(pid: &str) {
        while !gone(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn a_service_answers_until_its_input_ends() {
        let (service, mut stdout, mut stdin) =
            start("while read -r line; do echo \"<$line>\"; done; echo bye >&2; exit 3");
        stdin.write_all(b"one\n").await.unwrap();
        assert_eq!(line(&mut stdout).await, "<one>");
        drop(stdin);
        let tail = service.tail();
        assert_eq!(service.close().await, Some(3));
        assert_eq!(tail.text(), "bye");
    }

    #[tokio::test]
    async fn one_that_ignores_the_end_of_input_and_sigterm_is_killed_with_its_children() {
        let (service, mut stdout, stdin) =
            start("trap '' TERM; sleep 300 & echo $!; while :; do sleep 0.02; done");
        let pid = line(&mut stdout).await;
        drop(stdin);
        assert_eq!(service.close().await, None);
        until_gone(&pid).await;
    }

    #[tokio::test]
    async fn dropping_kills_at_once() {
        let (service, mut stdout, stdin) = start("sleep 300 & echo $!; wait");
        let pid = line(&mut stdout).await;
        drop((service, stdin));
        until_gone(&pid).await;
    }

    #[tokio::test]
    async fn only_the_last_of_standard_error_is_kept_from_the_start_of_a_line() {
        let (service, mut stdout, _stdin) =
            start("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; echo done; read -r x");
        assert_eq!(line(&mut stdout).await, "done");
        let tail = service.tail();
        while !tail.text().ends_with("line 1999") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let text = tail.text();
        assert!(text.len() <= TAIL_LIMIT && text.starts_with("line "), "{text}");
    }
}
