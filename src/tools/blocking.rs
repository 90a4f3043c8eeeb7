//! Owns the way off the async threads: work that waits for a disk, and that ends when its call does.
//!
//! A call that is out of time is dropped. A thread cannot be, so the work looks at a flag between its steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tool::{ToolContext, ToolError};
use crate::workspace::Workspace;

/// Whether somebody still waits for the work.
#[derive(Clone, Default)]
pub(super) struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// Fails when nobody does.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.0.load(Ordering::Relaxed) { Err(ToolError::new("the call has ended")) } else { Ok(()) }
    }
}

/// Tells the work that its call ended, however it did.
struct Waiting(Wanted);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` on the workspace where it may block.
pub(super) async fn aside<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Workspace, &Wanted) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let workspace = Arc::clone(context.workspace());
    let waiting = Waiting(Wanted::default());
    let wanted = waiting.0.clone();
    match tokio::task::spawn_blocking(move || work(&workspace, &wanted)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::new("the call has ended")),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::tools::trial::Trial;

    #[tokio::test]
    async fn work_whose_call_is_dropped_ends() {
        let trial = Trial::new();
        let (ended, heard) = mpsc::channel();
        let endless = aside(&trial.context, move |_, wanted| {
            while wanted.check().is_ok() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
        assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Ok(()));
    }
}
