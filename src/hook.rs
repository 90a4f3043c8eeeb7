//! Owns hooks: questions that are asked before and after a stage, whose answers may change or stop the run.
//!
//! Data travels as JSON in the middle and is typed at both ends, so that closures and external commands meet in one bus. Order, chaining
//! and `continueOnError` follow the seeds' pipeline document ("How Callbacks Work", "Fault-Tolerant Callbacks").

mod bus;
mod difference;
mod point;
mod schema;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use bus::{Asked, HookBus, HookFault, Replaced};
pub use point::{
    EvaluatorInput, ExecutorInput, ExecutorOutput, NAMES, PlannerInput, Point, PostEvaluator, PostExecutor,
    PostPlanner, PostStep, PostStepData, PreEvaluator, PreExecutor, PrePlanner, PreStep, PreStepData,
    schemas,
};

/// The seeds' `CycleMetadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CycleMeta {
    /// The cycle, from 1.
    pub cycle_number: u32,
    /// Cycles that were started, this one included.
    pub total_cycles_used: u32,
    /// Tokens of the run so far.
    pub tokens_used: u64,
}

/// What a hook answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The data passes through.
    Keep,
    /// This data replaces it for all that follow.
    Replace(Value),
    /// The run stops, for this reason.
    Abort(String),
}

/// Why a hook gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Something that is asked at a point.
pub trait Hook: Send + Sync {
    /// Returns what the hook is called in events and messages.
    fn name(&self) -> &str;

    /// Returns whether the hook has to do with this payload; one that has not is not asked.
    fn applies(&self, _payload: &Value, _meta: &CycleMeta) -> bool {
        true
    }

    /// Answers for one payload.
    fn ask<'a>(
        &'a self,
        point: &'static str,
        payload: &'a Value,
        meta: &'a CycleMeta,
    ) -> BoxFuture<'a, Result<Reply, HookError>>;
}
