//! A run as a trace: what a collector receives, what never leaves, and that nobody who watches can change how a run ends.

#![cfg(test)]
#![cfg(feature = "otel")]
#![cfg(unix)]

mod support;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::config::Environment;
use tepa::event::{Envelope, Purpose, Role, RunEvent};
use tepa::outcome::Usage;
use tepa::telemetry::Telemetry;
use tokio::runtime::Runtime;

use support::{eventually, example, finish, tepa, text};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

type Answer = Box<dyn Fn(usize) -> Response + Send + Sync>;

struct Desk {
    answer: Answer,
    answered: AtomicUsize,
    received: Mutex<Vec<(String, HeaderMap, Bytes)>>,
}

/// A collector that runs until it is dropped.
struct Collector {
    url: String,
    desk: Arc<Desk>,
    _runtime: Runtime,
}

impl Collector {
    fn start() -> Self {
        Self::answering(|_| StatusCode::OK.into_response())
    }

    /// Starts a collector whose answers are told by how many came before.
    fn answering(answer: impl Fn(usize) -> Response + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let desk = Arc::new(Desk {
            answer: Box::new(answer),
            answered: AtomicUsize::default(),
            received: Mutex::default(),
        });
        let router = Router::new().fallback(take).with_state(Arc::clone(&desk));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { url, desk, _runtime: runtime }
    }

    fn requests(&self) -> Vec<(String, HeaderMap, Bytes)> {
        self.desk.received.lock().unwrap().clone()
    }

    /// Returns everything that was sent, as one would see it on the wire.
    fn wire(&self) -> String {
        self.requests().iter().map(|(_, _, body)| String::from_utf8_lossy(body).into_owned()).collect()
    }

    fn resource(&self) -> BTreeMap<String, Value> {
        let (_, _, body) = self.requests().remove(0);
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        attributes(&request.resource_spans[0].resource.as_ref().unwrap().attributes)
    }

    fn trace(&self) -> Trace {
        let requests = self.requests();
        let requests =
            requests.into_iter().map(|(_, _, body)| ExportTraceServiceRequest::decode(body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        let spans = resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans);
        Trace(spans.collect())
    }
}

async fn take(State(desk): State<Arc<Desk>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    desk.received.lock().unwrap().push((uri.to_string(), headers, body));
    (desk.answer)(desk.answered.fetch_add(1, Ordering::Relaxed))
}

struct Trace(Vec<Span>);

impl Trace {
    fn span(&self, name: &str) -> &Span {
        let mut found = self.0.iter().filter(|span| span.name == name);
        let span = found.next().unwrap_or_else(|| panic!("no span `{name}` in\n{}", self.outline()));
        assert!(found.next().is_none(), "more than one span `{name}`");
        span
    }

    fn root(&self) -> &Span {
        self.span("invoke_workflow tepa")
    }

    fn children(&self, parent: &Span) -> Vec<&Span> {
        let mut children: Vec<&Span> =
            self.0.iter().filter(|span| span.parent_span_id == parent.span_id).collect();
        children.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
        children
    }

