//! Owns the tools of a run: built-in ones, commands, those of servers, and which of them the configuration and the command line leave.
//!
//! A name in a rule that no tool has is refused: a rule that is silently dropped would allow more than it says, or less.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::ground;
use crate::config::{Config, Environment};
use crate::error::Error;
use crate::text;
use crate::tool::permission::{self, Rule, tool_of};
use crate::tool::{AnyTool, Registry};
use crate::tools::mcp::{self, Servers};
use crate::tools::{self, built_in};

/// The tools that a run has.
#[derive(Default)]
pub struct Toolbox {
    /// Those that are left by the rules.
    pub registry: Registry,
    /// What a person should know before the run.
    pub warnings: Vec<String>,
    /// Where each tool comes from, also those that the rules leave out.
    sources: IndexMap<String, Source>,
    servers: Servers,
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    BuiltIn,
    Custom,
    Server(String),
}

impl Toolbox {
    /// Starts the servers of the configuration that a run can call something of, and returns the tools.
    ///
    /// # Errors
    /// A name without a tool, a tool that cannot be used, rules that leave none, or a server that does not start.
    pub async fn connect(config: &Config, environment: &Environment, root: &Path) -> Result<Self, Error> {
        check_names(config)?;
        let toolbox = Self::connect_some(config, environment, root, |server| serves(config, server)).await?;
        if toolbox.registry.names().is_empty() {
            return Err(Error::usage("no tool is left for the run").hint(
                "allow one with `tools` or `--tools`, or take it out of `denyTools` and `--deny-tool`",
            ));
        }
        Ok(toolbox)
    }

    /// As [`Self::connect`], with only the server that has the tool `name`, if one has it.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_for(
        name: &str,
        config: &Config,
        environment: &Environment,
        root: &Path,
    ) -> Result<Self, Error> {
        check_names(config)?;
        Self::connect_some(config, environment, root, |server| belongs(name, server)).await
    }

    async fn connect_some(
        config: &Config,
        environment: &Environment,
        root: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut toolbox = Self::default();
        for tool in built_in(&config.network) {
            toolbox.add(tool, Source::BuiltIn)?;
        }
        for tool in tools::custom(&config.custom_tools, environment)? {
            toolbox.add(tool, Source::Custom)?;
        }
        let servers = config.mcp_servers.iter().filter(|(name, _)| wanted(name));
        let setting = ground::unconfined(config, environment);
        let connected = mcp::connect(servers, environment, &setting, root).await?;
        toolbox.servers = connected.servers;
        toolbox.warnings = connected.warnings;
        let mut present: Vec<&str> = Vec::new();
        for tool in connected.tools {
            let server = config.mcp_servers.keys().find(|server| belongs(tool.name(), server));
            let server = server.map_or("", String::as_str);
            present.push(server);
            toolbox.add(tool, Source::Server(server.to_owned()))?;
        }
        for rule in config.tools.iter().chain(&config.deny_tools) {
            // Nobody knows the tools of a server that is not there.
            let name = tool_of(rule);
            if !toolbox.sources.contains_key(name) && present.iter().any(|server| belongs(name, server)) {
                return Err(toolbox.unknown(name));
            }
        }
        let registry = std::mem::take(&mut toolbox.registry);
        toolbox.registry = permission::apply(registry, &config.tools, &config.deny_tools)?;
        Ok(toolbox)
    }

    fn add(&mut self, tool: Box<dyn AnyTool>, source: Source) -> Result<(), Error> {
        let name = tool.name().to_owned();
        self.registry.register(tool).map_err(|e| Error::usage("two tools have one name").because(&e))?;
        self.sources.insert(name, source);
        Ok(())
    }

    /// Returns the tool called `name`.
    ///
    /// # Errors
    /// There is none, or the rules leave it out.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn AnyTool>, Error> {
        match self.registry.get(name) {
            Some(tool) => Ok(tool),
            None if self.sources.contains_key(name) => {
                Err(Error::usage(format!("the tool `{name}` is not one that a run has here"))
                    .hint("`tools` and `denyTools` in the configuration leave it out"))
            }
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        unknown(name, self.sources.keys().map(String::as_str))
    }

    /// Returns where the tool called `name` comes from: `built-in`, `custom`, or the name of its server after `mcp:`.
    pub fn source(&self, name: &str) -> String {
        match self.sources.get(name) {
            Some(Source::BuiltIn) | None => "built-in".to_owned(),
            Some(Source::Custom) => "custom".to_owned(),
            Some(Source::Server(server)) => format!("mcp:{server}"),
        }
    }

    /// Ends everything that was started, within a few seconds.
    pub async fn close(&self) {
        self.servers.close().await;
    }
}

