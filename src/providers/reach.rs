//! Owns the question whether a vendor answers and takes the key: one request for its list of models, which costs nothing.

use std::time::Duration;

use super::dialect::{Dialect, Target};
use super::http::Endpoint;
use super::vendor::{Connection, header};
use super::{anthropic, gemini, openai, openai_compatible};
use crate::config::ProviderKind;
use crate::error::Error;

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// Returns the HTTP status of the answer.
///
/// # Errors
/// The key or the address can never work, or nothing answers.
pub async fn reach(kind: ProviderKind, connection: Connection) -> Result<u16, Error> {
    let (dialect, version): (Box<dyn Dialect>, _) = match kind {
        ProviderKind::Anthropic => (Box::new(anthropic::Anthropic), "v1"),
        ProviderKind::OpenAi => (Box::new(openai::OpenAi), "v1"),
        ProviderKind::Gemini => (Box::new(gemini::Gemini), "v1beta"),
        ProviderKind::OpenAiCompatible => (Box::new(openai_compatible::OpenAiCompatible), "v1"),
        ProviderKind::Replay => return Err(Error::usage("replies from a file have no address")),
    };
    let Connection { key, base_url, allow_plain_http, .. } = connection;
    let key = key.map(|key| header(&key, dialect.key_variable())).transpose()?;
    let endpoint = Endpoint::below(&base_url, SILENCE, allow_plain_http)?;
    let url = endpoint.url(&Target { version, path: "models".to_owned(), query: None });
    let answered = endpoint.get(url, dialect.headers(key.as_ref())).await;
    answered.map(|status| status.as_u16()).map_err(|error| {
        Error::broken(error.to_string()).hint("look at the network, the proxy and the address")
    })
}
