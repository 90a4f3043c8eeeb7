//! Owns what calls under way may still use up: as long as one has not ended, nobody else may spend its share.
//!
//! A call reserves what it will read and the longest answer it may give. One that finds too little left beside the calls under way
//! waits for them; one that finds too little left at all is not made.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::run::{Run, Stop};
use super::state::{Held, RunState};
use crate::outcome::{Reason, Usage};

/// The longest answer that is ever asked for, in tokens: the default of the seeds' providers.
const MAX_OUTPUT: u64 = 64_000;

/// The longest answer below which calls at the same time are not worth it, in tokens.
const ENOUGH: u64 = 4_000;

/// What all calls under way hold.
#[derive(Debug, Default)]
pub(super) struct Reserves {
    held: Mutex<Held>,
    freed: Notify,
}

impl Reserves {
    fn held(&self) -> MutexGuard<'_, Held> {
        // Whole values are written in one statement each: a panic elsewhere cannot leave half of one.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The share of one call, given back when this is dropped.
pub(super) struct Share<'r> {
    reserves: &'r Reserves,
    held: Held,
    /// The longest answer that the call may give, in tokens.
    pub(super) output: u64,
    /// Whether the answer could not be longer if no other call were under way.
    pub(super) is_whole: bool,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut all = self.reserves.held();
        *all = all.less(self.held);
        drop(all);
        self.reserves.freed.notify_waiters();
    }
}

impl Reserves {
    /// Returns a share as soon as `claim` grants one beside what others hold.
    async fn share(&self, claim: impl Fn(Held) -> Claim) -> Result<Share<'_>, Stop> {
        loop {
            // Before looking: a share that is given back in between must not be missed.
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            {
                let mut all = self.held();
                match claim(*all) {
                    Claim::Granted { output, held, is_whole } => {
                        *all = all.plus(held);
                        return Ok(Share { reserves: self, held, output, is_whole });
                    }
                    Claim::Never(reason, message) => return Err(Stop::new(reason, message)),
                    Claim::Later => {}
                }
            }
            freed.await;
        }
    }
}

/// What becomes of a call that asks for its share.
enum Claim {
    /// It may be made.
    Granted { output: u64, held: Held, is_whole: bool },
    /// There may be room for it when a call under way has ended.
    Later,
    /// There is no room for it, whatever becomes of others.
    Never(Reason, String),
}

/// What a call asks for.
#[derive(Clone, Copy)]
struct Asks<'a> {
    model: &'a str,
    /// Tokens.
    reads: u64,
    /// Whether it waits until no other call is under way, so that everything that is left is for it.
    alone: bool,
}

/// Returns what a call may have beside what others hold, and beside those who will ask while it is under way.
fn claim(state: &RunState, asks: Asks<'_>, held: Held) -> Claim {
    let Asks { model, reads, alone } = asks;
    if alone && held.calls > 0 {
        return Claim::Later;
    }
    let room = match state.room(model, reads, held) {
        Ok(room) => room,
        Err(_) if held.calls > 0 => return Claim::Later,
        Err((reason, message)) => return Claim::Never(reason, message),
    };
    let longest = room.min(MAX_OUTPUT);
    let asking = if alone { 1 } else { (state.abreast() as u64).saturating_sub(held.calls.into()).max(1) };
    let fair = (room.saturating_add(reads) / asking).saturating_sub(reads).min(MAX_OUTPUT);
    let output = match fair {
        ENOUGH.. => fair,
        // Too little for all of them: one after the other, each with everything.
        _ if held.calls > 0 => return Claim::Later,
        _ => longest,
    };
    let usage = Usage { input: reads, output, ..Usage::default() };
    let is_whole = output == MAX_OUTPUT || held.calls == 0 && output == longest;
    Claim::Granted { output, held: state.hold(model, usage), is_whole }
}

impl Run<'_> {
    /// Returns the share of a call that will read so many tokens, as soon as there is one; `alone` with all that is left.
    ///
    /// # Errors
    /// The budgets have no room for the call, whatever becomes of those under way.
    pub(super) async fn reserve(&self, model: &str, reads: u64, alone: bool) -> Result<Share<'_>, Stop> {
        let asks = Asks { model, reads, alone };
        self.reserves.share(|held| self.read(|state| claim(state, asks, held))).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{Purpose, Role, RunEvent};
    use crate::pipeline::state::Bounds;
    use crate::prompt::{ExpectedOutput, Prompt};

    /// A dollar for a million tokens, in and out: money and tokens are then the same numbers.
    fn state(max_tokens: u64, max_cost: Option<f64>) -> RunState {
        let prompt = Prompt {
            goal: "Go.".into(),
            context: serde_json::Map::new(),
            expected_output: ExpectedOutput::Text("There.".into()),
        };
        let pricing = serde_json::from_value(json!({"m": {"input": 1.0, "output": 1.0}})).unwrap();
        let prices = crate::config::Catalog::load().unwrap().prices(&pricing);
        let bounds = Bounds { max_cycles: 1, max_tokens, max_cost, prices, ..Bounds::default() };
        RunState::new(prompt, bounds)
    }

    fn charged(usage: Usage) -> RunEvent {
        RunEvent::LlmCompleted {
            purpose: Purpose { role: Role::Executor, cycle: 1, step: None, tool: None, attempt: 1 },
            model: "m".into(),
            usage,
            finish_reason: None,
            text: String::new(),
            tool_use: Vec::new(),
            error: None,
            duration_ms: 0,
        }
    }

    /// Makes calls at the same time, each of which uses a part of what it may, and returns what all of them used and how many were
    /// not made.
    async fn calls(state: RunState, calls: u64) -> (RunState, usize) {
        let (state, reserves) = (Mutex::new(state), Reserves::default());
        let call = async |number: u64| {
            let reads = 1 + number * 37 % 90;
            let asks = Asks { model: "m", reads, alone: false };
            let of = |held| claim(&state.lock().unwrap(), asks, held);
            let Ok(share) = reserves.share(of).await else { return false };
            let output = share.output.min(50);
            // Others come in between, as often as not.
            for _ in 0..number % 7 {
                tokio::task::yield_now().await;
            }
            state.lock().unwrap().apply(&charged(Usage { input: reads, output, ..Usage::default() }));
            drop(share);
            true
        };
        let made = futures_util::future::join_all((0..calls).map(call)).await;
        let refused = made.iter().filter(|made| !**made).count();
        assert_eq!(*reserves.held(), Held::default());
        (state.into_inner().unwrap(), refused)
    }

    #[tokio::test]
    async fn calls_at_the_same_time_never_use_more_than_there_is() {
        for budget in (1..4000).step_by(97) {
            let (state, refused) = calls(state(budget, None), 40).await;
            assert!(state.tokens_used() <= budget, "{} of {budget}", state.tokens_used());
            // What no call had room for is less than the least of those that were refused read.
            assert!(
                refused == 0 || budget - state.tokens_used() <= 91,
                "{} of {budget}",
                state.tokens_used()
            );
        }
        assert_eq!(calls(state(1_000_000, None), 40).await.1, 0);
    }

    #[tokio::test]
    async fn calls_at_the_same_time_never_cost_more_than_there_is() {
        for tokens in (1..4000_u32).step_by(97) {
            let limit = f64::from(tokens) / 1e6;
            let (state, _) = calls(state(1_000_000, Some(limit)), 40).await;
            let spent = state.cost().usd.unwrap();
            assert!(spent <= limit * (1.0 + 1e-9), "{spent} of {limit}");
        }
    }
}
