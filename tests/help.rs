//! What the command line says of itself: help at every width, man pages, completions in real shells.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use support::{TEPA, example, files_below, finish, tepa, text};

/// Calls `look` for every command with the words that lead to it.
fn each(look: &mut impl FnMut(&[String], &clap::Command)) {
    fn walk(path: &[String], command: &clap::Command, look: &mut impl FnMut(&[String], &clap::Command)) {
        look(path, command);
        for below in command.get_subcommands() {
            let path = [path, &[below.get_name().to_owned()]].concat();
            walk(&path, below, look);
        }
    }
    walk(&[], &tepa::cli::command(), look);
}

fn is_here(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output().unwrap();
    if !found.status.success() {
        eprintln!("`{program}` is not here: what needs it is not tested");
    }
    found.status.success()
}

#[test]
fn every_command_says_what_it_does_how_it_is_used_and_how_it_ends() {
    each(&mut |path, command| {
        assert!(command.get_about().is_some(), "{path:?} has no about");
        let long = command.get_after_long_help().or_else(|| command.get_after_help());
        let long = long.map(ToString::to_string).unwrap_or_default();
        let example = format!("tepa {}", path.join(" "));
        assert!(long.contains("Examples:\n") && long.contains(example.trim()), "{path:?} has no example");
        assert!(long.contains("Exit codes:"), "{path:?} does not say how it ends");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{path:?}: `{}` is not explained", argument.get_id());
        }
    });
}

#[test]
fn help_fits_every_terminal() {
    each(&mut |path, _| {
        for columns in [40_usize, 80, 120] {
            for flag in ["-h", "--help"] {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
                let output = finish(tepa(folder).args(path).arg(flag).env("COLUMNS", columns.to_string()));
                assert_eq!(output.status.code(), Some(0), "{path:?}");
                for line in text(&output.stdout).lines() {
                    // A word that is longer than the line stands alone in it, and so does how a flag is written.
                    let fits = console::measure_text_width(line) <= columns;
                    let whole = !line.trim().contains("  ") && line.trim().split(' ').count() <= 2;
                    let usage = line.starts_with("Usage:") || line.trim_start().starts_with('-');
                    assert!(fits || whole || columns < 80 && usage, "{path:?} {flag} at {columns}: {line}");
                }
            }
        }
    });
}

