//! What holds of the store whoever uses it at the same time and however they end.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tepa::secret::Secrets;
use tepa::stage::{Owner, TurnStore as _};
use tepa::store::SqliteStore;
use tepa::turn::{
    Kind, Memory, Note, Record, Retrievable, Selection, Speaker, Thought, ToolCall, TrustTier, Turn, TurnEnd,
    TurnMessage, TurnStatus,
};

use support::{TEPA, finish, tepa};

fn open(path: &Path) -> Arc<SqliteStore> {
    SqliteStore::open(path, Secrets::default()).unwrap()
}

fn refusal(path: &Path) -> String {
    SqliteStore::open(path, Secrets::default()).unwrap_err().to_string()
}

fn turn(id: &str, session: Option<&str>) -> Turn {
    let started_at = "2026-03-01T08:00:00Z".parse().unwrap();
    Turn { id: id.into(), session: session.map(str::to_owned), goal: format!("goal of {id}"), started_at }
}

fn end(status: TurnStatus) -> TurnEnd {
    TurnEnd {
        status,
        reason: "passed".into(),
        feedback: "well done".into(),
        cycles: 2,
        tokens_used: 1234,
        ended_at: "2026-03-01T09:00:00Z".parse().unwrap(),
    }
}

fn memory(id: &str, content: &str, minute: u8) -> Memory {
    let at = format!("2026-03-01T08:{minute:02}:00.5Z").parse().unwrap();
    Memory {
        id: id.into(),
        content: content.into(),
        confidence: 0.7,
        importance: 0.5,
        source: Some("run:r1".into()),
        trust_tier: TrustTier::ThirdPartyPrivate,
        created_at: at,
        updated_at: at,
    }
}

/// Puts a turn with one memory, named after it, into a store.
async fn leave(store: &SqliteStore, id: &str, session: Option<&str>, minute: u8, status: TurnStatus) {
    store.begin(&turn(id, session)).await.unwrap();
    store.store(Owner { turn: id, session }, memory(id, id, minute).into()).await.unwrap();
    if status != TurnStatus::Running {
        store.settle(id, &end(status)).await.unwrap();
    }
}

async fn ids(store: &SqliteStore, kind: Kind, of: Selection) -> Vec<String> {
    store.fetch(kind, &of).await.unwrap().iter().map(|record| record.id().to_owned()).collect()
}

fn acknowledged() -> Selection {
    Selection { acknowledged: true, ..Selection::default() }
}

fn status_of(path: &Path, turn: &str) -> Option<String> {
    let sql = "SELECT status FROM turns WHERE id = ?1";
    Connection::open(path).unwrap().query_row(sql, [turn], |row| row.get(0)).ok()
}

/// This test binary again, as somebody else who uses a store.
struct Other(Child);

impl Other {
    fn start(role: &str, path: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "somebody_else", "--nocapture", "--test-threads=1"]);
        command.env("TEPA_STORE_ROLE", role).env("TEPA_STORE_PATH", path);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until it has said something.
    fn hear(&mut self) -> String {
        let mut lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        lines.find_map(|line| said(&line.unwrap())).expect("it ended early")
    }

    /// Lets it end by itself.
    fn release(mut self) {
        drop(self.0.stdin.take());
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Kills it, and returns what it had said, line by line.
    fn kill(mut self) -> Vec<String> {
        let ended = self.0.try_wait().unwrap();
        self.0.kill().unwrap();
        let output = self.0.wait_with_output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(ended.is_none(), "it ended by itself: {out}{errors}");
        // What stands behind the last line break was cut short.
        let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter_map(said).collect()
    }
}

/// Returns what a line says, if it is not the test runner's own; the runner does not end its own before the first one.
fn said(line: &str) -> Option<String> {
    line.split_once("SAID ").map(|(_, words)| words.to_owned())
}

