//! Owns the only door to a provider: every call gets a share of the budgets, is recorded, charged, and checked against the budget again.
//!
//! What a call cost is charged however it ends: answered, failed after a few tries, or abandoned in the middle.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::run::{Run, Stop, millis};
use crate::event::{Purpose, Role, RunEvent};
use crate::outcome::Usage;
use crate::provider::{FinishReason, Message, ProviderError, Request, Response, Retry, Watch};
use crate::tool::ToolSchema;

/// What is asked, beside for what.
pub(super) struct Question<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) tool: Option<&'a ToolSchema>,
    pub(super) schema: Option<&'a Arc<Value>>,
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
        let known = self.unfinished().answer(&purpose);
        if let Some(response) = known {
            self.check_budgets()?;
            return Ok(response);
        }
        if !self.read(|state| state.can_charge(question.model)) {
            let message = format!(
                "no price is known for the model `{}`, so the cost limit cannot be held to; name its price under `pricing`",
                question.model
            );
            return Err(Fault::Provider(ProviderError::Invalid(message)));
        }
        let mut request = Request {
            purpose,
            model: question.model.to_owned(),
            system: question.system.to_owned(),
            messages: question.messages.to_vec(),
            tool: question.tool.cloned(),
            schema: question.schema.cloned(),
            max_tokens: 0,
        };
        let reads = self.pipeline.provider.reads(&request);
        let mut alone = false;
        let answer = loop {
            let share = self.reserve(question.model, reads, alone).await?;
            request.max_tokens = share.output;
            let call = Call::start(self, &request);
            let answer = self.pipeline.provider.complete(&request, &call).await;
            call.finish(&answer)?;
            // What the call used up is charged; what it held beyond that is for others.
            let is_whole = share.is_whole;
            drop(share);
            self.check_budgets()?;
            let cut = answer.as_ref().is_ok_and(|response| {
                response.finish_reason == FinishReason::MaxTokens
                    && response.usage.output >= request.max_tokens
            });
            // One after the other it would have had more room.
            if is_whole || !cut {
                break answer;
            }
            alone = true;
        };
        match answer {
            Ok(response) => Ok(response),
            // A script that does not fit the run makes everything after it meaningless, wherever it happens.
            Err(error @ ProviderError::Unscripted(_)) => Err(Fault::Stop(error.into())),
            Err(error) => Err(Fault::Provider(error)),
        }
    }

    /// Ends a run that used more than it may, and says of what little is left.
    fn check_budgets(&self) -> Result<(), Stop> {
        if let Some((reason, message)) = self.read(super::state::RunState::over_budget) {
            return Err(Stop::new(reason, message));
        }
        self.warn_of_budgets()
    }
}

/// One call under way.
struct Call<'c> {
    run: &'c Run<'c>,
    request: &'c Request,
    began: Duration,
    spent: Mutex<Spent>,
}

#[derive(Default)]
struct Spent {
    /// By tries that failed.
    failed: Usage,
    /// By the try that is under way.
    current: Usage,
    /// A retry that could not be recorded.
    unrecorded: Option<Stop>,
    settled: bool,
}

impl<'c> Call<'c> {
    fn start(run: &'c Run<'c>, request: &'c Request) -> Self {
        Self { run, request, began: run.monotonic(), spent: Mutex::default() }
    }

    fn finish(&self, answer: &Result<Response, ProviderError>) -> Result<(), Stop> {
        let unrecorded = self.spent().unrecorded.take();
        let recorded = match answer {
            Ok(response) => self.record(Some(response), None),
            Err(error) => self.record(None, Some(error.to_string())),
        };
        unrecorded.map_or(recorded, Err)
    }

    fn record(&self, response: Option<&Response>, error: Option<String>) -> Result<(), Stop> {
        let mut usage = {
            let mut spent = self.spent();
            spent.settled = true;
            if let Some(response) = response {
                spent.current = response.usage;
            }
            spent.failed
        };
        usage += self.spent().current;
        self.run.emit(&RunEvent::LlmCompleted {
            purpose: self.request.purpose.clone(),
            model: self.request.model.clone(),
            usage,
            finish_reason: response.map(|response| response.finish_reason.name().to_owned()),
            text: response.map(|response| response.text.clone()).unwrap_or_default(),
            tool_use: response.map(|response| response.tool_use.clone()).unwrap_or_default(),
            error,
            duration_ms: self.run.since(self.began),
        })
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        // Whole values are written in one statement each: a panic elsewhere cannot leave half of one.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Call<'_> {
    fn usage(&self, so_far: Usage) {
        let mut total = so_far;
        {
            let mut spent = self.spent();
            spent.current = so_far;
            total += spent.failed;
        }
        self.run.progress(&self.request.purpose, total);
    }

    fn retry(&self, retry: &Retry) {
        let recorded = self.run.emit(&RunEvent::LlmRetry {
            purpose: self.request.purpose.clone(),
            retry: retry.number,
            delay_ms: millis(retry.delay),
            error: retry.error.to_string(),
        });
        let mut spent = self.spent();
        let current = std::mem::take(&mut spent.current);
        spent.failed += current;
        if let Err(stop) = recorded {
            spent.unrecorded.get_or_insert(stop);
        }
    }
}

impl Drop for Call<'_> {
    /// A call that is dropped in the middle (a signal, the run's time) was paid for as well.
    fn drop(&mut self) {
        if !self.spent().settled {
            // The run is being stopped already; a record that breaks now is met again when it settles.
            let _ = self.record(None, Some("abandoned before it was answered".to_owned()));
        }
    }
}
