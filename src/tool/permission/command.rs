//! Owns the strict reading of a command line: the simple commands in it, when a pattern can be held against each of them.
//!
//! It refuses what it cannot see through, and everything that shells read in different ways: a rule that allows `git *` must not be a way to
//! run anything else. What a program does with its arguments it does not know.

use std::iter::Peekable;
use std::str::CharIndices;

/// Why a command line cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unclear {
    /// `$(…)`, backticks, or more of a `$` than a name.
    #[error("a substitution")]
    Substitution,
    /// Files, descriptors, here-documents, processes.
    #[error("a redirection")]
    Redirection,
    /// Subshells, functions, loops, conditions, braces.
    #[error("a compound command")]
    Compound,
    /// A quote or an escape that does not end, or a line that goes on in the next.
    #[error("a quote or an escape without an end")]
    Unfinished,
    /// Text from `#` on, in which quotes mean nothing.
    #[error("a comment")]
    Comment,
    /// A program whose name the shell would make from something else, or with assignments before it.
    #[error("a program that is not named plainly")]
    Program,
    /// A character that a terminal would not show.
    #[error("a control character")]
    Control,
    /// A shell that is none of the POSIX family.
    #[error("commands of this system's shell")]
    Shell,
    /// There is no command at all.
    #[error("an empty command")]
    Empty,
}

/// Words that begin or end a compound command where a program could stand.
const KEYWORDS: [&str; 15] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc",
];

/// What may stand in the name of a program beside letters and digits; nothing that a shell expands, `~` excepted.
const PLAIN: &str = "._-+/@%,:~";

type Characters<'a> = Peekable<CharIndices<'a>>;

/// Returns the simple commands of a line, without the blanks around them.
pub(super) fn simple_commands(line: &str) -> Result<Vec<&str>, Unclear> {
    if cfg!(windows) {
        return Err(Unclear::Shell);
    }
    if line.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return Err(Unclear::Control);
    }
    let mut commands = Vec::new();
    let mut from = 0;
    let mut characters = line.char_indices().peekable();
    let mut at_word = true;
    while let Some((at, c)) = characters.next() {
        match c {
            '\n' | ';' | '&' | '|' => {
                commands.push(&line[from..at]);
                from = at + c.len_utf8();
            }
            '\'' => single_quoted(&mut characters)?,
            '"' => double_quoted(&mut characters)?,
            '\\' => escaped(&mut characters)?,
            '$' => variable(&mut characters, false)?,
            '`' => return Err(Unclear::Substitution),
            '<' | '>' => return Err(Unclear::Redirection),
            '(' | ')' => return Err(Unclear::Compound),
            '#' if at_word => return Err(Unclear::Comment),
            _ => {}
        }
        at_word = matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|');
    }
    commands.push(&line[from..]);
    let commands = commands.into_iter().map(|command| command.trim_matches([' ', '\t']));
    let commands: Vec<&str> = commands.filter(|command| !command.is_empty()).collect();
    for command in &commands {
        check_program(command)?;
    }
    if commands.is_empty() { Err(Unclear::Empty) } else { Ok(commands) }
}

fn single_quoted(characters: &mut Characters) -> Result<(), Unclear> {
    characters.find(|(_, c)| *c == '\'').map(|_| ()).ok_or(Unclear::Unfinished)
}

fn double_quoted(characters: &mut Characters) -> Result<(), Unclear> {
    while let Some((_, c)) = characters.next() {
        match c {
            '"' => return Ok(()),
            '\\' => escaped(characters)?,
            '$' => variable(characters, true)?,
            '`' => return Err(Unclear::Substitution),
            _ => {}
        }
    }
    Err(Unclear::Unfinished)
}

fn escaped(characters: &mut Characters) -> Result<(), Unclear> {
    match characters.next() {
        None | Some((_, '\n')) => Err(Unclear::Unfinished),
        Some(_) => Ok(()),
    }
}

