//! The same server over streamable HTTP, in the test's own process.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::{finish, tepa, text};
use crate::{folder, server, tools};

type Seen = Arc<Mutex<Vec<HeaderMap>>>;

async fn receive(State(seen): State<Seen>, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    seen.lock().unwrap().push(headers);
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    match message["method"].as_str().unwrap() {
        // A tool that writes into the folder of the test is not for this process.
        "tools/call" => Json(json!({"jsonrpc": "2.0", "id": id, "result":
            {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}}))
        .into_response(),
        method => match server::answer("good", method, &message["params"]) {
            Some(Ok(result)) => Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response(),
            _ => StatusCode::BAD_REQUEST.into_response(),
        },
    }
}

fn start() -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let router = Router::new().route("/mcp", axum::routing::post(receive)).with_state(Arc::clone(&seen));
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    (receiver.recv().unwrap(), seen)
}

#[test]
fn a_server_is_reached_at_an_address_with_headers() {
    let (address, seen) = start();
    let config = json!({"mcpServers": {"own": {"type": "http", "url": format!("http://{address}/${{PLACE:-mcp}}"),
        "headers": {"Authorization": "Bearer ${TOKEN}"}}}});
    let folder = folder(&config);
    let arguments =
        ["tools", "call", "own__echo", "--params", "{\"text\": \"hello\"}", "--config", "mcp.json"];
    let output = finish(tepa(folder.path()).args(arguments).env("TOKEN", "token-of-the-test"));
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), "hello\n".to_owned()),
        "{}",
        text(&output.stderr)
    );
    let seen = seen.lock().unwrap();
    assert!(
        seen.len() >= 4 && seen.iter().all(|headers| headers["authorization"] == "Bearer token-of-the-test")
    );
}

#[test]
fn an_address_without_a_server_is_no_verdict_and_a_variable_in_it_is_not_shown() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = json!({"mcpServers": {"own": {"url": format!("http://{address}/${{HOME}}")}}});
    let folder = folder(&config);
    let output = tools(folder.path(), &["list"]);
    assert_eq!(output.status.code(), Some(4));
    let err = text(&output.stderr);
    assert!(err.contains("the MCP server `own` did not start") && !err.contains("no-home"), "{err}");
}
