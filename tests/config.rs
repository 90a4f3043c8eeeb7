//! Layers through the binary: which file, variable, `--set` or flag counts, what `tepa config` says of it, and what is refused.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{finish, tepa, text};

/// Returns a folder with a user's and a project's configuration.
fn folder(user: &str, project: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own/tepa");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("config.yaml"), user).unwrap();
    fs::write(folder.path().join("tepa.yaml"), project).unwrap();
    folder
}

fn call(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = tepa(folder);
    command.env("XDG_CONFIG_HOME", folder.join("own"));
    finish(command.args(arguments).envs(variables.iter().copied()))
}

/// Returns what `tepa config` says is set, as `key value origin`.
fn said(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let output = call(folder, &[&["config", "--output", "json"], arguments].concat(), variables);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let settings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let line = |setting: &Value| {
        format!(
            "{} {} {}",
            setting["key"].as_str().unwrap(),
            setting["value"],
            setting["origin"].as_str().unwrap()
        )
    };
    settings.iter().map(line).collect()
}

fn refused(folder: &Path, arguments: &[&str], variables: &[(&str, &str)], words: &[&str]) {
    let output = call(folder, arguments, variables);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{arguments:?}: {word}: {stderr}");
    }
}

const CONFIG: &str = if cfg!(target_os = "linux") { "own/tepa/config.yaml" } else { "config.yaml" };

#[test]
#[cfg(target_os = "linux")]
fn each_layer_wins_over_those_below_it() {
    let folder = folder("limits: {maxCycles: 1}", "limits: {maxCycles: 1, maxTokens: 1}");
    fs::write(folder.path().join("tepa.yaml"), "evaluator: {votes: 2}\n").unwrap();
    fs::write(
        folder.path().join("own/tepa/config.yaml"),
        "evaluator: {askAgainBelow: 0.5}\ncalls: {maxRetries: 1}\n",
    )
    .unwrap();
    fs::write(folder.path().join("c.yaml"), "evaluator: {votes: 4}\nmodel: {planner: of-file}\n").unwrap();
    let at = folder.path();
    let own = format!("calls.maxRetries 1 {CONFIG}");
    assert_eq!(
        said(at, &[], &[]),
        [
            "evaluator.votes 2 tepa.yaml".to_owned(),
            format!("evaluator.askAgainBelow 0.5 {CONFIG}"),
            own.clone()
        ]
    );
    let named = said(at, &["--config", "c.yaml"], &[]);
    assert_eq!(
        (named[0].as_str(), named[1].as_str()),
        ("model.planner \"of-file\" c.yaml", "evaluator.votes 4 c.yaml")
    );
    let variable =
        [("TEPA_PLANNER_MODEL", "of-variable"), ("TEPA_CONFIG", "c.yaml"), ("TEPA_MAX_TOKENS", "")];
    assert_eq!(said(at, &[], &variable)[0], "model.planner \"of-variable\" TEPA_PLANNER_MODEL");
    let set = ["--set", "model.planner=of-set", "--set", "calls.maxRetries=2"];
    let settings = said(at, &set, &variable);
    assert_eq!(
        (settings[0].as_str(), settings.last().unwrap().as_str()),
        ("model.planner \"of-set\" --set", "calls.maxRetries 2 --set")
    );
    assert_eq!(
        said(at, &["--planner-model", "of-flag"], &variable)[0],
        "model.planner \"of-flag\" --planner-model"
    );
    // What is more general wins where it stands higher.
    assert_eq!(said(at, &["--model", "of-flag"], &variable)[0], "model.planner \"of-flag\" --model");
    for hermetic in [&["--hermetic"][..], &[]] {
        let variables = [("TEPA_HERMETIC", if hermetic.is_empty() { "yes" } else { "no" })];
        assert_eq!(said(at, hermetic, &variables), Vec::<String>::new());
    }
}

#[test]
fn a_table_shows_what_is_set_and_all_of_it_when_asked() {
    let folder = folder("{}", "denyTools: [shell_execute]\nlimits: {maxTokens: 500}\n");
    fs::write(folder.path().join("own/tepa/config.yaml"), "secrets: {env: [DEPLOY_*]}\n").unwrap();
    let at = folder.path();
    let output = call(
        at,
        &["config", "--max-tokens", "900", "--deny-tool", "web_search", "--provider", "gemini"],
        &[],
    );
    let table = text(&output.stdout);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert!(
        rows.contains(&vec!["limits.maxTokens = 500", "tepa.yaml"]),
        "a flag does not raise a limit: {table}"
    );
    assert!(rows.contains(&vec!["denyTools[0] = \"shell_execute\"", "tepa.yaml"]), "{table}");
    assert!(rows.contains(&vec!["denyTools[1] = \"web_search\"", "--deny-tool"]), "{table}");
    assert!(rows.contains(&vec!["provider = \"gemini\"", "--provider"]), "{table}");
    assert!(table.contains("catalog of gemini") && !table.contains("default"), "{table}");
    let said = text(&output.stderr);
    assert!(said.contains("stays 500") && said.contains("defaults not shown: `tepa config --all`"), "{said}");
    let all = text(&call(at, &["config", "--all"], &[]).stdout);
    assert!(all.contains("limits.retryAttempts = 1") && all.contains("sandbox.hidden[0] = "), "{all}");
    let quiet = call(at, &["config", "-q"], &[]);
    assert_eq!(text(&quiet.stderr), "");
}

