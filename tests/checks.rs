//! Checks in places that no folder of files can hold: permissions of the system, no room for scripts, a sandbox that gives way, commands that
//! leave something behind.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::outcome::Reason;
use tepa::process::{Leaving, Setting, Supervisor};
use tepa::sandbox::{LANDLOCK, Policy, probe};

use support::{Bench, TEPA, files_below, finish, gone, result_of, tepa, text, without_landlock};

/// The user and the group without rights, by their numbers.
const NOBODY: u32 = 65534;

/// A script that a check names.
const SCRIPT: &str = "#!/bin/sh\necho fine\n";

/// Returns a folder with `work`, where a task waits whose only step runs `script` and whose judge likes everything, and `temporary`.
fn task(script: &str, expected: &Value, config: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let step = json!({"id": "one", "description": "d", "tools": ["shell_execute"], "expectedOutcome": "e", "dependencies": []});
    let replies = json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 10, "steps": [step]}},
        {"stage": "step", "step": "one", "tool": "shell_execute", "toolUse": {"command": script}},
        {"stage": "evaluator", "json": {"verdict": "pass", "confidence": 0.9, "summary": "done"}},
    ]});
    let prompt = json!({"goal": "g", "context": {}, "expectedOutput": expected});
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("work")).unwrap();
    fs::create_dir(at("temporary")).unwrap();
    for (path, content) in
        [("work/prompt.json", &prompt), ("work/replies.json", &replies), ("config.json", config)]
    {
        fs::write(at(path), content.to_string()).unwrap();
    }
    fs::write(at("work/check.sh"), SCRIPT).unwrap();
    folder
}

/// Returns a run of the task as `command`, which is tepa.
fn of_task(mut command: Command, folder: &TempDir) -> Command {
    command.args(["run", "prompt.json", "--replay", "replies.json", "--config", "../config.json"]);
    command.args(["--max-cycles", "1"]).env("TMPDIR", folder.path().join("temporary"));
    command
}

fn run(folder: &TempDir) -> Output {
    finish(&mut of_task(tepa(&folder.path().join("work")), folder))
}

/// Asserts that there is no verdict because of a check, and why.
fn cannot(folder: &TempDir, output: &Output, why: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{why}: {stderr}");
    assert!(stderr.contains(why), "{why}: {stderr}");
    let result = result_of(&folder.path().join("work"));
    assert_eq!((&result["status"], &result["reason"]), (&json!(null), &json!("check_error")), "{result}");
}

/// Somebody to whom permissions apply: who runs the test, or the user without rights if that is the one to whom they do not.
struct Somebody {
    /// With a binary that everybody may run.
    program: Option<(TempDir, PathBuf)>,
}

impl Somebody {
    /// Returns nobody where there is no way to be another user; says so.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return Some(Self { program: None });
        }
        if let Err(e) = Command::new("true").uid(NOBODY).gid(NOBODY).status() {
            assert!(
                std::env::var_os("TEPA_TEST_EVERYTHING").is_none(),
                "root cannot become another user: {e}"
            );
            eprintln!("skipped: permissions do not apply to root, and root cannot become another user: {e}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tepa");
        // By another process: while this one has it open for writing, a child of another test may hold it open as well, and then it is busy.
        assert!(Command::new("cp").arg(TEPA).arg(&program).status().unwrap().success());
        mode(folder.path(), 0o755);
        mode(&program, 0o755);
        Some(Self { program: Some((folder, program)) })
    }

    /// Returns a run of the task, all of whose files are theirs from here on.
    fn run(&self, folder: &TempDir) -> Output {
        let work = folder.path().join("work");
        let Some((_, program)) = &self.program else { return run(folder) };
        give(folder.path());
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", work.join("no-home")).current_dir(&work).uid(NOBODY).gid(NOBODY);
        finish(&mut of_task(command, folder))
    }
}

