//! Files that no run may change, and values that no run may show.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{files_below, finish, result_of, tepa, text};

/// Returns a folder with a task whose first cycle runs `first`, whose second runs `second`; the judge likes everything.
fn task(first: &str, second: Option<&str>, config: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut replies = Vec::new();
    for (cycle, script) in [Some(first), second].into_iter().flatten().enumerate() {
        replies.extend([
            json!({"stage": "planner", "cycle": cycle + 1, "json": {"reasoning": "r", "estimatedTokens": 10, "steps": [{
                "id": "one", "description": "d", "tools": ["shell_execute"], "expectedOutcome": "e", "dependencies": []}]}}),
            json!({"stage": "step", "cycle": cycle + 1, "step": "one", "tool": "shell_execute", "toolUse": {"command": script}}),
            json!({"stage": "evaluator", "cycle": cycle + 1, "json": {"verdict": "pass", "confidence": 0.9, "summary": "done"}}),
        ]);
    }
    let write = |path: &str, content: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("tasks/prompt.json", r#"{"goal": "g", "context": {}, "expectedOutput": "e"}"#);
    write("replies.json", &json!({"format": "tepa.replay/1", "replies": replies}).to_string());
    write("config.json", &config.to_string());
    write(".git/hooks/pre-commit", "exit 1\n");
    write(".github/workflows/ci.yml", "on: push\n");
    write("src/main.c", "int main;\n");
    folder
}

fn run(folder: &TempDir, further: &[&str]) -> Output {
    let mut command = tepa(folder.path());
    command.args(["run", "tasks/prompt.json", "--replay", "replies.json", "--config", "config.json"]);
    finish(command.args(further))
}

#[test]
fn a_run_that_changes_a_protected_file_does_not_pass() {
    for (script, path, what) in [
        ("echo easier > tasks/prompt.json", "tasks/prompt.json", "modified"),
        ("rm tasks/prompt.json", "tasks/prompt.json", "deleted"),
        ("echo '{}' > config.json", "config.json", "modified"),
        ("echo 'exit 0' > .git/hooks/pre-commit", ".git/hooks/pre-commit", "modified"),
        ("chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit", "modified"),
        ("mkdir -p .github/actions && echo x > .github/actions/new", ".github/actions/new", "created"),
        ("mv .github gone", ".github/workflows/ci.yml", "deleted"),
        ("echo 'sandbox: {mode: \"off\"}' > tepa.yaml", "tepa.yaml", "created"),
    ] {
        let folder = task(script, None, &json!({"limits": {"maxCycles": 1}}));
        let output = run(&folder, &[]);
        assert_eq!(output.status.code(), Some(1), "{script}: {}", text(&output.stderr));
        let result = result_of(folder.path());
        assert_eq!(result["reason"], "protected_path_modified", "{script}");
        let broken =
            result["checks"].as_array().unwrap().iter().find(|check| check["check"] == "protected").unwrap();
        assert_eq!((&broken["path"], &broken["actual"]), (&json!(path), &json!(what)), "{script}");
        let feedback = format!("protected file \"{path}\" was {what}: leave it as it was when the run began");
        assert_eq!(result["feedback"], feedback.as_str(), "{script}");
        assert!(text(&output.stderr).contains("checks overruled the judge"), "{}", text(&output.stderr));
    }
}

#[test]
fn other_files_may_be_changed_and_git_may_look_at_what_it_has() {
    let script =
        "echo x > src/main.c; echo x > .git/index; touch .git/hooks/pre-commit; cat .github/workflows/ci.yml";
    let folder = task(script, None, &json!({}));
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(result_of(folder.path())["checks"], json!([]));
}

#[test]
fn the_planner_is_told_and_may_put_it_back() {
    let (spoil, mend) = ("echo x >> .git/hooks/pre-commit", "echo 'exit 1' > .git/hooks/pre-commit");
    let folder = task(spoil, Some(mend), &json!({}));
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("protected file \".git/hooks/pre-commit\" was modified"));
}

