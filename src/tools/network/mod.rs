//! Owns the tools that use the network and the one way out that they share.
//!
//! Who may be reached is decided where a connection is made and not before it: what is checked is what is connected to, on every hop.

mod address;
mod body;
mod fault;
mod gate;
mod outgoing;
mod request;
mod resolver;
mod search;
#[cfg(test)]
mod server;

pub(super) use gate::Gate;
pub(super) use request::HttpRequest;
pub(super) use search::WebSearch;
