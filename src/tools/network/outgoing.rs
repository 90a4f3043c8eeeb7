//! Owns a request on its way out: what it says, whether it may be said twice, and what is left of it after a redirect.
//!
//! It refuses to hand on to another origin what was meant for the first.

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, Url};

/// Headers that say nothing about who asks.
const FOR_EVERYONE: [HeaderName; 8] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CACHE_CONTROL,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::RANGE,
    header::USER_AGENT,
];

/// Headers that are about the body.
const OF_BODY: [HeaderName; 4] =
    [header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION, header::CONTENT_TYPE];

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
}

impl Outgoing {
    /// Returns whether saying it twice comes to the same as saying it once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.method.is_idempotent()
    }

    /// Turns into the request that an answer of `status` redirects it to.
    pub(super) fn redirect(&mut self, status: StatusCode, to: Url) {
        let as_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if as_get {
            self.method = Method::GET;
            self.body = None;
            for name in OF_BODY {
                self.headers.remove(name);
            }
        }
        if to.origin() != self.url.origin() {
            let mut kept = HeaderMap::new();
            for name in FOR_EVERYONE {
                for value in self.headers.get_all(&name) {
                    kept.append(name.clone(), value.clone());
                }
            }
            self.headers = kept;
        }
        self.url = to;
    }
}

/// Returns where an answer redirects to, as it says it.
pub(super) fn location(status: StatusCode, headers: &HeaderMap) -> Option<&HeaderValue> {
    let follows = matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    headers.get(header::LOCATION).filter(|_| follows)
}

/// Returns a URL without query and fragment, which may hold keys.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirected(method: Method, status: u16, to: &str) -> (Method, Option<String>, Vec<String>) {
        let headers = ["accept", "authorization", "content-type", "cookie", "x-api-key"];
        let mut request = Outgoing {
            method,
            url: Url::parse("https://a.test/from").unwrap(),
            headers: headers
                .iter()
                .map(|name| (name.parse().unwrap(), HeaderValue::from_static("1")))
                .collect(),
            body: Some("{}".to_owned()),
        };
        request.redirect(StatusCode::from_u16(status).unwrap(), Url::parse(to).unwrap());
        assert_eq!(request.url.as_str(), to);
        let mut left: Vec<String> = request.headers.keys().map(ToString::to_string).collect();
        left.sort_unstable();
        (request.method, request.body, left)
    }

    #[test]
    fn a_post_becomes_a_get_where_browsers_make_it_one() {
        for (method, status, expected) in [
            (Method::POST, 301, Method::GET),
            (Method::POST, 302, Method::GET),
            (Method::POST, 303, Method::GET),
            (Method::POST, 307, Method::POST),
            (Method::POST, 308, Method::POST),
            (Method::PUT, 302, Method::PUT),
            (Method::PUT, 303, Method::GET),
            (Method::HEAD, 303, Method::HEAD),
        ] {
            let (found, body, headers) = redirected(method.clone(), status, "https://a.test/to");
            assert_eq!(found, expected, "{method} {status}");
            assert_eq!(body.is_some(), found == method, "{method} {status}");
            assert_eq!(headers.contains(&"content-type".to_owned()), found == method);
        }
    }

    #[test]
    fn another_origin_is_told_nothing_about_who_asks() {
        let all = ["accept", "authorization", "content-type", "cookie", "x-api-key"];
        assert_eq!(redirected(Method::GET, 302, "https://a.test/to").2, all);
        for to in ["https://b.test/", "https://x.a.test/", "http://a.test/", "https://a.test:8443/"] {
            assert_eq!(redirected(Method::GET, 302, to).2, ["accept", "content-type"], "{to}");
        }
    }
}
