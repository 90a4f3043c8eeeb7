//! Owns the one HTTP POST: JSON out, a bounded body back, and transport faults by what to do about them.
//!
//! It knows no vendor, and it refuses to follow redirects: a key is for the host that it was given for.

use std::error::Error as StdError;
use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Url, redirect};
use serde_json::Value;

use super::answer::Answer;
use crate::error::Error;
use crate::provider::ProviderError;
use crate::text;

/// The largest answer that is read, in bytes.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may be silent; models think before the first byte.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// A URL that takes JSON, with the client that reaches it.
pub(super) struct Endpoint {
    url: Url,
    client: OnceLock<Client>,
}

impl Endpoint {
    /// Returns the endpoint at `path` below a base URL; a base that already ends in the first part of `path` is as good.
    pub(super) fn below(base: &str, path: [&str; 2]) -> Result<Self, Error> {
        let unusable = |why: &str| {
            // What was typed may hold a password.
            let name = if base.contains('@') { String::new() } else { format!(" `{base}`") };
            Error::usage(format!("the base URL{name} cannot be used: {why}"))
                .hint("write it like `https://api.example.com`")
        };
        let mut url = Url::parse(base.trim()).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("it has to begin with `https://` or `http://`"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(unusable("it may not have a query or a fragment"));
        }
        let parts: Vec<&str> = url.path().split('/').filter(|part| !part.is_empty()).collect();
        let kept = parts.strip_suffix(&[path[0]]).unwrap_or(&parts);
        let whole = [kept, &path].concat().join("/");
        url.set_path(&whole);
        Ok(Self { url, client: OnceLock::new() })
    }

    /// Posts `body` and reads the whole answer, whatever its status.
    pub(super) async fn post(&self, headers: HeaderMap, body: &Value) -> Result<Answer, ProviderError> {
        let request = self.client()?.post(self.url.clone()).headers(headers).json(body);
        let mut response = request.send().await.map_err(|error| self.unanswered(&error))?;
        let status = response.status();
        let headers = std::mem::take(response.headers_mut());
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > MAX_BODY => {
                    let limit = text::bytes(MAX_BODY as u64);
                    return Err(ProviderError::Invalid(format!(
                        "the answer of `{self}` is larger than {limit}"
                    )));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(Answer { url: self.to_string(), status, headers, body }),
                Err(error) => {
                    return Err(ProviderError::Overloaded(format!(
                        "the answer of `{self}` broke off after {}: {}",
                        text::bytes(body.len() as u64),
                        root_cause(&error)
                    )));
                }
            }
        }
    }

    /// Returns the client, built at the first call: reading the certificates of the system takes time.
    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("tepa/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(redirect::Policy::none());
        if is_loopback(&self.url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            ProviderError::Invalid(format!("no HTTP client can be set up here: {}", root_cause(&error)))
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    fn unanswered(&self, error: &reqwest::Error) -> ProviderError {
        if error.is_timeout() && !error.is_connect() {
            let silence = READ_TIMEOUT.as_secs();
            return ProviderError::Overloaded(format!("`{self}` sent nothing for {silence} s"));
        }
        ProviderError::Unreachable(format!("cannot reach `{self}`: {}", root_cause(error)))
    }
}

/// Shows the URL without what may be secret in it.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.url))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
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

    fn url(base: &str) -> String {
        Endpoint::below(base, ["v1", "messages"]).unwrap().to_string()
    }

    #[test]
    fn a_base_may_end_in_a_slash_or_the_version() {
        assert_eq!(url("https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("https://api.anthropic.com/"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("https://api.anthropic.com/v1/"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url(" http://gate:8080/claude "), "http://gate:8080/claude/v1/messages");
        assert_eq!(url("http://[::1]:1/v1"), "http://[::1]:1/v1/messages");
    }

    #[test]
    fn an_unusable_base_is_a_usage_error_without_its_password() {
        for base in ["", "api.anthropic.com", "ftp://host", "https://", "https://host?x=1", "mailto:me@host"]
        {
            let error = Endpoint::below(base, ["v1", "messages"]).unwrap_err();
            assert!(matches!(&error, Error::Usage(message) if message.hint.is_some()), "{base}: {error:?}");
        }
        let error = Endpoint::below("ftp://me:hunter2@host", ["v1", "messages"]).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }

    #[test]
    fn credentials_in_the_url_are_not_shown() {
        let endpoint = Endpoint::below("https://me:hunter2@host", ["v1", "messages"]).unwrap();
        assert_eq!(format!("{endpoint} {endpoint:?}"), {
            let url = "https://host/v1/messages";
            format!("{url} Endpoint({url})")
        });
    }

    #[test]
    fn loopback_is_recognized() {
        for base in ["http://localhost:1", "http://127.0.0.2", "http://[::1]"] {
            assert!(is_loopback(&Url::parse(base).unwrap()), "{base}");
        }
        assert!(!is_loopback(&Url::parse("http://128.0.0.1").unwrap()));
    }
}