#[test]
fn a_list_that_grows_names_who_brought_each_item() {
    let folder = folder("{}", "denyTools: [shell_execute]\n");
    let output = call(folder.path(), &["config", "--output", "json", "--set", "denyTools=[web_search]"], &[]);
    let settings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let denied = settings.as_array().unwrap().iter().find(|setting| setting["key"] == "denyTools").unwrap();
    let item = |value: &str, origin: &str| json!({"value": value, "origin": origin});
    assert_eq!(denied["items"], json!([item("shell_execute", "tepa.yaml"), item("web_search", "--set")]));
    assert_eq!(denied["value"], json!(["shell_execute", "web_search"]));
}

#[test]
fn what_others_are_handed_is_not_shown() {
    let folder = folder("{}", "{}");
    let config = "mcpServers: {m: {url: 'https://u:s3cret@h.example/', headers: {A: s3cret}}}\nevents: {preStep: [{command: [x], env: {T: s3cret}}]}\nbaseUrl: https://u:s3cret@h.example/v1\n";
    fs::write(folder.path().join("c.yaml"), config).unwrap();
    for form in ["text", "json"] {
        let output = call(folder.path(), &["config", "--config", "c.yaml", "--all", "--output", form], &[]);
        let shown = text(&output.stdout);
        assert!(shown.contains("***") && shown.contains("h.example") && !shown.contains("s3cret"), "{shown}");
    }
}

