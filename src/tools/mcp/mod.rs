//! Owns the tools of servers that speak the Model Context Protocol: connecting to all of them at once, and their end.
//!
//! A server that a run needs and that does not start is an error, and never a run with fewer tools.

mod content;
mod line;
mod name;
mod remote;
mod server;
mod settings;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};

use self::server::{Failure, Server};
use self::settings::Settings;
use crate::config::{Environment, McpServer};
use crate::error::Error;
use crate::process::Setting;
use crate::tool::AnyTool;

/// What a run has of its servers.
#[derive(Default)]
pub struct Connected {
    /// The tools of all of them, called `server__tool`.
    pub tools: Vec<Box<dyn AnyTool>>,
    /// What is not as it should be, and does not keep the run from starting.
    pub warnings: Vec<String>,
    /// The servers themselves.
    pub servers: Servers,
}

/// Running servers; dropping them all kills those that are processes.
#[derive(Default)]
pub struct Servers(Vec<Arc<Server>>);

impl Servers {
    /// Ends all servers, within a few seconds.
    pub async fn close(&self) {
        join_all(self.0.iter().map(|server| server.close())).await;
    }
}

/// Connects to every server in `configured` that is not disabled; those that are processes run in `root`, started as
/// `setting` says.
///
/// # Errors
/// A variable that is named is not set, or a server that is required did not start.
pub async fn connect<'a>(
    configured: impl IntoIterator<Item = (&'a String, &'a McpServer)>,
    environment: &Environment,
    setting: &Setting,
    root: &Path,
) -> Result<Connected, Error> {
    let enabled = configured.into_iter().filter(|(_, configured)| !configured.disabled);
    let all: Vec<Settings> = enabled
        .map(|(name, configured)| Settings::new(name, configured, environment, setting, root))
        .collect::<Result<_, _>>()?;
    // The first that fails ends the others.
    let started = try_join_all(all.into_iter().map(|settings| async move {
        let (name, required) = (settings.name.clone(), settings.required);
        match start(settings).await {
            Ok((server, tools, warnings)) => Ok((Some(server), tools, warnings)),
            Err(failure) if required => Err(failure.into_error(&name)),
            Err(failure) => Ok((None, Vec::new(), vec![failure.into_warning(&name)])),
        }
    }))
    .await?;
    let mut connected = Connected::default();
    for (server, tools, warnings) in started {
        connected.servers.0.extend(server);
        connected.tools.extend(tools);
        connected.warnings.extend(warnings);
    }
    Ok(connected)
}

type Started = (Arc<Server>, Vec<Box<dyn AnyTool>>, Vec<String>);

async fn start(settings: Settings) -> Result<Started, Failure> {
    let (server, listed) = Server::start(settings).await?;
    let server = Arc::new(server);
    let names = match name::of_tools(server.name(), listed.iter().map(|tool| &*tool.name)) {
        Ok(names) => names,
        Err(fault) => {
            server.close().await;
            return Err(Failure::new(fault));
        }
    };
    let mut warnings = Vec::new();
    let mut tools: Vec<Box<dyn AnyTool>> = Vec::new();
    for (name, tool) in names.into_iter().zip(listed) {
        let tool = remote::RemoteTool::new(Arc::clone(&server), &name, tool);
        warnings.extend(tool.warning());
        tools.push(Box::new(tool));
    }
    Ok((server, tools, warnings))
}
