//! The patterns of hooks that people need most, each as the example that the tree holds and as closures of a program that embeds tepa.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::event::RunEvent;
use tepa::hook::{HookError, PostEvaluator, PostPlanner, PostStep, PrePlanner};
use tepa::outcome::{Reason, RunStatus, Verdict};
use tepa::source::{Document, SourceFile, UnknownKeys};

use support::{Bench, copy_folder, finish, result_of, tepa, text};

const PROMPT: &str = "goal: Greet Ada.\ncontext: {tone: warm}\nexpectedOutput: A greeting.\n";

fn step(id: &str, tool: &str, description: &str, after: &[&str]) -> Value {
    let tools = if tool.is_empty() { vec![] } else { vec![tool] };
    json!({"id": id, "description": description, "tools": tools, "expectedOutcome": "done", "dependencies": after})
}

fn plan(steps: &[Value]) -> Value {
    json!({"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 10, "steps": steps}})
}

fn said(step: &str, text: &str) -> Value {
    json!({"stage": "step", "step": step, "text": text})
}

fn verdict(verdict: &str, confidence: f64) -> Value {
    let answer = json!({"verdict": verdict, "confidence": confidence, "feedback": "more", "summary": "done"});
    json!({"stage": "evaluator", "json": answer})
}

fn replies(replies: &[Value]) -> String {
    json!({"format": "tepa.replay/1", "replies": replies}).to_string()
}

/// Returns one cycle that plans to speak, speaks and passes.
fn talk(words: &str) -> String {
    replies(&[plan(&[step("one", "", "say it", &[])]), said("one", words), verdict("pass", 0.9)])
}

/// Returns a plan with a step that should not be run, and what the rest of it needs.
fn dangerous(after: &[&str]) -> String {
    let steps = [step("clean", "shell_execute", "rm -rf build", &[]), step("one", "", "say it", after)];
    replies(&[plan(&steps), said("one", "hello"), verdict("pass", 0.9)])
}

/// Returns two cycles that fail, the judge being less and less sure.
fn unsure() -> String {
    let cycle = |confidence| {
        [plan(&[step("one", "", "say it", &[])]), said("one", "hello"), verdict("fail", confidence)]
    };
    replies(&[cycle(0.4), cycle(0.3)].concat())
}

/// Runs the example `name` on `replies`; nothing when this machine has no Python.
fn example(name: &str, replies: &str, variables: &[(&str, &str)]) -> Option<(TempDir, Output)> {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let python = Command::new("python3").args(["-c", "import json"]).env_clear().env("PATH", path).output();
    if !python.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "there is no python3 here");
        println!("skipped: there is no python3 here");
        return None;
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/examples/hooks");
    copy_folder(&examples, &folder.path().join("hooks"));
    fs::write(folder.path().join("task.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("replies.json"), replies).unwrap();
    let mut command = tepa(folder.path());
    command.args([
        "run",
        "task.yaml",
        "--replay",
        "replies.json",
        "--record",
        "sent.json",
        "--max-cycles",
        "2",
    ]);
    let output =
        finish(command.args(["--config", &format!("hooks/{name}.yaml")]).envs(variables.iter().copied()));
    Some((folder, output))
}

fn events(folder: &TempDir) -> Vec<Value> {
    let run = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    let lines = fs::read_to_string(run.join("events.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hooks(folder: &TempDir) -> Vec<Value> {
    events(folder).into_iter().filter(|event| event["type"] == "hook.completed").collect()
}

fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
}

fn bench(replies: &str) -> Bench {
    Bench::new(PROMPT, replies, &json!({"limits": {"maxCycles": 2}}))
}

#[test]
fn every_example_is_a_valid_configuration_with_words_at_its_head() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/examples/hooks");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let document = Document::parse(SourceFile::read(&path, &name).unwrap()).unwrap();
        tepa::config::load(&document, &tepa::tools::NAMES, UnknownKeys::Refuse)
            .unwrap_or_else(|faults| panic!("{}", faults.render(false, 100)));
        let words = fs::read_to_string(&path).unwrap();
        assert!(words.starts_with("# ") && words.contains(&format!("--config hooks/{name}")), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_plan_safety_filter_drops_dangerous_steps() {
    let Some((folder, output)) = example("plan-safety-filter", &dangerous(&[]), &[]) else { return };
    assert_exit(&output, 0);
    let hooks = hooks(&folder);
    assert_eq!((hooks.len(), &hooks[0]["outcome"]), (1, &json!("replaced")));
    assert!(hooks[0]["changed"].as_array().unwrap().contains(&json!("/steps/1")), "{hooks:?}");
    let made = events(&folder).into_iter().find(|event| event["type"] == "plan.completed").unwrap();
    let steps = made["plan"]["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["id"]), (1, &json!("one")));

    let (folder, output) = example("plan-safety-filter", &dangerous(&["clean"]), &[]).unwrap();
    assert_exit(&output, 1);
    let result = result_of(folder.path());
    assert_eq!(result["reason"], "hook_stopped");
    let feedback = "postPlanner hook `python3 hooks/plan_safety_filter.py` stopped the run: \
                    the plan relies on dangerous commands: clean";
    assert_eq!(result["feedback"], feedback);

    // A plan without commands is none of its business.
    let (folder, output) = example("plan-safety-filter", &talk("hello"), &[]).unwrap();
    assert_exit(&output, 0);
    assert!(self::hooks(&folder).is_empty());
}

#[tokio::test]
async fn a_plan_safety_filter_as_a_closure() {
    for (after, status) in [(&[][..], RunStatus::Pass), (&["clean"][..], RunStatus::Fail)] {
        let mut bench = bench(&dangerous(after));
        bench.pipeline.hooks.on::<PostPlanner, _>("safety", false, |mut plan, _| {
            Box::pin(async move {
                let (kept, dropped): (Vec<_>, Vec<_>) =
                    plan.steps.into_iter().partition(|step| !step.description.contains("rm -"));
                let needed = |id: &String| kept.iter().any(|step| step.dependencies.contains(id));
                if let Some(step) = dropped.iter().find(|step| needed(&step.id)) {
                    return Err(HookError(format!("the plan relies on {}", step.id)));
                }
                plan.steps = kept;
                Ok(Some(plan))
            })
        });
        let finished = bench.run().await;
        assert_eq!(finished.settlement.status(), Some(status), "{}", finished.settlement.feedback());
    }
}

#[test]
fn input_enrichment_adds_what_the_planner_sees() {
    let expecting = talk("hello").replacen(
        "\"stage\":\"planner\"",
        "\"stage\":\"planner\",\"expect\":{\"contains\":[\"British English\",\"warm\"]}",
        1,
    );
    let Some((folder, output)) = example("input-enrichment", &expecting, &[]) else { return };
    assert_exit(&output, 0);
    assert_eq!(hooks(&folder)[0]["changed"], json!(["/prompt/context/conventions"]));
}

#[tokio::test]
async fn input_enrichment_as_a_closure() {
    let mut bench = bench(&talk("hello"));
    bench.pipeline.hooks.on::<PrePlanner, _>("enrichment", false, |mut input, _| {
        Box::pin(async move {
            input.prompt.context.insert("language".to_owned(), json!("British English"));
            Ok(Some(input))
        })
    });
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    assert!(bench.requests.lock().unwrap()[0].messages[0].content.contains("British English"));
}

#[test]
fn output_sanitization_takes_addresses_out_of_results() {
    let talk = talk("write to ada@example.com, she will know");
    let Some((folder, output)) = example("output-sanitization", &talk, &[]) else { return };
    assert_exit(&output, 0);
    assert_eq!(hooks(&folder)[0]["changed"], json!(["/result/output"]));
    let ended = events(&folder).into_iter().find(|event| event["type"] == "step.completed").unwrap();
    assert_eq!(ended["result"]["output"], "write to [address removed], she will know");

    let (folder, output) = example("output-sanitization", &self::talk("hello"), &[]).unwrap();
    assert_exit(&output, 0);
    assert_eq!(hooks(&folder)[0]["outcome"], "kept");
}

#[tokio::test]
async fn output_sanitization_as_a_closure() {
    let mut bench = bench(&talk("write to ada@example.com"));
    bench.pipeline.hooks.on::<PostStep, _>("sanitization", false, |mut data, _| {
        Box::pin(async move {
            data.result.output = json!("write to [address removed]").into();
            Ok(Some(data))
        })
    });
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    let requests = bench.requests.lock().unwrap();
    let judged = &requests.last().unwrap().messages[0].content;
    assert!(judged.contains("[address removed]") && !judged.contains("ada@"), "{judged}");
}

#[test]
fn metrics_are_written_and_worth_no_run() {
    let Some((folder, output)) = example("metrics", &talk("hello"), &[]) else { return };
    assert_exit(&output, 0);
    let lines = fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["event"], &lines[0]["step"]), (&json!("postStep"), &json!("one")));
    assert_eq!((&lines[1]["verdict"], &lines[1]["cycleNumber"]), (&json!("pass"), &json!(1)));

    let nowhere = [("METRICS_FILE", "no/such/folder/metrics.jsonl")];
    let (folder, output) = example("metrics", &talk("hello"), &nowhere).unwrap();
    assert_exit(&output, 0);
    let hooks = hooks(&folder);
    assert_eq!(hooks.len(), 2);
    for hook in hooks {
        assert_eq!(hook["outcome"], "failed");
        assert!(hook["error"].as_str().unwrap().contains("No such file"), "{hook}");
    }
}

#[tokio::test]
async fn metrics_as_a_closure() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut bench = bench(&talk("hello"));
    let metrics = Arc::clone(&seen);
    bench.pipeline.hooks.on::<PostStep, _>("metrics", true, move |data, meta| {
        let metrics = Arc::clone(&metrics);
        Box::pin(async move {
            metrics.lock().unwrap().push((data.result.step_id, meta.cycle_number));
            Err(HookError("the database is down".to_owned()))
        })
    });
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    assert_eq!(*seen.lock().unwrap(), [("one".to_owned(), 1)]);
}

#[test]
fn custom_termination_stops_a_run_that_gets_nowhere() {
    let Some((folder, output)) = example("custom-termination", &unsure(), &[]) else { return };
    assert_exit(&output, 1);
    let result = result_of(folder.path());
    assert_eq!((&result["reason"], &result["cycles"]), (&json!("hook_stopped"), &json!(2)));
    assert!(result["feedback"].as_str().unwrap().ends_with("no progress: confidence 0.3 in cycle 2"));
    assert_eq!(hooks(&folder).len(), 2);

    let (folder, output) = example("custom-termination", &talk("hello"), &[]).unwrap();
    assert_exit(&output, 0);
    assert!(hooks(&folder).is_empty(), "it is asked about failures");
}

#[tokio::test]
async fn custom_termination_as_a_closure() {
    let mut bench = bench(&unsure());
    bench.pipeline.hooks.on::<PostEvaluator, _>("termination", false, |evaluation, meta| {
        Box::pin(async move {
            if evaluation.verdict == Verdict::Fail && meta.cycle_number > 1 {
                return Err(HookError("no progress".to_owned()));
            }
            Ok(None)
        })
    });
    let finished = bench.run().await;
    assert_eq!((finished.settlement.reason(), finished.result.cycles), (Reason::HookStopped, 2));
    let asked =
        bench.events.all().into_iter().filter(|event| matches!(event, RunEvent::HookCompleted { .. }));
    assert_eq!(asked.count(), 2);
}
