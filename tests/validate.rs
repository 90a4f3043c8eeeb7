//! `tepa validate` through the program: what it looks at, in which order it tells, and the forms that programs read.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use support::{finish, tepa, text};

const GOOD: &str = "goal: g\ncontext: {}\nexpectedOutput: [{path: a.txt, description: d}]\n";
const BAD: &str = "goal: g\ncontext: {}\nexpectedOutput: [{path: ../a.txt, description: d}]\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn validate(folder: &Path, arguments: &[&str]) -> Output {
    finish(tepa(folder).arg("validate").args(arguments))
}

fn data(folder: &Path, format: &str, code: i32, paths: &[&str]) -> Value {
    let output = finish(tepa(folder).args(["validate", "--output", format]).args(paths));
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_folder_is_looked_through_and_what_is_not_for_tepa_is_counted() {
    let folder = folder(&[
        ("prompts/good.yaml", GOOD),
        ("prompts/deep/bad.json", &json!({"goal": "g", "context": {}, "expectedOutput": []}).to_string()),
        ("prompts/broken.yaml", "goal: 'x\n"),
        ("prompts/good.replay.yaml", "format: tepa.replay/1\nreplies: []\n"),
        ("limits.yml", "limits: {maxCycles: 2}\n"),
        (".github/workflows/ci.yaml", "on: push\n"),
        ("compose.yaml", "services: {}\nsecrets: {}\n"),
        ("chart.yaml", "{{- if x }}\nkind: Pod\n"),
        ("target/x.yaml", "goal: 1\n"),
        (".tepa/runs/1/result.json", "{\"goal\": 1}"),
    ]);
    let output = validate(folder.path(), &["."]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("5 files checked: 2 with faults, 2 passed over\n"), "{said}");
    let order = [said.find("prompts/broken.yaml: 1 problem"), said.find("prompts/deep/bad.json: 1 problem")];
    assert!(order[0].is_some() && order[0] < order[1], "{said}");
    let output = validate(folder.path(), &["prompts/**/*.json", "./prompts/good*"]);
    assert!(text(&output.stderr).ends_with("3 files checked: 1 with faults\n"), "{}", text(&output.stderr));
}

#[test]
fn what_matches_nothing_or_is_nothing_for_tepa_is_no_success() {
    let folder = folder(&[("good.yaml", GOOD), ("other/ci.yaml", "on: push\n")]);
    for (arguments, words) in [
        (&["prompts/*.yaml"][..], "`prompts/*.yaml` matches no file"),
        (&["other"], "there is nothing to check"),
        (&["other", "--quiet"], "there is nothing to check"),
        (&["no.yaml"], "`no.yaml` does not exist"),
    ] {
        let output = validate(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[test]
fn one_object_holds_every_file_in_the_order_in_which_they_were_named() {
    let folder = folder(&[("good.yaml", GOOD), ("bad.yaml", BAD), ("tepa.yaml", "limits: {maxCycle: 2}\n")]);
    let found = data(folder.path(), "json", 2, &["tepa.yaml", "no.yaml", "bad.yaml", "good.yaml"]);
    let faults = &found["files"];
    let told: Vec<Value> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|file| json!([file["path"], file["kind"], file["faults"][0]["code"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["tepa.yaml", "config", "unknown-key"]),
            json!(["no.yaml", null, "unreadable"]),
            json!(["bad.yaml", "prompt", "outside-workspace"]),
            json!(["good.yaml", "prompt", null]),
        ]
    );
    assert_eq!((&found["faults"], &found["warnings"]), (&json!(3), &json!(0)));
    let fault = faults[2]["faults"][0].as_object().unwrap();
    let place: Vec<&Value> =
        ["line", "column", "endLine", "endColumn"].iter().map(|key| &fault[*key]).collect();
    assert_eq!(place, [3, 25, 3, 33]);
    assert_eq!(fault["severity"], "error");
    assert!(fault["hint"].as_str().unwrap().contains("relative"));
}

#[test]
fn sarif_names_rules_regions_and_relative_uris() {
    let folder = folder(&[("my prompts/bad.yaml", BAD), ("my prompts/empty.yaml", "")]);
    let found = data(folder.path(), "sarif", 2, &["my prompts", "my prompts/empty.yaml"]);
    assert_eq!(found["version"], "2.1.0");
    let run = &found["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"], json!([{"id": "outside-workspace"}, {"id": "unreadable"}]));
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("outside-workspace"), &json!("error")));
    assert_eq!(
        result["locations"][0]["physicalLocation"],
        json!({"artifactLocation": {"uri": "my%20prompts/bad.yaml"},
            "region": {"startLine": 3, "startColumn": 25, "endLine": 3, "endColumn": 33}})
    );
    assert!(run["results"][1]["locations"][0]["physicalLocation"].get("region").is_none());
}

/// A name draws nothing on a terminal, and is no command to the runner that reads a log.
#[cfg(unix)]
#[test]
fn a_name_is_text_wherever_it_is_told() {
    let names = ["\u{1b}]0;t\u{7}a.yaml", "q\n::error::x.yaml", "::warning::y.yaml", "##[error]z.yaml"];
    let folder = folder(&names.map(|name| (name, BAD)));
    fs::write(folder.path().join(names[0]), "goal: 'x\n").unwrap();
    for arguments in [&["."][..], &[".", "--output", "github"]] {
        let output = validate(folder.path(), arguments);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(said.contains("␛]0;t␇a.yaml"), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said}");
        if arguments.len() == 1 {
            assert!(!said.lines().any(|line| line.trim_start().starts_with("::")), "{said}");
            assert!(!said.contains("##["), "{said}");
        } else {
            assert!(said.contains("file=q%0A%3A%3Aerror%3A%3Ax.yaml,"), "{said}");
        }
    }
    let found = data(folder.path(), "json", 1, &["."]);
    assert_eq!(found["files"][3]["path"], names[1]);
}

#[test]
fn github_is_told_file_and_place() {
    let folder = folder(&[("a,b.yaml", BAD)]);
    let output = validate(folder.path(), &["a,b.yaml", "--output", "github"]);
    let said = text(&output.stdout);
    assert!(
        said.starts_with("::error file=a%2Cb.yaml,line=3,endLine=3,col=25,endColumn=33,title=outside-workspace::`../a.txt` is"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn a_warning_is_a_fault_where_that_is_asked_for() {
    let folder = folder(&[("w.yaml", "goal: g\ncontext: {}\nexpectedOutput: done\n")]);
    assert_eq!(validate(folder.path(), &["w.yaml"]).status.code(), Some(0));
    assert_eq!(validate(folder.path(), &["w.yaml", "--strict"]).status.code(), Some(1));
}

#[test]
fn a_variable_without_value_causes_no_faults_and_a_value_may() {
    let task = "goal: g\ncontext: {}\nvariables: {out: {}}\nexpectedOutput: [{path: '{{out}}', description: d, checks: [matches: '{{out}}']}]\n";
    let folder = folder(&[("task.yaml", task), ("other.yaml", GOOD)]);
    assert_eq!(validate(folder.path(), &["."]).status.code(), Some(0));
    assert_eq!(validate(folder.path(), &[".", "--var", "out=a"]).status.code(), Some(0));
    assert_eq!(validate(folder.path(), &[".", "--var", "out=/a"]).status.code(), Some(1));
    assert_eq!(validate(folder.path(), &[".", "--var", "ou=a"]).status.code(), Some(2));
}

#[test]
fn many_files_are_told_in_their_order_each_time() {
    let names: Vec<String> = (0..60).map(|number| format!("p/{number:03}.yaml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), BAD)).collect();
    let folder = folder(&files);
    let first = validate(folder.path(), &["p"]);
    let said = text(&first.stderr);
    let told: Vec<&str> = said.lines().filter_map(|line| line.strip_suffix(": 1 problem")).collect();
    assert_eq!(told, names);
    assert_eq!(said, text(&validate(folder.path(), &["p"]).stderr));
}

#[test]
fn a_key_in_a_file_is_shown_nowhere_and_a_run_warns_of_it() {
    let key = format!("sk-ant-{}", "aB3".repeat(10));
    let task =
        format!("goal: 5\ncontext: {{key: {key}, {key}: 1}}\nexpectedOutput: {key}{}\n", "x".repeat(300));
    let folder = folder(&[("task.yaml", &task), ("fits.yaml", &task.replace("goal: 5", "goal: g"))]);
    for format in ["text", "json", "github", "sarif"] {
        let output = validate(folder.path(), &["task.yaml", "--output", format]);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains("a key for Anthropic") && !said.contains("sk-ant-aB3"), "{said}");
    }
    fs::write(folder.path().join("r.yaml"), "format: tepa.replay/1\nreplies: []\n").unwrap();
    for (task, code) in [("task.yaml", 2), ("fits.yaml", 4)] {
        let output = finish(tepa(folder.path()).args(["run", task, "--replay", "r.yaml"]));
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("warning: a key for Anthropic is written into"), "{said}");
        assert!(!said.contains("sk-ant-aB3"), "{said}");
    }
}

#[test]
fn a_key_of_this_environment_is_found_whatever_it_looks_like() {
    let folder =
        folder(&[("task.yaml", "goal: use my-own-gateway-key\ncontext: {}\nexpectedOutput: done\n")]);
    let output = finish(
        tepa(folder.path()).args(["validate", "task.yaml"]).env("OPENAI_API_KEY", "my-own-gateway-key"),
    );
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the value of `OPENAI_API_KEY`") && !said.contains("gateway"), "{said}");
}

#[test]
fn a_file_that_is_meant_for_tepa_is_not_passed_over() {
    let invalid: &[u8] = b"goal: \xff\n";
    let folder = folder(&[
        ("tepa.yaml", "limits: {maxCycles: 2}\nvalues: 1\nother: 2\nmore: 3\n"),
        ("sub/tepa.yaml", ""),
        ("gaol.yaml", "gaol: g\ncontext: {}\n"),
        ("settings.yaml", "limts: {maxCycles: 2}\n"),
        ("task.yaml", GOOD),
        ("task.replay.yaml", ""),
        ("alone.replay.yaml", ""),
        ("empty.yaml", ""),
    ]);
    fs::write(folder.path().join("bytes.yaml"), invalid).unwrap();
    let found = data(folder.path(), "json", 2, &["."]);
    let told = found["files"].as_array().unwrap().iter();
    let told: Vec<Value> =
        told.map(|file| json!([file["path"], file["kind"], file["faults"][0]["code"]])).collect();
    assert_eq!(
        told,
        [
            json!(["gaol.yaml", "prompt", "missing-key"]),
            json!(["settings.yaml", "config", "unknown-key"]),
            json!(["sub/tepa.yaml", null, "unreadable"]),
            json!(["task.replay.yaml", null, "unreadable"]),
            json!(["task.yaml", "prompt", null]),
            json!(["tepa.yaml", "config", "unknown-key"]),
        ]
    );
    let output = validate(folder.path(), &[".", "--log-level", "verbose"]);
    let said = text(&output.stderr);
    for name in ["alone.replay.yaml", "bytes.yaml", "empty.yaml"] {
        assert!(said.contains(&format!("passed over, not for tepa: {name}\n")), "{said}");
    }
    assert!(said.ends_with("2 could not be read, 3 passed over\n"), "{said}");
    assert!(!text(&validate(folder.path(), &["."]).stderr).contains("not for tepa"));
}

#[test]
fn a_glob_finds_what_a_shell_would_make_of_it() {
    let folder = folder(&[("q/a.yaml", GOOD), ("q/ci.yaml", "on: push\n"), ("q/empty.yaml", "")]);
    let [glob, names] = [&["q/*.yaml"][..], &["q/a.yaml", "q/ci.yaml", "q/empty.yaml"]]
        .map(|paths| validate(folder.path(), paths));
    assert_eq!(glob.status.code(), Some(2));
    assert_eq!((glob.status, text(&glob.stderr)), (names.status, text(&names.stderr)));
}

#[test]
fn a_project_file_is_narrowed_however_it_is_written() {
    let folder = folder(&[
        ("p/tepa.yaml", "baseUrl: https://example.com\n"),
        ("p/sub/a.yaml", GOOD),
        ("p2/tepa.yaml", "baseUrl: https://example.com\n"),
    ]);
    let project = folder.path().join("p");
    let absolute = project.join("tepa.yaml").display().to_string();
    for name in ["tepa.yaml", "./tepa.yaml", "sub/../tepa.yaml", "../p2/tepa.yaml", "../p", &absolute] {
        let found = data(&project, "json", 1, &[name]);
        let codes: Vec<&Value> =
            found["files"].as_array().unwrap().iter().map(|file| &file["faults"][0]["code"]).collect();
        assert!(codes.contains(&&json!("untrusted")), "{name}: {found}");
    }
    assert_eq!(
        data(folder.path(), "json", 1, &["p/tepa.yaml"])["files"][0]["faults"][0]["code"],
        "untrusted"
    );
}

#[test]
fn what_cannot_be_looked_into_keeps_nothing_else_from_being_told() {
    let folder = folder(&[("bad.yaml", BAD)]);
    for format in ["json", "github", "sarif", "text"] {
        let output = validate(folder.path(), &["no/*.yaml", "[", "bad.yaml", "--output", format]);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{said}");
        for words in ["`no/*.yaml` matches no file", "`[` is not a glob", "outside the workspace"] {
            assert!(said.contains(words), "{format}: {said}");
        }
    }
}

#[test]
fn the_configuration_of_the_user_counts_unless_it_is_left_out_and_is_told_when_it_is_broken() {
    let folder = folder(&[("w/tepa.yaml", "limits: {maxCycles: 9}\n")]);
    let home = folder.path().join("own");
    let work = folder.path().join("w");
    let own = home.join("tepa/config.yaml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    let look = |arguments: &[&str], hermetic: &str| {
        let mut command = tepa(&work);
        command.args(["validate", "tepa.yaml"]).args(arguments);
        finish(command.env("XDG_CONFIG_HOME", &home).env("TEPA_HERMETIC", hermetic))
    };
    if cfg!(target_os = "linux") {
        fs::write(&own, "limits: {maxCycles: 2}\n").unwrap();
        assert_eq!(look(&[], "").status.code(), Some(1));
        assert_eq!(look(&[], "1").status.code(), Some(0));
        assert_eq!(look(&["--hermetic"], "").status.code(), Some(0));
        fs::write(&own, "limits: {maxCycle: 2}\n").unwrap();
        let broken = look(&[], "");
        let said = text(&broken.stderr);
        assert!(said.contains("warning: your own configuration is left out"), "{said}");
        assert!(said.contains("config.yaml: 1 problem"), "{said}");
    }
}

#[test]
fn machines_are_told_every_fault() {
    let keys: Vec<String> = (0..150).map(|number| format!("k{number}: 1\n")).collect();
    let folder = folder(&[("a.yaml", &format!("{GOOD}{}", keys.concat()))]);
    let found = data(folder.path(), "json", 1, &["a.yaml"]);
    assert_eq!(found["files"][0]["faults"].as_array().unwrap().len(), 150);
    let output = validate(folder.path(), &["a.yaml", "--output", "github"]);
    assert_eq!(text(&output.stdout).lines().count(), 150);
}

#[test]
fn machines_are_told_places_from_where_tepa_was_called() {
    let folder = folder(&[("sub/p/bad.yaml", BAD)]);
    let output = validate(folder.path(), &["-C", "sub", "p", "--output", "github"]);
    assert!(text(&output.stdout).starts_with("::error file=sub/p/bad.yaml,"), "{}", text(&output.stdout));
    let found = data(folder.path(), "sarif", 1, &["-C", "./sub", "p/bad.yaml"]);
    let place = &found["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "sub/p/bad.yaml");
}

#[test]
fn a_key_that_is_written_with_escapes_is_found_and_its_value_is_not_shown() {
    let rest = "ant-aB3aB3aB3aB3aB3aB3aB3";
    let folder = folder(&[
        (
            "a.json",
            &format!(
                "{{\"goal\": 5, \"context\": {{\"k\": \"use \\u0073k-{rest}\"}}, \"expectedOutput\": \"\\u0073k-{rest}{}\"}}",
                "x".repeat(300)
            ),
        ),
        (
            "b.yaml",
            &format!(
                "goal: g\ncontext: {{\"\\x73k-{rest}\": 1}}\nexpectedOutput: [{{path: \"../\\x73k-{rest}\", description: d}}]\n"
            ),
        ),
    ]);
    for name in ["a.json", "b.yaml"] {
        for format in ["text", "json"] {
            let output = validate(folder.path(), &[name, "--output", format]);
            let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
            assert!(said.contains("a key for Anthropic is written into the file"), "{said}");
            assert!(!said.contains("aB3aB3"), "{said}");
        }
    }
}

#[test]
fn a_key_that_is_given_for_a_value_is_warned_of_and_shown_nowhere() {
    let key = format!("sk-ant-{}", "aB3".repeat(20));
    let task = "goal: '{{k}}'\ncontext: {}\nvariables: {k: {}, n: {type: integer, default: 1}}\nexpectedOutput: 'x {{n}}'\n";
    let folder = folder(&[("task.yaml", task), ("r.yaml", "format: tepa.replay/1\nreplies: []\n")]);
    for (arguments, variable, origin) in [
        (vec![format!("--var=k={key}")], "TEPA_VAR_X", "`--var k`"),
        (vec![format!("--var=n={key}"), "--var=k=a".to_owned()], "TEPA_VAR_X", "`--var n`"),
        (vec![], "TEPA_VAR_K", "`TEPA_VAR_K`"),
        (vec!["--var=k=a".to_owned(), format!("--set=limits.maxCycles={key}")], "TEPA_VAR_X", "`--set`"),
        (
            vec!["--var=k=a".to_owned(), format!("--set=limits.{key}=\"\\x73k-{}\"", &key[3..])],
            "TEPA_VAR_X",
            "`--set`",
        ),
    ] {
        let mut command = tepa(folder.path());
        command.args(["run", "task.yaml", "--replay", "r.yaml"]).args(&arguments);
        let value = if variable == "TEPA_VAR_K" { key.as_str() } else { "" };
        let output = finish(command.env(variable, value));
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(said.contains(&format!("a key for Anthropic is written into {origin}: ")), "{said}");
        assert!(!said.contains("aB3aB3"), "{arguments:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_text_is_said_to_be_none() {
    use std::os::unix::ffi::OsStrExt as _;
    let invalid = std::ffi::OsStr::from_bytes(b"a\xff");
    let task = "goal: '{{k}}'\ncontext: {}\nvariables: {k: {}}\nexpectedOutput: x\n";
    let folder = folder(&[("task.yaml", task)]);
    let output = finish(
        tepa(folder.path()).args(["run", "task.yaml", "--replay", "r.yaml"]).env("TEPA_VAR_K", invalid),
    );
    assert!(text(&output.stderr).contains("`TEPA_VAR_K` is not UTF-8 text"), "{}", text(&output.stderr));
    let output =
        finish(tepa(folder.path()).args(["config", "--files", "--output", "json", "--config"]).arg(invalid));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_setting_cannot_be_deeper_than_a_file() {
    let folder = folder(&[]);
    let setting = format!("{}a=1", "a.".repeat(20_000));
    let output = finish(tepa(folder.path()).args(["config", "--set", &setting]));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("too-deep"), "{}", text(&output.stderr));
}

#[test]
fn what_was_typed_draws_nothing_in_what_the_parser_of_arguments_says() {
    let folder = folder(&[]);
    let look = |arguments: &[&str], variable: &str, value: &str| {
        let output = finish(
            tepa(folder.path())
                .args(arguments)
                .args(["--color", "always"])
                .env(variable, value)
                .env("CLICOLOR_FORCE", "1"),
        );
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(!said.lines().any(|line| line.trim_start().starts_with("::")), "{said}");
        assert!(!said.contains("\u{1b}]") && !said.contains('\u{7}'), "{said}");
        said
    };
    look(&["run", "a.yaml", "--var", "\u{1b}]0;x\u{7}"], "A", "");
    look(&["run", "--help"], "TEPA_MODEL", "a\u{1b}]0;x\u{7}\n::error::b");
    look(&["run", "a.yaml"], "TEPA_PROVIDER", "x\n::error::y");
    assert!(look(&["run", "--help"], "A", "").contains("\u{1b}[1m"));
}
