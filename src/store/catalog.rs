//! Owns what the database knows of files: which there are, in which state they were, where their passages are and which words these have.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::fault::Fault;
use super::passage::{Passage, passages};
use super::walk::{Globs, Stamp};
use crate::secret::Secrets;

/// The files of one workspace in a database.
#[derive(Debug)]
pub(super) struct Catalog {
    /// Tells them from those of other workspaces in the same database.
    pub(super) root: String,
    pub(super) secrets: Secrets,
}

impl Catalog {
    /// Returns the files that match and that the database knows.
    pub(super) fn known(
        &self,
        connection: &Connection,
        globs: &Globs,
    ) -> Result<HashMap<String, Stamp>, Fault> {
        let mut statement =
            connection.prepare_cached("SELECT path, bytes, modified FROM files WHERE root = ?1")?;
        let rows = statement.query_map([&self.root], |row| {
            Ok((row.get::<_, String>(0)?, Stamp { bytes: row.get(1)?, modified: row.get(2)? }))
        })?;
        let about = rows.filter(|row| row.as_ref().map_or(true, |(path, _)| globs.is_match(path)));
        Ok(about.collect::<Result<_, _>>()?)
    }

    /// Takes a file out, if it is there.
    pub(super) fn drop_file(&self, connection: &Connection, path: &str) -> rusqlite::Result<()> {
        let file = "SELECT id FROM files WHERE root = ?1 AND path = ?2";
        let words =
            format!("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ({file}))");
        connection.prepare_cached(&words)?.execute([&self.root, path])?;
        connection
            .prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?
            .execute([&self.root, path])?;
        Ok(())
    }

    /// Puts a file in with the words of its passages, free of secrets.
    pub(super) fn put_file(
        &self,
        connection: &Connection,
        path: &str,
        stamp: Stamp,
        text: &str,
    ) -> Result<(), Fault> {
        connection
            .prepare_cached("INSERT INTO files (root, path, bytes, modified) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![self.root, path, stamp.bytes, stamp.modified])?;
        let file = connection.last_insert_rowid();
        let mut place = connection.prepare_cached(
            "INSERT INTO passages (file, fromByte, toByte, fromLine, toLine) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut words = connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        for Passage { bytes, from_line, to_line } in passages(text) {
            let content = self.secrets.redact(&text[bytes.clone()]);
            place.execute(params![
                file,
                number(bytes.start),
                number(bytes.end),
                number(from_line),
                number(to_line)
            ])?;
            words.execute(params![connection.last_insert_rowid(), content])?;
        }
        Ok(())
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