#[test]
fn what_is_not_understood_says_what_is_near() {
    let folder = tempfile::tempdir().unwrap();
    for (line, near) in [
        ("validat", "'validate'"),
        ("run task.yaml --provder x", "'--provider'"),
        ("run task.yaml --provider antropic", "'anthropic'"),
        ("runs lst", "'list'"),
    ] {
        let output = finish(tepa(folder.path()).args(line.split(' ')));
        assert_eq!(output.status.code(), Some(2), "{line}");
        let said = text(&output.stderr);
        assert!(said.contains("tip: a similar") && said.contains(near), "{line}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn no_command_shows_the_help_and_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    for line in [&[][..], &["runs"], &["tools"], &["memory"]] {
        let output = finish(tepa(folder.path()).args(line));
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        assert!(output.stdout.is_empty());
        assert!(text(&output.stderr).contains("Usage: tepa"), "{}", text(&output.stderr));
    }
}

#[test]
fn every_command_has_a_man_page_that_renders_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let output = finish(tepa(folder.path()).args(["man", "share/man1"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let pages = folder.path().join("share/man1");
    let mut expected = Vec::new();
    each(&mut |path, _| expected.push(format!("{}.1", [&["tepa".to_owned()], path].concat().join("-"))));
    expected.sort();
    let written: Vec<String> = files_below(&pages).iter().map(|path| path.display().to_string()).collect();
    assert_eq!(written, expected);
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    for words in [".SH \"EXIT STATUS\"", ".SH EXAMPLES", ".SH ENVIRONMENT", ".SH \"SEE ALSO\""] {
        assert!(page("tepa-run.1").contains(words), "{words}");
        assert!(page("tepa.1").contains(words), "{words}");
    }
    for name in ["ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "TEPA_MAX_TOKENS", "NO_COLOR"] {
        assert!(page("tepa.1").contains(name), "{name}");
    }
    if is_here("groff") {
        for name in &expected {
            let output =
                finish(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(pages.join(name)));
            assert!(output.status.success());
            assert_eq!(text(&output.stderr), "", "{name}");
        }
    }
    if is_here("man") {
        let shown = finish(Command::new("man").arg("-l").arg(pages.join("tepa-run.1")).env("MANWIDTH", "80"));
        // A minimal system has a `man` that says only that there is none.
        assert!(!shown.status.success() || !text(&shown.stdout).is_empty());
    }
}

/// Asks as the script of bash does: the words of a line, the last of which is being typed.
fn bash(folder: &Path, script: &str, words: &[&str]) -> Vec<String> {
    let ask = r#"
        source /dev/stdin <<< "$SCRIPT" || exit 9
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
        _clap_complete_tepa tepa "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let binary = Path::new(TEPA).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-c", ask, "bash", "tepa"]).args(words).current_dir(folder);
    command.env_clear().env("PATH", path).env("HOME", folder.join("no-home")).env("SCRIPT", script);
    let output = finish(&mut command);
    assert_eq!(text(&output.stderr), "", "{words:?}");
    text(&output.stdout)
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn script(shell: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    text(&finish(tepa(folder.path()).args(["completions", shell])).stdout)
}

/// Returns a folder in which a run of a session was recorded; nothing where bash is not there and need not be.
fn recorded_where_there_is_bash() -> Option<TempDir> {
    if !is_here("bash") {
        assert!(std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "bash is needed");
        return None;
    }
    let folder = example();
    let run = ["-q", "run", "prompts/task.yaml", "--provider", "replay", "--session", "class-5b"];
    assert_eq!(finish(tepa(folder.path()).args(run)).status.code(), Some(0));
    Some(folder)
}

#[test]
fn a_real_bash_completes_what_there_is_here() {
    let Some(folder) = recorded_where_there_is_bash() else { return };
    let id = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().file_name();
    let id = id.to_str().unwrap();
    let tool = "customTools: [{name: deploy, description: d, command: [\"true\"]}]\n";
    fs::write(folder.path().join("tepa.yaml"), tool).unwrap();
    fs::write(folder.path().join("prompts/not-a-task.txt"), "").unwrap();
    let script = script("bash");
    let ask = |words: &[&str]| bash(folder.path(), &script, words);
    assert_eq!(ask(&["ru"]), ["run", "runs"]);
    assert_eq!(ask(&["runs", "show", ""])[..2], ["latest", id]);
    assert_eq!(ask(&["runs", "report", &id[..20]]), [id]);
    assert_eq!(ask(&["runs", "list", "--session", ""]), ["class-5b"]);
    assert_eq!(ask(&["tools", "show", "dep"]), ["deploy"]);
    assert_eq!(ask(&["tools", "call", "data"]), ["data_parse"]);
    assert_eq!(ask(&["run", "x", "--deny-tool", "deploy,file_r"]), ["deploy,file_read"]);
    assert_eq!(ask(&["run", "x", "--provider", "ope"]), ["openai", "openai-compatible"]);
    assert_eq!(ask(&["run", "x", "--model", "claude-sonnet-4-6"]), ["claude-sonnet-4-6"]);
    let prompts = ask(&["run", "prompts/"]);
    assert!(prompts.contains(&"prompts/task.yaml".to_owned()), "{prompts:?}");
    assert!(!prompts.contains(&"prompts/not-a-task.txt".to_owned()), "{prompts:?}");
    assert!(ask(&["-C", "prompts", "run", "ta"]).contains(&"task.yaml".to_owned()));
    assert_eq!(ask(&["-C", "prompts", "runs", "show", ""]).first().map(String::as_str), Some("--output"));
    // What is broken is silent.
    fs::write(folder.path().join("tepa.yaml"), "customTools: [").unwrap();
    assert!(!ask(&["tools", "show", ""]).iter().any(|name| name == "data_parse" || name == "deploy"));
    assert_eq!(ask(&["ru"]), ["run", "runs"]);
}

#[test]
fn nothing_that_a_folder_holds_becomes_code_on_the_line() {
    let Some(folder) = recorded_where_there_is_bash() else { return };
    let runs = folder.path().join(".tepa/runs");
    let id = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let events = fs::read_to_string(runs.join(&id).join("events.jsonl")).unwrap();
    // A record that a repository brings along may say anything of itself.
    let evil =
        ["$(touch ran)", "`touch ran`", "a;touch ran", "a\\nb", "a\\u000bb", "x\\u001b[2J", "--yes", "a b"];
    for (at, evil) in evil.iter().enumerate() {
        let forged = events.replace("class-5b", evil).replace(&id, evil);
        let forged_id = format!("01980000-0000-7000-8000-00000000000{at}");
        for name in [forged_id.as_str(), &format!("$(touch ran{at})"), &format!("not-an-id-{at}")] {
            fs::create_dir(runs.join(name)).unwrap();
            fs::write(runs.join(name).join("events.jsonl"), &forged).unwrap();
        }
    }
    for name in
        ["evil$(touch ran).yaml", "a b.yaml", "a;b.json", "a\nb.yaml", "--yes.yaml", "fine.yaml", "für.yaml"]
    {
        fs::write(folder.path().join(name), "").unwrap();
    }
    fs::create_dir(folder.path().join("evil`touch ran`")).unwrap();
    let script = script("bash");
    let plain = |word: &String| word.chars().all(|c| c.is_alphanumeric() || "._/@:+,=~-".contains(c));
    for words in [
        ["runs", "show", ""].as_slice(),
        &["runs", "list", "--session", ""],
        &["run", ""],
        &["run", "e"],
        &["validate", ""],
        &["-C", ""],
        &["run", "x", "--result", ""],
        &["run", "x", "--result", "ev"],
        &["run", "x", "--config", ""],
        &["memory", "--store", ""],
        &["runs", "report", "latest", "--output", ""],
    ] {
        let offered = bash(folder.path(), &script, words);
        assert!(offered.iter().all(plain), "{words:?}: {offered:?}");
        assert!(
            !offered.iter().any(|word| word.starts_with("--yes.") || word.contains("not-an-id")),
            "{offered:?}"
        );
    }
    assert_eq!(bash(folder.path(), &script, &["runs", "list", "--session", ""]), ["class-5b"]);
    let offered = bash(folder.path(), &script, &["run", "f"]);
    assert_eq!(offered, ["fine.yaml", "für.yaml"]);
    let offered = bash(folder.path(), &script, &["runs", "show", "0198"]);
    assert_eq!(offered.len(), evil.len(), "{offered:?}");
    assert!(!files_below(folder.path()).iter().any(|path| path.ends_with("ran")));
}

#[test]
fn every_script_loads_in_its_shell() {
    for (shell, load) in [
        ("bash", "source /dev/stdin"),
        ("fish", "source -"),
        ("zsh", "autoload -U compinit; compinit -D; source /dev/stdin"),
    ] {
        let script = script(shell);
        assert!(script.contains("COMPLETE="), "{script}");
        if is_here(shell) {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("script"), &script).unwrap();
            let line = format!("{shell} -c '{load}' <script");
            let output = finish(Command::new("sh").args(["-c", &line]).current_dir(folder.path()));
            assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_variable_that_happens_to_be_set_turns_no_run_into_a_question() {
    let folder = example();
    let run = |arguments: &[&str]| -> Output {
        finish(tepa(folder.path()).args(arguments).env("COMPLETE", "bash"))
    };
    assert_eq!(run(&["run", "missing.yaml"]).status.code(), Some(2));
    assert_eq!(run(&[]).status.code(), Some(2));
    let other = finish(tepa(folder.path()).args(["--", "tepa", "run"]).env("COMPLETE", "csh"));
    assert_eq!(other.status.code(), Some(2));
}
