//! A server on a raw socket that answers a run's calls until the one that goes wrong, and from then on goes wrong.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::json;

/// Who makes a call; the configuration gives each of them a model of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    Planner,
    Executor,
    Evaluator,
}

impl Caller {
    pub(super) const ALL: [Self; 3] = [Self::Planner, Self::Executor, Self::Evaluator];

    /// Returns the name of the role.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Evaluator => "evaluator",
        }
    }

    /// Returns the model that only this role asks.
    pub(super) fn model(self) -> String {
        format!("model-of-the-{}", self.name())
    }

    /// Returns what the model answers on a good day.
    fn reply(self) -> String {
        match self {
            Self::Planner => json!({
                "reasoning": "because",
                "estimatedTokens": 10,
                "steps": [{"id": "one", "description": "say it", "tools": [], "expectedOutcome": "said", "dependencies": []}],
            })
            .to_string(),
            Self::Executor => "It is said.".to_owned(),
            Self::Evaluator => json!({
                "verdict": "fail", "confidence": 0.9, "summary": "not done", "feedback": "do it",
            })
            .to_string(),
        }
    }
}

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// An error with this status and header lines.
    Status(u16, &'static str),
    /// A connection that is reset before an answer.
    Reset,
    /// A stream that ends in its middle.
    ClosedMidStream,
    /// Silence instead of an answer.
    HangsBeforeHeaders,
    /// A stream that falls silent in its middle.
    HangsMidStream,
    /// A success of this content type whose body is something else.
    Body(&'static str, &'static str),
    /// A body of [`FLOOD`] bytes.
    Flood,
}

/// The size of the body that is too large, in bytes.
pub(super) const FLOOD: usize = 100_000_000;

/// What a server saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Who asked, in the order of the requests.
    pub(super) callers: Vec<Caller>,
    /// How many bytes of floods could be sent.
    pub(super) flooded: usize,
}

/// What a server does.
pub(super) struct Script {
    /// The call that goes wrong.
    pub(super) at: Caller,
    pub(super) fault: Fault,
    /// A stream of the provider's API that is whole.
    pub(super) stream: String,
    /// What every error says back.
    pub(super) key: &'static str,
}

/// A server that takes one connection after the other, each for one request.
pub(super) struct Server {
    address: SocketAddr,
    thread: JoinHandle<Seen>,
}

impl Server {
    pub(super) fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        Self { address, thread: std::thread::spawn(move || script.serve(&listener)) }
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends the server, whose last connection is one that says nothing.
    pub(super) fn stop(self) -> Seen {
        drop(TcpStream::connect(self.address).unwrap());
        self.thread.join().unwrap()
    }
}

impl Script {
    fn serve(&self, listener: &TcpListener) -> Seen {
        let mut seen = Seen::default();
        loop {
            // The buffer is of one byte, so that nothing is taken from the socket before it is wanted.
            let mut connection = BufReader::with_capacity(1, listener.accept().unwrap().0);
            let Some(request) = request(&mut connection) else { return seen };
            let caller = Caller::ALL.into_iter().find(|caller| {
                let model = caller.model();
                // In the body, or in the path.
                request.contains(&format!("\"model\":\"{model}\"")) || request.contains(&format!("/{model}:"))
            });
            let caller = caller.unwrap_or_else(|| panic!("nobody asks: {request}"));
            seen.callers.push(caller);
            if caller == self.at {
                seen.flooded += self.go_wrong(connection);
            } else {
                rest(&mut connection);
                send(connection.get_mut(), &(STREAM.to_owned() + &anthropic(&caller.reply())));
            }
        }
    }

    /// Goes wrong, and returns how many bytes of a flood could be sent.
    fn go_wrong(&self, mut connection: BufReader<TcpStream>) -> usize {
        if self.fault == Fault::Reset {
            // To close a socket with something unread resets the connection.
            return 0;
        }
        rest(&mut connection);
        let stream = connection.get_mut();
        let half = format!("{STREAM}{}", &self.stream[..self.stream.len() / 2]);
        match self.fault {
            Fault::Reset => {}
            Fault::Status(status, headers) => {
                let message = format!("no, not with {}", self.key);
                let body = json!({"type": "error", "error": {"type": "test_error", "message": message}});
                send(stream, &whole(status, headers, "application/json", &body.to_string()));
            }
            Fault::ClosedMidStream => send(stream, &half),
            Fault::HangsBeforeHeaders => wait(stream),
            Fault::HangsMidStream => {
                send(stream, &half);
                wait(stream);
            }
            Fault::Body(kind, body) => send(stream, &whole(200, "", kind, &body.replace("KEY", self.key))),
            Fault::Flood => return flood(stream),
        }
        0
    }
}

/// The head of an answer that ends with its connection.
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Reads a request but for its last byte; nothing where the connection says nothing.
fn request(connection: &mut BufReader<TcpStream>) -> Option<String> {
    let mut text = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().unwrap();
        }
        text.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length - 1];
    connection.read_exact(&mut body).unwrap();
    text.push_str(&String::from_utf8(body).unwrap());
    Some(text)
}

/// Reads the last byte of a request.
fn rest(connection: &mut BufReader<TcpStream>) {
    connection.read_exact(&mut [0]).unwrap();
}

/// Sends as much as the client takes.
fn send(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

/// Says nothing until the client goes away.
fn wait(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0]);
}

fn flood(stream: &mut TcpStream) -> usize {
    send(
        stream,
        &format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {FLOOD}\r\nconnection: close\r\n\r\n"
        ),
    );
    let piece = vec![b' '; 50_000];
    let mut sent = 0;
    while sent < FLOOD && stream.write_all(&piece).is_ok() {
        sent += piece.len();
    }
    sent
}

fn whole(status: u16, headers: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Returns the stream of a message that consists of `text`.
fn anthropic(text: &str) -> String {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    events.map(|event| format!("data: {event}\n\n")).concat()
}
