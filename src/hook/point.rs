//! Owns the eight points and what travels through each: the data table of the seeds' pipeline document.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::{Entries, Evaluation, LogEntry, StepResult};
use crate::plan::{Plan, Step};
use crate::prompt::Prompt;

/// A place in a cycle where hooks are asked.
pub trait Point: 'static {
    /// The wire name.
    const NAME: &'static str;
    /// The data that travels.
    type Payload: Serialize + DeserializeOwned + JsonSchema + Send + Clone;
}

macro_rules! points {
    ($($(#[doc = $doc:literal])+ $point:ident, $name:literal, $payload:ty;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug)]
            pub enum $point {}

            impl Point for $point {
                const NAME: &'static str = $name;
                type Payload = $payload;
            }
        )+

        /// The wire names of all points, in the order of a cycle.
        pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

        /// Returns the JSON Schema of what travels through each point, by its wire name and in the order of a cycle.
        pub fn schemas() -> Vec<(&'static str, Value)> {
            vec![$(($name, super::schema::of::<$point>())),+]
        }
    };
}

points! {
    /// Before the planner is asked.
    PrePlanner, "prePlanner", PlannerInput;
    /// Before a plan reaches the executor.
    PostPlanner, "postPlanner", Plan;
    /// Before the first step.
    PreExecutor, "preExecutor", ExecutorInput;
    /// Before each step.
    PreStep, "preStep", PreStepData;
    /// After each step.
    PostStep, "postStep", PostStepData;
    /// Before results reach the evaluator.
    PostExecutor, "postExecutor", ExecutorOutput;
    /// Before the evaluator is asked.
    PreEvaluator, "preEvaluator", EvaluatorInput;
    /// Before the verdict stands.
    PostEvaluator, "postEvaluator", Evaluation;
}

/// What the planner is about to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannerInput {
    /// The task as the planner sees it.
    pub prompt: Prompt,
    /// The evaluator's feedback from the cycle before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// What is about to be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorInput {
    /// The plan.
    pub plan: Plan,
    /// The task as the steps see it.
    pub prompt: Prompt,
    /// The cycle, from 1.
    pub cycle: u32,
    /// The scratchpad.
    pub scratchpad: Entries,
    /// The results of the cycle before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_results: Option<Vec<StepResult>>,
}

/// What was executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorOutput {
    /// One result per step.
    pub results: Vec<StepResult>,
    /// Log entries of the cycle.
    pub logs: Vec<LogEntry>,
    /// Tokens of all steps.
    pub tokens_used: u64,
}

/// What is about to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorInput {
    /// The task as the judge sees it.
    pub prompt: Prompt,
    /// One result per step.
    pub results: Vec<StepResult>,
    /// The scratchpad.
    pub scratchpad: Entries,
}

/// A step that is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreStepData {
    /// The step.
    pub step: Step,
    /// The cycle, from 1.
    pub cycle: u32,
}

/// A step that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostStepData {
    /// The step as it ran.
    pub step: Step,
    /// Its result.
    pub result: StepResult,
    /// The cycle, from 1.
    pub cycle: u32,
}
