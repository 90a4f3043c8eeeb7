//! What commands may touch and what is left of them: the sandbox of the kernel, at each of its levels, and the supervisor that sees them off.

#![cfg(test)]
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::journal;
use tepa::sandbox::{Enforcement, LANDLOCK, Policy, Restriction, probe};

use support::{TEPA, eventually, finish, gone, result_of, tepa, text, without_landlock};

/// Returns a folder with a task of one step that runs `script`, which the judge likes.
fn task(script: &str, config: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let reply =
        json!({"stage": "step", "step": "one", "tool": "shell_execute", "toolUse": {"command": script}});
    let replies = json!({"format": "tepa.replay/1", "replies": [
        {"stage": "planner", "json": {"reasoning": "r", "estimatedTokens": 10, "steps": [{
            "id": "one", "description": "run it", "tools": ["shell_execute"], "expectedOutcome": "it ran", "dependencies": []}]}},
        reply,
        {"stage": "evaluator", "json": {"verdict": "pass", "confidence": 0.9, "summary": "done"}},
    ]});
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("prompt.json"), r#"{"goal": "g", "context": {}, "expectedOutput": "e"}"#).unwrap();
    fs::write(work.join("replies.json"), replies.to_string()).unwrap();
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    folder
}

fn command(folder: &TempDir) -> Command {
    let mut command = tepa(&folder.path().join("work"));
    command.args(["run", "prompt.json", "--replay", "replies.json", "--config", "../config.json", "-q"]);
    command
}

/// Runs `script` as a step of a run; returns what the tool returned.
fn shell(folder: &TempDir) -> Value {
    let output = finish(&mut command(folder));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    event(folder, "tool.completed")["output"].clone()
}

