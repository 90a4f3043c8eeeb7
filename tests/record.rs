//! Records runs and replays the recordings: the same result again, whichever way the run ended.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{eventually, example, finish, hashes, result_of, tepa, text};

const PROMPT: &str = "goal: Say something.\ncontext: {}\nexpectedOutput: Something said.\n";

const FAIL: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: write it, tools: [file_write], expectedOutcome: written, dependencies: []}]}
    usage: {input: 90, output: 30, cached: 40, cacheWrite: 5}
  - {stage: step, step: one, tool: file_write, toolUse: {path: said.txt, content: "said: \"no\"\n"}, usage: {input: 20, output: 10}}
  - {stage: evaluator, text: "I would rather not say", usage: {input: 7, output: 3}}
  - {stage: evaluator, json: {verdict: fail, confidence: 0.5, feedback: not loud enough}, usage: {input: 9, output: 4}}
"#;

const SHELL: &str = r"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: run it, tools: [shell_execute], expectedOutcome: done, dependencies: []}]}
  - {stage: step, step: one, tool: shell_execute, toolUse: {command: COMMAND}}
  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: done}}
";

fn folder(replies: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    folder
}

fn run(folder: &Path, prompt: &str) -> Command {
    let mut command = tepa(folder);
    command.args(["run", prompt, "--provider", "replay"]);
    command
}

/// Returns a result without what differs from run to run.
fn comparable(folder: &Path) -> Value {
    let mut result = result_of(folder);
    result["runId"] = Value::Null;
    result["durationMs"] = Value::Null;
    for entry in result["logs"].as_array_mut().unwrap() {
        entry["timestamp"] = Value::Null;
        entry["durationMs"] = Value::Null;
    }
    result
}

/// Runs `prompt` in `here` with a recording `file`, then in `there` on nothing but the recording; asserts that both end the same way.
fn assert_replays(here: &Path, there: &Path, prompt: &str, file: &str, arguments: &[&str], code: i32) {
    let recorded = finish(run(here, prompt).args(["--record", file]).args(arguments));
    assert_eq!(recorded.status.code(), Some(code), "{}", text(&recorded.stderr));
    fs::copy(here.join(file), there.join(file)).unwrap();
    let replayed = finish(run(there, prompt).args(["--replay", file]).args(arguments));
    assert_eq!(replayed.status.code(), Some(code), "{file}: {}", text(&replayed.stderr));
    assert_eq!(replayed.stdout, recorded.stdout);
    assert_eq!(comparable(there), comparable(here), "{file}");
}

fn assert_no_draft(folder: &Path) {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let drafts: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".tepa-")).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn a_recording_of_the_example_gives_the_same_result() {
    for file in ["out.yaml", "out.jsonl"] {
        let (here, there) = (example(), example());
        fs::remove_file(there.path().join("prompts/task.replay.yaml")).unwrap();
        assert_replays(here.path(), there.path(), "prompts/task.yaml", file, &[], 0);
        let result = result_of(there.path());
        assert_eq!((&result["status"], &result["tokensUsed"]), (&json!("pass"), &json!(37282)));
        assert_eq!(hashes(&result).len(), 4);
        assert_no_draft(here.path());
    }
}

#[test]
fn a_run_that_does_not_pass_is_recorded_as_well() {
    for (arguments, code) in [(["--max-cycles", "1"], 1), (["--max-tokens", "145"], 3)] {
        for file in ["out.yaml", "out.jsonl"] {
            let (here, there) = (folder(FAIL), folder(""));
            assert_replays(here.path(), there.path(), "prompt.yaml", file, &arguments, code);
            assert_no_draft(here.path());
        }
    }
}

#[test]
fn a_run_that_is_interrupted_is_recorded_as_far_as_it_came() {
    let here = folder(&SHELL.replace("COMMAND", "echo > begun; sleep 300"));
    let mut command = run(here.path(), "prompt.yaml");
    command.args(["--record", "out.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    eventually(|| here.path().join("begun").exists().then_some(()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let recording = fs::read_to_string(here.path().join("out.yaml")).unwrap();
    let recording = tepa::source::parse_yaml_value(&recording, 1000).unwrap();
    let replies = recording["replies"].as_array().unwrap();
    let stages: Vec<_> = replies.iter().map(|reply| (&reply["stage"], &reply["tool"])).collect();
    assert_eq!(stages, [(&json!("planner"), &Value::Null), (&json!("step"), &json!("shell_execute"))]);
    assert_eq!(result_of(here.path())["exitCode"], 130);
    assert_no_draft(here.path());
}

#[test]
fn a_path_that_cannot_be_written_is_found_before_the_run() {
    for path in ["no/such/folder/out.yaml", "."] {
        let here = folder(FAIL);
        let output = finish(run(here.path(), "prompt.yaml").args(["--record", path]));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("`{path}`")) && stderr.contains("hint: "), "{stderr}");
        assert_eq!(text(&output.stdout), "");
        assert_eq!(fs::read_dir(here.path()).unwrap().count(), 2, "something ran or was left behind");
    }
}

#[test]
fn a_recording_that_cannot_be_written_in_the_end_is_no_pass() {
    let here = folder(&SHELL.replace("COMMAND", "rm -r kept"));
    fs::create_dir(here.path().join("kept")).unwrap();
    let Output { status, stdout, stderr } =
        finish(run(here.path(), "prompt.yaml").args(["--record", "kept/out.yaml"]));
    let stderr = text(&stderr);
    assert_eq!(status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("cannot write the recording `kept/out.yaml`"), "{stderr}");
    assert!(!text(&stdout).contains("done"), "what was passed is not what is reported");
    let result = result_of(here.path());
    assert_eq!((&result["status"], &result["exitCode"]), (&Value::Null, &json!(4)));
}
