//! Owns the finding of passages: an index of words that follows the files, and the ranking of what matches.
//!
//! The index holds words and places, no text: what is found is read from the file, and only if the file is still the one that was indexed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::passage::{Passage, passages};
use super::walk::{self, Globs, Stamp, Waiting, Wanted};
use super::{SqliteStore, off_thread, write};
use crate::digest;
use crate::stage::{Query, Retriever, StoreError};
use crate::turn::{Retrievable, TrustTier};
use crate::workspace::{Workspace, WorkspaceError};

/// The largest file that is indexed, in bytes.
const LARGEST: u64 = 1 << 20;

/// Most words of a query that count.
const MOST_WORDS: usize = 64;

/// Files that are written at once: others who write wait no longer than that takes.
const AT_ONCE: usize = 64;

/// What an index is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSettings {
    /// Patterns of paths, relative to the workspace.
    pub files: Vec<String>,
    /// How far what is found is trusted.
    pub trust: TrustTier,
    /// What sort of thing it is.
    pub kind: Option<String>,
}

/// Finds passages in files of a workspace.
#[derive(Debug, Clone)]
pub struct Index(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<SqliteStore>,
    workspace: Arc<Workspace>,
    /// Tells the files of this workspace from those of others in the same database.
    root: String,
    globs: Globs,
    trust: TrustTier,
    kind: Option<String>,
}

/// What was done to bring an index up to date.
#[derive(Debug, Default, PartialEq, Eq)]
struct Refreshed {
    read: usize,
    dropped: usize,
}

impl Index {
    /// Returns an index of files, which are looked at whenever something is looked for.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn new(
        store: Arc<SqliteStore>,
        workspace: Arc<Workspace>,
        settings: IndexSettings,
    ) -> Result<Self, StoreError> {
        let IndexSettings { files, trust, kind } = settings;
        let root = digest::sha256_of(&workspace.root().to_string_lossy());
        Ok(Self(Arc::new(Inner { store, workspace, root, globs: Globs::new(&files)?, trust, kind })))
    }
}

impl Retriever for Index {
    fn retrieve<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Vec<Retrievable>, StoreError>> {
        let (inner, text) = (Arc::clone(&self.0), query.text.to_owned());
        let (top_k, min_score) = (query.top_k, query.min_score);
        Box::pin(async move {
            // Dropped with this future.
            let waiting = Waiting::default();
            let wanted = waiting.0.clone();
            off_thread(move || inner.retrieve(Query { text: &text, top_k, min_score }, &wanted)).await
        })
    }
}

impl Inner {
    fn retrieve(&self, query: Query<'_>, wanted: &Wanted) -> Result<Vec<Retrievable>, StoreError> {
        let (files, refreshed) = self.refresh(wanted)?;
        tracing::debug!(files = files.len(), ?refreshed, "index");
        let Some(words) = words(query.text) else { return Ok(Vec::new()) };
        let hits = self.store.shared.with(|held| self.find(&held.connection, &words, query, &files))?;
        let mut texts = Texts { workspace: &self.workspace, read: HashMap::new() };
        Ok(hits.iter().filter_map(|hit| self.retrievable(hit, texts.of(hit)?)).collect())
    }

    /// Brings the index up to date with the files, and returns them.
    fn refresh(&self, wanted: &Wanted) -> Result<(BTreeMap<String, Stamp>, Refreshed), StoreError> {
        let shared = &self.store.shared;
        let files = walk::files(&self.workspace, &self.globs, wanted);
        let mut files = files.map_err(|fault| fault.explain(&shared.place))?;
        // A name is written as well.
        files.retain(|path, _| shared.clean(path) == *path);
        let known = shared.with(|held| self.known(&held.connection))?;
        let vanished: Vec<&String> = known.keys().filter(|path| !files.contains_key(*path)).collect();
        let changed = files.iter().filter(|(path, stamp)| known.get(*path) != Some(stamp));
        let changed: Vec<_> = changed.map(|(path, stamp)| (path.as_str(), *stamp)).collect();
        let mut refreshed = Refreshed { read: 0, dropped: vanished.len() };
        if !vanished.is_empty() {
            shared.with(|held| {
                let transaction = write(&mut held.connection)?;
                for path in vanished {
                    self.drop_file(&transaction, path)?;
                }
                Ok(transaction.commit()?)
            })?;
        }
        for some in changed.chunks(AT_ONCE) {
            let mut texts = Vec::with_capacity(some.len());
            for (path, stamp) in some {
                wanted.check().map_err(|fault| fault.explain(&shared.place))?;
                // What cannot be read now is tried again next time; what is no text will be none then.
                match self.workspace.read(path, LARGEST) {
                    Ok(bytes) => texts.push((*path, *stamp, String::from_utf8(bytes).unwrap_or_default())),
                    Err(WorkspaceError::TooLarge { .. }) => texts.push((*path, *stamp, String::new())),
                    Err(error) => tracing::debug!(path, %error, "passed over"),
                }
            }
            refreshed.read += texts.len();
            shared.with(|held| {
                let transaction = write(&mut held.connection)?;
                for (path, stamp, text) in &texts {
                    self.drop_file(&transaction, path)?;
                    self.put_file(&transaction, path, *stamp, text)?;
                }
                Ok(transaction.commit()?)
            })?;
        }
        Ok((files, refreshed))
    }

