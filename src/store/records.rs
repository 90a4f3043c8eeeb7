//! Owns turns and their records as rows: what is written when, and which of them a later run is given.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, Transaction, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::Fault;
use super::{Held, Shared, SqliteStore, write};
use crate::stage::{Clean, Owner, StoreError, TurnStore};
use crate::turn::{Kind, Note, Record, Recorded, Selection, Turn, TurnEnd};

impl TurnStore for SqliteStore {
    fn begin<'a>(&'a self, turn: &'a Turn) -> BoxFuture<'a, Result<(), StoreError>> {
        let turn = turn.clone();
        Box::pin(self.aside(move |shared, held| begin(shared, held, &turn)))
    }

    fn resume<'a>(&'a self, turn: &'a Turn) -> BoxFuture<'a, Result<(), StoreError>> {
        let turn = turn.clone();
        Box::pin(self.aside(move |shared, held| resume(shared, held, &turn)))
    }

    fn settle<'a>(&'a self, turn: &'a str, end: &'a TurnEnd) -> BoxFuture<'a, Result<(), StoreError>> {
        let (turn, end) = (turn.to_owned(), end.clone());
        Box::pin(self.aside(move |shared, held| {
            let turn = shared.clean(&turn);
            // What is synced is everything before it as well.
            held.connection.pragma_update(None, "synchronous", "FULL")?;
            let settled = settle(shared, &held.connection, &turn, &end);
            held.connection.pragma_update(None, "synchronous", "NORMAL")?;
            settled?;
            held.living.leave(&turn);
            Ok(())
        }))
    }

    fn note<'a>(&'a self, turn: &'a str, note: Note) -> BoxFuture<'a, Result<(), StoreError>> {
        let turn = turn.to_owned();
        Box::pin(self.aside(move |shared, held| {
            let turn = shared.clean(&turn);
            take(shared, &held.connection, &turn, &note).map_err(|fault| begun(fault, &turn))
        }))
    }

    fn revise<'a>(&'a self, turn: &'a str, clean: Clean) -> BoxFuture<'a, Result<(), StoreError>> {
        let turn = turn.to_owned();
        Box::pin(self.aside(move |shared, held| {
            let transaction = write(&mut held.connection)?;
            revise(&transaction, &shared.clean(&turn), |text| shared.clean(&clean(text)))?;
            Ok(transaction.commit()?)
        }))
    }

    fn fetch<'a>(&'a self, kind: Kind, of: &'a Selection) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let of = of.clone();
        Box::pin(self.aside(move |shared, held| fetch(shared, &held.connection, kind, &of)))
    }

    fn store<'a>(&'a self, owner: Owner<'a>, record: Record) -> BoxFuture<'a, Result<(), StoreError>> {
        let turn = owner.turn.to_owned();
        Box::pin(self.aside(move |shared, held| {
            let (turn, row) = (shared.clean(&turn), Row::of(shared, &record)?);
            let sql = format!(
                "INSERT INTO {} (id, turn, createdAt, record) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE \
                 SET turn = excluded.turn, createdAt = excluded.createdAt, record = excluded.record",
                table(record.kind())
            );
            let stored = held.connection.execute(&sql, params![row.id, turn, row.created_at, row.json]);
            stored.map_err(|error| begun(error.into(), &turn))?;
            Ok(())
        }))
    }

    fn mutate(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.aside(move |shared, held| {
            let (table, row) = (table(record.kind()), Row::of(shared, &record)?);
            let sql = format!("UPDATE {table} SET createdAt = ?2, record = ?3 WHERE id = ?1");
            match held.connection.execute(&sql, params![row.id, row.created_at, row.json])? {
                0 => Err(Fault::said(format!("there is no `{}` among the {table} of the store", row.id))),
                _ => Ok(()),
            }
        }))
    }

    fn delete<'a>(&'a self, kind: Kind, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.aside(move |shared, held| {
            let sql = format!("DELETE FROM {} WHERE id = ?1", table(kind));
            Ok(held.connection.execute(&sql, [shared.clean(&id)])? > 0)
        }))
    }
}

