//! Owns the loop: Plan → Execute → Evaluate until a verdict passes or a limit is hit.
//!
//! Every decision is a fold over events ([`state`]); the driver performs what the fold asks for and turns its ends into events. Nothing here
//! prints, reads the environment or the clock, or opens a file except through [`crate::workspace`].

mod answer;
mod approval;
mod artifacts;
mod cancel;
mod criteria;
mod driver;
mod estimate;
mod evaluator;
mod executor;
mod judge;
mod jury;
mod known;
mod llm;
mod planner;
mod protect;
mod recall;
mod reserve;
mod resume;
mod room;
mod run;
mod shown;
pub mod state;
mod step;
mod texts;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approval::Approval;
use crate::config::{Config, Prices};
use crate::event::Clock;
use crate::hook::HookBus;
use crate::nonce::Nonces;
use crate::process::Setting;
use crate::provider::Provider;
use crate::sandbox::Confinement;
use crate::stage::{Stages, TokenCounter, TurnStore};
use crate::template::Templates;
use crate::tool::Registry;
use crate::workspace::Workspace;

pub use cancel::{Cancel, Cause};
pub use driver::{Finished, Given, Planned};
pub use recall::{RecallError, Recalled};
pub use resume::{Interrupted, ResumeError};

/// Everything that a run needs, wired.
pub struct Pipeline {
    /// Answers model calls.
    pub provider: Arc<dyn Provider>,
    /// The tools that a plan may use.
    pub tools: Registry,
    /// The hooks that are asked.
    pub hooks: HookBus,
    /// What is done around the cycles and in each of them.
    pub stages: Stages,
    /// What outlives the run; without one it leaves nothing for later ones.
    pub store: Option<Arc<dyn TurnStore>>,
    /// The key under which runs share history and memory.
    pub session: Option<String>,
    /// Counts tokens before anybody is asked.
    pub counter: Arc<dyn TokenCounter>,
    /// Who is asked about plans and failed verdicts.
    pub approval: Approval,
    /// Where the work is done.
    pub workspace: Arc<Workspace>,
    /// Models, limits.
    pub config: Config,
    /// What models cost.
    pub prices: Prices,
    /// The file with the replies of a replay, as it was named; for the record.
    pub replies: Option<String>,
    /// Files that no run may change beside those that the configuration names; absolute.
    pub protected: Vec<PathBuf>,
    /// How the commands of tools and checks are started.
    pub setting: Arc<Setting>,
    /// Where a folder for the scripts of checks can be made.
    pub temporary: PathBuf,
    /// What commands are confined to.
    pub confinement: Confinement,
    /// What models are told.
    pub templates: Templates,
    /// The marks of what models are shown and others wrote.
    pub nonces: Nonces,
    /// What is gone of the run's time before it begins: servers take theirs to start.
    pub spent: Duration,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}
