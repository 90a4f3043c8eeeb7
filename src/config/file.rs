//! Owns what a configuration file may say: each key optional, unknown keys refused.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turn::{CycleFile, TurnFile};
use super::{CommandHooks, CustomTool, LoggingLevel, McpServer, Price, ProviderKind, SandboxMode};
use super::{hooks, tools, turn};
use crate::duration::DurationText;
use crate::source::{Diagnostic, Diagnostics, Document, UnknownKeys, decode, schema_of_file};

/// A configuration file: any part of the configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "tepa configuration")]
pub struct ConfigFile {
    /// Where its schema lies, for editors; tepa does not look there.
    #[serde(rename = "$schema", skip_serializing)]
    #[schemars(with = "String")]
    pub schema: Option<String>,
    /// Who answers model calls.
    pub provider: Option<ProviderKind>,
    /// Where the provider is reached instead of its own address.
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    /// The model of each role.
    pub model: Option<ModelsFile>,
    /// When to stop.
    pub limits: Option<LimitsFile>,
    /// How the judge is asked.
    pub evaluator: Option<JudgingFile>,
    /// The tools of a run, each a name or a rule such as `shell_execute(git *)`; empty for all.
    pub tools: Option<Vec<String>>,
    /// Tools that a run does not have, in the same form; they win over `tools`.
    pub deny_tools: Option<Vec<String>>,
    /// Names of tools whose output models may take for the words of those who run tepa; that of all others stands in envelopes.
    pub trusted_tools: Option<Vec<String>>,
    /// Commands that are tools.
    pub custom_tools: Option<Vec<CustomTool>>,
    /// Commands that are asked before and after stages and steps, and may change or stop a run; they add to those of layers below.
    pub events: Option<CommandHooks>,
    /// What happens once a run, before its first cycle and after it passed.
    pub turn: Option<TurnFile>,
    /// What happens once a cycle, before the planner and after the judge.
    pub cycle: Option<CycleFile>,
    /// Servers that speak the Model Context Protocol, whose tools a run has; by name.
    pub mcp_servers: Option<IndexMap<String, McpServer>>,
    /// What commands and file tools may touch.
    pub sandbox: Option<SandboxFile>,
    /// Whom `http_request` and `web_search` may reach.
    pub network: Option<NetworkFile>,
    /// Globs of files, relative to the folder that the run works in, that no run may change.
    pub protect: Option<Vec<String>>,
    /// Values that must not turn up in anything that leaves.
    pub secrets: Option<SecretsFile>,
    /// What is shown.
    pub logging: Option<LoggingFile>,
    /// Prices of models that the catalog does not have, or has otherwise.
    pub pricing: Option<IndexMap<String, Price>>,
    /// How calls to a provider are made.
    pub calls: Option<CallsFile>,
    /// The log of model calls.
    pub llm_log: Option<LlmLogFile>,
}

/// Returns the published schema of a configuration file.
pub fn schema() -> Value {
    schema_of_file::<ConfigFile>("config")
}

/// Returns the keys at the top of a configuration file that say something.
pub fn keys() -> Vec<String> {
    let schema = schemars::schema_for!(ConfigFile).to_value();
    let keys = schema.get("properties").and_then(Value::as_object);
    keys.into_iter().flat_map(|keys| keys.keys().filter(|key| *key != "$schema").cloned()).collect()
}

/// What commands and file tools may touch.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct SandboxFile {
    /// How much.
    pub mode: Option<SandboxMode>,
    /// Folders and files beside the workspace that may be written.
    pub writable: Option<Vec<String>>,
    /// Folders and files beside the workspace that file tools may read.
    pub readable: Option<Vec<String>>,
    /// Folders and files that commands may not read.
    pub hidden: Option<Vec<String>>,
    /// Whether commands may use the network.
    pub network: Option<bool>,
    /// Names of variables that commands inherit beside the usual ones; `*` stands for anything.
    pub environment: Option<Vec<String>>,
    /// Whether a run must not start where commands cannot be confined.
    pub required: Option<bool>,
}

/// Whom tools may reach over the network.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct NetworkFile {
    /// Hosts such as `api.example.com`, `*.example.com` or `localhost:8080`; empty for all.
    pub allow_hosts: Option<Vec<String>>,
}