#[test]
fn a_person_says_what_is_protected_and_the_task_always_is() {
    let free = json!({"protect": ["src/**"], "limits": {"maxCycles": 1}});
    let folder = task("echo x > .git/hooks/pre-commit", None, &free);
    assert_eq!(run(&folder, &[]).status.code(), Some(0));
    for script in ["echo x > src/main.c", "echo x > tasks/prompt.json"] {
        let folder = task(script, None, &free);
        assert_eq!(run(&folder, &[]).status.code(), Some(1), "{script}");
    }
}

#[test]
fn the_projects_file_cannot_loosen_what_a_person_decided() {
    for (text, key) in [
        ("sandbox: {mode: \"off\"}", "sandbox.mode"),
        ("sandbox: {network: true}", "sandbox.network"),
        ("sandbox: {required: false}", "sandbox.required"),
        ("sandbox: {writable: [/]}", "sandbox.writable"),
        ("mcpServers: {a: {command: sh}}", "mcpServers"),
        ("customTools: [{name: a, description: d, command: [sh], env: {A: b}}]", "customTools"),
        ("turn: {input: [history: {}, command: {run: sh}]}", "turn.input"),
        ("turn: {output: [command: {run: sh}]}", "turn.output"),
        ("cycle: {input: [command: {run: sh}]}", "cycle.input"),
        ("cycle: {output: [command: {run: sh}]}", "cycle.output"),
        ("turn: {store: {kind: sqlite, path: ../../memory.db}}", "turn.store.path"),
    ] {
        let folder = task("true", None, &json!({}));
        fs::write(folder.path().join("tepa.yaml"), text).unwrap();
        let output = run(&folder, &[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let stderr = support::text(&output.stderr);
        assert!(stderr.contains(&format!("`{key}` cannot be set in the project's `tepa.yaml`")), "{stderr}");
    }
    let home = |config: &str| {
        let script = "echo x > .git/hooks/pre-commit; echo x > src/main.c";
        let folder = task(script, None, &json!({"limits": {"maxCycles": 1}}));
        fs::create_dir_all(folder.path().join("no-home/.config/tepa")).unwrap();
        fs::write(folder.path().join("no-home/.config/tepa/config.yaml"), config).unwrap();
        folder
    };
    for (text, key) in [
        ("tools: []", "tools"),
        ("network: {allowHosts: [evil.example]}", "network.allowHosts"),
        ("sandbox: {mode: workspace-write}", "sandbox.mode"),
        ("turn: {input: []}", "turn.input"),
        ("turn: {store: {kind: sqlite}}", "turn.store"),
    ] {
        let own = "tools: [shell_execute]\nnetwork: {allowHosts: [good.example]}\nsandbox: {mode: read-only}\n\
                   turn: {store: none, input: [policy: {maxPromptTokens: 9}]}";
        let folder = home(own);
        fs::write(folder.path().join("tepa.yaml"), text).unwrap();
        let output = run(&folder, &[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let why =
            format!("`{key}` cannot be set in the project's `tepa.yaml`: your own configuration says it");
        assert!(support::text(&output.stderr).contains(&why), "{}", support::text(&output.stderr));
    }
    let limits = "{maxCycles: 1, maxTokens: 9000, maxCostUsd: 0.5, maxDuration: 1m, maxToolCalls: 5}";
    for (higher, lower) in [
        ("maxCycles: 2", "maxCycles: 1"),
        ("maxTokens: 9001", "maxTokens: 8999"),
        ("maxCostUsd: 0.6", "maxCostUsd: 0.4"),
        ("maxDuration: 61000", "maxDuration: 59s"),
        ("maxToolCalls: 6", "maxToolCalls: 4"),
    ] {
        let folder = home(&format!("limits: {limits}\nprotect: []"));
        let project = |limit: &str| {
            fs::write(folder.path().join("tepa.yaml"), format!("limits: {{{limit}}}")).unwrap();
            run(&folder, &[])
        };
        let output = project(higher);
        assert_eq!(output.status.code(), Some(2), "{higher}");
        let key = higher.split(':').next().unwrap();
        let why = format!(
            "`limits.{key}` cannot be set in the project's `tepa.yaml`: your own configuration says it"
        );
        assert!(support::text(&output.stderr).contains(&why), "{}", support::text(&output.stderr));
        let output = project(lower);
        assert_eq!(output.status.code(), Some(0), "{lower}: {}", support::text(&output.stderr));
    }
    let folder = home("{}");
    fs::write(folder.path().join("tepa.yaml"), "protect: [src/**]").unwrap();
    assert_eq!(run(&folder, &[]).status.code(), Some(1));
    let broken = result_of(folder.path())["checks"].as_array().unwrap().len();
    assert_eq!(broken, 2, "the project protects more files, and no fewer");
    for text in
        ["sandbox: {mode: read-only, required: true}", "tools: [shell_execute]\ndenyTools: [file_write]"]
    {
        let folder = task("true", None, &json!({}));
        fs::write(folder.path().join("tepa.yaml"), text).unwrap();
        assert_eq!(run(&folder, &[]).status.code(), Some(0), "{text}");
    }
}

/// A value with everything that programs write down in different ways.
const CANARY: &str = "canary+\"secret\"/väl ue?=";

/// Returns the forms in which [`CANARY`] could be found by somebody who looks for it.
fn forms() -> Vec<String> {
    let quoted = json!(CANARY).to_string();
    let forms = [
        CANARY.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        "canary%2B%22secret%22%2Fv%C3%A4l%20ue%3F%3D".to_owned(),
        // Base64 of it, behind nothing, and the middle of it behind one and two other bytes.
        "Y2FuYXJ5KyJzZWNyZXQiL3bDpGwgdWU/PQ".to_owned(),
        "jYW5hcnkrInNlY3JldCIvdsOkbCB1ZT".to_owned(),
        "Y2FuYXJ5KyJzZWNyZXQiL3bDpGwgdWU/P".to_owned(),
    ];
    forms.to_vec()
}

#[test]
fn a_declared_secret_is_in_nothing_that_tepa_writes_or_shows() {
    let script = "cat secret.env; printf '%s' \"$PASSED\"; printf 'u:%s' \"$PASSED\" | base64 -w0; printf 'x%s' \"$PASSED\" | base64 -w0; \
                  printf '%s' 'canary%2B%22secret%22%2Fv%C3%A4l%20ue%3F%3D' >&2; printf 'file-canary-0815' ; printf '%s' \"$PASSED\" | base64 -w0; exit 1";
    let config = json!({
        "secrets": {"env": ["CANARY_*"], "files": ["secret.env"]},
        "sandbox": {"environment": ["PASSED"]},
        "llmLog": {"includeContent": true},
        "limits": {"maxCycles": 2},
    });
    let folder = task(script, Some(script), &config);
    fs::write(
        folder.path().join("secret.env"),
        format!("# values\nexport TOKEN='file-canary-0815'\nOTHER={CANARY}\n"),
    )
    .unwrap();
    let prompt = json!({"goal": format!("use {CANARY}"), "context": {CANARY: CANARY}, "expectedOutput": [{"path": format!("no/{CANARY}"), "description": CANARY}]});
    fs::write(folder.path().join("tasks/prompt.json"), prompt.to_string()).unwrap();
    // What was there before is the person's own.
    let given = files_below(folder.path());
    for output in ["text", "json", "jsonl"] {
        let mut command = tepa(folder.path());
        command.args([
            "run",
            "tasks/prompt.json",
            "--replay",
            "replies.json",
            "--config",
            "config.json",
            "--log-level",
            "verbose",
        ]);
        command.args(["--output", output, "--result", "result.json", "--record", "recorded.yaml"]);
        command.args(["--report", "junit=report.xml,markdown=report.md,html=report.html"]);
        command.env("CANARY_TOKEN", CANARY).env("PASSED", CANARY).env("TEPA_LOG", "trace");
        let ended = finish(&mut command);
        assert_eq!(ended.status.code(), Some(1), "{}", text(&ended.stderr));
        let mut shown =
            vec![("stdout".to_owned(), text(&ended.stdout)), ("stderr".to_owned(), text(&ended.stderr))];
        for file in files_below(folder.path()).into_iter().filter(|file| !given.contains(file)) {
            let content = fs::read(folder.path().join(&file)).unwrap();
            shown.push((file.display().to_string(), text(&content)));
        }
        let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
        for expected in ["result.json", "recorded.yaml", "report.xml", "report.md", "report.html"] {
            assert!(names.contains(&expected), "{names:?}");
        }
        assert!(names.iter().any(|name| name.ends_with("events.jsonl")), "{names:?}");
        assert!(
            shown
                .iter()
                .any(|(name, text)| name.ends_with("events.jsonl") && text.matches("***").count() > 10)
        );
        for (name, text) in &shown {
            for form in forms().iter().chain([&"file-canary-0815".to_owned()]) {
                assert!(!text.contains(form.as_str()), "{form} is in {name}:\n{text}");
            }
        }
    }
}

#[test]
fn what_is_handed_to_servers_and_tools_under_the_name_of_a_secret_is_one() {
    let config = json!({
        "mcpServers": {"far": {"url": "http://127.0.0.1:9/", "required": false,
            "headers": {"Authorization": "Bearer written-canary-1", "X-Api-Key": "${FILLED_TOKEN}"}}},
        "customTools": [{"name": "own", "description": "Does.", "command": ["sh", "-c", "echo $MY_PASSWORD $MODE"],
            "env": {"MY_PASSWORD": "written-canary-2", "MODE": "production", "WHERE": "${DEPLOY_TOKEN}"}}],
    });
    let script = "echo written-canary-1 filled-canary-3 written-canary-2 production; echo filled-canary-4";
    let folder = task(script, None, &config);
    let mut command = tepa(folder.path());
    command.args([
        "run",
        "tasks/prompt.json",
        "--replay",
        "replies.json",
        "--config",
        "config.json",
        "--output",
        "jsonl",
    ]);
    let output =
        finish(command.env("FILLED_TOKEN", "filled-canary-3").env("DEPLOY_TOKEN", "filled-canary-4"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(shown.contains("*** *** *** production"), "{shown}");
    assert!(!shown.contains("-canary-"), "{shown}");
}

#[test]
fn a_providers_key_is_for_no_tool() {
    let config = json!({"customTools": [{"name": "own", "description": "Does.", "command": ["sh"],
        "env": {"KEY": "${ANTHROPIC_API_KEY}"}}]});
    let folder = task("true", None, &config);
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("holds a provider's key, which is for no tool"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn errors_before_a_run_show_no_secret_either() {
    let folder = task("true", None, &json!({"secrets": {"env": ["CANARY_TOKEN"]}}));
    let mut command = tepa(folder.path());
    command
        .args(["run", "tasks/prompt.json", "--config", "config.json", "--replay", CANARY])
        .env("CANARY_TOKEN", CANARY);
    let output = finish(&mut command);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("***") && !stderr.contains("secret\\\"") && !stderr.contains(CANARY), "{stderr}");
}

#[test]
fn a_file_of_secrets_has_to_be_there() {
    let folder = task("true", None, &json!({"secrets": {"files": ["absent.env"]}}));
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).starts_with("error: the secrets in `absent.env` cannot be read"),
        "{}",
        text(&output.stderr)
    );
}
