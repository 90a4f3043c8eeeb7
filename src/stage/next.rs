//! Owns the order of stages and what becomes of one that breaks, refuses or forgets the ones after it.
//!
//! Nothing here can be unwound: whatever happens to the stages after one, its [`Next::run`] returns, so that it can clean up.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{StageError, TurnContext, TurnStage};
use crate::event::Clock;
use crate::turn::{Scope, StageOutcome};

/// Why stages ended badly.
#[derive(Debug)]
pub struct Fault {
    /// Where the stage stands.
    pub scope: Scope,
    /// The stage.
    pub stage: String,
    /// What it did.
    pub kind: FaultKind,
}

/// What a stage did wrong.
#[derive(Debug)]
pub enum FaultKind {
    /// It broke.
    Failed(StageError),
    /// It ended without going on, refusing or breaking.
    ShortCircuited,
}

impl Fault {
    /// Returns the code for programs.
    pub fn code(&self) -> &'static str {
        match self.kind {
            FaultKind::Failed(_) => self.scope.error_code(),
            FaultKind::ShortCircuited => "E_PIPELINE_SHORT_CIRCUITED",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, stage, kind } = self;
        let code = self.code();
        match kind {
            FaultKind::Failed(error) => write!(f, "{code}: {scope} stage `{stage}` failed: {error}"),
            FaultKind::ShortCircuited => {
                write!(f, "{code}: {scope} stage `{stage}` ended without going on and without refusing")
            }
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            FaultKind::Failed(error) => Some(error),
            FaultKind::ShortCircuited => None,
        }
    }
}

/// One stage that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageRun {
    /// Where it stands in its list, from 0.
    pub at: usize,
    /// Its name.
    pub stage: String,
    /// How it ended.
    pub outcome: StageOutcome,
    /// Why it refused or what broke.
    pub reason: Option<String>,
    /// Wall clock, with that of the stages after it.
    pub took: Duration,
}

/// The stages after one.
///
/// It is used up by running it, so a stage cannot run the ones after it twice, and it returns nothing, so a stage cannot pass over what it
/// has to do afterwards.
pub struct Next<'n> {
    rest: &'n [Arc<dyn TurnStage>],
    course: &'n Course<'n>,
    went_on: &'n AtomicBool,
}

impl Next<'_> {
    /// Runs the stages after this one, unless the run is refused or something broke; returns when they are done, whatever became of them.
    pub async fn run(self, context: &mut TurnContext) {
        self.went_on.store(true, Ordering::Relaxed);
        step(self.rest, self.course, context).await;
    }
}

struct Course<'c> {
    scope: Scope,
    count: usize,
    clock: &'c dyn Clock,
    record: &'c (dyn Fn(StageRun) + Sync),
    fault: Mutex<Option<Fault>>,
    refused: AtomicBool,
}

impl Course<'_> {
    fn is_broken(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps the first fault: what breaks while others clean up follows from it.
    fn fail(&self, stage: &str, kind: FaultKind) {
        let fault = Fault { scope: self.scope, stage: stage.to_owned(), kind };
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }
}

/// Runs stages in order; `record` is told of each one when it has ended, so of the last one first.
///
/// Whether the run is refused is for the context to say ([`TurnContext::aborted`]); a refusal is no fault.
///
/// # Errors
/// The first stage that broke, or that ended without going on.
pub async fn run(
    scope: Scope,
    stages: &[Arc<dyn TurnStage>],
    context: &mut TurnContext,
    clock: &dyn Clock,
    record: &(dyn Fn(StageRun) + Sync),
) -> Result<(), Fault> {
    let course = Course {
        scope,
        count: stages.len(),
        clock,
        record,
        fault: Mutex::default(),
        refused: AtomicBool::new(false),
    };
    step(stages, &course, context).await;
    let fault = course.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A refusal is deliberate: what broke on the way out of it changes nothing.
    fault.filter(|_| context.aborted.is_none()).map_or(Ok(()), Err)
}