    /// Returns the names of all spans, each below its parent.
    fn outline(&self) -> String {
        fn draw(trace: &Trace, span: &Span, depth: usize, drawn: &mut String) {
            *drawn += &format!("{}{}\n", "  ".repeat(depth), span.name);
            for child in trace.children(span) {
                draw(trace, child, depth + 1, drawn);
            }
        }
        let mut drawn = String::new();
        draw(self, self.root(), 0, &mut drawn);
        assert_eq!(drawn.lines().count(), self.0.len(), "a span stands beside the tree:\n{drawn}");
        drawn
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, Value> {
    let value = |value: Any| match value {
        Any::StringValue(text) => json!(text),
        Any::BoolValue(flag) => json!(flag),
        Any::IntValue(count) => json!(count),
        Any::DoubleValue(measure) => json!(measure),
        Any::ArrayValue(list) => list
            .values
            .into_iter()
            .map(|value| match value.value {
                Some(Any::StringValue(text)) => json!(text),
                other => panic!("{other:?}"),
            })
            .collect(),
        other => panic!("{other:?}"),
    };
    list.iter().map(|pair| (pair.key.clone(), value(pair.value.clone().unwrap().value.unwrap()))).collect()
}

fn of(span: &Span) -> BTreeMap<String, Value> {
    attributes(&span.attributes)
}

/// Returns the attributes of the events of a span that are called `name`.
fn events(span: &Span, name: &str) -> Vec<Value> {
    let called = span.events.iter().filter(|event| event.name == name);
    called.map(|event| json!(attributes(&event.attributes))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

const PROMPT: &str = r"
goal: Write of the canary-goal.
context: {}
expectedOutput:
  - {path: out/report.md, description: A report, criteria: [It names the river.]}
";

/// A run whose only step writes the report; its content can be found again wherever it goes.
const REPLIES: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: canary-plan, estimatedTokens: 10, steps: [{id: s1, description: canary-step, tools: [file_write], expectedOutcome: done, dependencies: []}]}
    usage: {input: 100, output: 20, cached: 30}
  - stage: step
    step: s1
    tool: file_write
    toolUse: {"path": "out/report.md", "content": "canary-parameter: The Seine.\n"}
    usage: {input: 10, output: 5}
  - stage: evaluator
    json: {"verdict": "pass", "confidence": 0.75, "summary": "All is done.", "criteria": [{"id": "C1", "verdict": "pass", "reason": "The river is named.", "evidence": "E1", "quote": "The Seine."}]}
    usage: {input: 7, output: 3}
"#;

fn folder(prompt: &str, replies: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), prompt).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    folder
}

fn run(folder: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = tepa(folder);
    command.args(["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1"]);
    command.args(["--model", "model-1", "--evaluator-model", "judge-1"]);
    command.envs(variables.iter().copied());
    command
}

/// Runs a task to its end and returns what a collector received.
fn traced(prompt: &str, replies: &str, variables: &[(&str, &str)]) -> (Output, Collector) {
    let collector = Collector::start();
    let folder = folder(prompt, replies);
    let output = finish(run(folder.path(), variables).env(ENDPOINT, &collector.url));
    (output, collector)
}

fn warnings(output: &Output) -> Vec<String> {
    let stderr = text(&output.stderr);
    stderr.lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect()
}

#[test]
fn a_run_is_a_tree_of_spans() {
    let (output, collector) = traced(PROMPT, REPLIES, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let [(path, headers, _)] = &collector.requests()[..] else { panic!("one request") };
    assert_eq!(path, "/v1/traces");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let trace = collector.trace();
    let outline = "invoke_workflow tepa
  cycle 1
    plan
      chat model-1
    step s1
      chat model-1
      execute_tool file_write
    evaluate
      chat judge-1
";
    assert_eq!(trace.outline(), outline);
    let chat = trace.children(trace.span("plan"))[0];
    assert_eq!(
        json!(of(chat)),
        json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "replay",
            "gen_ai.request.model": "model-1",
            "gen_ai.response.finish_reasons": ["end_turn"],
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 30,
            "gen_ai.usage.cache_creation.input_tokens": 0,
            "tepa.role": "planner",
            "tepa.attempt": 1,
        })
    );
    assert_eq!(chat.kind, 3);
    assert_eq!(
        json!(of(trace.span("execute_tool file_write"))),
        json!({
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "file_write",
            "gen_ai.tool.type": "function",
        })
    );
    assert_eq!(of(trace.span("plan"))["gen_ai.operation.name"], "plan");
    assert_eq!(of(trace.span("cycle 1"))["tepa.verdict"], "pass");
    assert_eq!(collector.resource()["service.name"], "tepa");
}

#[test]
fn the_run_says_how_it_ended_and_what_was_judged() {
    let (_, collector) = traced(PROMPT, REPLIES, &[]);
    let trace = collector.trace();
    let root = of(trace.root());
    assert_eq!(trace.root().status.as_ref().unwrap().code, 1);
    assert_eq!(root["gen_ai.operation.name"], "invoke_workflow");
    assert_eq!((&root["process.exit.code"], &root["tepa.run.status"]), (&json!(0), &json!("pass")));
    assert_eq!(root["tepa.usage.input_tokens"], 117);
    assert_eq!(
        events(trace.span("cycle 1"), "gen_ai.evaluation.result"),
        [
            json!({
                "gen_ai.evaluation.name": "verdict",
                "gen_ai.evaluation.score.label": "pass",
                "gen_ai.evaluation.score.value": 0.75,
                "gen_ai.evaluation.explanation": "All is done.",
            }),
            json!({
                "gen_ai.evaluation.name": "C1",
                "gen_ai.evaluation.score.label": "pass",
                "gen_ai.evaluation.explanation": "The river is named.",
                "tepa.criterion.path": "out/report.md",
            }),
        ]
    );
    let check =
        json!({"tepa.check.name": "exists", "tepa.check.passed": true, "tepa.check.path": "out/report.md"});
    assert_eq!(events(trace.span("evaluate"), "tepa.check"), [check]);
}

#[test]
fn a_run_that_does_not_pass_is_an_error() {
    let replies = REPLIES.replace(r#""path": "out/report.md""#, r#""path": "../canary-outside.md""#);
    let (output, collector) = traced(PROMPT, &replies, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let trace = collector.trace();
    let root = of(trace.root());
    assert_eq!(trace.root().status.as_ref().unwrap().code, 2);
    assert_eq!((&root["process.exit.code"], &root["error.type"]), (&json!(1), &root["tepa.run.reason"]));
    let tool = trace.span("execute_tool file_write");
    assert_eq!(
        (of(tool)["error.type"].clone(), tool.status.as_ref().unwrap().code),
        (json!("tool_error"), 2)
    );
    assert_eq!(of(trace.span("step s1"))["error.type"], "step_failed");
    assert!(!collector.wire().contains("canary"), "{}", collector.wire());
}

#[test]
fn every_span_lies_within_its_parent() {
    let collector = Collector::start();
    let folder = example();
    let arguments = ["run", "prompts/task.yaml", "--provider", "replay"];
    let output = finish(tepa(folder.path()).args(arguments).env(ENDPOINT, &collector.url));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trace = collector.trace();
    let outline = trace.outline();
    assert!(outline.contains("\n  cycle 2\n    plan\n"), "{outline}");
    for span in &trace.0 {
        assert!(span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano);
        assert_eq!(span.trace_id, trace.root().trace_id);
        for child in trace.children(span) {
            let inside = span.start_time_unix_nano <= child.start_time_unix_nano
                && child.end_time_unix_nano <= span.end_time_unix_nano;
            assert!(inside, "`{}` is not within `{}`", child.name, span.name);
        }
    }
    let overruled = &events(trace.span("cycle 1"), "gen_ai.evaluation.result")[0];
    assert_eq!(overruled["tepa.evaluation.overruled_by"], json!(["checks"]));
    assert_eq!(overruled["gen_ai.evaluation.score.label"], "fail");
}

#[test]
fn content_leaves_only_where_it_is_asked_for_and_secrets_never_do() {
    let replies = REPLIES.replace("The Seine.\\n", "The Seine. sk-secret-of-the-test\\n");
    let secret = ("OPENAI_API_KEY", "sk-secret-of-the-test");
    let (_, collector) = traced(PROMPT, &replies, &[secret]);
    assert!(!collector.wire().contains("canary"), "{}", collector.wire());
    let (_, collector) = traced(PROMPT, &replies, &[secret, (CONTENT, "true")]);
    let wire = collector.wire();
    for word in ["canary-goal", "canary-plan", "canary-step", "canary-parameter"] {
        assert!(wire.contains(word), "{word}");
    }
    assert!(wire.contains("The Seine. ***") && !wire.contains("sk-secret"), "{wire}");
    let trace = collector.trace();
    let tool = of(trace.span("execute_tool file_write"));
    let arguments: Value =
        serde_json::from_str(tool["gen_ai.tool.call.arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["path"], "out/report.md");
    let said = of(trace.children(trace.span("step s1"))[0])["gen_ai.output.messages"].clone();
    let said: Value = serde_json::from_str(said.as_str().unwrap()).unwrap();
    assert_eq!((&said[0]["role"], &said[0]["parts"][0]["type"]), (&json!("assistant"), &json!("tool_call")));
}

#[test]
fn headers_reach_the_collector_and_nobody_else() {
    let replies = REPLIES.replace("canary-plan", "header-of-the-test");
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=header-of-the-test,authorization=Bearer%20abc");
    let names = ("OTEL_SERVICE_NAME", "nightly");
    let collector = Collector::start();
    let folder = folder(PROMPT, &replies);
    let mut command = run(folder.path(), &[headers, names, (CONTENT, "true")]);
    let output = finish(command.arg("--output=jsonl").env(ENDPOINT, &collector.url));
    let (_, received, _) = &collector.requests()[0];
    assert_eq!(
        (&received["x-team"], &received["authorization"]),
        (&"header-of-the-test".parse().unwrap(), &"Bearer abc".parse().unwrap())
    );
    assert_eq!(collector.resource()["service.name"], "nightly");
    for shown in [text(&output.stdout), text(&output.stderr), collector.wire()] {
        assert!(!shown.contains("header-of-the-test"), "{shown}");
    }
}

#[test]
fn a_collector_that_breaks_is_one_warning() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let refuses = Collector::answering(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    let away =
        Collector::answering(|_| (StatusCode::FOUND, [("location", "http://127.0.0.1:9/")]).into_response());
    let partly = Collector::answering(|_| {
        let partial_success =
            Some(ExportTracePartialSuccess { rejected_spans: 2, error_message: "too many\u{1b}[31m".into() });
        ExportTraceServiceResponse { partial_success }.encode_to_vec().into_response()
    });
    for (url, words) in [
        (format!("http://{unused}"), "cannot reach"),
        (format!("http://{}", silent.local_addr().unwrap()), "did not take it within 300 ms"),
        (refuses.url.clone(), "answered 500 Internal Server Error"),
        (away.url.clone(), "answered 302 Found"),
        (partly.url.clone(), "refused 2 spans of the run's trace: too many"),
        ("localhost:4318".to_owned(), "is no address"),
    ] {
        let folder = folder(PROMPT, REPLIES);
        let mut command = run(folder.path(), &[(ENDPOINT, &url), ("OTEL_EXPORTER_OTLP_TIMEOUT", "300")]);
        // The time is for a collector that never answers; the others may take theirs.
        if !words.contains("300 ms") {
            command.env_remove("OTEL_EXPORTER_OTLP_TIMEOUT");
        }
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(0), "{url}: {}", text(&output.stderr));
        let warnings = warnings(&output);
        assert!(warnings.len() == 1 && warnings[0].contains(words), "{words}: {warnings:?}");
        assert!(!text(&output.stderr).contains('\u{1b}'));
    }
    assert_eq!((refuses.requests().len(), away.requests().len()), (1, 1));
}

#[test]
fn a_collector_that_is_busy_is_asked_again() {
    let collector = Collector::answering(|before| match before {
        0 => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response(),
        _ => StatusCode::OK.into_response(),
    });
    let folder = folder(PROMPT, REPLIES);
    let variables = [(ENDPOINT, collector.url.as_str()), ("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")];
    let output = finish(&mut run(folder.path(), &variables));
    assert_eq!(warnings(&output), [] as [&str; 0]);
    let [(_, _, first), (_, _, second)] = &collector.requests()[..] else { panic!("two requests") };
    assert_eq!(first, second);
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    for variables in [
        &[("OTEL_SDK_DISABLED", "true")][..],
        &[("OTEL_TRACES_EXPORTER", "none")],
        &[("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")],
    ] {
        let (output, collector) = traced(PROMPT, REPLIES, variables);
        assert_eq!((output.status.code(), warnings(&output).len()), (Some(0), 0), "{variables:?}");
        assert!(collector.requests().is_empty(), "{variables:?}");
    }
    let (output, collector) = traced(PROMPT, REPLIES, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    assert!(collector.requests().is_empty());
    assert!(warnings(&output)[0].contains("`OTEL_EXPORTER_OTLP_PROTOCOL`"), "{}", text(&output.stderr));
}

const TELLS: &str = r"
goal: Tell the trace.
context: {}
expectedOutput:
  - path: told.txt
    description: The trace
    checks: [{command: {run: printenv TRACEPARENT TRACESTATE > checked.txt}}]
";

const TELLING: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: s1, description: d, tools: [shell_execute], expectedOutcome: done, dependencies: []}]}
  - {stage: step, step: s1, tool: shell_execute, toolUse: {command: "printenv TRACEPARENT TRACESTATE > told.txt"}}
  - {stage: evaluator, json: {verdict: pass, confidence: 1, summary: done}}
"#;

#[test]
fn a_run_is_a_child_of_the_trace_around_it_and_its_commands_are_children_of_the_run() {
    let collector = Collector::start();
    let folder = folder(TELLS, TELLING);
    let variables = [("TRACEPARENT", PARENT), ("TRACESTATE", "vendor=1"), (ENDPOINT, &collector.url)];
    let hook = json!({"command": ["sh", "-c", "printenv TRACEPARENT TRACESTATE > hooked.txt"]});
    fs::write(folder.path().join("hooks.json"), json!({"events": {"prePlanner": [hook]}}).to_string())
        .unwrap();
    let output = finish(run(folder.path(), &variables).args(["--config", "hooks.json"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trace = collector.trace();
    let root = trace.root();
    assert_eq!(hex(&root.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&root.parent_span_id), "00f067aa0ba902b7");
    assert_eq!(root.trace_state, "vendor=1");
    let told = format!("00-{}-{}-01\nvendor=1\n", hex(&root.trace_id), hex(&root.span_id));
    for file in ["hooked.txt", "told.txt", "checked.txt"] {
        assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), told, "{file}");
    }
    let hook = trace.span("hook prePlanner");
    assert_eq!(hook.parent_span_id, trace.span("plan").span_id);
    assert_eq!(of(hook)["tepa.hook.outcome"], "kept");
}

#[test]
fn without_a_collector_the_trace_around_a_run_is_handed_on() {
    let folder = folder(TELLS, TELLING);
    let variables = [("TRACEPARENT", PARENT), ("TRACESTATE", "vendor=1")];
    let output = finish(&mut run(folder.path(), &variables));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = fs::read_to_string(folder.path().join("told.txt")).unwrap();
    assert_eq!(told, format!("{PARENT}\nvendor=1\n"));
}

#[test]
fn a_server_is_a_child_of_the_run_as_well() {
    let collector = Collector::start();
    let folder = folder(PROMPT, REPLIES);
    let server = json!({"command": "sh", "args": ["-c", "printenv TRACEPARENT > server.txt; exit 3"]});
    fs::write(folder.path().join("mcp.json"), json!({"mcpServers": {"own": server}}).to_string()).unwrap();
    let variables = [("TRACEPARENT", PARENT), (ENDPOINT, &collector.url)];
    let output = finish(run(folder.path(), &variables).args(["--config", "mcp.json"]));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let told = fs::read_to_string(folder.path().join("server.txt")).unwrap();
    assert!(told.starts_with(&PARENT[..36]) && told[36..52] != PARENT[36..52] && told.len() == 56, "{told}");
    assert!(collector.requests().is_empty(), "there was no run");
}

#[test]
fn a_run_that_is_judged_again_is_a_trace_of_its_own() {
    let collector = Collector::start();
    let folder = folder(PROMPT, REPLIES);
    finish(&mut run(folder.path(), &[]));
    let replies = REPLIES.split_once("  - stage: planner").unwrap().0.to_owned()
        + "  - stage: evaluator"
        + REPLIES.split_once("  - stage: evaluator").unwrap().1;
    fs::write(folder.path().join("judge.yaml"), replies).unwrap();
    let mut command = tepa(folder.path());
    command.args(["runs", "evaluate", "latest", "--replay", "judge.yaml", "--evaluator-model", "judge-1"]);
    let output = finish(command.env(ENDPOINT, &collector.url));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trace = collector.trace();
    assert_eq!(trace.outline(), "invoke_workflow tepa\n  cycle 1\n    evaluate\n      chat judge-1\n");
    assert!(of(trace.span("cycle 1")).contains_key("tepa.recalled.run"));
}

#[test]
fn a_run_that_is_interrupted_is_exported_as_far_as_it_came() {
    let collector = Collector::start();
    let replies = TELLING.replace("printenv TRACEPARENT TRACESTATE > told.txt", "touch began; sleep 600");
    let folder = folder(TELLS, &replies);
    let mut command = run(folder.path(), &[(ENDPOINT, &collector.url)]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually(|| folder.path().join("began").exists().then_some(()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let trace = collector.trace();
    assert_eq!(of(trace.root())["process.exit.code"], 130);
    for name in ["invoke_workflow tepa", "cycle 1", "step s1", "execute_tool shell_execute"] {
        assert_eq!(of(trace.span(name))["error.type"], "interrupted", "{name}");
    }
    assert!(trace.outline().contains("    step s1\n"));
}

#[test]
fn a_signal_ends_the_sending_and_not_what_the_run_came_to() {
    for signal in ["INT", "TERM"] {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let folder = folder(PROMPT, REPLIES);
        let mut command = run(folder.path(), &[(ENDPOINT, &url), ("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _kept = silent.accept().unwrap();
        Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let [warning] = &warnings(&output)[..] else { panic!("{}", text(&output.stderr)) };
        assert!(warning.contains("the trace of the run is lost") && warning.contains(signal), "{warning}");
    }
}

#[test]
fn the_log_for_developers_does_not_speak_of_the_export() {
    let plain = folder(PROMPT, REPLIES);
    let silent = finish(&mut run(plain.path(), &[("TEPA_LOG", "debug")]));
    let (output, collector) = traced(PROMPT, REPLIES, &[("TEPA_LOG", "debug")]);
    assert_eq!(collector.requests().len(), 1);
    let lines = |output: &Output| text(&output.stderr).lines().filter(|line| line.contains("DEBUG")).count();
    assert_eq!(lines(&output), lines(&silent), "{}", text(&output.stderr));
}

#[test]
fn tries_that_failed_are_events_of_their_call() {
    let collector = Collector::start();
    let environment = Environment::of("/".into(), [(ENDPOINT.into(), collector.url.clone().into())]);
    let telemetry = Telemetry::of(&environment);
    let mut sink = telemetry.sink().unwrap();
    let purpose = Purpose { role: Role::Planner, cycle: 1, step: None, tool: None, attempt: 1 };
    let failed = |model: &str, error: Option<&str>| RunEvent::LlmCompleted {
        purpose: purpose.clone(),
        model: model.to_owned(),
        usage: Usage::default(),
        finish_reason: None,
        text: String::new(),
        tool_use: Vec::new(),
        error: error.map(str::to_owned),
        duration_ms: 1_500,
    };
    let events = [
        RunEvent::RunStarted {
            version: "1".into(),
            provider: "gemini".into(),
            prompt: serde_json::from_value(json!({"goal": "g", "context": {}, "expectedOutput": "e"}))
                .unwrap(),
            session: None,
            prompt_sha256: String::new(),
            config: json!({}),
            tools: Vec::new(),
            given: None,
            asks: Vec::new(),
            protects: Vec::new(),
            replies: None,
        },
        RunEvent::CycleStarted { cycle: 1 },
        RunEvent::LlmRetry { purpose: purpose.clone(), retry: 1, delay_ms: 20, error: "busy".into() },
        failed("one", Some("gone")),
        failed("two", None),
    ];
    for (seq, event) in (0..).zip(events) {
        // The times of events are those of spans, not the time at which anybody looks at them.
        let ts = jiff::Timestamp::from_second(1_000_000 + i64::try_from(seq).unwrap()).unwrap();
        let event = Cow::Owned(event);
        sink.emit(&Envelope { seq, ts, run_id: "r".into(), event, redacted: false, line: String::new() })
            .unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(telemetry.send()), None);
    let trace = collector.trace();
    let one = trace.span("chat one");
    assert_eq!(of(one)["gen_ai.provider.name"], "gcp.gemini");
    assert_eq!(of(one)["error.type"], "provider_error");
    assert_eq!(one.status.as_ref().unwrap().message, "gone");
    let retry = json!({"tepa.retry.number": 1, "tepa.retry.delay_ms": 20, "error.message": "busy"});
    assert_eq!(self::events(one, "tepa.retry"), [retry]);
    assert_eq!(one.events[0].time_unix_nano, 1_000_002_000_000_000);
    assert_eq!(
        (one.start_time_unix_nano, one.end_time_unix_nano),
        (1_000_001_500_000_000, 1_000_003_000_000_000)
    );
    assert!(trace.span("chat two").events.is_empty());
}
