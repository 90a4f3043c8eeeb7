//! `tepa runs evaluate`: the work of a recorded run judged once more, on the files as they are now.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use support::{finish, tepa, text};

const PROMPT: &str = r"
goal: Write a greeting.
context: {}
expectedOutput:
  - path: hello.txt
    description: the greeting
    criteria: [It greets the world.]
    checks: [{contains: world}]
  - path: terms
    description: the terms
    checks: [{unchanged: true}]
";

const PLAN: &str = r"
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: s1, description: write it, tools: [file_write], expectedOutcome: written, dependencies: []}]}
    usage: {input: 10, output: 5}
  - stage: step
    step: s1
    tool: file_write
";

const JUDGE: &str = r###"
  - stage: evaluator
    expect: {contains: ["## s1: success", "\nhello"]}
    json: {verdict: pass, confidence: 0.9, summary: It greets., criteria: [{id: C1, verdict: pass, reason: it does, evidence: E1, quote: "hello, world"}]}
    usage: {input: 30, output: 15}
"###;

/// A folder in which a run has written `content` and was judged.
fn ran(content: &str, code: i32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::create_dir(folder.path().join("terms")).unwrap();
    fs::write(folder.path().join("terms/a"), "as agreed").unwrap();
    let replies = format!(
        "format: tepa.replay/1\nreplies:{PLAN}    toolUse: {{path: hello.txt, content: \"{content}\"}}\n{JUDGE}"
    );
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    fs::write(folder.path().join("judge.yaml"), format!("format: tepa.replay/1\nreplies:{JUDGE}")).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1"];
    let output = finish(tepa(folder.path()).args(run));
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    folder
}

fn evaluate(folder: &Path, run: &str, more: &[&str]) -> Output {
    let arguments = ["runs", "evaluate", run, "--provider", "replay", "--replay", "judge.yaml"];
    finish(tepa(folder).args(arguments).args(more))
}

fn ended(output: &Output, code: i32, words: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(words), "{stderr}");
}

fn runs(folder: &Path) -> Vec<String> {
    let runs = fs::read_dir(folder.join(".tepa/runs")).unwrap();
    let mut runs: Vec<String> = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).collect();
    runs.sort();
    runs
}

#[test]
fn a_run_is_judged_again_without_a_step_and_recorded_as_a_run_of_its_own() {
    let folder = ran("hello, world", 0);
    let first = runs(folder.path()).remove(0);
    let record = folder.path().join(".tepa/runs").join(&first).join("events.jsonl");
    let before = fs::read(&record).unwrap();
    let output = evaluate(folder.path(), &first[..13], &["--output", "jsonl"]);
    ended(&output, 0, &format!("[cycle 1] judging again what run {first} did: 1 step"));
    assert_eq!(fs::read(&record).unwrap(), before);
    assert_eq!(runs(folder.path()).len(), 2);
    let events: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    for absent in ["cycle.started", "plan.completed", "step.started", "tool.started"] {
        assert!(!types.contains(&absent), "{types:?}");
    }
    let result = &events.last().unwrap()["result"];
    assert_eq!(result["status"], "pass");
    assert_eq!(result["tokensUsed"], 45);
    assert_eq!(result["criteria"][0]["verdict"], "pass");
    // What was judged again can be judged again, and reported.
    ended(&evaluate(folder.path(), "latest", &[]), 0, "judging again");
    let report = finish(tepa(folder.path()).args(["runs", "report", "latest"]));
    assert!(text(&report.stdout).contains("| s1 | ✓"), "{}", text(&report.stdout));
}

#[test]
fn the_files_count_as_they_are_now() {
    let folder = ran("hello, moon", 1);
    ended(&evaluate(folder.path(), "latest", &[]), 1, "✗ check contains hello.txt");
    fs::write(folder.path().join("hello.txt"), "hello, world").unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 0, "✓ check contains hello.txt");
    fs::remove_file(folder.path().join("hello.txt")).unwrap();
    let unscripted = "format: tepa.replay/1\nreplies:".to_owned() + &JUDGE.replace(", \"\\nhello\"", "");
    fs::write(folder.path().join("judge.yaml"), unscripted).unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 1, "expected output \"hello.txt\" does not exist");
}

#[test]
fn what_was_to_stay_unchanged_is_compared_with_the_beginning_of_the_run() {
    let folder = ran("hello, world", 0);
    fs::write(folder.path().join("terms/a"), "otherwise").unwrap();
    fs::write(folder.path().join("terms/b"), "more").unwrap();
    let changed = "`terms/a` was modified, `terms/b` was created";
    ended(&evaluate(folder.path(), "latest", &[]), 1, changed);
    // The second record knows it from the first one.
    ended(&evaluate(folder.path(), "latest", &[]), 1, changed);
    fs::remove_file(folder.path().join("terms/b")).unwrap();
    fs::write(folder.path().join("terms/a"), "as agreed").unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 0, "✓ check unchanged terms");
    let record = folder.path().join(".tepa/runs").join(&runs(folder.path())[0]).join("events.jsonl");
    let events = fs::read_to_string(&record).unwrap();
    let without: Vec<&str> = events.lines().filter(|line| !line.contains("baseline.taken")).collect();
    fs::write(&record, without.join("\n")).unwrap();
    let first = &runs(folder.path())[0];
    let unknown = "check `unchanged` of `terms` cannot be run: its state when the run began is not known";
    ended(&evaluate(folder.path(), first, &[]), 4, unknown);
}

