//! Owns how the commands of a run are started: with which environment, and who stands between them and tepa.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::sandbox::Policy;

/// How long a supervisor may take to see a command off: it grants the same grace to the command, and then to what that leaves.
pub(super) const SUPERVISOR_GRACE: Duration = Duration::from_secs(4);

/// How the commands of a run are started.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// The whole environment of a command.
    pub environment: BTreeMap<OsString, OsString>,
    /// Who stands between tepa and a command; without one, commands are not confined.
    pub supervisor: Option<Supervisor>,
}

impl Setting {
    /// Returns the setting with further variables, and with the network or without it where `network` says so.
    #[must_use]
    pub fn handing<'v>(
        mut self,
        variables: impl IntoIterator<Item = (&'v String, &'v String)>,
        network: Option<bool>,
    ) -> Self {
        let variables = variables.into_iter();
        self.environment.extend(variables.map(|(name, value)| (name.into(), value.into())));
        let policy = self.supervisor.as_mut().and_then(|supervisor| supervisor.policy.as_mut());
        if let (Some(policy), Some(network)) = (policy, network) {
            policy.network = network;
        }
        self
    }
}

/// The program that confines commands and sees them off: tepa itself (Linux only).
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// The path of tepa's own binary.
    pub program: PathBuf,
    /// What a command may touch; everything if there is none.
    pub policy: Option<Policy>,
    pub(super) leaving: Leaving,
}

impl Supervisor {
    /// Returns the supervisor that is `program`; what it sees off is known to `leaving`.
    pub fn new(program: PathBuf, policy: Option<Policy>, leaving: Leaving) -> Self {
        Self { program, policy, leaving }
    }
}

/// Knows of every supervised command until it is gone with all that it started; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Leaving(pub(super) TaskTracker);

impl Leaving {
    /// Waits until nothing is left, for as long as that can take.
    pub async fn all_gone(&self) {
        self.0.close();
        let _ = timeout(SUPERVISOR_GRACE, self.0.wait()).await;
    }
}
