//! Owns the contracts of what stages rest on: a store that outlives the run, something that finds passages, something that counts tokens.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::text;
use crate::turn::{Kind, Note, Record, Retrievable, Selection, Turn, TurnEnd};

/// Why a store could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Whose a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The turn that stores it.
    pub turn: &'a str,
    /// The session of that turn.
    pub session: Option<&'a str>,
}

/// Makes of a text what may stay of it.
pub type Clean = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What outlives a run. What it has taken is there when a call returns: storage is the receipt.
pub trait TurnStore: Send + Sync {
    /// Takes a turn that begins.
    fn begin<'a>(&'a self, turn: &'a Turn) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Takes a turn up again that broke off or was not settled as passed; one that it does not know begins.
    fn resume<'a>(&'a self, turn: &'a Turn) -> BoxFuture<'a, Result<(), StoreError>> {
        self.begin(turn)
    }

    /// Takes the end of a turn. Once this returns for a turn that passed, no crash makes it undone.
    fn settle<'a>(&'a self, turn: &'a str, end: &'a TurnEnd) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Takes what happens in a turn.
    fn note<'a>(&'a self, turn: &'a str, note: Note) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Puts what `clean` makes of it into the place of every text that is kept of the turn itself: the goal, what was told to people, to
    /// the planner, and of what broke.
    fn revise<'a>(&'a self, turn: &'a str, clean: Clean) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns records, newest first.
    fn fetch<'a>(&'a self, kind: Kind, of: &'a Selection) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Takes a record; one with the id of another replaces it.
    fn store<'a>(&'a self, owner: Owner<'a>, record: Record) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Changes a record that is there.
    ///
    /// # Errors
    /// There is none with this id.
    fn mutate(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a record; returns whether there was one.
    fn delete<'a>(&'a self, kind: Kind, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query<'a> {
    /// In words.
    pub text: &'a str,
    /// As many at most.
    pub top_k: usize,
    /// Those that match at least so well, from 0 to 1.
    pub min_score: f64,
}

/// Finds passages.
pub trait Retriever: Send + Sync {
    /// Returns passages, best first.
    fn retrieve<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Vec<Retrievable>, StoreError>>;
}

/// Counts tokens before anybody is asked.
pub trait TokenCounter: Send + Sync {
    /// Returns the tokens of a text.
    fn count(&self, text: &str) -> u64;
}

/// Four characters are a token.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleOfThumb;

impl TokenCounter for RuleOfThumb {
    fn count(&self, text: &str) -> u64 {
        text::tokens_in(text.chars().count())
    }
}
