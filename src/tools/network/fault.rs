//! Owns why a request has no answer, in words for the model and the person.
//!
//! A URL is shown without its query, for there may be keys in it.

use std::time::Duration;

use super::address::Refusal;
use crate::tool::ToolError;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The scheme is another.
    #[error("cannot reach `{0}:`: only `http://` and `https://` are spoken here")]
    Scheme(String),
    /// The URL holds a name or a password, which would end up in records.
    #[error("a URL may not hold a name or a password: put them into `headers`, as `Authorization`")]
    Credentials,
    /// The host may not be reached.
    #[error("cannot reach `{host}`: {refusal}")]
    Refused {
        /// The host.
        host: String,
        /// Why.
        refusal: Refusal,
    },
    /// No connection, or one that broke before the answer began.
    #[error("cannot reach `{url}`: {cause}")]
    Unreachable {
        /// The URL as it is shown.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// The answer ended before it was whole.
    #[error("the answer of `{url}` broke off: {cause}")]
    BrokeOff {
        /// The URL as it is shown.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// A redirect leads nowhere.
    #[error("`{0}` redirects to something that is not a URL")]
    Location(String),
    /// There were too many redirects.
    #[error("`{0}` was reached after {1} redirects and redirects once more")]
    Redirects(String, u32),
    /// It took too long.
    #[error("Request timed out after {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// There is nothing to connect with.
    #[error("no HTTP client can be set up here: {0}")]
    Client(String),
}

impl From<Fault> for ToolError {
    fn from(error: Fault) -> Self {
        Self::new(error.to_string())
    }
}
