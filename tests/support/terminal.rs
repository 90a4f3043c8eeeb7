//! What the tests on pseudo-terminals share: a program on a terminal, a keyboard, and what a person sees in the end.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its own part of this, and a test fails by panicking"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use console::strip_ansi_codes;
use indicatif::{InMemoryTerm, TermLike as _};
use regex::Regex;
use rexpect::process::{PtyProcess, WaitStatus};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{TEPA, text};

/// How long a test waits for something to show before it says that it never did.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lines of every terminal here: enough that nothing scrolls out of it.
const LINES: u16 = 200;

/// A program on a terminal, and all that it has written.
pub struct Terminal {
    process: PtyProcess,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// Up to where everything was looked at.
    answered: usize,
}

impl Terminal {
    /// Runs a line of shell in which `$TEPA` is the binary, on a terminal of `columns` columns.
    pub fn run(folder: &Path, columns: u16, line: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("stty cols {columns} rows {LINES}; {line}")]).current_dir(folder);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder.join("no-home")).env("TERM", "xterm-256color").env("TEPA", TEPA);
        let mut process = PtyProcess::new(command).unwrap();
        process.set_kill_timeout(Some(2000));
        let keyboard = process.get_file_handle().unwrap();
        let mut screen = process.get_file_handle().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // When everybody who wrote to the terminal is gone, reading from it is an error.
            while let Ok(count @ 1..) = screen.read(&mut part) {
                if sender.send(part[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { process, keyboard, output, bytes: Vec::new(), answered: 0 }
    }

    pub fn press(&mut self, key: u8) {
        self.keyboard.write_all(&[key]).unwrap();
    }

    /// Makes the window another one.
    pub fn resize(&self, columns: u16) {
        let size = Winsize { ws_row: LINES, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keyboard, size).unwrap();
    }

    /// Types a line once `prompt` shows, after all that was answered before.
    pub fn answer(&mut self, prompt: &str, line: &str) {
        self.see(prompt);
        self.type_line(line);
    }

    pub fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits until `prompt` shows, after all that was answered before.
    pub fn see(&mut self, prompt: &str) {
        let from = self.answered;
        self.answered = self.wait_for(|written| {
            let rest = &strip_ansi_codes(written)[from..];
            rest.find(prompt).map(|at| from + at + prompt.len())
        });
    }

    /// Waits until `look` finds something in what was written so far.
    pub fn wait_for<T>(&mut self, mut look: impl FnMut(&str) -> Option<T>) -> T {
        loop {
            if let Some(seen) = look(&text(&self.bytes)) {
                return seen;
            }
            match self.output.recv_timeout(PATIENCE) {
                Ok(more) => self.bytes.extend(more),
                Err(e) => panic!("it never showed ({e}): {}", text(&self.bytes)),
            }
        }
    }

    /// Waits for the end; returns the exit code and everything that was written.
    pub fn end(mut self) -> (i32, String) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(more) => self.bytes.extend(more),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it never ended: {}", text(&self.bytes)),
            }
        }
        let written = text(&self.bytes);
        match self.process.wait().unwrap() {
            WaitStatus::Exited(_, code) => (code, written),
            other => panic!("{other:?}: {written}"),
        }
    }
}

/// Returns the pieces that were written side by side, without escapes: a movement of the cursor begins another one.
pub fn visible(written: &str) -> Vec<String> {
    static MOVEMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\r|\n|\x1b\[[0-9;]*[ABEFGHf]").unwrap());
    MOVEMENT.split(written).map(|piece| strip_ansi_codes(piece).into_owned()).collect()
}

/// Returns the lines that are left on a terminal in the end.
pub fn left_over(written: &str, columns: u16) -> Vec<String> {
    let terminal = InMemoryTerm::new(LINES, columns);
    terminal.write_str(written).unwrap();
    terminal.contents().lines().map(str::to_owned).collect()
}

pub fn assert_shows(written: &str, words: &[&str]) {
    let lines = left_over(written, 100);
    for word in words {
        assert!(lines.iter().any(|line| line.contains(word)), "{word:?} is not in\n{}", lines.join("\n"));
    }
}

pub fn assert_cursor_is_shown(written: &str) {
    if let Some(hidden) = written.rfind("\x1b[?25l") {
        assert!(written.rfind("\x1b[?25h") > Some(hidden), "{written:?}");
    }
}
