//! Owns the contract of a tool: what an author writes, what the pipeline calls, and what a tool may touch.
//!
//! The pipeline knows [`AnyTool`] only; whether a tool is built in, a command or remote makes no difference to it.

mod context;
mod params;
pub mod permission;
mod raw;
mod registry;
mod schema;
mod scratchpad;

use std::future::Future;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::outcome::Effect;
pub use context::{Observation, ToolContext};
pub use params::{ParamsError, check_params};
pub use raw::RawSchema;
pub use registry::{Registry, RegistryError};
pub use schema::{ParameterDef, ParameterType, ToolSchema, ToolSchemaError};
pub use scratchpad::{EXECUTION_SUMMARY, Scratchpad, ScratchpadError};

/// Why a tool failed: a sentence for the model and the person, with its cause folded in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    /// Returns an error with `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<ParamsError> for ToolError {
    fn from(error: ParamsError) -> Self {
        Self::new(error.to_string())
    }
}

/// A tool as its author writes it.
pub trait Tool: Send + Sync + 'static {
    /// Unique, `snake_case`.
    const NAME: &'static str;
    /// The parameters after defaults were applied.
    type Args: DeserializeOwned + Send;
    /// What it returns, as JSON.
    type Output: Serialize;

    /// Returns what models are told about the tool; its name is [`Self::NAME`].
    fn schema(&self) -> ToolSchema;

    /// Returns what a call may change.
    fn effect(&self) -> Effect {
        Effect::Writes
    }

    /// Returns whether a call may write the scratchpad; that of a tool which does not say so is refused it.
    fn notes(&self) -> bool {
        false
    }

    /// Performs one call. Dropping the future ends everything that the call started.
    fn call(
        &self,
        args: Self::Args,
        context: &ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// A tool as the pipeline sees it.
pub trait AnyTool: Send + Sync {
    /// Returns the name.
    fn name(&self) -> &str;

    /// Returns what models are told.
    fn schema(&self) -> &ToolSchema;

    /// Returns what a call may change.
    fn effect(&self) -> Effect;

    /// Returns whether a call may write the scratchpad.
    fn notes(&self) -> bool {
        false
    }

    /// Returns the longest that a call may take, where that is not for `limits.toolTimeout` to say.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns `params` as [`Self::invoke`] would hand them on, or every fault.
    fn check(&self, params: Value) -> Result<Value, ParamsError> {
        self.schema().check(params)
    }

    /// Checks `params` against the schema, applies defaults and performs the call.
    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>>;
}

/// A typed tool with its schema built once.
struct Erased<T> {
    tool: T,
    schema: ToolSchema,
}

/// Returns `tool` in the form in which a [`Registry`] holds it, or everything that is wrong with its definition.
pub fn define<T: Tool>(tool: T) -> Result<Box<dyn AnyTool>, ToolSchemaError> {
    let mut faults = match tool.schema().validated() {
        Ok(_) => Vec::new(),
        Err(ToolSchemaError(faults)) => faults,
    };
    if tool.schema().name != T::NAME {
        faults.push(format!("name: Tool name must be \"{}\" as everywhere else", T::NAME));
    }
    if faults.is_empty() { Ok(erase(tool)) } else { Err(ToolSchemaError(faults)) }
}

/// Returns `tool` in the form in which a [`Registry`] holds it.
pub fn erase<T: Tool>(tool: T) -> Box<dyn AnyTool> {
    let schema = tool.schema();
    Box::new(Erased { tool, schema })
}

impl<T: Tool> AnyTool for Erased<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn notes(&self) -> bool {
        self.tool.notes()
    }

    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let params = self.check(params)?;
            let args = serde_json::from_value(params)
                .map_err(|e| ToolError::new(format!("Parameter validation failed: {e}")))?;
            let output = self.tool.call(args, context).await?;
            serde_json::to_value(output).map_err(|e| ToolError::new(format!("the output is not JSON: {e}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nameless;

    impl Tool for Nameless {
        const NAME: &'static str = "nameless";
        type Args = Value;
        type Output = ();

        fn schema(&self) -> ToolSchema {
            ToolSchema::new("other", "").required("a", ParameterType::String, "A.")
        }

        async fn call(&self, _: Value, _: &ToolContext) -> Result<(), ToolError> {
            Ok(())
        }
    }

    #[test]
    fn a_definition_that_models_cannot_work_with_is_refused_whole() {
        let error = define(Nameless).map(|_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid tool definition: description: Tool description must be non-empty; \
             name: Tool name must be \"nameless\" as everywhere else"
        );
    }
}