fn begin(shared: &Shared, held: &mut Held, turn: &Turn) -> Result<(), Fault> {
    let id = shared.clean(&turn.id);
    let Held { connection, living } = held;
    let transaction = write(connection)?;
    living.sweep(&transaction)?;
    let known = transaction.prepare_cached("SELECT 1 FROM turns WHERE id = ?1")?.exists([&id])?;
    if known {
        return Err(Fault::said(format!("the turn `{id}` is in the store already")));
    }
    living.enter(&transaction, &id)?;
    let insert = || {
        transaction.execute(
            "INSERT INTO turns (id, session, goal, status, startedAt) VALUES (?1, ?2, ?3, 'running', ?4)",
            params![
                id,
                turn.session.as_deref().map(|session| shared.clean(session)),
                shared.clean(&turn.goal),
                written(turn.started_at)
            ],
        )
    };
    let begun = insert().and_then(|_| transaction.commit());
    if begun.is_err() {
        living.leave(&id);
    }
    Ok(begun?)
}

fn resume(shared: &Shared, held: &mut Held, turn: &Turn) -> Result<(), Fault> {
    let id = shared.clean(&turn.id);
    let Held { connection, living } = &mut *held;
    let transaction = write(connection)?;
    living.sweep(&transaction)?;
    if !transaction.prepare_cached("SELECT 1 FROM turns WHERE id = ?1")?.exists([&id])? {
        drop(transaction);
        return begin(shared, held, turn);
    }
    living.enter(&transaction, &id)?;
    let taken_up = transaction.execute(
        "UPDATE turns SET status = 'running', reason = NULL, feedback = NULL, endedAt = NULL WHERE id = ?1",
        [&id],
    );
    let taken_up = taken_up.and_then(|_| transaction.commit());
    if taken_up.is_err() {
        living.leave(&id);
    }
    Ok(taken_up?)
}

fn settle(shared: &Shared, connection: &Connection, turn: &str, end: &TurnEnd) -> Result<(), Fault> {
    let settled = connection.execute(
        "UPDATE turns SET status = ?2, reason = ?3, feedback = ?4, cycles = ?5, tokensUsed = ?6, endedAt = ?7 \
         WHERE id = ?1 AND (status = 'running' OR status = 'ack' AND ?2 <> 'ack')",
        params![
            turn,
            end.status.name(),
            shared.clean(&end.reason),
            shared.clean(&end.feedback),
            end.cycles,
            number(end.tokens_used),
            written(end.ended_at)
        ],
    )?;
    match settled {
        0 => Err(Fault::said(format!("the turn `{turn}` is not under way in the store"))),
        _ => Ok(()),
    }
}

fn take(shared: &Shared, connection: &Connection, turn: &str, note: &Note) -> Result<(), Fault> {
    match note {
        Note::Cycle { cycle, verdict, feedback, tokens_used } => connection.execute(
            "INSERT OR REPLACE INTO cycles (turn, cycle, verdict, feedback, tokensUsed) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                turn,
                cycle,
                shared.clean(verdict),
                feedback.as_deref().map(|feedback| shared.clean(feedback)),
                number(*tokens_used)
            ],
        )?,
        Note::Error { code, message } => connection.execute(
            "INSERT INTO errors (turn, code, message) VALUES (?1, ?2, ?3)",
            params![turn, shared.clean(code), shared.clean(message)],
        )?,
    };
    Ok(())
}

