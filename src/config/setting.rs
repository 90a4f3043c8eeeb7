//! Owns the answer to where a value of the configuration comes from: every value that counts, with who said it.
//!
//! It refuses to show what records of runs do not show: what servers, tools, hooks and stages are handed.

use serde::Serialize;
use serde_json::{Map, Value};

use super::layers::{Layers, Origin, grows};
use super::{hooks, host, tools, turn};
use crate::error::Error;

/// A value of the configuration that counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Where it stands, such as `limits.maxCycles`; a key with a dot in it stands in quotes.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Who said it.
    pub origin: Origin,
    /// The items of a list that grows from layer to layer, each with who said it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// The item.
    pub value: Value,
    /// Who said it.
    pub origin: Origin,
}

impl Layers {
    /// Returns every value that counts with who said it, in the order of the default layer.
    ///
    /// # Errors
    /// What is built in is broken.
    pub fn settings(&self) -> Result<Vec<Setting>, Error> {
        let mut layers = self.stack()?;
        let mut merged = self.merged()?;
        for values in layers.iter_mut().map(|(_, values)| values).chain([&mut merged]) {
            without_values(values);
        }
        let raised: Vec<String> =
            self.raised().into_iter().map(|raised| format!("limits.{}", raised.key)).collect();
        let mut settings = Vec::new();
        let mut walk = Walk { layers: &layers, raised: &raised, path: Vec::new(), settings: &mut settings };
        walk.go(&merged);
        Ok(settings)
    }
}

fn without_values(values: &mut Value) {
    if !values.is_object() {
        return;
    }
    tools::without_values(values);
    hooks::without_values(values);
    turn::without_values(values);
    if let Some(Value::String(url)) = values.get_mut("baseUrl") {
        *url = host::without_secrets(url);
    }
}

struct Walk<'a> {
    layers: &'a [(Origin, Value)],
    /// Limits of files that the command line does not raise.
    raised: &'a [String],
    path: Vec<String>,
    settings: &'a mut Vec<Setting>,
}

impl Walk<'_> {
    fn go(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) if !map.is_empty() => self.below(map),
            value => self.settings.extend(self.setting(value)),
        }
    }

    fn below(&mut self, map: &Map<String, Value>) {
        for (key, value) in map {
            self.path.push(key.clone());
            self.go(value);
            self.path.pop();
        }
    }

    fn setting(&self, value: &Value) -> Option<Setting> {
        let key = dotted(&self.path);
        let by_file = self.raised.contains(&key);
        let counts = |origin: &Origin| !by_file || matches!(origin, Origin::File(_));
        let says = |(origin, layer)| Some((origin, find(layer, &self.path)?));
        let said: Vec<(&Origin, &Value)> = self
            .layers
            .iter()
            .filter(|(origin, _)| counts(origin))
            .map(|(o, l)| (o, l))
            .filter_map(says)
            .collect();
        let (origin, _) = said.last()?;
        let items = match self.path.last() {
            Some(last) if grows(last) && value.is_array() => items(&said),
            _ => Vec::new(),
        };
        Some(Setting { key, value: value.clone(), origin: (*origin).clone(), items })
    }
}

/// Returns the items of a list that grows, each with the layer that brought it.
fn items(said: &[(&Origin, &Value)]) -> Vec<Item> {
    let lists = said.iter().filter_map(|(origin, list)| Some((origin, list.as_array()?)));
    let items = lists.flat_map(|(origin, list)| {
        list.iter().map(|item| Item { value: item.clone(), origin: (**origin).clone() })
    });
    items.collect()
}

/// Returns what a layer says at a place, if it says something.
fn find<'v>(layer: &'v Value, path: &[String]) -> Option<&'v Value> {
    let found = path.iter().try_fold(layer, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

fn dotted(path: &[String]) -> String {
    let quoted = |key: &String| if key.contains(['.', '=']) { format!("\"{key}\"") } else { key.clone() };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(layers: &[(Origin, Value)]) -> Vec<Setting> {
        let mut all = Layers::defaults().unwrap();
        for (origin, values) in layers {
            all.push(origin.clone(), values.clone());
        }
        all.settings().unwrap()
    }

    fn find<'s>(settings: &'s [Setting], key: &str) -> &'s Setting {
        settings.iter().find(|setting| setting.key == key).unwrap()
    }

    #[test]
    fn each_value_is_told_with_the_last_who_said_it() {
        let file = Origin::File("tepa.yaml".into());
        let (variable, flag) = (Origin::Variable("TEPA_X".into()), Origin::Flag("--x".into()));
        let found = settings(&[
            (
                file.clone(),
                json!({"provider": "openai", "limits": {"maxTokens": 10, "maxCycles": 4},
                "denyTools": ["a"], "pricing": {"gpt-4.1": {"input": 1.0, "output": 2.0}}}),
            ),
            (variable.clone(), json!({"limits": {"maxCycles": 3, "maxTokens": null}})),
            (Origin::Set, json!({"denyTools": ["b"], "model": {"planner": "p"}})),
            (flag.clone(), json!({"limits": {"maxTokens": 99}})),
        ]);
        let said = |key: &str| (find(&found, key).value.clone(), find(&found, key).origin.clone());
        assert_eq!(said("limits.maxTokens"), (json!(10), file.clone()), "it stays what the file says");
        assert_eq!(said("limits.maxCycles"), (json!(3), variable));
        assert_eq!(said("limits.toolTimeout"), (json!(30_000), Origin::Default));
        assert_eq!(said("model.planner"), (json!("p"), Origin::Set));
        assert_eq!(said("model.executor").1, Origin::Catalog("openai"));
        assert_eq!(said("pricing.\"gpt-4.1\".input"), (json!(1.0), file.clone()));
        let denied = find(&found, "denyTools");
        assert_eq!(denied.value, json!(["a", "b"]));
        assert_eq!(
            denied.items,
            [Item { value: json!("a"), origin: file }, Item { value: json!("b"), origin: Origin::Set }]
        );
    }

    #[test]
    fn what_is_handed_to_others_is_not_told() {
        let env = json!({"A": "s3cret"});
        let found = settings(&[(
            Origin::File("f".into()),
            json!({"baseUrl": "https://u:s3cret@h.example/v1", "events": {"preStep": [{"command": ["a", "s3cret"], "env": env}, {"command": "b s3cret"}, {"command": "K=s3cret c"}]},
                "mcpServers": {"m": {"command": "x", "args": ["s3cret"], "env": env}, "n": {"url": "https://s3cret@h/", "headers": env}},
                "turn": {"input": [{"command": {"run": "x s3cret", "env": env}}]},
                "customTools": [{"name": "t", "command": ["x", "s3cret"], "env": env}]}),
        )]);
        let text = serde_json::to_string(&found).unwrap();
        assert!(!text.contains("s3cret") && text.contains("***"), "{text}");
        assert_eq!(find(&found, "baseUrl").value, "https://h.example/v1");
        assert_eq!(find(&found, "mcpServers.m.env.A").value, "***");
        assert_eq!(find(&found, "customTools").value[0]["command"], json!(["x", "***"]));
        let hooks = &find(&found, "events.preStep").value;
        assert_eq!(
            json!([hooks[0]["command"], hooks[1]["command"], hooks[2]["command"]]),
            json!([["a", "***"], "b ***", "***"])
        );
    }
}
