//! Owns what a configuration says about tools: which there are, what they may touch, and what must stay secret.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{DurationText, HostPattern, HostPatternError, host};
use crate::seal::Pattern;
use crate::source::{Diagnostic, Diagnostics, Document};
use crate::tool::ParameterDef;
use crate::tool::permission::{Rule, RuleError};

/// A command that is a tool: parameters as JSON on its standard input, JSON or text on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct CustomTool {
    /// Unique among the tools of a run, such as `deploy_status`.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"))]
    pub name: String,
    /// What it does, on what, and what it returns: models decide by it.
    #[schemars(length(min = 1))]
    pub description: String,
    /// What a call may supply, by name.
    #[serde(default)]
    pub parameters: IndexMap<String, ParameterDef>,
    /// The program and its arguments; it runs in the workspace.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub command: Vec<String>,
    /// What a call may change.
    #[serde(default)]
    pub effect: CommandEffect,
    /// The longest that a call may take: milliseconds, or text such as `2m`; `limits.toolTimeout` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// Variables beside those that every command has; `${NAME}` stands for one of the environment.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Whether it may use the network; `sandbox.network` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

/// What a call of a command may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CommandEffect {
    /// Nothing.
    Reads,
    /// Something.
    #[default]
    Writes,
}

/// A server that speaks the Model Context Protocol: a command, or an address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct McpServer {
    /// How it is reached; follows from `command` and `url`, and may be left out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub transport: Option<McpTransport>,
    /// The program to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// What it is called with; `${NAME}` stands for a variable of the environment, here and below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables beside those that every command has.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// The address to reach it at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub url: Option<String>,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// Whether a run must not start without it.
    #[serde(default = "yes")]
    pub required: bool,
    /// Whether it is left out.
    #[serde(default)]
    pub disabled: bool,
    /// The longest that it may take to start: milliseconds, or text such as `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_timeout: Option<DurationText>,
}

fn yes() -> bool {
    true
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum McpTransport {
    /// A process and its pipes.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Streamable HTTP, as others call it.
    StreamableHttp,
}

/// What commands and file tools may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// How much.
    pub mode: SandboxMode,
    /// Folders and files beside the workspace that may be written.
    pub writable: Vec<String>,
    /// Folders and files beside the workspace that file tools may read.
    pub readable: Vec<String>,
    /// Folders and files that commands may not read; `~` is the user's own folder.
    pub hidden: Vec<String>,
    /// Whether commands may use the network.
    pub network: bool,
    /// Names of variables that commands inherit beside the usual ones; `*` stands for anything.
    pub environment: Vec<String>,
    /// Whether a run must not start where commands cannot be confined.
    pub required: bool,
}

/// How much commands and file tools may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SandboxMode {
    /// Nothing is written.
    ReadOnly,
    /// The workspace is written, and what is listed.
    WorkspaceWrite,
    /// Commands are not confined; file tools still are.
    Off,
}

impl SandboxMode {
    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Off => "off",
        }
    }
}

/// Whom `http_request` and `web_search` may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// Hosts such as `api.example.com`, `*.example.com` or `localhost:8080`; empty for all.
    pub allow_hosts: Vec<HostPattern>,
}

/// Where values come from that must not turn up in anything that leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretSources {
    /// Names of variables; `*` stands for anything.
    pub env: Vec<String>,
    /// Files whose content is secret, whole and line by line.
    pub files: Vec<String>,
}

/// Takes out of a configuration that is about to be recorded what servers and tools are handed: people write secrets there.
pub(super) fn without_values(config: &mut Value) {
    for server in config["mcpServers"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        for key in ["env", "headers"] {
            star_out(server.get_mut(key));
        }
        if let Some(Value::Array(args)) = server.get_mut("args") {
            args.fill(STARS.into());
        }
        if let Some(Value::String(url)) = server.get_mut("url") {
            *url = host::without_secrets(url);
        }
    }
    for tool in config["customTools"].as_array_mut().into_iter().flatten() {
        star_out(tool.get_mut("env"));
        without_arguments(tool.get_mut("command"));
    }
}

/// Leaves the program of a command, and nothing of what it is handed.
pub(super) fn without_arguments(command: Option<&mut Value>) {
    let Some(command) = command else { return };
    match command {
        Value::Array(words) => words.iter_mut().skip(1).for_each(|word| *word = STARS.into()),
        Value::String(line) => {
            // What is assigned in front of the program is handed to it as well.
            let program = line.split_whitespace().next().filter(|word| !word.contains('='));
            *line = match program {
                Some(program) if program == line.trim() => program.to_owned(),
                Some(program) => format!("{program} {STARS}"),
                None => STARS.to_owned(),
            };
        }
        _ => {}
    }
}

