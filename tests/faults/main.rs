//! The fault table: whatever goes wrong at a provider, at whichever call, the exit code is the documented one and the result is written.

#![cfg(test)]

mod server;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use server::{Caller, FLOOD, Fault, Script, Seen, Server};
use support::{files_below, finish, tepa};

/// Every fault, and from and to how many milliseconds are waited for the second try; nothing where there is none.
const FAULTS: [(Fault, Option<(u64, u64)>); 18] = [
    (Fault::Status(401, ""), None),
    (Fault::Status(403, ""), None),
    (Fault::Status(404, ""), None),
    (Fault::Status(408, ""), BASE),
    (Fault::Status(429, "retry-after: 0\r\n"), Some((0, 0))),
    (Fault::Status(429, "retry-after: 600\r\nretry-after-ms: 7\r\n"), Some((7, 7))),
    // Thirty times the base, and a tenth of that by chance.
    (Fault::Status(429, ""), Some((30, 33))),
    (Fault::Status(500, ""), BASE),
    (Fault::Status(503, ""), BASE),
    (Fault::Status(529, ""), BASE),
    (Fault::Reset, BASE),
    (Fault::ClosedMidStream, BASE),
    (Fault::HangsBeforeHeaders, BASE),
    (Fault::HangsMidStream, BASE),
    (Fault::Body("text/html", "<!doctype html><title>Sign in</title>KEY"), None),
    (Fault::Body("application/json", ""), BASE),
    (Fault::Body("text/plain", "\u{1}KEY garbage"), None),
    (Fault::Flood, None),
];

/// The configured base delay.
const BASE: Option<(u64, u64)> = Some((1, 1));

const CONFIG: &str = "calls: {maxRetries: 1, retryBaseDelay: 1";

/// What is added where the server falls silent; elsewhere a machine that is busy must not look like such a server.
const IMPATIENT: &str = ", idleTimeout: 1s";

const PROMPT: &str = "goal: Say something.\ncontext: {}\nexpectedOutput: Something said.\n";

const KEY: &str = "sk-hunter2-0123456789abcdef";

/// How many runs go on at once in each of the two tests.
const PARALLEL: usize = 4;

/// A provider, the variable of its key, and the folder of its recorded answers.
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("anthropic", "ANTHROPIC_API_KEY", "anthropic"),
    ("openai", "OPENAI_API_KEY", "openai"),
    ("gemini", "GEMINI_API_KEY", "gemini"),
    ("openai-compatible", "OPENAI_API_KEY", "openai_compatible"),
];

/// One run.
struct Case {
    provider: (&'static str, &'static str, &'static str),
    fault: Fault,
    wait: Option<(u64, u64)>,
    at: Caller,
}

impl Case {
    /// Returns everything that is not as it has to be.
    fn complaints(&self) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let (output, seen) = self.run(folder.path());
        let code = if self.at == Caller::Executor { 1 } else { 4 };
        let mut complaints = Vec::new();
        let mut check = |what: &str, found: Value, expected: Value| {
            if found != expected {
                complaints.push(format!("{what}: {found} instead of {expected}"));
            }
        };

        check("exit code", json!(output.status.code()), json!(code));
        let journal = Journal::read(folder.path());
        let result = &journal.result;
        check("exit code of the result", result["exitCode"].clone(), json!(code));
        if self.at == Caller::Executor {
            check("status", result["status"].clone(), json!("fail"));
            let ended = journal.of("step.completed").next().cloned().unwrap_or_default();
            check("status of the step", ended["result"]["status"].clone(), json!("failure"));
        } else {
            check("status", result["status"].clone(), Value::Null);
            check("reason", result["reason"].clone(), json!("provider_error"));
        }

