//! Owns the stage `standing`: the rules of those who run tepa, from files.
//!
//! A file that is not there is an error: rules that are silently missing are rules that nobody keeps.

use std::sync::Arc;

use super::Work;
use crate::stage::{StageError, TurnContext};
use crate::turn;
use crate::workspace::{Workspace, WorkspaceError};

/// The largest file of rules, in bytes.
const LARGEST: u64 = 256 * 1024;

/// Reads rules.
pub(super) struct Standing {
    pub(super) files: Vec<String>,
    pub(super) workspace: Arc<Workspace>,
}

impl Work for Standing {
    fn name(&self) -> &'static str {
        "standing"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let (files, workspace) = (self.files.clone(), Arc::clone(&self.workspace));
        let reading = tokio::task::spawn_blocking(move || {
            files.into_iter().map(|file| read(file, &workspace)).collect::<Result<Vec<_>, _>>()
        });
        let rules = reading.await.map_err(|e| StageError::new("rules cannot be read").because(e))??;
        context.turn.standing_instructions.extend(rules);
        Ok(())
    }
}

fn read(source: String, workspace: &Workspace) -> Result<turn::Standing, StageError> {
    let bytes =
        workspace.read(&source, LARGEST).map_err(|e: WorkspaceError| StageError::new(e.to_string()))?;
    match String::from_utf8(bytes) {
        Ok(content) => Ok(turn::Standing { source, content }),
        Err(_) => Err(StageError::new(format!("`{source}` is no text in UTF-8"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::fake::Trial;

    #[tokio::test]
    async fn rules_are_read_in_order_or_the_run_does_not_begin() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
        workspace.write("AGENTS.md", b"British spelling.\n").unwrap();
        workspace.write("docs/house.md", b"").unwrap();
        workspace.write("latin", b"\xe9").unwrap();
        workspace.write("long", &vec![b'x'; 256 * 1024 + 1]).unwrap();
        let standing = |files: &[&str]| Standing {
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            workspace: Arc::clone(&workspace),
        };
        let mut trial = Trial::default();
        trial.run(standing(&["docs/house.md", "AGENTS.md"])).await.unwrap();
        let rules = &trial.context.turn.standing_instructions;
        assert_eq!(
            (rules[0].source.as_str(), rules[1].content.as_str()),
            ("docs/house.md", "British spelling.\n")
        );
        for (file, words) in [
            ("absent.md", "`absent.md` does not exist"),
            ("latin", "`latin` is no text in UTF-8"),
            ("long", "`long` is larger than 262.1 kB"),
            ("../x", "`../x` is outside the workspace"),
        ] {
            let mut trial = Trial::default();
            let fault = trial.run(standing(&["AGENTS.md", file])).await.unwrap_err();
            assert!(fault.ends_with(&format!("`standing` failed: {words}")), "{fault}");
            assert!(trial.context.turn.is_empty());
        }
    }
}