/// Gives a folder with everything in it to the user without rights.
fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Opens what was closed, so that it can be removed.
fn open(folder: &TempDir, paths: &[&str]) {
    for path in paths {
        let path = folder.path().join(path);
        if path.exists() {
            mode(&path, 0o755);
        }
    }
}

#[test]
fn what_the_system_does_not_let_tepa_look_at_is_no_verdict() {
    let Some(somebody) = Somebody::new() else { return };
    let hash = "a".repeat(64);
    let denied = "Permission denied (os error 13)";
    for (path, check, passes_elsewhere) in [
        ("closed/a.txt", json!({"exists": true}), true),
        ("closed/a.txt", json!({"absent": true}), false),
        ("closed/none.txt", json!({"absent": true}), true),
        ("closed/a.txt", json!({"minBytes": 1}), true),
        ("closed/a.txt", json!({"maxBytes": 1}), true),
        ("a.txt", json!({"contains": "x"}), true),
        ("a.txt", json!({"notContains": "y"}), true),
        ("a.txt", json!({"matches": "x"}), true),
        ("a.txt", json!({"notMatches": "y"}), true),
        ("a.txt", json!({"json": {"schema": true}}), false),
        ("a.txt", json!({"csv": {}}), true),
        ("a.txt", json!({"yaml": true}), true),
        ("a.txt", json!({"sha256": hash}), false),
        ("closed/a.txt", json!({"unchanged": true}), true),
        ("prompt.json", json!({"command": {"run": "sh a.txt"}}), false),
    ] {
        let (name, _) = check.as_object().unwrap().iter().next().unwrap();
        // Which comes first is named: what has a path has to exist as well.
        let mut checks = vec![check.clone()];
        if !["exists", "absent"].contains(&name.as_str()) {
            checks.push(json!({"exists": true}));
        }
        let expected = json!([{"path": path, "description": "d", "checks": checks}]);
        let folder = task("true", &expected, &json!({}));
        let work = folder.path().join("work");
        fs::create_dir(work.join("closed")).unwrap();
        fs::write(work.join("a.txt"), "x").unwrap();
        fs::write(work.join("closed/a.txt"), "x").unwrap();
        let close = |mode_of_file, mode_of_folder| {
            mode(&work.join("a.txt"), mode_of_file);
            mode(&work.join("closed"), mode_of_folder);
        };
        if name != "command" {
            let output = somebody.run(&folder);
            let code = i32::from(!passes_elsewhere);
            assert_eq!(output.status.code(), Some(code), "{check}: {}", text(&output.stderr));
            fs::remove_dir_all(work.join(".tepa")).unwrap();
        }
        close(0o000, 0o000);
        let output = somebody.run(&folder);
        close(0o644, 0o755);
        cannot(&folder, &output, &format!("check `{name}` of `{path}` cannot be run: cannot "));
        assert!(text(&output.stderr).contains(denied), "{}", text(&output.stderr));
    }
}

