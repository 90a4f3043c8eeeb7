//! `tepa init`: what it writes validates and runs, what is there stays, and whoever leaves at a question leaves nothing behind.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use tepa::source::parse_yaml_value;

use screen::Terminal;
use support::{files_below, finish, tepa, text};

const FILES: [&str; 4] = [".github/workflows/tepa.yml", ".gitignore", "prompts/task.yaml", "tepa.yaml"];

/// Replies that do what the first task asks for.
const REPLIES: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: write, description: write it, tools: [file_write], expectedOutcome: there, dependencies: []}]}
  - {stage: step, step: write, tool: file_write, toolUse: {path: out/overview.md, content: "This folder is for tests. Its most important file is tepa.yaml, the configuration.\n"}}
  - stage: evaluator
    json:
      verdict: pass
      confidence: 0.9
      summary: it is there
      criteria:
        - {id: C1, verdict: pass, evidence: E1, quote: "This folder is for tests.", reason: says so}
        - {id: C2, verdict: pass, evidence: E1, quote: "Its most important file is tepa.yaml", reason: names it}
"#;

fn init(folder: &Path, arguments: &[&str]) -> Output {
    finish(tepa(folder).arg("init").args(arguments))
}

fn left(folder: &Path) -> Vec<String> {
    files_below(folder).iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn what_is_written_without_questions_validates_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let output = init(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(left(folder.path()), FILES);
    let said = text(&output.stderr);
    assert!(said.starts_with("prompts/task.yaml: written\ntepa.yaml: written\n"), "{said}");
    assert_eq!(said.lines().rev().take_while(|line| *line != "next:").count(), 3, "{said}");
    assert!(said.contains("ANTHROPIC_API_KEY=…") && said.ends_with("tepa run prompts/task.yaml\n"), "{said}");
    let valid = finish(tepa(folder.path()).args(["validate", "prompts/task.yaml", "tepa.yaml"]));
    assert_eq!(valid.status.code(), Some(0), "{}", text(&valid.stderr));
    assert!(!text(&valid.stderr).contains("warning"), "{}", text(&valid.stderr));
    fs::write(folder.path().join("prompts/task.replay.yaml"), REPLIES).unwrap();
    let run = finish(tepa(folder.path()).args(["run", "prompts/task.yaml", "--provider", "replay"]));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(fs::read_to_string(folder.path().join(".gitignore")).unwrap(), ".tepa/\n");
}

#[test]
fn what_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("prompts")).unwrap();
    fs::write(folder.path().join("prompts/task.yaml"), "mine").unwrap();
    fs::write(folder.path().join(".gitignore"), "target\r\n.env").unwrap();
    fs::write(folder.path().join("tepa.yaml"), "limits: {}\n").unwrap();
    let output = init(folder.path(), &["--yes", "--goal", "other"]);
    assert!(text(&output.stderr).contains("were not used: `prompts/task.yaml` is there"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for line in [
        "prompts/task.yaml: kept (is there)\n",
        "tepa.yaml: kept (is there)\n",
        ".github/workflows/tepa.yml: written\n",
        ".gitignore: written (`.tepa/` is in it now)\n",
    ] {
        assert!(text(&output.stderr).contains(line), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read_to_string(folder.path().join("prompts/task.yaml")).unwrap(), "mine");
    let ignored = fs::read_to_string(folder.path().join(".gitignore")).unwrap();
    assert_eq!(ignored, "target\r\n.env\r\n.tepa/\r\n");
    let again = init(folder.path(), &["--yes"]);
    assert_eq!(text(&again.stderr).matches(": kept (").count(), 4, "{}", text(&again.stderr));
    assert_eq!(fs::read_to_string(folder.path().join(".gitignore")).unwrap(), ignored);
    let quiet = init(folder.path(), &["-q"]);
    assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), (String::new(), String::new()));
}

