//! Runs that broke off: every scenario cut at every event and in the middle of lines, and processes that are killed, come to the end that they
//! would have come to, and nothing that changes something is done twice.

#![cfg(test)]

#[path = "../support/mod.rs"]
mod support;

mod killed;
mod scenario;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use support::{finish, tepa, text};

use scenario::Scenario;

/// Those in which a check meets what it did itself when it is made once more, and in which the run turns a name into a link that leads elsewhere.
/// And the one that is refused before it has a record.
const AFTER_ALL: [&str; 3] = [
    "checks/what-a-command-spoils-is-seen",
    "checks/unchanged-fails",
    "permissions/rules-that-leave-no-tool",
];

/// Those that in this process would be ended by a clock that stands still.
const BY_THE_CLOCK: [&str; 1] = ["termination/the-run-has-a-wall-clock"];

#[test]
fn a_run_that_is_cut_anywhere_comes_to_the_same_end_and_repeats_no_effect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let areas = fs::read_dir(&root).unwrap().map(|area| area.unwrap().path());
    let mut folders: Vec<PathBuf> =
        areas.flat_map(|area| fs::read_dir(area).unwrap()).map(|scenario| scenario.unwrap().path()).collect();
    folders.sort();
    folders.retain(|folder| !BY_THE_CLOCK.iter().chain(&AFTER_ALL).any(|name| folder.ends_with(name)));
    let scenarios: Vec<Scenario> = folders.iter().filter_map(|folder| Scenario::load(folder)).collect();
    assert!(scenarios.len() > 150, "only {} of {} scenarios have a record", scenarios.len(), folders.len());
    let (next, cuts, cut_off) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scenario.cut_everywhere()))
                    {
                        Ok((made, interrupted)) => {
                            cuts.fetch_add(made, Ordering::Relaxed);
                            cut_off.fetch_add(interrupted, Ordering::Relaxed);
                        }
                        Err(_) => failed.lock().unwrap().push(scenario.name()),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} scenarios: {failed:?}", failed.len(), scenarios.len());
    let (cuts, cut_off) = (cuts.into_inner(), cut_off.into_inner());
    assert!(cuts > 3_000 && cut_off > 100, "{cuts} cuts, {cut_off} of them in a call that changes something");
}

/// A folder with a run that is cut after the last line with `until` in it.
fn broken_off(replies: &str, config: &str, flags: &[&str], until: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("task.yaml"),
        "goal: Greet.\ncontext: {}\nexpectedOutput: [{path: a.txt, description: a}]\n",
    )
    .unwrap();
    fs::write(folder.path().join("task.replay.yaml"), replies).unwrap();
    fs::write(folder.path().join("c.yaml"), config).unwrap();
    let run = ["run", "task.yaml", "--provider", "replay", "--config", "c.yaml"];
    let output = finish(tepa(folder.path()).args(run).args(flags));
    assert!(output.status.code() != Some(2), "{}", text(&output.stderr));
    let path = record(folder.path());
    let lines = fs::read_to_string(&path).unwrap();
    let end = lines.rfind(until).unwrap();
    let end = end + lines[end..].find('\n').unwrap() + 1;
    fs::write(&path, &lines[..end]).unwrap();
    folder
}

fn record(folder: &Path) -> PathBuf {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    run.join("events.jsonl")
}

fn resume(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = finish(tepa(folder).args(["runs", "resume", "latest"]).args(more));
    (output.status.code(), text(&output.stderr))
}

fn replies(judged: &str) -> String {
    format!(
        "format: tepa.replay/1
replies:
  - stage: planner
    json: {{reasoning: r, estimatedTokens: 1, steps: [{{id: s, description: write, tools: [file_write], expectedOutcome: o, dependencies: []}}]}}
  - {{stage: step, step: s, tool: file_write, toolUse: {{path: a.txt, content: hello}}}}
  - {{stage: evaluator, json: {{verdict: {judged}, confidence: 1, feedback: no, summary: yes}}}}
"
    )
}

