//! Runs one task through the binary in all four wire formats, streamed and whole: the same comes out of it as of scripted replies, and
//! the same was asked. Nothing here leaves the machine.

#![cfg(test)]

mod server;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

use server::{Fault, Received, Server};
use support::{files_below, finish, result_of, tepa, text};
use wire::{Asked, Format};

/// What every key begins with; no file, no stream, no address and no body may ever show it.
const KEY: &str = "sk-canary-";
const VARIABLES: [&str; 3] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];

struct Run {
    folder: TempDir,
    received: Vec<Received>,
}

impl Run {
    /// Runs the task to its pass.
    fn of(provider: &str, server: Option<&Server>, stream: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
        for file in ["task.yaml", "task.replay.yaml"] {
            fs::copy(here.join(file), folder.path().join(file)).unwrap();
        }
        let calls = format!("calls: {{stream: {stream}, retryBaseDelay: 1}}\n");
        fs::write(folder.path().join("calls.yaml"), calls).unwrap();
        let mut command = tepa(folder.path());
        command.args(["run", "task.yaml", "--config", "calls.yaml", "--model", "m", "--provider", provider]);
        command.envs(VARIABLES.map(|variable| (variable, format!("{KEY}{variable}"))));
        command.args(server.iter().flat_map(|server| ["--base-url", &server.url]));
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(0), "{provider}: {}", text(&output.stderr));
        for file in files_below(folder.path()) {
            assert!(!shows_key(&fs::read(folder.path().join(&file)).unwrap()), "{}", file.display());
        }
        assert!(!shows_key(&output.stdout) && !shows_key(&output.stderr));
        Self { folder, received: server.map(Server::received).unwrap_or_default() }
    }

    /// Runs the task against a server.
    fn served(format: Format, stream: bool, fault: Option<Fault>) -> Self {
        let file = include_str!("task.replay.yaml");
        let script = tepa::source::parse_yaml_value(file, 10_000).unwrap();
        let server = Server::start(script["replies"].as_array().unwrap().clone(), fault);
        Self::of(format.access().0, Some(&server), stream)
    }

    /// Returns the result without what differs from run to run.
    fn result(&self) -> Value {
        let mut result = result_of(self.folder.path());
        forget_time(&mut result);
        result
    }

    fn greeting(&self) -> String {
        fs::read_to_string(self.folder.path().join("hello.txt")).unwrap()
    }

    fn asked(&self) -> Vec<Asked> {
        self.received.iter().map(|received| received.asked.clone()).collect()
    }

    /// Returns the events of a kind.
    fn events(&self, kind: &str) -> Vec<Value> {
        let run =
            fs::read_dir(self.folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
        let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).collect()
    }
}

fn shows_key(bytes: &[u8]) -> bool {
    bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
}

fn forget_time(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !["runId", "durationMs", "timestamp"].contains(&key.as_str()));
            map.values_mut().for_each(forget_time);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_time),
        _ => {}
    }
}

/// Returns what was asked without how, without how long steps took, and without the marks of envelopes.
fn alike(mut asked: Vec<Asked>) -> Vec<Asked> {
    let time = Regex::new(r#"\d+ ms\b|"durationMs": ?\d+"#).unwrap();
    let mark = Regex::new("(untrusted_content_)[0-9a-f]{16}").unwrap();
    for one in &mut asked {
        one.stream = false;
        // What a call reads is estimated by its length, and the digits of a time are a part of that.
        assert!(one.limit > 50_000, "{}", one.limit);
        one.limit = 0;
        for (_, text) in &mut one.messages {
            *text = time.replace_all(text, "TIME").into_owned();
            *text = mark.replace_all(text, "${1}MARK").into_owned();
        }
    }
    asked
}

fn assert_key_in_its_place(format: Format, received: &Received) {
    let (_, variable, header, prefix) = format.access();
    let Received { uri, headers, body, .. } = received;
    let with_key = headers.iter().filter(|(_, value)| shows_key(value.as_bytes()));
    let with_key: Vec<_> = with_key.map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(with_key, [(header, format!("{prefix}{KEY}{variable}").as_str())]);
    assert!(!shows_key(uri.to_string().as_bytes()) && !shows_key(body.to_string().as_bytes()));
}

#[test]
fn every_format_tells_the_same_story() {
    let replayed = Run::of("replay", None, true);
    let (result, greeting) = (replayed.result(), replayed.greeting());
    assert_eq!((&result["status"], &result["cycles"]), (&"pass".into(), &2.into()));
    assert_eq!(result["usage"]["total"]["cached"], 2692);
    let mut first: Option<Vec<Asked>> = None;
    for format in Format::ALL {
        for stream in [true, false] {
            let run = Run::served(format, stream, None);
            assert_eq!(run.result(), result, "{format:?}, stream: {stream}");
            assert_eq!(run.greeting(), greeting, "{format:?}, stream: {stream}");
            for received in &run.received {
                assert_eq!(Format::at(&received.uri), format);
                assert_eq!(received.asked.stream, stream, "{format:?}");
                assert_key_in_its_place(format, received);
            }
            let asked = alike(run.asked());
            assert_eq!(&asked, first.get_or_insert_with(|| asked.clone()), "{format:?}, stream: {stream}");
        }
    }
    assert_stages(&first.unwrap());
}

/// Asserts what each of the calls of the two cycles has to ask for.
fn assert_stages(asked: &[Asked]) {
    let stages: Vec<_> = asked
        .iter()
        .map(|asked| {
            assert!(asked.messages.iter().all(|(role, text)| role == "user" && !text.is_empty()));
            let has = |property: &str| {
                asked.properties.as_ref().is_some_and(|all| all.iter().any(|one| one == property))
            };
            (asked.tool.as_deref(), has("steps"), has("verdict"), asked.properties.is_some())
        })
        .collect();
    let cycle = [
        (None, true, false, true),
        (Some("file_write"), false, false, false),
        (None, false, false, false),
        (None, false, true, true),
    ];
    assert_eq!(stages, cycle.repeat(2));
}

#[test]
fn structured_output_that_is_refused_is_asked_for_once() {
    for format in Format::ALL {
        let run = Run::served(format, true, Some(Fault::Unstructured));
        let mut asked = run.asked();
        assert!(asked.remove(0).properties.is_some(), "{format:?}");
        assert!(asked.iter().all(|asked| asked.properties.is_none()), "{format:?}");
        assert_eq!(asked.len(), 8, "{format:?}");
        assert_eq!(run.events("llm.retry").len(), 0, "{format:?}");
    }
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again() {
    for format in Format::ALL {
        // The second request is for the parameters of `file_write`: half of them must not be used.
        let run = Run::served(format, true, Some(Fault::BreaksOff(1)));
        let retries = run.events("llm.retry");
        assert_eq!(retries.len(), 1, "{format:?}: {retries:?}");
        assert!(retries[0]["error"].as_str().unwrap().contains("broke off"), "{format:?}: {retries:?}");
        let asked = run.asked();
        assert_eq!((asked.len(), &asked[1].messages), (9, &asked[2].messages), "{format:?}");
        assert_eq!(run.events("tool.started").len(), 2, "{format:?}");
        assert_eq!(run.result()["cycles"], 2);
    }
}
