//! Owns the order in which hooks are asked and what becomes of their answers.
//!
//! A payload that no hook is registered for is never turned into JSON.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{CycleMeta, Hook, HookError, Point, Reply, difference, schema};
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
    /// The data that a hook returned cannot be worked with.
    #[error("{reason} (answer of the {point} hook `{hook}`)")]
    Unfit {
        /// The point.
        point: &'static str,
        /// The hook.
        hook: String,
        /// Why not.
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
    /// Where the data differs from what it was, as JSON pointers.
    pub changed: Vec<String>,
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
    ///
    /// ```
    /// use tepa::hook::{HookBus, PostPlanner};
    ///
    /// let mut hooks = HookBus::default();
    /// hooks.on::<PostPlanner, _>("no shell", false, |mut plan, _| {
    ///     Box::pin(async move {
    ///         plan.steps.retain(|step| !step.tools.iter().any(|tool| tool == "shell_execute"));
    ///         Ok(Some(plan))
    ///     })
    /// });
    /// assert!(hooks.listens::<PostPlanner>());
    /// ```
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
    /// An answer that `fits` refuses is that of a hook that broke. `record` is told of each hook when it has ended, also of the one that
    /// ends the run.
    pub async fn ask<P: Point>(
        &self,
        payload: P::Payload,
        meta: CycleMeta,
        clock: &dyn Clock,
        fits: impl Fn(&P::Payload) -> Result<(), String>,
        mut record: impl FnMut(Asked),
    ) -> Result<(P::Payload, Vec<String>), HookFault> {
        let Some(registrations) = self.registrations.get(P::NAME) else {
            return Ok((payload, Vec::new()));
        };
        let mut current = payload;
        let mut changed = Vec::new();
        for Registration { hook, continue_on_error } in registrations {
            let name = || hook.name().to_owned();
            let began = clock.monotonic();
            let answer = match serde_json::to_value(&current) {
                Ok(json) if !hook.applies(&json, &meta) => continue,
                Ok(json) => read_reply::<P>(hook.ask(P::NAME, &json, &meta).await, &json),
                Err(e) => Err(e.to_string()),
            };
            let took = clock.monotonic().saturating_sub(began);
            let mut done = |outcome, changed, error| {
                record(Asked { hook: name(), outcome, changed, error, took });
            };
            match answer {
                Ok(Answer::Keep) => done(HookOutcome::Kept, vec![], None),
                Ok(Answer::Replace(next, places)) => match fits(&next) {
                    Ok(()) => {
                        done(HookOutcome::Replaced, places, None);
                        current = next;
                        changed.push(name());
                    }
                    Err(reason) => {
                        done(HookOutcome::Failed, vec![], Some(reason.clone()));
                        if !continue_on_error {
                            return Err(HookFault::Unfit { point: P::NAME, hook: name(), reason });
                        }
                    }
                },
                Ok(Answer::Abort(reason)) => {
                    done(HookOutcome::Stopped, vec![], Some(reason.clone()));
                    return Err(HookFault::Aborted { point: P::NAME, hook: name(), reason });
                }
                Err(reason) => {
                    done(HookOutcome::Failed, vec![], Some(reason.clone()));
                    if !continue_on_error {
                        return Err(HookFault::Failed { point: P::NAME, hook: name(), reason });
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
    /// The data, and where it differs from what it was.
    Replace(T, Vec<String>),
    Abort(String),
}

fn read_reply<P: Point>(
    reply: Result<Reply, HookError>,
    before: &Value,
) -> Result<Answer<P::Payload>, String> {
    let misfit = |reason: String| format!("the data it returned does not fit {}: {reason}", P::NAME);
    match reply.map_err(|e| e.0)? {
        Reply::Keep => Ok(Answer::Keep),
        Reply::Abort(reason) => Ok(Answer::Abort(reason)),
        Reply::Replace(value) => {
            schema::check::<P>(&value).map_err(misfit)?;
            let next: P::Payload = serde_json::from_value(value).map_err(|e| misfit(e.to_string()))?;
            // Compared as it is understood: what was left out and has a default is no difference.
            let after = serde_json::to_value(&next).map_err(|e| e.to_string())?;
            Ok(Answer::Replace(next, difference::between(before, &after)))
        }
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
        let fits = |evaluation: &Evaluation| {
            if evaluation.confidence < 0.25 { Err("an eighth is too little".to_owned()) } else { Ok(()) }
        };
        let end = bus
            .ask::<PostEvaluator>(evaluation(0.5), META, &clock, fits, |asked| outcomes.push(asked.outcome))
            .await;
        (end.map(|(e, _)| e.confidence), outcomes)
    }

    #[tokio::test]
    async fn hooks_run_in_registration_order_and_each_sees_what_the_one_before_returned() {
        let bus = bus(vec![
            (false, |c| Ok(Some(c + 0.125))),
            (false, |_| Ok(None)),
            (false, |c| Ok(Some(c + 0.25))),
        ]);
        let (end, outcomes) = ask(&bus).await;
        assert_eq!(end, Ok(0.875));
        assert_eq!(outcomes, [HookOutcome::Replaced, HookOutcome::Kept, HookOutcome::Replaced]);
    }

    #[tokio::test]
    async fn an_error_stops_the_run_and_later_hooks_are_not_asked() {
        let bus = bus(vec![(false, |_| Err(HookError("boom".into()))), (false, |_| Ok(Some(1.0)))]);
        let (end, outcomes) = ask(&bus).await;
        assert_eq!(end.unwrap_err().to_string(), "postEvaluator hook `h` failed: boom");
        assert_eq!(outcomes, [HookOutcome::Failed]);
    }

    #[tokio::test]
    async fn with_continue_on_error_the_data_is_what_it_was_before_that_hook() {
        let bus = bus(vec![
            (false, |c| Ok(Some(c + 0.125))),
            (true, |_| Err(HookError("boom".into()))),
            (false, |c| Ok(Some(c + 0.125))),
        ]);
        assert_eq!(ask(&bus).await.0, Ok(0.75));
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_worked_with_is_that_of_a_hook_that_broke() {
        let end = ask(&bus(vec![(false, |_| Ok(Some(0.125)))])).await;
        assert_eq!(
            end.0.unwrap_err().to_string(),
            "an eighth is too little (answer of the postEvaluator hook `h`)"
        );
        assert_eq!(end.1, [HookOutcome::Failed]);
        assert_eq!(ask(&bus(vec![(true, |_| Ok(Some(0.125)))])).await.0, Ok(0.5));
        let outside = ask(&bus(vec![(false, |_| Ok(Some(42.0)))])).await.0.unwrap_err().to_string();
        assert!(
            outside.contains("does not fit postEvaluator") && outside.contains("/confidence"),
            "{outside}"
        );
    }

    #[tokio::test]
    async fn a_point_without_hooks_keeps_its_payload() {
        let bus = bus(vec![]);
        assert!(!bus.listens::<PrePlanner>());
        assert_eq!(ask(&bus).await, (Ok(0.5), vec![]));
    }
}