    /// Returns the files that this index is about and that the database knows.
    fn known(&self, connection: &Connection) -> Result<HashMap<String, Stamp>, Fault> {
        let mut statement =
            connection.prepare_cached("SELECT path, bytes, modified FROM files WHERE root = ?1")?;
        let rows = statement.query_map([&self.root], |row| {
            Ok((row.get::<_, String>(0)?, Stamp { bytes: row.get(1)?, modified: row.get(2)? }))
        })?;
        let about = rows.filter(|row| row.as_ref().map_or(true, |(path, _)| self.globs.is_match(path)));
        Ok(about.collect::<Result<_, _>>()?)
    }

    fn drop_file(&self, connection: &Connection, path: &str) -> rusqlite::Result<()> {
        let file = "SELECT id FROM files WHERE root = ?1 AND path = ?2";
        let words =
            format!("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ({file}))");
        connection.prepare_cached(&words)?.execute([&self.root, path])?;
        connection
            .prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?
            .execute([&self.root, path])?;
        Ok(())
    }

    fn put_file(&self, connection: &Connection, path: &str, stamp: Stamp, text: &str) -> Result<(), Fault> {
        connection
            .prepare_cached("INSERT INTO files (root, path, bytes, modified) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![self.root, path, stamp.bytes, stamp.modified])?;
        let file = connection.last_insert_rowid();
        let mut place = connection.prepare_cached(
            "INSERT INTO passages (file, fromByte, toByte, fromLine, toLine) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let mut words = connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        for Passage { bytes, from_line, to_line } in passages(text) {
            let content = self.store.shared.secrets.redact(&text[bytes.clone()]);
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

    fn find(
        &self,
        connection: &Connection,
        words: &str,
        query: Query<'_>,
        files: &BTreeMap<String, Stamp>,
    ) -> Result<Vec<Hit>, Fault> {
        let mut statement = connection.prepare_cached(
            "SELECT f.path, f.bytes, f.modified, p.fromByte, p.toByte, p.fromLine, p.toLine, bm25(words) AS rank \
             FROM words JOIN passages p ON p.id = words.rowid JOIN files f ON f.id = p.file \
             WHERE words MATCH ?1 AND f.root = ?2 ORDER BY rank, f.path, p.fromByte",
        )?;
        let mut rows = statement.query([words, &self.root])?;
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

    fn retrievable(&self, hit: &Hit, content: String) -> Option<Retrievable> {
        let source = format!("{}:{}-{}", hit.path, hit.lines.0, hit.lines.1);
        let modified = Timestamp::from_nanosecond(i128::from(hit.stamp.modified)).ok()?;
        Some(Retrievable {
            id: digest::sha256_of(&source)[..16].to_owned(),
            content,
            trust_tier: self.trust,
            source: Some(source),
            kind: self.kind.clone(),
            score: Some(hit.score),
            created_at: modified,
            updated_at: modified,
        })
    }
}

/// A passage that matches.
struct Hit {
    path: String,
    stamp: Stamp,
    bytes: (i64, i64),
    lines: (i64, i64),
    score: f64,
}

/// The files that passages are taken from.
struct Texts<'a> {
    workspace: &'a Workspace,
    read: HashMap<String, Option<String>>,
}

impl Texts<'_> {
    /// Returns the text of a passage, unless its file has changed since it was indexed.
    fn of(&mut self, hit: &Hit) -> Option<String> {
        let read = || {
            let text = String::from_utf8(self.workspace.read(&hit.path, LARGEST).ok()?).ok()?;
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

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
