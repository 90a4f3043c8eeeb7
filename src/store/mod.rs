//! Owns the store of turns in SQLite, and the index in which passages of files are found.
//!
//! What was written stays written: several processes may use one file, each may be killed at any time. A file that cannot be written is
//! refused when it is opened, before anything is paid for. Secrets are taken out of every text on its way in.

mod catalog;
mod examine;
mod fault;
mod hit;
mod index;
mod living;
mod memories;
mod passage;
mod records;
mod schema;
mod walk;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use self::fault::Fault;
use self::living::Living;
use crate::secret::Secrets;
use crate::stage::StoreError;

pub use self::index::{Index, IndexSettings};
pub use self::memories::{Forgotten, Kept};

/// How long one waits for others who write.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The file, for messages.
    place: String,
    secrets: Secrets,
    held: Mutex<Held>,
}

/// What is used by one at a time.
#[derive(Debug)]
struct Held {
    connection: Connection,
    living: Living,
}

impl SqliteStore {
    /// Opens the store at `path`, which is made if it is not there; marks the turns whose process is gone.
    ///
    /// # Errors
    /// It cannot be read and written, or it is not of this version.
    pub fn open(path: &Path, secrets: Secrets) -> Result<Arc<Self>, StoreError> {
        let place = path.display().to_string();
        let open = || {
            let (connection, living) = connect(path)?;
            let mut held = Held { connection, living };
            // Not everything waits by itself while others are at it.
            let began = Instant::now();
            loop {
                match held.prepare(&place) {
                    Err(fault) if fault.passes() && began.elapsed() < PATIENCE => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    prepared => break prepared.map(|()| held),
                }
            }
        };
        let held = open().map_err(|fault| fault.explain(&place))?;
        Ok(Self::of(place, secrets, held))
    }

    /// Returns a store that ends with the process.
    pub fn in_memory(secrets: Secrets) -> Result<Arc<Self>, StoreError> {
        let place = "in memory".to_owned();
        let open = || {
            let mut held = Held { connection: Connection::open_in_memory()?, living: Living::default() };
            held.begin()?;
            let transaction = held.connection.transaction()?;
            schema::migrate(&transaction, &place)?;
            transaction.commit()?;
            Ok::<_, Fault>(held)
        };
        let held = open().map_err(|fault| fault.explain(&place))?;
        Ok(Self::of(place, secrets, held))
    }

    /// Returns the files of the store at `path`, which are no business of the tools of a run: who opens and closes one of them in this
    /// process takes away SQLite's locks on it.
    pub fn files(path: &Path) -> [PathBuf; 4] {
        [path.to_owned(), beside(path, "-wal"), beside(path, "-shm"), living::folder(path)]
    }

    fn of(place: String, secrets: Secrets, held: Held) -> Arc<Self> {
        Arc::new(Self { shared: Arc::new(Shared { place, secrets, held: Mutex::new(held) }) })
    }

    /// Does `work` where it may block.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, &mut Held) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        off_thread(move || shared.with(|held| work(&shared, held))).await
    }
}

/// Does `work` on a thread that may wait.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError("the process ends".to_owned())),
        },
    }
}

impl Shared {
    /// Does `work` alone.
    fn with<T>(&self, work: impl FnOnce(&mut Held) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut held).map_err(|fault| fault.explain(&self.place))
    }

    /// Returns a text as it may be written.
    fn clean(&self, text: &str) -> String {
        self.secrets.redact(text).into_owned()
    }
}

impl Held {
    /// Sets what does not last longer than a connection.
    fn begin(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "secure_delete", true)
    }

    /// Makes a database that was opened usable, and finds out whether it can be written.
    fn prepare(&mut self, place: &str) -> Result<(), Fault> {
        self.begin()?;
        // Nothing is changed in what is not ours. All of it is looked at as it was at one moment: somebody may be making it just now.
        let moment = self.connection.transaction()?;
        schema::recognise(&moment, place)?;
        moment.finish()?;
        let mode: String =
            self.connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(Fault::said(format!(
                "the store `{place}` cannot be shared with other runs there: name a file on a local disk in `turn.store.path`"
            )));
        }
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        let transaction = write(&mut self.connection)?;
        schema::migrate(&transaction, place)?;
        self.living.sweep(&transaction)?;
        transaction.commit()?;
        Ok(())
    }

    /// Moves what the log holds into the database and cuts the log to nothing; returns whether it could.
    fn empty_log(&self) -> rusqlite::Result<bool> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
    }
}

