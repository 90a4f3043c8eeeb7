//! Owns what a run leaves behind: the expected files that exist, and the files that tools wrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::run::Stop;
use super::state::RunState;
use crate::outcome::{Artifact, ArtifactKind, Reason};
use crate::workspace::Workspace;

/// Returns what is on disk when the run ends: every expected path that exists, then every file that a tool wrote.
pub(super) async fn on_disk(wanted: Vec<Wanted>, workspace: Arc<Workspace>) -> Result<Vec<Artifact>, Stop> {
    let found = tokio::task::spawn_blocking(move || {
        let mut seen = BTreeSet::new();
        let mut artifacts = Vec::new();
        for Wanted { path, description } in wanted {
            let Ok(relative) = workspace.relative(&path) else { continue };
            if seen.insert(relative) {
                artifacts.extend(artifact(path, description, &workspace));
            }
        }
        artifacts
    });
    found.await.map_err(|_| Stop::new(Reason::InternalError, "tepa has a bug: looking at files panicked"))
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
