//! `--approve` and `--ask-on-fail` on a pseudo-terminal: what is asked, what every answer comes to, and what the record says of it.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::fs;
use std::path::Path;

use console::measure_text_width;
use serde_json::{Value, json};
use tempfile::TempDir;

use screen::{Terminal, assert_cursor_is_shown, left_over};
use support::{finish, result_of, tepa, text};

const PROMPT: &str = "goal: Write a greeting.\ncontext: {}\nexpectedOutput: [{path: hello.txt, description: d, checks: [{contains: world}]}]\n";

const PLAN: &str = "  - stage: planner\n    json: {reasoning: it is short, estimatedTokens: 10, steps: [{id: s1, description: write it, tools: [file_write], expectedOutcome: a greeting, dependencies: []}]}\n    usage: {input: 10, output: 5}\n";
const WRITE: &str = "  - stage: step\n    step: s1\n    tool: file_write\n    toolUse: {path: hello.txt, content: \"hello, world\"}\n    usage: {input: 20, output: 5}\n";
const WRONG: &str = "  - stage: step\n    step: s1\n    tool: file_write\n    toolUse: {path: hello.txt, content: \"hello, moon\"}\n    usage: {input: 20, output: 5}\n";
const JUDGE: &str = "  - stage: evaluator\n    json: {verdict: pass, confidence: 0.9, summary: done}\n    usage: {input: 30, output: 5}\n";

/// What the shell runs before tepa: who sits there.
const ADA: &str = "stty echo; export USER=ada; exec $TEPA run prompt.yaml --replay replies.yaml";

const ADA_SAYS: &str = "ada at the terminal";

fn folder(replies: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    script(folder.path(), replies);
    folder
}

fn script(folder: &Path, replies: &[&str]) {
    fs::write(folder.join("replies.yaml"), format!("format: tepa.replay/1\nreplies:\n{}", replies.concat()))
        .unwrap();
}

/// Puts an editor into the folder: a script to which the file is `$1`.
fn editor(folder: &Path, script: &str) -> String {
    fs::write(folder.join("editor.sh"), script).unwrap();
    format!("export EDITOR=false VISUAL='WORD=greet sh {}'; ", folder.join("editor.sh").display())
}

fn approve(folder: &Path) -> Terminal {
    Terminal::run(folder, 100, &format!("{ADA} --approve"))
}

fn ask_on_fail(folder: &Path, more: &str) -> Terminal {
    Terminal::run(folder, 100, &format!("{ADA} --ask-on-fail {more}"))
}

