//! Owns the tables: how they are made, and whose database this is.
//!
//! It refuses the database of something else, and that of a newer tepa: what one does not understand one must not write into.

use rusqlite::{Connection, Transaction};

use super::fault::Fault;

/// Marks a database as ours: `tepa` in ASCII.
const APPLICATION: i32 = 0x7465_7061;

/// The version of the tables; one that older programs cannot use is a new one.
const VERSION: i32 = 1;

/// A record is kept whole, as JSON. What else stands beside it is for its order, for the rules of who reads it, and for people.
const TABLES: &str = "
CREATE TABLE turns (
    id TEXT PRIMARY KEY NOT NULL,
    session TEXT,
    goal TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'ack', 'nack', 'aborted')),
    reason TEXT,
    feedback TEXT,
    cycles INTEGER NOT NULL DEFAULT 0,
    tokensUsed INTEGER NOT NULL DEFAULT 0,
    startedAt TEXT NOT NULL,
    endedAt TEXT
);
CREATE INDEX turnsBySession ON turns (session);
CREATE INDEX turnsRunning ON turns (status) WHERE status = 'running';

CREATE TABLE cycles (
    turn TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    cycle INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    feedback TEXT,
    tokensUsed INTEGER NOT NULL,
    PRIMARY KEY (turn, cycle)
);

CREATE TABLE errors (
    sequence INTEGER PRIMARY KEY,
    turn TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    code TEXT NOT NULL,
    message TEXT NOT NULL
);
CREATE INDEX errorsByTurn ON errors (turn);

-- Files that were looked at; those without passages hold nothing that can be found.
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    UNIQUE (root, path)
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    fromByte INTEGER NOT NULL,
    toByte INTEGER NOT NULL,
    fromLine INTEGER NOT NULL,
    toLine INTEGER NOT NULL
);
CREATE INDEX passagesByFile ON passages (file);
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
";

/// The tables of records, with what people want to see of one beside its text.
const RECORDS: [(&str, &str); 5] = [
    ("memories", "source TEXT AS (record ->> '$.source'), trust TEXT AS (record ->> '$.trustTier')"),
    ("retrievables", "source TEXT AS (record ->> '$.source'), trust TEXT AS (record ->> '$.trustTier')"),
    ("messages", "role TEXT AS (record ->> '$.role')"),
    ("thoughts", "content TEXT AS (record ->> '$.content')"),
    ("toolCalls", "tool TEXT AS (record ->> '$.tool')"),
];

/// Returns whether a database has our tables; one that has none at all is there for us to make them.
///
/// # Errors
/// It has others.
pub(super) fn recognise(connection: &Connection, place: &str) -> Result<bool, Fault> {
    match (number(connection, "application_id")?, number(connection, "user_version")?) {
        (APPLICATION, VERSION) => Ok(true),
        (APPLICATION, newer) if newer > VERSION => Err(Fault::said(format!(
            "the store `{place}` was written by a newer tepa (version {newer} of its tables, this one knows {VERSION}): \
             use that one, or name another file in `turn.store.path`"
        ))),
        (0, 0) if is_empty(connection)? => Ok(false),
        _ => Err(Fault::said(format!(
            "`{place}` is the database of something else: name another file in `turn.store.path`"
        ))),
    }
}

/// Makes the tables where there are none, and writes in any case: whether that can be done is known then.
pub(super) fn migrate(transaction: &Transaction<'_>, place: &str) -> Result<(), Fault> {
    if !recognise(transaction, place)? {
        create(transaction)?;
    }
    Ok(transaction.pragma_update(None, "user_version", VERSION)?)
}

fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(TABLES)?;
    for (table, further) in RECORDS {
        transaction.execute_batch(&format!(
            "CREATE TABLE {table} (
                sequence INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                turn TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
                createdAt TEXT NOT NULL,
                record TEXT NOT NULL,
                {further}
            );
            CREATE INDEX {table}ByTurn ON {table} (turn);"
        ))?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
