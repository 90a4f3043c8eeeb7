//! Owns the stages that a configuration may name, with their settings.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Memory;
use crate::check::{CommandLine, Pattern};
use crate::duration::DurationText;
use crate::turn::TrustTier;

/// One stage: a map whose only key is its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Stage {
    /// Refuses tasks.
    Policy(Policy),
    /// Gives models the rules of those who run tepa.
    Standing(Standing),
    /// Finds passages for the goal.
    Retrieve(Retrieve),
    /// Before a run: loads what earlier runs of the session left. After it: leaves something for later ones.
    Memory(Memory),
    /// Tells models what was said in earlier runs of the session that passed.
    History(History),
    /// Makes everything fit, and refuses what cannot.
    Budget(Budget),
    /// Takes text out of what was stored in this run.
    Safety(Safety),
    /// Appends a line about the run to a file.
    Telemetry(Telemetry),
    /// Asks a command: what there is as JSON on its standard input, changes on its standard output, exit code 2 to refuse.
    Command(CommandStage),
}

/// What becomes of a run that a stage does not let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Refusal {
    /// It is refused, and nothing broke.
    #[default]
    Abort,
    /// It ends with an error, without a verdict.
    Error,
}

/// What refuses tasks: anything of it is enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Regular expressions that must match nowhere in the goal, the context and the expected output; `^` and `$` stand for the ends of a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_patterns: Vec<Pattern>,
    /// The most tokens that the task may have, by a rule of thumb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_prompt_tokens: Option<u64>,
    /// What becomes of the run.
    #[serde(default)]
    pub on_match: Refusal,
}

/// Rules of those who run tepa.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Standing {
    /// Files, as seen from the folder that the run works in; each has to be there.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub files: Vec<String>,
}

/// Passages of files, found by the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retrieve {
    /// Globs of files, relative to the folder that the run works in.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub files: Vec<String>,
    /// Who wrote them, which decides how models are shown them; there is no default.
    #[schemars(schema_with = "trust_tiers")]
    pub trust: TrustTier,
    /// What sort of thing they are, such as `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub kind: Option<String>,
    /// As many passages at most.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1))]
    pub top_k: usize,
    /// Those that match at least so well, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub min_score: f64,
}

fn trust_tiers(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": TrustTier::ALL.map(TrustTier::name)})
}

fn default_top_k() -> usize {
    6
}

/// What was said in earlier runs of the session that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct History {
    /// As many runs at most, the newest.
    #[schemars(range(min = 1))]
    pub max_turns: usize,
    /// What they may add up to, in tokens; a run is told whole or not at all.
    #[schemars(range(min = 1))]
    pub budget_tokens: u64,
}

impl Default for History {
    fn default() -> Self {
        Self { max_turns: 5, budget_tokens: 4_000 }
    }
}

/// How much there is room for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// What the model takes, in tokens.
    #[schemars(range(min = 1))]
    pub context_window: u64,
    /// What of it is kept free, for everything else that models are told and for their answers.
    #[serde(default)]
    pub reserve: u64,
    /// What becomes of a run that cannot be made to fit.
    #[serde(default)]
    pub on_overflow: Refusal,
}

/// What must not stay in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Safety {
    /// Regular expressions; `***` takes the place of what they match.
    #[schemars(length(min = 1))]
    pub redact: Vec<Pattern>,
    /// Where; everywhere if left out.
    #[serde(default = "everywhere")]
    #[schemars(length(min = 1))]
    pub scope: Vec<Redacted>,
}

/// Records of a run that text is taken out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Redacted {
    /// What was said.
    Messages,
    /// What tools were asked and returned.
    ToolCalls,
}

fn everywhere() -> Vec<Redacted> {
    vec![Redacted::Messages, Redacted::ToolCalls]
}

/// Lines about runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Telemetry {
    /// The file, relative to the folder that the run works in.
    #[schemars(length(min = 1))]
    pub file: String,
}

/// A command that is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandStage {
    /// A text for the shell, or a program with its arguments; it works in the folder of the run.
    ///
    /// Files that it names are taken as they were when the run began, unless they are expected outputs.
    pub run: CommandLine,
    /// The longest that it may take: milliseconds, or text such as `2m`; 60 seconds if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// Variables beside those that every command has; `${NAME}` stands for one of the environment.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Whether it may use the network; `sandbox.network` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}