fn events(folder: &Path) -> Vec<Value> {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    let lines = fs::read_to_string(run.join("events.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns what was asked and decided, in order and without the envelope.
fn decisions(folder: &Path) -> Vec<Value> {
    let about = |event: &Value| event["type"].as_str().unwrap().starts_with("approval.");
    let mut events: Vec<Value> = events(folder).into_iter().filter(about).collect();
    for event in &mut events {
        assert!(event["ts"].as_str().is_some_and(|ts| ts.ends_with('Z')), "{event}");
        let event = event.as_object_mut().unwrap();
        event.retain(|key, _| !["schema", "seq", "ts", "runId"].contains(&key.as_str()));
    }
    events
}

fn asked(about: &str) -> Value {
    json!({"type": "approval.requested", "cycle": 1, "about": about})
}

fn decided(about: &str, decision: &str, comment: Option<&str>) -> Value {
    let mut event =
        json!({"type": "approval.decided", "cycle": 1, "about": about, "decision": decision, "by": ADA_SAYS});
    if let Some(comment) = comment {
        event["comment"] = json!(comment);
    }
    event
}

fn greeting(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("hello.txt")).ok()
}

#[test]
fn a_plan_is_shown_and_executed_when_the_answer_is_yes() {
    let folder = folder(&[PLAN, WRITE, JUDGE]);
    let mut terminal = approve(folder.path());
    terminal.see("the plan of cycle 1: 1 step\r\n  1. s1 (file_write): write it\r\n");
    terminal.see("execute it?");
    assert_eq!(greeting(folder.path()), None);
    terminal.answer("edit, why, ?: ", "yes");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    assert!(
        left_over(&written, 100).contains(&"  ada at the terminal approved the plan".to_owned()),
        "{written}"
    );
    assert_cursor_is_shown(&written);
    assert_eq!(decisions(folder.path()), [asked("plan"), decided("plan", "approved", None)]);
}

#[test]
fn no_ends_the_run_before_the_first_step() {
    let folder = folder(&[PLAN]);
    let mut terminal = approve(folder.path());
    terminal.answer("why, ?: ", "no, it is too risky");
    let (code, written) = terminal.end();
    assert_eq!(code, 1, "{written}");
    let result = result_of(folder.path());
    let words = "ada at the terminal refused the plan: it is too risky";
    assert_eq!((&result["status"], &result["reason"]), (&json!("fail"), &json!("declined")));
    assert_eq!((&result["feedback"], &result["error"]), (&json!(words), &json!(words)));
    assert_eq!(greeting(folder.path()), None);
    let refused = decided("plan", "refused", Some("it is too risky"));
    assert_eq!(decisions(folder.path()), [asked("plan"), refused]);
}

#[test]
fn nothing_but_a_whole_answer_is_one() {
    let folder = folder(&[PLAN, WRITE, JUDGE]);
    let mut terminal = approve(folder.path());
    terminal.answer("why, ?: ", "");
    terminal.answer("why, ?: ", "yes, but not the first step");
    terminal.see("not understood: `yes, but not the first step`; ? lists the answers");
    terminal.answer("why, ?: ", "?");
    terminal.see("yes     execute the plan");
    terminal.answer("why, ?: ", "why");
    terminal.see("because it is short\r\n  - s1: so that a greeting\r\n  models: planner ");
    terminal.see("cost: executing it takes about ");
    terminal.see("planner expects 10 tokens");
    terminal.answer("why, ?: ", "Y");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    assert_eq!(decisions(folder.path()).len(), 2);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let folder = folder(&[PLAN]);
    let wait = "events: {prePlanner: [{command: 'until [ -e go ]; do sleep 0.02; done'}]}";
    fs::write(folder.path().join("hooks.yaml"), wait).unwrap();
    let mut terminal = Terminal::run(folder.path(), 100, &format!("{ADA} --approve --config hooks.yaml"));
    terminal.see("planning");
    terminal.type_line("yes");
    terminal.see("yes");
    fs::write(folder.path().join("go"), "").unwrap();
    terminal.answer("why, ?: ", "no");
    assert_eq!(terminal.end().0, 1);
}

#[test]
fn the_end_of_the_input_is_a_refusal() {
    for typed in ["\u{4}", "ye\u{4}\u{4}"] {
        let folder = folder(&[PLAN]);
        let mut terminal = approve(folder.path());
        terminal.see("why, ?: ");
        typed.bytes().for_each(|key| terminal.press(key));
        let (code, written) = terminal.end();
        assert_eq!(code, 1, "{written}");
        assert_eq!(result_of(folder.path())["feedback"], "ada at the terminal refused the plan");
    }
}

#[test]
fn interrupting_a_question_ends_the_run_as_always() {
    let folder = folder(&[PLAN]);
    let line = format!(
        "stty echo; trap : INT; stty -g > before; {}; code=$?; stty -g > after; exit $code",
        format!("{ADA} --approve").replace("exec ", "")
    );
    let mut terminal = Terminal::run(folder.path(), 100, &line);
    terminal.see("why, ?: ");
    terminal.press(0x03);
    let (code, written) = terminal.end();
    assert_eq!(code, 130, "{written}");
    assert!(left_over(&written, 100).iter().any(|line| line.starts_with("interrupted: ")), "{written}");
    assert_cursor_is_shown(&written);
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(read("after"), read("before"));
    assert_eq!(result_of(folder.path())["exitCode"], 130);
    assert_eq!(decisions(folder.path()), [asked("plan")]);
}

#[test]
fn an_edited_plan_is_asked_about_again_and_executed() {
    let folder = folder(&[PLAN, &WRITE.replace("s1", "greet"), JUDGE]);
    let edit = editor(
        folder.path(),
        "tty <&1 > tty.txt; sed -i -e \"s/id: s1/id: $WORD/\" -e 's/write it/write a greeting/' \"$1\"; echo \"$1\" > path.txt",
    );
    let mut terminal = Terminal::run(folder.path(), 100, &format!("{edit}{ADA} --approve > feedback.txt"));
    terminal.answer("why, ?: ", "edit");
    terminal.see("ada at the terminal edited the plan");
    terminal.see("1. greet (file_write): write a greeting");
    terminal.answer("why, ?: ", "yes");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    assert!(written.contains("ada at the terminal changed the plan: 1 step"), "{written}");
    let (edited, approved) = (decided("plan", "edited", None), decided("plan", "approved", None));
    assert_eq!(decisions(folder.path()), [asked("plan"), edited, asked("plan"), approved]);
    let started = events(folder.path()).into_iter().find(|event| event["type"] == "execution.started");
    assert_eq!(started.unwrap()["plan"]["steps"][0]["id"], "greet");
    assert_eq!(fs::read_to_string(folder.path().join("feedback.txt")).unwrap(), "done\n");
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert!(read("tty.txt").starts_with("/dev/"), "the editor has the terminal: {}", read("tty.txt"));
    assert!(!Path::new(read("path.txt").trim()).exists(), "nothing is left of the file");
}

#[test]
fn an_edit_that_cannot_be_used_is_told_and_not_lost() {
    let folder = folder(&[PLAN, WRITE, JUDGE]);
    let edit = editor(folder.path(), "sh -c \"$(cat do)\" \"$1\"");
    let ed = |script: &str| fs::write(folder.path().join("do"), script.replace("FILE", "\"$0\"")).unwrap();
    ed("exit 3");
    let mut terminal = Terminal::run(folder.path(), 100, &format!("{edit}{ADA} --approve"));
    terminal.answer("why, ?: ", "edit");
    terminal.see("failed (exit status: 3)");
    ed("true");
    terminal.answer("why, ?: ", "edit");
    terminal.see("nothing was changed");
    ed("echo 'steps: [' > FILE");
    terminal.answer("why, ?: ", "edit");
    terminal.see("--> plan.yaml:");
    terminal.see("the plan is what it was, because the edited one cannot be read");
    ed(
        "test \"$(cat FILE)\" = 'steps: [' || exit 9; printf '%s' '{reasoning: r, estimatedTokens: 1, steps: [{id: s1, description: d, tools: [moon_walk], expectedOutcome: o, dependencies: []}]}' > FILE",
    );
    terminal.answer("why, ?: ", "edit");
    terminal.see("the edited one cannot be executed: Plan references unknown tool \"moon_walk\"");
    ed("sed -i -e s/moon_walk/file_write/ -e 's/dependencies: \\[\\]/dependencies: [s1]/' FILE");
    terminal.answer("why, ?: ", "edit");
    terminal.see("Circular dependency detected among steps: s1");
    ed("sed -i -e 's/\\[s1\\]/[]/' FILE");
    terminal.answer("why, ?: ", "edit");
    terminal.see("1. s1 (file_write): d");
    terminal.answer("why, ?: ", "yes");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    assert_eq!(decisions(folder.path()).len(), 4, "what could not be used decided nothing");
}

#[test]
fn the_interrupt_key_is_the_editors_while_it_runs() {
    let folder = folder(&[PLAN]);
    let edit =
        editor(folder.path(), "trap 'echo caught; exit 1' INT; echo ready; while :; do sleep 0.05; done");
    let mut terminal = Terminal::run(folder.path(), 100, &format!("{edit}{ADA} --approve"));
    terminal.answer("why, ?: ", "edit");
    terminal.see("ready");
    terminal.press(0x03);
    terminal.see("caught");
    terminal.see("failed (");
    terminal.answer("why, ?: ", "no");
    assert_eq!(terminal.end().0, 1);
}

#[test]
fn an_editor_does_not_outlive_the_run_nor_leave_the_terminal_changed() {
    let folder = folder(&[PLAN]);
    let edit = editor(
        folder.path(),
        "stty -echo -icanon; echo $$ > pid; echo $PPID > tepa; echo ready; while :; do sleep 0.05; done",
    );
    let line = format!(
        "{edit}stty echo; stty -g > before; {}; code=$?; stty -g > after; exit $code",
        format!("{ADA} --approve").replace("exec ", "")
    );
    let mut terminal = Terminal::run(folder.path(), 100, &line);
    terminal.answer("why, ?: ", "edit");
    terminal.see("ready");
    let stop = ["-c", "kill -TERM $(cat tepa)"];
    assert!(
        std::process::Command::new("sh").args(stop).current_dir(folder.path()).status().unwrap().success()
    );
    let (code, written) = terminal.end();
    assert_eq!(code, 143, "{written}");
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(read("after"), read("before"));
    support::eventually(|| support::gone(read("pid").trim()));
}

#[test]
fn a_plan_from_a_file_is_asked_about_and_not_edited() {
    let folder = folder(&[PLAN]);
    let made = finish(tepa(folder.path()).args([
        "plan",
        "prompt.yaml",
        "--replay",
        "replies.yaml",
        "-o",
        "plan.json",
    ]));
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    script(folder.path(), &[WRITE, JUDGE]);
    let mut terminal = Terminal::run(folder.path(), 100, &format!("{ADA} --plan plan.json --approve"));
    terminal.answer("execute it? yes, no, why, ?: ", "edit");
    terminal.see("not understood: `edit`");
    terminal.answer("why, ?: ", "yes");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
}

#[test]
fn a_narrow_terminal_shows_the_whole_plan() {
    let long = "write it ".repeat(12);
    let folder = folder(&[&PLAN.replace("write it", long.trim()), WRITE, JUDGE]);
    for term in ["xterm-256color", "dumb"] {
        script(folder.path(), &[&PLAN.replace("write it", long.trim()), WRITE, JUDGE]);
        let mut terminal = Terminal::run(folder.path(), 40, &format!("export TERM={term}; {ADA} --approve"));
        terminal.see("cycle 1: 1 step");
        terminal.answer("execute it? yes, no, edit, why, ?: ", "yes");
        let (code, written) = terminal.end();
        assert_eq!(code, 0, "{written}");
        let from = written.find("the plan of").unwrap();
        let shown = &console::strip_ansi_codes(&written[from..]).into_owned();
        let shown = &shown[..shown.find("execute it?").unwrap()];
        assert_eq!(shown.split_whitespace().filter(|word| *word == "write").count(), 12, "{shown}");
        assert!(shown.lines().all(|line| measure_text_width(line) < 40), "{shown}");
    }
}

#[test]
fn retry_tells_the_planner_what_the_person_says() {
    let again = PLAN.replace(
        "    json",
        "    cycle: 2\n    expect: {contains: [\"ada at the terminal says: it is the world\"]}\n    json",
    );
    let folder = folder(&[
        PLAN,
        WRONG,
        JUDGE,
        &again,
        &WRITE.replace("step: s1", "step: s1\n    cycle: 2"),
        &JUDGE.replace("    json", "    cycle: 2\n    json"),
    ]);
    let mut terminal = ask_on_fail(folder.path(), "");
    terminal.see("checks overruled the judge");
    terminal.see("fail with confidence 0.90");
    terminal.see("check `contains` of \"hello.txt\" failed");
    terminal.answer("retry, accept, stop, ?: ", "retry");
    terminal.answer("what to tell the planner: ", "it is the world");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    let retried = decided("verdict", "retry", Some("it is the world"));
    assert_eq!(decisions(folder.path()), [asked("verdict"), retried]);
    assert_eq!(greeting(folder.path()).as_deref(), Some("hello, world"));
}

#[test]
fn accepting_makes_a_pass_that_says_who_overruled_what() {
    let folder = folder(&[PLAN, WRONG, JUDGE]);
    let mut terminal = ask_on_fail(folder.path(), "--max-cycles 1");
    terminal.answer("no cycle is left. accept, stop, ?: ", "retry once more");
    terminal.see("not understood");
    terminal.answer("accept, stop, ?: ", "accept the moon will do");
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    let result = result_of(folder.path());
    assert_eq!((&result["status"], &result["exitCode"]), (&json!("pass"), &json!(0)));
    assert_eq!(result["feedback"], "ada at the terminal accepted the work: the moon will do");
    let last = json!({"by": ADA_SAYS, "from": "fail", "to": "pass", "reason": "the moon will do"});
    assert_eq!(result["evaluation"]["overruled"][1], last);
    assert!(written.contains("ada at the terminal overruled the verdict"), "{written}");
    let accepted = decided("verdict", "accepted", Some("the moon will do"));
    assert_eq!(decisions(folder.path()), [asked("verdict"), accepted]);
}

#[test]
fn stopping_leaves_the_verdict_as_it_is() {
    for (typed, comment) in [(Some("stop the moon is wrong"), Some("the moon is wrong")), (None, None)] {
        let folder = folder(&[PLAN, WRONG, JUDGE]);
        let mut terminal = ask_on_fail(folder.path(), "");
        if let Some(line) = typed {
            terminal.answer("stop, ?: ", line);
        } else {
            terminal.answer("stop, ?: ", "accept");
            terminal.see("why: ");
            terminal.press(0x04);
        }
        let (code, written) = terminal.end();
        assert_eq!(code, 1, "{written}");
        let result = result_of(folder.path());
        assert_eq!(result["reason"], "declined");
        assert_eq!(result["evaluation"]["verdict"], "fail");
        assert_eq!(decisions(folder.path()), [asked("verdict"), decided("verdict", "stopped", comment)]);
    }
}

#[test]
fn nobody_accepts_a_changed_protected_file() {
    let break_in = "  - stage: step\n    step: s1\n    tool: file_write\n    toolUse: {path: .github/w.yml, content: mine}\n";
    let folder = folder(&[PLAN, break_in, JUDGE]);
    fs::create_dir(folder.path().join(".github")).unwrap();
    fs::write(folder.path().join(".github/w.yml"), "yours").unwrap();
    let mut terminal = ask_on_fail(folder.path(), "");
    terminal.see("it cannot be accepted, because a protected file was changed");
    terminal.answer("left. retry, stop, ?: ", "accept");
    terminal.see("not understood: `accept`");
    terminal.answer("stop, ?: ", "stop");
    assert_eq!(terminal.end().0, 1);
}

#[test]
fn what_changes_while_a_person_thinks_was_not_accepted() {
    let folder = folder(&[PLAN, WRONG, JUDGE]);
    let mut terminal = ask_on_fail(folder.path(), "");
    terminal.see("stop, ?: ");
    fs::write(folder.path().join("hello.txt"), "something else").unwrap();
    terminal.type_line("accept it is fine");
    let (code, written) = terminal.end();
    assert_eq!(code, 1, "{written}");
    let result = result_of(folder.path());
    assert_eq!(result["cycles"], 1, "whoever accepts wants no further cycle");
    assert_eq!(result["evaluation"]["verdict"], "fail");
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_is_paid_for() {
    let folder = folder(&[PLAN]);
    let arguments = ["run", "prompt.yaml", "--replay", "replies.yaml", "--output", "json"];
    let output = finish(tepa(folder.path()).args(arguments).arg("--approve"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["reason"], &result["tokensUsed"]), (&json!("declined"), &json!(0)));
    assert_eq!(result["feedback"], "nobody can be asked to approve the plan: standard input is no terminal");
    assert_eq!(
        decisions(folder.path()),
        [
            json!({"type": "approval.decided", "cycle": 0, "about": "plan", "decision": "refused", "by": "nobody", "comment": "standard input is no terminal"})
        ]
    );

    let variable = finish(tepa(folder.path()).args(arguments).env("TEPA_APPROVE", "1"));
    assert_eq!(variable.status.code(), Some(1), "{}", text(&variable.stderr));
    let off = finish(
        tepa(folder.path()).args(["run", "prompt.yaml", "--replay", "replies.yaml"]).env("TEPA_APPROVE", "0"),
    );
    assert_eq!(off.status.code(), Some(4), "the plan is executed, and has no replies: {}", text(&off.stderr));
}

#[test]
fn without_a_terminal_the_first_fail_is_the_last() {
    let folder = folder(&[PLAN, WRONG, JUDGE]);
    let output =
        finish(tepa(folder.path()).args(["run", "prompt.yaml", "--replay", "replies.yaml", "--ask-on-fail"]));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let result = result_of(folder.path());
    assert_eq!((&result["reason"], &result["cycles"]), (&json!("declined"), &json!(1)));
    assert_eq!(result["evaluation"]["verdict"], "fail");
    let decided = decisions(folder.path());
    assert_eq!((&decided[0]["decision"], &decided[0]["by"]), (&json!("stopped"), &json!("nobody")));
}

#[test]
fn a_terminal_with_nobody_at_it_is_none() {
    let folder = folder(&[PLAN]);
    for (line, why) in [
        (format!("{ADA} --approve < prompt.yaml"), "standard input is no terminal"),
        (format!("{ADA} --approve 2> told.txt"), "standard error is no terminal"),
        (format!("export CI=true; {ADA} --approve"), "`CI` is set"),
        (
            format!(
                "cat prompt.yaml | {} --approve",
                ADA.replace("exec ", "")
                    .replace("prompt.yaml", "-")
                    .replace("stty echo; export USER=ada; ", "")
            ),
            "the prompt is read from standard input",
        ),
    ] {
        let (code, written) = Terminal::run(folder.path(), 100, &line).end();
        assert_eq!(code, 1, "{line}: {written}");
        assert!(written.contains(why), "{line}: {written}");
    }
}

#[test]
fn a_quiet_run_asks_all_the_same() {
    let folder = folder(&[PLAN, WRITE, JUDGE]);
    let mut terminal =
        Terminal::run(folder.path(), 100, &format!("{ADA} --approve -q --output json > result.json"));
    terminal.see("1. s1 (file_write): write it");
    terminal.answer("why, ?: ", "yes");
    assert_eq!(terminal.end().0, 0);
}
