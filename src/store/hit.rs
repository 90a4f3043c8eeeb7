//! Owns what matches a query: its words, the ranking, and the text, which is read from the file.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use super::fault::Fault;
use super::walk::Stamp;
use crate::stage::Query;
use crate::workspace::Workspace;

/// Most words of a query that count.
const MOST_WORDS: usize = 64;

/// A passage that matches.
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) stamp: Stamp,
    bytes: (i64, i64),
    pub(super) lines: (i64, i64),
    pub(super) score: f64,
}

/// Returns the best matches of a query in files below `root`, best first.
pub(super) fn hits(
    connection: &Connection,
    root: &str,
    query: Query<'_>,
    files: &BTreeMap<String, Stamp>,
) -> Result<Vec<Hit>, Fault> {
    let Some(words) = words(query.text) else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(
        "SELECT f.path, f.bytes, f.modified, p.fromByte, p.toByte, p.fromLine, p.toLine, bm25(words) AS rank \
             FROM words JOIN passages p ON p.id = words.rowid JOIN files f ON f.id = p.file \
             WHERE words MATCH ?1 AND f.root = ?2 ORDER BY rank, f.path, p.fromByte",
    )?;
    let mut rows = statement.query([words.as_str(), root])?;
    let mut hits = Vec::new();
    let mut best = None;
    while hits.len() < query.top_k {
        let Some(row) = rows.next()? else { break };
        let path: String = row.get(0)?;
        let stamp = Stamp { bytes: row.get(1)?, modified: row.get(2)? };
        // There are other indexes in the same tables.
        if files.get(&path) != Some(&stamp) {
            continue;
        }
        // The better, the further below zero.
        let rank: f64 = row.get(7)?;
        let score = if rank < 0.0 { rank / *best.get_or_insert(rank) } else { 0.0 };
        if score < query.min_score {
            break;
        }
        let bytes = (row.get::<_, i64>(3)?, row.get::<_, i64>(4)?);
        hits.push(Hit { path, stamp, bytes, lines: (row.get(5)?, row.get(6)?), score });
    }
    Ok(hits)
}

/// The files that passages are taken from.
pub(super) struct Texts<'a> {
    workspace: &'a Workspace,
    /// The largest file that is read, in bytes.
    largest: u64,
    read: HashMap<String, Option<String>>,
}

impl<'a> Texts<'a> {
    pub(super) fn of(workspace: &'a Workspace, largest: u64) -> Self {
        Self { workspace, largest, read: HashMap::new() }
    }

    /// Returns the text of a passage, unless its file has changed since it was indexed.
    pub(super) fn take(&mut self, hit: &Hit) -> Option<String> {
        let read = || {
            let text = String::from_utf8(self.workspace.read(&hit.path, self.largest).ok()?).ok()?;
            (Stamp::of(self.workspace, &hit.path) == Some(hit.stamp)).then_some(text)
        };
        let text = self.read.entry(hit.path.clone()).or_insert_with(read).as_ref()?;
        let at = |byte: i64| usize::try_from(byte).ok();
        text.get(at(hit.bytes.0)?..at(hit.bytes.1)?).map(str::to_owned)
    }
}

/// Returns a query for any of the words of a text; none when there are none. What people write is no query by itself.
fn words(text: &str) -> Option<String> {
    let mut seen = HashSet::new();
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control() || c.is_ascii_punctuation());
    let words = parts.filter(|word| !word.is_empty()).map(str::to_lowercase);
    let words = words.filter(|word| seen.insert(word.clone())).take(MOST_WORDS);
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_its_words_each_once_and_not_too_many() {
        assert_eq!(
            words("Read \"a/b\", read NEAR(c*"),
            Some(r#""read" OR "a" OR "b" OR "near" OR "c""#.to_owned())
        );
        assert_eq!(words(" \u{0}*-\"\n"), None);
        let many: Vec<String> = (0..9_999).map(|n| format!("w{n} W{n}")).collect();
        let query = words(&many.join(" ")).unwrap();
        assert!(query.ends_with(r#" OR "w63""#), "{query}");
    }
}
