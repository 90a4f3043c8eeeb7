//! What is done with records of runs afterwards: shown again as it happened, and removed.

#![cfg(test)]
#![cfg(unix)]

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

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

/// Writes a record.
fn write(events: &Path, lines: &[Value]) {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(events, lines.join("\n") + "\n").unwrap();
}

/// Changes the lines of a record.
fn change(events: &Path, change: impl FnOnce(&mut Vec<Value>)) {
    let text = fs::read_to_string(events).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut lines);
    write(events, &lines);
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
        command
            .args(["-q", "runs", "replay", "latest", "--output", "jsonl"])
            .stdout(full)
            .stderr(Stdio::null());
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

/// Status and reason of a run; nothing where it never ended.
type End = Option<(&'static str, &'static str)>;

/// Puts old runs beside the one that is recorded: each with its id and how it ended.
fn shelf(folder: &Path, runs: &[(&str, End)]) {
    let record = fs::read_to_string(events(folder)).unwrap();
    let (started, ended) = (record.lines().next().unwrap(), record.lines().last().unwrap());
    for (id, end) in runs {
        let mut lines: Vec<Value> = vec![serde_json::from_str(started).unwrap()];
        lines[0]["ts"] = "2020-01-01T00:00:00Z".into();
        if let Some((status, reason)) = end {
            let mut ended: Value = serde_json::from_str(ended).unwrap();
            ended["result"]["reason"] = (*reason).into();
            ended["result"]["status"] = (*status).into();
            lines.push(ended);
        }
        let run = folder.join(".tepa/runs").join(id);
        fs::create_dir(&run).unwrap();
        write(&run.join("events.jsonl"), &lines);
    }
}