#[test]
fn what_a_run_did_to_protected_files_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tepa.yaml"), "protect: [rules.txt]\n").unwrap();
    fs::write(folder.path().join("rules.txt"), "strict").unwrap();
    fs::write(
        folder.path().join("prompt.yaml"),
        "goal: g\ncontext: {}\nexpectedOutput: [{path: rules.txt, description: d}]\n",
    )
    .unwrap();
    let judge = "  - stage: evaluator\n    json: {verdict: pass, confidence: 1, summary: done}\n    usage: {input: 1, output: 1}\n";
    let step = "    toolUse: {path: rules.txt, content: lax}\n    usage: {input: 1, output: 1}\n";
    let replies = format!("format: tepa.replay/1\nreplies:{PLAN}{step}{judge}");
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    fs::write(folder.path().join("judge.yaml"), format!("format: tepa.replay/1\nreplies:\n{judge}")).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1"];
    ended(&finish(tepa(folder.path()).args(run)), 1, "protected file \"rules.txt\" was modified");
    let again = evaluate(folder.path(), "latest", &["--output", "json"]);
    ended(&again, 1, "protected file \"rules.txt\" was modified");
    let result: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(result["reason"], "protected_path_modified");
    ended(&evaluate(folder.path(), "latest", &[]), 1, "protected file \"rules.txt\" was modified");
}

#[test]
fn what_cannot_be_judged_again_is_refused_before_anything_is_asked() {
    let folder = ran("hello, world", 0);
    ended(&evaluate(folder.path(), "0000", &[]), 2, "no run under `.tepa/runs` is called `0000`");
    let record = folder.path().join(".tepa/runs").join(&runs(folder.path())[0]).join("events.jsonl");
    let whole = fs::read_to_string(&record).unwrap();
    let begun: Vec<&str> = whole.lines().take(4).collect();
    fs::write(&record, begun.join("\n")).unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 2, "no cycle of it was executed to the end");
    fs::write(&record, whole.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 2, "its record has no beginning");
    fs::write(&record, whole.replacen("\"cycle.started\"", "\"moon.rose\"", 1)).unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 2, "was recorded by a newer tepa");
    fs::write(&record, &whole).unwrap();
    let held = fs::OpenOptions::new().append(true).open(&record).unwrap();
    held.try_lock().unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 2, "still goes on");
    drop(held);
    let refused = finish(tepa(folder.path()).args(["runs", "evaluate", "latest", "--provider", "replay"]));
    ended(&refused, 2, "needs a file with replies");
    assert_eq!(runs(folder.path()).len(), 1);
}

#[test]
fn no_server_is_started_for_a_judge_without_tools() {
    let folder = ran("hello, world", 0);
    let config = "mcpServers: {gone: {command: there-is-no-such-program}}\n";
    fs::write(folder.path().join("own.yaml"), config).unwrap();
    ended(&evaluate(folder.path(), "latest", &["--config", "own.yaml"]), 0, "✓ pass");
}

#[test]
fn the_judge_is_compared_with_the_model_that_did_the_work() {
    let folder = ran("hello, world", 0);
    let output = evaluate(folder.path(), "latest", &["--model", "claude-haiku-4-5"]);
    ended(&output, 0, "`claude-haiku-4-5` judges its own work");
    let output = evaluate(folder.path(), "latest", &["--model", "another"]);
    assert!(!text(&output.stderr).contains("its own work"));
}

#[test]
fn a_task_that_secrets_were_taken_out_of_is_not_judged_again() {
    let folder = ran("hello, world", 0);
    fs::write(folder.path().join("own.yaml"), "secrets: {env: [TOKEN]}\n").unwrap();
    let prompt = PROMPT.replace("contains: world", "notContains: hunter2-hunter2");
    fs::write(folder.path().join("prompt.yaml"), prompt).unwrap();
    let replies = fs::read_to_string(folder.path().join("prompt.replay.yaml")).unwrap();
    fs::write(
        folder.path().join("prompt.replay.yaml"),
        replies.replace("hello, world\"}\n", "hello, world hunter2-hunter2\"}\n"),
    )
    .unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1", "--config", "own.yaml"];
    let output = finish(tepa(folder.path()).args(run).env("TOKEN", "hunter2-hunter2"));
    ended(&output, 1, "check `notContains`");
    ended(&evaluate(folder.path(), "latest", &[]), 2, "its record does not hold the task as it was");
}

#[test]
fn what_was_done_after_the_last_look_at_protected_files_is_not_judged() {
    let folder = ran("hello, moon", 1);
    let record = folder.path().join(".tepa/runs").join(&runs(folder.path())[0]).join("events.jsonl");
    let whole = fs::read_to_string(&record).unwrap();
    let later = whole.lines().find(|line| line.contains("\"tool.started\"")).unwrap();
    fs::write(&record, format!("{whole}{later}\n")).unwrap();
    ended(&evaluate(folder.path(), "latest", &[]), 2, "it broke off while steps were executed");
}

#[test]
fn names_are_written_down_as_they_are() {
    let folder = ran("hello, world", 0);
    fs::remove_dir_all(folder.path().join(".tepa")).unwrap();
    fs::write(folder.path().join("terms/a\\b\nc"), "odd").unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1"];
    ended(&finish(tepa(folder.path()).args(run)), 0, "✓ pass");
    ended(&evaluate(folder.path(), "latest", &[]), 0, "✓ check unchanged terms");
}

#[test]
fn a_price_is_needed_for_the_judge_alone() {
    let folder = ran("hello, world", 0);
    fs::remove_dir_all(folder.path().join(".tepa")).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--executor-model", "my-own"];
    ended(&finish(tepa(folder.path()).args(run)), 0, "✓ pass");
    ended(&evaluate(folder.path(), "latest", &["--max-cost", "1"]), 0, "✓ pass");
    ended(
        &evaluate(folder.path(), "latest", &["--max-cost", "1", "--model", "my-own"]),
        2,
        "no price is known",
    );
}
