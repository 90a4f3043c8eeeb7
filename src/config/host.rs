//! Owns the patterns of `network.allowHosts`: `example.com`, `*.example.com`, `localhost:8080`, `[::1]`.
//!
//! What is no host and no pattern of hosts is refused rather than ignored: a list that loses an entry could end up empty, and an empty
//! list allows everything.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use reqwest::Url;
use serde::{Deserialize, Serialize};

/// One host, or all hosts below one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    text: String,
    /// In the form in which a URL has it, without the dot at its end.
    host: String,
    below: bool,
    port: Option<u16>,
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host")]
pub struct HostPatternError(pub String);

impl HostPatternError {
    /// What to do about it.
    pub const HINT: &str = "write it like `api.example.com`, `*.example.com` or `localhost:8080`";
}

impl HostPattern {
    /// Returns the pattern that `text` means.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        let pattern = || {
            let (below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
            let (host, port) = split_port(rest)?;
            let host = host_in_url(&host)?;
            let nothing_below = address(&host).is_some();
            (!below || !nothing_below).then(|| Self { text: text.to_owned(), host, below, port })
        };
        pattern().ok_or_else(|| HostPatternError(text.to_owned()))
    }

    /// Returns whether the host of `url` is one of those that are meant.
    pub fn covers(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let host = host.strip_suffix('.').unwrap_or(host);
        let named = if self.below {
            host.strip_suffix(&self.host).is_some_and(|name| name.len() > 1 && name.ends_with('.'))
        } else {
            host == self.host
        };
        named && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// Returns host and port of a text; the colons of an IPv6 address do not separate.
fn split_port(text: &str) -> Option<(String, Option<u16>)> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((format!("[{text}]"), None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => {
            let port = port.parse().ok().filter(|port| *port > 0)?;
            Some((host.to_owned(), Some(port)))
        }
        _ => Some((text.to_owned(), None)),
    }
}

/// Returns a host as URLs have it: in lower case, in ASCII, addresses in their usual form.
fn host_in_url(host: &str) -> Option<String> {
    if host.contains(|c: char| c == '*' || c.is_whitespace() || c.is_control()) {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let host = url.host_str()?;
    // Whatever else the text held shows in the URL.
    let bare = url.as_str() == format!("http://{host}/");
    let host = host.strip_suffix('.').unwrap_or(host);
    (bare && !host.is_empty()).then(|| host.to_owned())
}

/// Returns the address that a host of a URL is.
fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for HostPattern {
    type Error = HostPatternError;

    fn try_from(text: String) -> Result<Self, HostPatternError> {
        Self::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.text
    }
}

/// Returns an address without the parts that hold secrets: user and password, query and fragment.
pub fn without_secrets(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, None), |(a, path)| (a, Some(path)));
            let authority = authority.rsplit('@').next().unwrap_or_default();
            path.map_or(format!("{scheme}://{authority}"), |path| format!("{scheme}://{authority}/{path}"))
        }
        // An address that lost its beginning may still hold a password.
        None => address.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, url: &str) -> bool {
        HostPattern::parse(pattern).unwrap().covers(&Url::parse(url).unwrap())
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, shown) in [
            ("https://u:p@h.example:1/a/b?token=x#y", "https://h.example:1/a/b"),
            ("http://h", "http://h"),
            ("h?x", "h"),
            ("u:p@h:1", "h:1"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }

    #[test]
    fn a_host_is_itself_however_it_is_written() {
        for url in ["http://example.com", "https://EXAMPLE.com./x", "https://example.com:8443"] {
            assert!(covers("Example.COM.", url), "{url}");
        }
        for url in ["http://a.example.com", "http://example.com.evil.test", "http://notexample.com"] {
            assert!(!covers("example.com", url), "{url}");
        }
        assert!(covers("bücher.example", "https://xn--bcher-kva.example/"));
    }

    #[test]
    fn a_star_stands_for_what_is_below() {
        for url in ["http://a.example.com", "http://a.b.example.com."] {
            assert!(covers("*.example.com", url), "{url}");
        }
        for url in
            ["http://example.com", "http://badexample.com", "http://.example.com", "http://a.example.org"]
        {
            assert!(!covers("*.example.com", url), "{url}");
        }
    }

    #[test]
    fn a_port_narrows() {
        assert!(covers("localhost:8080", "http://localhost:8080"));
        assert!(!covers("localhost:8080", "http://localhost"));
        assert!(covers("example.com:443", "https://example.com"));
        assert!(!covers("example.com:443", "http://example.com"));
        assert!(covers("*.example.com:81", "http://a.example.com:81"));
    }

    #[test]
    fn addresses_are_compared_in_their_usual_form() {
        assert!(covers("127.0.0.1", "http://0x7f.1/"));
        assert!(covers("127.0.0.1:80", "http://127.0.0.1/"));
        for pattern in ["::1", "[::1]", "[0:0::1]", "[::1]:8080"] {
            assert!(covers(pattern, "http://[::1]:8080/"), "{pattern}");
        }
        assert!(!covers("[::1]:8080", "http://[::1]/"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            ".",
            "*",
            "*.",
            "*.*.com",
            "a*.example.com",
            "https://example.com",
            "example.com/",
            "a b",
            "a\n",
            "me@example.com",
            "example.com:",
            "example.com:0",
            "example.com:99999",
            "example.com?x",
            "a:b:80",
            "*.127.0.0.1",
            "*.[::1]",
            "[::1",
            "a,b#c",
        ] {
            assert_eq!(HostPattern::parse(text), Err(HostPatternError(text.to_owned())));
        }
    }
}
