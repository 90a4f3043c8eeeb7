//! Owns what a configuration says about turns: the session, the store, and the stages around a run and around each of its cycles.
//!
//! It refuses a stage where it cannot do its work, and one that could do none: a guard that refuses nothing guards nothing. A list of stages
//! replaces that of a layer below, because their order is their meaning.

mod check;
mod memory;
mod order;
mod session;
mod stage;
mod store;
mod whereabouts;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::order::check_order;
use self::whereabouts::check_store;
use super::tools::{star_out, without_arguments};
use crate::turn::Scope;

pub(super) use check::check;
pub use memory::Memory;
pub use session::{SessionKeyError, session_key};
pub use stage::{
    Budget, CommandStage, History, Policy, Redacted, Refusal, Retrieve, Safety, Stage, Standing, Telemetry,
};
pub use store::Store;

/// The lists of stages.
const LISTS: [Scope; 4] = [Scope::TurnInput, Scope::TurnOutput, Scope::DispatchInput, Scope::DispatchOutput];

/// Returns where a list of stages stands in a configuration, as a JSON pointer.
fn pointer(scope: Scope) -> String {
    format!("/{}", scope.key().replace('.', "/"))
}

/// Takes out of a configuration that is about to be recorded what stages are handed: people write secrets there.
pub(super) fn without_values(config: &mut Value) {
    for list in LISTS {
        let stages = config.pointer_mut(&pointer(list)).and_then(Value::as_array_mut);
        for stage in stages.into_iter().flatten() {
            star_out(stage.pointer_mut("/command/env"));
            without_arguments(stage.pointer_mut("/command/run"));
        }
    }
}

/// What happens once a run, before its first cycle and after it passed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Turn {
    /// The key under which runs share history and memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What is kept between runs, and where.
    pub store: Store,
    /// The stages before the first cycle, in order.
    pub input: Vec<Stage>,
    /// The stages after the run passed, in order.
    pub output: Vec<Stage>,
}

impl Turn {
    /// Returns whether a run has neither stages nor a session.
    pub fn is_empty(&self) -> bool {
        self.session.is_none() && self.input.is_empty() && self.output.is_empty()
    }
}

/// What happens once a cycle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CycleStages {
    /// The stages before the planner, in order.
    pub input: Vec<Stage>,
    /// The stages after the judge, in order.
    pub output: Vec<Stage>,
}

impl CycleStages {
    /// Returns whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }
}

/// What happens once a run, as a file says it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct TurnFile {
    /// The key under which runs share history and memory.
    #[schemars(length(min = 1))]
    pub session: Option<String>,
    /// What is kept between runs, and where.
    pub store: Option<Store>,
    /// The stages before the first cycle, in order; they replace those of layers below.
    pub input: Option<Vec<Stage>>,
    /// The stages after the run passed, in order, the most important write first; they replace those of layers below.
    pub output: Option<Vec<Stage>>,
}

/// What happens once a cycle, as a file says it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct CycleFile {
    /// The stages before the planner, in order; they replace those of layers below.
    pub input: Option<Vec<Stage>>,
    /// The stages after the judge, in order; they replace those of layers below.
    pub output: Option<Vec<Stage>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Layers, Origin, load};
    use crate::source::{Document, SourceFile, UnknownKeys};
    use crate::turn::TrustTier;

    #[test]
    fn everything_that_a_file_may_say_has_a_default_that_says_nothing() {
        let config = Layers::defaults().unwrap().resolve().unwrap();
        assert_eq!((&config.turn, &config.cycle), (&Turn::default(), &CycleStages::default()));
        assert_eq!(config.turn.store, Store::Sqlite { path: ".tepa/tepa.db".to_owned() });
        assert!(config.turn.is_empty());
        let recorded = config.recorded().unwrap();
        assert_eq!((recorded.get("turn"), recorded.get("cycle")), (None, None));
    }

    #[test]
    fn the_examples_say_what_they_are_and_are_valid() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/examples/turns");
        for name in ["recall", "documents", "guard"] {
            let path = folder.join(format!("{name}.yaml"));
            assert!(std::fs::read_to_string(&path).unwrap().starts_with("# "), "{name}");
            let document = Document::parse(SourceFile::read(&path, name).unwrap()).unwrap();
            let (layer, warnings) = load(&document, &[], UnknownKeys::Refuse)
                .unwrap_or_else(|faults| panic!("{}", faults.render(false, 100)));
            assert!(warnings.is_empty());
            let mut layers = Layers::defaults().unwrap();
            layers.push(Origin::CommandLine, layer);
            assert!(!layers.resolve().unwrap().turn.input.is_empty());
        }
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3, "an example that is not looked at");
    }

    #[test]
    fn stages_are_whole_whatever_was_left_out() {
        let stage = |written: Value| serde_json::from_value::<Stage>(written).unwrap();
        for (written, whole) in [
            (json!({"memory": {}}), json!({"memory": {"minConfidence": 0.0, "limit": 20}})),
            (
                json!({"memory": {"write": "summary"}}),
                json!({"memory": {"write": "summary", "confidence": 0.5, "importance": 0.5}}),
            ),
            (json!({"history": {}}), json!({"history": {"maxTurns": 5, "budgetTokens": 4000}})),
            (
                json!({"budget": {"contextWindow": 9}}),
                json!({"budget": {"contextWindow": 9, "reserve": 0, "onOverflow": "abort"}}),
            ),
            (
                json!({"safety": {"redact": ["a"]}}),
                json!({"safety": {"redact": ["a"], "scope": ["messages", "toolCalls"]}}),
            ),
            (
                json!({"policy": {"denyPatterns": ["a"]}}),
                json!({"policy": {"denyPatterns": ["a"], "onMatch": "abort"}}),
            ),
        ] {
            let read = stage(written);
            assert_eq!(serde_json::to_value(&read).unwrap(), whole);
            assert_eq!(stage(whole), read);
        }
        let read = stage(json!({"retrieve": {"files": ["a"], "trust": "third-party-private"}}));
        let Stage::Retrieve(retrieve) = read else { panic!("another stage") };
        assert_eq!(
            (retrieve.trust, retrieve.top_k, retrieve.min_score),
            (TrustTier::ThirdPartyPrivate, 6, 0.0)
        );
        assert!(serde_json::from_value::<Stage>(json!({"retrieve": {"files": ["a"]}})).is_err());
    }

    #[test]
    fn a_later_list_takes_the_place_of_an_earlier_one_and_what_stages_are_handed_is_not_recorded() {
        let mut layers = Layers::defaults().unwrap();
        let command = |name: &str| json!({"command": {"run": [name], "env": {"T": "a secret"}}});
        let first =
            json!({"turn": {"session": "s", "store": "none", "input": [command("a"), {"history": {}}]}});
        layers.push(Origin::File("a".into()), first);
        let second = json!({"turn": {"store": {"kind": "sqlite", "path": "x"}, "input": [command("b")]}});
        layers.push(Origin::File("b".into()), second);
        let config = layers.resolve().unwrap();
        assert_eq!(config.turn.store, Store::Sqlite { path: "x".to_owned() });
        assert_eq!((config.turn.session.as_deref(), config.turn.input.len()), (Some("s"), 1));
        let recorded = config.recorded().unwrap();
        let command = json!({"command": {"run": ["b"], "env": {"T": "***"}}});
        assert_eq!(recorded["turn"]["input"], json!([command]));
        layers.push(Origin::CommandLine, json!({"turn": {"store": "none", "input": []}}));
        let config = layers.resolve().unwrap();
        assert_eq!((config.turn.store, config.turn.input.len()), (Store::None, 0));
    }
}
