//! Lists of runs and tools, and one run as it was, as a person sees them at any width and a program whole.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use console::measure_text_width;
use serde_json::Value;
use tempfile::TempDir;

use screen::Terminal;
use support::{example, finish, result_of, tepa, text};

const RUN: [&str; 5] = ["-q", "run", "prompts/task.yaml", "--provider", "replay"];

/// Returns a folder in which the example was run.
fn recorded() -> TempDir {
    let folder = example();
    assert_eq!(finish(tepa(folder.path()).args(RUN)).status.code(), Some(0));
    folder
}

fn said(folder: &Path, line: &str) -> (i32, String, String) {
    let output = finish(tepa(folder).args(line.split(' ')).env("TZ", "UTC"));
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn lists_have_heads_fit_every_terminal_and_are_whole_in_a_pipe() {
    let folder = recorded();
    let (_, list, _) = said(folder.path(), "runs list");
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("RUN ") && lines[0].ends_with("  GOAL"), "{list}");
    let id = result_of(folder.path())["runId"].as_str().unwrap().to_owned();
    assert!(lines[1].starts_with(&format!("{id}  ")), "{list}");
    assert!(lines[1].contains("  pass  ") && lines[1].ends_with("is below 70 percent."), "{list}");
    for line in ["runs list", "tools list"] {
        for columns in [40, 80, 120, 200] {
            let (code, written) = Terminal::run(folder.path(), columns, &format!("exec $TEPA {line}")).end();
            assert_eq!(code, 0);
            let shown: Vec<String> =
                written.lines().map(|line| console::strip_ansi_codes(line.trim_end()).into_owned()).collect();
            assert!(shown.len() > 1, "{written}");
            for line in &shown {
                assert!(measure_text_width(line) <= usize::from(columns), "{columns}: {line}");
            }
        }
    }
    let (_, written) = Terminal::run(folder.path(), 80, "exec $TEPA runs list").end();
    assert!(written.contains(&format!("{}  ", &id[..13])) && !written.contains(&id), "{written}");
    assert!(written.contains("\x1b[32mpass"), "{written}");
}

#[test]
fn a_list_of_nothing_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        said(folder.path(), "runs list"),
        (0, String::new(), "no run is recorded under `.tepa/runs`\n".to_owned())
    );
}

#[test]
fn the_time_of_a_run_is_that_of_the_clock_here() {
    let folder = recorded();
    let began = |zone: &str| {
        let output = finish(tepa(folder.path()).args(["runs", "show", "latest"]).env("TZ", zone));
        let shown = text(&output.stdout);
        shown.lines().find(|line| line.starts_with("  began")).unwrap().to_owned()
    };
    assert!(began("UTC0").ends_with(" +00:00"), "{}", began("UTC0"));
    assert!(began("XYZ-5:30").ends_with(" +05:30"), "{}", began("XYZ-5:30"));
}

#[test]
fn a_run_is_shown_with_its_end_first_and_all_that_happened() {
    let folder = recorded();
    let (code, shown, error) = said(folder.path(), "runs show latest");
    assert_eq!((code, error.as_str()), (0, ""));
    let id = result_of(folder.path())["runId"].as_str().unwrap().to_owned();
    assert!(shown.starts_with(&format!("run {id}  pass\n  goal      Write a progress report")), "{shown}");
    for words in [
        "\n  began     20",
        " · exit 0\n",
        "2 cycles · ",
        "[cycle 1] plan: 11 steps",
        "[cycle 1][step step_8](file_write) ✓ completed",
        "✗ check exists out/class-5b/flagged-students.csv",
        "✓ criterion C7",
        "[cycle 2] ✓ pass with confidence",
        "artifacts\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let (_, json, _) = said(folder.path(), "runs show latest --output json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, result_of(folder.path()));
    for columns in [40, 100] {
        let (code, written) =
            Terminal::run(folder.path(), columns, "exec $TEPA --color never runs show latest").end();
        assert_eq!(code, 0);
        let lines: Vec<&str> = written.lines().map(str::trim_end).collect();
        assert!(lines.contains(&"cycle 2"), "{written}");
        assert!(lines[1..].iter().all(|line| measure_text_width(line) <= usize::from(columns)), "{written}");
    }
    let (code, _, error) = said(folder.path(), "runs show 7");
    assert_eq!(code, 2, "{error}");
}

