//! Owns the provider behind every vendor's API: the key, the request on its way out, the answer in one piece or as a stream.
//!
//! How a vendor speaks is its dialect's; this module refuses a key or URL that can never work when it is connected, and an answer that is
//! not whole. Nothing is sent and no client is built before the first call.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};

use super::answer::Answer;
use super::dialect::{Dialect, Form};
use super::http::{Endpoint, Incoming};
use super::sse;
use crate::error::Error;
use crate::outcome::Usage;
use crate::provider::{Provider, ProviderError, Request, Response, Watch};

/// How long a stream may be silent unless something else is said.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How many times as long as a stream an answer in one piece may be silent: it says nothing until all of it is there.
const WHOLE: u32 = 5;

/// How to reach a vendor.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The key, where one is needed.
    pub key: Option<SecretString>,
    /// Where requests go, with or without a closing slash or the version of the API.
    pub base_url: String,
    /// Whether answers are asked for as streams.
    pub stream: bool,
    /// How long a stream may be silent, such as [`IDLE_TIMEOUT`].
    pub idle_timeout: Duration,
    /// Whether `http://` may lead to another machine.
    pub allow_plain_http: bool,
}

/// A vendor's API.
pub(super) struct Vendor<D> {
    dialect: D,
    key: Option<HeaderValue>,
    endpoint: Endpoint,
    stream: bool,
    /// Whether the endpoint has refused structured output.
    unstructured: AtomicBool,
}

impl<D: Dialect> Vendor<D> {
    /// Returns a provider that speaks `dialect`.
    pub(super) fn connect(dialect: D, connection: Connection) -> Result<Self, Error> {
        let Connection { key, base_url, stream, idle_timeout, allow_plain_http } = connection;
        let key = key.map(|key| header(&key, dialect.key_variable())).transpose()?;
        let silence = if stream { idle_timeout } else { idle_timeout.saturating_mul(WHOLE) };
        let endpoint = Endpoint::below(&base_url, silence, allow_plain_http)?;
        Ok(Self { dialect, key, endpoint, stream, unstructured: AtomicBool::new(false) })
    }

    async fn answer(&self, request: &Request, watch: &dyn Watch) -> Result<Response, ProviderError> {
        let structured = request.schema.is_some() && !self.unstructured.load(Ordering::Relaxed);
        let form = Form { stream: self.stream, structured };
        let mut answer = self.ask(request, form, watch).await?;
        if structured && self.refuses_structure(&answer) {
            answer = self.ask(request, Form { structured: false, ..form }, watch).await?;
            if answer.status.is_success() {
                self.unstructured.store(true, Ordering::Relaxed);
            }
        }
        let response = self.dialect.decode(request, &answer);
        if response.is_err() && answer.status.is_success() {
            tell(watch, self.dialect.spent(&answer));
        }
        response
    }

    async fn ask(&self, request: &Request, form: Form, watch: &dyn Watch) -> Result<Answer, ProviderError> {
        let url = self.endpoint.url(&self.dialect.target(request, form));
        let headers = self.dialect.headers(self.key.as_ref());
        let incoming = self.endpoint.post(url, headers, &self.dialect.encode(request, form)).await?;
        let mut answer = if incoming.is_event_stream() {
            self.follow(incoming, watch).await?
        } else {
            incoming.read().await?
        };
        if let Some(key) = &self.key {
            answer.hide(key.as_bytes());
        }
        Ok(answer)
    }

    /// Follows a stream to its end and returns the answer that it adds up to.
    async fn follow(&self, mut incoming: Incoming, watch: &dyn Watch) -> Result<Answer, ProviderError> {
        let mut decoder = sse::Decoder::default();
        let mut collected = self.dialect.collect();
        let end = loop {
            let chunk = match incoming.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break incoming.broke_off(""),
                Err(error) => break error,
            };
            decoder.push(chunk.as_ref()).map_err(|sse::TooLarge| {
                ProviderError::Invalid(format!("`{}` streams an event that is too large", incoming.url()))
            })?;
            while let Some(mut event) = decoder.take() {
                self.hide(&mut event.data);
                tell(watch, collected.take(&event)?);
            }
        };
        // How a connection ends does not matter after the vendor's own last word.
        let body = collected.whole().ok_or(end)?;
        Ok(incoming.with_body(body.to_string().into_bytes()))
    }

    fn hide(&self, text: &mut String) {
        let key = self.key.as_ref().and_then(|key| key.to_str().ok());
        if let Some(key) = key.filter(|key| text.contains(key)) {
            *text = text.replace(key, "***");
        }
    }

    fn refuses_structure(&self, answer: &Answer) -> bool {
        matches!(answer.status.as_u16(), 400 | 422)
            && self.dialect.refuses_structure(&String::from_utf8_lossy(&answer.body))
    }
}

fn tell(watch: &dyn Watch, usage: Usage) {
    if usage != Usage::default() {
        watch.usage(usage);
    }
}

/// Returns a key as a header carries it, marked as sensitive.
pub(super) fn header(key: &SecretString, variable: &str) -> Result<HeaderValue, Error> {
    let key = key.expose_secret();
    if key.is_empty() {
        return Err(Error::usage(format!("the key in `{variable}` is empty")));
    }
    // A header would carry other letters too, but such a key was mangled on its way here.
    let header = HeaderValue::from_str(key).ok().filter(|_| key.bytes().all(|byte| byte.is_ascii_graphic()));
    let mut header = header.ok_or_else(|| {
        Error::usage(format!("the key in `{variable}` has characters that no key has"))
            .hint("look for spaces, line breaks or typographic quotes in it")
    })?;
    header.set_sensitive(true);
    Ok(header)
}

impl<D: Dialect> Provider for Vendor<D> {
    fn name(&self) -> &'static str {
        self.dialect.name()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        self.answer(request, watch).boxed()
    }
}

/// Shows what is asked and where, never the key.
impl<D: Dialect> fmt::Debug for Vendor<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vendor")
            .field("name", &self.dialect.name())
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::anthropic::Anthropic;

    fn connect(key: &str, base_url: &str) -> Result<Vendor<Anthropic>, Error> {
        let connection = Connection {
            key: Some(key.into()),
            base_url: base_url.to_owned(),
            stream: true,
            idle_timeout: IDLE_TIMEOUT,
            allow_plain_http: false,
        };
        Vendor::connect(Anthropic, connection)
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
        for key in ["", "sk-hunter2\n", "sk hunter2", "sk-hunter2“"] {
            let error = connect(key, "https://host").unwrap_err();
            assert!(matches!(error, Error::Usage(_)));
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("ANTHROPIC_API_KEY") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn the_key_is_not_in_the_debug_output() {
        let provider = connect("sk-hunter2", "https://me:hunter2@host/v1").unwrap();
        assert!(!format!("{provider:?}").contains("hunter2"), "{provider:?}");
    }
}
