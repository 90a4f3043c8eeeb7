//! Owns the connection to one server: its start, its list of tools, calls, and its end.
//!
//! Dropping a call tells the server that nobody waits for it any more; dropping the server kills it if it is a process.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    Implementation, Tool,
};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient, ServiceError, ServiceExt as _};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::line::{self, Watched};
use super::settings::{Settings, Way};
use crate::error::{Error, Message};
use crate::process::{Service, Tail};
use crate::text;
use crate::tool::ToolError;

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// How many lines of standard error are shown when a server does not start.
const MOST_LINES: usize = 20;

/// How many characters of standard error are quoted in the error of a call.
const QUOTED: usize = 1_000;

/// A connected server.
pub(super) struct Server {
    name: String,
    peer: Peer<RoleClient>,
    /// Changes when the server said more than can be read.
    too_long: watch::Receiver<()>,
    tail: Option<Tail>,
    /// What is there to be ended, once.
    running: Mutex<Option<Running>>,
}

struct Running {
    session: RunningService<RoleClient, ClientConfig>,
    process: Option<Service>,
}

/// Why a server cannot be used.
pub(super) struct Failure {
    causes: Vec<String>,
}

impl Failure {
    pub(super) fn new(cause: impl Into<String>) -> Self {
        Self { causes: vec![cause.into()] }
    }

    /// Adds how the server's process ended and what it said last.
    async fn of_process(mut self, process: Service) -> Self {
        let tail = process.tail();
        if let Some(code) = process.close().await {
            self.causes.push(format!("it ended with exit code {code}"));
        }
        let said = tail.text();
        let lines: Vec<&str> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
        if !last.is_empty() {
            self.causes.push("the end of its standard error:".to_owned());
            self.causes.extend(last.iter().map(|line| format!("| {line}")));
        }
        self
    }

    pub(super) fn into_error(self, server: &str) -> Error {
        Error::Broken(Message {
            text: format!("the MCP server `{server}` did not start"),
            causes: self.causes,
            hint: Some(format!("see `mcpServers.{server}`; `required: false` lets a run start without it")),
        })
    }

    pub(super) fn into_warning(self, server: &str) -> String {
        let causes = self.causes.join("; ");
        format!("the MCP server `{server}` did not start, and the run goes on without its tools: {causes}")
    }
}

impl Server {
    /// Starts a server and asks for its tools.
    pub(super) async fn start(settings: Settings) -> Result<(Self, Vec<Tool>), Failure> {
        let Settings { name, start_up, way, .. } = settings;
        let late = || Failure::new(format!("it did not answer within {}", text::duration(millis(start_up))));
        match way {
            Way::Process(command) => {
                let (process, (stdout, stdin)) =
                    Service::start(&command).map_err(|e| Failure::new(e.to_string()))?;
                let (stdout, too_long) = Watched::new(stdout);
                let greeted = timeout(start_up, async {
                    let session =
                        client().serve((stdout, stdin)).await.map_err(|e| Failure::new(e.to_string()))?;
                    let tools = tools(&session).await?;
                    Ok((session, tools))
                });
                match greeted.await.unwrap_or_else(|_| Err(late())) {
                    Ok((session, tools)) => {
                        let tail = Some(process.tail());
                        Ok((Self::new(name, session, too_long, tail, Some(process)), tools))
                    }
                    Err(failure) => Err(failure.of_process(process).await),
                }
            }
            Way::Http { url, shown, headers } => {
                // What the library says may hold the address, and the address a secret.
                let unread = |e: &dyn std::error::Error| Failure::new(chain(e).replace(&url, &shown));
                let http = reqwest::Client::builder()
                    .user_agent(concat!("tepa/", env!("CARGO_PKG_VERSION")))
                    .redirect(Policy::custom(same_origin))
                    .build()
                    .map_err(|e| unread(&e))?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(
                    headers.into_iter().filter_map(|(header, value)| Some((header?, value))).collect(),
                );
                let transport = StreamableHttpClientTransport::with_client(http, config);
                let greeted = timeout(start_up, async {
                    let session = client().serve(transport).await.map_err(|e| unread(&e))?;
                    let tools = tools(&session).await?;
                    Ok((session, tools))
                });
                let (session, tools) = greeted.await.unwrap_or_else(|_| Err(late()))?;
                Ok((Self::new(name, session, watch::channel(()).1, None, None), tools))
            }
        }
    }

    fn new(
        name: String,
        session: RunningService<RoleClient, ClientConfig>,
        too_long: watch::Receiver<()>,
        tail: Option<Tail>,
        process: Option<Service>,
    ) -> Self {
        let peer = session.peer().clone();
        let running = Mutex::new(Some(Running { session, process }));
        Self { name, peer, too_long, tail, running }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Calls a tool by the server's own name for it.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallToolResult, ToolError> {
        let mut too_long = self.too_long.clone();
        too_long.mark_unchanged();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answer = tokio::select! {
            answer = self.peer.call_tool_once(request) => answer,
            Ok(()) = too_long.changed() => {
                let most = text::bytes(line::LONGEST as u64);
                return Err(ToolError::new(format!(
                    "the MCP server `{}` answered with more than {most}: ask it for less", self.name
                )));
            }
        };
        let unusable = |what: &str| ToolError::new(format!("the MCP server `{}` {what}", self.name));
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(CallToolResponse::InputRequired(_)) => {
                Err(unusable("asks for further input, which a run cannot give"))
            }
            Ok(_) => Err(unusable("answered with a task to wait for, which it was not asked for")),
            Err(ServiceError::McpError(error)) => {
                Err(unusable(&format!("refused the call: {} (code {})", error.message, error.code.0)))
            }
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => Err(self.gone().await),
            Err(other) => Err(unusable(&format!("did not answer the call: {other}"))),
        }
    }

    /// Returns the error of a call to a server that is not there any more.
    async fn gone(&self) -> ToolError {
        let mut message = format!("the connection to the MCP server `{}` is lost", self.name);
        if let Some(Running { process: Some(process), .. }) = &mut *self.running.lock().await
            && let Some(code) = process.ended().await
        {
            message = format!("the MCP server `{}` has ended with exit code {code}", self.name);
        }
        let said = self.tail.as_ref().map(Tail::text).unwrap_or_default();
        if !said.is_empty() {
            message = format!("{message}: {}", text::tail(&said, QUOTED));
        }
        ToolError::new(message)
    }

    /// Ends the server; nothing of it is left afterwards.
    pub(super) async fn close(&self) {
        let Some(Running { mut session, process }) = self.running.lock().await.take() else { return };
        let _ = session.close_with_timeout(GOODBYE).await;
        drop(session);
        if let Some(process) = process {
            process.close().await;
        }
    }
}

fn client() -> ClientConfig {
    ClientConfig::new(ClientCapabilities::default(), Implementation::new("tepa", env!("CARGO_PKG_VERSION")))
}

async fn tools(session: &RunningService<RoleClient, ClientConfig>) -> Result<Vec<Tool>, Failure> {
    let listed = session.list_all_tools().await;
    listed.map_err(|e| Failure::new(format!("it did not list its tools: {}", chain(&e))))
}

/// Headers go where they were meant for and nowhere else.
fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    const MOST: usize = 5;
    let origin = attempt.previous().first().map(reqwest::Url::origin);
    let stays = origin.is_some_and(|origin| origin == attempt.url().origin());
    if stays && attempt.previous().len() <= MOST { attempt.follow() } else { attempt.stop() }
}

/// Returns an error with its causes, each said once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !said.contains(&words) {
            said = format!("{said}: {words}");
        }
        next = cause.source();
    }
    said
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
