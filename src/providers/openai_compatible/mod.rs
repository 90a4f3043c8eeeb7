//! Owns how Chat Completions is spoken to the servers that have taken it over: Ollama, llama.cpp, vLLM, LM Studio, `OpenRouter`.
//!
//! It asks for what all of them understand, and refuses to be strict about what they leave out.

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

/// The variable that holds the key, where a server wants one.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Returns the provider that asks a server that speaks Chat Completions.
///
/// # Errors
/// The key or the base URL can never work.
pub fn connect(connection: Connection) -> Result<impl Provider + fmt::Debug + use<>, Error> {
    Vendor::connect(OpenAiCompatible, connection)
}

/// Chat Completions.
pub(super) struct OpenAiCompatible;

impl Dialect for OpenAiCompatible {
    fn name(&self) -> &'static str {
        "openai-compatible"
    }

    fn key_variable(&self) -> &'static str {
        KEY_VARIABLE
    }

    fn target(&self, _: &Request, _: Form) -> Target {
        Target { version: "v1", path: "chat/completions".to_owned(), query: None }
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
        for name in ["text", "cut", "tool_use", "tool_written_down"] {
            pairs::check(&OpenAiCompatible, name, "qwen3:8b", None);
        }
        let schema = json!({"type": "object", "required": ["verdict"], "properties": {
            "verdict": {"enum": ["pass", "fail"]}, "feedback": {"type": "string", "minLength": 1},
        }});
        pairs::check(&OpenAiCompatible, "structured", "qwen3:8b", Some(schema));
    }
}