        let tries = if self.wait.is_some() { 2 } else { 1 };
        let names: Vec<&str> = seen.callers.iter().map(|caller| caller.name()).collect();
        let expected = Caller::ALL.into_iter().filter(|caller| self.asked(*caller));
        let expected = expected
            .flat_map(|caller| std::iter::repeat_n(caller.name(), if caller == self.at { tries } else { 1 }));
        check("requests", json!(names), json!(expected.collect::<Vec<_>>()));
        let retries: Vec<Value> =
            journal.of("llm.retry").map(|event| json!([event["role"], event["retry"]])).collect();
        let expected = if tries == 2 { json!([[self.at.name(), 1]]) } else { json!([]) };
        check("retries", json!(retries), expected);
        for delay in journal.of("llm.retry").filter_map(|event| event["delayMs"].as_u64()) {
            let as_asked = self.wait.is_some_and(|(from, to)| (from..=to).contains(&delay));
            check(&format!("a wait of {delay} ms"), json!(as_asked), json!(true));
        }
        check("a body read to its end", json!(seen.flooded > FLOOD * 2 / 3), json!(false));
        if matches!(self.fault, Fault::Status(..)) {
            let quoted = String::from_utf8_lossy(&output.stderr).contains("not with ***");
            check("the server's words without the key", json!(quoted), json!(true));
        }
        check("places with the key", json!(places_with_key(folder.path(), &output)), json!([]));
        if !complaints.is_empty() {
            complaints.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        complaints
    }

    /// Returns whether a run gets as far as this call.
    fn asked(&self, caller: Caller) -> bool {
        match caller {
            Caller::Planner => true,
            Caller::Executor | Caller::Evaluator => self.at != Caller::Planner,
        }
    }

    fn run(&self, folder: &Path) -> (Output, Seen) {
        let (provider, variable, wire) = self.provider;
        let stream = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire").join(wire).join("text.sse");
        let stream = fs::read_to_string(stream).unwrap();
        let server = Server::start(Script { at: self.at, fault: self.fault, stream, key: KEY });
        let models = Caller::ALL.map(|caller| format!("  {}: {}\n", caller.name(), caller.model()));
        let hangs = matches!(self.fault, Fault::HangsBeforeHeaders | Fault::HangsMidStream);
        let patience = if hangs { IMPATIENT } else { "" };
        let config = format!("{CONFIG}{patience}}}\nmodel:\n{}", models.concat());
        fs::write(folder.join("config.yaml"), config).unwrap();
        fs::write(folder.join("prompt.yaml"), PROMPT).unwrap();
        let mut command = tepa(folder);
        command.args(["run", "prompt.yaml", "--config", "config.yaml", "--provider", provider]);
        command.args(["--base-url", &server.base(), "--max-cycles", "1"]);
        // Only so that a run which hangs ends; its exit code is none of those that are expected.
        command.args(["--timeout", "20s", "--log-level", "verbose"]).env(variable, KEY);
        let output = finish(&mut command);
        (output, server.stop())
    }
}

/// What a run wrote down.
struct Journal {
    result: Value,
    events: Vec<Value>,
}

impl Journal {
    fn read(folder: &Path) -> Self {
        let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
        let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
        Self {
            result: serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap(),
            events: events.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }
}

/// Returns the streams and files that hold the key, which the server says back wherever it can.
fn places_with_key(folder: &Path, output: &Output) -> Vec<String> {
    let mut places =
        vec![("stdout".to_owned(), output.stdout.clone()), ("stderr".to_owned(), output.stderr.clone())];
    for file in files_below(folder) {
        places.push((file.display().to_string(), fs::read(folder.join(file)).unwrap()));
    }
    let with_key = places.into_iter().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(KEY));
    with_key.map(|(place, _)| place).collect()
}

/// Runs every fault at each of these calls.
fn check(providers: &[(&'static str, &'static str, &'static str)], calls: &[Caller]) {
    let mut cases = Vec::new();
    for &provider in providers {
        for &at in calls {
            cases.extend(FAULTS.map(|(fault, wait)| Case { provider, fault, wait, at }));
        }
    }
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let complaints = case.complaints();
                    if !complaints.is_empty() {
                        let case =
                            format!("{:?} at the {} of {}", case.fault, case.at.name(), case.provider.0);
                        failures.lock().unwrap().push(format!("{case}:\n  {}", complaints.join("\n  ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn no_fault_at_any_call_leads_to_another_code_than_the_documented_one() {
    check(&PROVIDERS[..1], &Caller::ALL);
}

#[test]
fn a_fault_is_the_same_whoever_the_provider_is() {
    check(&PROVIDERS[1..], &[Caller::Planner]);
}
