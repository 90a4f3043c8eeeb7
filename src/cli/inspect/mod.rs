//! Owns what is looked at in files beyond what their own rules say: the machine that they are read on, keys that nobody should write down.
//!
//! Nothing here knows a run or a provider; what it finds are diagnostics like all others.

pub(super) mod commands;
pub(super) mod floor;
pub(super) mod models;
pub(super) mod secrets;
pub(super) mod times;
