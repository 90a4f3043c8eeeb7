//! Tries to lead the file tools out of the workspace, to hang them and to drown them.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::config::Network;
use tepa::process::Setting;
use tepa::tool::{Observation, Scratchpad, ToolContext};
use tepa::workspace::Workspace;

use support::{files_below, finish, result_of, tepa, text};

/// What no call may ever return.
const CANARY: &str = "canary";

/// A workspace with something outside of it that must stay there.
struct Ground {
    folder: TempDir,
    context: ToolContext,
    runtime: tokio::runtime::Runtime,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for inner in ["here", "outside/sub"] {
            fs::create_dir_all(folder.path().join(inner)).unwrap();
        }
        for file in ["outside/name", "outside/canary.txt", "outside/sub/canary.txt"] {
            fs::write(folder.path().join(file), CANARY).unwrap();
        }
        let workspace = Workspace::open(&folder.path().join("here")).unwrap();
        let context = ToolContext::new(
            Arc::new(workspace),
            Scratchpad::default(),
            Arc::new(Setting::default()),
            Duration::from_secs(600),
            jiff::Timestamp::UNIX_EPOCH,
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder, context, runtime }
    }

    fn work(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join("here").join(path)
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    /// Calls a built-in tool; one that hangs fails the test.
    fn call(&self, tool: &str, params: Value) -> Result<Value, String> {
        let tools = tepa::tools::built_in(&Network { allow_hosts: vec![] });
        let tool = tools.iter().find(|candidate| candidate.name() == tool).unwrap();
        self.runtime.block_on(async {
            let call = tokio::time::timeout(Duration::from_secs(120), tool.invoke(params, &self.context));
            call.await.unwrap_or_else(|_| panic!("`{}` hangs", tool.name())).map_err(|e| e.to_string())
        })
    }

    /// Calls every file tool with a path.
    fn every(&self, path: &str) -> Vec<(&'static str, Result<Value, String>)> {
        let calls = [
            ("file_read", json!({"path": path})),
            ("data_parse", json!({"input": path, "format": "yaml", "fromFile": true})),
            ("directory_list", json!({"path": path, "maxDepth": 3})),
            ("file_search", json!({"pattern": "**", "cwd": path})),
            ("file_write", json!({"path": path, "content": "written"})),
        ];
        calls.into_iter().map(|(tool, params)| (tool, self.call(tool, params))).collect()
    }

    /// Returns every file outside with what is in it.
    fn beyond(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = files_below(&self.outside());
        files.into_iter().map(|file| (file.clone(), fs::read(self.outside().join(file)).unwrap())).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let observations = self.context.take_observations().into_iter();
        let logged = observations.filter_map(|observation| match observation {
            Observation::Log { message, .. } => Some(message),
            _ => None,
        });
        logged.collect()
    }
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn no_way_leads_out() {
    let ground = Ground::new();
    let outside = ground.outside().display().to_string();
    for (target, link) in [
        ("..", "up"),
        ("../outside", "out"),
        (outside.as_str(), "absolute"),
        ("../outside/name", "file"),
        ("../outside/new", "dangling"),
        ("out", "chain"),
        ("/proc/self/environ", "environ"),
        ("/dev/zero", "zero"),
        ("/dev/full", "full"),
    ] {
        symlink(target, ground.work(link)).unwrap();
    }
    let before = ground.beyond();
    for path in [
        "..",
        "../outside",
        "../outside/name",
        "a/../../outside/name",
        "../here/../outside/name",
        "up/outside/name",
        "out/name",
        "out/sub/../name",
        "chain/canary.txt",
        "absolute/name",
        "file",
        "dangling",
        "environ",
        "zero",
        "full",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/../outside/name",
        "/dev/zero",
        "/dev/stdin",
        &outside,
        &format!("{outside}/name"),
        &format!("{}/../outside/name", ground.work("").display()),
    ] {
        for (tool, returned) in ground.every(path) {
            let error = returned.unwrap_err();
            assert_eq!(error, format!("`{path}` is outside the workspace"), "{tool}");
        }
    }
    assert_eq!(ground.beyond(), before);
    let names = fs::read_dir(ground.work("")).unwrap().count();
    assert_eq!(names, 9, "a refused call left something behind");
}

#[test]
fn pipes_sockets_and_loops_keep_nobody_waiting() {
    let ground = Ground::new();
    pipe(&ground.work("silent"));
    pipe(&ground.work("fed"));
    let _writer = fs::File::options().read(true).write(true).open(ground.work("fed")).unwrap();
    let _socket = UnixListener::bind(ground.work("socket")).unwrap();
    for (target, link) in
        [("silent", "link"), ("self", "self"), ("pong", "ping"), ("ping", "pong"), (".", "here")]
    {
        symlink(target, ground.work(link)).unwrap();
    }
    for path in ["silent", "fed", "socket", "link", "here/here/silent"] {
        for (tool, returned) in ground.every(path) {
            let expected = match tool {
                "directory_list" | "file_search" => format!("cannot open `{path}`: not a directory"),
                _ => format!("`{path}` is not a regular file"),
            };
            assert_eq!(returned, Err(expected), "{tool}");
        }
    }
    for path in ["self", "ping/x"] {
        for (tool, returned) in ground.every(path) {
            assert_eq!(returned, Err(format!("cannot look at `{path}`: too many symbolic links")), "{tool}");
        }
    }
    let listed = ground.call("directory_list", json!({"path": ".", "maxDepth": 32})).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, ["fed", "here", "link", "ping", "pong", "self", "silent", "socket"]);
    assert_eq!(ground.call("file_search", json!({"pattern": "**"})), Ok(json!([])));
}

