//! Owns the end of a run: one value from which exit code, result and last line derive.
//!
//! A pass is built in one function, from an evaluation whose verdict is pass; no other reason can make one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evaluation, Verdict};

/// The status in the result; a run without a verdict has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// An explicit verdict says pass.
    Pass,
    /// Judged and found wanting, or ended by a cycle error, a hook or a person.
    Fail,
    /// A limit or a signal ended it.
    Terminated,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The verdict is pass.
    Passed,
    /// The last cycle's verdict is fail.
    MaxCycles,
    /// The last cycle's verdict is fail, and a file that no run may change is not what it was.
    ProtectedPathModified,
    /// A plan could not be had or could not be executed.
    CycleError,
    /// A stage of a cycle broke.
    DispatchError,
    /// A hook refused or broke.
    HookStopped,
    /// A person refused a plan or did not let a run go on, or nobody was there to ask.
    Declined,
    /// A stage refused the run.
    Refused,
    /// The task has nothing that could be verified, and that was not to be let pass.
    NothingVerified,
    /// The token budget is used up.
    TokenBudget,
    /// The money is used up.
    CostBudget,
    /// The calls of tools are used up.
    ToolBudget,
    /// The wall clock of the run is used up.
    TimeBudget,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// The provider could not be reached or refused while a verdict depended on it.
    ProviderError,
    /// A check could not be run, so nobody knows whether it holds.
    CheckError,
    /// A stage broke before the run could begin, or after it passed where that was not to be let pass.
    StageError,
    /// What outlives runs could not be read or written.
    StoreError,
    /// The run could not be recorded.
    JournalError,
    /// A bug in tepa.
    InternalError,
}

impl Reason {
    /// Returns whether a run that ended for this reason can go on: nobody decided that it should not, and there is no verdict.
    pub fn goes_on(self) -> bool {
        match self {
            Self::Interrupted
            | Self::Terminated
            | Self::TokenBudget
            | Self::CostBudget
            | Self::ToolBudget
            | Self::TimeBudget
            | Self::ProviderError
            | Self::CheckError
            | Self::StageError
            | Self::StoreError
            | Self::JournalError
            | Self::InternalError => true,
            Self::Passed
            | Self::MaxCycles
            | Self::ProtectedPathModified
            | Self::CycleError
            | Self::DispatchError
            | Self::HookStopped
            | Self::Declined
            | Self::NothingVerified
            | Self::Refused => false,
        }
    }
}

/// How a run ended: the one value from which exit code, result and last line derive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    status: Option<RunStatus>,
    reason: Reason,
    feedback: String,
}

impl Settlement {
    /// Returns the settlement of the last evaluation of a run. Only a verdict that says pass makes a pass.
    ///
    /// `tampered` says whether a failed verdict has to do with a protected file.
    pub fn judged(evaluation: &Evaluation, tampered: bool) -> Self {
        match evaluation.verdict {
            Verdict::Pass => Self {
                status: Some(RunStatus::Pass),
                reason: Reason::Passed,
                feedback: evaluation.summary.clone().unwrap_or_else(|| "The goal is achieved.".to_owned()),
            },
            Verdict::Fail => Self {
                status: Some(RunStatus::Fail),
                reason: if tampered { Reason::ProtectedPathModified } else { Reason::MaxCycles },
                feedback: evaluation
                    .feedback
                    .clone()
                    .unwrap_or_else(|| "The goal is not achieved.".to_owned()),
            },
        }
    }