/// Returns the first event of a type.
fn event(folder: &TempDir, kind: &str) -> Value {
    let runs = folder.path().join("work/.tepa/runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let mut events = Vec::new();
    let record = journal::open_record(&run).unwrap();
    journal::read(&run, record, |envelope| events.push(serde_json::to_value(&*envelope.event).unwrap()))
        .unwrap();
    events.into_iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Returns what the kernel of this machine confines.
fn kernel() -> Restriction {
    let policy = Policy { writable: vec![], hidden: vec![], network: false, landlock: LANDLOCK };
    probe(&policy).unwrap()
}

/// Whether there is nothing to test; says so.
fn skipped() -> bool {
    let nothing = kernel().enforcement() == Enforcement::None;
    assert!(!nothing || std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "this kernel confines nothing");
    if nothing {
        eprintln!("skipped: this kernel confines nothing ({:?})", kernel());
    }
    nothing
}

/// Returns what `script` does under a supervisor with `policy`.
fn supervised(folder: &Path, policy: &Policy, script: &str) -> Output {
    let orders = json!({"policy": policy, "input": "null"}).to_string();
    let mut child = tepa(folder)
        .args(["__supervise", &orders, "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Held until the command has ended by itself.
    let line = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(line);
    output
}

/// Connects to a port that nobody listens on: what is allowed is refused by the other side.
const CONNECT: &str = "exec 3<>/dev/tcp/127.0.0.1/9";

#[test]
fn a_command_writes_into_the_workspace_and_nowhere_else() {
    if skipped() {
        return;
    }
    let folder = task(
        "echo in > made && mkdir -p deep && echo in > deep/made; echo out > ../escaped; echo out > $HOME.escaped; \
         ln -s .. up; echo out > up/linked; echo x > /dev/null && echo null; cat /etc/passwd > copy && echo read",
        &json!({}),
    );
    let output = shell(&folder);
    assert_eq!(output["stdout"], "null\nread\n", "{output}");
    let work = folder.path().join("work");
    assert_eq!(fs::read_to_string(work.join("deep/made")).unwrap(), "in\n");
    let mut beside: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    beside.sort();
    assert_eq!(beside, ["config.json", "work"]);
    let result = result_of(&work);
    assert_eq!(result["sandbox"]["mode"], "workspace-write");
    assert_eq!(result["sandbox"]["landlock"], kernel().landlock);
    assert_eq!(event(&folder, "sandbox.applied")["network"], false);
}

#[test]
fn read_only_leaves_nothing_to_write_but_temporary_files() {
    if skipped() {
        return;
    }
    let script = "echo x > made; echo x > $TMPDIR/made && cat $TMPDIR/made && echo $TMPDIR";
    let folder = task(script, &json!({"sandbox": {"mode": "read-only"}}));
    let output = shell(&folder);
    let stdout = output["stdout"].as_str().unwrap();
    let temporary = stdout.strip_prefix("x\n").unwrap().trim();
    assert!(!folder.path().join("work/made").exists());
    assert!(!Path::new(temporary).exists(), "{temporary} is left behind");
}

#[test]
fn further_folders_may_be_written_when_a_person_says_so() {
    if skipped() {
        return;
    }
    let folder = task("echo x > ../beside/made", &json!({"sandbox": {"writable": ["../beside"]}}));
    fs::create_dir(folder.path().join("beside")).unwrap();
    assert_eq!(shell(&folder)["exitCode"], 0);
    assert_eq!(fs::read_to_string(folder.path().join("beside/made")).unwrap(), "x\n");
}

#[test]
fn what_is_hidden_cannot_be_read_and_its_neighbours_can() {
    if skipped() {
        return;
    }
    let folder = task(
        "cat $HOME/.ssh/id; cat ../alias/id; cat ../hid/key; cat $HOME/.ssh-config",
        &json!({"sandbox": {"hidden": ["~/.ssh", "../hid"]}}),
    );
    let home = folder.path().join("work/no-home");
    for (path, content) in
        [("home/.ssh/id", "SECRET"), ("home/.ssh-config", "plain"), ("hid/key", "SECRET"), ("alias", "")]
    {
        let path = folder.path().join(path);
        if content.is_empty() {
            std::os::unix::fs::symlink(folder.path().join("home/.ssh"), path).unwrap();
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    assert!(!home.exists());
    let output = finish(command(&folder).env("HOME", folder.path().join("home")));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(event(&folder, "tool.completed")["output"]["stdout"], "plain");
}

#[test]
fn what_is_hidden_in_the_workspace_is_kept_from_file_tools_and_a_gap_for_commands() {
    if skipped() {
        return;
    }
    let folder = task("cat keys/id", &json!({"sandbox": {"hidden": ["keys"]}}));
    fs::create_dir(folder.path().join("work/keys")).unwrap();
    fs::write(folder.path().join("work/keys/id"), "key").unwrap();
    // The kernel cannot take a folder out of one that may be written, and tepa does not pretend that it did.
    assert_eq!(shell(&folder)["stdout"], "key");
    let path = folder.path().canonicalize().unwrap().join("work/keys");
    let gap = format!("read `{}`", path.display());
    assert_eq!(event(&folder, "sandbox.applied")["gaps"], json!([gap]));
    assert!(event(&folder, "warning")["message"].as_str().unwrap().contains(&gap));
}

#[test]
fn there_is_no_network_unless_a_person_says_so() {
    if skipped() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected'");
    let output = shell(&task(&script, &json!({})));
    assert_eq!(output["stdout"], "", "{output}");
    assert!(output["stderr"].as_str().unwrap().contains("Operation not permitted"), "{output}");
    let output = shell(&task(&script, &json!({"sandbox": {"network": true}})));
    assert_eq!(output["stdout"], "connected\n", "{output}");
}

#[test]
fn a_custom_tool_is_confined_as_a_command_and_may_have_a_network_of_its_own() {
    if skipped() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "cat > got; echo x > ../escaped; bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected' 2>/dev/null; echo done"
    );
    for (network, said) in [(json!(null), "done"), (json!(true), "connected\ndone")] {
        let tool = json!({"name": "own", "description": "Does.", "command": ["sh", "-c", script], "network": network});
        let folder = task("true", &json!({"customTools": [tool]}));
        let mut command = tepa(&folder.path().join("work"));
        command.args(["tools", "call", "own", "--params", "{}", "--config", "../config.json"]);
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), format!("{said}\n"));
        assert_eq!(fs::read_to_string(folder.path().join("work/got")).unwrap(), "{}");
        assert!(!folder.path().join("escaped").exists());
    }
}

#[test]
fn what_tepa_was_started_with_is_no_way_out() {
    let folder = task("echo x >&9; cat <&8; echo done", &json!({}));
    let work = folder.path().join("work");
    fs::write(folder.path().join("key"), "SECRET").unwrap();
    let line = format!("{TEPA} run prompt.json --replay replies.json -q 9>>../leak 8<../key");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(&work).env("HOME", folder.path());
    assert_eq!(finish(&mut shell).status.code(), Some(0));
    assert_eq!(event(&folder, "tool.completed")["output"]["stdout"], "done\n");
    assert_eq!(fs::read_to_string(folder.path().join("leak")).unwrap(), "");
}

#[test]
fn a_command_has_no_say_over_other_processes_and_makes_no_program_that_runs_as_its_owner() {
    if skipped() {
        return;
    }
    let script = "tepa=$(cut -d' ' -f4 /proc/$PPID/stat); \
        for p in $PPID $tepa; do prlimit --pid $p --nofile=0:0 && echo limited; renice -n 5 -p $p && echo reniced; done; \
        cp /bin/true program; chmod u+s program && echo owner; chmod g+s program && echo group; install -m 4755 program p2 && echo installed; \
        chmod 755 program && mkdir -m 755 d && ./program && nice -n 5 true && echo usual";
    let output = shell(&task(script, &json!({})));
    assert_eq!(output["stdout"], "usual\n", "{output}");
}

#[test]
fn what_a_command_puts_in_the_way_of_the_result_is_replaced_and_not_followed() {
    let script = "for r in .tepa/runs/*/; do ln -s ../../../../victim $r/result.json; done; ln -s ../victim result.json; ln -s ../victim record.yaml";
    let folder = task(script, &json!({"sandbox": {"mode": "off"}}));
    fs::write(folder.path().join("victim"), "mine").unwrap();
    let output = finish(command(&folder).args(["--result", "result.json", "--record", "record.yaml"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.path().join("victim")).unwrap(), "mine");
    let work = folder.path().join("work");
    assert_eq!(result_of(&work)["status"], "pass");
    for file in ["result.json", "record.yaml"] {
        assert!(fs::symlink_metadata(work.join(file)).unwrap().is_file(), "{file}");
    }
}

/// Says for one level of Landlock what a command can do.
fn at_level(level: i32) -> Vec<(&'static str, bool)> {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    for place in [&inside, &outside] {
        fs::create_dir(place).unwrap();
        fs::write(place.join("file"), "content").unwrap();
    }
    let policy = Policy {
        writable: vec![inside.clone()],
        hidden: vec![outside.join("hidden")],
        network: false,
        landlock: level,
    };
    fs::write(outside.join("hidden"), "SECRET").unwrap();
    let can = |script: &str| supervised(&inside, &policy, script).status.success();
    vec![
        ("write inside", can("echo x > made && mkdir d && mv made d/made && rm -r d && : > file")),
        ("write outside", can("echo x > ../outside/made")),
        ("append outside", can("echo x >> ../outside/file")),
        ("remove outside", can("rm ../outside/file")),
        ("link outside in", can("ln ../outside/file linked && echo x > linked")),
        ("read outside", can("cat ../outside/file")),
        ("read hidden", can("cat ../outside/hidden")),
        ("use the network", can(&format!("bash -c '{CONNECT}' 2>&1 | grep -q refused"))),
        ("read the environment of its supervisor", can("cat /proc/$PPID/environ")),
        ("make a device", can("mknod disk b 7 0")),
        ("signal its supervisor", can("kill -0 $PPID")),
    ]
}

#[test]
fn every_level_of_landlock_confines_files_and_network() {
    let offered = kernel().landlock;
    if skipped() {
        return;
    }
    for level in 1..=offered {
        for (what, can) in at_level(level) {
            let expected = match what {
                "write inside" | "read outside" => true,
                "signal its supervisor" => level < 6,
                _ => false,
            };
            assert_eq!(can, expected, "at level {level}, can a command {what}?");
        }
    }
    if offered < LANDLOCK {
        eprintln!(
            "levels {}..={LANDLOCK} of Landlock were not tested: this kernel has {offered}",
            offered + 1
        );
    }
}

#[test]
fn a_policy_that_the_kernel_does_not_keep_starts_nothing() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy {
        writable: vec![folder.path().to_owned()],
        hidden: vec![],
        network: false,
        landlock: LANDLOCK + 1,
    };
    let output = supervised(folder.path(), &policy, "touch started");
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(text(&output.stderr), "tepa: the kernel confines less than it did when the run began\n");
    assert!(!folder.path().join("started").exists());
}

#[test]
fn a_kernel_without_landlock_is_a_warning() {
    let folder = task("echo x > ../escaped && echo done", &json!({}));
    let mut run = command(&folder);
    run.args(["--output", "jsonl"]);
    let output = without_landlock(move || finish(&mut run));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(event(&folder, "tool.completed")["output"]["stdout"], "done\n");
    let applied = event(&folder, "sandbox.applied");
    assert_eq!((&applied["enforcement"], &applied["landlock"]), (&json!("none"), &json!(0)), "{applied}");
    let warning = event(&folder, "warning");
    assert_eq!(warning["code"], "sandbox_incomplete");
    assert!(warning["message"].as_str().unwrap().contains("write and read any file"), "{warning}");
    assert_eq!(result_of(&folder.path().join("work"))["sandbox"]["enforcement"], "none");
}

#[test]
fn a_kernel_without_landlock_is_no_place_for_a_run_that_requires_it() {
    let folder = task("touch started", &json!({"sandbox": {"required": true}}));
    let mut run = command(&folder);
    let output = without_landlock(move || finish(&mut run));
    assert_eq!(output.status.code(), Some(4));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("error: this system cannot confine commands as `sandbox.required` demands"),
        "{stderr}"
    );
    assert!(stderr.contains("hint: "), "{stderr}");
    assert!(!folder.path().join("work/started").exists());
    if skipped() {
        return;
    }
    assert_eq!(finish(&mut command(&folder)).status.code(), Some(0));
}

#[test]
fn a_command_has_the_usual_variables_and_no_others() {
    let folder = task(
        "env | cut -d= -f1 | sort | tr '\\n' ' '",
        &json!({"sandbox": {"environment": ["DEPLOY_*", "*_KEY"]}}),
    );
    let mut run = command(&folder);
    for name in ["LANG", "DEPLOY_URL", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TEPA_TOOLS_X"]
    {
        run.env(name, "canary-value");
    }
    let output = finish(&mut run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let names = event(&folder, "tool.completed")["output"]["stdout"].as_str().unwrap().to_owned();
    let names: Vec<_> =
        names.split_whitespace().filter(|name| !["_", "PWD", "OLDPWD", "SHLVL"].contains(name)).collect();
    assert_eq!(names, ["DEPLOY_URL", "GIT_OPTIONAL_LOCKS", "HOME", "LANG", "PATH", "TEMP", "TMP", "TMPDIR"]);
}

#[test]
fn a_command_cannot_read_the_environment_of_tepa() {
    if skipped() {
        return;
    }
    let script = "tepa=$(cut -d' ' -f4 /proc/$PPID/stat); tr '\\0' '\\n' < /proc/$tepa/environ; cat /proc/$PPID/environ; \
                  for p in /proc/[0-9]*; do cat $p/environ 2>/dev/null; done | tr '\\0' '\\n' | grep canary";
    let folder = task(script, &json!({}));
    let output = finish(command(&folder).env("ANTHROPIC_API_KEY", "sk-canary-12345678"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = &event(&folder, "tool.completed")["output"];
    // A secret that got out would show as three stars.
    assert_eq!(output["stdout"], "", "{output}");
    assert!(output["stderr"].as_str().unwrap().contains("ermission denied"), "{output}");
}

/// Starts a run whose command writes the ids of its processes into `pids` and goes on for ever; returns both.
fn endless(script: &str) -> (TempDir, std::process::Child, Vec<String>) {
    let folder = task(script, &json!({"limits": {"toolTimeout": 600_000}}));
    // Nobody is left to remove the temporary files of a run that is killed.
    let mut command = command(&folder);
    let child = command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let pids = folder.path().join("work/pids");
    let pids = eventually(|| {
        let text = fs::read_to_string(&pids).ok()?;
        text.ends_with("all\n")
            .then(|| text.lines().filter(|line| *line != "all").map(str::to_owned).collect())
    });
    (folder, child, pids)
}

/// A command with a child, a grandchild that left its session, an orphan, and one that does not listen to SIGTERM.
const FAMILY: &str = "trap '' TERM; sleep 1000 & echo $! >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & \
    setsid sh -c '(setsid sleep 1000 & echo $! >> pids)'; sh -c \"trap '' TERM HUP INT; echo \\$\\$ >> pids; while :; do sleep 1; done\" & \
    while [ $(wc -l < pids) -lt 4 ]; do sleep 0.01; done; echo $$ >> pids; echo $PPID >> pids; echo all >> pids; while :; do sleep 1; done";

#[test]
fn nothing_of_a_command_is_left_when_tepa_is_told_to_terminate() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let (folder, child, pids) = endless(FAMILY);
        assert_eq!(pids.len(), 6, "{pids:?}");
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        // Not eventually: tepa leaves when they have.
        for pid in &pids {
            assert!(gone(pid).is_some(), "{pid} of {pids:?} is left after SIG{signal}");
        }
        let result = result_of(&folder.path().join("work"));
        assert_eq!((&result["status"], &result["exitCode"]), (&json!("terminated"), &json!(code)));
    }
}

#[test]
fn nothing_of_a_command_is_left_when_tepa_is_killed() {
    let (_folder, mut child, pids) = endless(FAMILY);
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in &pids {
        eventually(|| gone(pid));
    }
}

#[test]
fn nothing_of_a_command_is_left_when_its_time_is_up() {
    let script = FAMILY.replace("while :; do sleep 1; done", "while :; do sleep 0.1; done");
    let folder = task(&script, &json!({"limits": {"toolTimeout": 1_500}}));
    let output = finish(&mut command(&folder));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let completed = event(&folder, "tool.completed");
    assert_eq!(completed["error"], "Tool \"shell_execute\" timed out after 1500 ms");
    let pids = fs::read_to_string(folder.path().join("work/pids")).unwrap();
    for pid in pids.lines().filter(|line| *line != "all") {
        assert!(gone(pid).is_some(), "{pid} of {pids:?} is left");
    }
}

#[test]
fn what_a_command_leaves_in_the_background_ends_with_it() {
    let folder =
        task("setsid sh -c 'sleep 1000 & echo $!' & wait; (setsid sleep 1000 & echo $!) ", &json!({}));
    let output = shell(&folder);
    let pids: Vec<_> = output["stdout"].as_str().unwrap().lines().collect();
    assert_eq!(pids.len(), 2, "{output}");
    for pid in pids {
        assert!(gone(pid).is_some(), "{pid} is left: {output}");
    }
}

#[test]
fn endless_output_is_read_and_not_kept() {
    let folder = task(
        "yes 0123456789abcdef | head -c 500000000; grep VmHWM /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/status >&2",
        &json!({}),
    );
    let output = shell(&folder);
    assert_eq!(output["exitCode"], 0);
    let stdout = output["stdout"].as_str().unwrap();
    assert!(stdout.ends_with("\n[output truncated at 1 MB]") && stdout.len() < 1_100_000);
    // What tepa needed at most, by the kernel's own count, with all that output read.
    let peak = output["stderr"].as_str().unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 70_000, "{peak}");
}
