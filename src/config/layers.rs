//! Owns how layers become one configuration: deep merge, later wins, lists are replaced whole unless they deny, keep secret or watch.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::hooks::POINTS;
use super::{Catalog, Config, ProviderKind};
use crate::error::Error;

/// The default layer, as a user would write it.
const DEFAULTS: &str = include_str!("../../config/default.yaml");

/// Where a layer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The models of the provider that was chosen, by its name.
    Catalog(&'static str),
    /// A file, as it is called in messages.
    File(String),
    /// A variable of the environment.
    Variable(String),
    /// The flag that says any value.
    Set,
    /// A flag for the value.
    Flag(String),
    /// Whoever starts the run, without a word on how: a program that embeds tepa.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Catalog(provider) => write!(f, "catalog of {provider}"),
            Self::File(name) | Self::Variable(name) | Self::Flag(name) => f.write_str(name),
            Self::Set => f.write_str("--set"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The limits that say how much a run may use up.
const BUDGETS: [&str; 5] = ["maxCycles", "maxTokens", "maxCostUsd", "maxDuration", "maxToolCalls"];

/// A limit of a file that the command line would raise.
#[derive(Debug, Clone, PartialEq)]
pub struct Raised {
    /// Its key under `limits`.
    pub key: &'static str,
    /// What the command line says.
    pub asked: Value,
    /// What the file says, which counts.
    pub stays: Value,
}

/// Layers of a configuration, lowest first.
///
/// ```
/// use serde_json::json;
/// use tepa::config::{Layers, Origin};
///
/// let mut layers = Layers::defaults()?;
/// layers.push(Origin::File("tepa.yaml".into()), json!({"limits": {"maxCycles": 3}}));
/// layers.push(Origin::CommandLine, json!({"limits": {"maxCycles": 9, "maxTokens": 5000}}));
/// let limits = layers.resolve()?.limits;
/// // The command line lowers the limits of files, and does not raise them.
/// assert_eq!((limits.max_cycles, limits.max_tokens), (3, 5000));
/// # Ok::<(), tepa::error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Layers {
    layers: Vec<(Origin, Value)>,
}

impl Layers {
    /// Returns the built-in layer alone.
    pub fn defaults() -> Result<Self, Error> {
        let defaults = crate::source::parse_yaml_value(DEFAULTS, 10_000)
            .map_err(|e| Error::broken(format!("the built-in configuration is broken: {e}")))?;
        Ok(Self { layers: vec![(Origin::Default, defaults)] })
    }

    /// Adds a layer that wins over those below it; a null in it says nothing.
    pub fn push(&mut self, origin: Origin, values: Value) {
        self.layers.push((origin, values));
    }

    /// Returns what the files among the layers say at a place, if they say something.
    pub fn said(&self, pointer: &str) -> Option<Value> {
        let mut files = json!({});
        for (_, layer) in self.layers.iter().filter(|(origin, _)| matches!(origin, Origin::File(_))) {
            merge(&mut files, layer);
        }
        files.pointer(pointer).filter(|value| !value.is_null()).cloned()
    }

    /// Returns the limits of files that the command line would raise: the smaller one counts, whoever starts the run.
    pub fn raised(&self) -> Vec<Raised> {
        let (mut files, mut flags) = (json!({}), json!({}));
        for (origin, layer) in &self.layers {
            match origin {
                Origin::Default | Origin::Catalog(_) => {}
                Origin::File(_) => merge(&mut files, layer),
                Origin::Variable(_) | Origin::Set | Origin::Flag(_) | Origin::CommandLine => {
                    merge(&mut flags, layer);
                }
            }
        }
        let limit = |of: &Value, key: &str| of["limits"][key].as_f64();
        let raised = BUDGETS.iter().filter(|key| {
            limit(&files, key).zip(limit(&flags, key)).is_some_and(|(stays, asked)| asked > stays)
        });
        raised
            .map(|key| Raised {
                key,
                asked: flags["limits"][key].clone(),
                stays: files["limits"][key].clone(),
            })
            .collect()
    }

    /// Returns the configuration that the layers add up to.
    pub fn resolve(&self) -> Result<Config, Error> {
        serde_path_to_error::deserialize(self.merged()?).map_err(|e| {
            Error::broken(format!("the configuration does not add up at `{}`: {}", e.path(), e.inner()))
        })
    }

    /// Returns all values that count.
    pub(super) fn merged(&self) -> Result<Value, Error> {
        let mut merged = json!({});
        for (_, layer) in &self.stack()? {
            merge(&mut merged, layer);
        }
        for Raised { key, stays, .. } in self.raised() {
            merged["limits"][key] = stays;
        }
        Ok(merged)
    }

    /// Returns the layers with the models of the provider that they choose, lowest first.
    pub(super) fn stack(&self) -> Result<Vec<(Origin, Value)>, Error> {
        let mut chosen = json!({});
        for (_, layer) in &self.layers {
            merge(&mut chosen, layer);
        }
        let mut stack = self.layers.clone();
        if let Some((provider, models)) = models_of(chosen.get("provider"))? {
            stack.insert(1, (Origin::Catalog(provider.name()), models));
        }
        Ok(stack)
    }
}

/// Returns the models of the provider that was chosen, as a layer just above the built-in one.
fn models_of(provider: Option<&Value>) -> Result<Option<(ProviderKind, Value)>, Error> {
    let kind = provider.and_then(|provider| serde_json::from_value::<ProviderKind>(provider.clone()).ok());
    Ok(match kind {
        None | Some(ProviderKind::Anthropic | ProviderKind::Replay) => None,
        // A server of any kind has no model that could be taken for granted: empty names are refused when it is connected.
        Some(kind @ ProviderKind::OpenAiCompatible) => {
            Some((kind, json!({"model": {"planner": "", "executor": "", "evaluator": ""}})))
        }
        Some(kind) => Some((kind, json!({"model": Catalog::load()?.defaults(kind)}))),
    })
}

fn merge(into: &mut Value, layer: &Value) {
    match (into, layer) {
        (_, Value::Null) => {}
        (Value::Object(into), Value::Object(layer)) => merge_maps(into, layer),
        (into, layer) => *into = layer.clone(),
    }
}

/// Lists that grow from layer to layer, as those of hooks do: what one of them denies, keeps secret or watches, a later one cannot give away
/// by saying something else.
const GROWING: [&str; 4] = ["denyTools", "hidden", "env", "files"];

/// Returns whether lists under a key grow from layer to layer.
pub fn grows(key: &str) -> bool {
    GROWING.contains(&key) || POINTS.contains(&key)
}

fn merge_maps(into: &mut Map<String, Value>, layer: &Map<String, Value>) {
    for (key, value) in layer {
        match (into.get_mut(key), value) {
            (Some(Value::Array(old)), Value::Array(new)) if grows(key) => {
                old.extend(new.iter().cloned());
            }
            (Some(old), _) => merge(old, value),
            (None, Value::Null) => {}
            (None, _) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoggingLevel;

    #[test]
    fn the_defaults_are_those_of_the_seeds() {
        let config = Layers::defaults().unwrap().resolve().unwrap();
        assert_eq!(config.model.planner, "claude-sonnet-4-6");
        assert_eq!(config.model.executor, "claude-haiku-4-5");
        assert_eq!(config.model.evaluator, "claude-sonnet-4-6");
        assert_eq!(config.limits.max_cycles, 5);
        assert_eq!(config.limits.max_tokens, 64_000);
        assert_eq!(config.limits.tool_timeout, 30_000);
        assert_eq!(config.limits.retry_attempts, 1);
        assert!(config.tools.is_empty());
        assert_eq!(config.logging.level, LoggingLevel::Standard);
    }

    #[test]
    fn a_layer_changes_only_what_it_says_and_later_ones_win() {
        let mut layers = Layers::defaults().unwrap();
        layers.push(
            Origin::File("a".into()),
            json!({"limits": {"maxCycles": 2, "maxTokens": 10}, "tools": ["a", "b"], "denyTools": ["d"], "secrets": {"env": ["X"]}}),
        );
        layers.push(
            Origin::File("b".into()),
            json!({"limits": {"maxCycles": 3, "toolTimeout": null}, "tools": ["c"], "denyTools": ["e"], "secrets": {"env": []}}),
        );
        let config = layers.resolve().unwrap();
        assert_eq!(
            (config.limits.max_cycles, config.limits.max_tokens, config.limits.tool_timeout),
            (3, 10, 30_000)
        );
        assert_eq!(config.tools, ["c"]);
        // What denies or hides is not taken back.
        assert_eq!(config.deny_tools, ["d", "e"]);
        assert_eq!(config.secrets.env, ["X"]);
    }

    #[test]
    fn the_command_line_lowers_the_budgets_of_files_and_raises_only_defaults() {
        let mut layers = Layers::defaults().unwrap();
        layers.push(Origin::File("a".into()), json!({"limits": {"maxTokens": 100, "maxDuration": 5000}}));
        let asked = json!({"limits": {"maxTokens": 200, "maxDuration": 1000, "maxCycles": 50}});
        layers.push(Origin::CommandLine, asked);
        let limits = layers.resolve().unwrap().limits;
        assert_eq!((limits.max_tokens, limits.max_duration, limits.max_cycles), (100, Some(1000), 50));
        assert_eq!(layers.raised(), [Raised { key: "maxTokens", asked: json!(200), stays: json!(100) }]);
    }
}
