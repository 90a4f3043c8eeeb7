//! Owns the providers that tepa ships: the vendors' APIs, scripted replies, and the recording of either.
//!
//! They share the HTTP POST and the format of scripted replies, and refuse to know each other beyond that.

pub mod anthropic;
pub mod log;
pub mod recording;
pub mod replay;
pub mod retry;
pub mod vendor;

mod answer;
mod dialect;
mod http;
mod script;
mod sse;
