//! Owns the plan: its steps, how a model's answer becomes one, and the order in which its steps run.
//!
//! A [`Plan`] that came through [`parse()`] or [`validate`] names only steps and tools that exist; a circular one is found by [`graph::order`].

pub mod graph;
mod parse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use parse::{PlanError, answer_schema, parse, validate};

/// The seeds' `Plan`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "Steps, and why they are those.")]
pub struct Plan {
    /// Why the plan is shaped as it is.
    pub reasoning: String,
    /// The planner's estimate for the execution.
    pub estimated_tokens: f64,
    /// The steps, in plan order.
    pub steps: Vec<Step>,
}

/// The seeds' `PlanStep`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "A step of a plan.")]
pub struct Step {
    /// Unique within the plan.
    pub id: String,
    /// What the step does.
    pub description: String,
    /// Tools to call, in order; none makes it a reasoning step.
    pub tools: Vec<String>,
    /// What success looks like.
    pub expected_outcome: String,
    /// Ids of the steps whose output this one reads.
    pub dependencies: Vec<String>,
    /// Overrides the executor's model for this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
