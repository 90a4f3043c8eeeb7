//! Owns what a call of a tool may do to the world, as its author says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What calling a tool may change outside the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing.
    Reads,
    /// Files, processes, the network: when in doubt, this.
    #[default]
    Writes,
}
