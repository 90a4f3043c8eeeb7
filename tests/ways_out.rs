//! Every way out of the program: streams that are gone, signals, input that cannot be used, disks that are full, providers that break.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::outcome::{Reason, RunStatus};
use tepa::provider::{Provider, ProviderError, Request, Response, Watch};

use support::{Bench, TEPA, finish, tepa};

const PROMPT: &str = "goal: Say something.\ncontext: {}\nexpectedOutput: Something said.\n";

const PASS: &str = r"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: say it, tools: [], expectedOutcome: said, dependencies: []}]}
  - {stage: step, step: one, text: it is said}
  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: done}}
";

fn folder(replies: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    folder
}

fn run(folder: &Path) -> Command {
    let mut command = tepa(folder);
    command.args(["run", "prompt.yaml", "--provider", "replay"]);
    command
}

/// Runs a line of shell in which `$TEPA` is the whole command of a run that passes.
fn shell(folder: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("TEPA_COLOR", "never").env("HOME", folder);
    command.env("TEPA", format!("{TEPA} run prompt.yaml --provider replay"));
    finish(command.stdin(Stdio::null()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_no_panic(output: &Output) {
    let stderr = text(&output.stderr);
    assert!(!stderr.contains("panicked") && !stderr.contains("bug in tepa"), "{stderr}");
}

fn result_of(folder: &Path) -> Value {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap()
}

#[test]
fn streams_that_are_closed_do_not_change_the_code() {
    for line in [
        "$TEPA | true; exit 7",
        "$TEPA <&-",
        "$TEPA </dev/null",
        "$TEPA >&-",
        "$TEPA 2>&-",
        "$TEPA <&- >&- 2>&-",
    ] {
        let folder = folder(PASS);
        let output = shell(folder.path(), line);
        let expected = if line.ends_with("exit 7") { 7 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{line}: {}", text(&output.stderr));
        assert_no_panic(&output);
        assert_eq!(result_of(folder.path())["status"], "pass", "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_printing_and_not_the_run() {
    for format in ["text", "json", "jsonl"] {
        let folder = folder(PASS);
        let mut child = run(folder.path())
            .args(["--output", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {}", text(&output.stderr));
        assert_no_panic(&output);
        assert_eq!(result_of(folder.path())["exitCode"], 0);
    }
}

#[test]
fn help_and_listings_survive_a_reader_that_goes_away() {
    for line in ["--help", "run --help", "tools list", "completions bash"] {
        let folder = folder(PASS);
        let mut child = tepa(folder.path())
            .args(line.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_no_panic(&output);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_does_not_reach_standard_output_is_no_pass() {
    for format in ["text", "json"] {
        let folder = folder(PASS);
        let output = shell(folder.path(), &format!("$TEPA --output {format} >/dev/full"));
        assert_eq!(output.status.code(), Some(4), "{format}");
        assert!(
            text(&output.stderr).contains("error: cannot write to standard output"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_run_that_cannot_be_recorded_ends_before_anything_is_asked() {
    let folder = folder(PASS);
    fs::write(folder.path().join(".tepa"), "in the way").unwrap();
    let output = finish(&mut run(folder.path()));
    assert_eq!(output.status.code(), Some(4));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("cannot record the run") && stderr.contains("`--no-journal`"), "{stderr}");
    let output = finish(run(folder.path()).arg("--no-journal"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_disk_that_fills_up_during_the_run_leaves_no_verdict() {
    let folder = folder(PASS);
    // Files may grow to four blocks; the signal that would come with the fifth is ignored, so that the write fails instead.
    let output = shell(folder.path(), "trap '' XFSZ; ulimit -f 4; exec $TEPA");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write the journal"), "{}", text(&output.stderr));
    assert_no_panic(&output);
}

#[test]
fn a_result_file_that_cannot_be_written_is_found_before_the_run() {
    let folder = folder(PASS);
    let output = finish(run(folder.path()).args(["--result", "no/such/folder/result.json"]));
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path().join(".tepa").exists(), "something ran");
}

#[test]
fn a_result_file_is_written_beside_the_journal() {
    let folder = folder(PASS);
    let output = finish(run(folder.path()).args(["--result", "result.json"]));
    assert_eq!(output.status.code(), Some(0));
    let written: Value =
        serde_json::from_slice(&fs::read(folder.path().join("result.json")).unwrap()).unwrap();
    assert_eq!(written, result_of(folder.path()));
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".tepa-")), "{names:?}");
}

const SLEEPER: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: wait, tools: [shell_execute], expectedOutcome: waited, dependencies: []}]}
  - {stage: step, step: one, tool: shell_execute, toolUse: {command: "sleep 300 & echo $! > pid; wait"}}
"#;

#[test]
fn a_signal_kills_the_children_and_writes_the_result() {
    for (signal, code, reason) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated")] {
        let folder = folder(SLEEPER);
        let child = run(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let grandchild = eventually(|| {
            fs::read_to_string(folder.path().join("pid")).ok()?.strip_suffix('\n').map(str::to_owned)
        });
        Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{:?} {}", output.status.signal(), text(&output.stderr));
        let result = result_of(folder.path());
        assert_eq!((&result["status"], &result["reason"]), (&json!("terminated"), &json!(reason)));
        eventually(|| gone(&grandchild));
    }
}

/// Returns `Some` when the process does not run; one that was killed and not yet reaped does not run.
fn gone(pid: &str) -> Option<()> {
    let test = "kill -0 $0 2>/dev/null && ! grep -q '^State:.Z' /proc/$0/status 2>/dev/null";
    let alive = Command::new("sh").args(["-c", test, pid]).status().unwrap().success();
    (!alive).then_some(())
}

fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..2000 {
        if let Some(seen) = look() {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen");
}

#[test]
fn a_prompt_may_come_from_standard_input() {
    let folder = folder(PASS);
    let mut command = tepa(folder.path());
    command
        .args(["run", "-", "--provider", "replay", "--replay", "prompt.replay.yaml"])
        .stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PROMPT.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "done\n");
}

#[test]
fn input_that_cannot_be_used_is_one_clear_error_with_bounded_memory() {
    let folder = folder(PASS);
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    write("latin.yaml", b"goal: caf\xe9\n");
    write("empty.yaml", b"");
    write("blank.yaml", b"\n  \n# only a comment\n");
    write("task.toml", b"goal = 'x'\n");
    write("bomb.yaml", &bomb());
    write("nest.yaml", "[".repeat(1 << 20).as_bytes());
    write("nest.json", "[".repeat(1 << 20).as_bytes());
    write("scalar.yaml", b"just words\n");
    write("syntax.json", b"{\"goal\": \"x\",\n  \"context\": {,}\n}\n");
    fs::create_dir(folder.path().join("folder.yaml")).unwrap();
    fs::File::create(folder.path().join("huge.yaml")).unwrap().set_len(200 << 20).unwrap();
    Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap();
    for (name, words) in [
        ("missing.yaml", "does not exist"),
        ("folder.yaml", "folder"),
        ("latin.yaml", "UTF-8"),
        ("empty.yaml", "empty"),
        ("blank.yaml", "empty"),
        ("task.toml", ".yaml"),
        ("bomb.yaml", "bomb.yaml:"),
        ("nest.yaml", "nest.yaml:"),
        ("nest.json", "nest.json:"),
        ("scalar.yaml", "scalar.yaml:1:1"),
        ("syntax.json", "syntax.json:2:"),
        ("huge.yaml", "4194304 bytes"),
        ("pipe.yaml", "not a regular file"),
    ] {
        let line = format!("ulimit -v 600000; exec {TEPA} run {name} --provider replay");
        let output = shell(folder.path(), &line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.starts_with("error") && stderr.contains(words), "{name}: {stderr}");
        assert!(stderr.len() < 4000, "{name}: {} bytes of error", stderr.len());
        assert_eq!(output.stdout, b"", "{name}");
        assert_no_panic(&output);
    }
    assert!(!folder.path().join(".tepa").exists(), "something ran");
}

fn bomb() -> Vec<u8> {
    let mut text = "goal: x\ncontext:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("  a{level}: &a{level} [{aliases}]\n"));
    }
    text.push_str("expectedOutput: x\n");
    text.into_bytes()
}

#[test]
fn usage_errors_are_exit_2() {
    let folder = folder(PASS);
    for arguments in [
        "run",
        "run prompt.yaml --nonsense",
        "run prompt.yaml --max-cycles 0",
        "run prompt.yaml --max-tokens many",
        "run prompt.yaml --timeout 10",
        "run prompt.yaml --output xml",
        "run prompt.yaml -C nowhere",
        "run prompt.yaml --config nowhere.yaml",
        "frobnicate",
    ] {
        let output = finish(tepa(folder.path()).args(arguments.split(' ')));
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn validate_has_codes_of_its_own() {
    let folder = folder(PASS);
    fs::write(folder.path().join("bad.yaml"), "gaol: x\ncontext: {}\nexpectedOutput: y\n").unwrap();
    fs::write(folder.path().join("tepa.yaml"), "limits: {maxCycles: 3}\n").unwrap();
    for (files, code) in [
        (&["prompt.yaml", "tepa.yaml"][..], 0),
        (&["prompt.yaml", "bad.yaml"], 1),
        (&["bad.yaml", "missing.yaml"], 2),
    ] {
        let output = finish(tepa(folder.path()).arg("validate").args(files));
        assert_eq!(output.status.code(), Some(code), "{files:?}: {}", text(&output.stderr));
    }
}

#[test]
fn no_provider_error_anywhere_is_a_pass() {
    for kind in [
        "rate_limited",
        "overloaded",
        "unreachable",
        "unauthorized",
        "context_too_long",
        "refused",
        "invalid",
    ] {
        for (stage, code) in [("planner", 4), ("step", 1), ("evaluator", 4)] {
            let error = format!("error: {{kind: {kind}, message: no answer}}");
            let replies = match stage {
                "planner" => format!("format: tepa.replay/1\nreplies:\n  - {{stage: planner, {error}}}\n"),
                "step" => PASS.replace("text: it is said", &error).replace(
                    "verdict: pass, confidence: 0.9, summary: done",
                    "verdict: fail, confidence: 1, feedback: no",
                ),
                _ => PASS.replace("json: {verdict: pass, confidence: 0.9, summary: done}", &error),
            };
            let folder = folder(&replies);
            let output = finish(run(folder.path()).args(["--max-cycles", "1"]));
            assert_eq!(output.status.code(), Some(code), "{kind} in {stage}: {}", text(&output.stderr));
            assert_eq!(result_of(folder.path())["exitCode"], code);
        }
    }
}

/// A provider with a bug.
struct Buggy;

impl Provider for Buggy {
    fn name(&self) -> &'static str {
        "buggy"
    }

    fn complete<'a>(
        &'a self,
        _: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        panic!("a bug")
    }
}

#[tokio::test]
async fn a_bug_settles_without_a_verdict() {
    let bench = Bench::with_provider(tempfile::tempdir().unwrap(), PROMPT, Buggy, &json!({}));
    let finished = bench.run().await;
    assert_eq!((finished.settlement.status(), finished.settlement.reason()), (None, Reason::InternalError));
    assert_eq!(finished.settlement.exit_code(), 4);
    assert_eq!(finished.result.exit_code, 4);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_answers_is_ended_by_the_wall_clock() {
    struct Silent;
    impl Provider for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn complete<'a>(
            &'a self,
            _: &'a Request,
            _: &'a dyn Watch,
        ) -> BoxFuture<'a, Result<Response, ProviderError>> {
            Box::pin(std::future::pending())
        }
    }
    let config = json!({"limits": {"maxDuration": 3_600_000}});
    let bench = Bench::with_provider(tempfile::tempdir().unwrap(), PROMPT, Silent, &config);
    let finished = bench.run().await;
    assert_eq!(
        (finished.settlement.status(), finished.settlement.exit_code()),
        (Some(RunStatus::Terminated), 3)
    );
}
