//! Owns the generous reading of a command line: everything in it that could be a command, for rules that deny.
//!
//! It is a net with holes. What a program makes of its arguments, a name put together from variables or globs, a script that was written
//! before: none of that can be seen here. It rather finds too much, a command in a quoted text among others.

use super::command::simple_commands;

/// How many words before a command are looked behind.
const MOST_LEADS: usize = 32;

/// Where a command could begin, whatever the quotes around say.
const SEPARATORS: [char; 9] = ['\n', ';', '&', '|', '(', ')', '{', '}', '`'];

/// Words that stand before a command: of the shell, and programs that run another one.
const LEADS: [&str; 29] = [
    "!", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc", "command", "builtin",
    "exec", "eval", "env", "sudo", "doas", "nohup", "nice", "ionice", "setsid", "stdbuf", "timeout", "xargs",
    "busybox", "sh", "bash", "dash", "zsh",
];

/// Returns every text of a line that a denying pattern is held against.
pub(super) fn fragments(line: &str) -> Vec<String> {
    let line = line.trim();
    let mut found = vec![line.to_owned(), plain(line).join(" ")];
    for command in simple_commands(line).unwrap_or_default() {
        found.extend([command.to_owned(), plain(command).join(" ")]);
    }
    // A redirection may stand before its command.
    let pieces = line.replace(['<', '>'], "\n> ");
    for piece in pieces.split(SEPARATORS) {
        let words = plain(piece);
        let mut words = words.as_slice();
        for _ in 0..MOST_LEADS {
            let Some((program, arguments)) = words.split_first() else { break };
            found.push(words.join(" "));
            if let Some((_, name)) = program.rsplit_once('/') {
                let named: Vec<&str> =
                    [name].into_iter().chain(arguments.iter().map(String::as_str)).collect();
                found.push(named.join(" "));
            }
            words = match words {
                [sign, _, rest @ ..] if sign == ">" => rest,
                [lead, rest @ ..] if leads(lead) => rest,
                _ => break,
            };
        }
    }
    found
}

/// Returns the words without quotes, escapes and the line breaks in between.
fn plain(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", "").replace("$'", "").replace("$\"", "").replace(['\'', '"', '\\'], "");
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns whether a command may come behind `word`: an assignment, a keyword, a program that runs another, its options and numbers.
fn leads(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    LEADS.contains(&name)
        || word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        || word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+[]".contains(c))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_wherever_it_hides() {
        for line in [
            "rm -rf x",
            "rm   -rf\tx",
            "git status; rm -rf x",
            "git status\nrm -rf x",
            "git status && rm -rf x || true",
            "git log | rm -rf x",
            "git log & rm -rf x",
            "echo $(rm -rf x)",
            "echo \"a $(rm -rf x)\"",
            "echo `rm -rf x`",
            "cat <(rm -rf x)",
            "(cd y; rm -rf x)",
            "{ rm -rf x; }",
            "f() { rm -rf x; }; f",
            "if true; then rm -rf x; fi",
            "for i in 1; do rm -rf x; done",
            "A=1 B=2 rm -rf x",
            "! rm -rf x",
            "> log rm -rf x",
            "true 2>/dev/null; 2>/dev/null rm -rf x",
            "'rm' -rf x",
            "r\\m -rf x",
            "r''m -rf x",
            "$'rm' -rf x",
            "r\\\nm -rf x",
            "/bin/rm -rf x",
            "sudo -n env A=1 nice -n 5 /usr/bin/rm -rf x",
            "timeout 5s rm -rf x",
            "sh -c 'rm -rf x'",
            "bash -lc \"cd y && rm -rf x\"",
            "eval rm -rf x",
            "true # '\nrm -rf x #'",
        ] {
            assert!(fragments(line).iter().any(|fragment| fragment.starts_with("rm -rf x")), "{line}");
        }
    }

    #[test]
    fn arguments_are_no_commands() {
        for line in ["git rm -rf x", "echo rm -rf x", "git commit -m 'rm -rf x'", "grep 'rm -rf x' y"] {
            assert!(fragments(line).iter().all(|fragment| fragment != "rm -rf x"), "{line}");
        }
    }

    #[test]
    fn a_long_line_is_no_burden() {
        assert!(fragments(&"env ".repeat(10_000)).len() < 100);
    }
}
