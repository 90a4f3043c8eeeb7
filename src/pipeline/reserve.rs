//! Owns what calls under way may still use up: as long as one has not ended, nobody else may spend its share.
//!
//! A call reserves what it will read and the longest answer it may give. One that finds too little left beside the calls under way
//! waits for them, and those that come after it wait for it; one that finds too little left at all is not made.

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
    /// Held by the call that is the next to get its share.
    turn: tokio::sync::Mutex<()>,
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
        self.reserves.freed.notify_one();
    }
}

impl Reserves {
    /// Returns a share as soon as `claim` grants one beside what others hold.
    ///
    /// Calls get theirs in the order in which they come: one that needs much would otherwise wait for as long as others come that need little.
    async fn share(&self, claim: impl Fn(Held) -> Claim) -> Result<Share<'_>, Stop> {
        let _turn = self.turn.lock().await;
        loop {
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
            self.freed.notified().await;
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
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;
    use crate::event::{Purpose, Role, RunEvent};
    use crate::pipeline::state::Bounds;
    use crate::plan::{Plan, Step};
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

    /// The same with so many steps that may go together.
    fn executing(max_tokens: u64, steps: usize) -> RunState {
        let state = state(max_tokens, None);
        let step = |id: usize| Step {
            id: id.to_string(),
            description: String::new(),
            tools: Vec::new(),
            expected_outcome: String::new(),
            dependencies: Vec::new(),
            model: None,
        };
        let plan =
            Plan { reasoning: String::new(), estimated_tokens: 0.0, steps: (0..steps).map(step).collect() };
        let order = plan.steps.iter().map(|step| step.id.clone()).collect();
        let mut state = RunState::new(
            state.prompt().clone(),
            Bounds { max_tokens, max_parallel_steps: steps, ..Bounds::default() },
        );
        state.apply(&RunEvent::CycleStarted { cycle: 1 });
        state.apply(&RunEvent::PlanCompleted { cycle: 1, plan: plan.into(), tokens_used: 0, duration_ms: 0 });
        state.apply(&RunEvent::ExecutionStarted {
            cycle: 1,
            order,
            plan: None,
            prompt: None,
            scratchpad: None,
        });
        state
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

    const ASKS: Asks = Asks { model: "m", reads: 100, alone: false };

    #[test]
    fn calls_abreast_have_equal_shares_and_no_share_that_is_not_worth_it() {
        for (budget, expected) in [
            // Plenty for each.
            (1_000_000, vec![Some(MAX_OUTPUT); 4]),
            (40_000, vec![Some(9_900); 4]),
            // One after the other, each with everything.
            (16_000, vec![Some(15_900), None, None, None]),
            (200, vec![Some(100), None, None, None]),
        ] {
            let (state, reserves) = (executing(budget, 4), Reserves::default());
            let mut shares = Vec::new();
            for _ in 0..4 {
                let asked = reserves.share(|held| claim(&state, ASKS, held));
                shares
                    .push(asked.now_or_never().map(|share| share.unwrap_or_else(|stop| panic!("{stop:?}"))));
            }
            let output = |share: &Option<Share>| share.as_ref().map(|share| share.output);
            assert_eq!(shares.iter().map(output).collect::<Vec<_>>(), expected, "{budget}");
            assert!(reserves.held().tokens <= budget);
        }
    }

    #[test]
    fn nobody_overtakes_a_call_that_waits_for_more() {
        let (state, reserves) = (executing(64_000, 4), Reserves::default());
        let ask = |asks: Asks<'static>| {
            let state = &state;
            Box::pin(reserves.share(move |held| claim(state, asks, held)))
        };
        let got = |share: Option<Result<Share<'_>, Stop>>| share.map(|share| share.map(|share| share.output));
        let under_way = [ask(ASKS), ask(ASKS)].map(|share| share.now_or_never().unwrap().ok().unwrap());
        let mut alone = ask(Asks { alone: true, ..ASKS });
        assert!((&mut alone).now_or_never().is_none());
        let mut later = ask(ASKS);
        for share in under_way {
            assert!((&mut later).now_or_never().is_none(), "there would be room for it");
            assert!((&mut alone).now_or_never().is_none());
            drop(share);
        }
        assert!((&mut later).now_or_never().is_none());
        let whole = alone.now_or_never().unwrap().ok().unwrap();
        assert!(whole.is_whole && whole.output == 63_900);
        assert!((&mut later).now_or_never().is_none());
        drop(whole);
        assert_eq!(got(later.now_or_never()), Some(Ok(15_900)));
    }

    #[test]
    fn a_call_that_is_given_up_while_it_waits_keeps_nobody_waiting() {
        let (state, reserves) = (executing(64_000, 4), Reserves::default());
        let ask = |asks: Asks<'static>| {
            let state = &state;
            Box::pin(reserves.share(move |held| claim(state, asks, held)))
        };
        let _under_way = ask(ASKS).now_or_never();
        let mut alone = ask(Asks { alone: true, ..ASKS });
        assert!((&mut alone).now_or_never().is_none());
        let mut later = ask(ASKS);
        assert!((&mut later).now_or_never().is_none());
        drop(alone);
        assert!(later.now_or_never().is_some());
    }
}
