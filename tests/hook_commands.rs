//! Commands as hooks: what they are told, how each of their ends is read, and that a run cannot get around them.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::config::Environment;
use tepa::hook::PostPlanner;
use tepa::hooks::Site;
use tepa::outcome::RunStatus;
use tepa::secret::Secrets;

use support::{Bench, eventually, finish, gone, result_of, tepa, text};

const PLAN: &str = r#"{"reasoning": "r", "estimatedTokens": 10.0, "steps": [{"id": "one", "description": "say it", "tools": [],
    "expectedOutcome": "said", "dependencies": []}]}"#;

fn plan() -> Value {
    serde_json::from_str(PLAN).unwrap()
}

/// Returns one cycle: a plan, the words of its step, and a verdict.
fn cycle(number: u32, verdict: &str) -> Vec<Value> {
    vec![
        json!({"stage": "planner", "cycle": number, "json": plan(), "usage": {"input": 10, "output": 5}}),
        json!({"stage": "step", "cycle": number, "step": "one", "text": "it is said", "usage": {"input": 20, "output": 10}}),
        json!({"stage": "evaluator", "cycle": number, "usage": {"input": 30, "output": 15},
            "json": {"verdict": verdict, "confidence": 0.9, "feedback": "louder", "summary": "done"}}),
    ]
}

/// A folder with a task, its replies and hooks.
struct Task(TempDir);

