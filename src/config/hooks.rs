//! Owns what a configuration says about hooks: commands that are asked at the eight points of a cycle, and when.
//!
//! It refuses a condition that can never hold where it stands: a guard that is never asked guards nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DurationText;
use super::tools::{custom_tools, star_out, without_arguments};
use crate::check::CommandLine;
use crate::outcome::Verdict;
use crate::source::{Diagnostic, Diagnostics, Document};
use indexmap::IndexMap;

/// Commands that are asked, by the point at which they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct CommandHooks {
    /// Before the planner is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_planner: Option<Vec<CommandHook>>,
    /// Before a plan reaches the executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_planner: Option<Vec<CommandHook>>,
    /// Before the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_executor: Option<Vec<CommandHook>>,
    /// Before each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_step: Option<Vec<CommandHook>>,
    /// After each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_step: Option<Vec<CommandHook>>,
    /// Before results reach the evaluator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_executor: Option<Vec<CommandHook>>,
    /// Before the evaluator is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_evaluator: Option<Vec<CommandHook>>,
    /// Before the verdict stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_evaluator: Option<Vec<CommandHook>>,
}

/// The keys of [`CommandHooks`], in the order of a cycle: lists that grow from layer to layer.
pub(super) const POINTS: [&str; 8] = [
    "prePlanner",
    "postPlanner",
    "preExecutor",
    "preStep",
    "postStep",
    "postExecutor",
    "preEvaluator",
    "postEvaluator",
];

impl CommandHooks {
    /// Returns all hooks, in the order of a cycle.
    pub fn all(&self) -> impl Iterator<Item = &CommandHook> {
        let lists = [
            &self.pre_planner,
            &self.post_planner,
            &self.pre_executor,
            &self.pre_step,
            &self.post_step,
            &self.post_executor,
            &self.pre_evaluator,
            &self.post_evaluator,
        ];
        lists.into_iter().flatten().flatten()
    }
}

/// A command that is asked: data as JSON on its standard input, nothing or other data on its standard output, exit code 2 to stop the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct CommandHook {
    /// A text for the shell, or a program with its arguments; it works in the folder of the run.
    ///
    /// Files that it names are taken as they were when the run began, unless they are expected outputs.
    pub command: CommandLine,
    /// The longest that it may take: milliseconds, or text such as `2m`; 60 seconds if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// Whether the run goes on without its answer when it fails; what it says with exit code 2 counts all the same.
    #[serde(default)]
    pub continue_on_error: bool,
    /// When it is asked; always if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// Variables beside those that every command has; `${NAME}` stands for one of the environment.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Whether it may use the network; `sandbox.network` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

/// Conditions, all of which have to hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(inline)]
pub struct When {
    /// The cycle, or several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycles>,
    /// The verdict as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// A tool that the step uses, or a step of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub tool: Option<String>,
    /// The id of the step, or of a step of the plan or of the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub step: Option<String>,
}

/// Cycles, from 1: a number or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycles(pub Vec<u32>);

impl<'de> Deserialize<'de> for Cycles {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let list = match Value::deserialize(deserializer)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        serde_json::from_value(Value::Array(list)).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Cycles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cycles".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["integer", "array"],
            "minimum": 1,
            "minItems": 1,
            "items": {"type": "integer", "minimum": 1},
        })
    }
}

/// A condition with the points at which it can hold, and why nowhere else.
const CONDITIONS: [(&str, &[&str], &str); 3] = [
    ("verdict", &["postEvaluator"], "there is no verdict yet"),
    (
        "tool",
        &["postPlanner", "preExecutor", "preStep", "postStep"],
        "no step that uses tools is handed over there",
    ),
    (
        "step",
        &["postPlanner", "preExecutor", "preStep", "postStep", "postExecutor", "preEvaluator"],
        "no step is handed over there",
    ),
];

/// Finds the conditions of hooks that can never hold.
pub(super) fn check(document: &Document, known_tools: &[&str], faults: &mut Diagnostics) {
    let root = document.value();
    let known: Vec<&str> = known_tools.iter().copied().chain(custom_tools(root)).collect();
    for point in POINTS {
        let list = root.pointer(&format!("/events/{point}")).and_then(Value::as_array);
        for (at, hook) in list.into_iter().flatten().enumerate() {
            let Some(when) = hook.get("when").and_then(Value::as_object) else { continue };
            let place = |key: &str| format!("/events/{point}/{at}/when/{key}");
            for (key, points, why) in CONDITIONS {
                if says(when, key) && !points.contains(&point) {
                    let message = format!("`{key}` can never hold at `{point}`: {why}");
                    let fault = Diagnostic::error("never", message).at(document.span_of_key(&place(key)));
                    faults.push(fault.hint(format!("`{key}` is for {}", crate::text::ticked(points))));
                }
            }
            let Some(tool) = when.get("tool").and_then(Value::as_str) else { continue };
            // Which tools a server has is known when it runs.
            if !known.contains(&tool) && !tool.contains("__") {
                let fault = Diagnostic::error("unknown-tool", format!("unknown tool `{tool}`"))
                    .at(document.span_of_value(&place("tool")));
                faults.push(fault.suggest(tool, known.iter().copied()));
            }
        }
    }
}

fn says(when: &Map<String, Value>, key: &str) -> bool {
    when.get(key).is_some_and(|value| !value.is_null())
}

