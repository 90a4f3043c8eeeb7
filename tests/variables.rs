//! Variables of a task, through the program: where values come from, what models are sent, and what is said of values that are not there.

#![cfg(test)]

mod support;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;

use support::{finish, tepa, text};

const TASK: &str = r#"
variables:
  topic: {description: what to write about}
  rows: {type: integer, default: 2}
  style-guide: {required: false}
  final: {type: boolean, default: false}
goal: "Write {{rows}} rows about {{topic}}, not {{ topic.other }} and not \\{{topic}}."
context: {guide: "{{style-guide}}", final: "{{final}}"}
expectedOutput:
  - {path: "{{topic}}.csv", description: d, checks: [csv: {minRows: "{{rows}}"}]}
"#;

/// A folder with the task and with replies that expect `sent` in what the planner is asked.
fn folder(task: &str, sent: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("task.yaml"), task).unwrap();
    let replies = serde_json::json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "expect": {"contains": sent}, "json": {"reasoning": "r", "estimatedTokens": 10, "steps": [
            {"id": "s1", "description": "w", "tools": ["file_write"], "expectedOutcome": "o", "dependencies": []}]}},
        {"stage": "step", "step": "s1", "tool": "file_write", "toolUse": {"path": "cats.csv", "content": "a\n1\n2\n3\n"}},
        {"stage": "evaluator", "json": {"verdict": "pass", "confidence": 0.9, "summary": "s", "criteria": []}},
    ]});
    fs::write(folder.path().join("task.replay.yaml"), replies.to_string()).unwrap();
    folder
}

fn run(folder: &Path, more: &[&str], variables: &[(&str, &str)]) -> Output {
    let arguments = ["run", "task.yaml", "--provider", "replay", "--max-cycles", "1"];
    finish(tepa(folder).args(arguments).args(more).envs(variables.iter().copied()))
}

fn ended(output: &Output, code: i32, words: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for words in words {
        assert!(stderr.contains(words), "{words}\n{stderr}");
    }
}

#[test]
fn the_model_is_sent_the_task_with_its_values_and_checks_have_them_with_their_type() {
    let sent = "Write 3 rows about cats, not {{ topic.other }} and not {{topic}}.";
    let folder = folder(TASK, &[sent, "no {{rows}}", "cats.csv"]);
    fs::write(folder.path().join("guide.txt"), "no {{rows}} in here\n").unwrap();
    let more = ["--var", "rows=3", "--var", "style-guide=@guide.txt"];
    ended(&run(folder.path(), &more, &[("TEPA_VAR_TOPIC", "cats"), ("TEPA_VAR_ROWS", "9")]), 0, &[]);
    let more = ["--var", "rows=4", "--no-journal"];
    let output = run(folder.path(), &more, &[("TEPA_VAR_TOPIC", "cats")]);
    assert_ne!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_check_counts_with_the_value() {
    let folder = folder(TASK, &["Write 4 rows"]);
    let output = run(folder.path(), &["--var", "rows=4", "--var", "topic=cats"], &[]);
    ended(&output, 1, &["at least 4"]);
}

#[test]
fn a_value_that_begins_with_an_at_sign_is_text() {
    let folder = folder(TASK, &["rows about @cats"]);
    let more = ["--var", "topic=@@cats"];
    assert!(!text(&run(folder.path(), &more, &[]).stderr).contains("does not contain"));
}

#[test]
fn values_that_are_not_there_are_all_named_with_how_to_give_them() {
    let task = TASK.replace("default: 2", "required: true");
    let folder = folder(&task, &[]);
    let output = run(folder.path(), &[], &[]);
    ended(
        &output,
        2,
        &[
            "2 variables cannot be filled in",
            "the variable `topic` has no value: what to write about",
            "the variable `rows` has no value",
            "`--var topic=VALUE --var rows=VALUE`, or by variables such as `TEPA_VAR_TOPIC`",
        ],
    );
    assert!(!folder.path().join(".tepa").exists());
}

#[test]
fn what_cannot_be_meant_ends_with_two() {
    let folder = folder(TASK, &[]);
    fs::write(folder.path().join("latin1"), b"caf\xe9").unwrap();
    for (more, words) in [
        (&["--var", "topik=x"][..], "the task has no variable `topik`\nhint: did you mean `topic`?"),
        (&["--var", "topic=x", "--var", "topic=y"], "`--var topic` is given twice"),
        (&["--var", "topic"], "NAME=VALUE"),
        (
            &["--var", "topic=x", "--var", "rows=many"],
            "`many` from `--var rows` is no value for the variable `rows`: expected a whole number",
        ),
        (&["--var", "topic=@no.txt"], "cannot read the value of `topic` from `no.txt`"),
        (&["--var", "topic=@latin1"], "it is not UTF-8 text"),
        (&["--var", "topic=../../x"], "outside the workspace"),
    ] {
        ended(&run(folder.path(), more, &[]), 2, &[words]);
    }
    let output = run(folder.path(), &["--var", "topic=x"], &[("TEPA_VAR_FINAL", "yes")]);
    ended(&output, 2, &["`yes` from `TEPA_VAR_FINAL` is no value for the variable `final`"]);
}

#[test]
fn a_variable_of_the_environment_that_nobody_declares_is_a_warning() {
    let folder = folder(TASK, &["about cats"]);
    let output = run(folder.path(), &["--var", "topic=cats"], &[("TEPA_VAR_ROW", "9")]);
    let words =
        "warning: `TEPA_VAR_ROW` is set, and the task has no such variable, did you mean `TEPA_VAR_ROWS`?";
    ended(&output, 0, &[words]);
}

#[test]
fn a_task_on_standard_input_takes_values_as_well() {
    let folder = folder(TASK, &["Write 2 rows about cats"]);
    let mut command = tepa(folder.path());
    command.args(["run", "-", "--replay", "task.replay.yaml", "--var", "topic=cats", "--max-cycles", "1"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(TASK.as_bytes()).unwrap();
    ended(&child.wait_with_output().unwrap(), 0, &[]);
}

#[test]
fn a_plan_belongs_to_the_task_as_it_was_filled() {
    let folder = folder(TASK, &["about cats"]);
    let plan = ["plan", "task.yaml", "--provider", "replay", "-o", "plan.json", "--var", "topic=cats"];
    ended(&finish(tepa(folder.path()).args(plan)), 0, &[]);
    let output = run(folder.path(), &["--plan", "plan.json", "--var", "topic=dogs"], &[]);
    ended(&output, 2, &["the prompt differs in `expectedOutput` and `goal`"]);
}
