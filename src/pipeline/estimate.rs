//! Owns what the execution of a plan will cost, as far as that can be known before it begins: at least, and at most.
//!
//! At least: one cycle in which every call says nothing but what is known now, and answers cost nothing. At most: the budgets, at
//! the highest price. It promises nothing in between; the planner's own guess stands beside it.

use serde::{Deserialize, Serialize};

use super::run::{Run, Stop};
use super::{judge, step};
use crate::outcome::{CostQualifier, Usage, UsageReport};
use crate::plan::Plan;
use crate::text;

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

/// One call that will be made, with the characters that are known of it.
pub(super) struct Call {
    pub(super) model: String,
    pub(super) characters: usize,
}

/// Returns the estimate for the plan of this cycle.
pub(super) fn of(run: &Run<'_>, plan: &Plan) -> Result<Estimate, Stop> {
    let mut calls = Vec::new();
    for planned in &plan.steps {
        calls.extend(step::calls(run, planned)?);
    }
    calls.push(judge::call(run)?);
    let (prices, limits) = (&run.pipeline.prices, &run.pipeline.config.limits);
    let cost = |usage: &UsageReport| {
        let cost = prices.cost(&usage.by_model);
        cost.usd.filter(|_| cost.qualifier == CostQualifier::Priced)
    };
    let mut least = UsageReport::default();
    for call in &calls {
        let input = text::tokens_in(call.characters);
        least.charge("any", &call.model, Usage { input, ..Usage::default() });
    }
    let mut most: Option<f64> = Some(0.0);
    let planner = &run.pipeline.config.model.planner;
    for model in calls.iter().map(|call| &call.model).chain([planner]) {
        let tokens = limits.max_tokens;
        for usage in [
            Usage { input: tokens, ..Usage::default() },
            Usage { output: tokens, ..Usage::default() },
            Usage { input: tokens, cache_write: tokens, ..Usage::default() },
        ] {
            let mut whole = UsageReport::default();
            whole.charge("any", model, usage);
            most = most.zip(cost(&whole)).map(|(most, usd)| most.max(usd));
        }
    }
    let most = match (most, limits.max_cost_usd) {
        (Some(most), Some(limit)) => Some(most.min(limit)),
        (most, limit) => most.or(limit),
    };
    Ok(Estimate {
        at_least: Spending { tokens: least.total.total(), usd: cost(&least) },
        at_most: Spending { tokens: limits.max_tokens, usd: most },
        planner_expects: plan.estimated_tokens,
    })
}
