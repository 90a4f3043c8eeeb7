//! Owns the adapters that answer requests: model providers, recorded replies, and the recorder around either.
//!
//! They share the HTTP POST and the format of scripted replies, and refuse to know each other beyond that.

pub mod anthropic;
pub mod gemini;
pub mod log;
pub mod openai;
pub mod openai_compatible;
pub mod reach;
pub mod recording;
pub mod replay;
pub mod replies;
pub mod retry;
pub mod suggesting;
pub mod vendor;

mod answer;
mod arguments;
mod bearer;
mod complaint;
mod dialect;
mod estimate;
mod http;
#[cfg(test)]
mod pairs;
mod script;
pub mod sse;
mod strict_schema;
mod tokens;
mod too_long;
mod tool_schema;
