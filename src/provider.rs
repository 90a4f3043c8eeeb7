//! Owns the contract of a model provider: one request in, one whole answer or one error out.
//!
//! Errors are named by what to do about them. Who asks, and for what, travels with the request ([`Purpose`]), so that a provider which
//! replays or records can address a reply independent of the order of calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Purpose;
pub use crate::event::ToolUse;
use crate::outcome::Usage;
use crate::text;
use crate::tool::ToolSchema;

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The pipeline.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Speaker,
    /// The text.
    pub content: String,
    /// How many bytes at the start of the text are the same in other calls of the run: what a cache can keep.
    #[serde(skip)]
    pub stable: usize,
}

impl Message {
    /// Returns a message of the pipeline.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Speaker::User, content: content.into(), stable: 0 }
    }

    /// Returns a message of the pipeline whose first part comes again in other calls of the run.
    pub fn user_with_stable(stable: &str, rest: &str) -> Self {
        Self { role: Speaker::User, content: format!("{stable}{rest}"), stable: stable.len() }
    }

    /// Returns a message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Speaker::Assistant, content: content.into(), stable: 0 }
    }
}

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What it is for.
    pub purpose: Purpose,
    /// The model asked.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation, ending with a message of the user.
    pub messages: Vec<Message>,
    /// The tool that the answer has to call; without one the answer is text.
    pub tool: Option<ToolSchema>,
    /// The JSON Schema of the answer, where the answer is to be JSON; what comes back is checked by who asked, whatever was promised.
    pub schema: Option<Arc<Value>>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
}

impl Request {
    /// Returns the tokens of the system prompt and the conversation, by a rule of thumb.
    pub fn estimated_tokens(&self) -> u64 {
        let said = self.messages.iter().map(|message| message.content.chars().count());
        text::tokens_in(said.sum::<usize>() + self.system.chars().count())
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    EndTurn,
    /// The output limit.
    MaxTokens,
    /// A stop sequence.
    StopSequence,
    /// It calls a tool.
    ToolUse,
}

impl FinishReason {
    /// Returns the reason with a name on the wire.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::EndTurn, Self::MaxTokens, Self::StopSequence, Self::ToolUse]
            .into_iter()
            .find(|reason| reason.name() == name)
    }

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The model's words; may be empty beside a tool call.
    pub text: String,
    /// The tool calls it asks for.
    pub tool_use: Vec<ToolUse>,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// Tokens.
    pub usage: Usage,
}

/// Why a call gave no answer, by what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Wait, then try again.
    #[error("{message}")]
    RateLimited {
        /// What the provider said.
        message: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// Try again.
    #[error("{0}")]
    Overloaded(String),
    /// Check the network and the URL; try again.
    #[error("{0}")]
    Unreachable(String),
    /// Give a valid key.
    #[error("{0}")]
    Unauthorized(String),
    /// Send less.
    #[error("{0}")]
    ContextTooLong(String),
    /// The model will not answer this.
    #[error("{0}")]
    Refused(String),
    /// Name a model that exists.
    #[error("{0}")]
    UnknownModel(String),
    /// The request or the answer makes no sense: a broken endpoint, an answer that cannot be read.
    #[error("{0}")]
    Invalid(String),
    /// The script of a replay does not answer this call: the run cannot mean anything any more.
    #[error("{0}")]
    Unscripted(String),
}

impl ProviderError {
    /// Returns whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded(_) | Self::Unreachable(_))
    }
}

/// A try that failed and is followed by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The try that failed, from 1.
    pub number: u32,
    /// Until the next try.
    pub delay: Duration,
    /// Why it failed.
    pub error: ProviderError,
}

/// Is told what becomes known of a call while it is under way.
pub trait Watch: Send + Sync {
    /// Takes the tokens of the try that is under way, as far as they are known; each call replaces the one before.
    fn usage(&self, so_far: Usage);

    /// Takes the end of a failed try; what [`Self::usage`] said of it stays charged, and the next one starts at zero.
    fn retry(&self, retry: &Retry);
}

/// Nobody watches.
impl Watch for () {
    fn usage(&self, _: Usage) {}

    fn retry(&self, _: &Retry) {}
}

/// Something that answers requests.
pub trait Provider: Send + Sync {
    /// Returns the name as the command line knows it.
    fn name(&self) -> &str;

    /// Returns how many tokens a request is, as far as that can be told before it is sent.
    fn reads(&self, request: &Request) -> u64 {
        request.estimated_tokens()
    }

    /// Answers one request. Dropping the future abandons the call.
    ///
    /// An error may come after tokens were spent: `watch` is told of them.
    fn complete<'a>(
        &'a self,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>>;

    /// Takes note that a call with this address was answered before the run was resumed.
    fn recall(&self, _: &Purpose) {}

    /// Says what is wrong now that no more requests will come, such as a scripted reply that nobody asked for.
    fn finish(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