/// Where values come from that must not turn up in anything that leaves.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct SecretsFile {
    /// Names of variables; `*` stands for anything.
    pub env: Option<Vec<String>>,
    /// Files whose content is secret, whole and line by line.
    pub files: Option<Vec<String>>,
}

/// How calls to a provider are made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct CallsFile {
    /// Whether answers are streamed, so that long ones do not run into time limits.
    pub stream: Option<bool>,
    /// How long a provider may be silent: milliseconds, or text such as `2m`.
    pub idle_timeout: Option<DurationText>,
    /// Tries after the first.
    #[schemars(range(max = 20))]
    pub max_retries: Option<u32>,
    /// The delay before the second try: milliseconds, or text such as `2s`.
    pub retry_base_delay: Option<DurationText>,
    /// Whether a base URL may be plain HTTP beyond this machine.
    pub allow_plain_http: Option<bool>,
}

/// The log of model calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct LlmLogFile {
    /// Whether there is one.
    pub enabled: Option<bool>,
    /// Its folder, relative to the folder that the run works in.
    #[schemars(length(min = 1))]
    pub folder: Option<String>,
    /// Whether it holds what was sent.
    pub include_content: Option<bool>,
}

/// The model of each role.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct ModelsFile {
    /// Makes plans.
    #[schemars(length(min = 1))]
    pub planner: Option<String>,
    /// Runs steps, unless a step names another.
    #[schemars(length(min = 1))]
    pub executor: Option<String>,
    /// Judges.
    #[schemars(length(min = 1))]
    pub evaluator: Option<String>,
}

/// When to stop.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct LimitsFile {
    /// Cycles before the run fails.
    #[schemars(range(min = 1, max = 1000))]
    pub max_cycles: Option<u32>,
    /// Tokens over all model calls before the run is terminated.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Milliseconds per tool call.
    #[schemars(range(min = 1))]
    pub tool_timeout: Option<u64>,
    /// Further tries when an answer of planner or evaluator cannot be read.
    #[schemars(range(max = 10))]
    pub retry_attempts: Option<u32>,
    /// Wall clock of the whole run, such as `90s` or `1h 30m`, or a number of milliseconds.
    pub max_duration: Option<DurationText>,
    /// US dollars over all model calls before the run is terminated.
    #[schemars(range(min = 0))]
    pub max_cost_usd: Option<f64>,
    /// Calls of tools before the run is terminated.
    #[schemars(range(min = 1))]
    pub max_tool_calls: Option<u64>,
    /// Steps that may be under way at the same time; with 1 they run one after the other.
    #[schemars(range(min = 1, max = 64))]
    pub max_parallel_steps: Option<usize>,
    /// The longest that what steps, tools and the scratchpad hold may be in one message to a model, in bytes; longer pieces are cut.
    #[schemars(range(min = 1024))]
    pub max_prompt_bytes: Option<usize>,
}

/// How the judge is asked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct JudgingFile {
    /// How many answers there are at most. A fail, or a pass that the judge is not sure of, is asked again until a majority agrees.
    #[schemars(range(min = 1, max = 9))]
    pub votes: Option<u32>,
    /// The confidence under which a pass is asked again, where there is more than one vote.
    #[schemars(range(min = 0, max = 1))]
    pub ask_again_below: Option<f64>,
    /// Whether a task with nothing to verify (no path, no check, no criterion) fails.
    pub strict: Option<bool>,
}

/// What is shown.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct LoggingFile {
    /// How much.
    pub level: Option<LoggingLevel>,
}

/// Returns the layer that a document holds, with its warnings, or every fault.
///
/// `tools` are the names that rules may use beside those that the document defines itself.
pub fn load(
    document: &Document,
    tools: &[&str],
    unknown: UnknownKeys,
) -> Result<(Value, Diagnostics), Diagnostics> {
    let (file, mut faults) = decode::<ConfigFile>(document, unknown);
    tools::check(document, tools, &mut faults);
    hooks::check(document, tools, &mut faults);
    turn::check(document, &mut faults);
    match file {
        Some(file) if !faults.has_errors() => match serde_json::to_value(file) {
            Ok(layer) => Ok((layer, faults)),
            Err(e) => {
                faults.push(Diagnostic::error("invalid", e.to_string()));
                Err(faults)
            }
        },
        _ => Err(faults),
    }
}
