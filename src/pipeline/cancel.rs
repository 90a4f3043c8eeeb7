//! Owns how a run is told from outside to stop: a token that everything in flight listens to, and the reason.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::outcome::Reason;

/// Why a run is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Cause {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Interrupted => Reason::Interrupted,
            Self::Terminated => Reason::Terminated,
        }
    }

    /// Returns what happened, in words.
    pub fn message(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted by SIGINT",
            Self::Terminated => "ended by SIGTERM",
        }
    }
}

/// A handle that stops a run; clones stop the same one.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    token: CancellationToken,
    cause: Arc<OnceLock<Cause>>,
}

impl Cancel {
    /// Stops the run; the first cause stands.
    pub fn stop(&self, cause: Cause) {
        self.cause.get_or_init(|| cause);
        self.token.cancel();
    }

    /// Waits until the run is told to stop.
    pub async fn stopped(&self) -> Cause {
        self.token.cancelled().await;
        self.cause.get().copied().unwrap_or(Cause::Interrupted)
    }
}