/// Begins to write; what was read in between has not changed.
fn write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Opens the database at `path`, which may lead through links but is none.
fn connect(path: &Path) -> Result<(Connection, Living), Fault> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    living::make_private(parent)?;
    let name = path.file_name().ok_or_else(|| Fault::said(format!("`{}` is no file", path.display())))?;
    let path = parent.canonicalize()?.join(name);
    let found = is_there(&path)?;
    for ending in ["-wal", "-shm", "-journal"] {
        is_there(&beside(&path, ending))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(&path, flags)?;
    #[cfg(unix)]
    if !found {
        // By its path: a handle of our own would, when it is closed, take away SQLite's locks. The files beside it get the same mode.
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = found;
    let living = Living::beside(&path)?;
    Ok((connection, living))
}

/// Returns whether there is a file of the store. SQLite would follow a link to one beside the database, which may have come with a clone, and
/// write where it leads; a pipe would keep it waiting.
fn is_there(path: &Path) -> Result<bool, Fault> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(Fault::said(format!(
            "`{}` has to be a regular file, and no link to one: remove it, or name another file in `turn.store.path`",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the path of a file beside the database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Owner, TurnStore as _};
    use crate::turn::{Memory, Selection, TrustTier, Turn, TurnEnd, TurnStatus};

    fn turn(id: &str) -> Turn {
        let started_at = "2026-03-01T08:00:00Z".parse().unwrap();
        Turn { id: id.to_owned(), session: Some("s".to_owned()), goal: "the goal".to_owned(), started_at }
    }

    fn end() -> TurnEnd {
        TurnEnd {
            status: TurnStatus::Ack,
            reason: "passed".to_owned(),
            feedback: "good".to_owned(),
            cycles: 1,
            tokens_used: u64::MAX,
            ended_at: "2026-03-01T08:01:00Z".parse().unwrap(),
        }
    }

    fn memory(id: &str, content: &str) -> Memory {
        let at = "2026-03-01T08:00:30Z".parse().unwrap();
        Memory {
            id: id.to_owned(),
            content: content.to_owned(),
            confidence: 0.5,
            importance: 0.5,
            source: None,
            trust_tier: TrustTier::FirstParty,
            created_at: at,
            updated_at: at,
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_said_and_takes_nothing_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("tepa.db"), Secrets::default()).unwrap();
        store.begin(&turn("one")).await.unwrap();
        let owner = Owner { turn: "one", session: Some("s") };
        store.store(owner, memory("kept", "kept").into()).await.unwrap();
        let limit = |pages: i64| {
            store
                .shared
                .with(|held| Ok(held.connection.pragma_update(None, "max_page_count", pages)?))
                .unwrap();
        };
        limit(1);
        let large = memory("large", &"x".repeat(1 << 20));
        let error = store.store(owner, large.into()).await.unwrap_err().to_string();
        assert!(error.contains("tepa.db` cannot grow, the disk is full: make room"), "{error}");
        limit(1 << 20);
        store.settle("one", &end()).await.unwrap();
        let of = Selection { acknowledged: true, ..Selection::default() };
        assert_eq!(
            store.fetch(crate::turn::Kind::Memory, &of).await.unwrap(),
            [memory("kept", "kept").into()]
        );
    }

    #[tokio::test]
    async fn what_is_forgotten_or_replaced_is_not_in_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tepa.db");
        let store = SqliteStore::open(&path, Secrets::default()).unwrap();
        let holds = |words: &str| {
            // In another process: a handle of this one would take the locks away.
            let found =
                std::process::Command::new("grep").arg("-rlaF").arg(words).arg(dir.path()).output().unwrap();
            !found.stdout.is_empty()
        };
        store.begin(&turn("one")).await.unwrap();
        let owner = Owner { turn: "one", session: Some("s") };
        store.store(owner, memory("a", "first wording").into()).await.unwrap();
        store.store(owner, memory("b", "what stays").into()).await.unwrap();
        assert!(holds("first wording"));
        store.mutate(memory("a", "second wording").into()).await.unwrap();
        store.settle("one", &end()).await.unwrap();
        let forgotten = Forgotten { turns: 0, memories: 1, endings: 0, lingers: false };
        assert_eq!(store.forget(&["a".to_owned()]), Ok(forgotten));
        assert!(!holds("first wording") && !holds("second wording") && holds("what stays"));
        assert_eq!(
            store.forget(&["b".to_owned(), "a".to_owned()]).unwrap_err().to_string(),
            "there is no memory `a`"
        );
        assert_eq!(store.memories(None).unwrap().len(), 1);
        store.begin(&turn("two")).await.unwrap();
        let error = store.forget_session("s").unwrap_err().to_string();
        assert_eq!(error, "the run `two` of the session `s` is under way");
        store.settle("two", &end()).await.unwrap();
        let forgotten = Forgotten { turns: 2, memories: 1, endings: 0, lingers: false };
        assert_eq!(store.forget_session("s"), Ok(forgotten));
        assert!(!holds("what stays") && !holds("the goal"));
        assert_eq!(store.forget_session("s").unwrap().turns, 0);
    }

    #[tokio::test]
    async fn a_turn_that_is_not_under_way_takes_nothing() {
        let store = SqliteStore::in_memory(Secrets::default()).unwrap();
        let owner = Owner { turn: "absent", session: None };
        let error = store.store(owner, memory("a", "a").into()).await.unwrap_err();
        assert_eq!(error.to_string(), "the turn `absent` is not in the store");
        assert!(store.settle("absent", &end()).await.is_err());
        store.begin(&turn("one")).await.unwrap();
        assert_eq!(
            store.begin(&turn("one")).await.unwrap_err().to_string(),
            "the turn `one` is in the store already"
        );
        store.settle("one", &end()).await.unwrap();
        let error = store.settle("one", &end()).await.unwrap_err();
        assert_eq!(error.to_string(), "the turn `one` is not under way in the store");
        let error = store.mutate(memory("a", "a").into()).await.unwrap_err();
        assert_eq!(error.to_string(), "there is no `a` among the memories of the store");
        let owner = Owner { turn: "one", session: None };
        let unsure = Memory { confidence: f64::NAN, ..memory("a", "a") };
        assert!(store.store(owner, unsure.into()).await.is_err());
        assert_eq!(store.delete(crate::turn::Kind::Memory, "a").await, Ok(false));
    }
}
