//! Owns the reading of the pairs in `tests/wire`, for the tests of dialects: the request as sent, the answer as documented, whole and as
//! a stream, and what it says.

use std::fs;
use std::path::PathBuf;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::answer::Answer;
use super::dialect::{Dialect, Form};
use super::sse;
use crate::event::{Purpose, Role};
use crate::outcome::Usage;
use crate::provider::{Message, ProviderError, Request, Response};
use crate::tool::{ParameterType, ToolSchema};

/// Returns the request that every pair is about, with or without a tool to call.
pub(super) fn request(model: &str, tool: bool) -> Request {
    let file_read = || {
        ToolSchema::new("file_read", "Reads a file.")
            .required("path", ParameterType::String, "Relative to the workspace")
            .defaulted("encoding", ParameterType::String, "Of the text", json!("utf-8"))
    };
    Request {
        purpose: Purpose { role: Role::Executor, cycle: 1, step: None, tool: None, attempt: 1 },
        model: model.to_owned(),
        system: "You fill in parameters.".to_owned(),
        messages: vec![
            Message::user("Read the notes."),
            Message::assistant("Which?"),
            Message::user("a.txt"),
        ],
        tool: tool.then(file_read),
        schema: None,
        max_tokens: 1024,
    }
}

/// Returns an answer with `body`.
pub(super) fn answer(status: u16, body: &Value) -> Answer {
    Answer {
        url: "https://host/v1".to_owned(),
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: body.to_string().into_bytes(),
    }
}

/// Returns what `events` come to: the tokens as last known, and the whole answer.
fn collect(dialect: &impl Dialect, events: &[sse::Event]) -> Result<(Usage, Option<Value>), ProviderError> {
    let mut collected = dialect.collect();
    let mut usage = Usage::default();
    for event in events {
        usage = collected.take(event)?;
    }
    Ok((usage, collected.whole()))
}

/// Returns the events of `tests/wire/{path}`.
fn events(path: &str) -> Vec<sse::Event> {
    let mut decoder = sse::Decoder::default();
    decoder.push(read(path).as_bytes()).unwrap();
    std::iter::from_fn(|| decoder.take()).collect()
}

/// Checks the pair `name` of `dialect`, and its stream.
pub(super) fn check(dialect: &impl Dialect, name: &str, model: &str, schema: Option<Value>) {
    let path = format!("{}/{name}", dialect.name().replace('-', "_"));
    let pair: Value = serde_json::from_str(&read(&format!("{path}.json"))).unwrap();
    let mut request = request(model, name.contains("tool"));
    request.schema = schema.map(Into::into);
    let structured = request.schema.is_some();
    assert_eq!(dialect.encode(&request, Form { stream: false, structured }), pair["received"], "{path}");
    let answered = answer(200, &pair["answer"]);
    assert_eq!(said(&dialect.decode(&request, &answered).unwrap()), pair["decoded"], "{path}");
    assert_eq!(json!(dialect.spent(&answered)), pair["decoded"]["usage"], "{path}");

    let [whole, stream] = [false, true].map(|stream| Form { stream, structured });
    if dialect.target(&request, whole) == dialect.target(&request, stream) {
        assert_eq!(dialect.encode(&request, stream)["stream"], true, "{path}: nothing asks for a stream");
    }
    let events = events(&format!("{path}.sse"));
    let (usage, whole) = collect(dialect, &events).unwrap();
    assert_eq!(json!(usage), pair["decoded"]["usage"], "{path}");
    let response = dialect.decode(&request, &answer(200, &whole.unwrap())).unwrap();
    assert_eq!(said(&response), pair["decoded"], "{path}");
    let (_, half) = collect(dialect, &events[..events.len() / 2]).unwrap();
    assert_eq!(half, None, "{path}: half a stream is no answer");
}

fn said(response: &Response) -> Value {
    let Response { text, tool_use, finish_reason, usage } = response;
    json!({"text": text, "toolUse": tool_use, "finishReason": finish_reason, "usage": usage})
}

fn read(path: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "wire", path].iter().collect();
    fs::read_to_string(path).unwrap()
}