/// Takes what follows a `$`: a name, a name in braces, or nothing that would make the `$` special.
fn variable(characters: &mut Characters, quoted: bool) -> Result<(), Unclear> {
    match characters.peek().map(|(_, c)| *c) {
        None | Some(' ' | '\t' | '\n' | ';' | '&' | '|') => Ok(()),
        Some('"') if quoted => Ok(()),
        Some(c) if begins_name(c) => Ok(()),
        Some('{') => {
            characters.next();
            let named = characters.next().is_some_and(|(_, c)| begins_name(c));
            let behind = characters.find(|(_, c)| !begins_name(*c) && !c.is_ascii_digit());
            if named && behind.is_some_and(|(_, c)| c == '}') { Ok(()) } else { Err(Unclear::Substitution) }
        }
        Some(_) => Err(Unclear::Substitution),
    }
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn check_program(command: &str) -> Result<(), Unclear> {
    let program = command.split([' ', '\t']).next().unwrap_or_default();
    if KEYWORDS.contains(&program) || program.starts_with(['{', '}', '!']) {
        return Err(Unclear::Compound);
    }
    let plain = program.chars().all(|c| c.is_alphanumeric() || PLAIN.contains(c));
    // Under a pattern such as `./scripts/*` a way up would lead to any program.
    let leads_up = program.split('/').skip_while(|part| *part == "..").any(|part| part == "..");
    if plain && !leads_up { Ok(()) } else { Err(Unclear::Program) }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_taken_apart_where_a_shell_would() {
        for (line, commands) in [
            ("git status", &["git status"][..]),
            ("  git  status\t", &["git  status"]),
            ("a b; c && d || e | f & g\nh", &["a b", "c", "d", "e", "f", "g", "h"]),
            ("a |& b", &["a", "b"]),
            ("a;\n\nb;", &["a", "b"]),
            ("echo 'a; b' \"c && d\" e\\;f", &["echo 'a; b' \"c && d\" e\\;f"]),
            ("echo 'it'\\''s; x'; y", &["echo 'it'\\''s; x'", "y"]),
            ("echo \"a\\\"; b\"; c", &["echo \"a\\\"; b\"", "c"]),
            ("echo a#b c'#'d", &["echo a#b c'#'d"]),
            ("cp $FROM ${TO_2} \"$HOME/x\" 'a$(b)`c`'", &["cp $FROM ${TO_2} \"$HOME/x\" 'a$(b)`c`'"]),
            ("grep -E \"^a$\" b$", &["grep -E \"^a$\" b$"]),
            ("git show stash@{0} *.rs [a-z]?", &["git show stash@{0} *.rs [a-z]?"]),
            ("./run.sh x=1 ~/y", &["./run.sh x=1 ~/y"]),
            ("../../bin/tool --in=../x", &["../../bin/tool --in=../x"]),
        ] {
            assert_eq!(simple_commands(line).as_deref(), Ok(commands), "{line}");
        }
    }

    #[test]
    fn what_hides_a_command_is_refused_with_its_reason() {
        use Unclear::{Comment, Compound, Control, Empty, Program, Redirection, Substitution, Unfinished};
        for (line, why) in [
            ("git $(rm x)", Substitution),
            ("git \"$(rm x)\"", Substitution),
            ("git `rm x`", Substitution),
            ("git \"a`rm x`\"", Substitution),
            ("git ${X:-$(rm x)}", Substitution),
            ("git ${X:=a}", Substitution),
            ("git ${}", Substitution),
            ("git ${1}", Substitution),
            ("git ${X", Substitution),
            ("git $((1))", Substitution),
            ("git $'a\\n'", Substitution),
            ("git $\"a\"", Substitution),
            ("git $1", Substitution),
            ("git $?", Substitution),
            ("git log > x", Redirection),
            ("git log 2>&1", Redirection),
            ("git log >| x", Redirection),
            ("git apply < x", Redirection),
            ("git diff <(rm x)", Redirection),
            ("git apply <<E\nrm\nE", Redirection),
            ("git apply <<< x", Redirection),
            ("> x", Redirection),
            ("(git status)", Compound),
            ("git() { rm x; }", Compound),
            ("{ git status; }", Compound),
            ("! git status", Compound),
            ("if git status; then rm x; fi", Compound),
            ("while git status; do rm x; done", Compound),
            ("case x in x) rm x;; esac", Compound),
            ("git status; }", Compound),
            ("git 'status", Unfinished),
            ("git \"status", Unfinished),
            ("git 'a' \"b' c", Unfinished),
            ("git status \\", Unfinished),
            ("git \\\nstatus", Unfinished),
            ("git status # ' \nrm x # '", Comment),
            ("#git", Comment),
            ("git status;# x", Comment),
            ("X=1 git status", Program),
            ("PATH=/tmp git status", Program),
            ("X+=1 git status", Program),
            ("$GIT status", Program),
            ("git status; ${GIT}", Program),
            ("'git' status", Program),
            ("g\\it status", Program),
            ("{git,status}", Compound),
            ("/bin/r? x", Program),
            ("/bin/r* x", Program),
            ("/bin/r[m] x", Program),
            ("./scripts/../../bin/rm x", Program),
            ("git\u{a0}status", Program),
            ("git status\r\nrm x", Control),
            ("git \u{1b}[2K status", Control),
            ("git a\0b", Control),
            (" \t\n", Empty),
            (";;", Empty),
        ] {
            assert_eq!(simple_commands(line), Err(why), "{line}");
        }
    }

    /// Runs a line in a folder where `bad` leaves a mark, and returns whether anything did.
    fn leaves_a_mark(shell: &str, line: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        for (name, script) in [("bad", "#!/bin/sh\n: > \"$MARK\"\n"), ("good", "#!/bin/sh\n")] {
            let path = programs.join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        let mut command = Command::new(shell);
        command.args(["-c", line]).current_dir(&work).env_clear();
        command.env("PATH", &programs).env("MARK", work.join("mark")).env("B", "; bad $(bad)");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
        fs::read_dir(work).unwrap().next().is_some()
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "good",
            "bad",
            "good bad",
            "; bad",
            "&& bad",
            "| bad",
            "|| bad",
            "& bad",
            "\nbad",
            "\nbad\n",
            " ",
            ";",
            "&",
            "|",
            "\n",
            "'",
            "\"",
            "'; bad; '",
            "\"; bad; \"",
            "\\",
            "\\\n",
            "$",
            "$B",
            "${B}",
            "$(bad)",
            "`bad`",
            "$((",
            "${",
            "}",
            "{",
            "(",
            ")",
            "<",
            ">",
            ">x",
            "<<",
            "#",
            " #",
            "!",
            "=",
            "X=1",
            "*",
            "?",
            "[",
            "~",
            "a",
            "if",
            "then",
            "fi",
            "eval",
            "$'",
            "$\"",
            "\t",
            "é",
        ]);
        prop::collection::vec(piece, 1..8).prop_map(|pieces| format!("good {}", pieces.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        // What only `good` was allowed for runs only `good`, and writes nothing, whatever the shells make of it.
        #[test]
        fn a_real_shell_runs_no_more_than_was_seen(line in pieces()) {
            let seen = simple_commands(&line);
            if seen.is_ok_and(|seen| seen.iter().all(|command| *command == "good" || command.starts_with("good "))) {
                for shell in ["/bin/sh", "/bin/bash"] {
                    if Path::new(shell).exists() {
                        prop_assert!(!leaves_a_mark(shell, &line), "{shell}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_shells_of_the_test_above_can_leave_a_mark() {
        assert!(leaves_a_mark("/bin/sh", "good x; bad"));
        assert!(leaves_a_mark("/bin/sh", "good > x"));
        assert!(!leaves_a_mark("/bin/sh", "good 'x; bad'"));
    }
}
