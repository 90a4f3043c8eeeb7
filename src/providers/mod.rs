//! Owns the providers that tepa ships: the vendors' APIs, scripted replies, and the recording of either.
//!
//! They share the HTTP POST and the format of scripted replies, and refuse to know each other beyond that.

pub mod anthropic;
pub mod recording;
pub mod replay;

mod answer;
mod arguments;
mod bearer;
mod complaint;
#[allow(dead_code)]
mod dialect;
mod estimate;
mod http;
#[allow(dead_code)]
mod openai;
#[allow(dead_code)]
mod openai_compatible;
#[cfg(test)]
mod pairs;
mod script;
#[allow(dead_code)]
mod sse;
mod strict_schema;
