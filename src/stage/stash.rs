//! Owns the stash: plain data that stages leave for later ones, by paths with dots.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Plain data, addressed as `retrieval.query`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stash(Map<String, Value>);

impl From<Map<String, Value>> for Stash {
    fn from(values: Map<String, Value>) -> Self {
        Self(values)
    }
}

impl Stash {
    /// Returns everything.
    pub fn values(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the value at a path.
    pub fn get(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let first = self.0.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))
    }

    /// Puts a value at a path; what stands in the way of it and is no map is replaced.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        let mut map = &mut self.0;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let place = map.entry(name).or_insert(Value::Null);
            if names.peek().is_none() {
                *place = value.into();
                return;
            }
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            match place {
                Value::Object(inner) => map = inner,
                // It was made one just now.
                _ => return,
            }
        }
    }

    /// Takes over what is at the top of `other`, key by key.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns whether nothing is stashed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dots_lead_into_maps() {
        let mut stash = Stash::default();
        stash.set("a.b.c", 1);
        stash.set("a.d", "x");
        assert_eq!(serde_json::to_value(&stash).unwrap(), json!({"a": {"b": {"c": 1}, "d": "x"}}));
        assert_eq!(stash.get("a.b.c"), Some(&json!(1)));
        assert_eq!((stash.get("a.x.c"), stash.get("z")), (None, None));
        stash.set("a.d.e", true);
        assert_eq!(stash.get("a.d"), Some(&json!({"e": true})));
    }
}