    /// Returns the settlement of a run that ended before a verdict could be final.
    ///
    /// A reason that only a verdict can give is taken for a bug in tepa.
    pub fn stopped(reason: Reason, message: impl Into<String>) -> Self {
        let (status, reason) = match reason {
            Reason::CycleError
            | Reason::DispatchError
            | Reason::HookStopped
            | Reason::Declined
            | Reason::NothingVerified => (Some(RunStatus::Fail), reason),
            Reason::Refused
            | Reason::TokenBudget
            | Reason::CostBudget
            | Reason::ToolBudget
            | Reason::TimeBudget
            | Reason::Interrupted
            | Reason::Terminated => (Some(RunStatus::Terminated), reason),
            Reason::ProviderError
            | Reason::CheckError
            | Reason::StageError
            | Reason::StoreError
            | Reason::JournalError
            | Reason::InternalError => (None, reason),
            Reason::Passed | Reason::MaxCycles | Reason::ProtectedPathModified => {
                (None, Reason::InternalError)
            }
        };
        Self { status, reason, feedback: message.into() }
    }

    /// Returns the status; `None` means that there is no verdict.
    pub fn status(&self) -> Option<RunStatus> {
        self.status
    }

    /// Returns why the run ended.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns what to tell the person who started the run.
    pub fn feedback(&self) -> &str {
        &self.feedback
    }

    /// Returns the exit code of the run.
    pub fn exit_code(&self) -> u8 {
        match (self.status, self.reason) {
            (Some(RunStatus::Pass), _) => 0,
            (Some(RunStatus::Fail), _) => 1,
            (Some(RunStatus::Terminated), Reason::Interrupted) => 130,
            (Some(RunStatus::Terminated), Reason::Terminated) => 143,
            (Some(RunStatus::Terminated), _) => 3,
            (None, _) => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASONS: [Reason; 21] = [
        Reason::DispatchError,
        Reason::Declined,
        Reason::StageError,
        Reason::StoreError,
        Reason::Refused,
        Reason::ToolBudget,
        Reason::NothingVerified,
        Reason::ProtectedPathModified,
        Reason::CheckError,
        Reason::CostBudget,
        Reason::Passed,
        Reason::MaxCycles,
        Reason::CycleError,
        Reason::HookStopped,
        Reason::TokenBudget,
        Reason::TimeBudget,
        Reason::Interrupted,
        Reason::Terminated,
        Reason::ProviderError,
        Reason::JournalError,
        Reason::InternalError,
    ];

    fn evaluation(verdict: Verdict) -> Evaluation {
        Evaluation::new(verdict, 1.0)
    }

    #[test]
    fn no_reason_for_stopping_gives_exit_0() {
        for reason in REASONS {
            assert_ne!(Settlement::stopped(reason, "").exit_code(), 0, "{reason:?}");
            assert_ne!(Settlement::stopped(reason, "").status(), Some(RunStatus::Pass), "{reason:?}");
        }
    }

    #[test]
    fn exit_codes_follow_the_documented_table() {
        assert_eq!(Settlement::judged(&evaluation(Verdict::Pass), false).exit_code(), 0);
        assert_eq!(Settlement::judged(&evaluation(Verdict::Fail), false).exit_code(), 1);
        let code = |reason| Settlement::stopped(reason, "").exit_code();
        assert_eq!(code(Reason::CycleError), 1);
        assert_eq!(code(Reason::HookStopped), 1);
        assert_eq!(code(Reason::Declined), 1);
        assert_eq!(code(Reason::DispatchError), 1);
        assert_eq!(code(Reason::Refused), 3);
        assert_eq!(code(Reason::StageError), 4);
        assert_eq!(code(Reason::StoreError), 4);
        assert_eq!(code(Reason::NothingVerified), 1);
        assert_eq!(code(Reason::TokenBudget), 3);
        assert_eq!(code(Reason::CostBudget), 3);
        assert_eq!(code(Reason::TimeBudget), 3);
        assert_eq!(code(Reason::ToolBudget), 3);
        assert_eq!(code(Reason::ProviderError), 4);
        assert_eq!(code(Reason::CheckError), 4);
        assert_eq!(code(Reason::JournalError), 4);
        assert_eq!(code(Reason::InternalError), 4);
        assert_eq!(code(Reason::Interrupted), 130);
        assert_eq!(code(Reason::Terminated), 143);
    }
}
