//! Owns what a run may use up: what is left, what is running low, and the words for the end of each.

use std::collections::BTreeMap;

use super::{Phase, RunState, Touch};
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
    /// Whether something is done around the cycles.
    pub turn: bool,
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
    /// Steps that may be under way at the same time.
    pub max_parallel_steps: usize,
    /// What calls of the tools may do, by name.
    pub touches: BTreeMap<String, Touch>,
}

impl Default for Bounds {
    /// Without an end, one step after the other.
    fn default() -> Self {
        Self {
            turn: false,
            until: Until::End,
            max_cycles: u32::MAX,
            max_tokens: u64::MAX,
            max_tool_calls: None,
            max_cost: None,
            prices: Prices::default(),
            max_parallel_steps: 1,
            touches: BTreeMap::new(),
        }
    }
}

/// What calls under way may use up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Held {
    /// How many they are.
    pub calls: u32,
    /// Tokens.
    pub tokens: u64,
    /// US dollars.
    pub usd: f64,
}

impl Held {
    /// Returns both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let Self { calls, tokens, usd } = self;
        Self { calls: calls + other.calls, tokens: tokens + other.tokens, usd: usd + other.usd }
    }

    /// Returns what is left without `other`.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        let calls = self.calls.saturating_sub(other.calls);
        // Sums of fractions do not come back to exactly nothing.
        let usd = if calls == 0 { 0.0 } else { (self.usd - other.usd).max(0.0) };
        Self { calls, tokens: self.tokens.saturating_sub(other.tokens), usd }
    }
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
            let (used, budget) = (self.tokens_used(), self.bounds.max_tokens);
            let message = format!("Token budget exceeded: used {used} of {budget} tokens");
            return Some((Reason::TokenBudget, message));
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

    /// Returns how long an answer to a call that reads so many tokens may be, in tokens, beside what other calls hold.
    ///
    /// # Errors
    /// There is no room for the call: which budget that is, and the words for it.
    pub fn room(&self, model: &str, reads: u64, held: Held) -> Result<u64, (Reason, String)> {
        let tokens = self.tokens_left().saturating_sub(held.tokens);
        if tokens <= reads {
            let (used, budget) = (self.tokens_used(), self.bounds.max_tokens);
            let next = if tokens == 0 {
                "none are left for another call".to_owned()
            } else {
                format!("the next call reads about {reads}")
            };
            let message = format!("Token budget used up: {used} of {budget} tokens, {next}");
            return Err((Reason::TokenBudget, message));
        }
        let output = tokens - reads;
        let usd = |usage: Usage| self.bounds.prices.cost(&[(model.to_owned(), usage)].into()).usd;
        let price = usd(Usage { output: 1_000_000, ..Usage::default() });
        let Some(((limit, spent), price)) = self.bounds.max_cost.zip(self.cost().usd).zip(price) else {
            return Ok(output);
        };
        let call = usd(Usage { input: reads, ..Usage::default() }).unwrap_or_default();
        let left = limit - spent - held.usd - call;
        // Without a price of its output a call has only its input to pay for.
        let affordable = if price > 0.0 { left / price * 1e6 } else { f64::INFINITY };
        if left < 0.0 || affordable < 1.0 {
            let [of, so_far, call] = [limit, spent, call].map(text::dollars);
            let message =
                format!("Cost budget used up: {so_far} of {of}, and the next call costs more than {call}");
            return Err((Reason::CostBudget, message));
        }
        // A number above what fits is the largest that does.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is not below one")]
        let affordable = affordable as u64;
        Ok(output.min(affordable))
    }

    /// Returns what a call holds that uses up so much.
    pub fn hold(&self, model: &str, usage: Usage) -> Held {
        let usd = self.bounds.prices.cost(&[(model.to_owned(), usage)].into()).usd;
        Held { calls: 1, tokens: usage.total(), usd: usd.unwrap_or_default() }
    }

    /// Returns how many steps may be under way at the same time: one, where there are fewer calls of tools left than the plan has, because then
    /// the first steps are those that get them.
    pub fn abreast_at_most(&self) -> usize {
        let left = self.bounds.max_tool_calls.map(|limit| limit.saturating_sub(self.tool_calls));
        let scarce = left.is_some_and(|left| left < self.schedule.calls_left() as u64);
        if scarce { 1 } else { self.bounds.max_parallel_steps.max(1) }
    }

    /// Returns how many calls to models may be under way now.
    pub fn abreast(&self) -> usize {
        let steps = if self.phase == Phase::Executing { self.schedule.ready().len() } else { 1 };
        steps.clamp(1, self.abreast_at_most())
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
