//! Outputs that are too long for a message or for a line: cut for models, kept beside the record, and whole again for whoever reads it.

#![cfg(test)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{Bench, finish, tepa, text};

const PROMPT: &str = "goal: Read it.\ncontext: {}\nexpectedOutput: It is read.\n";

/// The replies of a run in which `b` is told what `a` read from `long.txt`; `expect` is what has to be in that.
fn replies(expect: &str) -> String {
    format!(
        r"
format: tepa.replay/1
replies:
  - stage: planner
    json:
      reasoning: r
      estimatedTokens: 10
      steps:
        - {{id: a, description: read it, tools: [file_read], expectedOutcome: read, dependencies: []}}
        - {{id: b, description: think of it, tools: [], expectedOutcome: thought, dependencies: [a]}}
  - {{stage: step, step: a, tool: file_read, toolUse: {{path: long.txt}}}}
  - {{stage: step, step: b, text: a thought, expect: {expect}}}
  - {{stage: evaluator, json: {{verdict: pass, confidence: 0.9, summary: done}}}}
"
    )
}

/// A text that no part of comes twice.
fn long() -> String {
    (0..40_000).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n")
}

fn ran(expect: &str, arguments: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.txt"), long()).unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies(expect)).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-tokens", "1000000"];
    let output = finish(tepa(folder.path()).args(run).args(arguments));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    folder
}

/// The files in which outputs are kept.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    let Ok(files) = fs::read_dir(run.join("outputs")) else { return Vec::new() };
    files.map(|file| file.unwrap().path()).collect()
}

fn outputs_of(lines: &str) -> Vec<Value> {
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let outputs = events.filter_map(|mut event| match event["type"].as_str()? {
        "tool.completed" => Some(event["output"].take()),
        "step.completed" => Some(event["result"]["output"].take()),
        _ => None,
    });
    outputs.collect()
}

#[test]
fn a_long_output_is_cut_for_a_model_and_lies_where_its_tools_can_read_it() {
    let expect = "{contains: ['of 428889 are left out here; all of it is in `.tepa/runs/', '.txt`, of which `file_read`', 'line 39999'], notContains: ['line 20000']}";
    let folder = ran(expect, &[]);
    let files = kept(folder.path());
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(fs::read_to_string(file).unwrap(), long());
    let path = file.strip_prefix(folder.path()).unwrap();
    let params = json!({"path": path, "offset": 200_000, "limit": 9}).to_string();
    let read = finish(tepa(folder.path()).args(["tools", "call", "file_read", "--params", &params]));
    assert_eq!(
        text(&read.stdout).trim_end_matches('\n'),
        &long()[200_000..200_009],
        "{}",
        text(&read.stderr)
    );
}

#[test]
fn what_is_not_kept_is_said_to_be_gone() {
    let folder = ran("{contains: ['and are not kept']}", &["--no-journal"]);
    assert!(!folder.path().join(".tepa").exists());
}

#[test]
fn a_line_holds_no_long_output_and_a_reader_gets_it_back_or_is_told_why_not() {
    let folder = ran("{}", &["--set", "limits.maxPromptBytes=4096"]);
    let run = kept(folder.path())[0].parent().unwrap().parent().unwrap().to_owned();
    let record = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(record.len() < 100_000);
    let outputs = outputs_of(&record);
    assert_eq!(outputs[0]["$output"]["bytes"], json!(long().len()));
    assert_eq!((&outputs[1], &outputs[2]), (&outputs[0], &json!("a thought")));
    let again = |arguments: &[&str]| finish(tepa(folder.path()).args(["runs"]).args(arguments));
    let report = again(&["report", "latest", "--format", "html"]);
    assert!(text(&report.stdout).contains("line 39999"), "{}", text(&report.stderr));
    fs::write(&kept(folder.path())[0], "shorter").unwrap();
    for command in ["show", "plan"] {
        let refused = again(&[command, "latest"]);
        let said = text(&refused.stderr);
        assert!(said.contains("names the output `") && said.contains("somebody changed it"), "{said}");
        assert_eq!(refused.status.code(), Some(2));
    }
}

#[test]
fn a_planner_who_revises_hears_where_the_outputs_are_that_are_cut() {
    let judged = "verdict: pass, confidence: 0.9, summary: done}}";
    let failed = "verdict: fail, confidence: 0.9, feedback: again}}\n";
    let again = "  - {stage: planner, cycle: 2, text: no plan, expect: {contains: ['\"wholeOutput\": \".tepa/runs/', 'characters left out']}}\n";
    let replies = replies("{}").replace(&format!("{judged}\n"), &format!("{failed}{again}"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.txt"), long()).unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-tokens", "1000000"];
    let output = finish(tepa(folder.path()).args(run).args(["--set", "limits.retryAttempts=0"]));
    let said = text(&output.stderr);
    assert!(said.contains("could not be parsed as a plan"), "{said}");
}

#[test]
fn what_is_printed_as_it_happens_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("long.txt"), long()).unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies("{}")).unwrap();
    let run = ["run", "prompt.yaml", "--provider", "replay", "--max-tokens", "1000000", "--output", "jsonl"];
    let output = finish(tepa(folder.path()).args(run));
    assert_eq!(outputs_of(&text(&output.stdout))[..2], [json!(long()), json!(long())]);
}

#[tokio::test]
async fn the_longest_is_cut_first_and_what_is_shorter_stays_whole() {
    let steps = json!([
        {"id": "a", "description": "say little", "tools": [], "expectedOutcome": "said", "dependencies": []},
        {"id": "b", "description": "say much", "tools": [], "expectedOutcome": "said", "dependencies": []},
        {"id": "c", "description": "use both", "tools": [], "expectedOutcome": "done", "dependencies": ["a", "b"]},
    ]);
    let (little, much) = ("l".repeat(300), "m".repeat(3_000));
    let replies = json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 1, "steps": steps}},
        {"stage": "step", "step": "a", "text": little},
        {"stage": "step", "step": "b", "text": much},
        {"stage": "step", "step": "c", "text": "done"},
        {"stage": "evaluator", "json": {"verdict": "pass", "confidence": 1.0, "summary": "done"}},
    ]});
    let bench = Bench::new(PROMPT, &replies.to_string(), &json!({"limits": {"maxPromptBytes": 1_024}}));
    bench.run().await;
    let requests = bench.requests.lock().unwrap();
    let asked =
        &requests.iter().find(|one| one.purpose.step.as_deref() == Some("c")).unwrap().messages[0].content;
    assert!(asked.contains(&little));
    let pieces: Vec<usize> = asked.split(|c| c != 'm').map(str::len).filter(|length| *length > 20).collect();
    assert_eq!(pieces, [538, 179]);
    assert!(asked.contains("\n[Bytes 538 to 2821 of 3000 are left out here and are not kept: "), "{asked}");
    // The note stands between two envelopes, in none of them.
    assert!(
        asked.contains(">\n[Bytes ") && asked.contains("smaller parts.]\n<untrusted_content_"),
        "{asked}"
    );
}
