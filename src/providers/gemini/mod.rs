//! Owns the dialect of Google's Gemini API: where a request goes, its key, and the parts that put and read it.
//!
//! A model's name never decides more than one segment of the path, whatever it is made of.

mod failure;
mod schema;
mod stream;
mod wire;

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::answer::Answer;
use super::dialect::{Collect, Dialect, Form, Target};
use super::vendor::{Connection, Vendor};
use crate::error::Error;
use crate::outcome::Usage;
use crate::provider::{Provider, ProviderError, Request, Response};

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "GEMINI_API_KEY";

/// Where requests go unless something else is said.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// Returns the provider that asks the Gemini API.
///
/// # Errors
/// The key or the base URL can never work.
pub fn connect(connection: Connection) -> Result<impl Provider + fmt::Debug + use<>, Error> {
    Vendor::connect(Gemini, connection)
}

/// The Gemini API.
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn key_variable(&self) -> &'static str {
        KEY_VARIABLE
    }

    fn target(&self, request: &Request, form: Form) -> Target {
        let model = segment(request.model.strip_prefix("models/").unwrap_or(&request.model));
        let (method, query) =
            if form.stream { ("streamGenerateContent", Some("alt=sse")) } else { ("generateContent", None) };
        Target { version: "v1beta", path: format!("models/{model}:{method}"), query }
    }

    fn headers(&self, key: Option<&HeaderValue>) -> HeaderMap {
        key.map(|key| (HeaderName::from_static("x-goog-api-key"), key.clone())).into_iter().collect()
    }

    fn encode(&self, request: &Request, form: Form) -> Value {
        wire::encode(request, form)
    }

    fn decode(&self, request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
        if answer.status.is_success() {
            wire::decode(request, answer)
        } else {
            Err(failure::of_answer(request, answer))
        }
    }

    fn spent(&self, answer: &Answer) -> Usage {
        wire::spent(answer)
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::<stream::Collected>::default()
    }
}

/// Returns `name` as one segment of a path.
fn segment(name: &str) -> String {
    name.bytes()
        .map(|byte| {
            let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::pairs;

    pub(super) const MODEL: &str = "gemini-3.5-flash";

    #[test]
    fn recorded_pairs_are_sent_and_read_as_written_down() {
        for name in ["text", "tool_use"] {
            pairs::check(&Gemini, name, MODEL, None);
        }
        let schema = json!({"type": "object", "properties": {"verdict": {"type": "string"}},
            "required": ["verdict"], "additionalProperties": false});
        pairs::check(&Gemini, "structured", MODEL, Some(schema));
    }

    #[test]
    fn the_path_names_the_model_and_nothing_else() {
        let path = |model: &str, stream| {
            let request = pairs::request(model, false);
            Gemini.target(&request, Form { stream, structured: false })
        };
        for model in ["gemini-3.5-flash", "models/gemini-3.5-flash"] {
            let target = path(model, false);
            assert_eq!(target.path, "models/gemini-3.5-flash:generateContent");
            assert_eq!((target.version, target.query), ("v1beta", None));
            let target = path(model, true);
            assert_eq!(target.path, "models/gemini-3.5-flash:streamGenerateContent");
            assert_eq!(target.query, Some("alt=sse"));
        }
        assert_eq!(path("", false).path, "models/:generateContent");
        assert_eq!(
            path("../a?key=1#b c%é", false).path,
            "models/..%2Fa%3Fkey%3D1%23b%20c%25%C3%A9:generateContent"
        );
    }

    #[test]
    fn the_key_is_in_its_header_and_nowhere_else() {
        assert!(Gemini.headers(None).is_empty());
        let headers = Gemini.headers(Some(&HeaderValue::from_static("AIza-hunter2")));
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-goog-api-key"], "AIza-hunter2");
    }
}