/// Replaces each value of a map that is not recorded.
pub(super) fn star_out(values: Option<&mut Value>) {
    for value in values.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *value = STARS.into();
    }
}

/// What stands in the place of a value that is not recorded.
const STARS: &str = "***";

/// Finds the faults in what a document says about tools that its schema cannot see.
pub(super) fn check(document: &Document, known: &[&str], faults: &mut Diagnostics) {
    let root = document.value();
    let own = custom_tools(root);
    let known: Vec<&str> = known.iter().copied().chain(own.iter().copied()).collect();
    for key in ["tools", "denyTools"] {
        for (at, text) in texts(root.get(key)) {
            let place = document.span_of_value(&format!("/{key}/{at}"));
            let rule = match Rule::parse(text) {
                Ok(rule) => rule,
                Err(error) => {
                    let fault = Diagnostic::error("invalid", error.to_string()).at(place);
                    faults.push(fault.hint(RuleError::HINT));
                    continue;
                }
            };
            let name = rule.tool();
            // Which tools a server has is known when it runs.
            if !known.contains(&name) && !name.contains("__") {
                let fault = Diagnostic::error("unknown-tool", format!("unknown tool `{name}`")).at(place);
                faults.push(fault.suggest(name, known.iter().copied()));
            }
        }
    }
    for (at, name) in texts(root.get("trustedTools")) {
        if !known.contains(&name) && !name.contains("__") {
            let place = document.span_of_value(&format!("/trustedTools/{at}"));
            let fault = Diagnostic::error("unknown-tool", format!("unknown tool `{name}`")).at(place);
            faults.push(fault.suggest(name, known.iter().copied()));
        }
    }
    for (at, glob) in texts(root.get("protect")) {
        if let Err(error) = Pattern::parse(glob) {
            let fault = Diagnostic::error("invalid", error.to_string());
            faults.push(fault.at(document.span_of_value(&format!("/protect/{at}"))));
        }
    }
    check_custom(document, &own, faults);
    check_servers(document, faults);
    check_hosts(document, faults);
}

/// Returns the names of the custom tools in a configuration in the form of a file.
pub fn custom_tools(config: &Value) -> Vec<&str> {
    let list = config.get("customTools").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str()).collect()
}

fn check_custom(document: &Document, own: &[&str], faults: &mut Diagnostics) {
    for (at, name) in own.iter().enumerate() {
        let place = || document.span_of_value(&format!("/customTools/{at}/name"));
        if own[..at].contains(name) {
            let message = format!("a custom tool is already called `{name}`");
            faults.push(Diagnostic::error("duplicate-tool", message).at(place()));
        } else if name.contains("__") {
            let message = format!("`{name}` looks like the tool of a server: leave `__` out");
            faults.push(Diagnostic::error("invalid", message).at(place()));
        }
    }
}

fn check_servers(document: &Document, faults: &mut Diagnostics) {
    let servers = document.value().get("mcpServers").and_then(Value::as_object);
    for (name, server) in servers.into_iter().flatten() {
        let Some(server) = server.as_object() else { continue };
        let place = || document.span_of_key(&format!("/mcpServers/{}", escaped(name)));
        let mut fault = |message: String, hint: &str| {
            faults.push(Diagnostic::error("invalid", message).at(place()).hint(hint));
        };
        let named =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !named || name.contains("__") {
            let message = format!("`{name}` cannot name a server: its tools are called `server__tool`");
            fault(message, "use letters, digits, `-` and single `_`");
        }
        match (says(server, "command"), says(server, "url")) {
            (true, false) | (false, true) => {}
            (true, true) => {
                fault(format!("the server `{name}` has both `command` and `url`"), "leave one of them out");
            }
            (false, false) => fault(
                format!("the server `{name}` has neither `command` nor `url`"),
                "give the program to start, or the address to reach it at",
            ),
        }
        let transport = server.get("type").and_then(Value::as_str);
        if transport == Some("stdio") && says(server, "url")
            || transport.is_some_and(|t| t.ends_with("http")) && says(server, "command")
        {
            fault(format!("the `type` of the server `{name}` contradicts the rest"), "leave `type` out");
        }
    }
}

fn check_hosts(document: &Document, faults: &mut Diagnostics) {
    for (at, text) in texts(document.value().pointer("/network/allowHosts")) {
        if let Err(error) = HostPattern::parse(text) {
            let place = document.span_of_value(&format!("/network/allowHosts/{at}"));
            faults
                .push(Diagnostic::error("invalid", error.to_string()).at(place).hint(HostPatternError::HINT));
        }
    }
}

fn says(server: &Map<String, Value>, key: &str) -> bool {
    server.get(key).is_some_and(|value| !value.is_null())
}

/// Returns a key as it stands in a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = (usize, &str)> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.enumerate().filter_map(|(at, text)| Some((at, text.as_str()?)))
}
