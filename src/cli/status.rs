//! Owns the exit code of the process: every way out of the program passes through here.
//!
//! For a run, 0 comes from a settlement and from nowhere else.

use std::process::ExitCode;

use crate::error::Error;
use crate::outcome::Settlement;
use crate::pipeline::Cause;

/// A command that ended before it had anything to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    /// It was told to.
    #[error("{}", .0.message())]
    By(Cause),
    /// Nobody answered a question.
    #[error("the input ended at a question")]
    Unanswered,
}

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitStatus(u8);

impl ExitStatus {
    /// Returns the status of a run.
    pub fn of_run(settlement: &Settlement) -> Self {
        Self(settlement.exit_code())
    }

    /// Returns the status of a command that runs nothing and did what it was asked.
    pub fn answered() -> Self {
        Self(0)
    }

    /// Returns the status of `tepa validate` when files have faults.
    pub fn faults_found() -> Self {
        Self(1)
    }

    /// Returns the status of `tepa tools call` when the tool failed.
    pub fn tool_failed() -> Self {
        Self(1)
    }

    /// Returns the status of `tepa doctor` when something is missing that a run needs.
    pub fn something_lacks() -> Self {
        Self(1)
    }

    /// Returns the status of a process that a signal ended.
    pub fn stopped(cause: Cause) -> Self {
        match cause {
            Cause::Interrupted => Self(130),
            Cause::Terminated => Self(143),
        }
    }

    /// Returns the status of a command line that cannot be used.
    pub fn usage() -> Self {
        Self(2)
    }

    /// Returns the status of an error, whatever it is wrapped in; one that nobody foresaw leaves no verdict.
    pub fn of_error(error: &anyhow::Error) -> Self {
        if let Some(stopped) = error.downcast_ref() {
            let cause = match stopped {
                Stopped::By(cause) => cause,
                Stopped::Unanswered => &Cause::Interrupted,
            };
            return Self::stopped(*cause);
        }
        match error.downcast_ref::<Error>() {
            Some(Error::Invalid(_) | Error::Usage(_)) => Self(2),
            Some(Error::Late(_)) => Self(3),
            Some(Error::Broken(_)) | None => Self(4),
        }
    }

    /// Returns the status of a command that could not remove all that was to go.
    pub fn something_stays() -> Self {
        Self(4)
    }

    /// Returns the status of a run whose result did not reach its reader: never a pass.
    pub fn unreported() -> Self {
        Self(4)
    }

    /// Returns the code.
    pub fn code(self) -> u8 {
        self.0
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.0)
    }
}