/// Not a test: what another process does.
#[tokio::test]
async fn somebody_else() {
    let (Ok(role), Ok(path)) = (std::env::var("TEPA_STORE_ROLE"), std::env::var("TEPA_STORE_PATH")) else {
        return;
    };
    let say = |words: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "SAID {words}").unwrap();
        out.flush().unwrap();
    };
    let told_to_go = || std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let store = open(Path::new(&path));
    let id = format!("{role}-{}", std::process::id());
    match role.as_str() {
        // Has a turn under way until it is told to go, or killed.
        "runner" => {
            leave(&store, &id, Some("s"), 1, TurnStatus::Running).await;
            say(&id);
            told_to_go();
            store.settle(&id, &end(TurnStatus::Ack)).await.unwrap();
        }
        "visitor" => {
            leave(&store, &id, Some("s"), 1, TurnStatus::Ack).await;
            say(&id);
            told_to_go();
        }
        // Settles one turn after the other until it is killed.
        "writer" => {
            for n in 0.. {
                let id = format!("{id}-{n}");
                leave(&store, &id, Some("s"), 1, TurnStatus::Running).await;
                let note = Note::Cycle { cycle: 1, verdict: "pass".into(), feedback: None, tokens_used: 1 };
                store.note(&id, note).await.unwrap();
                store.settle(&id, &end(TurnStatus::Ack)).await.unwrap();
                say(&id);
            }
        }
        other => panic!("no such role: {other}"),
    }
}

#[tokio::test]
async fn every_kind_of_record_comes_back_as_it_was_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/folder/tepa.db");
    let store = open(&path);
    store.begin(&turn("one", None)).await.unwrap();
    let at = "2026-03-01T08:30:00Z".parse().unwrap();
    let (id, turn) = ("x".to_owned(), "one".to_owned());
    let content = "it's \"quoted\"; \u{0} DROP TABLE 'turns' ü".to_owned();
    let records: [Record; 5] = [
        memory("x", &content, 1).into(),
        Retrievable {
            id: id.clone(),
            content: content.clone(),
            trust_tier: TrustTier::ThirdPartyPublic,
            source: Some("docs/a.md:1-2".into()),
            kind: None,
            score: Some(0.25),
            created_at: at,
            updated_at: at,
        }
        .into(),
        TurnMessage {
            id: id.clone(),
            turn: turn.clone(),
            role: Speaker::User,
            content: content.clone(),
            created_at: at,
        }
        .into(),
        Thought { id: id.clone(), turn: turn.clone(), content: content.clone(), created_at: at }.into(),
        ToolCall {
            id: id.clone(),
            turn: turn.clone(),
            step: "s1".into(),
            tool: "file_read".into(),
            params: json!({"path": content, "n": [1, null]}),
            output: json!(null),
            error: Some("gone".into()),
            created_at: at,
        }
        .into(),
    ];
    let owner = Owner { turn: "one", session: None };
    for record in records {
        let kind = record.kind();
        store.store(owner, record.clone()).await.unwrap();
        store.store(owner, record.clone()).await.unwrap();
        store.mutate(record.clone()).await.unwrap();
        assert_eq!(store.fetch(kind, &Selection::default()).await.unwrap(), [record]);
        assert_eq!(store.delete(kind, "x").await, Ok(true));
        assert_eq!(store.fetch(kind, &Selection::default()).await.unwrap(), []);
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in ["tepa.db", "tepa.db-wal", "tepa.db-shm"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}");
    }
    for folder in [path.parent().unwrap(), &path.with_file_name("tepa.db.running")] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
}

