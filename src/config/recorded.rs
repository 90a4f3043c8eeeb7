//! Owns the configuration in the record of a run: what is written down of it, and how it counts again when the run goes on.
//!
//! What servers, tools, hooks and stages are handed is not written down, so it is taken from the configuration of today; a run does not go on
//! with others than it began with.

use serde_json::Value;

use super::{Config, hooks, tools, turn};
use crate::error::Error;

/// The keys whose values are not all written down.
const HANDED: [&str; 5] = ["customTools", "events", "turn", "cycle", "mcpServers"];

impl Config {
    /// Returns the configuration as it stands in the record of a run: without what servers, tools, hooks and stages are handed.
    ///
    /// # Errors
    /// It cannot be written as JSON, such as a number that is none.
    pub fn recorded(&self) -> serde_json::Result<Value> {
        let mut config = serde_json::to_value(self)?;
        tools::without_values(&mut config);
        hooks::without_values(&mut config);
        turn::without_values(&mut config);
        Ok(config)
    }

    /// Returns the configuration of a run with this record as it counts when the run goes on; `self` is that of today.
    ///
    /// # Errors
    /// Servers, tools, hooks or stages are others than they were, or the record is not of this version.
    pub fn resumed(mut self, recorded: &Value) -> Result<Self, Error> {
        let broken = |e: serde_json::Error| {
            Error::usage("the configuration in the record of the run cannot be used").because(&e)
        };
        self.turn.session = recorded.pointer("/turn/session").and_then(Value::as_str).map(str::to_owned);
        let (today, shown) = (serde_json::to_value(&self).map_err(broken)?, self.recorded().map_err(broken)?);
        let mut config = recorded.clone();
        for key in HANDED {
            if shown.get(key) != recorded.get(key) {
                return Err(Error::usage(format!(
                    "`{key}` of the configuration is not what the run began with"
                ))
                .hint("give it the configuration that it had, with `--config FILE` and `--set`"));
            }
            if let (Some(of), Some(value)) = (config.as_object_mut(), today.get(key)) {
                of.insert(key.to_owned(), value.clone());
            }
        }
        Ok(Self { logging: self.logging, ..serde_json::from_value(config).map_err(broken)? })
    }
}
