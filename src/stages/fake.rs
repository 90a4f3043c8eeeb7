//! Owns what the tests of stages work on: a store and a retriever in memory, a clock that stands still, a context.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Work, stage_of};
use crate::event::Clock;
use crate::stage::{
    self, Clean, Owner, Query, Retriever, RuleOfThumb, Stages, StoreError, TurnContext, TurnStage, TurnStore,
};
use crate::turn::{
    Kind, Memory, Note, Record, Recorded, Retrievable, Scope, Selection, Speaker, ToolCall, TrustTier, Turn,
    TurnEnd, TurnMessage,
};

/// A store in memory.
#[derive(Default)]
pub(super) struct FakeStore {
    rows: Mutex<Vec<Row>>,
    /// What is kept of the turn itself.
    pub(super) texts: Mutex<Vec<String>>,
    /// How often a record was changed.
    pub(super) mutations: Mutex<usize>,
}

struct Row {
    record: Record,
    turn: String,
    session: Option<String>,
    acknowledged: bool,
}

impl FakeStore {
    pub(super) fn put(&self, turn: &str, session: &str, acknowledged: bool, record: impl Into<Record>) {
        let (turn, session) = (turn.to_owned(), Some(session.to_owned()));
        self.rows.lock().unwrap().push(Row { record: record.into(), turn, session, acknowledged });
    }

    /// Returns what is stored of a kind, oldest first.
    pub(super) fn all<T: Recorded>(&self) -> Vec<T> {
        self.rows.lock().unwrap().iter().filter_map(|row| T::of(row.record.clone())).collect()
    }
}

impl TurnStore for FakeStore {
    fn begin<'a>(&'a self, _: &'a Turn) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn settle<'a>(&'a self, _: &'a str, _: &'a TurnEnd) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn note<'a>(&'a self, _: &'a str, _: Note) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn revise<'a>(&'a self, _: &'a str, clean: Clean) -> BoxFuture<'a, Result<(), StoreError>> {
        self.texts.lock().unwrap().iter_mut().for_each(|text| *text = clean(text));
        Box::pin(async { Ok(()) })
    }

    fn fetch<'a>(&'a self, kind: Kind, of: &'a Selection) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let rows = self.rows.lock().unwrap();
            let wanted = rows.iter().rev().filter(|row| {
                row.record.kind() == kind
                    && (of.session.is_none() || row.session == of.session)
                    && of.turn.as_ref().is_none_or(|turn| *turn == row.turn)
                    && (row.acknowledged || !of.acknowledged)
            });
            let most = of.limit.unwrap_or(usize::MAX);
            Ok(wanted.take(most).map(|row| row.record.clone()).collect())
        })
    }

    fn store<'a>(&'a self, owner: Owner<'a>, record: Record) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (turn, session) = (owner.turn.to_owned(), owner.session.map(str::to_owned));
            self.rows.lock().unwrap().push(Row { record, turn, session, acknowledged: false });
            Ok(())
        })
    }

    fn mutate(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            *self.mutations.lock().unwrap() += 1;
            let mut rows = self.rows.lock().unwrap();
            let row = rows.iter_mut().find(|row| row.record.id() == record.id());
            row.ok_or_else(|| StoreError("there is no such record".to_owned()))?.record = record;
            Ok(())
        })
    }

    fn delete<'a>(&'a self, _: Kind, _: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { Ok(false) })
    }
}

/// Finds always the same.
pub(super) struct Shelf {
    passages: Vec<Retrievable>,
    /// What was asked for.
    pub(super) asked: Mutex<Vec<String>>,
}

impl Shelf {
    pub(super) fn of(passages: Vec<Retrievable>) -> Self {
        Self { passages, asked: Mutex::default() }
    }
}

impl Retriever for Shelf {
    fn retrieve<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Vec<Retrievable>, StoreError>> {
        let Query { text, top_k, min_score } = query;
        self.asked.lock().unwrap().push(format!("{text} {top_k} {min_score}"));
        Box::pin(async { Ok(self.passages.clone()) })
    }
}

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        at(1_000)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Returns a moment, so many seconds after the beginning of time.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

pub(super) fn memory(id: &str, importance: f64, confidence: f64, seconds: i64) -> Memory {
    Memory {
        id: id.to_owned(),
        content: format!("about {id}"),
        confidence,
        importance,
        source: None,
        trust_tier: TrustTier::FirstParty,
        created_at: at(seconds),
        updated_at: at(seconds),
    }
}

pub(super) fn passage(id: &str, score: Option<f64>) -> Retrievable {
    Retrievable {
        id: id.to_owned(),
        content: format!("about {id}"),
        trust_tier: TrustTier::ThirdPartyPrivate,
        source: None,
        kind: None,
        score,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(super) fn message(id: &str, turn: &str, role: Speaker, content: &str, seconds: i64) -> TurnMessage {
    let (id, turn, content) = (id.to_owned(), turn.to_owned(), content.to_owned());
    TurnMessage { id, turn, role, content, created_at: at(seconds) }
}

pub(super) fn call(id: &str, turn: &str, params: Value, output: Value, seconds: i64) -> ToolCall {
    let (id, turn) = (id.to_owned(), turn.to_owned());
    let (step, tool) = ("s".to_owned(), "file_read".to_owned());
    ToolCall { id, turn, step, tool, params, output, error: None, created_at: at(seconds) }
}

/// A turn `now` of the session `s` with a store.
pub(super) struct Trial {
    pub(super) context: TurnContext,
    pub(super) store: Arc<FakeStore>,
    pub(super) scope: Scope,
}

impl Default for Trial {
    fn default() -> Self {
        Self::of(json!({"goal": "Go.", "expectedOutput": "There."}))
    }
}

impl Trial {
    pub(super) fn of(prompt: Value) -> Self {
        Self::with(Some("s"), prompt)
    }

    pub(super) fn at(scope: Scope) -> Self {
        Self { scope, ..Self::default() }
    }

    pub(super) fn without_session() -> Self {
        Self::with(None, json!({"goal": "Go.", "expectedOutput": "There."}))
    }

    fn with(session: Option<&str>, prompt: Value) -> Self {
        let store = Arc::new(FakeStore::default());
        let context = TurnContext::new(
            "now",
            session.map(str::to_owned),
            serde_json::from_value(prompt).unwrap(),
            vec!["file_read".to_owned()],
            Some(Arc::<FakeStore>::clone(&store)),
            Arc::new(RuleOfThumb),
            Arc::new(Still),
        );
        Self { context, store, scope: Scope::TurnInput }
    }

    /// Runs one stage, or says what broke.
    pub(super) async fn run(&mut self, work: impl Work + 'static) -> Result<(), String> {
        self.run_stages(&[stage_of(work)]).await
    }

    /// Runs stages in order, or says what broke.
    pub(super) async fn run_stages(&mut self, stages: &[Arc<dyn TurnStage>]) -> Result<(), String> {
        let record = |_| {};
        let ended = stage::run(self.scope, stages, &mut self.context, &Still, &record).await;
        ended.map_err(|fault| fault.to_string())
    }

    /// Runs one list of stages.
    pub(super) async fn run_list(&mut self, stages: &Stages) -> Result<(), String> {
        self.run_stages(stages.of(self.scope)).await
    }
}
