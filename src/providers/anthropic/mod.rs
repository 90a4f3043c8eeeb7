//! Owns the provider that asks Anthropic's Messages API: its URL, its key and its headers.
//!
//! It refuses a key or URL that can never work when it is connected; nothing is sent and no client is built before the first call.

mod wire;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use super::http::Endpoint;
use crate::error::Error;
use crate::provider::{Provider, ProviderError, Request, Response, Watch};

/// The variable that holds the key.
const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// Where requests go unless a base URL says otherwise.
const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API that [`wire`] speaks.
const API_VERSION: &str = "2023-06-01";

/// Anthropic's Messages API.
#[derive(Debug)]
pub struct Anthropic {
    // Marked as sensitive, which keeps it out of `Debug`.
    key: HeaderValue,
    endpoint: Endpoint,
}

impl Anthropic {
    /// Returns a provider that asks at `base_url`, with or without a closing slash or `/v1`.
    #[expect(clippy::needless_pass_by_value, reason = "the caller has no more use for the key")]
    pub fn connect(key: SecretString, base_url: Option<&str>) -> Result<Self, Error> {
        let key = key.expose_secret();
        if key.is_empty() {
            return Err(Error::usage(format!("the key in `{KEY_VARIABLE}` is empty")));
        }
        // A header would carry other letters too, but such a key was mangled on its way here.
        let header =
            HeaderValue::from_str(key).ok().filter(|_| key.bytes().all(|byte| byte.is_ascii_graphic()));
        let mut key = header.ok_or_else(|| {
            Error::usage(format!("the key in `{KEY_VARIABLE}` has characters that no key has"))
                .hint("look for spaces, line breaks or typographic quotes in it")
        })?;
        key.set_sensitive(true);
        let endpoint = Endpoint::below(base_url.unwrap_or(BASE_URL), ["v1", "messages"])?;
        Ok(Self { key, endpoint })
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let headers = HeaderMap::from_iter([
            (HeaderName::from_static("x-api-key"), self.key.clone()),
            (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(API_VERSION)),
        ]);
        async move {
            let mut answer = self.endpoint.post(headers, &wire::encode(request)).await?;
            answer.hide(self.key.as_bytes());
            wire::decode(request, &answer)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
        for key in ["", "sk-hunter2\n", "sk hunter2", "sk-hunter2“"] {
            let error = Anthropic::connect(key.into(), None).unwrap_err();
            assert!(matches!(error, Error::Usage(_)));
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("ANTHROPIC_API_KEY") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn the_key_is_not_in_the_debug_output() {
        let provider = Anthropic::connect("sk-hunter2".into(), Some("http://me:hunter2@host/v1")).unwrap();
        assert!(!format!("{provider:?}").contains("hunter2"), "{provider:?}");
    }
}
