//! Owns what an HTTP answer means whoever gave it: its JSON, or the error that says what to do about its status.
//!
//! It refuses to quote web pages; what a vendor says in its own error body is read by that vendor's module.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use serde::de::DeserializeOwned;

use super::http;
use crate::provider::ProviderError;
use crate::text;

/// The longest part of a plain-text error body that is quoted, in characters.
const QUOTED: usize = 200;

/// How long to wait more exactly than [`RETRY_AFTER`] can say it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// A whole HTTP answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// Where it came from, without credentials.
    pub(super) url: String,
    /// The status.
    pub(super) status: StatusCode,
    /// The headers.
    pub(super) headers: HeaderMap,
    /// The body.
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Replaces a key that the server sends back.
    pub(super) fn hide(&mut self, key: &[u8]) {
        if !key.is_empty() && self.body.windows(key.len()).any(|window| window == key) {
            let key = String::from_utf8_lossy(key);
            self.body = String::from_utf8_lossy(&self.body).replace(&*key, "***").into_bytes();
        }
    }

    /// Returns the body as JSON of the shape `T`.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        let Self { url, status, .. } = self;
        if self.body.trim_ascii().is_empty() {
            return Err(ProviderError::Overloaded(format!(
                "`{url}` answered {} with an empty body",
                status.as_u16()
            )));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            if error.is_data() {
                ProviderError::Invalid(format!("the answer of `{url}` has an unexpected shape: {error}"))
            } else if self.is_page() {
                ProviderError::Invalid(format!(
                    "`{url}` answered with a web page instead of JSON; check the base URL"
                ))
            } else if error.is_eof() {
                ProviderError::Overloaded(format!("the answer of `{url}` is cut short: {error}"))
            } else {
                let kind = self.header(CONTENT_TYPE).unwrap_or("no content type");
                ProviderError::Invalid(format!(
                    "`{url}` answered with `{kind}` that is not JSON; check the base URL"
                ))
            }
        })
    }

    /// Returns the error of a status that is no success.
    ///
    /// `said` is the vendor's own message, `key_variable` the variable that holds the key.
    pub(super) fn failure(&self, said: Option<&str>, key_variable: &str) -> ProviderError {
        let url = &self.url;
        let code = self.status.as_u16();
        let detail = self.detail(said);
        match code {
            401 => ProviderError::Unauthorized(format!(
                "`{url}` refused the key in `{key_variable}` ({code}{detail})"
            )),
            403 => ProviderError::Unauthorized(format!(
                "`{url}` does not let the key in `{key_variable}` do this ({code}{detail})"
            )),
            413 => ProviderError::ContextTooLong(format!(
                "`{url}` takes no request of this size ({code}{detail})"
            )),
            429 => ProviderError::RateLimited {
                message: format!("`{url}` limits the rate ({code}{detail})"),
                retry_after: self.retry_after(),
            },
            300..=399 => {
                let target = self.header(LOCATION).and_then(|location| Url::parse(location).ok());
                let target = target.map_or_else(String::new, |url| format!(" to `{}`", http::shown(&url)));
                ProviderError::Invalid(format!(
                    "`{url}` redirects{target} ({code}), and redirects are not followed; correct the base URL"
                ))
            }
            408 | 409 | 500.. => {
                let message = format!("`{url}` answered {}{detail}", self.reason());
                match self.retry_after() {
                    None => ProviderError::Overloaded(message),
                    retry_after => ProviderError::RateLimited { message, retry_after },
                }
            }
            _ => ProviderError::Invalid(format!("`{url}` answered {}{detail}", self.reason())),
        }
    }

    fn reason(&self) -> String {
        let code = self.status.as_u16();
        self.status.canonical_reason().map_or_else(|| code.to_string(), |reason| format!("{code} {reason}"))
    }

    fn detail(&self, said: Option<&str>) -> String {
        let body = String::from_utf8_lossy(&self.body);
        match said.map(str::trim).filter(|said| !said.is_empty()) {
            Some(said) => format!(": {said}"),
            None if body.trim().is_empty() => ", with an empty body".to_owned(),
            None if self.is_page() => ", with a web page".to_owned(),
            None => format!(": {}", text::truncate(body.trim(), QUOTED)),
        }
    }

    fn is_page(&self) -> bool {
        self.header(CONTENT_TYPE).is_some_and(|kind| kind.contains("html"))
            || self.body.trim_ascii_start().starts_with(b"<")
    }

    /// Returns how long the server asks to wait; a date counts from the server's own clock, which may differ from ours.
    fn retry_after(&self) -> Option<Duration> {
        let milliseconds = self.header(RETRY_AFTER_MS).and_then(|value| value.trim().parse::<f64>().ok());
        if let Some(wait) = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
            return Some(wait);
        }
        let value = self.header(RETRY_AFTER)?.trim();
        if let Ok(seconds) = value.parse() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let until = httpdate::parse_http_date(value).ok()?;
        let now = httpdate::parse_http_date(self.header(DATE)?).ok()?;
        Some(until.duration_since(now).unwrap_or_default())
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), reqwest::header::HeaderValue::from_static(value))
        });
        Answer {
            url: "https://host/v1".to_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers.collect(),
            body: body.as_bytes().to_vec(),
        }
    }

    fn failure(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ProviderError {
        answer(status, headers, body).failure(None, "KEY")
    }

    #[test]
    fn a_status_says_what_to_do() {
        assert_eq!(
            failure(401, &[], "no"),
            ProviderError::Unauthorized("`https://host/v1` refused the key in `KEY` (401: no)".to_owned())
        );
        assert!(matches!(failure(403, &[], ""), ProviderError::Unauthorized(text) if text.contains("`KEY`")));
        assert!(matches!(failure(413, &[], ""), ProviderError::ContextTooLong(_)));
        for status in [408, 409, 500, 502, 503, 529] {
            assert!(matches!(failure(status, &[], ""), ProviderError::Overloaded(_)), "{status}");
        }
        let wait = Some(Duration::from_secs(7));
        let asked = failure(503, &[("retry-after", "7")], "");
        assert!(matches!(asked, ProviderError::RateLimited { retry_after, .. } if retry_after == wait));
        for status in [400, 402, 404, 407, 418, 422] {
            assert!(matches!(failure(status, &[], ""), ProviderError::Invalid(_)), "{status}");
        }
    }

    #[test]
    fn a_plain_body_is_quoted_and_a_page_is_not() {
        assert_eq!(
            failure(503, &[], " try later\n").to_string(),
            "`https://host/v1` answered 503 Service Unavailable: try later"
        );
        assert_eq!(
            failure(502, &[("content-type", "text/html")], "<h1>Bad").to_string(),
            "`https://host/v1` answered 502 Bad Gateway, with a web page"
        );
        assert_eq!(failure(529, &[], "").to_string(), "`https://host/v1` answered 529, with an empty body");
        assert!(failure(500, &[], &"x".repeat(5000)).to_string().chars().count() < 300);
    }

    #[test]
    fn a_redirect_names_its_target_without_credentials() {
        assert_eq!(
            failure(301, &[("location", "https://a:b@new/v1?q")], "").to_string(),
            "`https://host/v1` redirects to `https://new/v1` (301), and redirects are not followed; correct the base URL"
        );
    }

    #[test]
    fn the_wait_is_seconds_or_a_date_on_the_clock_of_the_server() {
        let wait = |headers: &[(&'static str, &'static str)]| answer(429, headers, "").retry_after();
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
        for nonsense in ["-1", "NaN", "1e99", "soon", ""] {
            assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        let exact = [("retry-after-ms", "1500"), ("retry-after", "7")];
        assert_eq!(wait(&exact), Some(Duration::from_millis(1500)));
        assert_eq!(wait(&[("retry-after-ms", "soon"), ("retry-after", "7")]), Some(Duration::from_secs(7)));
        let date = ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT");
        assert_eq!(wait(&[date, ("date", "Wed, 21 Oct 2026 07:28:00 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(wait(&[date, ("date", "Wed, 21 Oct 2026 08:00:00 GMT")]), Some(Duration::ZERO));
        assert_eq!(wait(&[date]), None);
    }

    #[test]
    fn what_is_not_json_is_said_to_be_what_it_is() {
        let read = |kind, body| answer(200, &[("content-type", kind)], body).json::<Vec<u8>>().unwrap_err();
        let json = "application/json";
        assert!(matches!(read(json, " \n"), ProviderError::Overloaded(text) if text.contains("empty body")));
        assert!(matches!(read(json, "[1, 2"), ProviderError::Overloaded(text) if text.contains("cut short")));
        assert!(matches!(read(json, "<html>"), ProviderError::Invalid(text) if text.contains("a web page")));
        assert!(
            matches!(read("text/plain", "hello"), ProviderError::Invalid(text) if text.contains("`text/plain`"))
        );
        assert!(
            matches!(read(json, "{}"), ProviderError::Invalid(text) if text.contains("unexpected shape"))
        );
    }

    #[test]
    fn a_key_that_comes_back_is_hidden() {
        let mut answer = answer(401, &[], "wrong key: sk-123");
        answer.hide(b"sk-123");
        assert_eq!(answer.body, b"wrong key: ***");
    }
}
