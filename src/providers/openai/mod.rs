//! Owns how OpenAI's Responses API is spoken.
//!
//! It refuses to have answers stored there, and leaves tool schemas as they are: strict mode knows no optional parameters.

mod stream;
mod wire;

use std::fmt;

use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::answer::Answer;
use super::bearer;
use super::dialect::{Collect, Dialect, Form, Target};
use super::tokens;
use super::vendor::{Connection, Vendor};
use crate::error::Error;
use crate::outcome::Usage;
use crate::provider::{Provider, ProviderError, Request, Response};

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Where requests go unless something else is said.
pub const BASE_URL: &str = "https://api.openai.com";

/// Returns the provider that asks OpenAI's Responses API.
///
/// # Errors
/// The key or the base URL can never work.
pub fn connect(connection: Connection) -> Result<impl Provider + fmt::Debug + use<>, Error> {
    Vendor::connect(OpenAi, connection)
}

/// The Responses API.
pub(super) struct OpenAi;

impl Dialect for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn key_variable(&self) -> &'static str {
        KEY_VARIABLE
    }

    fn target(&self, _: &Request, _: Form) -> Target {
        Target { version: "v1", path: "responses".to_owned(), query: None }
    }

    fn headers(&self, key: Option<&HeaderValue>) -> HeaderMap {
        bearer::headers(key)
    }

    fn encode(&self, request: &Request, form: Form) -> Value {
        wire::encode(request, form)
    }

    fn decode(&self, request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
        wire::decode(request, answer)
    }

    fn spent(&self, answer: &Answer) -> Usage {
        tokens::spent(answer)
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(stream::Stream::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::pairs;

    #[test]
    fn recorded_pairs_are_sent_and_read_as_written_down() {
        for name in ["text", "cut", "tool_use"] {
            pairs::check(&OpenAi, name, "gpt-5-mini", None);
        }
        let schema = json!({"type": "object", "required": ["verdict"], "properties": {
            "verdict": {"enum": ["pass", "fail"]}, "feedback": {"type": "string", "minLength": 1},
        }});
        pairs::check(&OpenAi, "structured", "gpt-5-mini", Some(schema));
    }
}
