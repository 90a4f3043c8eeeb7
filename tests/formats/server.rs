//! Owns a server on the loopback that answers from a script in whichever format it is asked, and keeps what was sent.
//!
//! It works out from a request alone what it is for, and cuts streams wherever it likes: within lines, events and letters.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::wire::{Asked, Format};

/// The sizes of the pieces of a stream, again and again.
const PIECES: [usize; 7] = [1, 17, 2, 64, 5, 130, 3];

/// What the server does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Refuses every request for structured output.
    Unstructured,
    /// Drops the connection in the middle of the answer to this request, counted from 0.
    BreaksOff(usize),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) asked: Asked,
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    _runtime: Runtime,
}

impl Server {
    pub(crate) fn start(replies: Vec<Value>, fault: Option<Fault>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let log = Arc::clone(&received);
        let take = move |uri: Uri, headers: HeaderMap, Json(body): Json<Value>| async move {
            let format = Format::at(&uri);
            let asked = format.read(&uri, &body);
            let mut log = log.lock().unwrap();
            let breaks_off = fault == Some(Fault::BreaksOff(log.len()));
            log.push(Received { uri, headers, body, asked: asked.clone() });
            if fault == Some(Fault::Unstructured) && asked.properties.is_some() {
                return (axum::http::StatusCode::BAD_REQUEST, Json(format.refusal())).into_response();
            }
            let reply = reply(&replies, &asked);
            if asked.stream {
                pieces(format.stream(reply), breaks_off)
            } else {
                Json(format.whole(reply)).into_response()
            }
        };
        let router = Router::new().fallback(take);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { url, received, _runtime: runtime }
    }

    /// Returns everything that was sent so far, in order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

/// Returns a stream in uneven pieces, which may end in the middle with a lost connection.
fn pieces(text: String, breaks_off: bool) -> Response {
    let mut rest = text.into_bytes();
    if breaks_off {
        rest.truncate(rest.len() / 2);
    }
    let mut pieces = Vec::new();
    for size in PIECES.into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let tail = rest.split_off(size.min(rest.len()));
        pieces.push(Ok(std::mem::replace(&mut rest, tail)));
    }
    let lost = stream::once(async {
        // What came before is sent while this waits.
        tokio::task::yield_now().await;
        Err(std::io::Error::other("lost"))
    });
    let body = Body::from_stream(stream::iter(pieces).chain(lost.take(usize::from(breaks_off))));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Returns the reply to what is asked.
fn reply<'a>(replies: &'a [Value], asked: &Asked) -> &'a Value {
    let Asked { system, messages, tool, .. } = asked;
    let number = |before| messages.iter().find_map(|(_, text)| after(text, before)?.parse::<u64>().ok());
    let step = messages.iter().find_map(|(_, text)| after(text, "# Step "));
    let is_meant = |reply: &&Value| match reply["stage"].as_str().unwrap() {
        "planner" => {
            let last = number("# Scratchpad after cycle ").unwrap_or_default();
            system.starts_with("You are the planner") && reply["cycle"] == last + 1
        }
        "evaluator" => {
            system.starts_with("You are the evaluator")
                && number("# Steps of cycle ").is_some_and(|n| reply["cycle"] == n)
        }
        _ => reply["step"].as_str() == step && reply["tool"].as_str() == tool.as_deref(),
    };
    replies.iter().find(is_meant).unwrap_or_else(|| panic!("nothing is scripted for {asked:#?}"))
}

fn after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(before))
}
