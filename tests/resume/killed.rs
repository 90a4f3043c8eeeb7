//! Processes that are killed at any moment, again and again: the run comes to the same result, and no call that changes something is made twice.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{program, tepa};

const RUNS: usize = 100;

const STEPS: usize = 6;

const TASK: &str = "
goal: Leave a mark for each name.
context: {}
expectedOutput:
  - {path: done/s1, description: a mark, checks: [{contains: ok}]}
  - {path: done/s2, description: a mark, checks: [{contains: ok}]}
  - {path: done/s3, description: a mark, checks: [{contains: ok}]}
  - {path: done/s4, description: a mark, checks: [{contains: ok}]}
  - {path: done/s5, description: a mark, checks: [{contains: ok}]}
  - {path: done/s6, description: a mark, checks: [{contains: ok}]}
";

const TOOLS: &str = "
customTools:
  - name: mark
    description: Leaves a mark, and says so in a list that only grows.
    parameters: {name: {type: string, description: The name.}}
    command: [sh, mark.sh]
";

const MARK: &str = r#"name=$(sed 's/.*"name":"\([a-z0-9]*\)".*/\1/')
echo "$name" >> marks.log
mkdir -p done
sleep 0.02
echo ok > "done/$name"
echo '{}'
"#;

/// A number that nobody would guess, the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

#[test]
fn killed_at_any_moment_a_run_comes_to_the_same_result() {
    let url = serve();
    let whole = Instant::now();
    let folder = folder();
    assert_eq!(Attempt::Run.made(folder.path(), &url, None), Some(0), "{}", log(folder.path()));
    check(folder.path(), "nobody");
    let whole = whole.elapsed();
    let (next, resumed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= RUNS {
                        break;
                    }
                    resumed.fetch_add(kill_and_resume(number, &url, whole), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(resumed.into_inner() >= RUNS / 4, "too few of the runs were cut in the middle");
}

/// Kills a run up to three times, and lets it come to its end; returns how often it was resumed.
fn kill_and_resume(number: usize, url: &str, whole: Duration) -> usize {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    let folder = folder();
    let mut resumed = 0;
    for attempt in 0.. {
        let again = has_begun(folder.path());
        let most = u64::try_from(whole.as_micros()).unwrap() * 11 / 10;
        let life = (attempt < 3).then(|| Duration::from_micros(dice.below(most)));
        resumed += usize::from(again);
        let how = if again { Attempt::Resume } else { Attempt::Run };
        match how.made(folder.path(), url, life) {
            None => {}
            // It had come to its end when it was killed.
            Some(2) if again && has_ended(folder.path()) => break,
            Some(code) => {
                assert_eq!(code, 0, "run {number}, attempt {attempt}: {}", log(folder.path()));
                break;
            }
        }
        assert!(attempt < 10, "run {number} never ends");
    }
    check(folder.path(), &format!("run {number}"));
    resumed
}

enum Attempt {
    Run,
    Resume,
}

impl Attempt {
    /// Starts it and kills it when its time is up; returns its exit code if it ended before.
    fn made(&self, folder: &Path, url: &str, life: Option<Duration>) -> Option<i32> {
        let mut command: Command = match self {
            Self::Run => {
                let mut command = tepa(folder);
                let provider = ["--provider", "openai-compatible", "--base-url", url, "--model", "m"];
                command.args(["run", "task.yaml", "--max-tokens", "1000000"]).args(provider);
                command
            }
            Self::Resume => {
                let mut command = program(crate::support::TEPA, folder);
                command.args(["runs", "resume", "latest"]);
                command
            }
        };
        let log = fs::File::options().create(true).append(true).open(folder.join("stderr.log")).unwrap();
        command.args(["--config", "tools.yaml"]).stdout(Stdio::null()).stderr(log);
        let mut child = command.spawn().unwrap();
        let Some(life) = life else { return child.wait().unwrap().code() };
        let born = Instant::now();
        while born.elapsed() < life {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap().code()
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("task.yaml", TASK), ("tools.yaml", TOOLS), ("mark.sh", MARK)] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Returns whether the newest record says what the run is to do.
fn has_begun(folder: &Path) -> bool {
    newest(folder).is_some_and(|record| record.contains('\n'))
}

fn has_ended(folder: &Path) -> bool {
    newest(folder)
        .is_some_and(|record| record.contains("\"type\":\"run.completed\"") && record.ends_with('\n'))
}

fn newest(folder: &Path) -> Option<String> {
    let runs = fs::read_dir(folder.join(".tepa/runs")).ok()?.map(|run| run.unwrap().path());
    fs::read_to_string(runs.max()?.join("events.jsonl")).ok()
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("stderr.log")).unwrap()
}

fn check(folder: &Path, who: &str) {
    let record = newest(folder).unwrap();
    let last: Value = serde_json::from_str(record.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["result"]["status"]),
        (&json!("run.completed"), &json!("pass")),
        "{who}"
    );
    for step in 1..=STEPS {
        let mark = fs::read_to_string(folder.join(format!("done/s{step}")));
        assert_eq!(mark.unwrap(), "ok\n", "{who}: s{step}");
    }
    let marks = fs::read_to_string(folder.join("marks.log")).unwrap();
    let once: BTreeSet<&str> = marks.lines().collect();
    assert_eq!(once.len(), marks.lines().count(), "{who}: a mark was left twice: {marks}\n{}", log(folder));
}

/// Starts a server that answers any run; returns its address.
fn serve() -> String {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let app = Router::new().route("/v1/chat/completions", post(answer));
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    format!("http://127.0.0.1:{port}/v1")
}

async fn answer(axum::Json(request): axum::Json<Value>) -> impl IntoResponse {
    tokio::time::sleep(Duration::from_millis(10)).await;
    let said = request["messages"].to_string();
    let (message, finish) = if request.get("tools").is_some() {
        (call(&said, &request["tools"].to_string()), "tool_calls")
    } else if request["response_format"].to_string().contains("\"steps\"") {
        (json!({"content": plan(&said).to_string()}), "stop")
    } else {
        let verdict = json!({"criteria": [], "verdict": "pass", "confidence": 1, "summary": "There they are.", "feedback": null});
        (json!({"content": verdict.to_string()}), "stop")
    };
    let choice = json!({"index": 0, "delta": message, "finish_reason": finish});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let stream = format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [choice]}),
        json!({"choices": [], "usage": usage})
    );
    ([(CONTENT_TYPE, "text/event-stream")], stream)
}

/// A mark for each name; once something was interrupted, what is missing is put right by what may be done twice.
fn plan(said: &str) -> Value {
    let mends = said.contains("was interrupted, and may have run") || said.contains("_execution_summary");
    let tool = if mends { "file_write" } else { "mark" };
    let step = |at: usize| {
        let of = format!("s{at}");
        json!({"id": of, "description": format!("mark:{of}:"), "tools": [tool], "expectedOutcome": "o", "dependencies": []})
    };
    json!({"reasoning": "r", "estimatedTokens": 1, "steps": (1..=STEPS).map(step).collect::<Vec<_>>()})
}

fn call(said: &str, tools: &str) -> Value {
    let of = said.rsplit("mark:").next().and_then(|rest| rest.split(':').next()).unwrap();
    let (name, parameters) = if tools.contains("\"file_write\"") {
        ("file_write", json!({"path": format!("done/{of}"), "content": "ok\n"}))
    } else {
        ("mark", json!({"name": of}))
    };
    let function = json!({"name": name, "arguments": parameters.to_string()});
    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
}
