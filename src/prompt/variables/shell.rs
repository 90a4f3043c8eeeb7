//! Owns where a command of a check is text that a shell reads: no value belongs there, it would be obeyed and not compared.

use serde_json::Value;

use super::placeholder::{Piece, pieces};
use crate::source::{Diagnostic, Diagnostics, Document};

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// Finds every placeholder in what a shell reads.
pub(super) fn check(document: &Document, faults: &mut Diagnostics) {
    let list = document.value().get("expectedOutput").and_then(Value::as_array);
    for (at, expected) in list.into_iter().flatten().enumerate() {
        let checks = expected.get("checks").and_then(Value::as_array);
        for (index, check) in checks.into_iter().flatten().enumerate() {
            let Some(run) = check.pointer("/command/run") else { continue };
            let pointer = format!("/expectedOutput/{at}/checks/{index}/command/run");
            match run {
                Value::String(line) => {
                    let hint = "write the command as a list: `[grep, -q, \"{{word}}\", a.txt]`, so that a value stays one word";
                    look(document, &pointer, line, hint, faults);
                }
                Value::Array(words) => {
                    let hint = "hand the value to the script: `[sh, -c, 'grep -q \"$1\" a.txt', sh, \"{{word}}\"]`, so that it stays one word";
                    for (number, word) in scripts(words) {
                        look(document, &format!("{pointer}/{number}"), word, hint, faults);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the words of a command that a shell reads as a script, or that decide which one that is.
fn scripts(words: &[Value]) -> Vec<(usize, &str)> {
    let text = |word: &'_ Value| word.as_str().map(str::to_owned).unwrap_or_default();
    let is_shell = words.first().is_some_and(|program| {
        let program = text(program);
        SHELLS.contains(&program.rsplit(['/', '\\']).next().unwrap_or_default())
    });
    let takes_script = |word: &Value| {
        let word = text(word);
        word.starts_with('-') && !word.starts_with("--") && word.contains('c')
    };
    let Some(at) = words.iter().skip(1).position(takes_script).filter(|_| is_shell) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, word) in words.iter().enumerate().skip(at + 1) {
        let Some(word) = word.as_str() else { continue };
        found.push((number, word));
        if !word.starts_with(['-', '+']) {
            break;
        }
    }
    found
}

fn look(document: &Document, pointer: &str, text: &str, hint: &str, faults: &mut Diagnostics) {
    for piece in pieces(text) {
        let Piece::Placeholder { written, .. } = piece else { continue };
        let message = "a value in the text of a shell could be a command of its own";
        let place = super::fill::place_of(document, document.span_of_value(pointer), written);
        faults.push(Diagnostic::error("shell-placeholder", message).at(place).hint(hint));
    }
}