#[tokio::test]
async fn records_are_those_of_a_session_of_turns_that_passed_the_newest_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("tepa.db"));
    for (id, session, minute, status) in [
        ("a1", Some("a"), 1, TurnStatus::Ack),
        ("a3", Some("a"), 3, TurnStatus::Ack),
        ("a2", Some("a"), 2, TurnStatus::Ack),
        ("failed", Some("a"), 4, TurnStatus::Nack),
        ("stopped", Some("a"), 5, TurnStatus::Aborted),
        ("under-way", Some("a"), 6, TurnStatus::Running),
        ("b1", Some("b"), 7, TurnStatus::Ack),
        ("alone", None, 8, TurnStatus::Ack),
    ] {
        leave(&store, id, session, minute, status).await;
    }
    let of = |session: &str, limit| Selection { session: Some(session.into()), limit, ..acknowledged() };
    assert_eq!(ids(&store, Kind::Memory, of("a", None)).await, ["a3", "a2", "a1"]);
    assert_eq!(ids(&store, Kind::Memory, of("a", Some(2))).await, ["a3", "a2"]);
    assert_eq!(ids(&store, Kind::Memory, of("a", Some(0))).await, [""; 0]);
    assert_eq!(ids(&store, Kind::Memory, of("b", None)).await, ["b1"]);
    assert_eq!(ids(&store, Kind::Memory, of("A", None)).await, [""; 0]);
    assert_eq!(ids(&store, Kind::Message, of("a", None)).await, [""; 0]);
    let one = Selection { turn: Some("failed".into()), ..Selection::default() };
    assert_eq!(ids(&store, Kind::Memory, one.clone()).await, ["failed"]);
    assert_eq!(ids(&store, Kind::Memory, Selection { acknowledged: true, ..one }).await, [""; 0]);
    assert_eq!(ids(&store, Kind::Memory, Selection::default()).await.len(), 8);
}

#[tokio::test]
async fn no_secret_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let secrets = Secrets::new(["hunter2-hunter2".to_owned().into()]);
    let store = SqliteStore::open(&path, secrets.clone()).unwrap();
    secrets.learn(["late-secret".to_owned().into()]);
    let text = "say hunter2-hunter2 and late-secret".to_owned();
    store.begin(&Turn { goal: text.clone(), ..turn("one", Some("late-secret")) }).await.unwrap();
    let owner = Owner { turn: "one", session: Some("late-secret") };
    store.store(owner, memory("m", &text, 1).into()).await.unwrap();
    let call = ToolCall {
        id: "hunter2-hunter2".into(),
        turn: "one".into(),
        step: text.clone(),
        tool: text.clone(),
        params: json!({ text.as_str(): [text] }),
        output: json!(text),
        error: Some(text.clone()),
        created_at: "2026-03-01T08:30:00Z".parse().unwrap(),
    };
    store.store(owner, call.into()).await.unwrap();
    let feedback = Some(text.clone());
    let note = Note::Cycle { cycle: 1, verdict: "fail".into(), feedback, tokens_used: 5 };
    store.note("one", note).await.unwrap();
    store.note("one", Note::Error { code: text.clone(), message: text.clone() }).await.unwrap();
    let ended = TurnEnd { feedback: text.clone(), reason: text, ..end(TurnStatus::Ack) };
    store.settle("one", &ended).await.unwrap();
    // By another process: SQLite's locks are those of this one.
    for secret in ["hunter2", "late-secret"] {
        let found = finish(Command::new("grep").args(["-rlaF", secret]).arg(dir.path()));
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    }
    let of = Selection { session: Some("late-secret".into()), ..acknowledged() };
    assert_eq!(store.fetch(Kind::Memory, &of).await.unwrap(), [memory("m", "say *** and ***", 1).into()]);
    assert_eq!(store.delete(Kind::ToolCall, "hunter2-hunter2").await, Ok(true));
}