impl Task {
    fn new(replies: &[Value], config: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let task = Self(folder);
        task.write("task.json", r#"{"goal": "Say something.", "context": {}, "expectedOutput": "e"}"#);
        task.write("replies.json", &json!({"format": "tepa.replay/1", "replies": replies}).to_string());
        task.write("config.json", &config.to_string());
        task
    }

    /// Returns a task of one cycle that passes, with hooks.
    fn passing(events: &Value) -> Self {
        Self::new(&cycle(1, "pass"), &json!({"events": events}))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    fn run(&self, further: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = tepa(self.0.path());
        command
            .args(["run", "task.json", "--replay", "replies.json", "--config", "config.json"])
            .args(further);
        finish(command.env("TMPDIR", self.path("tmp")).envs(variables.iter().copied()))
    }

    fn journal(&self) -> String {
        let run = fs::read_dir(self.path(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
        fs::read_to_string(run.join("events.jsonl")).unwrap()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let journal = self.journal();
        let events = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["type"] == kind).collect()
    }

    /// Returns what `hook.completed` events say of `key`.
    fn hooks(&self, key: &str) -> Vec<Value> {
        self.events("hook.completed").into_iter().map(|mut event| event[key].take()).collect()
    }

    fn reason(&self) -> Value {
        result_of(self.0.path())["reason"].clone()
    }
}

fn exit(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), text(&output.stderr))
}

/// How a hook goes wrong: its name, its line, the reason of a run that it ends, what is said of it.
type Fault = (&'static str, Value, &'static str, &'static str);

fn faults() -> Vec<Fault> {
    let unknown_tool = json!({"reasoning": "r", "estimatedTokens": 1, "steps": [{"id": "one", "description": "d",
        "tools": ["rm_rf"], "expectedOutcome": "o", "dependencies": []}]});
    let mut circular = plan();
    circular["steps"][0]["dependencies"] = json!(["one"]);
    let mut unknown_key = plan();
    unknown_key["steps"][0]["dependson"] = json!([]);
    let prints = |value: &Value| json!(["printf", "%s", value.to_string()]);
    vec![
        (
            "exits with 1",
            json!("setsid sleep 300 >/dev/null 2>&1 & echo $! > pid; echo boom >&2; exit 1"),
            "hook_stopped",
            "exit code 1: boom",
        ),
        ("exits with 127", json!("no-such-program-anywhere"), "hook_stopped", "exit code 127: "),
        (
            "is not there",
            json!(["no-such-program-anywhere"]),
            "hook_stopped",
            "cannot start `no-such-program-anywhere`",
        ),
        ("is killed", json!("kill -9 $$"), "hook_stopped", "exit code 137, as after signal 9"),
        ("hangs", json!("sleep 300 & echo $! > pid; wait"), "hook_stopped", "timed out after 3000 ms"),
        (
            "floods",
            json!("yes | head -c 3000000"),
            "hook_stopped",
            "wrote more than 1.0 MB to its standard output",
        ),
        (
            "prints half a JSON",
            json!("printf '{\"reasoning\": \"r\", '"),
            "hook_stopped",
            "is not one JSON value (EOF",
        ),
        (
            "prints something else",
            json!("echo {}"),
            "hook_stopped",
            "does not fit postPlanner: \"reasoning\" is a required",
        ),
        (
            "prints a key that is none",
            prints(&unknown_key),
            "hook_stopped",
            "unknown key `dependson` at `/steps/0`",
        ),
        (
            "prints an unknown tool",
            prints(&unknown_tool),
            "cycle_error",
            "references unknown tool \"rm_rf\" in step \"one\"",
        ),
        (
            "prints a circle",
            prints(&circular),
            "cycle_error",
            "Circular dependency detected among steps: one",
        ),
    ]
}

#[test]
fn a_hook_that_goes_wrong_ends_the_run_unless_the_run_may_go_on_without_it() {
    for (name, command, reason, words) in faults() {
        for continue_on_error in [false, true] {
            let timeout = if name == "hangs" { "3s" } else { "5m" };
            let hook = json!({"command": command, "timeout": timeout, "continueOnError": continue_on_error});
            let task = Task::passing(&json!({"postPlanner": [hook]}));
            let output = task.run(&[], &[]);
            let (code, said) = exit(&output);
            let what = format!("{name}, continueOnError {continue_on_error}: {said}");
            let [error] = &task.hooks("error")[..] else { panic!("{what}") };
            assert!(error.as_str().unwrap().contains(words), "{what}: {error}");
            assert_eq!(task.hooks("outcome"), ["failed"], "{what}");
            if continue_on_error {
                assert_eq!((code, task.reason()), (Some(0), json!("passed")), "{what}");
                let warnings = task.events("warning");
                let of_hook: Vec<&Value> =
                    warnings.iter().filter(|one| one["code"] == "hook_failed").collect();
                let [warning] = &of_hook[..] else { panic!("{what}: {warnings:?}") };
                assert!(warning["message"].as_str().unwrap().contains(words), "{what}: {warning}");
                assert_eq!(task.events("plan.completed")[0]["plan"], plan(), "{what}");
            } else {
                assert_eq!((code, task.reason()), (Some(1), json!(reason)), "{what}");
                let result = result_of(task.0.path());
                let feedback = result["feedback"].as_str().unwrap();
                assert!(
                    feedback.contains(words) && feedback.contains("postPlanner hook `"),
                    "{what}: {feedback}"
                );
                assert!(task.events("step.started").is_empty(), "{what}");
                // The end of a run that a person sees.
                let shown = said.split_whitespace().collect::<Vec<_>>().join(" ");
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(shown.contains(&words), "{what}");
            }
            assert_eq!(fs::read_dir(task.path("tmp")).unwrap().count(), 0, "{what}");
            if let Ok(pid) = fs::read_to_string(task.path("pid")) {
                eventually(|| gone(pid.trim()));
            }
        }
    }
}

#[test]
fn exit_code_2_stops_the_run_whatever_may_go_on() {
    for continue_on_error in [false, true] {
        let hook = json!({"command": "echo; echo too dear >&2; echo '{}'; exit 2", "continueOnError": continue_on_error});
        let task = Task::passing(&json!({"preStep": [hook, {"command": "touch asked"}]}));
        let (code, said) = exit(&task.run(&[], &[]));
        assert_eq!((code, task.reason()), (Some(1), json!("hook_stopped")), "{said}");
        assert!(said.contains("stopped the run: too dear"), "{said}");
        assert_eq!(task.hooks("outcome"), ["stopped"]);
        assert!(!task.path("asked").exists(), "nobody is asked after a stop");
    }
}

/// A line that hands the data back with one word changed.
fn changing(from: &str, to: &str) -> String {
    format!("sed 's/^{{\"event\":\"[a-zA-Z]*\",\"data\"://; s/,\"cycle\":{{[^}}]*}}}}$//; s/{from}/{to}/'")
}

#[test]
fn hooks_are_asked_in_order_and_each_gets_what_the_one_before_made() {
    let task = Task::passing(&json!({"postPlanner": [
        {"command": changing("say it", "sing it")},
        {"command": changing("it is nowhere", "x"), "continueOnError": true},
        {"command": "cat > seen; exit 3", "continueOnError": true},
        {"command": changing("sing it", "sing it twice")},
        {"command": "true"},
    ]}));
    let (code, said) = exit(&task.run(&["--log-level", "verbose"], &[]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(task.hooks("outcome"), ["replaced", "replaced", "failed", "replaced", "kept"]);
    let place = json!(["/steps/0/description"]);
    assert_eq!(task.hooks("changed"), [place.clone(), Value::Null, Value::Null, place, Value::Null]);
    let seen: Value = serde_json::from_str(&fs::read_to_string(task.path("seen")).unwrap()).unwrap();
    assert_eq!(seen["data"]["steps"][0]["description"], "sing it");
    assert_eq!(task.events("plan.completed")[0]["plan"]["steps"][0]["description"], "sing it twice");
    assert!(said.contains("changed /steps/0/description"), "{said}");
}

#[tokio::test]
async fn commands_and_closures_are_asked_in_one_order() {
    let prompt = "goal: g\ncontext: {}\nexpectedOutput: e\n";
    let replies = json!({"format": "tepa.replay/1", "replies": cycle(1, "pass")}).to_string();
    let events = json!({"postPlanner": [{"command": changing("say it", "sing it")}]});
    let mut bench = Bench::new(prompt, &replies, &json!({"events": events}));
    let pipeline = &mut bench.pipeline;
    let site = Site {
        workspace: Arc::clone(&pipeline.workspace),
        setting: Arc::clone(&pipeline.setting),
        temporary: pipeline.temporary.clone(),
        secrets: Secrets::default(),
    };
    let environment = Environment::of(bench.folder.path().to_owned(), []);
    let events = &pipeline.config.events;
    tepa::hooks::register(&mut pipeline.hooks, events, &bench.prompt, &environment, site).unwrap();
    pipeline.hooks.on::<PostPlanner, _>("closure", false, |mut plan, _| {
        Box::pin(async move {
            plan.steps[0].description.push_str(" and dance");
            Ok(Some(plan))
        })
    });
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    assert!(bench.requests.lock().unwrap()[1].messages[0].content.contains("sing it and dance"));
}

#[test]
fn the_eight_points_are_told_what_the_table_says_in_the_form_that_is_published() {
    let hook = json!([{"command": "cat >> seen; echo >> seen"}]);
    let points = [
        "prePlanner",
        "postPlanner",
        "preExecutor",
        "preStep",
        "postStep",
        "postExecutor",
        "preEvaluator",
        "postEvaluator",
    ];
    assert_eq!(points, tepa::hook::NAMES);
    let events: serde_json::Map<String, Value> =
        points.into_iter().rev().map(|point| (point.to_owned(), hook.clone())).collect();
    let config = json!({"events": events});
    let task = Task::new(&[cycle(1, "fail"), cycle(2, "pass")].concat(), &config);
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(task.hooks("outcome"), ["kept"; 16]);
    let seen = fs::read_to_string(task.path("seen")).unwrap();
    let seen: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seen.len(), 16);
    let schemas = tepa::hook::schemas();
    for (at, said) in seen.iter().enumerate() {
        assert_eq!(said["event"], points[at % 8]);
        assert_eq!(said.as_object().unwrap().keys().collect::<Vec<_>>(), ["event", "data", "cycle"]);
        let cycle = at / 8 + 1;
        assert_eq!(
            (&said["cycle"]["cycleNumber"], &said["cycle"]["totalCyclesUsed"]),
            (&json!(cycle), &json!(cycle))
        );
        let validator = jsonschema::draft202012::new(&schemas[at % 8].1).unwrap();
        assert!(validator.is_valid(&said["data"]), "{said}");
    }
    let tokens: Vec<u64> = seen.iter().map(|said| said["cycle"]["tokensUsed"].as_u64().unwrap()).collect();
    assert_eq!(tokens, [0, 15, 15, 15, 45, 45, 45, 90, 90, 105, 105, 105, 135, 135, 135, 180]);
    let data = |at: usize| &seen[at]["data"];
    assert_eq!(data(0), &json!({"prompt": {"goal": "Say something.", "context": {}, "expectedOutput": "e"}}));
    assert_eq!(data(8)["feedback"], "louder");
    assert_eq!(data(1), &plan());
    assert_eq!(
        (&data(2)["plan"], &data(2)["cycle"], &data(2)["scratchpad"]),
        (&plan(), &json!(1), &json!({}))
    );
    assert_eq!(
        (&data(2)["previousResults"], &data(10)["previousResults"][0]["stepId"]),
        (&Value::Null, &json!("one"))
    );
    assert_eq!(data(3), &json!({"step": plan()["steps"][0], "cycle": 1}));
    assert_eq!((&data(4)["result"]["output"], &data(4)["step"]["id"]), (&json!("it is said"), &json!("one")));
    assert_eq!((&data(5)["results"][0]["status"], &data(5)["tokensUsed"]), (&json!("success"), &json!(30)));
    assert_eq!(
        (&data(6)["prompt"]["goal"], &data(6)["results"][0]["stepId"]),
        (&json!("Say something."), &json!("one"))
    );
    assert_eq!((&data(7)["verdict"], &data(15)["verdict"]), (&json!("fail"), &json!("pass")));
}

#[test]
fn the_schemas_under_config_are_those_of_the_data() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/schema/hooks");
    let bless = std::env::var_os("TEPA_BLESS").is_some();
    let mut expected = Vec::new();
    for (point, schema) in tepa::hook::schemas() {
        let path = folder.join(format!("{point}.json"));
        let written = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if bless {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &written).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == written, "{} is out of date: TEPA_BLESS=1 writes it", path.display());
        expected.push(path);
    }
    let mut there: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    there.sort();
    expected.sort();
    assert_eq!(there, expected);
}

#[test]
fn a_hook_is_asked_only_when_its_conditions_hold() {
    let mut replies = [cycle(1, "fail"), cycle(2, "pass")].concat();
    for reply in &mut replies {
        if let Some(steps) = reply.pointer_mut("/json/steps").and_then(Value::as_array_mut) {
            steps.push(json!({"id": "two", "description": "list", "tools": ["directory_list"], "expectedOutcome": "e", "dependencies": ["one"]}));
        }
    }
    for cycle in [1, 2] {
        replies.push(json!({"stage": "step", "cycle": cycle, "step": "two", "tool": "directory_list", "toolUse": {"path": "tmp"}}));
    }
    let note = |when: Value| {
        let words = when.to_string().replace('"', "");
        json!({"command": format!("echo '{words}' >> asked"), "when": when})
    };
    let task = Task::new(
        &replies,
        &json!({"events": {
            "preStep": [note(json!({"step": "one"})), note(json!({"tool": "directory_list", "cycle": 2})), note(json!({"tool": "file_read"}))],
            "postPlanner": [note(json!({"cycle": [2, 3]}))],
            "postEvaluator": [note(json!({"verdict": "fail"})), note(json!({"verdict": "pass"}))],
        }}),
    );
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!(code, Some(0), "{said}");
    let asked = fs::read_to_string(task.path("asked")).unwrap();
    assert_eq!(
        asked.lines().collect::<Vec<_>>(),
        [
            "{step:one}",
            "{verdict:fail}",
            "{cycle:[2,3]}",
            "{step:one}",
            "{tool:directory_list,cycle:2}",
            "{verdict:pass}"
        ]
    );
    assert_eq!(task.hooks("outcome").len(), 6, "who is not asked is not in the record");
}

#[test]
fn who_judges_again_asks_the_hooks_around_the_judge() {
    let note = json!([{"command": "echo >> asked"}]);
    let task = Task::passing(&json!({"preStep": note, "preEvaluator": note, "postEvaluator": note}));
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!(code, Some(0), "{said}");
    let judge = json!({"format": "tepa.replay/1", "replies": [cycle(1, "pass")[2]]});
    task.write("judge.json", &judge.to_string());
    let mut command = tepa(task.0.path());
    command.args(["runs", "evaluate", "latest", "--replay", "judge.json", "--config", "config.json"]);
    let (code, said) = exit(&finish(&mut command));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(task.path("asked")).unwrap().lines().count(), 3 + 2);
}