#[test]
fn a_run_that_never_ended_is_shown_as_such() {
    let folder = recorded();
    let run = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(run.join("result.json")).unwrap();
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    // Killed in the middle of a step, in the middle of a line.
    let end = events.find(r#""type":"step.completed""#).unwrap();
    fs::write(run.join("events.jsonl"), &events[..end]).unwrap();
    let (code, shown, _) = said(folder.path(), "runs show latest");
    assert_eq!(code, 0);
    let head = shown.lines().next().unwrap();
    assert!(head.ends_with("  lost: it never ended: its process is gone"), "{shown}");
    assert!(shown.contains("– not finished\n") && !shown.contains("took"), "{shown}");
    let (code, out, error) = said(folder.path(), "runs show latest --output json");
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("has no result: its process is gone"), "{error}");
    let (_, list, _) = said(folder.path(), "runs list");
    assert!(list.contains("  lost  "), "{list}");
}

/// Returns the folder of the one run that is recorded.
fn only_run(folder: &Path) -> PathBuf {
    fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_record_that_is_no_regular_file_is_refused_and_waited_for_by_nobody() {
    let folder = recorded();
    let events = only_run(folder.path()).join("events.jsonl");
    let result = events.with_file_name("result.json");
    fs::remove_file(&result).unwrap();
    assert!(Command::new("mkfifo").arg(&result).status().unwrap().success());
    let (_, list, _) = said(folder.path(), "runs list");
    assert!(list.contains("  pass  "), "{list}");
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let zero = |path: &Path| symlink("/dev/zero", path).unwrap();
    for make in [&pipe as &dyn Fn(&Path), &zero] {
        fs::remove_file(&events).unwrap();
        make(&events);
        assert_eq!(said(folder.path(), "runs list").1, "");
        for line in ["runs show latest", "runs report latest", "runs plan latest", "runs evaluate latest"] {
            let (code, out, error) = said(folder.path(), line);
            assert_eq!((code, out.as_str()), (2, ""), "{line}");
            assert!(error.contains("`events.jsonl` is not a regular file"), "{line}: {error}");
        }
        let mut asking = tepa(folder.path());
        asking.args(["--", "tepa", "runs", "show", ""]);
        let asked = finish(asking.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3"));
        assert_eq!(asked.status.code(), Some(0));
        assert!(!text(&asked.stdout).contains("latest"));
    }
}

#[test]
fn the_end_of_a_run_has_one_source() {
    let folder = recorded();
    let run = only_run(folder.path());
    let forged = r#"{"status":"fail"}"#;
    for change in [None, Some(forged)] {
        let result = run.join("result.json");
        match change {
            None => fs::remove_file(&result).unwrap(),
            Some(text) => fs::write(&result, text).unwrap(),
        }
        let (_, shown, _) = said(folder.path(), "runs show latest");
        assert!(shown.lines().next().unwrap().ends_with("  pass"), "{shown}");
        let (_, json, _) = said(folder.path(), "runs show latest --output json");
        assert!(json.contains(r#""status": "pass""#), "{json}");
        let (_, list, _) = said(folder.path(), "runs list");
        assert!(list.contains("  pass  "), "{list}");
    }
}

#[test]
fn no_value_looks_like_another_row() {
    let folder = recorded();
    let run = only_run(folder.path());
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let head = r#""type":"run.started","#;
    let start = events.find(head).unwrap() + head.len();
    let session = r#""session":"x\n  took      forged\n\u001b[2Jforged  pass","#;
    let forged = format!("{}{session}{}", &events[..start], &events[start..]);
    fs::write(run.join("events.jsonl"), forged).unwrap();
    let config = "pricing: {\"a\\nforged\": {input: 1, output: 1}}\nevents: {preStep: [{command: [\"no\\nforged\"]}]}\n\
        customTools: [{name: deploy, description: \"d\\rforged\", command: [\"true\"]}]\n";
    fs::write(folder.path().join("ci.yaml"), config).unwrap();
    for line in [
        "runs list",
        "runs show latest",
        "config --config ci.yaml",
        "tools list --config ci.yaml",
        "tools show deploy --config ci.yaml",
        "doctor --config ci.yaml",
    ] {
        let (_, shown, error) = said(folder.path(), line);
        assert!(shown.contains("forged"), "{line}: {shown}{error}");
        let starts =
            |row: &str| row.trim_start().starts_with("forged") || row.starts_with("  took      forged");
        assert!(!shown.split(['\n', '\r']).any(starts) && !shown.contains('\u{1b}'), "{line}: {shown}");
    }
}
