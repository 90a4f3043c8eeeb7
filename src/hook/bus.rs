//! Owns the order in which hooks are asked and what becomes of their answers.
//!
//! A payload that no hook is registered for is never turned into JSON.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{CycleMeta, Hook, HookError, Point, Reply};
use crate::event::{Clock, HookOutcome};

/// Why the run stops at a point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookFault {
    /// A hook said stop.
    #[error("{point} hook `{hook}` stopped the run: {reason}")]
    Aborted {
        /// The point.
        point: &'static str,
        /// The hook.
        hook: String,
        /// Its words.
        reason: String,
    },
    /// A hook broke and is not registered to continue on errors.
    #[error("{point} hook `{hook}` failed: {reason}")]
    Failed {
        /// The point.
        point: &'static str,
        /// The hook.
        hook: String,
        /// What broke.
        reason: String,
    },
}

/// One question and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The hook.
    pub hook: String,
    /// How it ended.
    pub outcome: HookOutcome,
    /// Why it stopped the run or failed.
    pub error: Option<String>,
    /// Wall clock.
    pub took: Duration,
}

struct Registration {
    hook: Box<dyn Hook>,
    continue_on_error: bool,
}

/// The hooks of a run.
#[derive(Default)]
pub struct HookBus {
    registrations: HashMap<&'static str, Vec<Registration>>,
}

impl HookBus {
    /// Adds a hook at the point `P`, after those that are there.
    ///
    /// With `continue_on_error` a hook that breaks is passed over and the data is what it was before it.
    pub fn register<P: Point>(&mut self, hook: Box<dyn Hook>, continue_on_error: bool) {
        self.registrations.entry(P::NAME).or_default().push(Registration { hook, continue_on_error });
    }

    /// Adds a closure at the point `P`: `Ok(None)` keeps the payload, `Ok(Some(..))` replaces it.
    pub fn on<P, F>(&mut self, name: &str, continue_on_error: bool, closure: F)
    where
        P: Point,
        F: Fn(P::Payload, CycleMeta) -> BoxFuture<'static, Result<Option<P::Payload>, HookError>>
            + Send
            + Sync
            + 'static,
    {
        let hook = Closure::<P, F> { name: name.to_owned(), call: closure, point: PhantomData };
        self.register::<P>(Box::new(hook), continue_on_error);
    }

    /// Returns whether anybody is asked at `P`.
    pub fn listens<P: Point>(&self) -> bool {
        self.registrations.contains_key(P::NAME)
    }

    /// Asks every hook of `P` in order; returns the payload that comes out and the names of those who replaced it.
    ///
    /// `record` is told of each hook when it has ended, also of the one that ends the run.
    pub async fn ask<P: Point>(
        &self,
        payload: P::Payload,
        meta: CycleMeta,
        clock: &dyn Clock,
        mut record: impl FnMut(Asked),
    ) -> Result<(P::Payload, Vec<String>), HookFault> {
        let Some(registrations) = self.registrations.get(P::NAME) else {
            return Ok((payload, Vec::new()));
        };
        let failed =
            |hook: &str, reason: String| HookFault::Failed { point: P::NAME, hook: hook.to_owned(), reason };
        let mut current = payload;
        let mut changed = Vec::new();
        for Registration { hook, continue_on_error } in registrations {
            let began = clock.monotonic();
            let answer = match serde_json::to_value(&current) {
                Ok(json) => read_reply::<P>(hook.ask(P::NAME, &json, &meta).await),
                Err(e) => Err(e.to_string()),
            };
            let took = clock.monotonic().saturating_sub(began);
            let mut done =
                |outcome, error| record(Asked { hook: hook.name().to_owned(), outcome, error, took });
            match answer {
                Ok(Answer::Keep) => done(HookOutcome::Kept, None),
                Ok(Answer::Replace(next)) => {
                    done(HookOutcome::Replaced, None);
                    current = next;
                    changed.push(hook.name().to_owned());
                }
                Ok(Answer::Abort(reason)) => {
                    done(HookOutcome::Stopped, Some(reason.clone()));
                    return Err(HookFault::Aborted { point: P::NAME, hook: hook.name().to_owned(), reason });
                }
                Err(reason) => {
                    done(HookOutcome::Failed, Some(reason.clone()));
                    if !continue_on_error {
                        return Err(failed(hook.name(), reason));
                    }
                }
            }
        }
        Ok((current, changed))
    }
}

