//! Owns the providers that tepa ships: the vendors' APIs, scripted replies, and the recording of either.
//!
//! They share the HTTP POST and the format of scripted replies, and refuse to know each other beyond that.

pub mod anthropic;
pub mod recording;
pub mod replay;

mod answer;
#[allow(dead_code)]
mod dialect;
#[allow(dead_code)]
mod gemini;
mod http;
mod script;
#[allow(dead_code)]
mod sse;