#[test]
fn flags_say_what_is_written_whatever_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let goal = "Say \"hi\": it's #1\nand {{fill}} $x";
    let arguments = [
        "jobs/new",
        "--goal",
        goal,
        "--output-path",
        "out/a: b.csv",
        "--provider",
        "openai-compatible",
        "--model",
        "qwen: 3",
        "--base-url",
        "http://localhost:1/v1",
        "--no-workflow",
    ];
    let output = init(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let work = folder.path().join("jobs/new");
    assert_eq!(left(&work), [".gitignore", "prompts/task.yaml", "tepa.yaml"]);
    let read = |name: &str| parse_yaml_value(&fs::read_to_string(work.join(name)).unwrap(), 1000).unwrap();
    assert_eq!(read("prompts/task.yaml")["goal"], goal.replace("{{", "\\{{"));
    assert_eq!(read("prompts/task.yaml")["expectedOutput"][0]["checks"][0]["csv"]["minRows"], 1);
    let config = read("tepa.yaml");
    assert_eq!(
        (&config["provider"], &config["model"]["executor"]),
        (&"openai-compatible".into(), &"qwen: 3".into())
    );
    assert!(config.get("baseUrl").is_none(), "a project's file may not say where keys go");
    let said = text(&output.stderr);
    assert!(
        said.contains("export TEPA_BASE_URL=http://localhost:1/v1, then: tepa -C jobs/new doctor"),
        "{said}"
    );
    let valid = finish(tepa(&work).args(["validate", "prompts/task.yaml", "tepa.yaml"]));
    assert_eq!(valid.status.code(), Some(0), "{}", text(&valid.stderr));
}

#[test]
fn the_configuration_is_one_that_a_project_may_have_beside_a_strict_one_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), &["--yes"]);
    let own = folder.path().join("no-home/.config/tepa");
    fs::create_dir_all(&own).unwrap();
    let strict = "limits: {maxCycles: 1, maxTokens: 10, maxCostUsd: 0.1, maxDuration: 1s, maxToolCalls: 1}\ntools: [file_read]\nsandbox: {mode: read-only}\nevaluator: {votes: 3, strict: true}\n";
    fs::write(own.join("config.yaml"), strict).unwrap();
    let output = finish(tepa(folder.path()).args(["tools", "list"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (vec!["--output-path", "../x.md"], "`../x.md` is outside the workspace"),
        (vec!["--provider", "openai-compatible"], "name one with `--model`"),
        (vec!["--provider", "replay"], "for one run and not for a project"),
        (vec!["--base-url", "http://x"], "`--base-url` is for the provider `openai-compatible`"),
        (vec!["--goal", ""], "a value is required"),
        (vec!["--output-path", "out/"], "`out/` is a folder: name a file in it"),
        (vec!["--output-path", "./.github/x.md"], "no run may write `.github`"),
        (vec!["--output-path", "tepa.yaml"], "no run may write `tepa.yaml`"),
        (
            vec!["--goal", "use sk-ant-api03-AAAABBBBCCCCDDDDEEEE"],
            "a key would be written into `prompts/task.yaml`",
        ),
        (vec!["--provider", "openai-compatible", "--model", "m", "--base-url", "ftp://x"], "ftp"),
    ] {
        let output = init(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
        assert!(left(folder.path()).is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_workflow_says_nothing_that_tepa_does_not_take() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), &["--provider", "gemini"]);
    let workflow = fs::read_to_string(folder.path().join(FILES[0])).unwrap();
    let workflow = parse_yaml_value(&workflow, 1000).unwrap();
    let steps = workflow["jobs"]["task"]["steps"].as_array().unwrap();
    let lines = steps.iter().filter_map(|step| step["run"].as_str()).filter(|line| line.starts_with("tepa "));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        tepa::cli::command().try_get_matches_from(line.split(' ')).unwrap();
    }
    let env = steps.iter().rev().find_map(|step| step.get("env")).unwrap();
    assert_eq!(env["GEMINI_API_KEY"], "${{ secrets.GEMINI_API_KEY }}");
}

#[test]
fn at_a_terminal_it_asks_and_shows_what_it_takes_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::run(folder.path(), 100, "OPENAI_API_KEY=k exec $TEPA init new");
    terminal.answer("goal of the task? [Write an overview", "Sort it: all of it");
    terminal.answer("file is expected? [out/result.md]: ", "../x");
    terminal.answer("`../x` is outside the workspace", "out/sorted.txt");
    terminal.answer("openai-compatible)? [openai]: ", "antropic");
    terminal.answer("there is no provider `antropic`", "gemini");
    terminal.answer("Which model? [gemini-3-flash-preview]: ", "");
    terminal.answer("GitHub Actions? [yes]: ", "perhaps");
    terminal.answer("GitHub Actions? [yes]: ", "n");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    let work = folder.path().join("new");
    assert_eq!(left(&work), [".gitignore", "prompts/task.yaml", "tepa.yaml"]);
    let task = fs::read_to_string(work.join("prompts/task.yaml")).unwrap();
    assert!(
        task.contains("\ngoal: \"Sort it: all of it\"\n") || task.contains("\ngoal: 'Sort it: all of it'\n"),
        "{task}"
    );
    assert!(task.contains("out/sorted.txt"), "{task}");
    assert!(fs::read_to_string(work.join("tepa.yaml")).unwrap().contains("provider: gemini\n"));
}

