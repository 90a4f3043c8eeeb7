//! Owns one tool of a server as a tool of a run.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::Tool;
use serde_json::Value;

use super::content;
use super::server::Server;
use crate::tool::{AnyTool, Effect, ToolContext, ToolError, ToolSchema};

/// A tool that a server performs.
pub(super) struct RemoteTool {
    server: Arc<Server>,
    /// What the server calls it.
    own_name: String,
    schema: ToolSchema,
    effect: Effect,
}

impl RemoteTool {
    pub(super) fn new(server: Arc<Server>, name: &str, tool: Tool) -> Self {
        let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default().trim();
        let description = if said.is_empty() {
            format!("The tool `{}` of the server `{}`, which does not describe it.", tool.name, server.name())
        } else {
            said.to_owned()
        };
        let reads = tool.annotations.and_then(|annotations| annotations.read_only_hint) == Some(true);
        Self {
            schema: ToolSchema::from_json_schema(
                name,
                &description,
                Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
            ),
            server,
            own_name: tool.name.into_owned(),
            effect: if reads { Effect::Reads } else { Effect::Writes },
        }
    }

    /// Returns what a person should know about it before the run.
    pub(super) fn warning(&self) -> Option<String> {
        let fault = self.schema.raw.as_ref()?.fault()?;
        let name = &self.schema.name;
        Some(format!(
            "parameters of the tool `{name}` are not checked, because its schema cannot be used: {fault}"
        ))
    }

    async fn call(&self, params: Value) -> Result<Value, ToolError> {
        let arguments = match self.check(params)? {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        let result = self.server.call(&self.own_name, arguments).await?;
        content::output(&self.schema.name, result)
    }
}

impl AnyTool for RemoteTool {
    fn name(&self) -> &str {
        &self.schema.name
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn invoke<'a>(&'a self, params: Value, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(self.call(params))
    }
}
