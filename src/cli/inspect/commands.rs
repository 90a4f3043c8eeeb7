//! Owns the commands that files name: whether the program is on this machine and the script in this folder.
//!
//! It warns and refuses nothing: what is missing here may be there where the run takes place.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::check::CommandLine;
use crate::config::Environment;
use crate::script;
use crate::source::{Diagnostic, Diagnostics, Document};

/// Words that the shell itself understands.
const OF_THE_SHELL: [&str; 40] = [
    ".", ":", "!", "[", "[[", "{", "(", "alias", "bg", "break", "case", "cd", "command", "continue",
    "declare", "do", "echo", "eval", "exec", "exit", "export", "false", "for", "function", "if", "local",
    "printf", "pwd", "read", "return", "set", "shift", "source", "test", "trap", "true", "type", "umask",
    "until", "while",
];

/// Warns of the commands of checks.
pub(in crate::cli) fn in_prompt(document: &Document, environment: &Environment, faults: &mut Diagnostics) {
    let entries = || document.value().get("expectedOutput").and_then(Value::as_array).into_iter().flatten();
    let outputs: Vec<&str> = entries().filter_map(|entry| entry.get("path")?.as_str()).collect();
    let mut look = Look { document, environment, outputs, faults };
    for (at, entry) in entries().enumerate() {
        let checks = entry.get("checks").and_then(Value::as_array).into_iter().flatten();
        for (index, check) in checks.enumerate() {
            if let Some(run) = check.get("command").and_then(|command| command.get("run")) {
                look.at(run, &format!("/expectedOutput/{at}/checks/{index}/command/run"));
            }
        }
    }
}

/// Warns of the commands of hooks, stages, tools and servers.
pub(in crate::cli) fn in_config(document: &Document, environment: &Environment, faults: &mut Diagnostics) {
    let root = document.value();
    let mut look = Look { document, environment, outputs: Vec::new(), faults };
    for (point, hooks) in root.get("events").and_then(Value::as_object).into_iter().flatten() {
        look.in_list(hooks, &Document::pointer_below("/events", point), "command");
    }
    for list in ["/turn/input", "/turn/output", "/cycle/input", "/cycle/output"] {
        if let Some(stages) = root.pointer(list) {
            look.in_list(stages, list, "command/run");
        }
    }
    if let Some(tools) = root.get("customTools") {
        look.in_list(tools, "/customTools", "command");
    }
    for (name, server) in root.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
        if let Some(Value::String(program)) = server.get("command") {
            let arguments = server.get("args").and_then(Value::as_array).into_iter().flatten();
            let words = arguments.filter_map(|word| word.as_str().map(str::to_owned));
            let line = CommandLine::Words(std::iter::once(program.clone()).chain(words).collect());
            look.line(&line, &format!("{}/command", Document::pointer_below("/mcpServers", name)));
        }
    }
}

/// One file's commands.
struct Look<'a> {
    document: &'a Document,
    environment: &'a Environment,
    /// What the run is expected to write.
    outputs: Vec<&'a str>,
    faults: &'a mut Diagnostics,
}

impl Look<'_> {
    fn in_list(&mut self, list: &Value, pointer: &str, key: &str) {
        for (at, item) in list.as_array().into_iter().flatten().enumerate() {
            if let Some(line) = item.pointer(&format!("/{key}")) {
                self.at(line, &format!("{pointer}/{at}/{key}"));
            }
        }
    }

    fn at(&mut self, line: &Value, pointer: &str) {
        if let Ok(line) = serde_json::from_value(line.clone()) {
            self.line(&line, pointer);
        }
    }

    fn line(&mut self, line: &CommandLine, pointer: &str) {
        let Some(program) = program(line) else { return };
        let place = self.document.span_of_value(pointer);
        // A program with a slash is its own script; an interpreter has one behind it.
        let script = script(line).filter(|script| is_plain(script));
        if let Some(script) = script.filter(|script| !self.is_file(script) && !self.will_be(script)) {
            let message = format!("the script `{script}` does not exist");
            let folder = "it is looked up from the folder that the run works in";
            self.faults.push(Diagnostic::warning("no-script", message).at(place).hint(folder));
        }
        if is_plain(program) && !program.contains('/') && !self.is_there(program) {
            let message = format!("the program `{program}` is not on the `PATH` of this machine");
            let hint = "check the name, or install it where the run takes place";
            self.faults.push(Diagnostic::warning("no-program", message).at(place).hint(hint));
        } else if is_plain(program) && program.starts_with('/') && !Path::new(program).is_file() {
            let message = format!("there is no program `{program}` on this machine");
            self.faults.push(Diagnostic::warning("no-program", message).at(place));
        }
    }

    fn is_file(&self, name: &str) -> bool {
        self.environment.resolve(Path::new(name)).is_file()
    }

    /// Returns whether a program is on the path; nobody knows where there is none.
    fn is_there(&self, program: &str) -> bool {
        self.environment.variable("PATH").is_none() || self.environment.find_program(program).is_some()
    }

    /// Returns whether a run is expected to write it.
    fn will_be(&self, script: &str) -> bool {
        let script = normal(script);
        self.outputs.iter().any(|output| script.starts_with(normal(output)))
    }
}

