//! Runs the binary with steps that use the network, against servers on this machine.

#![cfg(test)]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use support::{finish, tepa, text};

const PROMPT: &str = "goal: Say something.\ncontext: {}\nexpectedOutput: Something said.\n";

/// A server that answers one connection after the other by a list, the last answer over and over; an empty one drops the connection.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let (mut stream, mut head) = (stream.unwrap(), [0; 4096]);
                let count = stream.read(&mut head).unwrap();
                seen.lock().unwrap().push(text(&head[..count]));
                let answer = answers.get(at).or(answers.last()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn lines(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| request.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

/// Runs one step that calls `tool`; the judge passes it when it is shown `seen`.
fn run(folder: &Path, tool: &str, parameters: &Value, seen: &str) -> Output {
    let plan = json!({
        "reasoning": "because",
        "estimatedTokens": 10,
        "steps": [{"id": "one", "description": "ask", "tools": [tool], "expectedOutcome": "told", "dependencies": []}],
    });
    let replies = json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "json": plan},
        {"stage": "step", "step": "one", "tool": tool, "toolUse": parameters},
        {
            "stage": "evaluator",
            "expect": {"contains": [seen]},
            "json": {"verdict": "pass", "confidence": 0.9, "summary": "done"},
        },
    ]});
    fs::write(folder.join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.join("prompt.replay.yaml"), replies.to_string()).unwrap();
    let mut command = tepa(folder);
    // Nobody listens there: a request that went through a proxy would fail.
    command.envs(["HTTP_PROXY", "http_proxy", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:9")));
    finish(command.args(["run", "prompt.yaml", "--provider", "replay"]))
}

fn assert_passes(tool: &str, parameters: &Value, seen: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), tool, parameters, seen);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn an_answer_reaches_the_judge_after_lost_connections_and_a_redirect() {
    let server = Server::start(&[
        "",
        "",
        "HTTP/1.1 302 Found\r\nlocation: /there\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\nsorry",
    ]);
    let parameters = json!({"url": server.url("/here?a=1"), "queryParams": {"b": 2}});
    assert_passes("http_request", &parameters, "sorry");
    let here = "GET /here?a=1&b=2 HTTP/1.1";
    assert_eq!(server.lines(), [here, here, here, "GET /there HTTP/1.1"]);
}

#[test]
fn what_was_found_reaches_the_judge() {
    let server = Server::start(&["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n[{\"title\": \"Sunny\"}]"]);
    let parameters = json!({"query": "weather", "endpoint": server.url("/?key=1")});
    assert_passes("web_search", &parameters, "Sunny");
    assert_eq!(server.lines(), ["GET /?key=1&q=weather&count=5 HTTP/1.1"]);
}

#[test]
fn a_redirect_to_the_cloud_is_refused_and_the_step_fails() {
    let server = Server::start(&[
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/\r\nconnection: close\r\n\r\n",
    ]);
    assert_passes("http_request", &json!({"url": server.url("/")}), "cannot reach `169.254.169.254`: ");
    assert_eq!(server.lines().len(), 1);
}

#[test]
fn the_configuration_says_who_may_be_reached() {
    let server = Server::start(&["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nreached"]);
    for (allowed, seen) in [
        (format!("127.0.0.1:{}", server.address.port()), "reached"),
        ("127.0.0.1:1".to_owned(), "cannot reach `127.0.0.1`: it is not in `network.allowHosts`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({"network": {"allowHosts": [allowed]}});
        fs::write(folder.path().join("tepa.yaml"), config.to_string()).unwrap();
        let output = run(folder.path(), "http_request", &json!({"url": server.url("/")}), seen);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(server.lines().len(), 1);
}
