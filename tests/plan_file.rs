//! `tepa plan` and `tepa run --plan`: a plan that is made in one place, looked at, and executed as it is in another.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{finish, result_of, tepa, text};

const PROMPT: &str = "goal: Write a greeting.\ncontext: {}\nexpectedOutput: [{path: hello.txt, description: d, checks: [{contains: world}]}]\n";

const PLANNER: &str = "  - stage: planner\n    json: {reasoning: it is short, estimatedTokens: 10, steps: [{id: s1, description: write it, tools: [file_write], expectedOutcome: written, dependencies: []}]}\n    usage: {input: 10, output: 5}\n";
const STEP: &str = "  - stage: step\n    step: s1\n    tool: file_write\n    toolUse: {path: hello.txt, content: \"hello, world\"}\n    usage: {input: 20, output: 5}\n";
const JUDGE: &str = "  - stage: evaluator\n    json: {verdict: pass, confidence: 0.9, summary: done}\n    usage: {input: 30, output: 5}\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    script(folder.path(), "planner.yaml", &[PLANNER]);
    script(folder.path(), "rest.yaml", &[STEP, JUDGE]);
    folder
}

fn script(folder: &Path, name: &str, replies: &[&str]) {
    fs::write(folder.join(name), format!("format: tepa.replay/1\nreplies:\n{}", replies.concat())).unwrap();
}

fn plan(folder: &Path, more: &[&str]) -> Output {
    finish(tepa(folder).args(["plan", "prompt.yaml", "--replay", "planner.yaml"]).args(more))
}

fn run(folder: &Path, more: &[&str]) -> Output {
    finish(
        tepa(folder).args(["run", "prompt.yaml", "--replay", "rest.yaml", "--plan", "plan.json"]).args(more),
    )
}

fn ended(output: &Output, code: i32, words: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(words), "{stderr}");
}

#[test]
fn a_plan_is_made_without_executing_anything_and_says_what_it_costs() {
    let folder = folder();
    let output = plan(folder.path(), &["--max-cost", "0.5"]);
    ended(&output, 0, "[cycle 1] started");
    let page = text(&output.stdout);
    assert!(
        page.starts_with("1. s1 (file_write): write it\n   so that: written\n\nbecause: it is short\n"),
        "{page}"
    );
    assert!(page.contains("the limits allow 64,000 tokens ($0.50); the planner expects 10 tokens"), "{page}");
    assert!(!folder.path().join("hello.txt").exists());
    assert!(!folder.path().join(".tepa/runs").exists());
    let unpriced = text(&plan(folder.path(), &["--model", "nobody-knows-it"]).stdout);
    assert!(
        unpriced.contains("tokens (unpriced) at least, and the limits allow 64,000 tokens (unpriced)"),
        "{unpriced}"
    );
    for (format, start) in [("mermaid", "flowchart TD"), ("dot", "digraph"), ("svg", "<svg")] {
        let drawn = text(&plan(folder.path(), &["--format", format]).stdout);
        assert!(drawn.contains(start), "{drawn}");
    }
}

#[test]
fn a_saved_plan_is_executed_as_it_is_and_nobody_plans_again() {
    let folder = folder();
    ended(&plan(folder.path(), &["-o", "plan.json", "-q"]), 0, "");
    let output = run(folder.path(), &["--log-level", "verbose"]);
    ended(&output, 0, "✓ pass");
    let result = result_of(folder.path());
    assert_eq!(result["usage"]["byRole"]["planner"], json!(null));
    assert_eq!(result["tokensUsed"], 60);
    assert_eq!(fs::read_to_string(folder.path().join("hello.txt")).unwrap(), "hello, world");
}

#[test]
fn a_plan_for_something_else_is_refused_and_it_is_said_what_differs() {
    let folder = folder();
    ended(&plan(folder.path(), &["-o", "plan.json"]), 0, "executing it takes about");
    let differs = "the plan was made for something else";
    ended(&run(folder.path(), &["--max-tokens", "9000"]), 2, "the configuration differs in `limits`");
    ended(&run(folder.path(), &["--deny-tool", "shell_execute"]), 2, "the tools differ in `shell_execute`");
    fs::write(folder.path().join("prompt.yaml"), PROMPT.replace("greeting", "farewell")).unwrap();
    let output = run(folder.path(), &[]);
    ended(&output, 2, "the prompt differs in `goal`");
    assert!(text(&output.stderr).contains(differs));
    assert!(!folder.path().join(".tepa/runs").exists());
}

