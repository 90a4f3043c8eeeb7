//! Owns the guard over files that no run may change: sealed while the first plan is made, looked at before every verdict.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};

use super::Pipeline;
use super::run::Stop;
use crate::outcome::{CheckResult, PROTECTED, Reason};
use crate::seal::{Pattern, Seals};

/// The seals of a run, once they are taken.
pub(super) struct Guard(Shared<BoxFuture<'static, Result<Arc<Seals>, Stop>>>);

impl Guard {
    /// Begins to take the seals, off the thread: a repository may be large, and a model is about to be waited for anyway.
    pub(super) fn begin(pipeline: &Pipeline) -> Self {
        let root = pipeline.workspace.root().to_owned();
        let (globs, files) = (pipeline.config.protect.clone(), pipeline.protected.clone());
        let taking = tokio::task::spawn_blocking(move || take(&root, &globs, files));
        let taken = taking.map(|taken| taken.unwrap_or_else(|_| Err(panicked())).map(Arc::new));
        Self(taken.boxed().shared())
    }

    /// Waits until everything is sealed: no step may begin before.
    pub(super) async fn ready(&self) -> Result<Arc<Seals>, Stop> {
        self.0.clone().await
    }

    /// Returns a failed check for every protected file that is not what it was.
    pub(super) async fn broken(&self) -> Result<Vec<CheckResult>, Stop> {
        let seals = self.ready().await?;
        let broken = tokio::task::spawn_blocking(move || seals.broken()).await.map_err(|_| panicked())?;
        let checks = broken.into_iter().map(|broken| CheckResult {
            check: PROTECTED.to_owned(),
            path: Some(broken.path),
            passed: false,
            expected: "to be what it was when the run began".to_owned(),
            actual: broken.what.to_owned(),
        });
        Ok(checks.collect())
    }
}

fn take(root: &Path, globs: &[String], files: Vec<PathBuf>) -> Result<Seals, Stop> {
    let patterns: Result<Vec<_>, _> = globs.iter().map(|glob| Pattern::parse(glob)).collect();
    // A configuration from a file cannot hold such a glob; one that a program made can.
    let patterns = patterns.map_err(|e| Stop::new(Reason::CycleError, format!("protected files: {e}")))?;
    Ok(Seals::take(root, patterns, files))
}

fn panicked() -> Stop {
    Stop::new(Reason::InternalError, "tepa has a bug: looking at protected files panicked")
}
