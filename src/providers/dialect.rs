//! Owns the contract of a vendor's dialect: how a request is put and an answer is read, as pure functions apart from any connection.
//!
//! A stream is folded into the same JSON that a whole answer has, so that there is one reading of each vendor; what is not whole is refused.

use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::answer::Answer;
use super::sse;
use crate::outcome::Usage;
use crate::provider::{ProviderError, Request, Response};

/// What an endpoint names when it does not know structured output, whatever its API.
const STRUCTURE: [&str; 9] = [
    "output_config",
    "output_format",
    "response_format",
    "responseformat",
    "json_schema",
    "jsonschema",
    "response_schema",
    "responseschema",
    "structured output",
];

/// In which form an answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// As a stream of events instead of one body.
    pub(super) stream: bool,
    /// With the API's own structured output, where the request has a schema.
    pub(super) structured: bool,
}

/// Where a request goes, below the base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The first part of the path, such as `v1`; a base URL may end in it already.
    pub(super) version: &'static str,
    /// The rest of the path, such as `messages`.
    pub(super) path: String,
    /// The query, such as `alt=sse`.
    pub(super) query: Option<&'static str>,
}

/// How one vendor's API is spoken.
pub(super) trait Dialect: Send + Sync + 'static {
    /// Returns the provider's name on the command line.
    fn name(&self) -> &'static str;

    /// Returns the variable that holds the key, for messages.
    fn key_variable(&self) -> &'static str;

    /// Returns where `request` goes.
    fn target(&self, request: &Request, form: Form) -> Target;

    /// Returns the headers that carry the key and the version of the API.
    fn headers(&self, key: Option<&HeaderValue>) -> HeaderMap;

    /// Returns the body that asks for `request`.
    fn encode(&self, request: &Request, form: Form) -> Value;

    /// Returns what a whole answer says, whatever its status.
    fn decode(&self, request: &Request, answer: &Answer) -> Result<Response, ProviderError>;

    /// Returns the tokens that a whole answer of success cost, also where [`Self::decode`] refuses it; nothing where it does not say.
    fn spent(&self, _: &Answer) -> Usage {
        Usage::default()
    }

    /// Returns whether the message of a 400 or 422 speaks of the structured output that was asked for.
    fn refuses_structure(&self, error_message: &str) -> bool {
        let words = error_message.to_lowercase();
        STRUCTURE.iter().any(|sign| words.contains(sign))
    }

    /// Returns an empty collection for the events of one stream.
    fn collect(&self) -> Box<dyn Collect>;
}

/// Collects the events of one stream into the JSON of a whole answer.
pub(super) trait Collect: Send {
    /// Takes one event; returns the tokens of the call as far as they are known.
    ///
    /// # Errors
    /// The event reports an error, or it cannot be read.
    fn take(&mut self, event: &sse::Event) -> Result<Usage, ProviderError>;

    /// Returns the body that a whole answer would have had, or `None` when the stream ended before it was whole.
    fn whole(self: Box<Self>) -> Option<Value>;
}