/// Refuses rules that cannot be read and names that no tool can have, as far as that is known without starting anything.
pub(super) fn check_names(config: &Config) -> Result<(), Error> {
    let custom = config.custom_tools.iter().map(|tool| tool.name.as_str());
    let known: Vec<&str> = tools::NAMES.into_iter().chain(custom).collect();
    for rule in config.tools.iter().chain(&config.deny_tools) {
        let rule = Rule::parse(rule)?;
        let name = rule.tool();
        if !known.contains(&name) && !config.mcp_servers.keys().any(|server| belongs(name, server)) {
            return Err(unknown(name, known.iter().copied()));
        }
    }
    Ok(())
}

/// Returns whether the rules can leave a tool of `server`.
fn serves(config: &Config, server: &str) -> bool {
    config.tools.is_empty() || config.tools.iter().any(|rule| belongs(tool_of(rule), server))
}

fn belongs(name: &str, server: &str) -> bool {
    name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Error {
    let error = Error::usage(format!("unknown tool `{name}`"));
    match text::did_you_mean(name, known.clone()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("the tools are {}", text::ticked(known))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{Layers, Origin};

    fn config(values: Value) -> Config {
        let mut layers = Layers::defaults().unwrap();
        layers.push(Origin::CommandLine, values);
        layers.resolve().unwrap()
    }

    async fn toolbox(values: Value) -> Result<Toolbox, Error> {
        let environment = Environment::of("/".into(), []);
        Toolbox::connect(&config(values), &environment, Path::new("/")).await
    }

    async fn refusal(values: Value) -> (String, String) {
        match toolbox(values).await.map(|_| ()).unwrap_err() {
            Error::Usage(message) => (message.text, message.hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    fn own(name: &str) -> Value {
        json!({"name": name, "description": "Does.", "command": ["true"]})
    }

    #[tokio::test]
    async fn rules_leave_what_is_listed_and_not_denied() {
        let all = toolbox(json!({"customTools": [own("deploy")]})).await.unwrap();
        assert_eq!(all.registry.names().last().map(String::as_str), Some("deploy"));
        assert_eq!((all.source("deploy"), all.source("file_read")), ("custom".into(), "built-in".into()));
        let rules = json!({"customTools": [own("deploy")], "tools": ["shell_execute(git *)", "deploy", "file_read"],
            "denyTools": ["file_read", "deploy"]});
        let some = toolbox(rules).await.unwrap();
        assert_eq!(some.registry.names(), ["shell_execute"]);
        let denied = some.find("deploy").map(|_| ()).unwrap_err();
        assert_eq!(denied.to_string(), "the tool `deploy` is not one that a run has here");
    }

    #[tokio::test]
    async fn a_name_without_a_tool_is_refused_with_the_nearest() {
        let near = ("unknown tool `file_reed`".to_owned(), "did you mean `file_read`?".to_owned());
        assert_eq!(refusal(json!({"tools": ["file_reed"]})).await, near);
        assert_eq!(refusal(json!({"denyTools": ["file_reed(x)"]})).await, near);
        let custom = json!({"customTools": [own("deploy")], "denyTools": ["deplay(x)"]});
        assert_eq!(refusal(custom).await.1, "did you mean `deploy`?");
        assert!(refusal(json!({"tools": ["nowhere__x"]})).await.1.starts_with("the tools are `file_read`"));
    }

    #[tokio::test]
    async fn rules_that_leave_nothing_are_refused() {
        let nothing = json!({"tools": ["file_read"], "denyTools": ["file_read"]});
        assert_eq!(refusal(nothing).await.0, "no tool is left for the run");
    }

    #[tokio::test]
    async fn a_tool_cannot_take_the_name_of_another() {
        let clash = json!({"customTools": [own("file_read")]});
        assert_eq!(refusal(clash).await.0, "two tools have one name");
    }

    #[tokio::test]
    async fn a_server_that_nothing_can_be_called_of_is_not_started() {
        let broken = json!({"broken": {"command": "no-such-program"}});
        for rules in [json!(["file_read"]), json!(["broken2__x", "file_read"])] {
            let servers = json!({"broken": {"command": "no-such-program"}, "broken2": {"command": "x", "disabled": true}});
            toolbox(json!({"mcpServers": servers, "tools": rules})).await.unwrap();
        }
        let environment = Environment::of("/".into(), []);
        let config = config(json!({"mcpServers": broken}));
        let one = Toolbox::connect_for("file_read", &config, &environment, Path::new("/")).await.unwrap();
        assert!(one.find("file_read").is_ok());
        assert!(matches!(toolbox(json!({"mcpServers": broken})).await, Err(Error::Broken(_))));
    }
}
