//! Owns the one HTTP POST: JSON out, a bounded body back, and transport faults by what to do about them.
//!
//! It knows no vendor. It refuses to follow redirects, because a key is for the host that it was given for, and to send one in the clear
//! to another machine unless that is allowed.

use std::error::Error as StdError;
use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde_json::Value;

use super::answer::Answer;
use super::dialect::Target;
use crate::error::Error;
use crate::provider::ProviderError;
use crate::text;

/// The largest answer that is read, in bytes: in one piece, and as the sum of a stream.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A base URL below which JSON is taken, with the client that reaches it.
pub(super) struct Endpoint {
    base: Url,
    /// How long the server may be silent.
    silence: Duration,
    client: OnceLock<Client>,
}

impl Endpoint {
    /// Returns the endpoint below a base URL.
    pub(super) fn below(base: &str, silence: Duration, allow_plain_http: bool) -> Result<Self, Error> {
        // What was typed may hold a password.
        let name = if base.contains('@') { String::new() } else { format!(" `{base}`") };
        let unusable = |why: &str| {
            Error::usage(format!("the base URL{name} cannot be used: {why}"))
                .hint("write it like `https://api.example.com`")
        };
        let url = Url::parse(base.trim()).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("it has to begin with `https://` or `http://`"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(unusable("it may not have a query or a fragment"));
        }
        if url.scheme() == "http" && !allow_plain_http && !is_loopback(&url) {
            return Err(Error::usage(format!(
                "the base URL{name} would send the key and every prompt unencrypted to another machine"
            ))
            .hint(
                "begin it with `https://`, or set `calls.allowPlainHttp` where the network can be trusted",
            ));
        }
        Ok(Self { base: url, silence, client: OnceLock::new() })
    }

    /// Returns the URL of a target; a base that already ends in the target's version is as good as one that does not.
    pub(super) fn url(&self, target: &Target) -> Url {
        let parts: Vec<&str> = self.base.path().split('/').filter(|part| !part.is_empty()).collect();
        let version = Some(target.version).filter(|version| !version.is_empty());
        let kept = version.and_then(|version| parts.strip_suffix(&[version])).unwrap_or(&parts);
        let whole: Vec<&str> = kept.iter().copied().chain(version).chain([target.path.as_str()]).collect();
        let mut url = self.base.clone();
        url.set_path(&whole.join("/"));
        url.set_query(target.query);
        url
    }

    /// Posts `body` and returns the answer as soon as it begins, whatever its status.
    pub(super) async fn post(
        &self,
        url: Url,
        headers: HeaderMap,
        body: &Value,
    ) -> Result<Incoming, ProviderError> {
        let shown = shown(&url);
        let response = self.client()?.post(url).headers(headers).json(body).send().await;
        match response {
            Ok(response) => Ok(Incoming { url: shown, silence: self.silence, received: 0, response }),
            Err(error) if error.is_timeout() && !error.is_connect() => Err(silent(&shown, self.silence)),
            Err(error) => {
                Err(ProviderError::Unreachable(format!("cannot reach `{shown}`: {}", root_cause(&error))))
            }
        }
    }

    /// Gets `url` and returns the status of the answer, whose body is not read.
    pub(super) async fn get(&self, url: Url, headers: HeaderMap) -> Result<StatusCode, ProviderError> {
        let shown = shown(&url);
        match self.client()?.get(url).headers(headers).send().await {
            Ok(response) => Ok(response.status()),
            Err(error) if error.is_timeout() && !error.is_connect() => Err(silent(&shown, self.silence)),
            Err(error) => {
                Err(ProviderError::Unreachable(format!("cannot reach `{shown}`: {}", root_cause(&error))))
            }
        }
    }