impl std::fmt::Debug for HookBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.registrations.iter().map(|(point, hooks)| (point, hooks.len()))).finish()
    }
}

enum Answer<T> {
    Keep,
    Replace(T),
    Abort(String),
}

fn read_reply<P: Point>(reply: Result<Reply, HookError>) -> Result<Answer<P::Payload>, String> {
    match reply.map_err(|e| e.0)? {
        Reply::Keep => Ok(Answer::Keep),
        Reply::Abort(reason) => Ok(Answer::Abort(reason)),
        Reply::Replace(value) => serde_json::from_value(value)
            .map(Answer::Replace)
            .map_err(|e| format!("the data it returned does not fit {}: {e}", P::NAME)),
    }
}

struct Closure<P, F> {
    name: String,
    call: F,
    point: PhantomData<fn() -> P>,
}

impl<P, F> Hook for Closure<P, F>
where
    P: Point,
    F: Fn(P::Payload, CycleMeta) -> BoxFuture<'static, Result<Option<P::Payload>, HookError>> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(
        &'a self,
        _: &'static str,
        payload: &'a Value,
        meta: &'a CycleMeta,
    ) -> BoxFuture<'a, Result<Reply, HookError>> {
        Box::pin(async move {
            let typed = serde_json::from_value(payload.clone()).map_err(|e| HookError(e.to_string()))?;
            match (self.call)(typed, *meta).await? {
                None => Ok(Reply::Keep),
                Some(next) => {
                    serde_json::to_value(next).map(Reply::Replace).map_err(|e| HookError(e.to_string()))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SystemClock;
    use crate::hook::{PostEvaluator, PrePlanner};
    use crate::outcome::{Evaluation, Verdict};

    const META: CycleMeta = CycleMeta { cycle_number: 1, total_cycles_used: 1, tokens_used: 0 };

    fn evaluation(confidence: f64) -> Evaluation {
        Evaluation::new(Verdict::Fail, confidence)
    }

    type Answer = fn(f64) -> Result<Option<f64>, HookError>;

    fn bus(hooks: Vec<(bool, Answer)>) -> HookBus {
        let mut bus = HookBus::default();
        for (continue_on_error, hook) in hooks {
            bus.on::<PostEvaluator, _>("h", continue_on_error, move |e, _| {
                Box::pin(async move { Ok(hook(e.confidence)?.map(evaluation)) })
            });
        }
        bus
    }

    async fn ask(bus: &HookBus) -> (Result<f64, HookFault>, Vec<HookOutcome>) {
        let mut outcomes = Vec::new();
        let clock = SystemClock::default();
        let end = bus
            .ask::<PostEvaluator>(evaluation(0.5), META, &clock, |asked| outcomes.push(asked.outcome))
            .await;
        (end.map(|(e, _)| e.confidence), outcomes)
    }

    #[tokio::test]
    async fn hooks_run_in_registration_order_and_each_sees_what_the_one_before_returned() {
        let bus =
            bus(vec![(false, |c| Ok(Some(c + 0.25))), (false, |_| Ok(None)), (false, |c| Ok(Some(c * 2.0)))]);
        let (end, outcomes) = ask(&bus).await;
        assert_eq!(end, Ok(1.5));
        assert_eq!(outcomes, [HookOutcome::Replaced, HookOutcome::Kept, HookOutcome::Replaced]);
    }

    #[tokio::test]
    async fn an_error_stops_the_run_and_later_hooks_are_not_asked() {
        let bus = bus(vec![(false, |_| Err(HookError("boom".into()))), (false, |_| Ok(Some(9.0)))]);
        let (end, outcomes) = ask(&bus).await;
        assert_eq!(end.unwrap_err().to_string(), "postEvaluator hook `h` failed: boom");
        assert_eq!(outcomes, [HookOutcome::Failed]);
    }

    #[tokio::test]
    async fn with_continue_on_error_the_data_is_what_it_was_before_that_hook() {
        let bus = bus(vec![
            (false, |c| Ok(Some(c + 0.25))),
            (true, |_| Err(HookError("boom".into()))),
            (false, |c| Ok(Some(c + 0.25))),
        ]);
        assert_eq!(ask(&bus).await.0, Ok(1.0));
    }

    #[tokio::test]
    async fn a_point_without_hooks_keeps_its_payload() {
        let bus = bus(vec![]);
        assert!(!bus.listens::<PrePlanner>());
        assert_eq!(ask(&bus).await, (Ok(0.5), vec![]));
    }
}
