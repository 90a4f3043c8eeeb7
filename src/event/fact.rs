//! Owns the facts of a run, one variant each, as they stand on the wire: within a version, fields and variants are only ever added.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Purpose;
use crate::outcome::Reason;
use crate::outcome::{
    CheckResult, Effect, Entries, Evaluation, Evidence, LogEntry, RunResult, StepResult, Usage, Verdict,
};
use crate::plan::{Plan, Step};
use crate::prompt::Prompt;
use crate::sandbox::Confinement;
use crate::seal::Marks;
use crate::turn::{Assembled, Scope, StageOutcome, TrustTier};

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The parameters as the model gave them.
    pub input: Value,
}

/// How a hook ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HookOutcome {
    /// The data passed through.
    Kept,
    /// The data was replaced.
    Replaced,
    /// The hook stopped the run.
    Stopped,
    /// The hook broke.
    Failed,
}

/// What a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A plan that is about to be executed.
    Plan,
    /// A verdict that is fail.
    Verdict,
}

/// A plan that was made before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Given {
    /// The plan.
    pub plan: Plan,
    /// Whether the planner goes on when it did not pass.
    pub replan: bool,
}

/// Who decided when nobody could be asked.
pub const NOBODY: &str = "nobody";

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The plan is executed.
    Approved,
    /// The plan is not executed, and the run ends.
    Refused,
    /// Another plan is asked about.
    Edited,
    /// The verdict stands, and another cycle follows if there is one.
    Retry,
    /// The verdict becomes a pass, if what was judged is still there.
    Accepted,
    /// The verdict stands, and the run ends.
    Stopped,
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The run began; nothing was asked yet.
    #[serde(rename = "run.started")]
    RunStarted {
        /// tepa's own version.
        version: String,
        /// The provider's name.
        provider: String,
        /// The task.
        prompt: Arc<Prompt>,
        /// The key under which it shares history and memory with other runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The SHA-256 of the task as JSON, before secrets were taken out of it: a record whose task has another one does not hold the task.
        #[serde(default)]
        prompt_sha256: String,
        /// The resolved configuration.
        config: Value,
        /// Names of the tools the planner may use.
        tools: Vec<String>,
        /// The plan of the first cycle, when somebody made it before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<Given>,
        /// What a person is asked about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<Subject>,
        /// Files that it may not change beside those that the configuration names; relative to the folder it works in, where they lie in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        protects: Vec<String>,
        /// The file with the replies of a replay, as it was named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replies: Option<String>,
    },
    /// A run that broke off goes on. What had begun and not ended counts as not done, but for calls of tools that may have changed something.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// tepa's own version.
        version: String,
        /// Wall clock that was used up before, in milliseconds.
        spent_ms: u64,
    },
    /// It is known what commands are confined to.
    #[serde(rename = "sandbox.applied")]
    SandboxApplied {
        /// What is in force, not what was asked for.
        #[serde(flatten)]
        confinement: Confinement,
    },
    /// The state of what is to stay unchanged was taken, before the first step.
    #[serde(rename = "baseline.taken")]
    BaselineTaken {
        /// By the path as the prompt names it: each file with its mode and hash.
        unchanged: BTreeMap<String, Marks>,
        /// The files that commands of checks name and that were there; relative to the folder that the run works in, where they lie in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scripts: Vec<String>,
        /// The SHA-256 of the state of all protected files: a run that is resumed has to find it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protected: Option<String>,
        /// The expected files that were there and are text, as far as they can be compared.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        before: BTreeMap<String, String>,
    },
    /// What an earlier run did is to be judged again; stands in the place of planning and execution.
    #[serde(rename = "execution.recalled")]
    ExecutionRecalled {
        /// The run that did it.
        run: String,
        /// Its cycle.
        cycle: u32,
        /// What it executed.
        plan: Arc<Plan>,
        /// The results, as they reached its judge.
        results: Vec<StepResult>,
        /// The scratchpad afterwards.
        scratchpad: Entries,
        /// Files that tools said they wrote, each with the step, oldest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<(String, String)>,
        /// Protected files that were not what they had been.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tampered: Vec<CheckResult>,
    },
    /// A cycle began.
    #[serde(rename = "cycle.started")]
    CycleStarted {
        /// From 1.
        cycle: u32,
    },
    /// A hook was asked.
    #[serde(rename = "hook.completed")]
    HookCompleted {
        /// The cycle.
        cycle: u32,
        /// The hook point, such as `prePlanner`.
        point: String,
        /// The hook's own name.
        hook: String,
        /// How it ended.
        outcome: HookOutcome,
        /// Where it changed the data, as JSON pointers; a last `…` stands for more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// Why it stopped the run or failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// A stage ended, and so have those after it.
    #[serde(rename = "stage.completed")]
    StageCompleted {
        /// The cycle; 0 for the stages of the turn.
        cycle: u32,
        /// The list it stands in.
        scope: Scope,
        /// Where it stands there, from 0.
        at: usize,
        /// The stage.
        stage: String,
        /// How it ended.
        outcome: StageOutcome,
        /// Why it refused or what broke.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Wall clock, with that of the stages after it, in milliseconds.
        duration_ms: u64,
    },
    /// What the models are given beside the task stands.
    #[serde(rename = "context.assembled")]
    ContextAssembled {
        /// The cycle from which it counts; 0 for the whole run.
        cycle: u32,
        /// All of it.
        context: Arc<Assembled>,
        /// Plain data that stages left for later ones.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        stash: Map<String, Value>,
        /// The least trusted that the stages met beside what they left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        met: Option<TrustTier>,
    },
    /// The run passed, what outlives it is stored, and the output stages are done.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// Why output stages were not done to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A person is about to be asked.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The cycle.
        cycle: u32,
        /// What about.
        about: Subject,
    },
    /// A person decided, or there was nobody who could.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The cycle; 0 before the first.
        cycle: u32,
        /// What about.
        about: Subject,
        /// How.
        decision: Decision,
        /// Who; `nobody` when nobody could be asked.
        by: String,
        /// What they said of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<String>,
    },
    /// A model call is tried again.
    #[serde(rename = "llm.retry")]
    LlmRetry {
        /// What the call is for.
        #[serde(flatten)]
        purpose: Purpose,
        /// The try that failed, from 1.
        retry: u32,
        /// Until the next try, in milliseconds.
        delay_ms: u64,
        /// Why the last try failed.
        error: String,
    },
    /// A model call ended.
    #[serde(rename = "llm.completed")]
    LlmCompleted {
        /// What the call was for.
        #[serde(flatten)]
        purpose: Purpose,
        /// The model asked.
        model: String,
        /// Tokens.
        usage: Usage,
        /// `end_turn`, `max_tokens`, `stop_sequence` or `tool_use`; absent when the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<String>,
        /// The model's words.
        text: String,
        /// The tool calls it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_use: Vec<ToolUse>,
        /// Why the call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// A plan that passed validation and hooks is about to be executed.
    #[serde(rename = "plan.completed")]
    PlanCompleted {
        /// The cycle.
        cycle: u32,
        /// The plan.
        plan: Arc<Plan>,
        /// Tokens of the planner's calls.
        tokens_used: u64,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// The order of the steps is known; `preExecutor` hooks have spoken, and so has whoever approves plans.
    #[serde(rename = "execution.started")]
    ExecutionStarted {
        /// The cycle.
        cycle: u32,
        /// Step ids in the order in which they run.
        order: Vec<String>,
        /// The plan, when a hook or a person changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Arc<Plan>>,
        /// The prompt that the steps see, when a hook changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Arc<Prompt>>,
        /// The scratchpad, when a hook changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scratchpad: Option<Entries>,
    },
    /// A step began.
    #[serde(rename = "step.started")]
    StepStarted {
        /// The cycle.
        cycle: u32,
        /// The step, after `preStep` hooks.
        step: Step,
    },
    /// A tool is about to be called: written before the effect.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The cycle.
        cycle: u32,
        /// The step.
        step: String,
        /// The tool.
        tool: String,
        /// The parameters, as the model gave them.
        params: Value,
        /// What the call may change: one that broke off is made again only if it reads.
        #[serde(default)]
        effect: Effect,
    },
    /// A tool returned or failed.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// The cycle.
        cycle: u32,
        /// The step.
        step: String,
        /// The tool.
        tool: String,
        /// What it returned; null when it failed.
        output: Arc<Value>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Files that the tool says it wrote, relative to the workspace.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<String>,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// A value was written to the scratchpad.
    #[serde(rename = "scratchpad.written")]
    ScratchpadWritten {
        /// The cycle.
        cycle: u32,
        /// The step.
        step: String,
        /// The key.
        key: String,
        /// The value.
        value: Arc<Value>,
    },
    /// An entry for `result.logs`.
    #[serde(rename = "log.recorded")]
    LogRecorded {
        /// The entry.
        entry: LogEntry,
    },
    /// A step ended.
    #[serde(rename = "step.completed")]
    StepCompleted {
        /// The cycle.
        cycle: u32,
        /// Its result, after `postStep` hooks.
        result: StepResult,
        /// Whether it never ran because a dependency failed.
        #[serde(default)]
        skipped: bool,
    },
    /// All steps have ended; `postExecutor` hooks have spoken.
    #[serde(rename = "execution.completed")]
    ExecutionCompleted {
        /// The cycle.
        cycle: u32,
        /// The results, when a hook changed them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<Vec<StepResult>>,
        /// Tokens of all steps.
        tokens_used: u64,
    },
    /// A deterministic check was run.
    #[serde(rename = "check.completed")]
    CheckCompleted {
        /// The cycle.
        cycle: u32,
        /// Its outcome.
        #[serde(flatten)]
        result: CheckResult,
    },
    /// What the judge is shown of the expected outputs is gathered.
    #[serde(rename = "evidence.gathered")]
    EvidenceGathered {
        /// The cycle.
        cycle: u32,
        /// One for each expected output.
        evidence: Vec<Evidence>,
    },
    /// The verdict of a cycle stands.
    #[serde(rename = "evaluation.completed")]
    EvaluationCompleted {
        /// The cycle.
        cycle: u32,
        /// The evaluation, after checks, `postEvaluator` hooks and whoever is asked about a fail.
        evaluation: Evaluation,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// A cycle ended with a verdict.
    #[serde(rename = "cycle.completed")]
    CycleCompleted {
        /// The cycle.
        cycle: u32,
        /// Its verdict.
        verdict: Verdict,
        /// Tokens of the run so far.
        tokens_used: u64,
        /// Wall clock, in milliseconds.
        duration_ms: u64,
    },
    /// Something a person should know that does not end the run.
    #[serde(rename = "warning")]
    Warning {
        /// A stable name for programs.
        code: String,
        /// The text.
        message: String,
    },
    /// The run cannot or must not go on.
    #[serde(rename = "run.stopped")]
    RunStopped {
        /// Why.
        reason: Reason,
        /// The text for the result.
        message: String,
    },
    /// The last event of every run.
    #[serde(rename = "run.completed")]
    RunCompleted {
        /// The whole result.
        result: Box<RunResult>,
    },
}
