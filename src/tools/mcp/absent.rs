//! Owns the answer of a build without the Model Context Protocol: there are no servers, and a configuration that names one is refused.

use std::path::Path;

use crate::config::{Environment, McpServer};
use crate::error::Error;
use crate::process::Setting;
use crate::tool::AnyTool;

/// What a run has of its servers: nothing.
#[derive(Default)]
pub struct Connected {
    /// No tools.
    pub tools: Vec<Box<dyn AnyTool>>,
    /// No warnings.
    pub warnings: Vec<String>,
    /// No servers.
    pub servers: Servers,
}

/// No servers.
#[derive(Default)]
pub struct Servers;

impl Servers {
    /// Does nothing.
    pub async fn close(&self) {
        std::future::ready(()).await;
    }
}

/// Returns nothing for no servers.
///
/// # Errors
/// There is a server in `configured` that is not disabled.
pub async fn connect<'a>(
    configured: impl IntoIterator<Item = (&'a String, &'a McpServer)>,
    _: &Environment,
    _: &Setting,
    _: &Path,
) -> Result<Connected, Error> {
    std::future::ready(()).await;
    match configured.into_iter().find(|(_, server)| !server.disabled) {
        None => Ok(Connected::default()),
        Some((name, _)) => {
            Err(Error::usage(format!("the server `{name}` cannot be used: this tepa was built without MCP"))
                .hint("build it with the feature `mcp`, or leave `mcpServers` out"))
        }
    }
}
