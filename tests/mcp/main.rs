//! `tepa` with servers that speak the Model Context Protocol: what they offer, how they fail, and that nothing of them is left.

#![cfg(test)]
#![cfg(unix)]
#![cfg(feature = "mcp")]

mod http;
mod server;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{eventually, finish, gone, result_of, tepa, text};

/// Not a test of its own: the other tests start this binary again with this name and a part to play.
#[test]
fn server() {
    server::play();
}

/// Returns a configuration with one server called `own` that plays `part`.
fn playing(part: &str, more: &Value) -> Value {
    let mut server = json!({
        "command": std::env::current_exe().unwrap(),
        "args": ["--exact", "server", "--nocapture"],
        "env": {server::PART: part},
    });
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"mcpServers": {"own": server}})
}

fn folder(config: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mcp.json"), config.to_string()).unwrap();
    folder
}

fn tools(folder: &Path, arguments: &[&str]) -> Output {
    finish(tepa(folder).arg("tools").args(arguments).args(["--config", "mcp.json"]))
}

fn call(folder: &Path, tool: &str, params: &Value) -> (Option<i32>, String, String) {
    let params = params.to_string();
    let output = tools(folder, &["call", tool, "--params", &params]);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Waits until the server that ran in `folder` is gone.
fn nothing_left(folder: &Path) {
    let pid = fs::read_to_string(folder.join("server.pid")).unwrap();
    eventually(|| gone(pid.trim()));
}

#[test]
fn the_tools_of_all_pages_are_listed_with_schema_and_effect() {
    let folder = folder(&playing("good", &json!({})));
    let output = tools(folder.path(), &["list", "--output", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let listed: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of_server: Vec<&Value> = listed.iter().filter(|tool| tool["source"] == "mcp:own").collect();
    let names: Vec<&str> = of_server.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "own__fail",
            "own__die",
            "own__hang",
            "own__huge",
            "own__picture",
            "own__refuse",
            "own__echo",
            "own__weird_name",
            "own__sum",
        ]
    );
    assert_eq!((&of_server[6]["effect"], &of_server[5]["effect"]), (&json!("reads"), &json!("writes")));
    assert_eq!(of_server[6]["inputSchema"]["definitions"]["Text"]["type"], "string");
    let warning = "warning: parameters of the tool `own__weird_name` are not checked";
    assert!(text(&output.stderr).starts_with(warning), "{}", text(&output.stderr));
    let output = tools(folder.path(), &["show", "own__echo"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("text (string, required)\n    What to say.")
            && shown.contains("times (number, optional)"),
        "{shown}"
    );
    nothing_left(folder.path());
}

#[test]
fn a_call_returns_text_structure_or_a_note() {
    let folder = folder(&playing("good", &json!({})));
    let returned = |tool: &str, params: Value| {
        let (code, out, err) = call(folder.path(), tool, &params);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    assert_eq!(returned("own__echo", json!({"text": "größe"})), "größe\n");
    assert_eq!(returned("own__sum", json!({"a": 1, "b": 2.5})), "{\n  \"sum\": 3.5\n}\n");
    assert!(returned("own__picture", json!({})).contains("\"bytes\": 5"));
    assert_eq!(returned("own__weird_name", json!({"a": 1})), "{\"a\":1}\n");
    nothing_left(folder.path());
}

#[test]
fn what_a_call_cannot_do_has_an_exit_code_of_its_own() {
    let folder = folder(&playing("good", &json!({})));
    for (tool, params, code, said) in [
        ("own__fail", json!({}), 1, "error: there is no such thing\n"),
        (
            "own__refuse",
            json!({}),
            1,
            "error: the MCP server `own` refused the call: not like this (code -32602)\n",
        ),
        ("own__die", json!({}), 1, "error: the MCP server `own` has ended with exit code 7: out of memory\n"),
        (
            "own__huge",
            json!({}),
            1,
            "error: the MCP server `own` answered with more than 16.8 MB: ask it for less\n",
        ),
        ("own__echo", json!({"times": 0}), 2, "error: Parameter validation failed: "),
        ("own__ehco", json!({}), 2, "error: unknown tool `own__ehco`\nhint: did you mean `own__echo`?\n"),
        ("own__echo", json!([]), 2, "error: what `--params` says is not a JSON object\n"),
    ] {
        let (found, _, err) = call(folder.path(), tool, &params);
        assert_eq!(found, Some(code), "{tool}: {err}");
        let err: String = err.split_inclusive('\n').filter(|line| !line.starts_with("warning: ")).collect();
        assert!(err.starts_with(said), "{tool}: {err}");
    }
    let output = tools(folder.path(), &["call", "own__fail", "--output", "json"]);
    assert_eq!(text(&output.stdout), "{\n  \"error\": \"there is no such thing\"\n}\n");
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_the_server_goes_on() {
    let mut config = playing("good", &json!({}));
    config["limits"] = json!({"toolTimeout": 300});
    let folder = folder(&config);
    let (code, _, err) = call(folder.path(), "own__hang", &json!({}));
    assert_eq!(code, Some(1));
    assert!(err.ends_with("error: Tool \"own__hang\" timed out after 300 ms\n"), "{err}");
    let calls = [("own__hang", json!({})), ("own__echo", json!({"text": "still here"}))];
    let output = run(folder.path(), &script(&calls, FAIL));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let logs = result_of(folder.path())["logs"].to_string();
    assert!(logs.contains("timed out after 300 ms") && logs.contains("\"completed\""), "{logs}");
    assert_eq!(fs::read_to_string(folder.path().join("cancelled")).unwrap(), "yes\n");
    nothing_left(folder.path());
}

#[test]
fn a_signal_ends_call_and_server() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = folder(&playing("stubborn", &json!({})));
        let mut command = tepa(folder.path());
        command.args(["tools", "call", "own__hang", "--config", "mcp.json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually(|| folder.path().join("called").exists().then_some(()));
        finish(std::process::Command::new("kill").args([format!("-{signal}"), child.id().to_string()]));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        nothing_left(folder.path());
    }
}

#[test]
fn a_server_that_does_not_start_is_no_verdict() {
    let folder = folder(&playing("dies", &json!({})));
    let output = tools(folder.path(), &["list"]);
    assert_eq!(output.status.code(), Some(4));
    let err = text(&output.stderr);
    for said in [
        "error: the MCP server `own` did not start\n",
        "  it ended with exit code 3\n",
        "  the end of its standard error:\n",
        "  | cannot find the licence\n",
        "hint: see `mcpServers.own`; `required: false` lets a run start without it\n",
    ] {
        assert!(err.contains(said), "{said}: {err}");
    }
}

#[test]
fn a_server_that_is_slow_or_not_there_or_misnames_its_tools_does_not_start() {
    let no_program = json!({"mcpServers": {"own": {"command": "no-such-program"}}});
    for (config, said) in [
        (playing("sleeps", &json!({"startupTimeout": 200})), "  it did not answer within 200 ms\n"),
        (
            playing("clash", &json!({})),
            "  its tools `weird.name` and `weird/name` would both be called `own__weird_name`\n",
        ),
        (playing("long", &json!({})), "which is longer than the 64 characters that models can call\n"),
        (no_program, "  cannot start `no-such-program`: "),
    ] {
        let folder = folder(&config);
        let output = tools(folder.path(), &["list"]);
        assert_eq!(output.status.code(), Some(4));
        assert!(text(&output.stderr).contains(said), "{said}: {}", text(&output.stderr));
        if folder.path().join("server.pid").exists() {
            nothing_left(folder.path());
        }
    }
}

#[test]
fn a_server_that_is_not_required_is_missed_with_a_warning() {
    let folder = folder(&playing("dies", &json!({"required": false})));
    let output = tools(folder.path(), &["list"]);
    assert_eq!(output.status.code(), Some(0));
    let err = text(&output.stderr);
    assert!(
        err.starts_with(
            "warning: the MCP server `own` did not start, and the run goes on without its tools: "
        ),
        "{err}"
    );
    assert!(text(&output.stdout).contains("file_read") && !text(&output.stdout).contains("own__"));
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let folder = folder(&playing("good", &json!({"args": ["${NO_SUCH_VARIABLE}"]})));
    let output = tools(folder.path(), &["list"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: cannot fill in `args` of the MCP server `own`: the variable `NO_SUCH_VARIABLE` is not set\n"
    );
}

const PROMPT: &str = "goal: Say hello.\ncontext: {}\nexpectedOutput: It is said.\n";

fn run(folder: &Path, script: &str) -> Output {
    fs::write(folder.join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.join("replay.yaml"), script).unwrap();
    let arguments =
        ["run", "prompt.yaml", "--replay", "replay.yaml", "--config", "mcp.json", "--max-cycles", "1"];
    finish(tepa(folder).args(arguments))
}

#[test]
fn the_time_of_a_run_is_also_that_of_its_servers() {
    let folder = folder(&playing("sleeps", &json!({"startupTimeout": "10m"})));
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("replay.yaml"), script(&[], FAIL)).unwrap();
    for command in ["run", "plan"] {
        let arguments = ["prompt.yaml", "--replay", "replay.yaml", "--config", "mcp.json"];
        let output = finish(tepa(folder.path()).arg(command).args(arguments).args(["--timeout", "1s"]));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        let words = "error: the time of the run was gone before it began: servers took 1.0 s\nhint: ";
        assert!(stderr.contains(words), "{stderr}");
        assert!(!folder.path().join(".tepa").exists(), "something ran");
        if folder.path().join("server.pid").exists() {
            nothing_left(folder.path());
        }
    }
}

/// Returns the replies of a run with a step for each call.
fn script(calls: &[(&str, Value)], judged: &str) -> String {
    let step = |(at, (tool, _)): (usize, &(&str, Value))| json!({"id": format!("s{at}"), "description": "d", "tools": [tool], "expectedOutcome": "e", "dependencies": []});
    let steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
    let mut replies = vec![
        json!({"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 1, "steps": steps}}),
        json!({"stage": "evaluator", "json": serde_json::from_str::<Value>(judged).unwrap()}),
    ];
    replies.extend(calls.iter().enumerate().map(|(at, (tool, params))| {
        json!({"stage": "step", "step": format!("s{at}"), "tool": tool, "toolUse": params})
    }));
    json!({"format": "tepa.replay/1", "replies": replies}).to_string()
}

const PASS: &str = r#"{"verdict": "pass", "confidence": 0.9, "summary": "done"}"#;
const FAIL: &str = r#"{"verdict": "fail", "confidence": 0.9, "feedback": "no"}"#;

#[test]
fn a_run_calls_a_servers_tool_and_leaves_nothing_of_it() {
    let folder = folder(&playing("stubborn", &json!({})));
    let output = run(folder.path(), &script(&[("own__echo", json!({"text": "hello"}))], PASS));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    nothing_left(folder.path());
    let events = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    let events = fs::read_to_string(events.join("events.jsonl")).unwrap();
    assert!(events.contains("\"output\":\"hello\"") && events.contains("\"code\":\"tools\""), "{events}");
    assert!(!text(&output.stderr).contains("instructions that belong"), "{}", text(&output.stderr));
}

#[test]
fn a_signal_while_servers_start_ends_them_and_nothing_began() {
    let folder = folder(&playing("sleeps", &json!({})));
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), script(&[], PASS)).unwrap();
    let mut command = tepa(folder.path());
    command.args(["run", "prompt.yaml", "--provider", "replay", "--config", "mcp.json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started =
        || fs::read_to_string(folder.path().join("server.pid")).ok().filter(|pid| pid.ends_with('\n'));
    eventually(started);
    finish(std::process::Command::new("kill").args(["-INT".to_owned(), child.id().to_string()]));
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(130), "error: interrupted by SIGINT\n".to_owned())
    );
    assert!(!folder.path().join(".tepa/runs").exists());
    nothing_left(folder.path());
}

#[test]
fn a_run_that_cannot_begin_after_all_leaves_no_server() {
    let folder = folder(&playing("stubborn", &json!({})));
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), script(&[], PASS)).unwrap();
    // Records cannot be made where a file is in their place.
    fs::write(folder.path().join(".tepa"), "").unwrap();
    let arguments = ["run", "prompt.yaml", "--provider", "replay", "--config", "mcp.json"];
    let output = finish(tepa(folder.path()).args(arguments));
    assert!(matches!(output.status.code(), Some(2 | 4)), "{}", text(&output.stderr));
    nothing_left(folder.path());
}

#[test]
fn a_server_that_dies_fails_the_step_with_its_last_words() {
    let folder = folder(&playing("good", &json!({})));
    let output = run(folder.path(), &script(&[("own__die", json!({}))], FAIL));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let logs = result_of(folder.path())["logs"].to_string();
    assert!(logs.contains("the MCP server `own` has ended with exit code 7: out of memory"), "{logs}");
}

#[test]
fn a_run_does_not_begin_without_a_server_that_it_needs() {
    let folder = folder(&playing("dies", &json!({})));
    let output = run(folder.path(), &script(&[("own__echo", json!({"text": "hello"}))], PASS));
    assert_eq!(output.status.code(), Some(4));
    assert!(!folder.path().join(".tepa/runs").exists());
}
