//! Owns the configuration: what a file may say, how layers become one [`Config`], and the environment, read once.
//!
//! A [`Config`] is whole: every value is there, whoever set it.

mod catalog;
mod environment;
mod file;
mod hooks;
mod host;
mod layers;
mod programs;
mod recorded;
mod setting;
mod tools;
mod turn;
mod variables;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::duration::DurationText;
pub use catalog::{Catalog, Price, Prices};
pub use environment::{Environment, HEADER_VARIABLES, KEY_VARIABLES, TRACE_PARENT, TRACE_STATE, pairs};
pub use file::{ConfigFile, keys, load, schema};
pub use hooks::{CommandHook, CommandHooks, Cycles, When};
pub use host::{HostPattern, HostPatternError, without_secrets};
pub use layers::{Layers, Origin, Raised, grows};
pub use setting::{Item, Setting};
pub use tools::{
    CommandEffect, CustomTool, McpServer, McpTransport, Network, Sandbox, SandboxMode, SecretSources,
    custom_tools,
};
pub use turn::{
    Budget, CommandStage, CycleStages, History, Memory, Policy, Redacted, Refusal, Retrieve, Safety,
    SessionKeyError, Stage, Standing, Store, Telemetry, Turn, session_key,
};
pub use variables::{LOG, VARIABLES};

/// The resolved configuration: the seeds' `TepaConfig` and what stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Who answers model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderKind>,
    /// Where the provider is reached instead of its own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The model of each role.
    pub model: Models,
    /// When to stop.
    pub limits: Limits,
    /// How the judge is asked.
    pub evaluator: Judging,
    /// The tools of a run, each a name or a rule such as `shell_execute(git *)`; empty for all.
    pub tools: Vec<String>,
    /// Tools that a run does not have, in the same form; they win over `tools`.
    pub deny_tools: Vec<String>,
    /// Tools whose output is taken for the words of those who run tepa.
    pub trusted_tools: Vec<String>,
    /// Commands that are tools.
    pub custom_tools: Vec<CustomTool>,
    /// Commands that are asked at points of a cycle.
    pub events: CommandHooks,
    /// What happens once a run, before its first cycle and after it passed.
    #[serde(default, skip_serializing_if = "Turn::is_empty")]
    pub turn: Turn,
    /// What happens once a cycle, around the planner and the judge.
    #[serde(default, skip_serializing_if = "CycleStages::is_empty")]
    pub cycle: CycleStages,
    /// Servers whose tools a run has, by name.
    pub mcp_servers: IndexMap<String, McpServer>,
    /// What commands and file tools may touch.
    pub sandbox: Sandbox,
    /// Whom `http_request` and `web_search` may reach.
    pub network: Network,
    /// Globs of files that no run may change.
    pub protect: Vec<String>,
    /// Values that must not turn up in anything that leaves.
    pub secrets: SecretSources,
    /// What is shown.
    pub logging: Logging,
    /// Prices of models that the catalog does not have, or has otherwise.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub pricing: IndexMap<String, Price>,
    /// How calls to a provider are made.
    pub calls: Calls,
    /// The log of model calls.
    pub llm_log: LlmLog,
}

/// How calls to a provider are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calls {
    /// Whether answers are streamed, so that long ones do not run into time limits.
    pub stream: bool,
    /// How long a provider may be silent, in milliseconds.
    pub idle_timeout: u64,
    /// Tries after the first.
    pub max_retries: u32,
    /// The delay before the second try, in milliseconds; it doubles with each further one.
    pub retry_base_delay: u64,
    /// Whether a base URL may be plain HTTP beyond this machine.
    pub allow_plain_http: bool,
}

/// The log of model calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmLog {
    /// Whether there is one.
    pub enabled: bool,
    /// Its folder, relative to the folder that the run works in.
    pub folder: String,
    /// Whether it holds what was sent.
    pub include_content: bool,
}

/// Who answers model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ProviderKind {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// Google's Gemini API.
    Gemini,
    /// Anything that speaks Chat Completions.
    #[serde(rename = "openai-compatible")]
    OpenAiCompatible,
    /// Replies from a file.
    Replay,
}

impl ProviderKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::OpenAiCompatible, Self::Replay];

    /// Returns the name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Replay => "replay",
        }
    }
}

/// The model of each role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    /// Makes plans.
    pub planner: String,
    /// Runs steps, unless a step names another.
    pub executor: String,
    /// Judges.
    pub evaluator: String,
}

impl Models {
    /// Returns each model once, in the order planner, executor, evaluator.
    pub fn distinct(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in [&self.planner, &self.executor, &self.evaluator] {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

/// When to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Cycles, at least 1.
    pub max_cycles: u32,
    /// Tokens over all model calls.
    pub max_tokens: u64,
    /// Milliseconds per tool call.
    pub tool_timeout: u64,
    /// Further tries when an answer of planner or evaluator cannot be read.
    pub retry_attempts: u32,
    /// Wall clock of the whole run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<u64>,
    /// US dollars over all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
    /// Steps that may be under way at the same time, at least 1.
    pub max_parallel_steps: usize,
    /// The longest that what steps, tools and the scratchpad hold may be in one message to a model, in bytes.
    pub max_prompt_bytes: usize,
}

/// How the judge is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judging {
    /// How many answers there are at most; the majority counts.
    pub votes: u32,
    /// The confidence under which a pass is asked again.
    pub ask_again_below: f64,
    /// Whether a task with nothing to verify fails.
    pub strict: bool,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Logging {
    /// How much.
    pub level: LoggingLevel,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LoggingLevel {
    /// The final line only.
    Minimal,
    /// Plan, steps, verdict.
    Standard,
    /// With durations, tokens, reasoning, arguments, retries, budget.
    Verbose,
}
