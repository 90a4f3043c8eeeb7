//! Owns what tepa finds out by itself: whether expected files exist, how large they are, what is in them.
//!
//! The words of a step are never evidence. A path that cannot be looked at counts as not there, with the reason.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::run::Stop;
use super::shown;
use super::state::RunState;
use crate::outcome::{Artifact, ArtifactKind, CheckResult, Reason};
use crate::prompt::Prompt;
use crate::text;
use crate::workspace::{Workspace, WorkspaceError};

/// How much of the beginning of a file the judge sees, in bytes.
const HEAD: u64 = 6 * 1024;
/// How much of its end, when it is longer than both, in bytes.
const TAIL: u64 = 2 * 1024;

/// One expected path as it is on disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fact {
    pub(super) path: String,
    /// One line: existence, size, hash.
    pub(super) summary: String,
    /// The file, or its head and tail, each line marked as material.
    pub(super) content: Option<String>,
}

/// Returns the facts of every expected path, in the order of the prompt; off the thread, because files may be large and slow.
pub(super) async fn gather(prompt: Prompt, workspace: Arc<Workspace>) -> Result<Vec<Fact>, Stop> {
    off_the_thread(move || prompt.expected_paths().map(|(path, _)| look(path, &workspace)).collect()).await
}

/// Returns what is on disk when the run ends: every expected path that exists, then every file that a tool wrote.
pub(super) async fn artifacts(wanted: Vec<Wanted>, workspace: Arc<Workspace>) -> Result<Vec<Artifact>, Stop> {
    off_the_thread(move || {
        let mut seen = BTreeSet::new();
        let mut artifacts = Vec::new();
        for Wanted { path, description } in wanted {
            let Ok(relative) = workspace.relative(&path) else { continue };
            if seen.insert(relative) {
                artifacts.extend(artifact(path, description, &workspace));
            }
        }
        artifacts
    })
    .await
}

async fn off_the_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|_| Stop::new(Reason::InternalError, "tepa has a bug: looking at files panicked"))
}

/// A path that may have become an artifact.
pub(super) struct Wanted {
    path: String,
    description: String,
}

/// Returns the paths that may be artifacts: the expected ones, then what tools wrote, newest first.
pub(super) fn wanted(state: &RunState) -> Vec<Wanted> {
    let expected = state.prompt().expected_paths();
    let expected =
        expected.map(|(path, of)| Wanted { path: path.to_owned(), description: of.description.clone() });
    let written = state.written().iter().rev();
    let written =
        written.map(|(path, step)| Wanted { path: path.clone(), description: format!("written by {step}") });
    expected.chain(written).collect()
}

fn look(path: &str, workspace: &Workspace) -> Fact {
    match workspace.facts(path) {
        Err(error) => fact(path, Err(&error), None),
        Ok(facts) if facts.is_folder => fact(path, Ok("a folder".to_owned()), None),
        Ok(_) => {
            let found =
                workspace.digest(path).and_then(|digest| Ok((digest, workspace.ends(path, HEAD, TAIL)?)));
            match found {
                Err(error) => fact(path, Err(&error), None),
                Ok((digest, (head, tail))) => {
                    let hash =
                        digest.sha256.map_or("too large to hash".to_owned(), |hash| format!("sha256 {hash}"));
                    let summary = format!("{} bytes, {hash}", digest.bytes);
                    fact(path, Ok(summary), Some(shown_ends(&head, &tail, digest.bytes)))
                }
            }
        }
    }
}

/// Says what changed on disk since `before`, as failed checks: what was judged must be what is there.
pub(super) fn changes(before: &[Fact], now: Vec<Fact>) -> Vec<CheckResult> {
    let changed = before.iter().zip(now).filter(|(before, now)| before.summary != now.summary);
    changed
        .map(|(before, now)| CheckResult {
            check: "unchanged".to_owned(),
            path: Some(now.path),
            passed: false,
            expected: format!("to stay as it was judged ({})", before.summary),
            actual: now.summary,
        })
        .collect()
}

fn fact(path: &str, found: Result<String, &WorkspaceError>, content: Option<String>) -> Fact {
    let summary = match found {
        Ok(summary) => format!("exists: {summary}"),
        Err(WorkspaceError::Missing(_)) => "does not exist".to_owned(),
        Err(error) => format!("cannot be used: {error}"),
    };
    Fact { path: path.to_owned(), summary, content }
}

fn artifact(path: String, description: String, workspace: &Workspace) -> Option<Artifact> {
    let facts = workspace.facts(&path).ok()?;
    let (bytes, sha256) = if facts.is_folder {
        (0, None)
    } else {
        let digest = workspace.digest(&path).ok()?;
        (digest.bytes, digest.sha256)
    };
    let kind = ArtifactKind::of(&path);
    Some(Artifact { path, description, kind, bytes, sha256 })
}

fn shown_ends(head: &[u8], tail: &[u8], bytes: u64) -> String {
    if bytes == 0 {
        return "(the file is empty)".to_owned();
    }
    if head.contains(&0) {
        return "(binary content)".to_owned();
    }
    let kept = (head.len() + tail.len()) as u64;
    if kept >= bytes {
        let whole = [head, tail].concat();
        return shown::marked(String::from_utf8_lossy(&whole).trim_end_matches('\n'));
    }
    let head = shown::marked(&String::from_utf8_lossy(head));
    let tail = shown::marked(String::from_utf8_lossy(tail).trim_end_matches('\n'));
    format!("{head}\n({} left out)\n{tail}", text::bytes(bytes - kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Expected, ExpectedOutput};

    fn prompt(paths: &[&str]) -> Prompt {
        let expected = |path: &&str| Expected {
            path: Some((*path).to_owned()),
            description: format!("about {path}"),
            ..Expected::default()
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
        prompt(paths).expected_paths().map(|(path, _)| look(path, &workspace)).collect()
    }

    #[test]
    fn a_small_file_is_shown_whole_and_marked() {
        let facts = facts(&[("a.md", b"one\ntwo\n")], &["a.md"]);
        assert_eq!(facts[0].content.as_deref(), Some("| one\n| two"));
        assert!(facts[0].summary.starts_with("exists: 8 bytes, sha256 "), "{}", facts[0].summary);
    }

    #[test]
    fn a_large_file_is_shown_as_head_and_tail() {
        let content = format!("{}{}", "a".repeat(6 * 1024), "b".repeat(6 * 1024));
        let facts = facts(&[("big", content.as_bytes())], &["big"]);
        let shown = facts[0].content.as_deref().unwrap();
        assert_eq!((shown.matches('a').count(), shown.matches('b').count()), (6 * 1024, 2 * 1024));
        assert!(
            shown.contains("\n(4.1 kB left out)\n") || shown.contains("\n(4.0 KiB left out)\n"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_missing_outside_binary_or_empty_is_said() {
        let facts = facts(&[("bin", b"\0\x01"), ("empty", b"")], &["no", "../out", "bin", "empty", "."]);
        let summaries: Vec<_> = facts.iter().map(|fact| fact.summary.as_str()).collect();
        assert_eq!(summaries[0], "does not exist");
        assert_eq!(summaries[1], "cannot be used: `../out` is outside the workspace");
        assert_eq!(facts[2].content.as_deref(), Some("(binary content)"));
        assert_eq!(facts[3].content.as_deref(), Some("(the file is empty)"));
        assert_eq!(summaries[4], "exists: a folder");
    }
}
