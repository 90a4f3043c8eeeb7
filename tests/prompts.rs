//! The prompts that people start from: each does offline what the lines in its head comment say, and what stands guard in it does.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use screen::Terminal;
use support::{TEPA, copy_folder, files_below, finish, program, tepa, text};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a repository with the prompts, without delays, and with more commits than any of them asks for.
fn repository() -> TempDir {
    let folder = support::example();
    copy_folder(&root().join("config"), &folder.path().join("config"));
    let git = |arguments: &[&str]| {
        let author =
            ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"];
        let output = finish(program("git", folder.path()).args(author).args(arguments));
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "prompts", "config"]);
    git(&["commit", "--quiet", "--message", "prompts: the first of them"]);
    for number in 0..15 {
        let message = format!("shop: fix (really) thing {number}");
        git(&["commit", "--quiet", "--allow-empty", "--message", &message]);
    }
    folder
}

/// Returns the lines of a prompt's head comment that need no key.
fn offline(name: &str) -> Vec<String> {
    let written = fs::read_to_string(root().join("prompts").join(name)).unwrap();
    let head = written.lines().take_while(|line| line.starts_with('#'));
    let lines = head.filter_map(|line| line.strip_prefix("#   tepa ")).filter(|line| line.contains("replay"));
    lines.map(str::to_owned).collect()
}

/// Does what a prompt's head comment says, in order, with a yes for every question; each line has to pass.
fn follow(name: &str, folder: &Path) {
    let lines = offline(name);
    assert!(!lines.is_empty(), "{name} does not say how to run it offline");
    for line in lines {
        let (code, said) = if line.contains("--approve") {
            let mut terminal = Terminal::run(folder, 100, &format!("exec $TEPA {line}"));
            terminal.answer("? ", "yes");
            terminal.end()
        } else {
            let output = finish(program("sh", folder).args(["-c", &format!("exec {TEPA} {line}")]));
            (output.status.code().unwrap(), text(&output.stderr))
        };
        assert_eq!(code, 0, "{line}\n{said}");
    }
}

fn followed(name: &str, left: &[&str]) {
    let folder = repository();
    follow(name, folder.path());
    let files = files_below(&folder.path().join("out"));
    for file in left {
        assert!(files.contains(&PathBuf::from(file)), "{file} is not among {files:?}");
    }
}

#[test]
fn every_prompt_is_tried_here() {
    let is_task = |file: &PathBuf| {
        let ends = |ending: &str| file.display().to_string().ends_with(ending);
        file.parent() == Some(Path::new("")) && ends(".yaml") && !ends(".replay.yaml")
    };
    let prompts: Vec<PathBuf> = files_below(&root().join("prompts")).into_iter().filter(is_task).collect();
    let tried = ["changelog", "code-review", "library-api", "note", "orders", "study-plan", "task"];
    assert_eq!(prompts, tried.map(|name| PathBuf::from(format!("{name}.yaml"))));
}

#[test]
fn a_report() {
    followed("task.yaml", &["class-5b/progress-report.md", "class-5b/flagged-students.csv"]);
}

#[test]
fn a_note_that_knows_what_the_report_was() {
    followed("note.yaml", &["class-5b/note.md"]);
}

#[test]
fn a_client_with_tests() {
    followed("library-api.yaml", &["library-api/library.py", "library-api/test_library.py"]);
}

#[test]
fn a_changelog() {
    let folder = repository();
    follow("changelog.yaml", folder.path());
    let written = fs::read_to_string(folder.path().join("out/changelog/CHANGELOG.md")).unwrap();
    assert!(
        written.starts_with("## Unreleased\n\n### Fixed\n\n- shop: fix [really] thing 14 ("),
        "{written}"
    );
    assert_eq!(written.matches("thing").count(), 12, "{written}");
}

#[test]
fn a_study_plan_that_somebody_approved() {
    followed("study-plan.yaml", &["study-plan/plan.csv", "study-plan/plan.md"]);
}

#[test]
fn nothing_is_planned_for_somebody_who_says_no() {
    let folder = repository();
    let [line] = offline("study-plan.yaml").try_into().unwrap();
    let mut terminal = Terminal::run(folder.path(), 100, &format!("exec $TEPA {line}"));
    terminal.answer("? ", "no");
    assert_eq!(terminal.end().0, 1);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn orders_in_one_form() {
    let folder = repository();
    follow("orders.yaml", folder.path());
    let orders = fs::read_to_string(folder.path().join("out/orders/orders.csv")).unwrap();
    assert!(orders.contains("\n1002,Ada Brecht,2026-03-02,1240.50\n"), "{orders}");
    assert!(!orders.contains("1010"), "{orders}");
    let verdicts = fs::read_to_string(folder.path().join("out/orders/verdicts.csv")).unwrap();
    assert_eq!(verdicts.lines().count(), 3, "{verdicts}");
}

#[test]
fn orders_are_not_taken_to_the_network() {
    let folder = repository();
    let script = folder.path().join("prompts/orders.replay.yaml");
    let written = fs::read_to_string(&script).unwrap().replacen("[data_parse]", "[http_request]", 1);
    fs::write(script, written).unwrap();
    let [line] = offline("orders.yaml").try_into().unwrap();
    let output = finish(tepa(folder.path()).args(line.split(' ')));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("orders are customer data: look must not use http_request"), "{said}");
}

#[test]
fn a_review_of_a_change() {
    followed("code-review.yaml", &["code-review/review.md", "code-review/reviews.jsonl"]);
}

#[test]
fn what_is_no_change_is_not_reviewed() {
    let folder = repository();
    fs::write(folder.path().join("empty.diff"), "nothing\n").unwrap();
    let [line] = offline("code-review.yaml").try_into().unwrap();
    let output = finish(tepa(folder.path()).args(line.split(' ')).args(["--var", "diff=empty.diff"]));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("empty.diff holds no change in the form of `git diff`"), "{said}");
}
