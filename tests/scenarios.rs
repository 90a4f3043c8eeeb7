//! Runs every folder under `tests/scenarios/<area>/<name>/`: files in, expectations compared where they exist.
//!
//! In a folder: `prompt.yaml` and `replay.yaml`; optional `args` (one argument a line, after `run`), `in/` (the working folder) and `tepa.yaml`
//! in it. Expectations: `exit` (0 when absent), `stdout`, `stderr`, `events` (types in order), `requests.md` (the whole outbound
//! conversation), `out/` (files that must be there in the end, byte for byte). Every scenario holds at least one. A reply that the run
//! does not use fails it, because `tepa` itself then ends with exit 4. What a run leaves has to fit the published schemas. `TEPA_BLESS=1` writes what is, for a person to review.

#![cfg(test)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use regex::Regex;
use tempfile::TempDir;

use tepa::event::Role;
use tepa::provider::Request;

use support::published::Forms;
use support::{Bench, copy_folder, files_below, finish, tepa};

#[test]
fn every_scenario_meets_its_expectations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut folders: Vec<PathBuf> = fs::read_dir(&root)
        .unwrap()
        .flat_map(|area| fs::read_dir(area.unwrap().path()).unwrap())
        .map(|scenario| scenario.unwrap().path())
        .collect();
    folders.sort();
    assert!(folders.len() >= 30, "only {} scenarios were found", folders.len());
    let mut forms = Forms::default();
    let mut failures = Vec::new();
    for folder in &folders {
        let name = folder.strip_prefix(&root).unwrap().display().to_string();
        failures
            .extend(check(folder, &mut forms).into_iter().map(|failure| format!("=== {name}: {failure}")));
    }
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

#[test]
fn a_call_opens_with_what_is_the_same_in_all_calls_of_its_role_and_says_what_form_it_wants() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/planner");
    let bench = bench(&root.join("revision-sees-feedback-scratchpad-and-summary"));
    let requests = bench.requests.lock().unwrap();
    for role in [Role::Planner, Role::Executor, Role::Evaluator] {
        let calls: Vec<_> = requests.iter().filter(|request| request.purpose.role == role).collect();
        assert!(calls.len() > 1, "{role:?}");
        let stable = |request: &Request| {
            let opening = &request.messages[0];
            opening.content[..opening.stable].to_owned()
        };
        assert!(stable(calls[0]).contains("Write a greeting into hello.txt."), "{role:?}");
        for call in &calls {
            assert_eq!(stable(call), stable(calls[0]));
            assert_eq!(call.schema.is_some(), role != Role::Executor);
        }
    }
}

