//! Owns what the execution of a plan will cost, as far as that can be known before it begins: at least, and at most.
//!
//! At least: one cycle in which every call says nothing but what is known now, and answers cost nothing. At most: the budgets, at
//! the highest price. It promises nothing in between; the planner's own guess stands beside it.

use super::run::{Run, Stop};
use super::{judge, step};
use crate::outcome::{CostQualifier, Estimate, Spending, Usage, UsageReport};
use crate::plan::Plan;
use crate::text;

/// One call that will be made, with the characters that are known of it.
pub(super) struct Call {
    pub(super) model: String,
    pub(super) characters: usize,
}

/// What may be spent.
pub(super) struct Limit {
    pub(super) tokens: u64,
    pub(super) usd: Option<f64>,
}

impl Limit {
    /// Returns what a whole run may spend.
    pub(super) fn whole(run: &Run<'_>) -> Self {
        let limits = &run.pipeline.config.limits;
        Self { tokens: limits.max_tokens, usd: limits.max_cost_usd }
    }

    /// Returns what this one has left.
    pub(super) fn left(run: &Run<'_>) -> Self {
        let (tokens, spent) = run.read(|state| (state.tokens_left(), state.cost().usd.unwrap_or_default()));
        let usd = run.pipeline.config.limits.max_cost_usd.map(|limit| (limit - spent).max(0.0));
        Self { tokens, usd }
    }
}

/// Returns the estimate for a plan of this cycle within a limit.
pub(super) fn of(run: &Run<'_>, plan: &Plan, limit: &Limit) -> Result<Estimate, Stop> {
    let mut calls = Vec::new();
    for planned in &plan.steps {
        calls.extend(step::calls(run, planned)?);
    }
    calls.push(judge::call(run)?);
    let prices = &run.pipeline.prices;
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
        let tokens = limit.tokens;
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
    let most = match (most, limit.usd) {
        (Some(most), Some(allowed)) => Some(most.min(allowed)),
        (most, allowed) => most.or(allowed),
    };
    Ok(Estimate {
        at_least: Spending { tokens: least.total.total(), usd: cost(&least) },
        at_most: Spending { tokens: limit.tokens, usd: most },
        planner_expects: plan.estimated_tokens,
    })
}