fn revise(transaction: &Transaction<'_>, turn: &str, clean: impl Fn(&str) -> String) -> rusqlite::Result<()> {
    for (table, column, of) in [
        ("turns", "goal", "id"),
        ("turns", "feedback", "id"),
        ("cycles", "feedback", "turn"),
        ("errors", "message", "turn"),
    ] {
        let sql = format!("SELECT rowid, {column} FROM {table} WHERE {of} = ?1 AND {column} IS NOT NULL");
        let mut texts = transaction.prepare_cached(&sql)?;
        let texts = texts.query_map([turn], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
        for (row, text) in texts.collect::<Result<Vec<_>, _>>()? {
            let cleaned = clean(&text);
            if cleaned != text {
                let sql = format!("UPDATE {table} SET {column} = ?2 WHERE rowid = ?1");
                transaction.execute(&sql, params![row, cleaned])?;
            }
        }
    }
    Ok(())
}

fn fetch(shared: &Shared, connection: &Connection, kind: Kind, of: &Selection) -> Result<Vec<Record>, Fault> {
    let sql = format!(
        "SELECT r.record FROM {} r JOIN turns t ON t.id = r.turn \
         WHERE (?1 IS NULL OR t.session = ?1) AND (?2 IS NULL OR r.turn = ?2) AND (NOT ?3 OR t.status = 'ack') \
         ORDER BY r.createdAt DESC, r.sequence DESC LIMIT ?4",
        table(kind)
    );
    let clean = |text: &Option<String>| text.as_deref().map(|text| shared.clean(text));
    // Negative is all of them.
    let limit = of.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement
        .query_map(params![clean(&of.session), clean(&of.turn), of.acknowledged, limit], |row| {
            row.get::<_, String>(0)
        })?;
    found.map(|json| record(kind, &json?)).collect()
}

/// A record as it is written.
struct Row {
    id: String,
    created_at: String,
    json: String,
}

impl Row {
    fn of(shared: &Shared, record: &Record) -> Result<Self, Fault> {
        let (value, created_at) = match record {
            Record::Memory(record) => (serde_json::to_value(record)?, record.created_at),
            Record::Retrievable(record) => (serde_json::to_value(record)?, record.created_at),
            Record::Message(record) => (serde_json::to_value(record)?, record.created_at),
            Record::Thought(record) => (serde_json::to_value(record)?, record.created_at),
            Record::ToolCall(record) => (serde_json::to_value(record)?, record.created_at),
        };
        let id = shared.clean(record.id());
        let json = self::json(shared, value);
        // A number that is none would be found out by the run that reads it.
        self::record(record.kind(), &json).map_err(|fault| {
            Fault::said(format!("`{id}` cannot be among the {}: {fault}", table(record.kind())))
        })?;
        Ok(Self { id, created_at: written(created_at), json })
    }
}

fn json(shared: &Shared, value: Value) -> String {
    shared.secrets.redact_value(value).to_string()
}

fn record(kind: Kind, json: &str) -> Result<Record, Fault> {
    fn of<T: Recorded + DeserializeOwned>(json: &str) -> Result<Record, Fault> {
        Ok(serde_json::from_str::<T>(json)?.into())
    }
    match kind {
        Kind::Memory => of::<crate::turn::Memory>(json),
        Kind::Retrievable => of::<crate::turn::Retrievable>(json),
        Kind::Message => of::<crate::turn::TurnMessage>(json),
        Kind::Thought => of::<crate::turn::Thought>(json),
        Kind::ToolCall => of::<crate::turn::ToolCall>(json),
    }
}

fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Memory => "memories",
        Kind::Retrievable => "retrievables",
        Kind::Message => "messages",
        Kind::Thought => "thoughts",
        Kind::ToolCall => "toolCalls",
    }
}

/// Returns a time such that times are in order when their texts are.
fn written(time: Timestamp) -> String {
    format!("{time:.9}")
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns what it means that a row was refused because of the row it belongs to.
fn begun(fault: Fault, turn: &str) -> Fault {
    match fault.code() {
        Some(ErrorCode::ConstraintViolation) => Fault::said(format!("the turn `{turn}` is not in the store")),
        _ => fault,
    }
}
