//! Runs the binary on a pseudo-terminal and looks at what a person would see: movement, colours, widths, and a terminal that is
//! left as it was found.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use console::measure_text_width;
use regex::Regex;
use serde_json::json;
use tempfile::TempDir;

use screen::{Terminal, assert_cursor_is_shown, assert_shows, left_over, visible};
use support::{TEPA, eventually, example, finish, gone, result_of, tepa, text};

const EXAMPLE: &str = "run prompts/task.yaml --provider replay";
const OWN: &str = "run prompt.yaml --provider replay";

const PROMPT: &str = "goal: Hold still.\ncontext: {}\nexpectedOutput: Nothing.\n";

/// One step that lasts until somebody ends it.
const HELD: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: hold, description: hold on, tools: [shell_execute], expectedOutcome: held, dependencies: []}]}
  - {stage: step, step: hold, tool: shell_execute, toolUse: {command: "COMMAND"}}
  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: it held}}
"#;

fn held(command: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    fs::write(folder.path().join("prompt.replay.yaml"), HELD.replace("COMMAND", command)).unwrap();
    folder
}

fn colours(written: &str) -> usize {
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;]*m").unwrap());
    COLOUR.find_iter(written).count()
}

#[test]
fn the_example_is_a_picture_that_stays() {
    let folder = example();
    let (code, written) = Terminal::run(folder.path(), 100, &format!("exec $TEPA {EXAMPLE}")).end();
    assert_eq!(code, 0, "{written}");
    assert_shows(
        &written,
        &[
            "cycle 1",
            "plan: 11 steps",
            "✓ step_1 ",
            "✓ step_11 ",
            "✓ check exists out/class-5b/progress-report.md",
            "✗ check exists out/class-5b/flagged-students.csv",
            "checks overruled the judge:",
            "pass → fail: expected output",
            "✗ fail with confidence 0.83",
            "cycle 2",
            "✓ pass with confidence 0.95",
            "4 artifacts",
            "✓ pass  2 cycles, 37,282 tokens",
        ],
    );
    assert!(colours(&written) > 0 && written.ends_with('\n'), "{written:?}");
    assert_cursor_is_shown(&written);
}

#[test]
fn a_step_that_runs_moves_until_it_has_ended() {
    let folder = held("until [ -e go ]; do sleep 0.02; done");
    let mut terminal = Terminal::run(folder.path(), 100, &format!("exec $TEPA {OWN}"));
    terminal.wait_for(|written| {
        let rows = visible(written).into_iter().filter(|row| row.contains("hold on"));
        let pictures: BTreeSet<char> = rows
            .filter_map(|row| row.trim_start().chars().next())
            .filter(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(*c))
            .collect();
        (pictures.len() >= 3).then_some(())
    });
    fs::write(folder.path().join("go"), "").unwrap();
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    assert_shows(&written, &["✓ hold", "it held"]);
    assert_cursor_is_shown(&written);
}