    /// Returns the client, built at the first call, since reading the certificates of the system takes time.
    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("tepa/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(self.silence)
            .redirect(redirect::Policy::none());
        if is_loopback(&self.base) {
            builder = builder.no_proxy();
            if self.base.scheme() == "http" {
                // Nobody is there to be believed: no redirect is followed, and no proxy stands in between.
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder.build().map_err(|error| {
            ProviderError::Invalid(format!("no HTTP client can be set up here: {}", root_cause(&error)))
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Shows the URL without what may be secret in it.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", shown(&self.base))
    }
}

/// An answer on its way.
pub(super) struct Incoming {
    url: String,
    silence: Duration,
    received: usize,
    response: Response,
}

impl Incoming {
    /// Returns whether it is the stream of events that a success was asked to be.
    pub(super) fn is_event_stream(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        self.response.status().is_success() && kind.trim_start().starts_with("text/event-stream")
    }

    /// Returns the next bytes, or `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ProviderError> {
        let chunk = match self.response.chunk().await {
            Ok(chunk) => chunk,
            Err(error) if error.is_timeout() => return Err(silent(&self.url, self.silence)),
            Err(error) => return Err(self.broke_off(&format!(": {}", root_cause(&error)))),
        };
        if let Some(chunk) = &chunk {
            self.received += chunk.len();
        }
        if self.received > MAX_BODY {
            let limit = text::bytes(MAX_BODY as u64);
            return Err(ProviderError::Invalid(format!(
                "the answer of `{}` is larger than {limit}",
                self.url
            )));
        }
        Ok(chunk)
    }

    /// Returns the error of an answer that ends before it is whole.
    pub(super) fn broke_off(&self, why: &str) -> ProviderError {
        let received = text::bytes(self.received as u64);
        ProviderError::Overloaded(format!("the answer of `{}` broke off after {received}{why}", self.url))
    }

    /// Returns where it comes from, without what may be secret.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Reads it to its end.
    pub(super) async fn read(mut self) -> Result<Answer, ProviderError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(chunk.as_ref());
        }
        Ok(self.with_body(body))
    }

    /// Returns the whole answer, of which `body` was made.
    pub(super) fn with_body(mut self, body: Vec<u8>) -> Answer {
        let headers = std::mem::take(self.response.headers_mut());
        Answer { url: self.url, status: self.response.status(), headers, body }
    }
}

fn silent(url: &str, silence: Duration) -> ProviderError {
    let silence = text::duration(u64::try_from(silence.as_millis()).unwrap_or(u64::MAX));
    ProviderError::Overloaded(format!("`{url}` sent nothing for {silence}"))
}

/// Returns a URL without user, password, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns the innermost cause: the layers above it only say that something below them failed.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if cause.is::<reqwest::Error>() { "the connection was lost".to_owned() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(base: &str) -> Result<Endpoint, Error> {
        Endpoint::below(base, Duration::from_secs(1), false)
    }

    fn url(base: &str) -> String {
        let target = Target { version: "v1", path: "messages".to_owned(), query: None };
        shown(&at(base).unwrap().url(&target))
    }

    #[test]
    fn a_base_may_end_in_a_slash_or_the_version() {
        assert_eq!(url("https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("https://api.anthropic.com/"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("https://api.anthropic.com/v1/"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url(" https://gate:8080/claude "), "https://gate:8080/claude/v1/messages");
        assert_eq!(url("http://[::1]:1/v1"), "http://[::1]:1/v1/messages");
    }

    #[test]
    fn a_target_may_have_no_version_and_a_query() {
        let endpoint = at("https://host/api/v4").unwrap();
        let target = Target { version: "", path: "chat?/a:b".to_owned(), query: Some("alt=sse") };
        assert_eq!(endpoint.url(&target).as_str(), "https://host/api/v4/chat%3F/a:b?alt=sse");
    }

    #[test]
    fn an_unusable_base_is_a_usage_error_without_its_password() {
        for base in ["", "api.anthropic.com", "ftp://host", "https://", "https://host?x=1", "mailto:me@host"]
        {
            let error = at(base).unwrap_err();
            assert!(matches!(&error, Error::Usage(message) if message.hint.is_some()), "{base}: {error:?}");
        }
        for base in ["ftp://me:hunter2@host", "http://me:hunter2@host"] {
            let error = at(base).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn plain_http_stays_on_this_machine_unless_it_is_allowed() {
        at("http://localhost:1").unwrap();
        Endpoint::below("http://host", Duration::from_secs(1), true).unwrap();
        let error = at("http://host").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the base URL `http://host` would send the key and every prompt unencrypted to another machine"
        );
        assert!(matches!(error, Error::Usage(message) if message.hint.is_some()));
    }

    #[test]
    fn credentials_in_the_url_are_not_shown() {
        let endpoint = at("https://me:hunter2@host").unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint(https://host/)");
        assert_eq!(url("https://me:hunter2@host"), "https://host/v1/messages");
    }

    #[test]
    fn loopback_is_recognized() {
        for base in ["http://localhost:1", "http://127.0.0.2", "http://[::1]"] {
            assert!(is_loopback(&Url::parse(base).unwrap()), "{base}");
        }
        assert!(!is_loopback(&Url::parse("http://128.0.0.1").unwrap()));
    }
}
