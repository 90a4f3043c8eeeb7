//! A small MCP server over standard input and output, for what servers should not do: it plays the part that it is told to play.
//!
//! The test binary starts itself as this server, so that nothing but the tests has to be built or installed.

use std::fs;
use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

/// The variable that names the part to play.
pub(crate) const PART: &str = "TEPA_TEST_PART";

/// Plays the part named in the environment until standard input ends; returns at once when there is none.
pub(crate) fn play() {
    let Ok(part) = std::env::var(PART) else { return };
    fs::write("server.pid", format!("{}\n", std::process::id())).unwrap();
    match part.as_str() {
        "dies" => {
            eprintln!("looking for the licence");
            eprintln!("cannot find the licence");
            leave(3);
        }
        "sleeps" => loop {
            std::thread::park();
        },
        "stubborn" => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            let ignored = runtime.block_on(async {
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap()
            });
            serve(&part);
            std::mem::forget(ignored);
            loop {
                std::thread::park();
            }
        }
        _ => serve(&part),
    }
}

#[expect(clippy::exit, reason = "the server leaves in the middle of what it does")]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}

fn serve(part: &str) {
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if message["method"] == "notifications/cancelled" {
            fs::write("cancelled", "yes\n").unwrap();
        }
        let Some(id) = message.get("id") else { continue };
        let answer = match answer(part, message["method"].as_str().unwrap(), &message["params"]) {
            Some(Ok(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Some(Err(error)) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => continue,
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}

/// Returns the result of a request, or its error; nothing where no answer comes.
pub(crate) fn answer(part: &str, method: &str, params: &Value) -> Option<Result<Value, Value>> {
    Some(Ok(match method {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "own", "version": "1"},
            "instructions": "instructions that belong to nobody's terminal",
        }),
        "tools/list" => {
            let tools = tools(part);
            let at: usize = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let page = tools.len().div_ceil(3);
            let end = (at + page).min(tools.len());
            let mut listed = json!({"tools": tools[at..end]});
            if end < tools.len() {
                listed["nextCursor"] = json!(end.to_string());
            }
            listed
        }
        "tools/call" => return call(params["name"].as_str().unwrap(), &params["arguments"]),
        "ping" => json!({}),
        other => return Some(Err(json!({"code": -32601, "message": format!("no method {other}")}))),
    }))
}

fn tools(part: &str) -> Vec<Value> {
    let plain = json!({"type": "object"});
    let mut tools: Vec<Value> = ["fail", "die", "hang", "huge", "picture", "refuse"]
        .iter()
        .map(|name| json!({"name": name, "description": format!("Does {name}. And more."), "inputSchema": plain}))
        .collect();
    tools.push(json!({"name": "echo", "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"text": {"$ref": "#/definitions/Text"}, "times": {"type": "integer", "minimum": 1}},
        "required": ["text"],
        "definitions": {"Text": {"type": "string", "description": "What to say."}},
    }, "annotations": {"readOnlyHint": true}}));
    tools.push(json!({"name": "weird.name", "description": "Has a schema that is none.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "sting"}}}}));
    tools.push(json!({"name": "sum", "description": "Adds.", "inputSchema": {"type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}}));
    match part {
        "clash" => tools.push(json!({"name": "weird/name", "inputSchema": plain})),
        "long" => tools.push(json!({"name": "n".repeat(64), "inputSchema": plain})),
        _ => {}
    }
    tools
}

fn call(name: &str, arguments: &Value) -> Option<Result<Value, Value>> {
    fs::write("called", "yes\n").unwrap();
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    Some(Ok(match name {
        "echo" => text(arguments["text"].as_str().unwrap()),
        "weird.name" => text(&arguments.to_string()),
        "sum" => json!({"content": [], "structuredContent":
            {"sum": arguments["a"].as_f64().unwrap() + arguments["b"].as_f64().unwrap()}}),
        "fail" => json!({"content": [{"type": "text", "text": "there is no such thing"}], "isError": true}),
        "picture" => json!({"content": [{"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}]}),
        "huge" => text(&"x".repeat(17 * 1024 * 1024)),
        "refuse" => return Some(Err(json!({"code": -32602, "message": "not like this"}))),
        "hang" => return None,
        "die" => {
            eprintln!("out of memory");
            leave(7)
        }
        other => text(&format!("no tool {other}")),
    }))
}
