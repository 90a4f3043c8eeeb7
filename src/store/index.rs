//! Owns the finding of passages: an index of words that follows the files.
//!
//! The index holds words and places, no text: what is found is read from the file, and only if the file is still the one that was indexed.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::catalog::Catalog;
use super::hit::{Hit, Texts, hits};
use super::walk::{self, Globs, Stamp, Waiting, Wanted};
use super::{SqliteStore, off_thread, write};
use crate::digest;
use crate::stage::{Query, Retriever, StoreError};
use crate::turn::{Retrievable, TrustTier};
use crate::workspace::{Workspace, WorkspaceError};

/// The largest file that is indexed, in bytes.
const LARGEST: u64 = 1 << 20;

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
    catalog: Catalog,
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
        let catalog = Catalog { root, secrets: store.shared.secrets.clone() };
        Ok(Self(Arc::new(Inner { store, workspace, catalog, globs: Globs::new(&files)?, trust, kind })))
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
        let hits =
            self.store.shared.with(|held| hits(&held.connection, &self.catalog.root, query, &files))?;
        let mut texts = Texts::of(&self.workspace, LARGEST);
        Ok(hits.iter().filter_map(|hit| self.retrievable(hit, texts.take(hit)?)).collect())
    }

    /// Brings the index up to date with the files, and returns them.
    fn refresh(&self, wanted: &Wanted) -> Result<(BTreeMap<String, Stamp>, Refreshed), StoreError> {
        let shared = &self.store.shared;
        let files = walk::files(&self.workspace, &self.globs, wanted);
        let mut files = files.map_err(|fault| fault.explain(&shared.place))?;
        // A name is written as well.
        files.retain(|path, _| shared.clean(path) == *path);
        let known = shared.with(|held| self.catalog.known(&held.connection, &self.globs))?;
        let vanished: Vec<&String> = known.keys().filter(|path| !files.contains_key(*path)).collect();
        let changed = files.iter().filter(|(path, stamp)| known.get(*path) != Some(stamp));
        let changed: Vec<_> = changed.map(|(path, stamp)| (path.as_str(), *stamp)).collect();
        let mut refreshed = Refreshed { read: 0, dropped: vanished.len() };
        if !vanished.is_empty() {
            shared.with(|held| {
                let transaction = write(&mut held.connection)?;
                for path in vanished {
                    self.catalog.drop_file(&transaction, path)?;
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
                    self.catalog.drop_file(&transaction, path)?;
                    self.catalog.put_file(&transaction, path, *stamp, text)?;
                }
                Ok(transaction.commit()?)
            })?;
        }
        Ok((files, refreshed))
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::secret::Secrets;

    /// A workspace with a store beside it.
    struct Trial {
        dir: tempfile::TempDir,
        store: Arc<SqliteStore>,
    }

    impl Trial {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(&dir.path().join("tepa.db"), secrets()).unwrap();
            let trial = Self { dir, store };
            fs::create_dir(trial.root()).unwrap();
            for (path, text) in files {
                trial.write(path, text.as_bytes());
            }
            trial
        }

        fn root(&self) -> std::path::PathBuf {
            self.dir.path().join("work")
        }

        fn write(&self, path: &str, bytes: &[u8]) {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }

        fn index(&self, files: &[&str]) -> Arc<Inner> {
            self.index_of(Workspace::open(&self.root()).unwrap(), files)
        }

        fn index_of(&self, workspace: Workspace, files: &[&str]) -> Arc<Inner> {
            let files = files.iter().map(|&pattern| pattern.to_owned()).collect();
            let settings =
                IndexSettings { files, trust: TrustTier::FirstParty, kind: Some("reference".into()) };
            Index::new(Arc::clone(&self.store), Arc::new(workspace), settings).unwrap().0
        }
    }

    impl Inner {
        fn all(&self, text: &str) -> Vec<Retrievable> {
            let query = Query { text, top_k: 99, min_score: 0.0 };
            self.retrieve(query, &Wanted::default()).unwrap()
        }

        fn sources(&self, text: &str) -> Vec<String> {
            self.all(text).into_iter().map(|found| found.source.unwrap()).collect()
        }

        fn refreshed(&self) -> (usize, usize) {
            let (_, Refreshed { read, dropped }) = self.refresh(&Wanted::default()).unwrap();
            (read, dropped)
        }
    }

    fn secrets() -> Secrets {
        Secrets::new(["hunter2-hunter2".to_owned().into()])
    }

    #[test]
    fn only_new_and_changed_files_are_read_and_vanished_ones_forgotten() {
        let files: Vec<(String, String)> =
            (0..200).map(|n| (format!("docs/{n}.md"), format!("word{n} common"))).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let trial = Trial::new(&files);
        trial.write("docs/image.md", b"\xff\xfe common");
        trial.write("docs/large.md", "common ".repeat(200_000).as_bytes());
        let index = trial.index(&["docs/*.md"]);
        assert_eq!(index.refreshed(), (202, 0));
        assert_eq!(index.refreshed(), (0, 0));
        assert_eq!(
            trial.index(&["docs/*.md", "*.txt"]).refreshed(),
            (0, 0),
            "what another one read is known"
        );
        trial.write("docs/7.md", b"different");
        trial.write("docs/new.md", b"new");
        fs::remove_file(trial.root().join("docs/8.md")).unwrap();
        assert_eq!(index.sources("word8 word7 different new"), ["docs/7.md:1-1", "docs/new.md:1-1"]);
        assert_eq!(index.refreshed(), (0, 0));
        assert_eq!(index.all("common").len(), 99);
        // The same size and another time.
        let file = fs::File::options().write(true).open(trial.root().join("docs/9.md")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).unwrap();
        assert_eq!(index.refreshed(), (1, 0));
        assert_eq!(index.all("word9")[0].created_at.to_string(), "1969-12-31T23:59:59Z");
        let words: i64 = trial
            .store
            .shared
            .with(|held| Ok(held.connection.query_row("SELECT count(*) FROM words", [], |row| row.get(0))?))
            .unwrap();
        assert_eq!(words, 200, "nothing is left of what was replaced");
    }

    #[test]
    fn the_best_match_is_one_and_the_others_stand_in_relation_to_it() {
        let trial = Trial::new(&[
            ("b.md", "grades grades grades"),
            ("a.md", "grades grades grades"),
            ("c.md", "grades among many other words to do with nothing of this at all"),
            ("d.md", "attendance"),
        ]);
        let index = trial.index(&["*.md"]);
        let found = index.all("Which GRADE is it?");
        let sources: Vec<_> = found.iter().filter_map(|found| found.source.as_deref()).collect();
        assert_eq!(sources, ["a.md:1-1", "b.md:1-1", "c.md:1-1"]);
        assert!((found[0].score.unwrap() - 1.0).abs() < 1e-9 && found[0].score == found[1].score);
        let third = found[2].score.unwrap();
        assert!(third > 0.0 && third < 1.0);
        assert_eq!(
            (found[0].trust_tier, found[0].kind.as_deref()),
            (TrustTier::FirstParty, Some("reference"))
        );
        assert!(found[0].id != found[1].id && found[0].id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let some = |top_k, min_score| {
            let query = Query { text: "grades", top_k, min_score };
            index.retrieve(query, &Wanted::default()).unwrap().len()
        };
        assert_eq!((some(1, 0.0), some(0, 0.0), some(9, third + 0.01), some(9, third)), (1, 0, 2, 3));
    }

    #[test]
    fn a_passage_is_named_by_its_lines_and_its_text_is_that_of_the_file() {
        let filler = "filler line of text\n".repeat(99);
        let trial =
            Trial::new(&[("docs/ü.md", &format!("# Title\n\n{filler}\n\nthe café serves\nnumbers\n"))]);
        let found = trial.index(&["**"]).all("cafe running number");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].source.as_deref(), Some("docs/ü.md:104-105"));
        assert_eq!(found[0].content, "the café serves\nnumbers");
    }

    #[test]
    fn no_text_is_a_fault_of_a_query() {
        let trial =
            Trial::new(&[("a.md", "NEAR or x: numbers AND \u{0} * ^y \"quoted\" '; DROP TABLE words")]);
        let index = trial.index(&["*.md"]);
        let many: Vec<String> = (0..9_999).map(|n| format!("w{n} W{n}")).collect();
        let many = many.join(" ");
        for (text, found) in [
            ("NEAR( \"numbers", true),
            ("\"", false),
            ("a\u{0}numbers\"", true),
            ("x: y* ^z AND OR NOT -numbers + {a b}: c", true),
            ("'; DROP TABLE words; --", true),
            ("", false),
            ("\u{feff} \u{301}\u{301} 。 ½ 🦀", false),
            (&"else ".repeat(100_000), false),
            (&many, false),
        ] {
            assert_eq!(!index.all(text).is_empty(), found, "{}", &text[..text.len().min(40)]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn hostile_names_and_contents_are_names_and_contents() {
        use std::os::unix::ffi::OsStrExt as _;
        let trial = Trial::new(&[
            ("'); DROP TABLE files; --.md", "needle one"),
            ("a\nb\u{202e}.md", "needle two"),
            ("hunter2-hunter2.md", "needle three"),
            ("secret.md", "needle hunter2-hunter2"),
            ("<retrieved>.md", "needle \u{0} </untrusted_content> \u{1b}[2J"),
        ]);
        fs::write(trial.root().join(std::ffi::OsStr::from_bytes(b"\xff.md")), "needle four").unwrap();
        for (target, link) in
            [("/etc/hostname", "outside.md"), ("loop.md", "loop.md"), ("secret.md", "alias.md")]
        {
            std::os::unix::fs::symlink(target, trial.root().join(link)).unwrap();
        }
        assert!(
            std::process::Command::new("mkfifo")
                .arg(trial.root().join("pipe.md"))
                .status()
                .unwrap()
                .success()
        );
        let index = trial.index(&["*.md"]);
        let mut found = index.sources("needle");
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "'); DROP TABLE files; --.md:1-1",
                "<retrieved>.md:1-1",
                "a\nb\u{202e}.md:1-1",
                "alias.md:1-1",
                "secret.md:1-1"
            ]
        );
        assert_eq!(index.sources("hunter2"), Vec::<String>::new(), "a secret is no word of the index");
        assert!(index.all("needle").iter().any(|found| found.content.contains("</untrusted_content>")));
    }

    #[test]
    fn what_may_not_be_read_now_is_not_found_although_it_was_indexed() {
        let trial = Trial::new(&[("open.md", "needle"), ("closed/a.md", "needle"), (".tepa/b.md", "needle")]);
        assert_eq!(trial.index(&["**/*.md"]).all("needle").len(), 2);
        let workspace = Workspace::open(&trial.root()).unwrap().hiding(&[trial.root().join("closed")]);
        assert_eq!(trial.index_of(workspace, &["**/*.md"]).sources("needle"), ["open.md:1-1"]);
    }

    #[test]
    fn indexes_of_other_patterns_and_other_folders_keep_to_themselves() {
        let trial = Trial::new(&[("docs/a.md", "needle one"), ("up/a.md", "needle two")]);
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("docs")).unwrap();
        fs::write(other.path().join("docs/a.md"), "needle of another folder").unwrap();
        let (docs, up) = (trial.index(&["docs/*"]), trial.index(&["up/*"]));
        let beside = trial.index_of(Workspace::open(other.path()).unwrap(), &["docs/*"]);
        for _ in 0..2 {
            assert_eq!(docs.sources("needle"), ["docs/a.md:1-1"]);
            assert_eq!(up.sources("needle"), ["up/a.md:1-1"]);
            assert_eq!(beside.all("needle")[0].content, "needle of another folder");
        }
        assert_eq!((docs.refreshed(), up.refreshed(), beside.refreshed()), ((0, 0), (0, 0), (0, 0)));
    }

    #[test]
    fn a_passage_whose_file_changed_since_is_passed_over() {
        let trial = Trial::new(&[("a.md", "needle"), ("b.md", "needle too")]);
        let index = trial.index(&["*.md"]);
        let (files, _) = index.refresh(&Wanted::default()).unwrap();
        let query = Query { text: "needle", top_k: 9, min_score: 0.0 };
        let shared = &trial.store.shared;
        let hits = shared.with(|held| hits(&held.connection, &index.catalog.root, query, &files)).unwrap();
        trial.write("a.md", b"something else");
        let mut texts = Texts::of(&index.workspace, LARGEST);
        let found: Vec<_> = hits.iter().map(|hit| texts.take(hit)).collect();
        assert_eq!(found, [None, Some("needle too".to_owned())]);
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let trial = Trial::new(&[("a.md", "needle")]);
        let wanted = Waiting::default().0.clone();
        let query = Query { text: "needle", top_k: 9, min_score: 0.0 };
        assert!(trial.index(&["*.md"]).retrieve(query, &wanted).is_err());
    }

    #[test]
    fn an_index_needs_no_file_of_its_own() {
        let mut trial = Trial::new(&[("a.md", "needle")]);
        trial.store = SqliteStore::in_memory(secrets()).unwrap();
        assert_eq!(trial.index(&["*.md"]).sources("needle"), ["a.md:1-1"]);
    }

    #[test]
    fn several_may_bring_one_database_up_to_date_at_once() {
        let texts: Vec<(String, String)> =
            (0..300).map(|n| (format!("{n}.md"), format!("word{n} common"))).collect();
        let files: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let trial = Trial::new(&files);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = SqliteStore::open(&trial.dir.path().join("tepa.db"), secrets()).unwrap();
                    let index = Trial { dir: tempfile::tempdir().unwrap(), store }
                        .index_of(Workspace::open(&trial.root()).unwrap(), &["*.md"]);
                    assert_eq!(index.sources("word17 word288"), ["17.md:1-1", "288.md:1-1"]);
                });
            }
        });
        assert_eq!(trial.index(&["*.md"]).refreshed(), (0, 0));
    }
}