/// Returns what lies where runs are recorded, sorted.
fn kept(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(".tepa/runs")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const PASS: End = Some(("pass", "passed"));

/// Returns a folder with three old runs, `0001` to `0003`, and the new one of which the id is returned.
fn four_runs() -> (TempDir, String) {
    let folder = recorded();
    let new = kept(folder.path()).remove(0);
    shelf(folder.path(), &[("0001", PASS), ("0002", PASS), ("0003", PASS)]);
    (folder, new)
}

#[test]
fn old_runs_go_with_all_that_is_in_their_folders() {
    let (folder, new) = four_runs();
    let outputs = folder.path().join(".tepa/runs/0001/outputs/deep");
    fs::create_dir_all(&outputs).unwrap();
    fs::write(outputs.join("out.txt"), [b'x'; 4096]).unwrap();
    let (code, out, error) = said(folder.path(), "runs gc");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("hint: say how many stay, such as `--keep 20`"), "{error}");
    let (code, out, lines) = said(folder.path(), "runs gc --keep 2 --dry-run");
    assert_eq!(code, 0);
    assert!(out.starts_with("would remove 2 runs: "), "{out}");
    assert!(lines.starts_with("would remove 0002 (20") && lines.contains("\nwould remove 0001 ("), "{lines}");
    assert_eq!(kept(folder.path()), ["0001", "0002", "0003", &new]);
    // Both have to hold.
    assert_eq!(
        said(folder.path(), "runs gc --keep 2 --older-than 10000d").1,
        "removed 0 runs: 0 B are free again\n"
    );
    let (code, out, lines) = said(folder.path(), "runs gc --keep 3 --older-than 30d");
    assert_eq!(code, 0, "{lines}");
    assert!(out.starts_with("removed 1 run: ") && out.ends_with("kB are free again\n"), "{out}");
    assert!(lines.starts_with("removed 0001 (20") && lines.contains(", pass, "), "{lines}");
    assert_eq!(kept(folder.path()), ["0002", "0003", &new]);
    let (code, json, lines) = said(folder.path(), "-q runs gc --older-than 30d --output json");
    assert_eq!((code, lines.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["runs"], serde_json::json!(["0003", "0002"]));
    assert!(json["bytes"].as_u64().unwrap() > 1000 && json["dryRun"] == false, "{json}");
    assert_eq!(kept(folder.path()), [new.as_str()]);
    assert_eq!(said(folder.path(), "runs gc --keep 0").0, 0);
    assert_eq!(kept(folder.path()), [""; 0]);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(said(empty.path(), "runs gc --keep 0").1, "removed 0 runs: 0 B are free again\n");
}

#[test]
fn what_is_under_way_always_stays_and_what_could_be_resumed_unless_it_is_said() {
    let (folder, new) = four_runs();
    let resumable = [
        ("0004", None),
        ("0005", Some(("terminated", "interrupted"))),
        ("0006", Some(("terminated", "token_budget"))),
        ("0007", None),
        ("0008", Some(("fail", "max_cycles"))),
    ];
    shelf(folder.path(), &resumable);
    let held = |id: &str| {
        let file = fs::File::open(folder.path().join(".tepa/runs").join(id).join("events.jsonl")).unwrap();
        file.lock().unwrap();
        file
    };
    // One that has a verdict may still be writing what it leaves behind.
    let _held = [held("0003"), held("0007")];
    assert_eq!(said(folder.path(), "runs gc --keep 0").0, 0);
    assert_eq!(kept(folder.path()), ["0003", "0004", "0005", "0006", "0007"]);
    assert!(!kept(folder.path()).contains(&new));
    assert_eq!(said(folder.path(), "runs gc --keep 0 --resumable").0, 0);
    assert_eq!(kept(folder.path()), ["0003", "0007"]);
}

#[test]
fn what_is_no_record_stays_and_no_link_is_followed() {
    use std::os::unix::fs::symlink;
    let (folder, _) = four_runs();
    let runs = folder.path().join(".tepa/runs");
    let elsewhere = tempfile::tempdir().unwrap();
    for name in ["run", "outputs"] {
        fs::create_dir(elsewhere.path().join(name)).unwrap();
        fs::copy(runs.join("0001/events.jsonl"), elsewhere.path().join(name).join("events.jsonl")).unwrap();
    }
    symlink(elsewhere.path().join("outputs"), runs.join("0001/outputs")).unwrap();
    symlink(elsewhere.path().join("run"), runs.join("a-link")).unwrap();
    fs::create_dir(runs.join("mine")).unwrap();
    fs::write(runs.join("mine/notes.txt"), "mine").unwrap();
    fs::create_dir(runs.join("linked")).unwrap();
    symlink(elsewhere.path().join("run/events.jsonl"), runs.join("linked/events.jsonl")).unwrap();
    fs::create_dir(runs.join("other")).unwrap();
    fs::write(runs.join("other/events.jsonl"), "no event\n").unwrap();
    fs::write(runs.join("file"), "").unwrap();
    let (code, _, lines) = said(folder.path(), "runs gc --keep 0 --resumable");
    assert_eq!(code, 0, "{lines}");
    assert_eq!(kept(folder.path()), ["a-link", "file", "linked", "mine", "other"]);
    for name in ["run", "outputs"] {
        assert!(elsewhere.path().join(name).join("events.jsonl").is_file());
    }
    // A link in the place of the folder itself.
    let there = elsewhere.path().join("runs");
    fs::rename(&runs, &there).unwrap();
    symlink(&there, &runs).unwrap();
    fs::rename(elsewhere.path().join("run"), there.join("0001")).unwrap();
    let (code, _, error) = said(folder.path(), "runs gc --keep 0 --resumable");
    assert_eq!(code, 2, "{error}");
    assert!(there.join("0001/events.jsonl").is_file());
}

#[test]
fn a_run_that_cannot_be_removed_is_named_and_the_others_go() {
    let (folder, new) = four_runs();
    let runs = folder.path().join(".tepa/runs");
    // Deeper than this process may open folders, even for root.
    let deep = runs.join("0002/outputs").join("d/".repeat(100));
    fs::create_dir_all(deep).unwrap();
    let line = "ulimit -n 40; exec \"$0\" runs gc --keep 1 --output json";
    let mut command = support::program("sh", folder.path());
    let output = finish(command.args(["-c", line, support::TEPA]));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("error: cannot remove the run `0002`"), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["runs"], serde_json::json!(["0003", "0001"]));
    assert_eq!(json["failed"], serde_json::json!(["0002"]));
    // It is still a record, and goes when it can.
    assert_eq!(said(folder.path(), "runs gc --keep 1").0, 0);
    assert_eq!(kept(folder.path()), [new]);
}
