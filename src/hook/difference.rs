//! Owns where two JSON values differ, as pointers for people to read.

use serde_json::Value;

/// How many places are named.
const MOST_NAMED: usize = 20;

/// Returns the JSON pointer of each value that is other, new or gone in `after`, the outermost of each; a last `…` stands for what is more.
pub(super) fn between(before: &Value, after: &Value) -> Vec<String> {
    let mut places = Vec::new();
    walk(before, after, String::new(), &mut places);
    if places.len() > MOST_NAMED {
        places.truncate(MOST_NAMED);
        places.push("…".to_owned());
    }
    places
}

fn walk(before: &Value, after: &Value, pointer: String, places: &mut Vec<String>) {
    // One more than is named says that there are more.
    if before == after || places.len() > MOST_NAMED {
        return;
    }
    let mut enter = |name: &str, before: Option<&Value>, after: Option<&Value>| {
        let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (before, after) {
            (Some(before), Some(after)) => walk(before, after, pointer, places),
            _ => places.push(pointer),
        }
    };
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                enter(name, Some(value), after.get(name));
            }
            for (name, value) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
                enter(name, None, Some(value));
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for at in 0..before.len().max(after.len()) {
                enter(&at.to_string(), before.get(at), after.get(at));
            }
        }
        _ => places.push(pointer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_other_new_or_gone_is_named() {
        let before = json!({"a": 1, "b": {"c/d": [1, 2, 3]}, "gone": null, "same": [1]});
        let after = json!({"same": [1], "a": "1", "b": {"c/d": [1, 9]}, "new": {"x": 1}});
        assert_eq!(between(&before, &after), ["/a", "/b/c~1d/1", "/b/c~1d/2", "/gone", "/new"]);
        assert!(between(&before, &before).is_empty());
        assert_eq!(between(&json!(1), &json!(2)), [""]);
    }

    #[test]
    fn a_flood_is_cut() {
        let after: Vec<u32> = (0..1000).collect();
        let places = between(&json!([]), &json!(after));
        assert_eq!((places.len(), places[19].as_str(), places[20].as_str()), (21, "/19", "…"));
        let after: Vec<u32> = (0..20).collect();
        assert_eq!(between(&json!([]), &json!(after)).len(), 20);
    }
}
