//! Owns what is taken while the first plan is made: the seals over files that no run may change, which are looked at before every verdict,
//! and what checks compare with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};

use super::Pipeline;
use super::run::Stop;
use crate::event::RunEvent;
use crate::evidence::Baseline;
use crate::outcome::{CheckResult, PROTECTED, Reason};
use crate::prompt::Prompt;
use crate::seal::{Marks, Pattern, Seals};
use crate::workspace::Workspace;

/// Returns a path as the record has it: relative to the folder that the run works in, where it lies in it.
pub(super) fn within(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// What the record of a run says of the state of things when it began.
#[derive(Debug, Clone, Default)]
pub(super) struct Began {
    /// What is to stay unchanged, by the path as the prompt names it.
    pub(super) unchanged: BTreeMap<String, Marks>,
    /// The files that commands of checks name, as the record has them.
    pub(super) scripts: Vec<String>,
    /// The hash of the state of all protected files.
    pub(super) protected: Option<String>,
    /// The expected files that were there and are text.
    pub(super) before: BTreeMap<String, String>,
}

/// The state of things when the run began.
pub(super) struct Start {
    seals: Seals,
    /// What checks compare with.
    pub(super) baseline: Arc<Baseline>,
}

impl Start {
    /// Returns the event that says so, if there is anything to say.
    pub(super) fn event(&self, root: &Path) -> Option<RunEvent> {
        let (unchanged, before) = (self.baseline.marks(), self.baseline.texts());
        let protected = self.seals.digest();
        let scripts = self.baseline.protected().map(|place| within(root, place)).collect();
        let any = !unchanged.is_empty() || !before.is_empty() || protected.is_some();
        any.then_some(RunEvent::BaselineTaken { unchanged, scripts, protected, before })
    }
}

/// The state of things when the run began, once it is taken.
pub(super) struct Guard(Shared<BoxFuture<'static, Result<Arc<Start>, Stop>>>);

impl Guard {
    /// Begins to take the state, off the thread: a repository may be large, and a model is about to be waited for anyway.
    ///
    /// What an earlier run wrote down of its beginning counts instead of what is there now.
    pub(super) fn begin(pipeline: &Pipeline, prompt: Prompt, recalled: Option<Began>) -> Self {
        let workspace = Arc::clone(&pipeline.workspace);
        let (globs, files) = (pipeline.config.protect.clone(), pipeline.protected.clone());
        let taking = tokio::task::spawn_blocking(move || take(&prompt, &workspace, &globs, files, recalled));
        let taken = taking.map(|taken| taken.unwrap_or_else(|_| Err(panicked())).map(Arc::new));
        Self(taken.boxed().shared())
    }

    /// Waits until everything is taken: no step may begin before.
    pub(super) async fn ready(&self) -> Result<Arc<Start>, Stop> {
        self.0.clone().await
    }

    /// Returns a failed check for every protected file that is not what it was.
    pub(super) async fn broken(&self) -> Result<Vec<CheckResult>, Stop> {
        let start = self.ready().await?;
        let broken =
            tokio::task::spawn_blocking(move || start.seals.broken()).await.map_err(|_| panicked())?;
        let checks = broken.into_iter().map(|broken| CheckResult {
            check: PROTECTED.to_owned(),
            path: Some(broken.path),
            evidence: None,
            passed: false,
            expected: "to be what it was when the run began".to_owned(),
            actual: broken.what.to_owned(),
        });
        Ok(checks.collect())
    }
}

fn take(
    prompt: &Prompt,
    workspace: &Workspace,
    globs: &[String],
    mut files: Vec<PathBuf>,
    recalled: Option<Began>,
) -> Result<Start, Stop> {
    let patterns: Result<Vec<_>, _> = globs.iter().map(|glob| Pattern::parse(glob)).collect();
    // A configuration from a file cannot hold such a glob; one that a program made can.
    let patterns = patterns.map_err(|e| Stop::new(Reason::CycleError, format!("protected files: {e}")))?;
    let baseline = Baseline::take(prompt, workspace)?;
    let (root, recorded) = (workspace.root(), recalled.as_ref().filter(|began| began.protected.is_some()));
    let baseline = match recorded {
        Some(began) => baseline.with_scripts(|place| began.scripts.contains(&within(root, place))),
        None => baseline,
    };
    files.extend(baseline.protected().map(Path::to_owned));
    let seals = Seals::take(root, patterns, files);
    let Some(Began { unchanged, protected, before, .. }) = recalled else {
        return Ok(Start { seals, baseline: Arc::new(baseline) });
    };
    if protected.is_some() && protected != seals.digest() {
        let message = "protected files are not what they were when the run began, so no verdict on it would mean anything: begin it anew";
        return Err(Stop::new(Reason::CheckError, message));
    }
    let baseline = baseline.recalled(workspace, &unchanged).with_texts(before);
    Ok(Start { seals, baseline: Arc::new(baseline) })
}

fn panicked() -> Stop {
    Stop::new(Reason::InternalError, "tepa has a bug: looking at protected files panicked")
}
