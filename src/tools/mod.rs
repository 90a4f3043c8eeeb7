//! Owns the tools: those that come with tepa (files, a shell, the network, data, the run's own notes), commands of a configuration, and
//! those of servers.
//!
//! Each refuses what it cannot do whole: a result that was cut says so, a file that is not text is an error and never a string of
//! replacement characters.

mod blocking;
mod command;
mod data;
mod directory;
mod file;
mod log;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/absent.rs"]
pub mod mcp;
mod network;
mod parameter;
mod scratchpad;
mod search;
mod shell;
#[cfg(test)]
mod trial;

use std::sync::Arc;

use crate::config::Network;

use crate::tool::{AnyTool, Tool, ToolError, erase};
use crate::workspace::WorkspaceError;
pub use command::custom;

/// The names of the built-in tools, in the order of [`built_in`].
pub const NAMES: [&str; 10] = [
    file::FileRead::NAME,
    file::FileWrite::NAME,
    directory::DirectoryList::NAME,
    search::FileSearch::NAME,
    shell::ShellExecute::NAME,
    network::HttpRequest::NAME,
    network::WebSearch::NAME,
    data::DataParse::NAME,
    scratchpad::ScratchpadNotes::NAME,
    log::LogObserve::NAME,
];

/// Returns the built-in tools; those that use the network reach whom `network` allows.
pub fn built_in(network: &Network) -> Vec<Box<dyn AnyTool>> {
    let gate = Arc::new(network::Gate::new(network));
    vec![
        erase(file::FileRead),
        erase(file::FileWrite),
        erase(directory::DirectoryList),
        erase(search::FileSearch),
        erase(shell::ShellExecute),
        erase(network::HttpRequest(Arc::clone(&gate))),
        erase(network::WebSearch(gate)),
        erase(data::DataParse),
        erase(scratchpad::ScratchpadNotes),
        erase(log::LogObserve),
    ]
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_can_be_shown_to_a_model_under_its_name() {
        let tools = built_in(&Network { allow_hosts: Vec::new() });
        assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), NAMES);
        for tool in tools {
            assert_eq!(tool.schema().name, tool.name());
            tool.schema().clone().validated().unwrap();
        }
    }
}
