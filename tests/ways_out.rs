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
use tepa::outcome::{Reason, RunStatus, Usage};
use tepa::provider::{Provider, ProviderError, Request, Response, Retry, Watch};

use support::{Bench, TEPA, eventually, finish, gone, result_of, tepa, text};

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

fn assert_no_panic(output: &Output) {
    let stderr = text(&output.stderr);
    assert!(!stderr.contains("panicked") && !stderr.contains("bug in tepa"), "{stderr}");
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
    for (format, words) in [
        ("text", "error: cannot write to standard output"),
        ("json", "error: cannot write to standard output"),
        ("jsonl", "cannot write the event stream"),
    ] {
        let folder = folder(PASS);
        let output = shell(folder.path(), &format!("$TEPA --output {format} >/dev/full"));
        assert_eq!(output.status.code(), Some(4), "{format}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
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
    // Files may grow to four blocks; whether or not the signal that comes with the fifth is ignored.
    for line in ["ulimit -f 4; exec $TEPA", "trap '' XFSZ; ulimit -f 4; exec $TEPA"] {
        let output = shell(folder.path(), line);
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("cannot write the journal"), "{}", text(&output.stderr));
        assert_no_panic(&output);
    }
    // Nothing at all may be written.
    let output = shell(folder.path(), "ulimit -f 0; exec $TEPA");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
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
    for (signal, code, reason) in
        [("INT", 130, "interrupted"), ("TERM", 143, "terminated"), ("HUP", 143, "terminated")]
    {
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
        let run = result["runId"].as_str().unwrap();
        let words = format!("the run is recorded as {run}: `tepa runs resume {run}` goes on with it");
        assert!(text(&output.stderr).contains(&words), "{}", text(&output.stderr));
        let shown = finish(tepa(folder.path()).args(["runs", "report", run, "--format", "markdown"]));
        assert!(text(&shown.stdout).starts_with("# – terminated"), "{}", text(&shown.stdout));
    }
}

#[test]
fn without_a_record_nothing_is_said_of_one() {
    let folder = folder(SLEEPER);
    let mut command = run(folder.path());
    let child = command.arg("--no-journal").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually(|| fs::read_to_string(folder.path().join("pid")).ok()?.ends_with('\n').then_some(()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("recorded"), "{}", text(&output.stderr));
}

#[test]
fn a_standard_error_that_breaks_during_the_run_does_not_change_the_code() {
    let folder = command("touch begun; until [ -e go ]; do sleep 0.02; done");
    let mut child = run(folder.path())
        .args(["--log-level", "verbose"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually(|| folder.path().join("begun").exists().then_some(()));
    drop(child.stderr.take());
    fs::write(folder.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "done\n".to_owned()));
    assert_eq!(result_of(folder.path())["status"], "pass");
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

/// Returns a run of one shell command whose judge says pass.
fn command(script: &str) -> TempDir {
    let call =
        json!({"stage": "step", "step": "one", "tool": "shell_execute", "toolUse": {"command": script}});
    let replies = PASS.replace("tools: []", "tools: [shell_execute]");
    folder(&replies.replace("{stage: step, step: one, text: it is said}", &call.to_string()))
}

#[test]
fn a_journal_that_somebody_else_changed_is_no_verdict() {
    for script in [
        "for d in .tepa/runs/*; do mv $d/events.jsonl $d/old; echo '{}' > $d/events.jsonl; done",
        "for d in .tepa/runs/*; do : > $d/events.jsonl; done",
        "rm -rf .tepa/runs/*/events.jsonl",
    ] {
        let folder = command(script);
        let output = finish(&mut run(folder.path()));
        assert_eq!(output.status.code(), Some(4), "{script}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("the journal"), "{}", text(&output.stderr));
    }
}

#[test]
fn the_file_of_the_project_chooses_neither_who_gets_the_key_nor_who_judges() {
    let folder = folder(PASS);
    for (line, key) in [("baseUrl: http://127.0.0.1:9", "baseUrl"), ("provider: replay", "provider")] {
        fs::write(folder.path().join("tepa.yaml"), format!("{line}\n")).unwrap();
        let output = finish(
            tepa(folder.path()).args(["run", "prompt.yaml"]).env("ANTHROPIC_API_KEY", "sk-ant-canary"),
        );
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let words = format!("`{key}` cannot be set in the project's `tepa.yaml`");
        assert!(text(&output.stderr).contains(&words), "{}", text(&output.stderr));
        let named = finish(run(folder.path()).args(["--config", "tepa.yaml", "-C", "."]));
        assert_eq!(named.status.code(), Some(2), "the folder's own file counts however else it is named");
    }
}

#[test]
fn a_sparse_file_of_a_terabyte_is_measured_and_not_read() {
    let folder = command("truncate -s 1T out.bin");
    let prompt = "goal: g\ncontext: {}\nexpectedOutput: [{path: out.bin, description: d}]\n";
    fs::write(folder.path().join("prompt.yaml"), prompt).unwrap();
    let output = finish(&mut run(folder.path()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let artifact = &result_of(folder.path())["outputs"][0];
    assert_eq!((&artifact["bytes"], &artifact["sha256"]), (&json!(1_u64 << 40), &Value::Null));
}

#[test]
fn replies_and_provider_must_agree() {
    let folder = folder(PASS);
    Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status().unwrap();
    for (arguments, code, words) in [
        ("run prompt.yaml --replay prompt.replay.yaml", 0, "pass"),
        ("run prompt.yaml --provider anthropic --replay prompt.replay.yaml", 2, "leave one of them out"),
        ("run prompt.yaml --provider replay --record prompt.replay.yaml", 2, "would replace the replies"),
        ("run prompt.yaml --replay pipe.yaml", 2, "not a regular file"),
        ("run - --provider replay", 2, "`--replay FILE`"),
        ("run prompt.yaml --base-url https://me:secret@example.com", 2, "a name or a password"),
    ] {
        let output = finish(tepa(folder.path()).args(arguments.split(' ')));
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{arguments}: {}", text(&output.stderr));
    }
}

#[test]
fn a_variable_that_is_set_to_nothing_says_nothing() {
    let folder = folder(PASS);
    let mut command = run(folder.path());
    for name in ["TEPA_MAX_TOKENS", "TEPA_COLOR", "TEPA_RESULT", "TEPA_TOOLS", "TEPA_MODEL", "TEPA_TIMEOUT"] {
        command.env(name, "");
    }
    let output = finish(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn what_was_typed_neither_draws_on_the_terminal_nor_shows_a_key() {
    let folder = folder(PASS);
    let escape = finish(tepa(folder.path()).args(["run", "\u{1b}[31mx.yaml"]));
    assert!(!text(&escape.stderr).contains('\u{1b}'), "{}", text(&escape.stderr));
    let mut command = tepa(folder.path());
    command.args(["run", "prompt.yaml", "--max-cycles", "sk-ant-canary123"]);
    let key = finish(command.env("ANTHROPIC_API_KEY", "sk-ant-canary123"));
    assert_eq!(key.status.code(), Some(2));
    assert!(!text(&key.stderr).contains("canary"), "{}", text(&key.stderr));
}

#[test]
fn quiet_still_says_why_there_is_no_verdict() {
    let folder = folder(
        "format: tepa.replay/1\nreplies:\n  - {stage: planner, error: {kind: overloaded, message: come back later}}\n",
    );
    let output = finish(run(folder.path()).arg("-q"));
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(text(&output.stderr), "error: come back later\n");
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

/// A tool that computes without a pause until it is told to end.
struct Busy(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl tepa::tool::Tool for Busy {
    const NAME: &'static str = "busy";
    type Args = serde_json::Map<String, Value>;
    type Output = ();

    fn schema(&self) -> tepa::tool::ToolSchema {
        tepa::tool::ToolSchema::new("busy", "Computes.")
    }

    async fn call(&self, _: Self::Args, _: &tepa::tool::ToolContext) -> Result<(), tepa::tool::ToolError> {
        while !self.0.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_tool_that_never_pauses_cannot_keep_the_run_from_its_time() {
    let replies =
        PASS.replace("tools: []", "tools: [busy]").replace("text: it is said", "tool: busy, toolUse: {}");
    let replies = replies.replace(
        "verdict: pass, confidence: 0.9, summary: done",
        "verdict: fail, confidence: 1, feedback: no",
    );
    let mut bench = Bench::new(PROMPT, &replies, &json!({"limits": {"toolTimeout": 50, "maxCycles": 1}}));
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    bench.pipeline.tools.register(tepa::tool::erase(Busy(done.clone()))).unwrap();
    let finished = bench.run().await;
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(finished.settlement.reason(), Reason::MaxCycles);
    let sent = bench.conversation();
    assert!(sent.contains("Tool \"busy\" timed out after 50 ms"), "{sent}");
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

/// Fails once after some tokens, then says how far it has come and never gets further.
struct Halfway;

impl Provider for Halfway {
    fn name(&self) -> &'static str {
        "halfway"
    }

    fn complete<'a>(
        &'a self,
        _: &'a Request,
        watch: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        Box::pin(async move {
            let usage = |input, output| Usage { input, output, ..Usage::default() };
            watch.usage(usage(100, 7));
            let error = ProviderError::Overloaded("busy".to_owned());
            watch.retry(&Retry { number: 1, delay: Duration::from_secs(1), error });
            watch.usage(usage(100, 3));
            watch.usage(usage(100, 20));
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_servers_took_to_start_is_taken_off_the_time_of_the_run() {
    for (spent, left) in [(0, 58), (40, 18), (50, 8), (59, 0), (70, 0)] {
        let config = json!({"limits": {"maxDuration": 60_000}});
        let mut bench = Bench::with_provider(tempfile::tempdir().unwrap(), PROMPT, Halfway, &config);
        bench.pipeline.spent = Duration::from_secs(spent);
        let began = tokio::time::Instant::now();
        assert_eq!(bench.run().await.settlement.reason(), Reason::TimeBudget);
        assert_eq!(began.elapsed().as_secs(), left, "{spent} s are gone");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_abandoned_call_cost_is_charged_with_the_try_before_it() {
    let config = json!({"limits": {"maxDuration": 60_000}});
    let bench = Bench::with_provider(tempfile::tempdir().unwrap(), PROMPT, Halfway, &config);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.reason(), Reason::TimeBudget);
    let usage = &finished.result.usage;
    assert_eq!((usage.total.input, usage.total.output), (200, 27));
    assert_eq!(usage.by_role["planner"], usage.by_model["claude-sonnet-4-6"]);
    assert_eq!(finished.result.cost.usd, Some((200.0 * 3.0 + 27.0 * 15.0) / 1e6));
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

#[test]
fn what_is_written_at_the_end_replaces_nothing_that_the_run_is_about() {
    let folder = folder(PASS);
    fs::write(folder.path().join("own.yaml"), "{}\n").unwrap();
    for (arguments, words) in [
        (&["--result", "x", "--report", "html=./x"][..], "the report would replace the result"),
        (&["--report", "junit=x,html=x"], "the report would replace the report"),
        (&["--result", "prompt.yaml"], "the result would replace a file that no run may change"),
        (
            &["--config", "own.yaml", "--report", "junit=own.yaml"],
            "would replace a file that no run may change",
        ),
        (&["--report", "junit=prompt.replay.yaml"], "the report would replace the replies of this run"),
    ] {
        let output = finish(run(folder.path()).args(arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}