#[tokio::test]
async fn every_text_of_a_turn_can_be_revised_and_those_of_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let store = open(&path);
    for id in ["one", "two"] {
        let text = format!("sk-{id}-sk");
        store.begin(&Turn { goal: text.clone(), ..turn(id, None) }).await.unwrap();
        let feedback = Some(text.clone());
        let note = Note::Cycle { cycle: 1, verdict: "pass".into(), feedback, tokens_used: 5 };
        store.note(id, note).await.unwrap();
        let note = Note::Cycle { cycle: 2, verdict: "pass".into(), feedback: None, tokens_used: 5 };
        store.note(id, note).await.unwrap();
        store.note(id, Note::Error { code: "x".into(), message: text.clone() }).await.unwrap();
        store.settle(id, &TurnEnd { feedback: text, ..end(TurnStatus::Ack) }).await.unwrap();
    }
    store.revise("one", Arc::new(|text| text.replace("sk-one", "***"))).await.unwrap();
    store.revise("absent", Arc::new(|_| String::new())).await.unwrap();
    drop(store);
    // With the last one who uses it goes the log as well.
    let found = |words: &str| {
        let found = finish(Command::new("grep").args(["-oaF", words]).arg(&path));
        String::from_utf8_lossy(&found.stdout).lines().count()
    };
    assert_eq!((found("sk-one"), found("***-sk"), found("sk-two-sk")), (0, 4, 4));
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_other_and_spare_each_others_turns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let (one, two) = (open(&path), open(&path));
    leave(&one, "one", Some("s"), 1, TurnStatus::Running).await;
    leave(&two, "two", Some("s"), 2, TurnStatus::Ack).await;
    let three = open(&path);
    assert_eq!(status_of(&path, "one").as_deref(), Some("running"));
    assert!(two.begin(&turn("one", None)).await.is_err());
    one.settle("one", &end(TurnStatus::Ack)).await.unwrap();
    assert_eq!(ids(&three, Kind::Memory, acknowledged()).await, ["two", "one"]);
    // Names that are no names of files.
    for id in ["", "../../up", "a/b", "\u{0}", &"x".repeat(5_000)] {
        leave(&three, id, None, 3, TurnStatus::Ack).await;
    }
    assert_eq!(fs::read_dir(dir.path().join("tepa.db.running")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[tokio::test]
async fn a_turn_whose_process_is_gone_is_aborted_and_one_whose_process_lives_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let (mut dies, mut lives) = (Other::start("runner", &path), Other::start("runner", &path));
    let (gone, alive) = (dies.hear(), lives.hear());
    dies.kill();
    fs::write(dir.path().join("tepa.db.running").join("0".repeat(64)), "").unwrap();
    let store = open(&path);
    assert_eq!(status_of(&path, &gone).as_deref(), Some("aborted"));
    assert_eq!(status_of(&path, &alive).as_deref(), Some("running"));
    assert_eq!(fs::read_dir(dir.path().join("tepa.db.running")).unwrap().count(), 1);
    assert!(store.settle(&gone, &end(TurnStatus::Ack)).await.is_err(), "it ended without a word");
    let mut dies = Other::start("runner", &path);
    let later = dies.hear();
    dies.kill();
    store.begin(&turn("next", None)).await.unwrap();
    assert_eq!(status_of(&path, &later).as_deref(), Some("aborted"));
    lives.release();
    assert_eq!(status_of(&path, &alive).as_deref(), Some("ack"));
    drop(store);
    assert_eq!(status_of(&path, "next").as_deref(), Some("running"));
    drop(open(&path));
    assert_eq!(status_of(&path, "next").as_deref(), Some("aborted"));
}

#[test]
fn many_may_begin_at_once_on_a_store_that_is_not_there_yet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".tepa/tepa.db");
    let mut others: Vec<Other> = (0..8).map(|_| Other::start("runner", &path)).collect();
    let ids: Vec<String> = others.iter_mut().map(Other::hear).collect();
    for id in &ids {
        assert_eq!(status_of(&path, id).as_deref(), Some("running"));
    }
    others.into_iter().for_each(Other::release);
    for id in &ids {
        assert_eq!(status_of(&path, id).as_deref(), Some("ack"));
    }
}

#[tokio::test]
async fn whoever_reads_the_file_in_the_same_process_loses_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let store = open(&path);
    store.begin(&turn("mine", Some("s"))).await.unwrap();
    // Closing it takes away the locks by which others know that this process is here.
    fs::read(&path).unwrap();
    let mut other = Other::start("visitor", &path);
    let theirs = other.hear();
    other.release();
    store.store(Owner { turn: "mine", session: None }, memory("mine", "mine", 2).into()).await.unwrap();
    store.settle("mine", &end(TurnStatus::Ack)).await.unwrap();
    let mut other = Other::start("visitor", &path);
    let last = other.hear();
    other.release();
    for id in [theirs.as_str(), "mine", &last] {
        assert_eq!(status_of(&path, id).as_deref(), Some("ack"), "{id}");
    }
}