/// Returns a task whose step runs `script`.
fn working(script: &str, config: &Value) -> Task {
    let mut replies = cycle(1, "pass");
    replies[0]["json"]["steps"][0]["tools"] = json!(["shell_execute"]);
    replies[1] =
        json!({"stage": "step", "step": "one", "tool": "shell_execute", "toolUse": {"command": script}});
    Task::new(&replies, config)
}

#[test]
fn a_run_cannot_rewrite_the_hook_that_watches_it() {
    let rewrite = "echo 'exit 0' > watch/guard.sh";
    let guard = json!({"command": ["sh", "watch/guard.sh"], "continueOnError": true});
    let config = json!({"limits": {"maxCycles": 1}, "events": {"preEvaluator": [guard]}});
    let task = working(rewrite, &config);
    task.write("watch/guard.sh", "echo not with me, says $0 >&2; exit 2\n");
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!((code, task.reason()), (Some(1), json!("hook_stopped")), "{said}");
    assert!(
        said.contains(
            "preEvaluator hook `sh watch/guard.sh` stopped the run: not with me, says watch/guard.sh"
        ),
        "{said}"
    );

    // One that has nothing to say is rewritten all the same, and that is seen as well.
    let task = working(rewrite, &config);
    task.write("watch/guard.sh", "true\n");
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!((code, task.reason()), (Some(1), json!("protected_path_modified")), "{said}");
    let feedback = result_of(task.0.path())["feedback"].clone();
    assert_eq!(
        feedback,
        "protected file \"watch/guard.sh\" was modified: leave it as it was when the run began"
    );
    assert_eq!(fs::read_dir(task.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_run_cannot_lead_a_hook_elsewhere() {
    let shared = tempfile::tempdir().unwrap();
    fs::write(shared.path().join("guard.sh"), "true\n").unwrap();
    let guard = json!({"command": ["sh", "watch/guard.sh"]});
    let config = json!({"limits": {"maxCycles": 1}, "events": {"preEvaluator": [guard]}});
    let task = working("rm watch && mkdir watch && echo 'exit 0' > watch/guard.sh", &config);
    std::os::unix::fs::symlink(shared.path(), task.path("watch")).unwrap();
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!((code, task.reason()), (Some(1), json!("protected_path_modified")), "{said}");
}

#[test]
fn a_hook_works_in_the_folder_of_the_run_with_its_own_variables_which_nobody_sees() {
    let line =
        "test -f task.json && echo $TOKEN $MODE ${ANTHROPIC_API_KEY:-none} > told; echo $TOKEN >&2; exit 1";
    let env = json!({"TOKEN": "${DEPLOY_TOKEN}", "MODE": "${MODE:-slow}"});
    let task = Task::passing(&json!({"preStep": [{"command": line, "env": env, "continueOnError": true}]}));
    let variables = [("DEPLOY_TOKEN", "t-0123456789"), ("ANTHROPIC_API_KEY", "k-0123456789")];
    let (code, said) = exit(&task.run(&["--log-level", "verbose"], &variables));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(task.path("told")).unwrap(), "t-0123456789 slow none\n");
    assert_eq!(task.hooks("error"), ["exit code 1: ***"]);
    assert!(!task.journal().contains("t-0123456789") && !said.contains("t-0123456789"), "{said}");
    let hook = &task.events("run.started")[0]["config"]["events"]["preStep"][0];
    assert_eq!(hook["env"], json!({"TOKEN": "***", "MODE": "***"}));

    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot fill in `TOKEN` of the preStep hook `test -f task.json"), "{said}");
}

#[test]
fn a_hook_takes_no_module_from_the_folder_that_the_run_writes() {
    let hook = |env: Value| json!({"command": "echo \"${PYTHONSAFEPATH-unset}\" >> told", "env": env});
    let task = Task::passing(&json!({"preStep": [hook(json!({})), hook(json!({"PYTHONSAFEPATH": ""}))]}));
    let (code, said) = exit(&task.run(&[], &[]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(task.path("told")).unwrap(), "1\n\n", "who wants another value says so");
}

#[test]
fn a_hook_ends_with_the_run_that_runs_out_of_time() {
    let task =
        Task::passing(&json!({"preStep": [{"command": "sleep 300 & echo $! > pid; wait", "timeout": "5m"}]}));
    let (code, said) = exit(&task.run(&["--timeout", "3s"], &[]));
    assert_eq!((code, task.reason()), (Some(3), json!("time_budget")), "{said}");
    let pid = fs::read_to_string(task.path("pid")).unwrap();
    eventually(|| gone(pid.trim()));
    assert_eq!(fs::read_dir(task.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_hook_is_confined_as_commands_are_and_may_have_a_network_of_its_own() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let outside = tempfile::tempdir().unwrap();
    let line = format!(
        "echo x > {}/file; echo x > inside; bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && touch connected'; exit 0",
        outside.path().display()
    );
    for network in [json!(null), json!(true)] {
        let task = Task::passing(&json!({"preStep": [{"command": line, "network": network}]}));
        let (code, said) = exit(&task.run(&[], &[]));
        assert_eq!(code, Some(0), "{said}");
        assert!(task.path("inside").exists());
        let confined = task.events("sandbox.applied")[0]["landlock"].as_u64() > Some(0);
        assert!(
            confined || std::env::var_os("TEPA_TEST_EVERYTHING").is_none(),
            "this kernel confines nothing"
        );
        assert!(!confined || !outside.path().join("file").exists());
        assert!(!confined || task.path("connected").exists() == (network == true));
    }
}
