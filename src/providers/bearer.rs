//! Owns the header that carries a key as a bearer token; it refuses to let the key be shown.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

/// Returns the headers that carry `key`, none without one.
pub(super) fn headers(key: Option<&HeaderValue>) -> HeaderMap {
    let token = key.and_then(|key| HeaderValue::from_bytes(&[b"Bearer ", key.as_bytes()].concat()).ok());
    let token = token.map(|mut token| {
        token.set_sensitive(true);
        (AUTHORIZATION, token)
    });
    HeaderMap::from_iter(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_token_that_is_not_shown() {
        let headers = headers(Some(&HeaderValue::from_static("sk-hunter2")));
        assert_eq!(headers["authorization"], "Bearer sk-hunter2");
        assert!(!format!("{headers:?}").contains("hunter2"));
        assert!(super::headers(None).is_empty());
    }
}