#[test]
fn a_size_needs_no_permission_to_read() {
    let Some(somebody) = Somebody::new() else { return };
    let expected =
        json!([{"path": "a.txt", "description": "d", "checks": [{"minBytes": 1}, {"maxBytes": 1}]}]);
    let folder = task("printf x > a.txt; chmod 000 a.txt", &expected, &json!({}));
    let output = somebody.run(&folder);
    open(&folder, &["work/a.txt"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn nobody_knows_that_a_folder_is_unchanged_in_which_something_is_closed() {
    let Some(somebody) = Somebody::new() else { return };
    let expected = json!([{"path": "terms", "description": "d", "checks": [{"unchanged": true}]}]);
    let folder = task("true", &expected, &json!({}));
    let new = folder.path().join("work/terms/new");
    fs::create_dir_all(&new).unwrap();
    mode(&new, 0o000);
    let output = somebody.run(&folder);
    open(&folder, &["work/terms/new"]);
    cannot(&folder, &output, "check `unchanged` of `terms` cannot be run: cannot look at `terms/new`: ");
    // What is known to have changed has changed.
    let folder = task("echo x > terms/x; mkdir -m 000 terms/new", &expected, &json!({}));
    fs::create_dir(folder.path().join("work/terms")).unwrap();
    let output = somebody.run(&folder);
    open(&folder, &["work/terms/new"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = "`terms/new` was made unreadable, `terms/x` was created";
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
}

#[test]
fn a_protected_folder_that_a_run_closes_is_not_what_it_was() {
    let Some(somebody) = Somebody::new() else { return };
    let script = "mkdir -p .github/workflows; echo x > .github/workflows/x.yml; chmod 000 .github/workflows";
    let expected = json!([{"description": "d", "checks": [{"command": {"run": "true"}}]}]);
    let folder = task(script, &expected, &json!({}));
    let output = somebody.run(&folder);
    open(&folder, &["work/.github/workflows"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = "protected file \".github/workflows\" was made unreadable";
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
}

#[test]
fn where_scripts_have_no_room_the_check_cannot_be_run() {
    let off = json!({"sandbox": {"mode": "off"}});
    let expected = json!([{"description": "d", "checks": [{"command": {"run": "sh check.sh"}}]}]);
    let script = "rmdir ../temporary";
    let folder = task(script, &expected, &off);
    let output = run(&folder);
    let place = folder.path().join("temporary").display().to_string();
    let why = format!("check `command` cannot be run: its scripts cannot be copied to `{place}`: ");
    cannot(&folder, &output, &why);
    assert!(text(&output.stderr).contains("No such file or directory"), "{}", text(&output.stderr));

    let folder = task("true", &expected, &off);
    let place = folder.path().join("a place");
    fs::create_dir(&place).unwrap();
    let output = finish(of_task(tepa(&folder.path().join("work")), &folder).env("TMPDIR", &place));
    cannot(&folder, &output, "the name has blanks or quotes");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);

    // A command that names no script needs no room.
    let expected = json!([{"description": "d", "checks": [{"command": {"run": "echo fine"}}]}]);
    let output = run(&task(script, &expected, &off));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn where_scripts_may_not_be_written_the_check_cannot_be_run() {
    let Some(somebody) = Somebody::new() else { return };
    let expected = json!([{"description": "d", "checks": [{"command": {"run": "sh check.sh"}}]}]);
    let folder = task("true", &expected, &json!({"sandbox": {"mode": "off"}}));
    mode(&folder.path().join("temporary"), 0o555);
    let output = somebody.run(&folder);
    cannot(&folder, &output, "check `command` cannot be run: its scripts cannot be copied to `");
    assert!(text(&output.stderr).contains("Permission denied"), "{}", text(&output.stderr));

    // The sandbox needs room as well, and before a token is spent.
    let folder = task("true", &expected, &json!({}));
    mode(&folder.path().join("temporary"), 0o555);
    let output = somebody.run(&folder);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("cannot make a folder for temporary files"), "{stderr}");
}

/// Returns what a kernel offers, or nothing where there is nothing to test; says so.
fn landlock() -> Option<i32> {
    let policy = Policy { writable: vec![], hidden: vec![], network: false, landlock: LANDLOCK };
    let offered = probe(&policy).unwrap().landlock;
    assert!(offered > 0 || std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "this kernel has no Landlock");
    if offered == 0 {
        eprintln!("skipped: this kernel has no Landlock");
    }
    (offered > 0).then_some(offered)
}

#[test]
fn a_command_does_not_run_where_the_sandbox_gave_way_since_the_run_began() {
    let Some(offered) = landlock() else { return };
    let replies = json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 10, "steps": [
            {"id": "one", "description": "d", "tools": ["file_write"], "expectedOutcome": "e", "dependencies": []}]}},
        {"stage": "step", "step": "one", "tool": "file_write", "toolUse": {"path": "made", "content": "x"}},
        {"stage": "evaluator", "json": {"verdict": "pass", "confidence": 0.9, "summary": "done"}},
    ]});
    // The last is for the run to make, and no fault of it.
    for (line, shown) in [
        (json!("touch started"), "touch started"),
        (json!(["touch", "started"]), "touch started"),
        (json!(["./made"]), "./made"),
    ] {
        let prompt = json!({"goal": "g", "context": {}, "expectedOutput": [
            {"description": "d", "checks": [{"command": {"run": line}}]},
            {"description": "d", "path": "made"}]});
        let config = json!({"sandbox": {"required": true}});
        let replies = replies.clone();
        let bench = move |landlock: i32| {
            let mut bench = Bench::new(&prompt.to_string(), &replies.to_string(), &config);
            let writable = vec![bench.folder.path().to_owned()];
            let policy = Policy { writable, hidden: vec![], network: false, landlock };
            let path = std::env::var_os("PATH").unwrap_or_default();
            bench.pipeline.setting = Arc::new(Setting {
                environment: BTreeMap::from([("PATH".into(), path)]),
                supervisor: Some(Supervisor::new(TEPA.into(), Some(policy), Leaving::default())),
            });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let finished = runtime.block_on(bench.run());
            let started = bench.folder.path().join("started").exists();
            (finished.settlement, started)
        };
        let (settlement, started) = without_landlock({
            let bench = bench.clone();
            move || bench(offered)
        });
        assert_eq!((settlement.exit_code(), settlement.reason()), (4, Reason::CheckError), "{shown}");
        let said = format!("{settlement:?}");
        let why = format!(
            "check `command` cannot be run: `{shown}`: the kernel confines less than it did when the run began"
        );
        assert!(said.contains(&why), "{said}");
        assert!(!started);
        if shown == "touch started" {
            let (settlement, started) = bench(offered);
            assert_eq!((settlement.exit_code(), started), (0, true), "{settlement:?}");
        }
    }
}

#[test]
fn where_a_sandbox_is_required_and_cannot_be_had_no_check_is_run() {
    let expected = json!([{"description": "d", "checks": [{"command": {"run": "touch started"}}]}]);
    let folder = task("true", &expected, &json!({"sandbox": {"required": true}}));
    let mut command = of_task(tepa(&folder.path().join("work")), &folder);
    let output = without_landlock(move || finish(&mut command));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("`sandbox.required` demands"), "{}", text(&output.stderr));
    assert!(!folder.path().join("work/started").exists());
}

