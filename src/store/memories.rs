//! Owns what people see of the memories, and their removal: what is forgotten is not in the file any more.

use rusqlite::{OptionalExtension as _, Row, Transaction};

use super::fault::Fault;
use super::{SqliteStore, write};
use crate::stage::StoreError;
use crate::turn::Memory;

/// A memory, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The memory.
    pub memory: Memory,
    /// The session whose runs are given it.
    pub session: Option<String>,
    /// The turn that left it.
    pub turn: String,
    /// Whether that turn passed: no run is given what others left.
    pub acknowledged: bool,
}

/// What became of something that was to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// How many turns are gone, with everything that they left.
    pub turns: usize,
    /// How many memories are gone.
    pub memories: usize,
    /// Of how many other turns the last words are gone: they said the same.
    pub endings: usize,
    /// Whether others were at work, so that the text leaves the disk only when they have ended.
    pub lingers: bool,
}

const SELECT: &str =
    "SELECT m.record, t.session, m.turn, t.status = 'ack' FROM memories m JOIN turns t ON t.id = m.turn";

impl SqliteStore {
    /// Returns the memories of a session, or all, newest first.
    pub fn memories(&self, session: Option<&str>) -> Result<Vec<Kept>, StoreError> {
        self.shared.with(|held| {
            let sql = format!(
                "{SELECT} WHERE ?1 IS NULL OR t.session = ?1 ORDER BY m.createdAt DESC, m.sequence DESC"
            );
            let mut statement = held.connection.prepare(&sql)?;
            let mut rows = statement.query([session])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(kept(row)?);
            }
            Ok(found)
        })
    }

    /// Returns the memory with this id.
    pub fn memory(&self, id: &str) -> Result<Option<Kept>, StoreError> {
        self.shared.with(|held| {
            let mut statement = held.connection.prepare(&format!("{SELECT} WHERE m.id = ?1"))?;
            statement.query([id])?.next()?.map(kept).transpose()
        })
    }

    /// Removes memories, all of them or none, and with each the last words of the turn that left it: later runs are told those as well.
    ///
    /// # Errors
    /// One that is not there.
    pub fn forget(&self, ids: &[String]) -> Result<Forgotten, StoreError> {
        self.shared.with(|held| {
            let transaction = write(&mut held.connection)?;
            let mut endings = 0;
            for id in ids {
                let source: Option<Option<String>> = transaction
                    .query_row("DELETE FROM memories WHERE id = ?1 RETURNING source", [id], |row| row.get(0))
                    .optional()?;
                let Some(source) = source else {
                    return Err(Fault::said(format!("there is no memory `{id}`")));
                };
                if let Some(turn) = source.as_deref().and_then(|source| source.strip_prefix("run:")) {
                    endings += usize::from(silence(&transaction, turn)?);
                }
            }
            transaction.commit()?;
            Ok(Forgotten { turns: 0, memories: ids.len(), endings, lingers: !held.empty_log()? })
        })
    }

    /// Removes everything that the runs of a session left.
    ///
    /// # Errors
    /// One of them is under way.
    pub fn forget_session(&self, session: &str) -> Result<Forgotten, StoreError> {
        self.shared.with(|held| {
            let transaction = write(&mut held.connection)?;
            let under_way: Option<String> = transaction
                .query_row(
                    "SELECT id FROM turns WHERE session = ?1 AND status = 'running'",
                    [session],
                    |row| row.get(0),
                )
                .optional()?;
            if let Some(turn) = under_way {
                return Err(Fault::said(format!("the run `{turn}` of the session `{session}` is under way")));
            }
            let memories = transaction.execute(
                "DELETE FROM memories WHERE turn IN (SELECT id FROM turns WHERE session = ?1)",
                [session],
            )?;
            let turns = transaction.execute("DELETE FROM turns WHERE session = ?1", [session])?;
            transaction.commit()?;
            Ok(Forgotten { turns, memories, endings: 0, lingers: !held.empty_log()? })
        })
    }
}

/// Removes what a turn said of how it went; returns whether there was anything.
fn silence(transaction: &Transaction<'_>, turn: &str) -> rusqlite::Result<bool> {
    let mut gone = 0;
    for sql in [
        "DELETE FROM messages WHERE turn = ?1 AND role = 'assistant'",
        "UPDATE turns SET feedback = NULL WHERE id = ?1 AND feedback IS NOT NULL",
        "UPDATE cycles SET feedback = NULL WHERE turn = ?1 AND feedback IS NOT NULL",
    ] {
        gone += transaction.execute(sql, [turn])?;
    }
    Ok(gone > 0)
}

fn kept(row: &Row<'_>) -> Result<Kept, Fault> {
    let json: String = row.get(0)?;
    let memory = serde_json::from_str(&json)?;
    Ok(Kept { memory, session: row.get(1)?, turn: row.get(2)?, acknowledged: row.get(3)? })
}
