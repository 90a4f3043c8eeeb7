//! Owns the dialect of Anthropic's Messages API: where requests go, and the headers that carry the key and the version.
//!
//! It refuses to hold a connection; what is sent and read lies in the modules below, pure functions all of them.

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
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// Where requests go unless something else is said.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API that is spoken here.
const API_VERSION: &str = "2023-06-01";

/// Returns the provider that asks Anthropic's Messages API.
///
/// # Errors
/// The key or the base URL can never work.
pub fn connect(connection: Connection) -> Result<impl Provider + fmt::Debug + use<>, Error> {
    Vendor::connect(Anthropic, connection)
}

/// Anthropic's Messages API.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn key_variable(&self) -> &'static str {
        KEY_VARIABLE
    }

    fn target(&self, _: &Request, _: Form) -> Target {
        Target { version: "v1", path: "messages".to_owned(), query: None }
    }

    fn headers(&self, key: Option<&HeaderValue>) -> HeaderMap {
        let version = HeaderValue::from_static(API_VERSION);
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("anthropic-version"), version)]);
        if let Some(key) = key {
            headers.insert(HeaderName::from_static("x-api-key"), key.clone());
        }
        headers
    }

    fn encode(&self, request: &Request, form: Form) -> Value {
        wire::encode(request, form)
    }

    fn decode(&self, request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
        wire::decode(request, answer)
    }

    fn spent(&self, answer: &Answer) -> Usage {
        wire::spent(answer)
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::<stream::Stream>::default()
    }
}
