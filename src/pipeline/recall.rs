//! Owns what the record of a run says of the work that it left: the task, and the last execution that reached its end.

use std::collections::BTreeMap;

use super::state::{Bounds, RunState};
use crate::config::Models;
use crate::event::{Role, RunEvent};
use crate::outcome::{CheckResult, Entries, PROTECTED};
use crate::prompt::Prompt;
use crate::seal::Marks;

/// The work of an earlier run, to be judged once more.
#[derive(Debug, Clone)]
pub struct Recalled {
    /// The task.
    pub prompt: Prompt,
    /// The models that did the work.
    pub models: Option<Models>,
    /// The event that stands in the place of the execution.
    pub(super) execution: RunEvent,
    /// The state of what was to stay unchanged.
    pub(super) unchanged: BTreeMap<String, Marks>,
}

/// Why a run cannot be judged again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// Its record does not say what it was to do.
    #[error("its record has no beginning")]
    NoTask,
    /// It does not hold the task as it was.
    #[error(
        "its record does not hold the task as it was: secrets were taken out of it, or somebody changed it"
    )]
    AnotherTask,
    /// It did nothing that could be judged.
    #[error("no cycle of it was executed to the end")]
    NothingDone,
    /// Something was done after the last look at protected files.
    #[error("it broke off while steps were executed, and nobody looked at protected files after that")]
    BrokenOff,
}

impl Recalled {
    /// Returns what the run `run_id` left, from its events in order.
    ///
    /// # Errors
    /// The events do not begin with the run, or no execution reached its end.
    pub fn of(run_id: &str, events: &[RunEvent]) -> Result<Self, RecallError> {
        let Some(RunEvent::RunStarted { prompt, prompt_sha256, config, .. }) = events.first() else {
            return Err(RecallError::NoTask);
        };
        if prompt.sha256() != *prompt_sha256 {
            return Err(RecallError::AnotherTask);
        }
        let mut state = RunState::new(prompt.clone(), Bounds::default());
        let mut last = None;
        let mut tampered: Vec<CheckResult> = Vec::new();
        let mut unchanged = BTreeMap::new();
        let mut looked_at = false;
        for event in events {
            state.apply(event);
            match event {
                RunEvent::ExecutionCompleted { .. } | RunEvent::ExecutionRecalled { .. } => {
                    last = execution(run_id, &state);
                    tampered = state.tampered_before().to_vec();
                    looked_at = matches!(event, RunEvent::ExecutionRecalled { .. });
                }
                RunEvent::ToolStarted { .. } => looked_at = false,
                // Protected files are looked at before the judge is asked.
                RunEvent::LlmCompleted { purpose, .. } if purpose.role == Role::Evaluator => looked_at = true,
                RunEvent::EvidenceGathered { .. } => looked_at = true,
                RunEvent::CheckCompleted { result, .. }
                    if result.check == PROTECTED && !result.passed && !tampered.contains(result) =>
                {
                    tampered.push(result.clone());
                }
                RunEvent::BaselineTaken { unchanged: taken, .. } => unchanged.clone_from(taken),
                _ => {}
            }
        }
        let mut execution = last.ok_or(RecallError::NothingDone)?;
        if !looked_at {
            return Err(RecallError::BrokenOff);
        }
        if let RunEvent::ExecutionRecalled { tampered: told, .. } = &mut execution {
            *told = tampered;
        }
        let models = serde_json::from_value(config["model"].clone()).ok();
        Ok(Self { prompt: Prompt::clone(prompt), models, execution, unchanged })
    }
}

fn execution(run_id: &str, state: &RunState) -> Option<RunEvent> {
    Some(RunEvent::ExecutionRecalled {
        run: run_id.to_owned(),
        cycle: state.cycle(),
        plan: state.plan()?.clone(),
        results: state.results(),
        scratchpad: Entries::clone(state.scratchpad().entries()),
        wrote: state.written().to_vec(),
        tampered: Vec::new(),
    })
}