#[test]
fn a_call_that_may_have_changed_something_is_told_to_the_planner_and_not_made_again() {
    let second = "  - stage: planner
    cycle: 2
    expect: {contains: ['was interrupted, and may have run']}
    json: {reasoning: r, estimatedTokens: 1, steps: [{id: t, description: look, tools: [file_write], expectedOutcome: o, dependencies: []}]}
  - {stage: step, step: t, tool: file_write, toolUse: {path: a.txt, content: hello}}
  - {stage: evaluator, cycle: 2, json: {verdict: pass, confidence: 1, summary: yes}}
";
    let folder = broken_off(&replies("pass"), "{}", &[], "tool.started");
    fs::remove_file(folder.path().join("a.txt")).unwrap();
    fs::write(folder.path().join("task.replay.yaml"), replies("fail") + second).unwrap();
    let (code, stderr) = resume(folder.path(), &["--config", "c.yaml", "--log-level", "verbose"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("Tool \"file_write\" was interrupted, and may have run"), "{stderr}");
    let (code, stderr) = resume(folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("has ended: ") && stderr.contains("tepa runs show"), "{stderr}");
}

#[test]
fn what_a_run_began_with_is_what_it_goes_on_with() {
    let hook = "events: {postPlanner: [{command: [\"true\"]}]}";
    let folder = broken_off(&replies("pass"), hook, &["--max-tokens", "60000"], "step.started");
    let (code, stderr) = resume(folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("`events` of the configuration is not what the run began with"), "{stderr}");
    let (code, stderr) = resume(folder.path(), &["--config", "c.yaml", "--output", "jsonl"]);
    assert_eq!(code, Some(0), "{stderr}");
    let lines = fs::read_to_string(record(folder.path())).unwrap();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["config"]["limits"]["maxTokens"], json!(60000));
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("run.started"), count("run.resumed"), count("plan.completed")), (1, 1, 1));
}

#[test]
fn a_limit_that_ended_a_run_can_be_raised() {
    let folder = broken_off(
        &replies("pass"),
        "{}",
        &["--max-tool-calls", "1", "--max-tokens", "900"],
        "run.completed",
    );
    let ended = fs::read_to_string(record(folder.path())).unwrap();
    assert!(ended.contains("token_budget"), "{ended}");
    let (code, stderr) = resume(folder.path(), &[]);
    assert_eq!(code, Some(3), "it ends as it did: {stderr}");
    let (code, stderr) = resume(folder.path(), &["--max-tokens", "64000"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_run_whose_protected_files_were_changed_meanwhile_comes_to_no_verdict() {
    let folder = broken_off(&replies("pass"), "{}", &[], "step.started");
    fs::write(folder.path().join("task.yaml"), "goal: Something easier.\ncontext: {}\nexpectedOutput: x\n")
        .unwrap();
    let (code, stderr) = resume(folder.path(), &[]);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("protected files are not what they were when the run began"), "{stderr}");
}

#[test]
fn what_is_under_way_or_no_record_is_not_resumed() {
    let folder = broken_off(&replies("pass"), "{}", &[], "step.started");
    let path = record(folder.path());
    let held = fs::File::options().append(true).open(&path).unwrap();
    held.lock().unwrap();
    let (code, stderr) = resume(folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("it is under way in another process"), "{stderr}");
    drop(held);
    let whole = fs::read_to_string(&path).unwrap();
    let mut words = BTreeMap::new();
    for (name, text) in [
        ("another task", whole.replacen("Greet.", "Cheat.", 1)),
        ("no record", whole.replacen("{\"schema\"", "<\"schema\"", 2).replacen('<', "{", 1)),
        ("newer", whole.replacen("\"step.started\"", "\"moon.rose\"", 1)),
        ("newest", whole.replace("tepa.events/1", "tepa.events/2")),
        ("nothing", String::new()),
    ] {
        fs::write(&path, text).unwrap();
        let (code, stderr) = resume(folder.path(), &[]);
        assert_eq!(code, Some(2), "{name}: {stderr}");
        words.insert(name, stderr);
    }
    for (name, expected) in [
        ("another task", "does not hold the task as it was"),
        ("no record", "line 2 of the record is no event"),
        ("newer", "was recorded by a newer tepa"),
        ("newest", "has the form `tepa.events/2`"),
        ("nothing", "the record is empty"),
    ] {
        assert!(words[name].contains(expected), "{name}: {}", words[name]);
    }
}
