//! Owns the settings of the stage `memory`, which loads before a run and leaves something after it.
//!
//! Its keys are known everywhere; those that mean nothing where it stands are refused with the place of the list in mind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done with memories: loaded before a run, left after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "MemoryKeys", into = "MemoryKeys")]
pub enum Memory {
    /// What earlier runs left is loaded, by importance and confidence.
    Load {
        /// Those that are at least so sure, from 0 to 1.
        min_confidence: f64,
        /// As many at most.
        limit: usize,
    },
    /// The summary of the judge is left for later runs.
    Leave {
        /// How sure it is, from 0 to 1.
        confidence: f64,
        /// How much it matters, from 0 to 1.
        importance: f64,
    },
}

/// The keys of `memory`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct MemoryKeys {
    /// Before a run: memories that are at least so sure, from 0 to 1; 0 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    min_confidence: Option<f64>,
    /// Before a run: as many at most; 20 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// After a run: what is left for later ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<Written>,
    /// After a run: how sure that is, from 0 to 1; 0.5 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// After a run: how much it matters, from 0 to 1; 0.5 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    importance: Option<f64>,
}

/// Keys of `memory` that mean something before a run.
pub(super) const OF_LOADING: [&str; 2] = ["minConfidence", "limit"];

/// Keys of `memory` that mean something after it.
pub(super) const OF_LEAVING: [&str; 3] = ["write", "confidence", "importance"];

/// What a run leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Written {
    /// What the judge says was accomplished.
    Summary,
}

impl From<MemoryKeys> for Memory {
    fn from(keys: MemoryKeys) -> Self {
        match keys.write {
            None => Self::Load {
                min_confidence: keys.min_confidence.unwrap_or(0.0),
                limit: keys.limit.unwrap_or(20),
            },
            Some(Written::Summary) => Self::Leave {
                confidence: keys.confidence.unwrap_or(0.5),
                importance: keys.importance.unwrap_or(0.5),
            },
        }
    }
}

impl From<Memory> for MemoryKeys {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Load { min_confidence, limit } => {
                Self { min_confidence: Some(min_confidence), limit: Some(limit), ..Self::default() }
            }
            Memory::Leave { confidence, importance } => Self {
                write: Some(Written::Summary),
                confidence: Some(confidence),
                importance: Some(importance),
                ..Self::default()
            },
        }
    }
}

impl JsonSchema for Memory {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        MemoryKeys::json_schema(generator)
    }
}
