//! The Anthropic provider against a server on loopback: what it sends, and what it makes of every kind of answer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use tepa::event::{Purpose, Role};
use tepa::provider::{Message, Provider as _, ProviderError, Request, Response};
use tepa::providers::anthropic::Anthropic;
use tepa::tool::{ParameterType, ToolSchema};

const KEY: &str = "sk-ant-hunter2";

/// A request as it arrived.
struct Arrived {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Value,
}

/// A server that gives every request the same answer and keeps what arrived.
struct Server {
    address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Server {
    async fn start(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Self {
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let log = Arc::clone(&arrived);
        let answer = (StatusCode::from_u16(status).unwrap(), named(headers), body.to_owned());
        let app =
            Router::new().fallback(|method: Method, uri: Uri, headers: HeaderMap, body: String| async move {
                let body = serde_json::from_str(&body).unwrap();
                log.lock().unwrap().push(Arrived { method, path: uri.to_string(), headers, body });
                answer
            });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, arrived }
    }

    fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn named(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn request(tool: Option<ToolSchema>) -> Request {
    Request {
        purpose: Purpose {
            role: Role::Executor,
            cycle: 1,
            step: Some("read".to_owned()),
            tool: None,
            attempt: 1,
        },
        model: "claude-haiku-4-5".to_owned(),
        system: "You fill in parameters.".to_owned(),
        messages: vec![
            Message::user("Read the notes."),
            Message::assistant("Which?"),
            Message::user("a.txt"),
        ],
        tool,
        schema: None,
        max_tokens: 1024,
    }
}

fn file_read() -> ToolSchema {
    ToolSchema::new("file_read", "Reads a file.")
        .required("path", ParameterType::String, "Relative to the workspace")
        .defaulted("encoding", ParameterType::String, "Of the text", json!("utf-8"))
}

async fn ask(base: &str, tool: Option<ToolSchema>) -> Result<Response, ProviderError> {
    let provider = Anthropic::connect(KEY.into(), Some(base)).unwrap();
    let result = provider.complete(&request(tool), &()).await;
    let shown = format!("{provider:?} {result:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    result
}

/// Returns the error that an answer leads to.
async fn error(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ProviderError {
    let server = Server::start(status, headers, body).await;
    ask(&server.base(), None).await.unwrap_err()
}

fn complaint(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).to_string()
}

/// Reads one request, then lets `answer` do with the connection what it wants.
fn raw(answer: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        // The system prompt is the last thing that the request says.
        while !String::from_utf8_lossy(&received).contains("You fill in parameters.\"}") {
            let count = stream.read(&mut buffer).unwrap();
            received.extend_from_slice(&buffer[..count]);
        }
        answer(stream);
    });
    address
}

#[tokio::test]
async fn recorded_pairs_are_sent_and_read_as_written_down() {
    for (file, tool) in [("tool_use.json", Some(file_read())), ("text.json", None)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/anthropic").join(file);
        let pair: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let server =
            Server::start(200, &[("content-type", "application/json")], &pair["answer"].to_string()).await;
        let Response { text, tool_use, finish_reason, usage } = ask(&server.base(), tool).await.unwrap();
        let decoded =
            json!({"text": text, "toolUse": tool_use, "finishReason": finish_reason, "usage": usage});
        assert_eq!(decoded, pair["decoded"], "{file}");

        let arrived = server.arrived.lock().unwrap();
        let [Arrived { method, path, headers, body }] = &arrived[..] else {
            panic!("{} requests arrived", arrived.len())
        };
        assert_eq!((method, path.as_str()), (&Method::POST, "/v1/messages"));
        assert_eq!(headers["x-api-key"], KEY);
        assert_eq!(headers["anthropic-version"], "2023-06-01");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(*body, pair["received"], "{file}");
    }
}

#[tokio::test]
async fn every_way_to_write_the_base_url_leads_to_the_endpoint() {
    let body =
        json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let server = Server::start(200, &[], &body.to_string()).await;
    for ending in ["", "/", "/v1", "/v1/", "/gateway/"] {
        ask(&(server.base() + ending), None).await.unwrap();
    }
    let paths: Vec<String> =
        server.arrived.lock().unwrap().iter().map(|arrived| arrived.path.clone()).collect();
    let plain = "/v1/messages";
    assert_eq!(paths, [plain, plain, plain, plain, "/gateway/v1/messages"]);
}

#[tokio::test]
async fn a_refused_key_names_its_variable() {
    for (status, kind, message) in [
        (401, "authentication_error", "invalid x-api-key"),
        (401, "authentication_error", "invalid key: sk-ant-hunter2"),
        (403, "permission_error", "not for this workspace"),
    ] {
        let error = error(status, &[], &complaint(kind, message)).await;
        let ProviderError::Unauthorized(text) = &error else { panic!("{error:?}") };
        assert!(text.contains("`ANTHROPIC_API_KEY`") && text.contains(&status.to_string()), "{text}");
    }
}

#[tokio::test]
async fn an_unknown_model_is_named() {
    let error = error(404, &[], &complaint("not_found_error", "model: claude-haiku-4-5")).await;
    let ProviderError::Invalid(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("no model `claude-haiku-4-5`"), "{text}");
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let body = complaint("rate_limit_error", "slow down");
    let limited = |error| match error {
        ProviderError::RateLimited { message, retry_after } => {
            assert!(message.contains("slow down"), "{message}");
            retry_after
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(limited(error(429, &[("retry-after", "17")], &body).await), Some(Duration::from_secs(17)));
    let dates = [("date", "Wed, 21 Oct 2026 07:28:00 GMT"), ("retry-after", "Wed, 21 Oct 2026 07:29:00 GMT")];
    assert_eq!(limited(error(429, &dates, &body).await), Some(Duration::from_secs(60)));
    assert_eq!(limited(error(429, &[], &body).await), None);
}

#[tokio::test]
async fn trouble_on_the_other_side_can_be_tried_again() {
    for (status, body) in [
        (500, complaint("api_error", "Internal server error")),
        (529, complaint("overloaded_error", "Overloaded")),
        (503, String::new()),
        (502, "<html><h1>Bad Gateway</h1></html>".to_owned()),
        (200, String::new()),
        (200, "{\"content\": [".to_owned()),
    ] {
        let error = error(status, &[], &body).await;
        assert!(matches!(error, ProviderError::Overloaded(_)), "{status} {body}: {error:?}");
        assert!(error.is_retryable() && !error.to_string().contains('<'), "{error}");
    }
}

#[tokio::test]
async fn a_page_instead_of_json_questions_the_base_url() {
    let html = [("content-type", "text/html; charset=utf-8")];
    for (status, headers, body) in [
        (200, &html[..], "<!doctype html><title>Welcome"),
        (200, &[("content-type", "text/plain")], "hello"),
        (301, &[("location", "https://elsewhere.example/")], ""),
    ] {
        let error = error(status, headers, body).await;
        let ProviderError::Invalid(text) = &error else { panic!("{error:?}") };
        assert!(text.contains("the base URL") && !text.contains("Welcome"), "{text}");
    }
}

#[tokio::test]
async fn a_request_that_makes_no_sense_quotes_the_provider() {
    let error = error(400, &[], &complaint("invalid_request_error", "max_tokens: 99999999 > 64000")).await;
    let ProviderError::Invalid(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("400 Bad Request: max_tokens: 99999999 > 64000"), "{text}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_can_be_tried_again() {
    let address = raw(|mut stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n";
        stream.write_all(format!("{head}{{\"id\"").as_bytes()).unwrap();
    });
    let error = ask(&format!("http://{address}"), None).await.unwrap_err();
    let ProviderError::Overloaded(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("broke off after 5 B"), "{text}");
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let address = raw(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(&[b'0'; 4096]).is_ok() {}
    });
    let error = ask(&format!("http://{address}"), None).await.unwrap_err();
    let ProviderError::Invalid(text) = &error else { panic!("{error:?}") };
    assert!(text.ends_with("is larger than 33.6 MB"), "{text}");
}

#[tokio::test]
async fn a_server_that_hangs_up_or_is_not_there_is_unreachable() {
    let hung_up = raw(drop);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    for address in [hung_up, closed] {
        let error = ask(&format!("http://me:hunter2@{address}"), None).await.unwrap_err();
        let ProviderError::Unreachable(text) = &error else { panic!("{error:?}") };
        assert!(text.starts_with(&format!("cannot reach `http://{address}/v1/messages`: ")), "{text}");
    }
}
