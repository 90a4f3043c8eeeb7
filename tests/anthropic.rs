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
use tepa::outcome::Usage;
use tepa::provider::{Message, Provider as _, ProviderError, Request, Response, Retry, Watch};
use tepa::providers::anthropic;
use tepa::providers::vendor::Connection;
use tepa::tool::{ParameterType, ToolSchema};

const KEY: &str = "sk-ant-hunter2";

/// A request as it arrived.
struct Arrived {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Value,
}

/// A server that gives every request the next answer, the last one again and again, and keeps what arrived.
struct Server {
    address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Server {
    async fn start(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Self {
        Self::with(vec![(StatusCode::from_u16(status).unwrap(), named(headers), body.to_owned())]).await
    }

    /// Starts a server that streams.
    async fn stream(body: &str) -> Self {
        Self::start(200, &[("content-type", "text/event-stream; charset=utf-8")], body).await
    }

    async fn with(answers: Vec<(StatusCode, HeaderMap, String)>) -> Self {
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let log = Arc::clone(&arrived);
        let app =
            Router::new().fallback(|method: Method, uri: Uri, headers: HeaderMap, body: String| async move {
                let body = serde_json::from_str(&body).unwrap();
                let mut log = log.lock().unwrap();
                log.push(Arrived { method, path: uri.to_string(), headers, body });
                answers[(log.len() - 1).min(answers.len() - 1)].clone()
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

/// Returns the first request of a run: it begins with what others will repeat, and its answer has a schema.
fn plan() -> Request {
    let schema = json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 0}},
        "required": ["count"],
    });
    Request {
        messages: vec![Message::user_with_stable("Tools: none.\n", "Count to one.")],
        schema: Some(Arc::new(schema)),
        ..request(None)
    }
}

/// Keeps the tokens that became known.
#[derive(Default)]
struct Seen(Mutex<Vec<Usage>>);

impl Watch for Seen {
    fn usage(&self, so_far: Usage) {
        self.0.lock().unwrap().push(so_far);
    }

    fn retry(&self, _: &Retry) {}
}

fn connection(base: &str, stream: bool) -> Connection {
    Connection {
        key: Some(KEY.into()),
        base_url: base.to_owned(),
        stream,
        idle_timeout: Duration::from_secs(60),
        allow_plain_http: false,
    }
}

async fn send(
    connection: Connection,
    request: &Request,
    watch: &dyn Watch,
) -> Result<Response, ProviderError> {
    let provider = anthropic::connect(connection).unwrap();
    let result = provider.complete(request, watch).await;
    let shown = format!("{provider:?} {result:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    result
}

async fn ask(base: &str, tool: Option<ToolSchema>) -> Result<Response, ProviderError> {
    send(connection(base, false), &request(tool), &()).await
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
        // The system prompt is the last thing that the request says, apart from the wish for a stream.
        while !received.ends_with(b"\"ephemeral\"}}]}") && !received.ends_with(b"\"stream\":true}") {
            let count = stream.read(&mut buffer).unwrap();
            received.extend_from_slice(&buffer[..count]);
        }
        answer(stream);
    });
    address
}

fn wire(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/anthropic").join(file)).unwrap()
}

#[tokio::test]
async fn recorded_pairs_are_sent_and_read_as_written_down_in_one_piece_and_as_a_stream() {
    for (name, asked) in [("tool_use", request(Some(file_read()))), ("text", request(None)), ("plan", plan())]
    {
        for stream in [false, true] {
            let pair: Value = serde_json::from_str(&wire(&format!("{name}.json"))).unwrap();
            let server = if stream {
                Server::stream(&wire(&format!("{name}.sse"))).await
            } else {
                let json = [("content-type", "application/json")];
                Server::start(200, &json, &pair["answer"].to_string()).await
            };
            let Response { text, tool_use, finish_reason, usage } =
                send(connection(&server.base(), stream), &asked, &()).await.unwrap();
            let decoded =
                json!({"text": text, "toolUse": tool_use, "finishReason": finish_reason, "usage": usage});
            assert_eq!(decoded, pair["decoded"], "{name} {stream}");

            let arrived = server.arrived.lock().unwrap();
            let [Arrived { method, path, headers, body }] = &arrived[..] else {
                panic!("{} requests arrived", arrived.len())
            };
            assert_eq!((method, path.as_str()), (&Method::POST, "/v1/messages"));
            assert_eq!(headers["x-api-key"], KEY);
            assert_eq!(headers["anthropic-version"], "2023-06-01");
            assert_eq!(headers["content-type"], "application/json");
            let mut received = pair["received"].clone();
            if stream {
                received["stream"] = json!(true);
            }
            assert_eq!(*body, received, "{name} {stream}");
        }
    }
}

#[tokio::test]
async fn the_tokens_of_a_stream_are_known_before_its_end() {
    let server = Server::stream(&wire("text.sse")).await;
    let seen = Seen::default();
    send(connection(&server.base(), true), &request(None), &seen).await.unwrap();
    let seen = seen.0.into_inner().unwrap();
    let known = |output| Usage { input: 25, output, ..Usage::default() };
    assert_eq!(seen.first(), Some(&known(1)));
    assert_eq!(seen.last(), Some(&known(9)));
    // In between it is estimated.
    assert!(seen.iter().any(|usage| usage.output > 1 && usage.output != 9), "{seen:?}");
}

#[tokio::test]
async fn tokens_of_an_answer_that_is_refused_are_known_too() {
    let body =
        json!({"content": [], "stop_reason": "max_tokens", "usage": {"input_tokens": 7, "output_tokens": 5}});
    let server = Server::start(200, &[], &body.to_string()).await;
    let seen = Seen::default();
    let asked = request(Some(file_read()));
    let error = send(connection(&server.base(), false), &asked, &seen).await.unwrap_err();
    assert!(matches!(error, ProviderError::Overloaded(_)), "{error:?}");
    assert_eq!(*seen.0.lock().unwrap(), [Usage { input: 7, output: 5, ..Usage::default() }]);
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_is_no_answer() {
    let whole = wire("tool_use.sse");
    let end = whole.find("event: message_stop").unwrap();
    for cut in [0, 10, 300, end / 2, end, whole.len() - 1] {
        let server = Server::stream(&whole[..cut]).await;
        let error =
            send(connection(&server.base(), true), &request(Some(file_read())), &()).await.unwrap_err();
        let ProviderError::Overloaded(text) = &error else { panic!("{cut}: {error:?}") };
        assert!(text.contains("broke off after"), "{text}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_the_error_of_the_call() {
    let whole = wire("text.sse");
    let half = &whole[..whole.find("event: ping").unwrap()];
    let event = |kind, message| format!("{half}event: error\ndata: {}\n\n", complaint(kind, message));
    let fails = async |body: String| {
        let server = Server::stream(&body).await;
        send(connection(&server.base(), true), &request(None), &()).await.unwrap_err()
    };
    let busy = fails(event("overloaded_error", "Overloaded")).await;
    assert!(
        matches!(&busy, ProviderError::Overloaded(text) if text.contains("overloaded_error")),
        "{busy:?}"
    );
    let key = fails(event("authentication_error", &format!("bad key {KEY}"))).await;
    assert!(matches!(&key, ProviderError::Unauthorized(text) if text.contains("bad key ***")), "{key:?}");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_in_one_piece() {
    let pair: Value = serde_json::from_str(&wire("text.json")).unwrap();
    let json = [("content-type", "application/json")];
    let server = Server::start(200, &json, &pair["answer"].to_string()).await;
    let response = send(connection(&server.base(), true), &request(None), &()).await.unwrap();
    assert_eq!(response.text, pair["decoded"]["text"]);
}

#[tokio::test]
async fn an_endpoint_without_structured_output_is_asked_without_it_from_then_on() {
    let pair: Value = serde_json::from_str(&wire("plan.json")).unwrap();
    let refusal = complaint("invalid_request_error", "output_config: Extra inputs are not permitted");
    let server = Server::with(vec![
        (StatusCode::BAD_REQUEST, HeaderMap::new(), refusal),
        (StatusCode::OK, HeaderMap::new(), pair["answer"].to_string()),
    ])
    .await;
    let provider = anthropic::connect(connection(&server.base(), false)).unwrap();
    for _ in 0..2 {
        assert_eq!(provider.complete(&plan(), &()).await.unwrap().text, "{\"count\": 1}");
    }
    let arrived = server.arrived.lock().unwrap();
    let asked: Vec<bool> =
        arrived.iter().map(|arrived| arrived.body.get("output_config").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn another_complaint_about_a_request_is_not_taken_for_a_refusal_of_structured_output() {
    let server = Server::start(400, &[], &complaint("invalid_request_error", "no credit")).await;
    send(connection(&server.base(), false), &plan(), &()).await.unwrap_err();
    assert_eq!(server.arrived.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_that_says_nothing_more_is_not_waited_for() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    for said in [String::new(), head.to_owned(), format!("{head}{}", &wire("text.sse")[..500])] {
        let (open, closed) = std::sync::mpsc::channel::<()>();
        let address = raw(move |mut stream| {
            stream.write_all(said.as_bytes()).unwrap();
            let _ = closed.recv();
        });
        let idle_timeout = Duration::from_millis(50);
        let connection = Connection { idle_timeout, ..connection(&format!("http://{address}"), true) };
        let error = send(connection, &request(None), &()).await.unwrap_err();
        drop(open);
        let ProviderError::Overloaded(text) = &error else { panic!("{error:?}") };
        assert!(text.ends_with("sent nothing for 50 ms"), "{text}");
    }
}

#[tokio::test]
async fn a_stream_without_end_is_not_read_to_its_end() {
    let address = raw(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        let line = format!(": {}\n", "0".repeat(65_536));
        while stream.write_all(line.as_bytes()).is_ok() {}
    });
    let error = send(connection(&format!("http://{address}"), true), &request(None), &()).await.unwrap_err();
    let ProviderError::Invalid(text) = &error else { panic!("{error:?}") };
    assert!(text.ends_with("is larger than 33.6 MB"), "{text}");
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
    let ProviderError::UnknownModel(text) = &error else { panic!("{error:?}") };
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