#[test]
fn colours_can_be_turned_off() {
    for line in [
        format!("NO_COLOR=1 exec $TEPA {EXAMPLE}"),
        format!("exec $TEPA {EXAMPLE} --color never"),
        format!("TEPA_COLOR=never exec $TEPA {EXAMPLE}"),
    ] {
        let folder = example();
        let (code, written) = Terminal::run(folder.path(), 100, &line).end();
        assert_eq!((code, colours(&written)), (0, 0), "{line}: {written:?}");
        assert_shows(&written, &["✓ pass  2 cycles"]);
    }
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_plain_lines() {
    for variable in ["TERM=dumb", "CI=true"] {
        let folder = example();
        let line = format!("{variable} exec $TEPA {EXAMPLE} --color never");
        let (code, written) = Terminal::run(folder.path(), 100, &line).end();
        assert_eq!((code, written.contains('\x1b')), (0, false), "{variable}: {written:?}");
        assert!(written.contains("[cycle 1][step step_1]"), "{variable}: {written}");
    }
}

/// Looks at every line that was written on a terminal; the last column is left free, and what moves may fill it.
fn assert_fits(written: &str, width: u16) {
    for piece in visible(written) {
        let (columns, width) = (measure_text_width(&piece), usize::from(width));
        // The rows that move are filled up to the edge, and then begin the next line without a movement.
        assert!(columns <= width || columns.is_multiple_of(width), "{columns} columns of {width}: {piece:?}");
    }
}

#[test]
fn no_line_is_wider_than_its_terminal() {
    for (width, level) in [(40, "standard"), (40, "verbose"), (61, "verbose"), (200, "standard")] {
        let folder = example();
        // What goes to standard output is data, and data is not wrapped.
        let line = format!("exec $TEPA {EXAMPLE} --log-level {level} > feedback.txt");
        let (code, written) = Terminal::run(folder.path(), width, &line).end();
        assert_eq!(code, 0, "{written}");
        assert_fits(&written, width);
        let pieces = visible(&written);
        let lines = left_over(&written, width);
        for line in &lines {
            let whole = pieces.iter().any(|piece| piece.trim_end() == line);
            assert!(whole, "{level}: {line:?} is a part of a line that was too wide\n{}", lines.join("\n"));
        }
        for words in ["✓ step_11 ", "✗ check exists", "✓ pass"] {
            assert!(lines.iter().any(|line| line.contains(words)), "{words:?}\n{}", lines.join("\n"));
        }
    }
}

#[test]
fn interrupting_from_the_keyboard_leaves_everything_in_order() {
    let folder = held("sleep 300 & echo $! > pid; wait");
    // The shell survives the key, to look at the terminal after the run as it did before.
    let line = format!("trap : INT; stty -g > before; $TEPA {OWN}; code=$?; stty -g > after; exit $code");
    let mut terminal = Terminal::run(folder.path(), 100, &line);
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap_or_default();
    let child = eventually(|| read("pid").strip_suffix('\n').map(str::to_owned));
    terminal.wait_for(|written| written.contains("hold on").then_some(()));
    terminal.press(0x03);
    let (code, written) = terminal.end();
    assert_eq!(code, 130, "{written}");
    assert_shows(&written, &["not finished", "✗ terminated", "interrupted"]);
    assert_cursor_is_shown(&written);
    assert_eq!(read("after"), read("before"));
    let result = result_of(folder.path());
    assert_eq!((&result["status"], &result["exitCode"]), (&json!("terminated"), &json!(130)));
    eventually(|| gone(&child));
}

/// Runs a command on a terminal that is taken away while it works, and prints its exit code. It is the command's own terminal, whose loss is a
/// signal, or one of somebody else, where all that happens is that writing fails; then there is something to go on for.
const TAKEN_AWAY: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios
own = sys.argv[1] == "own"
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
take = (lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if own else None
child = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=take)
os.close(slave)
seen = b""
while b"hold on" not in seen or not os.path.exists("begun"):
    seen += os.read(master, 4096)
os.close(master)
if not own:
    open("go", "w").close()
print(child.wait())
"#;

#[test]
fn a_terminal_that_is_taken_away_ends_the_run_in_order_or_not_at_all() {
    for (whose, code, status) in [("own", "143\n", "terminated"), ("other", "0\n", "pass")] {
        let folder = held("touch begun; until [ -e go ]; do sleep 0.02; done");
        let mut command = std::process::Command::new("python3");
        command.args(["-c", TAKEN_AWAY, whose, TEPA]).args(OWN.split(' ')).current_dir(folder.path());
        command.env("HOME", folder.path().join("no-home")).env("TERM", "xterm-256color").env_remove("CI");
        let output = finish(&mut command);
        assert_eq!(text(&output.stdout), code, "{whose}: {}", text(&output.stderr));
        assert_eq!(result_of(folder.path())["status"], status, "{whose}");
    }
}

#[test]
fn streams_that_are_no_terminal_carry_no_escapes() {
    let folder = example();
    let output = finish(tepa(folder.path()).args(EXAMPLE.split(' ')).env("TERM", "xterm-256color"));
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b), "{}", text(&output.stderr));

    let folder = example();
    let line = format!("exec $TEPA {EXAMPLE} 2> told.txt");
    let (code, written) = Terminal::run(folder.path(), 100, &line).end();
    let told = fs::read_to_string(folder.path().join("told.txt")).unwrap();
    assert_eq!((code, written.contains('\x1b'), told.contains('\x1b')), (0, false, false), "{told:?}");
    assert!(told.lines().last().unwrap().starts_with("pass  2 cycles"), "{told}");
}

