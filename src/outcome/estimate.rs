//! Owns what the execution of a plan is expected to cost, as a value.

use serde::{Deserialize, Serialize};

/// What the execution of a plan will cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// One cycle, if no step had anything to say.
    pub at_least: Spending,
    /// What the limits allow.
    pub at_most: Spending,
    /// What the planner expects of the steps, in tokens.
    pub planner_expects: f64,
}

/// Tokens and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// Tokens, in and out.
    pub tokens: u64,
    /// US dollars; null when a price is not known.
    pub usd: Option<f64>,
}
