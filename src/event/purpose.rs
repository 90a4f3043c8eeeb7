//! Owns what a model call is for: who asks, and about what.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who asks a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Makes plans.
    Planner,
    /// Runs steps.
    Executor,
    /// Judges.
    Evaluator,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Evaluator => "evaluator",
        })
    }
}

/// The address of a model call: what it is for, independent of when it happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Purpose {
    /// Who asks.
    pub role: Role,
    /// The cycle, from 1.
    pub cycle: u32,
    /// For the executor: the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// For a tool step: the tool that the model is to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// From 1; higher after an answer that could not be read.
    pub attempt: u32,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.step, &self.tool) {
            (Some(step), Some(tool)) => write!(f, "step `{step}`, tool `{tool}`, cycle {}", self.cycle),
            (Some(step), None) => write!(f, "step `{step}`, cycle {}", self.cycle),
            _ => write!(f, "{}, cycle {}", self.role, self.cycle),
        }
    }
}