#[test]
fn a_window_may_become_another_while_a_step_runs() {
    let folder = held("until [ -e go ]; do sleep 0.02; done");
    let mut terminal = Terminal::run(folder.path(), 110, &format!("exec $TEPA {OWN}"));
    let before = terminal.wait_for(|written| written.contains("hold on").then_some(written.len()));
    terminal.resize(45);
    fs::write(folder.path().join("go"), "").unwrap();
    let (code, written) = terminal.end();
    assert_eq!(code, 0, "{written}");
    // What was under way was still drawn for the wider window; from the end of the step on everything fits.
    let fixed = before + written[before..].find('✓').unwrap();
    assert_fits(&written[fixed..], 45);
    assert!(written[fixed..].contains("it held"), "{written}");
}

#[test]
fn a_terminal_without_unicode_is_sent_none() {
    for variables in ["LC_ALL=C LANG=en_GB.UTF-8", "LANG=de_DE.ISO-8859-1"] {
        let folder = example();
        let (code, written) =
            Terminal::run(folder.path(), 80, &format!("{variables} exec $TEPA {EXAMPLE}")).end();
        assert_eq!(code, 0, "{written}");
        assert!(
            written.is_ascii(),
            "{:?}",
            written.chars().filter(|c| !c.is_ascii()).collect::<BTreeSet<_>>()
        );
        assert_shows(
            &written,
            &["+ step_11 ", "x check exists out/class-5b/flagged-students.csv", "+ pass  2 cycles"],
        );

        // A file is no terminal.
        let folder = held("true");
        let script = folder.path().join("prompt.replay.yaml");
        fs::write(&script, fs::read_to_string(&script).unwrap().replace("it held", "søgt og fundet"))
            .unwrap();
        let line = format!("{variables} exec $TEPA {OWN} > said.txt");
        let (code, written) = Terminal::run(folder.path(), 80, &line).end();
        assert_eq!((code, written.is_ascii()), (0, true), "{written}");
        assert_eq!(fs::read_to_string(folder.path().join("said.txt")).unwrap(), "søgt og fundet\n");
    }
}

/// Text that would do something to a terminal, or to the eye: wide characters, another direction, none, and orders.
const WILD: &str = r"日本語のとても長い説明文です שלום \u202eevil\u2066 e\u0301\u200b \u001b[2J\u001b[31mred\u001b[0m\u001b]0;title\u0007 \u009b31m \b\r 👩‍👩‍👧 end";

#[test]
fn nothing_that_a_model_writes_is_obeyed() {
    for (width, data) in [(40, "> said.txt"), (100, ""), (200, "> said.txt")] {
        let folder = held("true");
        let script = folder.path().join("prompt.replay.yaml");
        let wild = format!("\"{} {WILD}\"", "and on ".repeat(700));
        let written = fs::read_to_string(&script).unwrap();
        let written = written.replace("description: hold on", &format!("description: \"{WILD}\""));
        let written = written.replace("reasoning: r", &format!("reasoning: \"{WILD}\""));
        fs::write(&script, written.replace("summary: it held", &format!("summary: \"{WILD}\""))).unwrap();
        let goal = format!("goal: {wild}\ncontext: {{}}\nexpectedOutput: Nothing.\n");
        fs::write(folder.path().join("prompt.yaml"), goal).unwrap();
        let line = format!("exec $TEPA {OWN} --log-level verbose {data}");
        let (code, written) = Terminal::run(folder.path(), width, &line).end();
        assert_eq!(code, 0, "{written}");
        for forbidden in
            ["\u{1b}[2J", "\u{1b}[31mred", "\u{1b}]0;", "\u{202e}", "\u{2066}", "\u{9b}", "\u{8}"]
        {
            assert!(!written.contains(forbidden), "{forbidden:?}: {written:?}");
        }
        assert!(written.contains("␛[2J") && written.contains("\\u{202e}evil"), "{written:?}");
        if !data.is_empty() {
            assert_fits(&written, width);
        }
        let lines = left_over(&written, width);
        // A goal that fills pages would push everything else away.
        assert!(
            lines.iter().position(|line| line.starts_with("cycle 1")).is_some_and(|at| at < 40),
            "{}",
            lines.join("\n")
        );
        assert!(lines.iter().any(|line| line.starts_with("✓ pass")), "{}", lines.join("\n"));
    }
}