fn check(scenario: &Path, forms: &mut Forms) -> Vec<String> {
    let mut expectations = Expectations::new(scenario);
    // Steps that are under way together come to what they come to one after the other; only what is told of them comes in another order.
    let (work, output) = run(scenario, &[]);
    expectations.outcome(work.path(), &output);
    let (work, output) = run(scenario, &["--set", "limits.maxParallelSteps=1"]);
    expectations.outcome(work.path(), &output);
    expectations.text("stderr", &normal(&String::from_utf8_lossy(&output.stderr)));
    expectations.text("events", &event_types(work.path()));
    if scenario.join("requests.md").exists() {
        expectations.text("requests.md", &bench(scenario).conversation());
    }
    expectations.failures.extend(forms.faults_of_runs(work.path()));
    if expectations.compared == 0 {
        expectations.failures.push("it holds no expectation".to_owned());
    }
    if !expectations.failures.is_empty() {
        expectations.failures.push(format!("its stderr was:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    expectations.failures
}

/// Runs a scenario in a folder of its own.
fn run(scenario: &Path, further: &[&str]) -> (TempDir, Output) {
    let work = tempfile::tempdir().unwrap();
    if scenario.join("in").is_dir() {
        copy_folder(&scenario.join("in"), work.path());
    }
    for file in ["prompt.yaml", "prompt.json", "replay.yaml"] {
        if scenario.join(file).exists() {
            fs::copy(scenario.join(file), work.path().join(file)).unwrap();
        }
    }
    let arguments = fs::read_to_string(scenario.join("args"))
        .unwrap_or_else(|_| "prompt.yaml\n--provider\nreplay\n--replay\nreplay.yaml".to_owned());
    let output = finish(tepa(work.path()).arg("run").args(arguments.lines()).args(further));
    (work, output)
}

struct Expectations<'a> {
    scenario: &'a Path,
    compared: usize,
    failures: Vec<String>,
    bless: bool,
}

impl<'a> Expectations<'a> {
    fn new(scenario: &'a Path) -> Self {
        let bless = std::env::var_os("TEPA_BLESS").is_some();
        Self { scenario, compared: 0, failures: Vec::new(), bless }
    }

    /// Compares what a run came to.
    fn outcome(&mut self, work: &Path, output: &Output) {
        let exit = output.status.code().map_or("signal".to_owned(), |code| code.to_string());
        self.exit(&exit);
        self.text("stdout", &normal(&String::from_utf8_lossy(&output.stdout)));
        let out = self.scenario.join("out");
        for file in if out.is_dir() { files_below(&out) } else { Vec::new() } {
            let found = fs::read_to_string(work.join(&file)).unwrap_or_else(|e| format!("({e})"));
            self.text(&format!("out/{}", file.display()), &found);
        }
    }

    fn exit(&mut self, found: &str) {
        let path = self.scenario.join("exit");
        let expected = fs::read_to_string(&path).map_or("0".to_owned(), |text| text.trim().to_owned());
        self.compared += usize::from(path.exists());
        if expected != found {
            self.failures.push(format!("exit {found}, expected {expected}"));
        }
    }

    fn text(&mut self, name: &str, found: &str) {
        let path = self.scenario.join(name);
        let Ok(expected) = fs::read_to_string(&path) else {
            return;
        };
        self.compared += 1;
        if expected != found {
            if self.bless {
                fs::write(&path, found).unwrap();
            } else {
                self.failures.push(format!("{name} differs\n--- expected\n{expected}\n--- found\n{found}"));
            }
        }
    }
}

/// Returns the types of the recorded events, one a line.
fn event_types(work: &Path) -> String {
    let Ok(mut runs) = fs::read_dir(work.join(".tepa/runs")) else {
        return String::new();
    };
    let Some(Ok(run)) = runs.next() else {
        return String::new();
    };
    let lines = fs::read_to_string(run.path().join("events.jsonl")).unwrap();
    let mut types = String::new();
    for line in lines.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        if event["code"] == "sandbox_incomplete" {
            continue;
        }
        types.push_str(event["type"].as_str().unwrap());
        for key in ["step", "tool"] {
            if let Some(value) = event[key].as_str() {
                types.push_str(&format!(" {value}"));
            }
        }
        if let Some(id) = event["step"]["id"].as_str().or(event["result"]["stepId"].as_str()) {
            types.push_str(&format!(" {id}"));
        }
        types.push('\n');
    }
    types
}

/// Runs the scenario again in process, where the clock stands still.
fn bench(scenario: &Path) -> Bench {
    let read = |file: &str| fs::read_to_string(scenario.join(file)).unwrap();
    let mut config = fs::read_to_string(scenario.join("in/tepa.yaml"))
        .map_or(serde_json::json!({}), |text| tepa::source::parse_yaml_value(&text, 1000).unwrap());
    config["limits"]["maxParallelSteps"] = 1.into();
    let bench = Bench::new(&read("prompt.yaml"), &read("replay.yaml"), &config);
    if scenario.join("in").is_dir() {
        copy_folder(&scenario.join("in"), bench.folder.path());
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(bench.run());
    bench
}

/// Takes out what differs from run to run (times and run ids) and from machine to machine (what the kernel can confine).
fn normal(text: &str) -> String {
    static TIMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\d+(\.\d+)? (ms|s)\b").unwrap());
    static IDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap()
    });
    static DURATIONS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""durationMs": \d+"#).unwrap());
    static MOMENTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\d{4}-\d\d-\d\dT[0-9:.]+Z|("timestamp": )\d+"#).unwrap());
    static SANDBOX: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?m)("sandbox": )\{[^}]*\}|^    (?:by \S.*|commands are not confined), network o.*$"#)
            .unwrap()
    });
    static UNCONFINED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^warning.*: commands are not confined as they should be.*\n(    .*\n)*").unwrap()
    });
    let text = UNCONFINED.replace_all(text, "");
    let text = SANDBOX.replace_all(&text, "$1[CONFINED]");
    let text = TIMES.replace_all(&text, "[TIME]");
    let text = MOMENTS.replace_all(&text, "${1}0");
    let text = DURATIONS.replace_all(&text, "\"durationMs\": 0");
    IDS.replace_all(&text, "[RUN]").into_owned()
}
