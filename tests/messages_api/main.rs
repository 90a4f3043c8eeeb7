//! Runs the binary against a server that speaks the Messages API, on a real socket: what is sent, what comes of it, and every way
//! in which a server can let a run down. Nothing here leaves the machine.

#![cfg(test)]

mod server;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use server::{Received, Script, Server, refusal};
use support::{example, files_below, finish, hashes, result_of, tepa, text};

/// A key that no file and no stream may ever show.
const KEY: &str = "sk-canary-5f3a91";

fn run(folder: &Path, url: &str) -> Command {
    let mut command = tepa(folder);
    command.args(["run", "prompts/task.yaml", "--provider", "anthropic", "--base-url", url]);
    command.env("ANTHROPIC_API_KEY", KEY);
    command
}

/// Runs against `url` and makes sure that the key stays where it is.
fn attempt(url: &str, arguments: &[&str]) -> (Output, Value) {
    let folder = example();
    fs::write(folder.path().join("calls.yaml"), "calls: {retryBaseDelay: 1}\n").unwrap();
    let output = finish(run(folder.path(), url).args(["--config", "calls.yaml"]).args(arguments));
    assert_no_key(folder.path(), &output);
    (output, result_of(folder.path()))
}

fn assert_no_key(folder: &Path, output: &Output) {
    let holds = |bytes: &[u8]| bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
    assert!(!holds(&output.stdout) && !holds(&output.stderr), "{}", text(&output.stderr));
    for file in files_below(folder) {
        assert!(!holds(&fs::read(folder.join(&file)).unwrap()), "the key is in {}", file.display());
    }
}

/// Asserts that a run ended without a verdict, for a reason given once, in one line, with `words` in it.
fn assert_no_verdict((output, result): &(Output, Value), words: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert_eq!((&result["status"], &result["exitCode"]), (&Value::Null, &json!(4)));
    assert_eq!(result["reason"], "provider_error");
    let reasons: Vec<&str> =
        stderr.lines().filter(|line| line.starts_with("the provider failed: ")).collect();
    assert_eq!(reasons.len(), 1, "{stderr}");
    for word in words {
        assert!(reasons[0].contains(word), "{word:?} is not in {:?}", reasons[0]);
    }
    assert!(stderr.lines().last().unwrap().starts_with("no verdict"), "{stderr}");
}

/// The example run with a model behind a socket.
struct Served {
    folder: TempDir,
    script: Arc<Script>,
    requests: Vec<Received>,
    result: Value,
}

fn served(arguments: &[&str]) -> Served {
    served_in(example(), arguments)
}

fn served_in(folder: TempDir, arguments: &[&str]) -> Served {
    let script = Arc::new(Script::load(&folder.path().join("prompts/task.replay.yaml")));
    let replies = Arc::clone(&script);
    let server = Server::start(move |request| replies.answer(&request.body));
    let output = finish(run(folder.path(), &server.url).args(arguments));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_no_key(folder.path(), &output);
    let result = result_of(folder.path());
    Served { folder, script, requests: server.received(), result }
}

