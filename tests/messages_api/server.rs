//! Owns a server on the loopback that speaks the Messages API, and a script that it can answer from.
//!
//! It keeps what was sent, so that a test can look at requests as the vendor would see them.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

type Answer = (StatusCode, Json<Value>);

struct Desk {
    answer: Box<dyn Fn(&Received) -> Answer + Send + Sync>,
    received: Mutex<Vec<Received>>,
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    desk: Arc<Desk>,
    _runtime: Runtime,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let desk = Arc::new(Desk { answer: Box::new(answer), received: Mutex::default() });
        let router = Router::new()
            .route("/v1/messages", post(take))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&desk));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { url, desk, _runtime: runtime }
    }

    /// Returns everything that was sent so far, in order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.desk.received.lock().unwrap().clone()
    }
}

async fn take(State(desk): State<Arc<Desk>>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    let received = Received { headers, body };
    desk.received.lock().unwrap().push(received.clone());
    (desk.answer)(&received)
}

/// Returns an error in the vendor's form.
pub(crate) fn refusal(status: u16, kind: &str, message: &str) -> Answer {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
    (StatusCode::from_u16(status).unwrap(), Json(body))
}

/// What a call is for: stage, cycle, step and tool of a scripted reply.
#[derive(Debug, PartialEq)]
struct Purpose(&'static str, u64, Option<String>, Option<String>);

/// Scripted replies, served as a model would give them.
pub(crate) struct Script(Vec<Value>);

impl Script {
    pub(crate) fn load(path: &Path) -> Self {
        let file = tepa::source::parse_yaml_value(&fs::read_to_string(path).unwrap(), 10_000).unwrap();
        Self(file["replies"].as_array().unwrap().clone())
    }

    /// Returns the message that answers a request; its usage is told in the three parts that the API knows.
    pub(crate) fn answer(&self, request: &Value) -> Answer {
        let reply = self.reply(request);
        let (content, stop_reason) = match &reply["toolUse"] {
            Value::Null => (json!({"type": "text", "text": said(reply)}), "end_turn"),
            input => {
                let call =
                    json!({"type": "tool_use", "id": "toolu_1", "name": reply["tool"], "input": input});
                (call, "tool_use")
            }
        };
        let input = reply["usage"]["input"].as_u64().unwrap();
        let message = json!({
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [content],
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": {
                "input_tokens": input - 500,
                "cache_read_input_tokens": 300,
                "cache_creation_input_tokens": 200,
                "output_tokens": reply["usage"]["output"],
                "service_tier": "standard",
            },
        });
        (StatusCode::OK, Json(message))
    }

    /// Returns the tokens that the answer to a request takes.
    pub(crate) fn tokens(&self, request: &Value) -> u64 {
        let usage = &self.reply(request)["usage"];
        usage["input"].as_u64().unwrap() + usage["output"].as_u64().unwrap()
    }

    /// Returns how many replies there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn reply(&self, request: &Value) -> &Value {
        let wanted = self.purpose(request);
        let found = self.0.iter().find(|reply| {
            let cycle = reply["cycle"].as_u64().unwrap();
            let text = |key: &str| reply[key].as_str().map(str::to_owned);
            let (asked, step, tool) = (wanted.0, &wanted.2, &wanted.3);
            reply["stage"] == asked && cycle == wanted.1 && text("step") == *step && text("tool") == *tool
        });
        found.unwrap_or_else(|| panic!("nothing is scripted for {wanted:?}"))
    }

    /// Works out from a request alone what it is for.
    fn purpose(&self, request: &Value) -> Purpose {
        let system = words(&request["system"]);
        let user = &words(&request["messages"][0]["content"]);
        if system.starts_with("You are the planner") {
            return Purpose(
                "planner",
                number(user, "# Scratchpad after cycle ").map_or(1, |n| n + 1),
                None,
                None,
            );
        }
        if system.starts_with("You are the evaluator") {
            return Purpose("evaluator", number(user, "# Steps of cycle ").unwrap(), None, None);
        }
        let mut lines = user.lines().skip_while(|line| !line.starts_with("# Step "));
        let step = lines.next().unwrap().strip_prefix("# Step ").unwrap();
        let cycle = self.cycle_that_planned(step, lines.next().unwrap());
        let tool = request["tool_choice"]["name"].as_str().map(str::to_owned);
        Purpose("step", cycle, Some(step.to_owned()), tool)
    }

    /// Steps of different cycles share their ids; what they are told to do differs.
    fn cycle_that_planned(&self, id: &str, description: &str) -> u64 {
        let planned = |plan: &&Value| {
            let steps = plan["json"]["steps"].as_array();
            steps.into_iter().flatten().any(|step| step["id"] == id && step["description"] == description)
        };
        self.0.iter().find(planned).unwrap()["cycle"].as_u64().unwrap()
    }
}

/// Returns a text that may be cut into blocks.
pub(crate) fn words(content: &Value) -> String {
    let block = |block: &Value| block["text"].as_str().unwrap().to_owned();
    content.as_str().map_or_else(|| content.as_array().unwrap().iter().map(block).collect(), str::to_owned)
}

fn said(reply: &Value) -> String {
    reply["text"].as_str().map_or_else(|| reply["json"].to_string(), str::to_owned)
}

fn number(text: &str, before: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(before))?.parse().ok()
}
