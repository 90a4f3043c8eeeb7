//! Owns what a stage sees and may change: what the models will be given, the stash, the store.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Clean, Owner, Stash, StoreError, TokenCounter, TurnStore};
use crate::event::Clock;
use crate::outcome::{Cost, Evaluation};
use crate::prompt::Prompt;
use crate::turn::{Assembled, Recorded, Selection, TrustTier};

/// What a stage works on.
///
/// In a stage of a cycle it is a copy: what such a stage does to it reaches the models and later stages of cycles, and is gone when the
/// last cycle has ended.
#[derive(Clone)]
pub struct TurnContext {
    /// What the models are given beside the task: everything starts empty, and exactly this is what they see.
    pub turn: Assembled,
    /// Plain data for later stages.
    pub stash: Stash,
    pub(super) aborted: Option<String>,
    withheld: Option<String>,
    warnings: Vec<String>,
    met: TrustTier,
    id: String,
    session: Option<String>,
    prompt: Arc<Prompt>,
    tools: Arc<Vec<String>>,
    store: Option<Arc<dyn TurnStore>>,
    counter: Arc<dyn TokenCounter>,
    clock: Arc<dyn Clock>,
    cycle: u32,
    evaluation: Option<Arc<Evaluation>>,
    ended: Option<Ended>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Cycles begun.
    pub cycles: u32,
    /// Tokens of all model calls.
    pub tokens_used: u64,
    /// What that cost.
    pub cost: Cost,
    /// Wall clock, in milliseconds.
    pub duration_ms: u64,
}

impl TurnContext {
    /// Returns the context of a turn that begins: nothing is known, nothing was said.
    pub fn new(
        id: &str,
        session: Option<String>,
        prompt: Prompt,
        tools: Vec<String>,
        store: Option<Arc<dyn TurnStore>>,
        counter: Arc<dyn TokenCounter>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            turn: Assembled::default(),
            stash: Stash::default(),
            aborted: None,
            withheld: None,
            warnings: Vec::new(),
            met: TrustTier::FirstParty,
            id: id.to_owned(),
            session,
            prompt: Arc::new(prompt),
            tools: Arc::new(tools),
            store,
            counter,
            clock,
            cycle: 0,
            evaluation: None,
            ended: None,
        }
    }

    /// Returns the id of the turn: the run's.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the key under which runs share history and memory.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the task.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Returns the names of the tools of the run.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Returns the cycle, from 1; 0 in the stages of a turn.
    pub fn cycle(&self) -> u32 {
        self.cycle
    }

    /// Returns the last evaluation: of the cycle in the output stages of a cycle, the one that passed in those of the turn.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.evaluation.as_deref()
    }

    /// Returns what the run came to, in the output stages of the turn.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Returns the least trusted tier of everything that the run was given or met: what it says rests on that.
    pub fn least_trusted(&self) -> TrustTier {
        self.turn.least_trusted().max(self.met)
    }

    /// Returns the least trusted tier that the run met beside what it was given.
    pub fn met(&self) -> TrustTier {
        self.met
    }

    /// Takes note of something of this tier that the run met.
    pub fn meet(&mut self, tier: TrustTier) {
        self.met = self.met.max(tier);
    }

    /// Returns the wall clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the tokens of a text.
    pub fn tokens(&self, text: &str) -> u64 {
        self.counter.count(text)
    }

    /// Refuses to go on: the stages after this one are skipped, and no error is made of it. The first reason stands.
    pub fn abort(&mut self, reason: impl Into<String>) {
        self.aborted.get_or_insert_with(|| reason.into());
    }

    /// Returns why the run is refused, if it is.
    pub fn aborted(&self) -> Option<&str> {
        self.aborted.as_deref()
    }

    /// Withholds the pass of a cycle: its verdict is fail, and the planner hears the reason. The first reason stands.
    pub fn withhold(&mut self, reason: impl Into<String>) {
        self.withheld.get_or_insert_with(|| reason.into());
    }

    /// Returns why the pass of the cycle is withheld, if it is.
    pub fn withheld(&self) -> Option<&str> {
        self.withheld.as_deref()
    }

    /// Says something that a person should know and that does not end the run.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Takes what was said by [`Self::warn`].
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns records of the store, newest first; without a store there are none.
    pub async fn fetch<T: Recorded>(&self, of: &Selection) -> Result<Vec<T>, StoreError> {
        match &self.store {
            Some(store) => Ok(store.fetch(T::KIND, of).await?.into_iter().filter_map(T::of).collect()),
            None => Ok(Vec::new()),
        }
    }

    /// Stores a record as one of this turn; the collections stay as they are.
    ///
    /// # Errors
    /// There is no store, or it could not take the record.
    pub async fn store<T: Recorded>(&self, record: T) -> Result<(), StoreError> {
        let owner = Owner { turn: &self.id, session: self.session() };
        self.storage()?.store(owner, record.into()).await
    }

    /// Changes a record of the store; the collections stay as they are.
    ///
    /// # Errors
    /// There is no such record.
    pub async fn mutate<T: Recorded>(&self, record: T) -> Result<(), StoreError> {
        self.storage()?.mutate(record.into()).await
    }

    /// Puts what `clean` makes of it into the place of every text that the store keeps of the turn itself; without a store there is none.
    pub async fn revise(&self, clean: Clean) -> Result<(), StoreError> {
        match &self.store {
            Some(store) => store.revise(&self.id, clean).await,
            None => Ok(()),
        }
    }

    /// Removes a record from the store, and returns whether there was one; the collections stay as they are.
    pub async fn delete<T: Recorded>(&self, id: &str) -> Result<bool, StoreError> {
        self.storage()?.delete(T::KIND, id).await
    }

    /// Returns a copy for the cycles of this turn.
    #[must_use]
    pub fn dispatched(&self) -> Self {
        self.clone()
    }

    /// Begins a cycle, which has no verdict yet.
    pub fn begin_cycle(&mut self, cycle: u32) {
        self.cycle = cycle;
        self.evaluation = None;
        self.withheld = None;
    }

    /// Takes the verdict of the cycle.
    pub fn judge(&mut self, evaluation: Evaluation) {
        self.evaluation = Some(Arc::new(evaluation));
    }

    /// Takes the end of a run that passed.
    pub fn end(&mut self, evaluation: Evaluation, ended: Ended) {
        self.judge(evaluation);
        self.ended = Some(ended);
    }

    fn storage(&self) -> Result<&Arc<dyn TurnStore>, StoreError> {
        self.store.as_ref().ok_or_else(|| StoreError("there is no store: `turn.store` is none".to_owned()))
    }
}