/// Returns a path without its `.` parts.
fn normal(path: &str) -> PathBuf {
    Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns the program that a line starts, unless that is the shell's business.
pub(in crate::cli) fn program(line: &CommandLine) -> Option<&str> {
    match line {
        CommandLine::Words(words) => words.first().map(String::as_str),
        CommandLine::Shell(text) => {
            let first = text.split_whitespace().next()?.trim_end_matches(';');
            (!OF_THE_SHELL.contains(&first) && is_plain(first)).then_some(first)
        }
    }
}

/// Returns the script that a line has an interpreter execute, unless only the shell knows which.
pub(in crate::cli) fn script(line: &CommandLine) -> Option<&str> {
    script::executed(line).filter(|script| matches!(line, CommandLine::Words(_)) || is_plain(script))
}

/// Returns whether a word is what it is, and nothing that is only known later.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_alphanumeric() || "-_./+@~:".contains(c))
        && !word.starts_with('~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Format, SourceFile};

    fn warnings(text: &str, look: fn(&Document, &Environment, &mut Diagnostics)) -> Vec<(String, usize)> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        for file in ["bin/python3", "bin/sh", "check.py"] {
            let path = folder.path().join(file);
            std::fs::write(&path, "").unwrap();
            #[cfg(unix)]
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let environment = Environment::of(folder.path().to_owned(), [("PATH".into(), "bin".into())]);
        let document = Document::parse(SourceFile::from_text("a.yaml", text, Format::Yaml)).unwrap();
        let mut faults = document.diagnostics();
        look(&document, &environment, &mut faults);
        let line = |fault: &Diagnostic| faults.file().position(fault.span.unwrap().start).line;
        faults.iter().map(|fault| (fault.message.clone(), line(fault))).collect()
    }

    #[test]
    fn what_is_not_there_is_told_and_what_may_be_is_not() {
        let text = "expectedOutput:\n  - path: out/tool.sh\n    checks:\n      - command: {run: [pyhton3, check.py]}\n      - command: {run: python3 check.py --fast}\n      \
            - command: {run: python3 chek.py}\n      - command: {run: ./out/tool.sh x}\n      - command: {run: ./tool.sh}\n      \
            - command: {run: cd x && nope}\n      - command: {run: '$TOOL x'}\n      - command: {run: '{{tool}} x'}\n      - command: {run: nope | wc}\n";
        let found = warnings(text, in_prompt);
        assert_eq!(
            found,
            [
                ("the program `pyhton3` is not on the `PATH` of this machine".to_owned(), 4),
                ("the script `chek.py` does not exist".to_owned(), 6),
                ("the script `./tool.sh` does not exist".to_owned(), 8),
                ("the program `nope` is not on the `PATH` of this machine".to_owned(), 12),
            ]
        );
    }

    #[test]
    fn every_command_of_a_configuration_is_looked_at() {
        let text = "events:\n  preStep: [{command: no1}]\nturn:\n  input: [{command: {run: no2}}]\ncycle:\n  output: [{command: {run: [no3]}}]\n\
            customTools: [{name: a, command: [no4]}]\nmcpServers:\n  a/b: {command: no5}\n  c: {command: '${X}'}\n  d: {command: python3, args: [gone.py]}\n";
        let found = warnings(text, in_config);
        let lines: Vec<usize> = found.iter().map(|(_, line)| *line).collect();
        assert_eq!(lines, [2, 4, 6, 7, 9, 11], "{found:?}");
        assert_eq!(found[5].0, "the script `gone.py` does not exist");
    }
}