#[test]
fn writers_that_are_killed_lose_nothing_that_they_were_told_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tepa.db");
    let mut told = BTreeSet::new();
    let mut state = 20_u64;
    let mut moment = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Duration::from_micros(state % 90_000)
    };
    for _ in 0..50 {
        let others = [Other::start("writer", &path), Other::start("writer", &path)];
        for other in others {
            // Whatever they are at then.
            std::thread::sleep(moment());
            told.extend(other.kill());
        }
    }
    let store = open(&path);
    let connection = Connection::open(&path).unwrap();
    let answer: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
    let ids = |sql: &str| -> BTreeSet<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let kept = ids("SELECT id FROM turns WHERE status = 'ack'");
    assert_eq!(told.difference(&kept).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(told.len() > 50, "only {} turns were settled", told.len());
    assert_eq!(ids("SELECT id FROM turns WHERE status = 'running'"), BTreeSet::new());
    let whole =
        ids("SELECT t.id FROM turns t JOIN memories m ON m.turn = t.id JOIN cycles c ON c.turn = t.id");
    assert!(kept.is_subset(&whole), "what was kept is whole");
    assert_eq!(fs::read_dir(dir.path().join("tepa.db.running")).unwrap().count(), 0);
    drop(store);
}

#[test]
fn what_is_no_store_of_this_version_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    drop(open(&at("newer.db")));
    Connection::open(at("newer.db")).unwrap().pragma_update(None, "user_version", 2).unwrap();
    let error = refusal(&at("newer.db"));
    assert!(
        error.contains("was written by a newer tepa (version 2 of its tables, this one knows 1)"),
        "{error}"
    );
    Connection::open(at("foreign.db")).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let before = fs::read(at("foreign.db")).unwrap();
    let error = refusal(&at("foreign.db"));
    assert!(error.contains("foreign.db` is the database of something else"), "{error}");
    assert_eq!(fs::read(at("foreign.db")).unwrap(), before);
    for left in ["foreign.db-wal", "foreign.db-shm", "foreign.db.running"] {
        assert!(!at(left).exists(), "{left}");
    }
    fs::write(at("text.db"), "no database, but rather a text of some length".repeat(99)).unwrap();
    let error = refusal(&at("text.db"));
    assert!(error.contains("text.db` is no store, nor a database at all: move it away"), "{error}");
    drop(open(&at("torn.db")));
    fs::OpenOptions::new().write(true).open(at("torn.db")).unwrap().set_len(5_000).unwrap();
    let error = refusal(&at("torn.db"));
    assert!(error.contains("torn.db` is damaged"), "{error}");
    fs::create_dir(at("folder.db")).unwrap();
    fs::write(at("target"), "").unwrap();
    std::os::unix::fs::symlink(at("target"), at("link.db")).unwrap();
    for name in ["folder.db", "link.db"] {
        let error = refusal(&at(name));
        assert!(error.contains(&format!("{name}` has to be a regular file")), "{error}");
    }
    assert_eq!(fs::read(at("target")).unwrap(), b"");
    assert!(refusal(&at("target/tepa.db")).contains("target/tepa.db` cannot be used"), "a file is no folder");
}