#[test]
fn a_file_that_is_no_plan_that_could_be_executed_is_refused() {
    let folder = folder();
    let file = folder.path().join("plan.json");
    ended(&run(folder.path(), &[]), 2, "cannot use the plan in `plan.json`");
    for (content, words) in [
        ("[", "cannot use the plan in `plan.json`"),
        ("{}", "it says no `schema`"),
        (r#"{"schema": "tepa.plan/2"}"#, "has the form `tepa.plan/2`, and this tepa reads `tepa.plan/1`"),
    ] {
        fs::write(&file, content).unwrap();
        ended(&run(folder.path(), &[]), 2, words);
    }
    ended(&plan(folder.path(), &["-o", "plan.json"]), 0, "");
    let whole: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for (pointer, value, words) in [
        ("/plan/steps/0/tools", json!(["moon_walk"]), "moon_walk"),
        ("/plan/steps", json!([]), "steps"),
        ("/plan/steps/0/dependencies", json!(["s1"]), "ircular"),
        ("/plan/steps/0/dependencies", json!(["s9"]), "s9"),
    ] {
        let mut edited = whole.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        fs::write(&file, edited.to_string()).unwrap();
        let output = run(folder.path(), &[]);
        ended(&output, 2, words);
        assert!(text(&output.stderr).contains("the plan cannot be executed"), "{}", text(&output.stderr));
    }
}

#[test]
fn keys_that_mean_nothing_are_refused_wherever_they_stand() {
    let folder = folder();
    let file = folder.path().join("plan.json");
    ended(&plan(folder.path(), &["-o", "plan.json"]), 0, "");
    let whole: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for (pointer, key, words) in [
        ("/plan", "setps", "unknown key `setps` in `plan`, did you mean `steps`?"),
        ("/plan/steps/0", "modle", "unknown key `modle` in `plan.steps[0]`, did you mean `model`?"),
        ("/plan/steps/0", "X-note", "unknown key `X-note` in `plan.steps[0]`"),
        ("", "plna", "unknown field `plna`"),
    ] {
        let mut edited = whole.clone();
        edited.pointer_mut(pointer).unwrap()[key] = json!([]);
        fs::write(&file, edited.to_string()).unwrap();
        ended(&run(folder.path(), &[]), 2, words);
    }
    assert!(!folder.path().join(".tepa/runs").exists());
    let mut edited = whole;
    edited["plan"]["x-by"] = json!("ada");
    edited["plan"]["steps"][0]["x-why"] = json!({"seen": true});
    fs::write(&file, edited.to_string()).unwrap();
    ended(&run(folder.path(), &[]), 0, "✓ pass");
}

#[test]
fn a_plan_that_holds_a_secret_is_not_written() {
    let folder = folder();
    fs::write(folder.path().join("own.yaml"), "secrets: {env: [TOKEN]}\n").unwrap();
    let planner = PLANNER.replace("write it", "write canary-0123456789");
    script(folder.path(), "planner.yaml", &[&planner]);
    let make = |more: &[&str]| {
        let arguments = ["plan", "prompt.yaml", "--replay", "planner.yaml", "--config", "own.yaml"];
        finish(tepa(folder.path()).args(arguments).args(more).env("TOKEN", "canary-0123456789"))
    };
    for more in [&["-o", "plan.json"][..], &["--format", "json"]] {
        let output = make(more);
        ended(&output, 4, "error: the plan is not written: it holds a secret in `plan.steps[0].description`");
        assert!(text(&output.stderr).contains("hint: ") && output.stdout.is_empty());
        assert!(!text(&output.stderr).contains("canary"));
    }
    assert!(!folder.path().join("plan.json").exists());
    // People may read it all the same.
    let page = make(&[]);
    ended(&page, 0, "");
    assert!(text(&page.stdout).contains("write ***"), "{}", text(&page.stdout));
}

#[test]
fn a_plan_that_did_not_pass_is_made_again_only_when_that_was_said() {
    let folder = folder();
    let elsewhere = STEP.replace("world", "moon");
    script(folder.path(), "rest.yaml", &[&elsewhere, JUDGE]);
    ended(&plan(folder.path(), &["-o", "plan.json"]), 0, "");
    ended(&run(folder.path(), &[]), 1, "check `contains`");
    assert_eq!(result_of(folder.path())["cycles"], 1);
    fs::remove_dir_all(folder.path().join(".tepa")).unwrap();
    let second = [&elsewhere, JUDGE, PLANNER, STEP, JUDGE];
    script(folder.path(), "rest.yaml", &second);
    ended(&run(folder.path(), &["--replan"]), 0, "[cycle 2] plan: 1 step");
}

#[test]
fn no_plan_is_no_success() {
    let folder = folder();
    script(folder.path(), "planner.yaml", &[&PLANNER.replace("[file_write]", "[moon_walk]")]);
    ended(&plan(folder.path(), &[]), 1, "moon_walk");
    script(folder.path(), "planner.yaml", &[STEP]);
    ended(&plan(folder.path(), &["-o", "plan.json"]), 4, "has no reply for planner");
    assert!(!folder.path().join("plan.json").exists());
    ended(&plan(folder.path(), &["-o", "no/such/folder/plan.json"]), 2, "cannot write the plan");
    for own in ["prompt.yaml", "planner.yaml"] {
        ended(&plan(folder.path(), &["-o", own]), 2, "the plan would replace");
    }
    script(folder.path(), "planner.yaml", &[PLANNER]);
    ended(&plan(folder.path(), &["--max-tokens", "14"]), 3, "budget");
}

#[test]
fn no_run_may_change_the_plan_that_it_executes() {
    let folder = folder();
    let step = STEP.replace("hello.txt", "plan.json");
    script(folder.path(), "rest.yaml", &[&step, JUDGE]);
    fs::write(folder.path().join("hello.txt"), "world").unwrap();
    ended(&plan(folder.path(), &["-o", "plan.json"]), 0, "");
    ended(&run(folder.path(), &[]), 1, "protected file \"plan.json\" was modified");
}

#[test]
fn hooks_may_stop_a_plan_that_was_made_before_and_not_change_it() {
    let folder = folder();
    let hooks =
        |events: &str| fs::write(folder.path().join("hooks.yaml"), format!("events: {events}\n")).unwrap();
    let more = ["--config", "hooks.yaml"];
    hooks("{prePlanner: [{command: 'test ! -e stop || { echo not now >&2; exit 2; }'}]}");
    ended(&plan(folder.path(), &["-o", "plan.json", "--config", "hooks.yaml"]), 0, "");
    fs::write(folder.path().join("stop"), "").unwrap();
    ended(&run(folder.path(), &more), 1, "not now");
    // A hook that makes something of the data that it is handed.
    let other = |what: &str| {
        format!(
            "{{{what}: [{{command: [python3, -c, \"import json, sys; d = json.load(sys.stdin)['data']; p = d.get('plan') or d.get('step') or d; p['description' if 'step' in d else 'reasoning'] = 'mine'; print(json.dumps(d))\"]}}]}}"
        )
    };
    for point in ["postPlanner", "preExecutor", "preStep"] {
        hooks("{}");
        ended(&plan(folder.path(), &["-o", "plan.json", "--config", "hooks.yaml"]), 0, "");
        hooks(&other(point));
        ended(&run(folder.path(), &more), 2, "the configuration differs in `events`");
        ended(&plan(folder.path(), &["-o", "plan.json", "--config", "hooks.yaml"]), 0, "");
        let words = format!("{point} hook");
        let output = run(folder.path(), &more);
        if point == "postPlanner" {
            // The saved plan is what the hook makes of it already.
            ended(&output, 0, "✓ pass");
        } else {
            ended(&output, 1, &words);
            assert!(text(&output.stderr).contains("changed a plan that is to be executed as it is"));
        }
    }
}

#[test]
fn the_name_of_a_form_is_no_file_by_accident() {
    let folder = tempfile::tempdir().unwrap();
    let output = finish(tepa(folder.path()).args(["plan", "prompt.yaml", "--output", "json"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("for the form write `--format json`, for the file `--output ./json`"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
