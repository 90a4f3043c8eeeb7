//! Owns what a run produces: step results, evaluations, checks, usage, and the settlement that everything shown at the end derives from.
//!
//! A settlement that passes is built in one place, from an evaluation whose verdict is pass; nothing else can make one.

mod effect;
mod estimate;
mod evaluation;
mod settlement;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use effect::Effect;
pub use estimate::{Estimate, Spending};
pub use evaluation::{
    CriterionResult, CriterionVerdict, Evaluation, Evidence, Overruling, Part, Verdict, Vote,
};
pub use settlement::{Reason, RunStatus, Settlement};

use crate::sandbox::Confinement;
use crate::source::schema_of_output;

/// What the scratchpad holds, in the order in which keys were first written.
pub type Entries = IndexMap<String, Arc<Value>>;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// The step completed and produced output.
    Success,
    /// A tool, the model or a dependency failed.
    Failure,
}

/// The seeds' `ExecutionResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "How a step ended, and with what.")]
pub struct StepResult {
    /// The step's id in its plan.
    pub step_id: String,
    /// How it ended.
    pub status: StepStatus,
    /// What the tools returned (one value, or a list for several tools), the text of a reasoning step, or null on failure.
    pub output: Arc<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens of the model calls of this step.
    pub tokens_used: u64,
    /// Wall clock, in milliseconds.
    pub duration_ms: u64,
}

/// The check that protected files are what they were when the run began.
pub const PROTECTED: &str = "protected";

/// The outcome of one deterministic check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The check's name in the prompt, such as `exists`.
    pub check: String,
    /// The path it looked at, as the prompt names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The evidence of the expected output that it belongs to, `E1` for the first; none for a protected file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Whether it holds.
    pub passed: bool,
    /// What should be.
    pub expected: String,
    /// What is.
    pub actual: String,
}

impl CheckResult {
    /// The name of the check that runs a command.
    pub const COMMAND: &str = "command";
}

/// What kind of artifact a path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactKind {
    /// Any other file.
    File,
    /// Machine-readable data (CSV, JSON, YAML …).
    Data,
    /// Prose for people (Markdown, text, HTML …).
    Report,
}

impl ArtifactKind {
    /// Returns the kind that the ending of `path` suggests.
    pub fn of(path: &str) -> Self {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "json" | "jsonl" | "ndjson" | "yaml" | "yml" | "toml" | "xml" | "parquet" => {
                Self::Data
            }
            "md" | "markdown" | "txt" | "html" | "htm" | "pdf" | "rst" | "adoc" => Self::Report,
            _ => Self::File,
        }
    }
}

/// The seeds' `OutputArtifact`, with what tepa measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "A file or folder that a run left, with what tepa measured.")]
pub struct Artifact {
    /// Relative to the workspace.
    pub path: String,
    /// From the prompt, or which step wrote it.
    pub description: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    /// Size in bytes.
    pub bytes: u64,
    /// Lower-case hexadecimal; absent for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// How weighty a log entry is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Worth knowing.
    #[default]
    Info,
    /// Worth looking at.
    Warn,
    /// Something is wrong.
    Error,
}

/// The seeds' `LogEntry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "An entry of the logs.")]
pub struct LogEntry {
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// The cycle, from 1; 0 before the first.
    pub cycle: u32,
    /// The step it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The tool it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How weighty it is.
    #[serde(default)]
    pub level: LogLevel,
    /// The text.
    pub message: String,
    /// Wall clock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
}

/// Tokens of model calls, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read by the model, all of them: cached ones and cache writes are part of it.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// The part of `input` that came from a cache.
    pub cached: u64,
    /// The part of `input` that was written to a cache.
    pub cache_write: u64,
}

impl Usage {
    /// Returns what counts against the token budget.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Usage split by who spent it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageReport {
    /// All calls.
    pub total: Usage,
    /// By `planner`, `executor`, `evaluator`.
    pub by_role: BTreeMap<String, Usage>,
    /// By model name.
    pub by_model: BTreeMap<String, Usage>,
}

impl UsageReport {
    /// Adds one call.
    pub fn charge(&mut self, role: &str, model: &str, usage: Usage) {
        self.total += usage;
        *self.by_role.entry(role.to_owned()).or_default() += usage;
        *self.by_model.entry(model.to_owned()).or_default() += usage;
    }
}

/// What a run cost in money, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// US dollars; null when no price is known.
    pub usd: Option<f64>,
    /// How much of the usage has a price.
    pub qualifier: CostQualifier,
}

/// How much of the usage has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostQualifier {
    /// All of it.
    Priced,
    /// Some of it: the sum is a floor.
    Partial,
    /// None of it.
    Unpriced,
}

/// Something that a person should know and that did not end the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caution {
    /// A stable name for programs.
    pub code: String,
    /// The text.
    pub message: String,
}

/// The seeds' `TepaResult` and what stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "tepa result", description = "What a run came to.")]
pub struct RunResult {
    /// The status; null when there is no verdict.
    pub status: Option<RunStatus>,
    /// Cycles that were started.
    pub cycles: u32,
    /// Tokens of all model calls.
    pub tokens_used: u64,
    /// Artifacts on disk when the run ended.
    pub outputs: Vec<Artifact>,
    /// Log entries in order.
    pub logs: Vec<LogEntry>,
    /// The evaluator's summary or feedback, or the message of what ended the run.
    pub feedback: String,
    /// The run.
    pub run_id: String,
    /// Why it ended.
    pub reason: Reason,
    /// The exit code of the process.
    pub exit_code: u8,
    /// Wall clock, in milliseconds.
    pub duration_ms: u64,
    /// Tokens by role and model.
    pub usage: UsageReport,
    /// Money.
    pub cost: Cost,
    /// The checks of the last cycle that was evaluated.
    pub checks: Vec<CheckResult>,
    /// The criteria of the last evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionResult>,
    /// The last evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// What commands were confined to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Confinement>,
    /// What broke, when the run did not end by a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person should know that did not end the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Caution>,
}

/// Returns the published schema of a result.
pub fn schema() -> Value {
    schema_of_output::<RunResult>("result")
}