/// A child, one that left its session, and an orphan, whose ids are written down before the command goes on.
const FAMILY: &str = "sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; \
    (setsid sleep 1000 & echo $! >> pids); sh check.sh > /dev/null; ";

#[test]
fn nothing_of_a_command_is_left_when_its_check_is_done() {
    for (mode, end, timeout, code) in [
        ("workspace-write", "true", "10m", 0),
        ("off", "true", "10m", 0),
        ("workspace-write", "sleep 1000", "1s", 1),
        ("off", "sleep 1000", "1s", 1),
    ] {
        let check = json!({"command": {"run": format!("{FAMILY}{end}"), "timeout": timeout}});
        let expected = json!([{"description": "d", "checks": [check]}]);
        let folder = task("true", &expected, &json!({"sandbox": {"mode": mode}}));
        let output = run(&folder);
        assert_eq!(output.status.code(), Some(code), "{mode}, {end}: {}", text(&output.stderr));
        let pids = fs::read_to_string(folder.path().join("work/pids")).unwrap();
        assert_eq!(pids.lines().count(), 3, "{pids}");
        // Not eventually: tepa leaves when they have.
        for pid in pids.lines() {
            assert!(gone(pid).is_some(), "{pid} of {pids:?} is left: {mode}, {end}");
        }
        assert_eq!(files_below(&folder.path().join("temporary")), Vec::<PathBuf>::new());
        assert_eq!(fs::read_dir(folder.path().join("temporary")).unwrap().count(), 0);
    }
}
