//! Owns the runtime of a command, from its first task to the end of its last, and what a signal means to it.

use std::time::Duration;

use super::signals;
use super::status::Stopped;
use crate::config::Environment;
use crate::error::Error;
use crate::pipeline::Cancel;

/// How long work that was abandoned may take to notice, before the process leaves without it.
const LEAVING: Duration = Duration::from_millis(500);

/// Returns what `work` comes to, when nothing is left of what it started; signals reach it through the handle that it is given.
pub(super) fn block_on<F: Future>(
    environment: &Environment,
    work: impl FnOnce(Cancel) -> F,
) -> Result<F::Output, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .map_err(|e| Error::broken("cannot start the runtime").because(&e))?;
    let output = runtime.block_on(async {
        let cancel = Cancel::default();
        signals::listen(cancel.clone());
        let output = work(cancel).await;
        environment.leaving().all_gone().await;
        output
    });
    runtime.shutdown_timeout(LEAVING);
    signals::leave_on_any();
    Ok(output)
}

/// Returns what `work` comes to, unless a signal comes first; `work` is then dropped with everything that it started.
pub(super) async fn unless_stopped<T>(cancel: &Cancel, work: impl Future<Output = T>) -> Result<T, Stopped> {
    tokio::select! {
        biased;
        cause = cancel.stopped() => Err(Stopped::By(cause)),
        output = work => Ok(output),
    }
}