#[test]
fn names_may_hold_anything() {
    let ground = Ground::new();
    let names = ["a\nb", "tab\there", "\u{1b}[31mred", " ", "-rf", "*", "ü", "$(id)", "back\\slash", "日本"];
    for name in names {
        let written = ground.call("file_write", json!({"path": name, "content": name})).unwrap();
        assert_eq!(written, json!({"path": name, "bytesWritten": name.len()}));
        assert_eq!(ground.call("file_read", json!({"path": name})), Ok(json!(name)));
    }
    let mut sorted = names.map(str::to_owned);
    sorted.sort();
    assert_eq!(ground.call("file_search", json!({"pattern": "**"})), Ok(json!(sorted)));
    assert_eq!(ground.warnings(), Vec::<String>::new());
    for path in ["nul\0", "a/\0/b"] {
        for (tool, returned) in ground.every(path) {
            assert!(returned.is_err(), "{tool}");
        }
    }
    for name in [b"caf\xe8", b"caf\xe9"] {
        fs::write(ground.work(OsStr::from_bytes(name)), "x").unwrap();
    }
    let listed = ground.call("directory_list", json!({"path": "."})).unwrap();
    assert_eq!(listed.as_array().unwrap().iter().filter(|entry| entry["name"] == "caf\u{fffd}").count(), 2);
    assert_eq!(ground.call("file_search", json!({"pattern": "caf*"})), Ok(json!([])));
    let warnings = ground.warnings();
    assert!(warnings.iter().any(|text| text.contains("is not UTF-8: only `shell_execute`")), "{warnings:?}");
    assert!(warnings.iter().any(|text| text.contains("2 places could not be read")), "{warnings:?}");
}

#[test]
fn a_sparse_file_of_5_gb_is_refused_found_and_measured() {
    let ground = Ground::new();
    let prompt = "goal: g\ncontext: {}\nexpectedOutput: [{path: big.csv, description: d}]\n";
    let replies = r"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: say, tools: [], expectedOutcome: said, dependencies: []}]}
  - {stage: step, step: one, text: it is said}
  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: done}}
