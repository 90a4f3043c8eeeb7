//! Owns what a run may use up: what is left, what is running low, and the words for the end of each.

use super::RunState;
use crate::config::Prices;
use crate::outcome::{Cost, Reason, Usage};
use crate::text;

/// The share of a budget after which a person is told, in percent.
const LOW: u64 = 80;

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// To a plan.
    Plan,
    /// To the verdict of one cycle.
    Verdict,
    /// To its end.
    End,
}

/// When the fold says stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// How far it goes.
    pub until: Until,
    /// Cycles.
    pub max_cycles: u32,
    /// Tokens over all model calls.
    pub max_tokens: u64,
    /// Calls of tools.
    pub max_tool_calls: Option<u64>,
    /// US dollars over all model calls.
    pub max_cost: Option<f64>,
    /// What models cost.
    pub prices: Prices,
}

impl RunState {
    /// Returns the tokens that are left.
    pub fn tokens_left(&self) -> u64 {
        self.bounds.max_tokens.saturating_sub(self.tokens_used())
    }

    /// Returns the cycles that may still begin.
    pub fn cycles_left(&self) -> u32 {
        self.bounds.max_cycles.saturating_sub(self.cycle)
    }

    /// Returns the budget that more was used of than it allows, in the words of the seeds' `TepaTokenBudgetExceeded`.
    pub fn over_budget(&self) -> Option<(Reason, String)> {
        if self.tokens_used() > self.bounds.max_tokens {
            return Some((Reason::TokenBudget, self.budget_message()));
        }
        let (limit, spent) = (self.bounds.max_cost?, self.cost().usd?);
        let (of, used) = (text::dollars(limit), text::dollars(spent));
        let message = format!("Cost budget exceeded: spent {used} of {of}");
        (spent > limit).then_some((Reason::CostBudget, message))
    }

    /// Returns what the run cost so far.
    pub fn cost(&self) -> Cost {
        self.bounds.prices.cost(&self.usage.by_model)
    }

    /// Returns whether a call to `model` could be charged: without a price there is no holding to a limit.
    pub fn can_charge(&self, model: &str) -> bool {
        self.bounds.max_cost.is_none() || self.bounds.prices.knows(model)
    }

    /// Returns the words for a budget that allows no further call.
    pub fn budget_message(&self) -> String {
        let (used, budget) = (self.tokens_used(), self.bounds.max_tokens);
        if used > budget {
            return format!("Token budget exceeded: used {used} of {budget} tokens");
        }
        format!("Token budget used up: {used} of {budget} tokens, none are left for another call")
    }

    /// Returns how many tokens of output the money that is left pays for, at least one; everything where money is no limit.
    pub fn affordable(&self, model: &str) -> u64 {
        let million = Usage { output: 1_000_000, ..Usage::default() };
        let price = self.bounds.prices.cost(&[(model.to_owned(), million)].into()).usd;
        let left = self.bounds.max_cost.zip(self.cost().usd).map(|(limit, spent)| (limit - spent).max(0.0));
        match left.zip(price) {
            // A number above what fits is the largest that does.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is not below zero"
            )]
            Some((left, price)) if price > 0.0 => ((left / price * 1e6) as u64).max(1),
            _ => u64::MAX,
        }
    }

    /// Returns the words for the budget of tool calls once it allows no further one.
    pub fn tools_used_up(&self) -> Option<String> {
        let limit = self.bounds.max_tool_calls.filter(|limit| self.tool_calls >= *limit)?;
        Some(format!("Tool call budget used up: {} of {limit} calls", self.tool_calls))
    }

    /// Returns a budget of which most is used up and nobody was told yet: the code of the warning and its words.
    pub fn low_budget(&self) -> Option<(&'static str, String)> {
        let low = |used: u64, limit: u64| {
            u128::from(used) * 100 >= u128::from(limit) * u128::from(LOW) && used <= limit
        };
        let (tokens, cost, bounds) = (self.tokens_used(), self.cost().usd, &self.bounds);
        let cycles = self.cycle.saturating_sub(1);
        let tokens = low(tokens, bounds.max_tokens)
            .then(|| ("token_budget_low", format!("{tokens} of {} tokens are used", bounds.max_tokens)));
        let cycles = (bounds.until == Until::End && low(cycles.into(), bounds.max_cycles.into()))
            .then(|| ("cycle_budget_low", format!("cycle {} of {} begins", self.cycle, bounds.max_cycles)));
        let calls = bounds
            .max_tool_calls
            .filter(|limit| low(self.tool_calls, *limit))
            .map(|limit| ("tool_budget_low", format!("{} of {limit} tool calls are used", self.tool_calls)));
        let share = f64::from(u32::try_from(LOW).unwrap_or_default()) / 100.0;
        let cost = bounds.max_cost.zip(cost).filter(|(limit, spent)| *spent >= limit * share);
        let cost = cost.map(|(limit, spent)| {
            ("cost_budget_low", format!("{} of {} are spent", text::dollars(spent), text::dollars(limit)))
        });
        [tokens, cost, calls, cycles].into_iter().flatten().find(|(code, _)| !self.warned.contains(*code))
    }
}