#[test]
fn files_are_named_whether_they_are_there_or_not() {
    let folder = folder("{}", "{}");
    fs::remove_file(folder.path().join("tepa.yaml")).unwrap();
    fs::write(folder.path().join("c.yaml"), "{}").unwrap();
    let files = |more: &[&str]| {
        let output = call(folder.path(), &[&["config", "--files", "--config", "c.yaml"], more].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
            .lines()
            .skip(1)
            .map(|line| line.rsplit_once("  ").unwrap().0.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let user = if cfg!(target_os = "linux") { "read" } else { "not there" };
    assert_eq!(files(&[]), [user, "not there", "read"]);
    assert_eq!(files(&["--hermetic"]), ["not looked for", "not looked for", "read"]);
}

#[test]
fn what_is_set_is_held_to_what_a_file_is_held_to() {
    let folder =
        folder("{}", "customTools: [{name: mine, description: d, command: [x]}]\nlimits: {maxCycles: 2}\n");
    let at = folder.path();
    fs::write(at.join("task.yaml"), "goal: g\ncontext: {}\nexpectedOutput: e\n").unwrap();
    refused(
        at,
        &["config", "--set", "limits.maxCycels=3"],
        &[],
        &["unknown key `maxCycels`", "--set:1:8", "did you mean `maxCycles`"],
    );
    refused(
        at,
        &["config", "--set", "evaluator.votes=2", "--set", "model.planner=123"],
        &[],
        &["--set:2:15", "expected a string", "in quotes"],
    );
    refused(at, &["tools", "list", "--set", "limits.maxCycles=0"], &[], &["maxCycles", "--set:1:18"]);
    refused(
        at,
        &["run", "task.yaml", "--set", "limits"],
        &[],
        &["`limits` is given no value", "limits.maxCycles=3"],
    );
    refused(at, &["plan", "task.yaml", "--set", "tools=[a"], &[], &["--set:1:"]);
    refused(at, &["runs", "evaluate", "latest", "--set", "x=1"], &[], &["run"]);
    refused(at, &["config", "--set", "tools=[yours]"], &[], &["unknown tool `yours`"]);
    assert!(
        said(at, &["--set", "tools=[mine, file_read]"], &[])
            .contains(&"tools [\"mine\",\"file_read\"] --set".to_owned())
    );
    // As any flag it lowers a limit of a file and does not raise it.
    assert!(
        said(at, &["--set", "limits.maxCycles=9"], &[]).contains(&"limits.maxCycles 2 tepa.yaml".to_owned())
    );
    assert!(said(at, &["--set", "limits.maxCycles=1"], &[]).contains(&"limits.maxCycles 1 --set".to_owned()));
    let list = call(at, &["tools", "list", "--set", "tools=[file_read]"], &[]);
    assert_eq!(text(&list.stdout).lines().count(), 2, "{}", text(&list.stdout));
}

#[test]
fn a_flag_and_a_setting_do_not_contradict_each_other() {
    let folder = folder("{}", "{}");
    let at = folder.path();
    let words = ["`--max-tokens` and `--set` say different things of `limits.maxTokens`"];
    refused(at, &["config", "--max-tokens", "5", "--set", "limits.maxTokens=6"], &[], &words);
    assert_eq!(
        said(at, &["--max-tokens", "5", "--set", "limits.maxTokens=5"], &[]),
        ["limits.maxTokens 5 --max-tokens"]
    );
    assert_eq!(
        said(at, &["--set", "limits.maxTokens=6"], &[("TEPA_MAX_TOKENS", "5")]),
        ["limits.maxTokens 6 --set"]
    );
    assert_eq!(
        said(at, &["--set", "limits.maxTokens=6", "--set", "limits.maxTokens=7"], &[]),
        ["limits.maxTokens 7 --set"]
    );
}

#[test]
fn a_hermetic_run_reads_neither_file_and_says_so_to_those_who_want_everything() {
    let folder = folder("provider: [broken", "limits: {maxTokens: 1}\n");
    let at = folder.path();
    fs::write(at.join("task.yaml"), "goal: g\ncontext: {}\nexpectedOutput: e\n").unwrap();
    fs::write(at.join("replies.yaml"), "format: tepa.replay/1\nreplies: []\n").unwrap();
    let run = ["run", "task.yaml", "--replay", "replies.yaml", "--hermetic"];
    let said = |more: &[&str]| text(&call(at, &[&run, more].concat(), &[]).stderr);
    let words = "hermetic: neither the user's configuration nor the project's is read";
    assert!(said(&["--log-level", "verbose"]).contains(words));
    assert!(!said(&[]).contains(words));
}

#[test]
fn variables_of_switches_say_yes_or_no_and_nothing_else() {
    let folder = folder("{}", "{}");
    for (value, strict) in [
        ("1", true),
        ("true", true),
        ("yes", true),
        ("YES", true),
        ("0", false),
        ("false", false),
        ("no", false),
        ("", false),
    ] {
        let expected: &[&str] = if strict { &["evaluator.strict true TEPA_STRICT"] } else { &[] };
        assert_eq!(said(folder.path(), &[], &[("TEPA_STRICT", value)]), expected, "{value}");
    }
    for variable in ["TEPA_STRICT", "TEPA_HERMETIC"] {
        refused(folder.path(), &["config"], &[(variable, "maybe")], &["maybe"]);
    }
    for variable in ["TEPA_APPROVE", "TEPA_ASK_ON_FAIL"] {
        refused(folder.path(), &["run", "x.yaml"], &[(variable, "maybe")], &["'maybe'"]);
    }
}

#[test]
fn variables_that_are_set_to_nothing_say_nothing_to_any_command() {
    let folder = folder("{}", "{}");
    let command = tepa::cli::command();
    let mut names = Vec::new();
    let mut pending = vec![&command];
    while let Some(command) = pending.pop() {
        pending.extend(command.get_subcommands());
        names.extend(command.get_arguments().filter_map(|argument| argument.get_env()?.to_str()));
    }
    let blank: Vec<(&str, &str)> = names.into_iter().map(|name| (name, "")).collect();
    for (arguments, code) in [
        (&["config"][..], 0),
        (&["tools", "list"], 0),
        (&["validate", "tepa.yaml"], 0),
        (&["schema", "prompt"], 0),
        (&["runs", "list"], 0),
        (&["completions", "bash"], 0),
    ] {
        let output = call(folder.path(), arguments, &blank);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_variable_that_nothing_reads_is_warned_of() {
    let folder = folder("{}", "{}");
    let misspelt =
        [("TEPA_MAX_CYCLE", "3"), ("TEPA_VAR_ANY", "x"), ("TEPA_MAX_TOKENS", "900"), ("TEPA_ODD", "")];
    let said = text(&call(folder.path(), &["config"], &misspelt).stderr);
    let warning =
        "warning: the variable `TEPA_MAX_CYCLE` means nothing to tepa, did you mean `TEPA_MAX_CYCLES`?";
    assert!(said.contains(warning), "{said}");
    assert_eq!(said.matches("means nothing").count(), 1, "{said}");
}

#[test]
fn log_lines_for_developers_are_asked_for_by_level_and_place() {
    let folder = folder("{}", "{}");
    for (value, warned) in
        [("debug", false), ("tepa=trace,hyper=off", false), ("", false), ("tepa=loud", true)]
    {
        let output = call(folder.path(), &["config"], &[("TEPA_LOG", value)]);
        let said = text(&output.stderr);
        assert_eq!(said.contains("`TEPA_LOG` says nothing"), warned, "{value}: {said}");
        assert_eq!(output.status.code(), Some(0), "{value}");
    }
}
