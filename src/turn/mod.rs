//! Owns the values of a turn: what a run should know before it begins, what is kept of it afterwards, and how far each piece is trusted.
//!
//! A turn is one run. It refuses records without trust: where a piece comes from decides how a model is shown it.

mod assembled;
mod record;

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use assembled::{Assembled, Shed, Standing, Trace};
pub use record::{
    Kind, Memory, Record, Recorded, Retrievable, Speaker, Thought, ToolCall, TrustTier, TurnMessage,
};

/// A list of stages, by its name in messages and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Once a run, before the first cycle.
    TurnInput,
    /// Once a run, after it passed.
    TurnOutput,
    /// In every cycle, before the planner.
    DispatchInput,
    /// In every cycle, after the judge.
    DispatchOutput,
}

impl Scope {
    /// Returns where the stages stand in a configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::TurnInput => "turn.input",
            Self::TurnOutput => "turn.output",
            Self::DispatchInput => "cycle.input",
            Self::DispatchOutput => "cycle.output",
        }
    }

    /// Returns the code of an error of a stage in it.
    pub fn error_code(self) -> &'static str {
        match self {
            Self::TurnInput => "E_INPUT_PIPELINE_ERROR",
            Self::TurnOutput => "E_OUTPUT_PIPELINE_ERROR",
            Self::DispatchInput | Self::DispatchOutput => "E_DISPATCH_PIPELINE_ERROR",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TurnInput => "turn-input",
            Self::TurnOutput => "turn-output",
            Self::DispatchInput => "dispatch-input",
            Self::DispatchOutput => "dispatch-output",
        })
    }
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    /// It did its work.
    Completed,
    /// It refused the run.
    Aborted,
    /// It broke.
    Failed,
    /// It neither went on nor refused.
    ShortCircuited,
}

/// What a turn has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// It is under way, or its process is gone without a word.
    Running,
    /// It passed.
    Ack,
    /// It did not pass.
    Nack,
    /// It was stopped: a refusal, a budget, a signal.
    Aborted,
}

impl TurnStatus {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Aborted => "aborted",
        }
    }
}

/// A turn as it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The id of the run.
    pub id: String,
    /// The key under which runs share history and memory.
    pub session: Option<String>,
    /// The goal.
    pub goal: String,
    /// When it began.
    pub started_at: Timestamp,
}

/// A turn as it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// What it has come to; never [`TurnStatus::Running`].
    pub status: TurnStatus,
    /// The reason of the run's end, by its wire name.
    pub reason: String,
    /// What was told to the person who started the run; empty after a pass, whose words are the turn's message.
    pub feedback: String,
    /// Cycles begun.
    pub cycles: u32,
    /// Tokens of all model calls.
    pub tokens_used: u64,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// What is noted of a turn while it is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A cycle ended.
    Cycle {
        /// The cycle, from 1.
        cycle: u32,
        /// `pass` or `fail`.
        verdict: String,
        /// What the judge said to the planner.
        feedback: Option<String>,
        /// Tokens of the run so far.
        tokens_used: u64,
    },
    /// Something broke.
    Error {
        /// A stable name for programs.
        code: String,
        /// The text.
        message: String,
    },
}

/// Which records are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those of this session.
    pub session: Option<String>,
    /// Those of this turn.
    pub turn: Option<String>,
    /// Those of turns that passed.
    pub acknowledged: bool,
    /// As many at most, the newest.
    pub limit: Option<usize>,
}
