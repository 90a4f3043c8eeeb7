//! Owns what tepa finds out by itself: whether expected files exist, how large they are, what is in them.
//!
//! The words of a step are never evidence. A path that cannot be looked at counts as not there, with the reason.

use std::collections::BTreeSet;

use serde::Serialize;

use super::shown;
use super::state::RunState;
use crate::outcome::{Artifact, ArtifactKind, CheckResult};
use crate::prompt::Prompt;
use crate::text;
use crate::workspace::{Workspace, WorkspaceError};

/// How much of the beginning of a file the judge sees, in bytes.
const HEAD: usize = 6 * 1024;
/// How much of its end, when it is longer than both, in bytes.
const TAIL: usize = 2 * 1024;

/// One expected path as it is on disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fact {
    pub(super) path: String,
    /// One line: existence, size, hash.
    pub(super) summary: String,
    /// The file, or its head and tail, each line marked as material.
    pub(super) content: Option<String>,
    #[serde(skip)]
    pub(super) check: CheckResult,
}

/// Returns the facts of every expected path, in the order of the prompt.
pub(super) fn gather(prompt: &Prompt, workspace: &Workspace) -> Vec<Fact> {
    prompt.expected_paths().map(|(path, _)| look(path, workspace)).collect()
}

fn look(path: &str, workspace: &Workspace) -> Fact {
    match workspace.facts(path) {
        Err(error) => fact(path, Err(&error), None),
        Ok(facts) if facts.is_folder => fact(path, Ok("a folder".to_owned()), None),
        Ok(_) => {
            let mut window = Window::default();
            match workspace.digest(path, |chunk| window.push(chunk)) {
                Err(error) => fact(path, Err(&error), None),
                Ok(digest) => {
                    let summary = format!("{} bytes, sha256 {}", digest.bytes, digest.sha256);
                    fact(path, Ok(summary), Some(window.shown(digest.bytes)))
                }
            }
        }
    }
}

fn fact(path: &str, found: Result<String, &WorkspaceError>, content: Option<String>) -> Fact {
    let (passed, summary, actual) = match found {
        Ok(summary) => (true, format!("exists: {summary}"), format!("exists ({summary})")),
        Err(WorkspaceError::Missing(_)) => (false, "does not exist".to_owned(), "does not exist".to_owned()),
        Err(error) => (false, format!("cannot be used: {error}"), error.to_string()),
    };
    let check = CheckResult {
        check: "exists".to_owned(),
        path: Some(path.to_owned()),
        passed,
        expected: "exists".to_owned(),
        actual,
    };
    Fact { path: path.to_owned(), summary, content, check }
}

/// Returns what is on disk when the run ends: every expected path that exists, then every file that a tool wrote.
pub(super) fn artifacts(state: &RunState, workspace: &Workspace) -> Vec<Artifact> {
    let expected =
        state.prompt().expected_paths().map(|(path, expected)| (path, expected.description.clone()));
    let written =
        state.written().iter().rev().map(|(path, step)| (path.as_str(), format!("written by {step}")));
    let mut seen = BTreeSet::new();
    let mut artifacts = Vec::new();
    for (path, description) in expected.chain(written) {
        let Ok(relative) = workspace.relative(path) else { continue };
        if !seen.insert(relative) {
            continue;
        }
        artifacts.extend(artifact(path, description, workspace));
    }
    artifacts
}

fn artifact(path: &str, description: String, workspace: &Workspace) -> Option<Artifact> {
    let facts = workspace.facts(path).ok()?;
    let (bytes, sha256) = if facts.is_folder {
        (0, None)
    } else {
        let digest = workspace.digest(path, |_| {}).ok()?;
        (digest.bytes, Some(digest.sha256))
    };
    Some(Artifact { path: path.to_owned(), description, kind: ArtifactKind::of(path), bytes, sha256 })
}

/// Head and tail of a stream of any length.
#[derive(Default)]
struct Window {
    head: Vec<u8>,
    tail: Vec<u8>,
    binary: bool,
}

impl Window {
    fn push(&mut self, chunk: &[u8]) {
        let room = HEAD.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        self.binary |= chunk[..room].contains(&0);
        let rest = &chunk[room..];
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(TAIL)..]);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
    }

    fn shown(&self, bytes: u64) -> String {
        if bytes == 0 {
            return "(the file is empty)".to_owned();
        }
        if self.binary {
            return "(binary content)".to_owned();
        }
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept >= bytes {
            let whole = [&self.head[..], &self.tail].concat();
            return shown::marked(String::from_utf8_lossy(&whole).trim_end_matches('\n'));
        }
        let head = shown::marked(&String::from_utf8_lossy(&self.head));
        let tail = shown::marked(String::from_utf8_lossy(&self.tail).trim_end_matches('\n'));
        format!("{head}\n({} left out)\n{tail}", text::bytes(bytes - kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Expected, ExpectedOutput};

    fn prompt(paths: &[&str]) -> Prompt {
        let expected = |path: &&str| Expected {
            path: Some((*path).to_owned()),
            description: format!("about {path}"),
            criteria: vec![],
        };
        Prompt {
            goal: "g".into(),
            context: serde_json::Map::new(),
            expected_output: ExpectedOutput::List(paths.iter().map(expected).collect()),
        }
    }

    fn facts(write: &[(&str, &[u8])], paths: &[&str]) -> Vec<Fact> {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        for (path, content) in write {
            workspace.write(path, content).unwrap();
        }
        gather(&prompt(paths), &workspace)
    }

    #[test]
    fn a_small_file_is_shown_whole_and_marked() {
        let facts = facts(&[("a.md", b"one\ntwo\n")], &["a.md"]);
        assert_eq!(facts[0].content.as_deref(), Some("| one\n| two"));
        assert!(facts[0].summary.starts_with("exists: 8 bytes, sha256 "), "{}", facts[0].summary);
        assert!(facts[0].check.passed);
    }

    #[test]
    fn a_large_file_is_shown_as_head_and_tail() {
        let content = format!("{}{}", "a".repeat(HEAD), "b".repeat(TAIL * 3));
        let facts = facts(&[("big", content.as_bytes())], &["big"]);
        let shown = facts[0].content.as_deref().unwrap();
        assert_eq!((shown.matches('a').count(), shown.matches('b').count()), (HEAD, TAIL));
        assert!(
            shown.contains("\n(4.1 kB left out)\n") || shown.contains("\n(4.0 KiB left out)\n"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_missing_outside_binary_or_empty_is_said() {
        let facts = facts(&[("bin", b"\0\x01"), ("empty", b"")], &["no", "../out", "bin", "empty", "."]);
        let summaries: Vec<_> = facts.iter().map(|fact| (fact.check.passed, fact.summary.as_str())).collect();
        assert_eq!(summaries[0], (false, "does not exist"));
        assert_eq!(summaries[1], (false, "cannot be used: `../out` is outside the workspace"));
        assert_eq!(facts[2].content.as_deref(), Some("(binary content)"));
        assert_eq!(facts[3].content.as_deref(), Some("(the file is empty)"));
        assert_eq!(summaries[4], (true, "exists: a folder"));
    }
}
