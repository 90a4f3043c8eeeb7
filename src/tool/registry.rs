//! Owns the tools of a run by name, in registration order.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{AnyTool, ToolSchema};

/// Why a tool could not be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name is taken.
    #[error("Tool \"{0}\" is already registered")]
    Duplicate(String),
}

/// The tools of a run.
#[derive(Default)]
pub struct Registry {
    tools: IndexMap<String, Arc<dyn AnyTool>>,
}

impl Registry {
    /// Adds a tool.
    pub fn register(&mut self, tool: Box<dyn AnyTool>) -> Result<(), RegistryError> {
        if self.get(tool.name()).is_some() {
            return Err(RegistryError::Duplicate(tool.name().to_owned()));
        }
        self.tools.insert(tool.name().to_owned(), tool.into());
        Ok(())
    }

    /// Returns the tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.tools.get(name)
    }

    /// Returns all tools.
    pub fn list(&self) -> impl Iterator<Item = &dyn AnyTool> {
        self.tools.values().map(AsRef::as_ref)
    }

    /// Returns what models are told about every tool.
    pub fn schemas(&self) -> Vec<&ToolSchema> {
        self.tools.values().map(|tool| tool.schema()).collect()
    }

    /// Returns the names of all tools.
    pub fn names(&self) -> Vec<String> {
        self.tools.keys().cloned().collect()
    }

    /// Puts what `change` makes of each tool in its place.
    pub fn replace_each(&mut self, mut change: impl FnMut(Arc<dyn AnyTool>) -> Arc<dyn AnyTool>) {
        let tools = std::mem::take(&mut self.tools);
        self.tools = tools.into_iter().map(|(name, tool)| (name, change(tool))).collect();
    }

    /// Keeps the tools that `keep` says yes to.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.tools.retain(|name, _| keep(name));
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}
