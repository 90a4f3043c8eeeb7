//! Owns the only door to a provider: every call is clamped to the budget, recorded, charged, and checked against the budget again.

use super::run::{Run, Stop};
use crate::event::{Purpose, Role, RunEvent};
use crate::outcome::{Reason, Usage};
use crate::provider::{Message, ProviderError, Request, Response};
use crate::tool::ToolSchema;

/// The longest answer that is ever asked for, in tokens: the default of the seeds' providers.
const MAX_OUTPUT: u64 = 64_000;

/// What is asked, beside for what.
pub(super) struct Question<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) tool: Option<&'a ToolSchema>,
}

/// Why a call gave no answer.
pub(super) enum Fault {
    /// The run is over.
    Stop(Stop),
    /// The provider failed; what that means is up to who asked.
    Provider(ProviderError),
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Stop(stop) => stop,
            Fault::Provider(error) => error.into(),
        }
    }
}

impl Run<'_> {
    /// Returns the address of a call of this cycle.
    pub(super) fn purpose(&self, role: Role, attempt: u32) -> Purpose {
        Purpose { role, cycle: self.read(super::state::RunState::cycle), step: None, tool: None, attempt }
    }

    /// Asks the model once.
    pub(super) async fn ask_model(
        &self,
        purpose: Purpose,
        question: Question<'_>,
    ) -> Result<Response, Fault> {
        let left = self.read(|state| match state.tokens_left() {
            0 => Err(Stop::new(Reason::TokenBudget, state.budget_message())),
            left => Ok(left),
        })?;
        let request = Request {
            purpose,
            model: question.model.to_owned(),
            system: question.system.to_owned(),
            messages: question.messages.to_vec(),
            tool: question.tool.cloned(),
            max_tokens: left.min(MAX_OUTPUT),
        };
        let began = self.monotonic();
        let answer = self.pipeline.provider.complete(&request).await;
        self.emit(&completed(request, &answer, self.since(began)))?;
        if let Some(message) = self.read(super::state::RunState::over_budget) {
            return Err(Stop::new(Reason::TokenBudget, message).into());
        }
        match answer {
            Ok(response) => Ok(response),
            // A script that does not fit the run makes everything after it meaningless, wherever it happens.
            Err(error @ ProviderError::Unscripted(_)) => Err(Fault::Stop(error.into())),
            Err(error) => Err(Fault::Provider(error)),
        }
    }
}

fn completed(request: Request, answer: &Result<Response, ProviderError>, duration_ms: u64) -> RunEvent {
    let Request { purpose, model, .. } = request;
    match answer {
        Ok(response) => RunEvent::LlmCompleted {
            purpose,
            model,
            usage: response.usage,
            finish_reason: Some(response.finish_reason.name().to_owned()),
            text: response.text.clone(),
            tool_use: response.tool_use.clone(),
            error: None,
            duration_ms,
        },
        Err(error) => RunEvent::LlmCompleted {
            purpose,
            model,
            usage: Usage::default(),
            finish_reason: None,
            text: String::new(),
            tool_use: Vec::new(),
            error: Some(error.to_string()),
            duration_ms,
        },
    }
}
