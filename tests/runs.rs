//! What is done with records of runs afterwards: shown again as it happened, and removed.

#![cfg(test)]
#![cfg(unix)]

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use support::{example, finish, result_of, tepa, text};
use terminal::{Terminal, assert_cursor_is_shown, left_over};

const RUN: &str = "run prompts/task.yaml --provider replay";

fn call(folder: &Path, line: &str) -> Output {
    finish(tepa(folder).args(line.split(' ')))
}

/// Returns exit code, standard output and standard error.
fn said(folder: &Path, line: &str) -> (i32, String, String) {
    let output = call(folder, line);
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Returns a folder in which the example was run.
fn recorded() -> TempDir {
    let folder = example();
    assert_eq!(said(folder.path(), &format!("-q {RUN}")).0, 0);
    folder
}

/// Returns the file with the events of the one run that is recorded.
fn events(folder: &Path) -> PathBuf {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap();
    run.path().join("events.jsonl")
}

/// Changes the lines of a record.
fn change(events: &Path, change: impl FnOnce(&mut Vec<Value>)) {
    let text = fs::read_to_string(events).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    fs::write(events, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

/// Returns where the first event of a type stands.
fn first(lines: &[Value], kind: &str) -> usize {
    lines.iter().position(|line| line["type"] == kind).unwrap()
}

#[test]
fn a_run_is_shown_again_as_it_was_shown_and_is_no_run() {
    for level in ["minimal", "standard", "verbose"] {
        let folder = example();
        let shown = said(folder.path(), &format!("{RUN} --max-cycles 1 --log-level {level}"));
        assert_eq!(shown.0, 4, "{}", shown.2);
        let before = fs::read(events(folder.path())).unwrap();
        let again = said(folder.path(), &format!("runs replay latest --log-level {level}"));
        assert_eq!(again, (0, shown.1, shown.2));
        assert_eq!(fs::read(events(folder.path())).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path().join(".tepa/runs")).unwrap().count(), 1);
    }
}

#[test]
fn a_program_is_given_the_recorded_lines_or_the_result() {
    let folder = recorded();
    let (code, lines, error) = said(folder.path(), "-q runs replay latest --output jsonl");
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(lines, fs::read_to_string(events(folder.path())).unwrap());
    let (code, json, _) = said(folder.path(), "-q runs replay latest --output json");
    assert_eq!(code, 0);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), result_of(folder.path()));
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let mut command = tepa(folder.path());
        command.args(["-q", "runs", "replay", "latest", "--output", "jsonl"]).stdout(full);
        assert_eq!(command.status().unwrap().code(), Some(4));
    }
}

#[test]
fn a_terminal_shows_the_same_picture() {
    let folder = example();
    let (code, run) = Terminal::run(folder.path(), 100, &format!("exec $TEPA {RUN}")).end();
    assert_eq!(code, 0, "{run}");
    for speed in ["", " --speed 100"] {
        let replay = format!("exec $TEPA runs replay latest{speed}");
        let (code, replay) = Terminal::run(folder.path(), 100, &replay).end();
        assert_eq!(code, 0, "{replay}");
        assert_cursor_is_shown(&replay);
        assert_eq!(left_over(&replay, 100), left_over(&run, 100));
    }
}

#[test]
fn an_interrupt_ends_a_pause_and_leaves_the_terminal_clean() {
    let folder = recorded();
    change(&events(folder.path()), |lines| {
        let begun = first(lines, "step.completed");
        for line in &mut lines[begun..] {
            line["ts"] = "2100-01-01T00:00:00Z".into();
        }
    });
    let mut terminal = Terminal::run(folder.path(), 100, "exec $TEPA runs replay latest --speed 1");
    terminal.see("cycle 1");
    terminal.press(3);
    let (code, written) = terminal.end();
    assert_eq!(code, 130, "{written}");
    assert_cursor_is_shown(&written);
    let lines = left_over(&written, 100);
    assert!(lines.last().unwrap().contains("interrupted by SIGINT"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains(['⠋', '⠙', '⠹', '⠸', '⠼'])), "{lines:#?}");
}

#[test]
fn a_run_without_an_end_is_shown_as_far_as_it_came() {
    let folder = recorded();
    let file = events(folder.path());
    change(&file, |lines| lines.truncate(first(lines, "step.completed") + 2));
    let (code, out, shown) = said(folder.path(), "runs replay latest");
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(shown.contains("[cycle 1] plan: 11 steps"), "{shown}");
    assert!(shown.lines().last().unwrap().ends_with(" never ended: its process is gone"), "{shown}");
    let (code, out, error) = said(folder.path(), "runs replay latest --output json");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("has no result: its process is gone"), "{error}");
    let (code, written) = Terminal::run(folder.path(), 100, "exec $TEPA runs replay latest").end();
    let lines = left_over(&written, 100);
    assert_eq!(code, 0, "{written}");
    assert!(lines.iter().any(|line| line.contains("✓")), "{lines:#?}");
    assert!(lines.last().unwrap().ends_with("its process is gone"), "{lines:#?}");
    let record = fs::OpenOptions::new().write(true).open(&file).unwrap();
    record.lock().unwrap();
    let (code, _, shown) = said(folder.path(), "runs replay latest");
    assert_eq!(code, 0);
    assert!(shown.lines().last().unwrap().contains(" is under way"), "{shown}");
}

#[test]
fn every_attempt_of_a_run_is_shown() {
    let folder = recorded();
    change(&events(folder.path()), |lines| {
        let end = lines.last().unwrap().clone();
        let at = first(lines, "step.completed") + 1;
        let mut resumed = end.clone();
        let fields = resumed.as_object_mut().unwrap();
        fields.remove("result");
        fields.insert("type".into(), "run.resumed".into());
        fields.insert("version".into(), "0.1.0".into());
        fields.insert("spentMs".into(), 10.into());
        lines.splice(at..at, [end, resumed]);
    });
    let (code, out, shown) = said(folder.path(), "runs replay latest");
    assert_eq!(code, 0);
    assert_eq!(out.lines().count(), 1, "{out}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("pass")).count(), 2, "{shown}");
    let (code, written) =
        Terminal::run(folder.path(), 100, "exec $TEPA runs replay latest --speed 1000").end();
    assert_eq!(code, 0, "{written}");
    assert_cursor_is_shown(&written);
}

#[test]
fn what_became_a_secret_since_is_not_shown() {
    let folder = recorded();
    let known = "progress report";
    for line in ["runs replay latest", "-q runs replay latest --output jsonl"] {
        let mut command = tepa(folder.path());
        command.args(line.split(' ')).args(["--log-level", "verbose"]).env("OPENAI_API_KEY", known);
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(shown.contains("***") && !shown.contains(known), "{shown}");
    }
}

#[test]
fn a_record_that_cannot_be_read_and_a_speed_that_is_none_are_refused() {
    let folder = recorded();
    for speed in ["0", "-1", "fast", "inf", "NaN"] {
        let (code, _, error) = said(folder.path(), &format!("runs replay latest --speed={speed}"));
        assert_eq!(code, 2, "{speed}: {error}");
    }
    assert_eq!(said(folder.path(), "runs replay nobody").0, 2);
    fs::write(events(folder.path()), "no event\n").unwrap();
    let (code, out, error) = said(folder.path(), "runs replay latest");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("cannot use the record of the run `latest`"), "{error}");
}