#[test]
fn the_example_runs_as_it_does_on_scripted_replies() {
    let served = served(&[]);
    let replayed = example();
    let output = finish(tepa(replayed.path()).args(["run", "prompts/task.yaml", "--provider", "replay"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (here, there) = (&served.result, &result_of(replayed.path()));
    for key in ["status", "reason", "cycles", "tokensUsed", "outputs", "feedback", "checks", "evaluation"] {
        assert_eq!(here[key], there[key], "{key}");
    }
    assert_eq!(here["cycles"], 2);
    let paths = ["out/class-5b/progress-report.md", "out/class-5b/flagged-students.csv"];
    for path in paths {
        assert!(served.folder.path().join(path).is_file(), "{path}");
        assert!(hashes(here).iter().any(|(file, _)| *file == path), "{path}");
    }
    assert_eq!(served.requests.len(), served.script.len());
}

#[test]
fn statement_13_a_turn_without_stages_leaves_every_request_as_it_was() {
    // What no two runs have in common: moments, how long things took, their ids, and the marks of envelopes.
    let times =
        Regex::new(r#"\d+ ms\b|"durationMs": ?\d+|"max_tokens":\d+|\d{4}-\d\d-\d\dT[0-9:.]+Z|(untrusted_content_)[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"#)
            .unwrap();
    let sent = |config: Option<&str>| -> Vec<String> {
        let folder = example();
        if let Some(config) = config {
            fs::write(folder.path().join("turns.yaml"), config).unwrap();
        }
        let arguments: &[&str] = if config.is_some() { &["--config", "turns.yaml"] } else { &[] };
        let requests = served_in(folder, arguments).requests;
        let bodies = requests.iter().map(|request| request.body.to_string());
        let bodies = bodies.map(|body| times.replace_all(&body.replace("\\\"", "\""), "$1").into_owned());
        // Steps that are under way together ask in any order.
        let mut sorted: Vec<String> = bodies.collect();
        sorted.sort();
        sorted
    };
    let absent = sent(None);
    assert!(absent.len() > 10 && absent.iter().any(|body| body.contains("untrusted_content_ kind")));
    let empty =
        ["turn: {}", "turn: {input: [], output: []}\ncycle: {input: [], output: []}", "turn: {session: a}"];
    for config in empty {
        let sent = sent(Some(config));
        assert_eq!(sent.len(), absent.len(), "{config}");
        for (sent, absent) in sent.iter().zip(&absent) {
            let at = sent.bytes().zip(absent.bytes()).position(|(one, other)| one != other);
            assert!(sent == absent, "{config}: {:?}", at.map(|at| sent.split_at(at).1));
        }
    }
}

#[test]
fn the_log_of_calls_holds_no_declared_secret_whatever_it_holds() {
    // A name of the example, which its data, its prompts and its replies are full of.
    let secret = "Haddad, Karim";
    let folder = example();
    let config = json!({"secrets": {"env": ["CANARY"]}, "llmLog": {"includeContent": true}});
    fs::write(folder.path().join("canary.json"), config.to_string()).unwrap();
    let script = Arc::new(Script::load(&folder.path().join("prompts/task.replay.yaml")));
    let replies = Arc::clone(&script);
    let server = Server::start(move |request| replies.answer(&request.body));
    let mut command = run(folder.path(), &server.url);
    let output = finish(command.args(["--config", "canary.json"]).env("CANARY", secret));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let sent = server.received().iter().any(|request| request.body.to_string().contains(secret));
    assert!(sent, "the model is told what tools read");
    let records = folder.path().join(".tepa");
    let files = files_below(&records);
    assert!(files.iter().any(|file| file.starts_with("logs")), "{files:?}");
    for file in files {
        let content = fs::read_to_string(records.join(&file)).unwrap();
        assert!(!content.contains(secret), "{}", file.display());
        assert!(content.contains("***"), "{}", file.display());
    }
}

#[test]
fn usage_adds_up_to_what_the_server_told() {
    let Served { script, requests, result, .. } = served(&[]);
    let total: u64 = requests.iter().map(|request| script.tokens(&request.body)).sum();
    assert_eq!(result["tokensUsed"], total);
    let usage = &result["usage"];
    let sum = |usage: &Value, key: &str| usage[key].as_u64().unwrap();
    assert_eq!(sum(&usage["total"], "input") + sum(&usage["total"], "output"), total);
    let calls = requests.len() as u64;
    assert_eq!(usage["total"]["cached"], 300 * calls);
    assert_eq!(usage["total"]["cacheWrite"], 200 * calls);
    for split in ["byRole", "byModel"] {
        for key in ["input", "output", "cached", "cacheWrite"] {
            let parts: u64 = usage[split].as_object().unwrap().values().map(|part| sum(part, key)).sum();
            assert_eq!(parts, sum(&usage["total"], key), "{split} {key}");
        }
    }
}

#[test]
fn requests_have_the_form_of_the_api() {
    let budget = 60_000;
    let Served { script, requests, .. } = served(&["--max-tokens", "60000"]);
    let mut left = budget;
    let mut forced = 0;
    for Received { headers, body } in &requests {
        assert_eq!(headers["x-api-key"], KEY);
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        assert_eq!(headers["content-type"], "application/json");
        assert!(!headers.contains_key("authorization"));
        let limit = body["max_tokens"].as_u64().unwrap();
        assert!(
            0 < limit && limit < left,
            "an answer may not be longer than what reading leaves: {limit} of {left}"
        );
        left -= script.tokens(body);
        let messages = body["messages"].as_array().unwrap();
        assert!(messages.iter().all(|message| message["role"] == "user"));
        let system = server::words(&body["system"]);
        if system.starts_with("You execute one step of a plan by calling one tool") {
            forced += 1;
            assert_one_tool_is_forced(body);
            assert_eq!(body["model"], "claude-haiku-4-5");
        } else {
            assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{system}");
        }
    }
    // Every call but those of two planners, two judges and the step that only thinks.
    assert_eq!(forced, requests.len() - 5);
}

fn assert_one_tool_is_forced(body: &Value) {
    let tools = body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{body:#}");
    let name = &tools[0]["name"];
    assert_eq!(
        body["tool_choice"],
        json!({"type": "tool", "name": name, "disable_parallel_tool_use": true}),
        "{name}"
    );
    let schema = &tools[0]["input_schema"];
    assert_eq!(schema["type"], "object", "{name}");
    let properties = schema["properties"].as_object().unwrap();
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(properties.contains_key(required.as_str().unwrap()), "{name}: {required}");
    }
    assert!(!properties.is_empty() && tools[0]["description"].is_string(), "{name}");
}

#[test]
fn a_key_that_is_refused_is_named_and_not_shown() {
    // As careless servers do, this one sends back what it was sent.
    let server = Server::start(|request| {
        let key = request.headers["x-api-key"].to_str().unwrap();
        refusal(401, "authentication_error", &format!("invalid x-api-key {key}"))
    });
    let ended = attempt(&server.url, &[]);
    assert_no_verdict(&ended, &["`ANTHROPIC_API_KEY`", "401", &server.url]);
}

#[test]
fn a_server_that_is_busy_or_broken_leaves_no_verdict() {
    for (status, kind) in [(500, "api_error"), (529, "overloaded_error")] {
        let server = Server::start(move |_| refusal(status, kind, "try later"));
        let ended = attempt(&server.url, &[]);
        assert_no_verdict(&ended, &[&status.to_string(), "try later", &server.url]);
    }
}

#[test]
fn a_server_that_never_answers_is_ended_by_the_clock() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Connections are kept, or the system would close them.
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    let (output, result) = attempt(&url, &["--timeout", "500ms"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!((&result["status"], &result["reason"]), (&json!("terminated"), &json!("time_budget")));
}

#[test]
fn an_answer_that_breaks_off_is_no_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            read_request(&mut connection);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n";
            let begun = r#"{"content": [{"type": "text", "text": "{\"verdict\": \"pass\""#;
            connection.write_all(format!("{head}{begun}").as_bytes()).unwrap();
        }
    });
    assert_no_verdict(&attempt(&url, &[]), &["broke off", &url]);
}

/// Reads one whole request: a connection closed on unread data is reset, and what was answered may be lost with it.
fn read_request(connection: &mut std::net::TcpStream) {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = connection.read(&mut part).unwrap();
        request.extend_from_slice(&part[..count]);
        let text = text(&request).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if count == 0 || body.len() >= length.trim().parse().unwrap() {
                return;
            }
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // The socket is bound and does not listen: nobody answers at its port, and nobody else can take it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    assert_no_verdict(&attempt(&url, &[]), &["cannot reach", &url]);
}

#[test]
fn the_loopback_is_reached_without_a_proxy() {
    let proxy = Server::start(|_| refusal(502, "api_error", "this is the proxy"));
    let server = Server::start(|_| refusal(400, "invalid_request_error", "this is the server"));
    let folder = example();
    let mut command = run(folder.path(), &server.url);
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(variable, &proxy.url).env(variable.to_lowercase(), &proxy.url);
    }
    let output = finish(&mut command);
    assert_no_verdict(&(output, result_of(folder.path())), &["this is the server"]);
    assert!(proxy.received().is_empty());
}

#[test]
fn the_vendors_own_variable_names_the_server_as_well() {
    let server = Server::start(|_| refusal(400, "invalid_request_error", "this is the server"));
    let folder = example();
    let mut command = tepa(folder.path());
    command.args(["run", "prompts/task.yaml"]).env("ANTHROPIC_API_KEY", KEY);
    let output = finish(command.env("ANTHROPIC_BASE_URL", &server.url));
    assert_no_verdict(&(output, result_of(folder.path())), &["this is the server"]);
}
