//! Owns a server on the loopback that speaks Chat Completions and answers any run: a plan of the shape that its address names, one file
//! for each step, and a verdict that passes.
//!
//! It remembers nothing but counters, so that the order of requests is up to who sends them.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// The steps of a plan, and who waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All at once, then one that reads them all.
    Join,
    /// All at once.
    Apart,
    /// One after the other.
    Chain,
}

impl Shape {
    const ALL: [(&str, Self); 3] = [("join", Self::Join), ("apart", Self::Apart), ("chain", Self::Chain)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, shape)| *shape == self).map_or("", |(name, _)| name)
    }

    /// Returns the ids that step `at` of `count` waits for.
    fn before(self, at: usize, count: usize) -> Vec<String> {
        match self {
            Self::Join if at == count => (1..count).map(id).collect(),
            Self::Chain if at > 1 => vec![id(at - 1)],
            Self::Join | Self::Apart | Self::Chain => Vec::new(),
        }
    }
}

/// What has come since the last look.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    /// When the first request came.
    pub(crate) first: Option<SystemTime>,
    pub(crate) calls: usize,
    pub(crate) bytes: u64,
}

/// The server; it stays until the process ends.
#[derive(Debug)]
pub(crate) struct Mock {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

impl Mock {
    /// Starts it in a thread of its own.
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Seen>>::default();
        let way = "/{shape}/{steps}/{delay}/v1/chat/completions";
        let app = Router::new().route(way, post(answer)).with_state(Arc::clone(&seen));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        Self { port, seen }
    }

    /// Returns the address at which plans have `steps` steps of a shape, and every answer takes `delay`.
    pub(crate) fn url(&self, shape: Shape, steps: usize, delay: Duration) -> String {
        format!("http://127.0.0.1:{}/{}/{steps}/{}", self.port, shape.name(), delay.as_millis())
    }

    /// Returns what has come since the last time that this was asked.
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

async fn answer(
    State(seen): State<Arc<Mutex<Seen>>>,
    Path((shape, steps, delay)): Path<(String, usize, u64)>,
    body: Body,
) -> Response {
    seen.lock().unwrap().first.get_or_insert_with(SystemTime::now);
    let body = to_bytes(body, usize::MAX).await.unwrap();
    {
        let mut seen = seen.lock().unwrap();
        seen.calls += 1;
        seen.bytes += body.len() as u64;
    }
    if delay > 0 {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    let shape = Shape::ALL.iter().find(|(name, _)| *name == shape).unwrap().1;
    let (message, finish) = match step_of(&request) {
        Some(step) => (written(step), "tool_calls"),
        None if request["response_format"].to_string().contains("\"steps\"") => {
            (json!({"content": plan(shape, steps).to_string()}), "stop")
        }
        None => (json!({"content": verdict().to_string()}), "stop"),
    };
    if request["stream"] != true {
        let choices = json!([{"index": 0, "message": message, "finish_reason": finish}]);
        return axum::Json(json!({"choices": choices, "usage": usage()})).into_response();
    }
    let mut stream = String::new();
    for chunk in [
        json!({"choices": [{"index": 0, "delta": message}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
        json!({"choices": [], "usage": usage()}),
    ] {
        write!(stream, "data: {chunk}\n\n").unwrap();
    }
    stream.push_str("data: [DONE]\n\n");
    ([(CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// Returns the step that a request asks parameters for.
fn step_of(request: &Value) -> Option<&str> {
    request.get("tools")?;
    let messages = request["messages"].as_array()?;
    let lines = messages.iter().filter_map(|message| message["content"].as_str()).flat_map(str::lines);
    lines.filter_map(|line| line.strip_prefix("# Step ")).next_back()
}

fn id(at: usize) -> String {
    format!("step{at}")
}

fn plan(shape: Shape, count: usize) -> Value {
    let step = |at: usize| {
        json!({
            "id": id(at),
            "description": format!("Write part {at} to out/{}.txt", id(at)),
            "tools": ["file_write"],
            "expectedOutcome": "The file is there",
            "dependencies": shape.before(at, count),
        })
    };
    let steps: Vec<Value> = (1..=count).map(step).collect();
    json!({"reasoning": "One file for each part.", "estimatedTokens": 100 * count, "steps": steps})
}

fn written(step: &str) -> Value {
    let parameters = json!({"path": format!("out/{step}.txt"), "content": format!("This is {step}.\n")});
    let function = json!({"name": "file_write", "arguments": parameters.to_string()});
    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
}

fn verdict() -> Value {
    json!({"criteria": [], "verdict": "pass", "confidence": 0.95, "summary": "Every part is there."})
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
}