/// Somebody to whom permissions apply, with a binary that they may run.
fn nobody(folder: &TempDir) -> Option<impl Fn(&[&str]) -> (Option<i32>, String)> {
    const NOBODY: u32 = 65_534;
    let root = rustix::process::geteuid().is_root();
    if root && let Err(e) = Command::new("true").uid(NOBODY).gid(NOBODY).status() {
        assert!(std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "root cannot become another user: {e}");
        eprintln!("skipped: permissions do not apply to root, and root cannot become another user: {e}");
        return None;
    }
    let program = if root {
        let program = folder.path().join("tepa");
        // By another process: while this one has it open for writing, a child of another test may hold it open as well, and then it is busy.
        assert!(Command::new("cp").arg(TEPA).arg(&program).status().unwrap().success());
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let owner = format!("{NOBODY}:{NOBODY}");
        let given = Command::new("chown").args(["-R", &owner]).arg(folder.path().join("work")).status();
        assert!(given.unwrap().success());
        program
    } else {
        PathBuf::from(TEPA)
    };
    let work = folder.path().join("work");
    Some(move |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env_clear().current_dir(&work).stdin(Stdio::null());
        if root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = finish(&mut command);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

#[test]
fn a_store_that_cannot_be_written_is_refused_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let tepa = folder.path().join("work/.tepa");
    drop(open(&tepa.join("tepa.db")));
    let Some(run) = nobody(&folder) else { return };
    let mode = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    assert_eq!(run(&["memory", "list"]), (Some(0), String::new()));
    mode(&tepa.join("tepa.db"), 0o400);
    let (code, error) = run(&["memory", "list"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains(".tepa/tepa.db` is read-only: make it and its folder writable"), "{error}");
    mode(&tepa.join("tepa.db"), 0o000);
    let (code, error) = run(&["memory", "list"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains(".tepa/tepa.db` cannot be opened"), "{error}");
    mode(&tepa.join("tepa.db"), 0o600);
    for file in ["tepa.db-wal", "tepa.db-shm"] {
        let _ = fs::remove_file(tepa.join(file));
    }
    mode(&tepa, 0o500);
    let (code, error) = run(&["memory", "list"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains("make it and its folder writable"), "{error}");
    mode(&tepa, 0o700);
    assert_eq!(run(&["memory", "list"]), (Some(0), String::new()));
}

#[tokio::test]
async fn what_somebody_put_beside_the_database_is_neither_followed_nor_waited_for() {
    use std::os::unix::fs::symlink;
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let victim = outside.path().join("0".repeat(64));
    fs::write(&victim, "mine").unwrap();
    let path = dir.path().join("tepa.db");
    let running = dir.path().join("tepa.db.running");
    symlink(outside.path(), &running).unwrap();
    let error = refusal(&path);
    assert!(error.contains("tepa.db.running` has to be a folder, and no link to one: remove it"), "{error}");
    for ending in ["-wal", "-shm", "-journal"] {
        let link = dir.path().join(format!("tepa.db{ending}"));
        let _ = fs::remove_file(&link);
        symlink(&victim, &link).unwrap();
        let error = refusal(&path);
        assert!(error.contains(&format!("tepa.db{ending}` has to be a regular file")), "{error}");
        fs::remove_file(link).unwrap();
    }
    fs::remove_file(&running).unwrap();
    let store = open(&path);
    leave(&store, "gone", None, 1, TurnStatus::Ack).await;
    // A turn that was under way when its process died, and what a later command made of its file.
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    Connection::open(&path)
        .unwrap()
        .execute("INSERT INTO turns (id, goal, status, startedAt) VALUES (?1, '', 'running', '')", [id])
        .unwrap();
    let at = |name: &str| running.join(name);
    for pipe in [id, &"1".repeat(64), "pipe"] {
        assert!(Command::new("mkfifo").arg(at(pipe)).status().unwrap().success());
    }
    fs::write(at("Makefile"), "all:").unwrap();
    fs::write(at("notes"), "mine").unwrap();
    fs::write(at(&"2".repeat(64)), "left over").unwrap();
    fs::create_dir(at(&"3".repeat(64))).unwrap();
    symlink(&victim, at(&"4".repeat(64))).unwrap();
    store.begin(&turn("next", None)).await.unwrap();
    drop(open(&path));
    assert_eq!(status_of(&path, id).as_deref(), Some("aborted"));
    assert_eq!(status_of(&path, "next").as_deref(), Some("running"));
    assert!(!at(&"2".repeat(64)).exists());
    for name in [id, &"1".repeat(64), "pipe", "Makefile", "notes", &"3".repeat(64), &"4".repeat(64)] {
        assert!(fs::symlink_metadata(at(name)).is_ok(), "{name}");
    }
    // The folder is swapped for a link in mid-run.
    fs::rename(&running, dir.path().join("moved")).unwrap();
    symlink(outside.path(), &running).unwrap();
    store.settle("next", &end(TurnStatus::Ack)).await.unwrap();
    assert!(store.begin(&turn("last", None)).await.is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn people_list_show_and_forget_what_runs_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".tepa/tepa.db");
    let run = |arguments: &[&str]| {
        let output = finish(tepa(dir.path()).arg("memory").args(arguments));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, error) = run(&["list"]);
    assert_eq!(code, 2);
    assert!(error.contains("there is no store `.tepa/tepa.db`"), "{error}");
    assert!(!path.exists());
    let store = open(&path);
    for (id, session) in [("m1", "a"), ("m2", "a"), ("m3", "b")] {
        leave(&store, id, Some(session), 1, TurnStatus::Ack).await;
    }
    assert_eq!(
        run(&["list"]).1,
        "MEMORY  SESSION  WEIGHT  WRITTEN     WORDS\n\
         m3      b          0.35  2026-03-01  m3\n\
         m2      a          0.35  2026-03-01  m2\n\
         m1      a          0.35  2026-03-01  m1\n"
    );
    let (_, json, _) = run(&["list", "--session", "b", "--output", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 1);
    assert_eq!((&json[0]["memory"]["id"], &json[0]["session"]), (&json!("m3"), &json!("b")));
    let nothing = "no memory of a session `c` is in the store\n".to_owned();
    assert_eq!(run(&["list", "--session", "c"]), (0, String::new(), nothing.clone()));
    assert_eq!(run(&["list", "--session", "c", "--output", "json"]), (0, "[]\n".to_owned(), nothing));
    assert_eq!(run(&["list", "--session", "c", "-q"]), (0, String::new(), String::new()));
    assert!(run(&["show", "m1"]).1.contains("trust: third-party-private\n"));
    for arguments in [
        &["show", "m9"][..],
        &["forget", "m1", "m9"],
        &["forget", "--session", "c"],
        &["forget"],
        &["forget", "m1", "--session", "a"],
        &["list", "--store", "absent.db"],
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
    }
    assert_eq!(run(&["forget", "m1", "m1"]).2, "forgot 1 memory\n");
    let named = path.display().to_string();
    assert_eq!(
        run(&["forget", "--session", "a", "--store", &named]).2,
        "forgot 1 memory and all else that 2 runs left\n"
    );
    assert_eq!(
        run(&["list"]).1,
        "MEMORY  SESSION  WEIGHT  WRITTEN     WORDS\nm3      b          0.35  2026-03-01  m3\n"
    );
    assert_eq!(ids(&store, Kind::Memory, acknowledged()).await, ["m3"]);
    // What a memory says was said elsewhere as well.
    let words = "the gate code is in the drawer";
    store.begin(&turn("told", Some("b"))).await.unwrap();
    let owner = Owner { turn: "told", session: Some("b") };
    let source = Some("run:told".to_owned());
    store.store(owner, Memory { source, ..memory("m4", words, 2) }.into()).await.unwrap();
    for (id, role, content) in [("q", Speaker::User, "asked"), ("a", Speaker::Assistant, words)] {
        let (id, turn, content) = (id.to_owned(), "told".to_owned(), content.to_owned());
        let created_at = "2026-03-01T08:30:00Z".parse().unwrap();
        store.store(owner, TurnMessage { id, turn, role, content, created_at }.into()).await.unwrap();
    }
    let feedback = Some(words.to_owned());
    let note = Note::Cycle { cycle: 1, verdict: "pass".into(), feedback, tokens_used: 5 };
    store.note("told", note).await.unwrap();
    store.settle("told", &TurnEnd { feedback: words.to_owned(), ..end(TurnStatus::Ack) }).await.unwrap();
    let holds = || !finish(Command::new("grep").args(["-rlaF", words]).arg(dir.path())).stdout.is_empty();
    assert!(holds());
    assert_eq!(run(&["forget", "m4"]).2, "forgot 1 memory, and what 1 run said at the end\n");
    assert!(!holds());
    assert_eq!(ids(&store, Kind::Message, acknowledged()).await, ["q"]);
}