fn step<'a>(
    stages: &'a [Arc<dyn TurnStage>],
    course: &'a Course<'a>,
    context: &'a mut TurnContext,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let Some((stage, rest)) = stages.split_first() else { return };
        if context.aborted.is_some() || course.is_broken() {
            return;
        }
        let began = course.clock.monotonic();
        let went_on = AtomicBool::new(false);
        let ended = stage.handle(context, Next { rest, course, went_on: &went_on }).await;
        let went_on = went_on.into_inner();
        let (outcome, reason) = match ended {
            // The first to end with a refusal is the one that refused; that it broke afterwards changes nothing.
            _ if context.aborted.is_some() && !course.refused.swap(true, Ordering::Relaxed) => {
                (StageOutcome::Aborted, context.aborted.clone())
            }
            Err(error) => {
                let reason = error.to_string();
                course.fail(stage.name(), FaultKind::Failed(error));
                (StageOutcome::Failed, Some(reason))
            }
            Ok(()) if !went_on => {
                course.fail(stage.name(), FaultKind::ShortCircuited);
                (StageOutcome::ShortCircuited, None)
            }
            Ok(()) => (StageOutcome::Completed, None),
        };
        let took = course.clock.monotonic().saturating_sub(began);
        let at = course.count - stages.len();
        (course.record)(StageRun { at, stage: stage.name().to_owned(), outcome, reason, took });
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::Map;

    use super::*;
    use crate::event::SystemClock;
    use crate::prompt::{ExpectedOutput, Prompt};
    use crate::stage::RuleOfThumb;

    /// What a stage does before and after the ones after it.
    #[derive(Clone, Copy, Default, PartialEq)]
    enum Does {
        #[default]
        GoOn,
        Throw,
        ThrowAfter,
        Forget,
        Abort,
        AbortThenGoOn,
        AbortAfter,
    }

    struct Layer {
        name: &'static str,
        does: Does,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl TurnStage for Layer {
        fn name(&self) -> &str {
            self.name
        }

        fn handle<'a>(
            &'a self,
            context: &'a mut TurnContext,
            next: Next<'a>,
        ) -> BoxFuture<'a, Result<(), StageError>> {
            let say = |when: &str| self.seen.lock().unwrap().push(format!("{}-{when}", self.name));
            Box::pin(async move {
                say("pre");
                match self.does {
                    Does::Throw => {
                        let cause = std::io::Error::other("disk on fire");
                        return Err(StageError::new("cannot read").because(cause));
                    }
                    Does::Forget => return Ok(()),
                    Does::Abort => {
                        context.abort("not today");
                        return Ok(());
                    }
                    Does::AbortThenGoOn => context.abort("not today"),
                    _ => {}
                }
                next.run(context).await;
                say("post");
                match self.does {
                    Does::ThrowAfter => Err(StageError::new("cannot tidy up")),
                    Does::AbortAfter => {
                        context.abort("too late");
                        Ok(())
                    }
                    _ => Ok(()),
                }
            })
        }
    }

    fn context() -> TurnContext {
        let prompt = Prompt {
            goal: "Go.".into(),
            context: Map::new(),
            expected_output: ExpectedOutput::Text("There.".into()),
        };
        let clock = Arc::new(SystemClock::default());
        TurnContext::new("t", None, prompt, Vec::new(), None, Arc::new(RuleOfThumb), clock)
    }

    /// Runs stages A, B, C and returns the fault, what they did in order, and how each ended.
    async fn onion(does: [Does; 3]) -> (Option<Fault>, String, Vec<(String, StageOutcome)>, TurnContext) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stages: Vec<Arc<dyn TurnStage>> = ["A", "B", "C"]
            .into_iter()
            .zip(does)
            .map(|(name, does)| Arc::new(Layer { name, does, seen: Arc::clone(&seen) }) as Arc<dyn TurnStage>)
            .collect();
        let runs = Mutex::new(Vec::new());
        let mut context = context();
        let record = |run: StageRun| runs.lock().unwrap().push((run.stage, run.outcome));
        let clock = SystemClock::default();
        let ended = run(Scope::TurnInput, &stages, &mut context, &clock, &record).await;
        let seen = seen.lock().unwrap().join(" ");
        (ended.err(), seen, runs.into_inner().unwrap(), context)
    }

    #[tokio::test]
    async fn what_comes_first_on_the_way_in_comes_last_on_the_way_out() {
        let (fault, seen, runs, _) = onion([Does::GoOn; 3]).await;
        assert!(fault.is_none());
        assert_eq!(seen, "A-pre B-pre C-pre C-post B-post A-post");
        let order: Vec<&str> = runs.iter().map(|(stage, _)| stage.as_str()).collect();
        assert_eq!(order, ["C", "B", "A"]);
    }

    #[tokio::test]
    async fn what_breaks_skips_the_rest_and_lets_those_before_it_tidy_up() {
        let (fault, seen, runs, _) = onion([Does::GoOn, Does::Throw, Does::GoOn]).await;
        assert_eq!(seen, "A-pre B-pre A-post");
        let fault = fault.unwrap();
        assert_eq!(
            fault.to_string(),
            "E_INPUT_PIPELINE_ERROR: turn-input stage `B` failed: cannot read: disk on fire"
        );
        let root = std::error::Error::source(&fault).and_then(std::error::Error::source);
        assert_eq!(root.unwrap().to_string(), "disk on fire");
        assert_eq!(runs, [("B".to_owned(), StageOutcome::Failed), ("A".to_owned(), StageOutcome::Completed)]);
    }

    #[tokio::test]
    async fn the_first_fault_is_the_one_that_counts() {
        let (fault, seen, ..) = onion([Does::ThrowAfter, Does::Throw, Does::GoOn]).await;
        assert_eq!(seen, "A-pre B-pre A-post");
        assert_eq!(fault.unwrap().stage, "B");
        let (fault, seen, ..) = onion([Does::GoOn, Does::ThrowAfter, Does::GoOn]).await;
        assert_eq!(seen, "A-pre B-pre C-pre C-post B-post A-post");
        assert_eq!(fault.unwrap().stage, "B");
    }

    #[tokio::test]
    async fn who_neither_goes_on_nor_refuses_is_told_apart_from_who_refuses() {
        let (fault, seen, ..) = onion([Does::GoOn, Does::Forget, Does::GoOn]).await;
        assert_eq!(seen, "A-pre B-pre A-post");
        let fault = fault.unwrap();
        assert_eq!(
            (fault.code(), fault.scope.to_string().as_str()),
            ("E_PIPELINE_SHORT_CIRCUITED", "turn-input")
        );
        assert!(fault.to_string().contains("turn-input stage `B`"), "{fault}");
        for does in [Does::Abort, Does::AbortThenGoOn] {
            let (fault, seen, runs, context) = onion([Does::GoOn, does, Does::GoOn]).await;
            assert!(fault.is_none());
            assert!(!seen.contains('C') && seen.ends_with("A-post"), "{seen}");
            assert_eq!(context.aborted(), Some("not today"));
            assert_eq!(runs[0], ("B".to_owned(), StageOutcome::Aborted));
        }
    }

    #[tokio::test]
    async fn a_refusal_outranks_what_breaks_on_the_way_out() {
        let (fault, _, runs, context) = onion([Does::ThrowAfter, Does::Abort, Does::GoOn]).await;
        assert!(fault.is_none());
        assert_eq!(context.aborted(), Some("not today"));
        assert_eq!(runs[0], ("B".to_owned(), StageOutcome::Aborted));
        let (fault, _, _, context) = onion([Does::AbortAfter, Does::GoOn, Does::GoOn]).await;
        assert!(fault.is_none());
        assert_eq!(context.aborted(), Some("too late"));
    }
}