#[test]
fn whoever_leaves_at_a_question_leaves_nothing_behind() {
    for key in [3, 4] {
        let folder = tempfile::tempdir().unwrap();
        let mut terminal = Terminal::run(folder.path(), 100, "exec $TEPA init new");
        terminal.answer("goal of the task?", "");
        terminal.see("file is expected?");
        terminal.press(key);
        let (code, written) = terminal.end();
        assert_eq!(code, 130, "{written}");
        assert!(written.contains("nothing was written"), "{written}");
        assert!(left(folder.path()).is_empty());
    }
}

#[test]
fn nobody_is_asked_where_nobody_is() {
    let folder = tempfile::tempdir().unwrap();
    let (code, written) = Terminal::run(folder.path(), 100, "CI=1 exec $TEPA init").end();
    assert_eq!((code, written.contains('?')), (0, false), "{written}");
}

#[test]
fn nothing_is_written_through_a_link_or_into_what_is_no_file() {
    let outside = tempfile::tempdir().unwrap();
    for (name, is_folder) in [("prompts", true), (".github", true), ("tepa.yaml", false), ("prompts", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let target = outside.path().join(if is_folder { "" } else { "nowhere" });
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        let output = init(folder.path(), &["--yes"]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("is no folder") || text(&output.stderr).contains("and no file")
        );
        assert!(left(outside.path()).is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
    // A folder that is a link was named by a person.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
    assert_eq!(init(folder.path(), &["link", "--yes"]).status.code(), Some(0));
    assert!(outside.path().join("tepa.yaml").exists());
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    assert_eq!(init(folder.path(), &["dangling", "--yes"]).status.code(), Some(2));
}

#[test]
fn a_list_of_what_git_ignores_keeps_its_mode_and_is_let_alone_where_it_is_none() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let ignored = folder.path().join(".gitignore");
    fs::write(&ignored, "target").unwrap();
    fs::set_permissions(&ignored, fs::Permissions::from_mode(0o660)).unwrap();
    fs::hard_link(&ignored, folder.path().join("second")).unwrap();
    init(folder.path(), &["--yes"]);
    assert_eq!(fs::metadata(&ignored).unwrap().permissions().mode() & 0o777, 0o660);
    assert_eq!(fs::read_to_string(folder.path().join("second")).unwrap(), "target\n.tepa/\n");

    let folder = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join(".gitignore")).status().unwrap();
    assert!(made.success());
    let output = init(folder.path(), &["--yes"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("put `.tepa/` into it yourself"), "{}", text(&output.stderr));
}

#[test]
fn what_may_be_a_password_or_a_pattern_is_not_in_the_workflow() {
    let folder = tempfile::tempdir().unwrap();
    let server = [
        "--provider",
        "openai-compatible",
        "--model",
        "m",
        "--base-url",
        "http://localhost:1/v1?key=s3cretvalue",
    ];
    let output = init(folder.path(), &[&server[..], &["--output-path", "out/!${{ secrets.X }}.md"]].concat());
    let workflow = fs::read_to_string(folder.path().join(FILES[0])).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(workflow.contains("${{ secrets.TEPA_BASE_URL }}") && !workflow.contains("s3cret"), "{workflow}");
    assert!(!workflow.contains("secrets.X") && !text(&output.stderr).contains("s3cret"), "{workflow}");
}

#[test]
fn a_workflow_below_the_top_of_a_repository_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    let below = init(folder.path(), &["sub", "--yes"]);
    assert!(text(&below.stderr).contains("at the top of a repository only"), "{}", text(&below.stderr));
    let top = init(folder.path(), &["--yes"]);
    assert!(!text(&top.stderr).contains("at the top"), "{}", text(&top.stderr));
}
