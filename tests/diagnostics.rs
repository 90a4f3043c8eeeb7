//! What `tepa validate` says of broken files, word for word, through the program: a newcomer has to be able to mend each by what is said.
//!
//! The tables under `tests/diagnostics/` hold the cases: a line `=== name.yaml`, behind the name how the text is written down (`crlf`, `bom`,
//! `latin1`) or flags that begin with `--`, then the file, a line `~~~`, what is said, and the exit code. With `TEPA_BLESS=1` in the
//! environment the second halves are written anew: read them before you commit them.

#![cfg(test)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{finish, tepa, text};

/// What stands for a key in a table, and the key.
const KEYS: [(&str, &str, &str); 4] = [
    ("<key of Anthropic>", "sk-ant-", "api03-aB3aB3aB3aB3aB3aB3"),
    ("<token of GitHub>", "ghp_", "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3"),
    ("<token of Slack>", "xoxb-", "1234567890-abcdef"),
    ("<key of AWS>", "AKIA", "ABCD1234ABCD1234"),
];

fn tables() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut tables: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.sort();
    tables
}

/// Returns the bytes of a file that is written down as `words` say.
fn bytes(content: &str, words: &[&str]) -> Vec<u8> {
    let mut content = content.to_owned();
    // Put together here: nothing in the tree should look like a key.
    for (mark, start, rest) in KEYS {
        content = content.replace(mark, &format!("{start}{rest}"));
    }
    if words.contains(&"crlf") {
        content = content.replace('\n', "\r\n");
    }
    if words.contains(&"bom") {
        content.insert(0, '\u{feff}');
    }
    if words.contains(&"latin1") {
        return content.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    }
    content.into_bytes()
}

fn judge(heading: &str, content: &str) -> String {
    let mut words: Vec<&str> = heading.split(' ').collect();
    let name = words.remove(0);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes(content, &words)).unwrap();
    fs::write(folder.path().join("check.py"), "").unwrap();
    let flags = words.iter().filter(|word| word.starts_with("--"));
    let output = finish(tepa(folder.path()).args(["validate", name]).args(flags));
    let said = text(&output.stderr);
    assert!(output.stdout.is_empty(), "{heading}");
    assert!(
        !KEYS.iter().any(|(_, start, rest)| said.contains(start) || said.contains(rest)),
        "{heading}: {said}"
    );
    format!("{}\nexit {}\n", said.trim_end(), output.status.code().unwrap())
}

#[test]
fn broken_files_are_explained_word_for_word() {
    let bless = std::env::var_os("TEPA_BLESS").is_some();
    let (mut yaml, mut json) = (0, 0);
    for table in tables() {
        let cases = fs::read_to_string(&table).unwrap();
        let mut blessed = String::new();
        for case in cases.split("=== ").skip(1) {
            let (heading, rest) = case.split_once('\n').unwrap();
            let (content, expected) = rest.split_once("~~~\n").unwrap();
            let said = judge(heading, content);
            if !bless {
                assert_eq!(said.trim_end(), expected.trim_end(), "{heading} in {}", table.display());
            }
            blessed += &format!("=== {heading}\n{content}~~~\n{said}\n");
            *if heading.contains(".json") { &mut json } else { &mut yaml } += 1;
        }
        if bless {
            fs::write(&table, blessed).unwrap();
        }
    }
    assert!(yaml >= 40 && json >= 20, "{yaml} cases of YAML, {json} of JSON");
}
