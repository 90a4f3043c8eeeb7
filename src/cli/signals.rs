//! Owns what SIGINT and SIGTERM mean: the first stops the run in order, the second ends the process at once.

use crate::pipeline::{Cancel, Cause};

/// Listens for as long as the runtime lives.
pub(super) fn listen(cancel: Cancel) {
    tokio::spawn(async move {
        cancel.stop(next().await);
        let again = next().await;
        leave_now(again);
    });
}

#[cfg(unix)]
async fn next() -> Cause {
    use tokio::signal::unix::{SignalKind, signal};
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
        // Without handlers the system's own meaning of the signals stays in force.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Cause::Interrupted,
        _ = terminate.recv() => Cause::Terminated,
    }
}

#[cfg(not(unix))]
async fn next() -> Cause {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Cause::Interrupted,
        Err(_) => std::future::pending().await,
    }
}

#[expect(clippy::exit, reason = "a second signal means at once; children were killed at the first")]
fn leave_now(cause: Cause) {
    std::process::exit(match cause {
        Cause::Interrupted => 130,
        Cause::Terminated => 143,
    });
}
