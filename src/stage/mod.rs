//! Owns the contract of stages: what runs once before the first cycle of a run and once after it passed, and the same around each cycle.
//!
//! A stage is an onion's layer: it does something, lets the ones after it go on with [`Next::run`], and may do something once they are done.
//! It sees what the models will be given ([`TurnContext`]) and nothing of the run's own machinery.

mod context;
mod next;
mod stash;
mod store;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use context::{Ended, TurnContext};
pub use next::{Fault, FaultKind, Next, StageRun, run};
pub use stash::Stash;
pub use store::{Clean, Owner, Query, Retriever, RuleOfThumb, StoreError, TokenCounter, TurnStore};

use crate::turn::Scope;

/// The stages of a run, each list in its order; all of them may be empty.
#[derive(Clone, Default)]
pub struct Stages {
    /// Once, before the first cycle.
    pub turn_input: Vec<Arc<dyn TurnStage>>,
    /// Once, after the run passed.
    pub turn_output: Vec<Arc<dyn TurnStage>>,
    /// In every cycle, before the planner.
    pub dispatch_input: Vec<Arc<dyn TurnStage>>,
    /// In every cycle, after the judge.
    pub dispatch_output: Vec<Arc<dyn TurnStage>>,
}

impl Stages {
    /// Returns whether there is none at all.
    pub fn is_empty(&self) -> bool {
        let Self { turn_input, turn_output, dispatch_input, dispatch_output } = self;
        [turn_input, turn_output, dispatch_input, dispatch_output].iter().all(|list| list.is_empty())
    }

    /// Returns one list.
    pub fn of(&self, scope: Scope) -> &[Arc<dyn TurnStage>] {
        match scope {
            Scope::TurnInput => &self.turn_input,
            Scope::TurnOutput => &self.turn_output,
            Scope::DispatchInput => &self.dispatch_input,
            Scope::DispatchOutput => &self.dispatch_output,
        }
    }
}

/// Something that is done once a run, before its first cycle or after it passed; or once a cycle.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use tepa::stage::{Next, StageError, TurnContext, TurnStage};
/// use tepa::turn::Standing;
///
/// struct House;
///
/// impl TurnStage for House {
///     fn name(&self) -> &str {
///         "house rules"
///     }
///
///     fn handle<'a>(
///         &'a self,
///         context: &'a mut TurnContext,
///         next: Next<'a>,
///     ) -> BoxFuture<'a, Result<(), StageError>> {
///         Box::pin(async move {
///             let rule = Standing { source: "house".into(), content: "British spelling.".into() };
///             context.turn.standing_instructions.push(rule);
///             next.run(context).await;
///             Ok(())
///         })
///     }
/// }
/// ```
pub trait TurnStage: Send + Sync {
    /// Returns the name for messages and events.
    fn name(&self) -> &str;

    /// Does the work of the stage.
    ///
    /// # Errors
    /// What broke. Everything after it is skipped; those before it do what they do after [`Next::run`].
    fn handle<'a>(
        &'a self,
        context: &'a mut TurnContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<(), StageError>>;
}

/// Why a stage could not do its work.
#[derive(Debug)]
pub struct StageError {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl StageError {
    /// Returns an error with these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None }
    }

    /// Returns the same error with what led to it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for StageError {
    /// The message with the chain of what led to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl Error for StageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<StoreError> for StageError {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}