";
    fs::write(ground.work("prompt.yaml"), prompt).unwrap();
    fs::write(ground.work("prompt.replay.yaml"), replies).unwrap();
    fs::File::create(ground.work("big.csv")).unwrap().set_len(5 << 30).unwrap();
    let error = ground.call("file_read", json!({"path": "big.csv"})).unwrap_err();
    assert!(
        error.starts_with("`big.csv` is larger than 4.2 MB: read a part of it with `offset` and `limit`"),
        "{error}"
    );
    let params = json!({"input": "big.csv", "format": "csv", "fromFile": true, "preview": 1});
    let error = ground.call("data_parse", params).unwrap_err();
    assert!(error.starts_with("`big.csv` is larger than 33.6 MB: "), "{error}");
    assert_eq!(ground.call("file_search", json!({"pattern": "*.csv"})), Ok(json!(["big.csv"])));
    let output = finish(tepa(&ground.work("")).args(["run", "prompt.yaml", "--provider", "replay"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let artifact = &result_of(&ground.work(""))["outputs"][0];
    assert_eq!((&artifact["bytes"], &artifact["sha256"]), (&json!(5_u64 << 30), &Value::Null));
}

#[test]
fn ten_thousand_files_are_listed_and_one_more_is_refused() {
    let ground = Ground::new();
    fs::create_dir(ground.work("many")).unwrap();
    for n in 0..10_000 {
        fs::write(ground.work("many").join(format!("{n:05}")), "").unwrap();
    }
    let list = || ground.call("directory_list", json!({"path": "many"}));
    let search = || ground.call("file_search", json!({"pattern": "**", "cwd": "many"}));
    let listed = list().unwrap();
    assert_eq!((listed.as_array().unwrap().len(), &listed[9_999]["name"]), (10_000, &json!("09999")));
    assert_eq!(search().unwrap().as_array().unwrap().len(), 10_000);
    fs::write(ground.work("many/one-more"), "").unwrap();
    assert!(list().unwrap_err().contains("holds more than 10000 entries"));
    assert!(search().unwrap_err().contains("matches more than 10000 files"));
    assert_eq!(ground.call("file_read", json!({"path": "many/one-more"})), Ok(json!("")));
}

#[test]
fn a_tree_that_is_deeper_than_anybody_nests_is_searched_as_far_as_it_goes() {
    let ground = Ground::new();
    let deep = "d/".repeat(300);
    fs::create_dir_all(ground.work(&deep)).unwrap();
    fs::write(ground.work(&deep).join("x"), "").unwrap();
    fs::write(ground.work("d/x"), "").unwrap();
    assert_eq!(ground.call("file_search", json!({"pattern": "**/x"})), Ok(json!(["d/x"])));
    assert!(ground.warnings()[0].contains("more than 128 folders deep"));
    assert!(ground.call("directory_list", json!({"path": ".", "maxDepth": 32})).is_ok());
    assert_eq!(ground.call("file_read", json!({"path": format!("{deep}x")})), Ok(json!("")));
}

#[test]
fn a_root_that_is_not_there_ends_the_command_before_anything_runs() {
    let ground = Ground::new();
    fs::write(ground.work("prompt.yaml"), "goal: g\ncontext: {}\nexpectedOutput: x\n").unwrap();
    fs::write(ground.work("prompt.replay.yaml"), "format: tepa.replay/1\nreplies: []\n").unwrap();
    let home = ground.work("").canonicalize().unwrap();
    for (list, path) in [("readable", "../absent"), ("writable", "~/absent")] {
        fs::write(ground.work("bounds.yaml"), format!("sandbox: {{{list}: ['{path}']}}\n")).unwrap();
        let mut command = tepa(&ground.work(""));
        command.args(["run", "prompt.yaml", "--provider", "replay", "--config", "bounds.yaml"]);
        let output = finish(command.env("HOME", &home));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("the sandbox cannot be set up"), "{stderr}");
        assert!(stderr.contains("absent` does not exist") && stderr.contains("hint: "), "{stderr}");
        assert!(!ground.work(".tepa").exists(), "something ran");
    }
}

/// Exchanges two names over and over, as long as it lives.
struct Swapping {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapping {
    fn new(pairs: Vec<(PathBuf, PathBuf)>) -> Self {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                for (one, other) in &pairs {
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

#[test]
fn what_turns_into_a_link_between_check_and_use_leads_nowhere() {
    let ground = Ground::new();
    for inner in ["door/sub", "records"] {
        fs::create_dir_all(ground.work(inner)).unwrap();
    }
    for file in ["door/name", "door/sub/name", "file"] {
        fs::write(ground.work(file), "inside").unwrap();
    }
    symlink(ground.outside(), ground.work("door-link")).unwrap();
    symlink("../outside/name", ground.work("file-link")).unwrap();
    pipe(&ground.work("pipe"));
    fs::create_dir(ground.work(".tepa")).unwrap();
    symlink(".tepa", ground.work("records-link")).unwrap();
    let before = ground.beyond();
    let swapped =
        [("door", "door-link"), ("file", "file-link"), ("file", "pipe"), ("records", "records-link")];
    let swapping = Swapping::new(swapped.map(|(one, other)| (ground.work(one), ground.work(other))).to_vec());
    let mut refused = 0;
    for _ in 0..200 {
        for path in
            ["door", "door/name", "door/sub", "file", "door-link/name", ".", "door/new", "records/new"]
        {
            for (tool, returned) in ground.every(path) {
                let shown = format!("{returned:?}");
                assert!(!shown.contains(CANARY), "`{tool}` of `{path}` returned {shown}");
                refused += usize::from(shown.contains("outside the workspace"));
            }
        }
    }
    drop(swapping);
    assert!(refused > 0, "nothing was swapped");
    assert_eq!(ground.beyond(), before);
    assert_eq!(fs::read_dir(ground.work(".tepa")).unwrap().count(), 0, "the records were written");
}

fn any_path(ground: &Ground) -> impl Strategy<Value = String> + use<> {
    let starts = ["", "/", "./", "../", "/proc/self/cwd/", "~/"].map(str::to_owned).to_vec();
    let starts =
        [starts, vec![format!("{}/", ground.work("").display()), format!("{}/", ground.outside().display())]];
    let parts = [
        "..",
        ".",
        "",
        "a",
        "b",
        "f",
        "in",
        "out",
        "up",
        "far",
        "name",
        ".tepa",
        ".TEPA",
        "tepa.yaml",
        "records",
        "outside",
        "here",
        "\n",
        "…",
    ];
    let parts = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..7);
    (prop::sample::select(starts.concat()), parts).prop_map(|(start, parts)| start + &parts.join("/"))
}

#[test]
fn no_path_of_any_words_reads_or_writes_what_is_outside() {
    let ground = Ground::new();
    for inner in ["a/b", ".tepa"] {
        fs::create_dir_all(ground.work(inner)).unwrap();
    }
    for file in ["f", "a/f", ".tepa/name", "tepa.yaml"] {
        fs::write(ground.work(file), "inside").unwrap();
    }
    let outside = ground.outside().display().to_string();
    for (target, link) in [
        ("a/b", "in"),
        ("..", "up"),
        ("../..", "a/up"),
        ("../outside", "out"),
        (&outside, "far"),
        ("../../outside/name", "a/name"),
        (".tepa", "records"),
        ("../tepa.yaml", "a/tepa.yaml"),
    ] {
        symlink(target, ground.work(link)).unwrap();
    }
    let before = ground.beyond();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let checked = runner.run(&any_path(&ground), |path| {
        for (tool, returned) in ground.every(&path) {
            let shown = format!("{returned:?}");
            prop_assert!(!shown.contains(CANARY), "`{}` returned {}", tool, shown);
        }
        prop_assert_eq!(ground.beyond(), before.clone());
        for file in [".tepa/name", "tepa.yaml"] {
            prop_assert_eq!(fs::read_to_string(ground.work(file)).unwrap(), "inside");
        }
        prop_assert_eq!(fs::read_dir(ground.work(".tepa")).unwrap().count(), 1);
        Ok(())
    });
    checked.unwrap();
}