/// Takes out of a configuration that is about to be recorded what hooks are handed: people write secrets there.
pub(super) fn without_values(config: &mut Value) {
    let lists = config["events"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for hook in lists.filter_map(Value::as_array_mut).flatten() {
        star_out(hook.get_mut("env"));
        without_arguments(hook.get_mut("command"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Origin, load};
    use crate::source::{Format, SourceFile, UnknownKeys};
    use serde_json::json;

    fn faults(yaml: &str) -> Vec<(String, String)> {
        let file = SourceFile::from_text("c.yaml", format!("events:\n  {yaml}\n"), Format::Yaml);
        let document = Document::parse(file).unwrap();
        let faults = match load(&document, &["file_read", "shell_execute"], UnknownKeys::Refuse) {
            Ok((_, faults)) | Err(faults) => faults,
        };
        let place = |fault: &Diagnostic| fault.span.map_or("", |span| document.file().slice(span)).to_owned();
        faults.iter().map(|fault| (fault.message.clone(), place(fault))).collect()
    }

    #[test]
    fn every_key_is_read_and_the_short_forms_are() {
        let all = "preStep: [{command: [a, b], timeout: 2m, continueOnError: true, network: true, env: {A: b}, \
                   when: {cycle: [1, 2], tool: shell_execute, step: s}}]";
        assert_eq!(faults(all), []);
        assert_eq!(
            faults("postEvaluator: [{command: a | b, when: {cycle: 2, verdict: pass}}]\n  preStep:"),
            []
        );
    }

    #[test]
    fn unknown_names_are_refused_at_their_place() {
        for (yaml, message, place) in [
            ("postPlaner: [{command: a}]", "unknown key `postPlaner`", "postPlaner"),
            ("preStep: [{comand: a, command: b}]", "unknown key `comand`", "comand"),
            ("preStep: [{command: a, when: {stpe: b}}]", "unknown key `stpe`", "stpe"),
            (
                "preStep: [{command: a, when: {tool: shel_execute}}]",
                "unknown tool `shel_execute`",
                "shel_execute",
            ),
        ] {
            assert_eq!(faults(yaml), [(message.to_owned(), place.to_owned())], "{yaml}");
        }
        for yaml in [
            "preStep: [{command: [], timeout: 1}]",
            "preStep: [{command: '  '}]",
            "preStep: [{timeout: 5}]",
            "preStep: [{command: a, timeout: 0}]",
            "preStep: [{command: a, when: {cycle: 0}}]",
            "preStep: [{command: a, when: {cycle: []}}]",
            "postEvaluator: [{command: a, when: {verdict: maybe}}]",
            "preStep: {command: a}",
        ] {
            assert_eq!(faults(yaml).len(), 1, "{yaml}: {:?}", faults(yaml));
        }
    }

    #[test]
    fn the_points_are_the_keys_in_the_order_of_a_cycle() {
        let list = |point: &str| (point.to_owned(), json!([{"command": point}]));
        let all: Map<String, Value> = POINTS.into_iter().rev().map(list).collect();
        let hooks: CommandHooks = serde_json::from_value(Value::Object(all)).unwrap();
        let commands: Vec<String> = hooks.all().map(|hook| hook.command.to_string()).collect();
        assert_eq!(commands, POINTS);
        let keys = serde_json::to_value(&hooks).unwrap();
        assert_eq!(keys.as_object().unwrap().keys().collect::<Vec<_>>(), POINTS.each_ref());
    }

    #[test]
    fn a_condition_that_can_never_hold_is_refused() {
        let mut refused = Vec::new();
        for point in POINTS {
            for (key, value) in [("cycle", "1"), ("verdict", "fail"), ("tool", "file_read"), ("step", "s")] {
                if let [(_, place)] =
                    &faults(&format!("{point}: [{{command: a, when: {{{key}: {value}}}}}]"))[..]
                {
                    assert_eq!(place, key);
                    refused.push(format!("{point} {key}"));
                }
            }
        }
        assert_eq!(refused.len(), 7 + 4 + 2, "{refused:?}");
        let (message, _) = faults("preStep: [{command: a, when: {verdict: pass}}]").remove(0);
        assert_eq!(message, "`verdict` can never hold at `preStep`: there is no verdict yet");
    }

    #[test]
    fn hooks_of_a_later_layer_come_after_those_that_are_there_and_what_they_are_handed_is_not_recorded() {
        let mut layers = Layers::defaults().unwrap();
        let hook = |name: &str| json!({"command": [name], "env": {"T": "a secret"}});
        layers.push(Origin::File("a".into()), json!({"events": {"preStep": [hook("guard")]}}));
        layers.push(Origin::File("b".into()), json!({"events": {"preStep": [], "postStep": null}}));
        layers
            .push(Origin::CommandLine, json!({"events": {"preStep": [hook("b")], "postStep": [hook("c")]}}));
        let config = layers.resolve().unwrap();
        let names: Vec<String> = config.events.all().map(|hook| hook.command.to_string()).collect();
        assert_eq!(names, ["guard", "b", "c"]);
        let recorded = config.recorded().unwrap();
        assert_eq!(recorded["events"]["preStep"][1]["env"], json!({"T": "***"}));
        assert!(!recorded.to_string().contains("a secret"));
    }
}
