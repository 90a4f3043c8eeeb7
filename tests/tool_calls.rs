//! `tepa tools` by hand: what goes in, what comes out on which stream, and each exit code.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{eventually, finish, gone, tepa, text};

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "größe\n").unwrap();
    let own = json!({"customTools": [{"name": "deploy", "description": "Deploys. Then rests.", "effect": "reads",
        "command": ["sh", "-c", "sleep 300 & echo $! > pid; wait"]}], "denyTools": ["log_observe"]});
    fs::write(folder.path().join("own.json"), own.to_string()).unwrap();
    folder
}

fn tools(folder: &Path, arguments: &[&str]) -> Output {
    finish(tepa(folder).arg("tools").args(arguments))
}

#[test]
fn a_call_prints_text_as_it_is_and_the_rest_as_json() {
    let folder = folder();
    let read = tools(folder.path(), &["call", "file_read", "--params", r#"{"path": "a.txt"}"#]);
    assert_eq!((read.status.code(), text(&read.stdout)), (Some(0), "größe\n".to_owned()));
    let read =
        tools(folder.path(), &["call", "file_read", "--params", r#"{"path": "a.txt"}"#, "--output", "json"]);
    assert_eq!(text(&read.stdout), "\"größe\\n\"\n");
    let written =
        tools(folder.path(), &["call", "file_write", "--params", r#"{"path": "b/c", "content": "x"}"#]);
    assert_eq!(
        serde_json::from_slice::<Value>(&written.stdout).unwrap(),
        json!({"path": "b/c", "bytesWritten": 1})
    );
    assert_eq!(
        (text(&written.stderr), fs::read_to_string(folder.path().join("b/c")).unwrap()),
        ("wrote b/c\n".into(), "x".into())
    );
}

#[test]
fn parameters_come_from_the_command_line_a_file_or_standard_input() {
    let folder = folder();
    let params = r#"{"path": "a.txt"}"#;
    fs::write(folder.path().join("params.json"), params).unwrap();
    let from_file = tools(folder.path(), &["call", "file_read", "--params", "@params.json"]);
    assert_eq!(text(&from_file.stdout), "größe\n");
    let mut command = tepa(folder.path());
    command.args(["tools", "call", "file_read", "--params", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(params.as_bytes()).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "größe\n");
}

#[test]
fn every_end_has_its_exit_code() {
    let folder = folder();
    let config = ["--config", "own.json"];
    for (arguments, code, said) in [
        (&["call", "file_read", "--params", r#"{"path": "none"}"#][..], 1, "error: `none` does not exist\n"),
        (
            &["call", "file_read"],
            2,
            "error: Parameter validation failed: path: Required\nhint: `tepa tools show file_read` has the parameters\n",
        ),
        (&["call", "file_reed"], 2, "error: unknown tool `file_reed`\nhint: did you mean `file_read`?\n"),
        (&["call", "file_read", "--params", "{path"], 2, "error: what `--params` says is not JSON\n"),
        (&["call", "file_read", "--params", "[]"], 2, "error: what `--params` says is not a JSON object\n"),
        (&["call", "file_read", "--params", "@none.json"], 2, "error: cannot read `none.json`\n"),
        (&["call", "log_observe"], 2, "error: the tool `log_observe` is not one that a run has here\n"),
        (&["show", "deplox"], 2, "error: unknown tool `deplox`\nhint: did you mean `deploy`?\n"),
    ] {
        let output = finish(tepa(folder.path()).arg("tools").args(arguments).args(config));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with(said), "{arguments:?}: {}", text(&output.stderr));
    }
    let failed =
        tools(folder.path(), &["call", "file_read", "--params", r#"{"path": "none"}"#, "--output", "json"]);
    assert_eq!(
        serde_json::from_slice::<Value>(&failed.stdout).unwrap(),
        json!({"error": "`none` does not exist"})
    );
}

#[test]
fn a_list_says_where_each_tool_comes_from() {
    let folder = folder();
    let list = tools(folder.path(), &["list", "--config", "own.json"]);
    let list = text(&list.stdout);
    assert!(
        list.contains("\ndeploy          custom    Deploys\n") && !list.contains("log_observe"),
        "{list}"
    );
    let show = tools(folder.path(), &["show", "deploy", "--config", "own.json", "--output", "json"]);
    let shown: Value = serde_json::from_slice(&show.stdout).unwrap();
    assert_eq!((&shown["effect"], &shown["source"]), (&json!("reads"), &json!("custom")));
    assert_eq!(shown["inputSchema"]["type"], "object");
    // A variable that is set to nothing says nothing.
    let output = finish(tepa(folder.path()).args(["tools", "list"]).env("TEPA_CONFIG", ""));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = finish(tepa(folder.path()).args(["tools", "list"]).env("TEPA_CONFIG", "own.json"));
    assert!(text(&output.stdout).contains("deploy"));
}

#[test]
fn what_is_secret_is_not_printed() {
    let folder = folder();
    fs::write(folder.path().join("a.txt"), "key: sk-test-0123456789").unwrap();
    let arguments = ["tools", "call", "file_read", "--params", r#"{"path": "a.txt"}"#];
    let output = finish(tepa(folder.path()).args(arguments).env("OPENAI_API_KEY", "sk-test-0123456789"));
    assert_eq!(text(&output.stdout), "key: ***\n");
}

#[test]
fn a_signal_ends_a_command_with_its_children() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = folder();
        let mut command = tepa(folder.path());
        command.args(["tools", "call", "deploy", "--config", "own.json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = eventually(|| {
            let line = fs::read_to_string(folder.path().join("pid")).ok()?;
            line.strip_suffix('\n').map(str::to_owned)
        });
        finish(std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        eventually(|| gone(&pid));
    }
}
