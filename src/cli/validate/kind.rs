//! Owns the telling of a file's kind by what is in it.

use std::sync::LazyLock;

use serde_json::Value;

use crate::cli::args::KindArgument as Kind;
use crate::config;
use crate::text;

/// The keys of a configuration.
static CONFIG: LazyLock<Vec<String>> = LazyLock::new(config::keys);

/// The keys of a task.
const PROMPT: [&str; 4] = ["goal", "expectedOutput", "context", "variables"];

/// How lines begin that only a file for tepa has.
const TELLING: [&str; 5] = ["goal:", "expectedOutput:", "\"goal\":", "\"expectedOutput\":", "tepa.replay/"];

/// Returns the kind of a file that a person named, if anything in it tells; a slip in its only telling key counts.
pub(super) fn of_named(value: &Value) -> Option<Kind> {
    sure(value).or_else(|| {
        let keys = || value.as_object().into_iter().flat_map(|map| map.keys());
        let near =
            |known: &[&str]| keys().any(|key| text::did_you_mean(key, known.iter().copied()).is_some());
        let config: Vec<&str> = CONFIG.iter().map(String::as_str).collect();
        if near(&PROMPT) { Some(Kind::Prompt) } else { near(&config).then_some(Kind::Config) }
    })
}

/// Returns the kind of a file that was come across, if it is for tepa at all: others have keys such as `provider` and `tools` as well.
pub(super) fn of_found(value: &Value) -> Option<Kind> {
    let kind = sure(value)?;
    let keys: Vec<&str> =
        value.as_object().into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
    let belongs = match kind {
        Kind::Replay | Kind::Plan => true,
        Kind::Prompt => {
            keys.contains(&"expectedOutput") || keys.contains(&"goal") && keys.contains(&"context")
        }
        Kind::Config => {
            keys.iter().all(|key| key.starts_with("x-") || CONFIG.iter().any(|known| known == key))
        }
    };
    belongs.then_some(kind)
}

/// Returns whether text that cannot be parsed was meant for tepa.
pub(super) fn is_telling(text: &str) -> bool {
    text.lines().any(|line| TELLING.iter().any(|start| line.trim_start_matches(['{', ' ']).contains(start)))
}

fn sure(value: &Value) -> Option<Kind> {
    let says = |key: &str, start: &str| {
        value.get(key).and_then(Value::as_str).is_some_and(|text| text.starts_with(start))
    };
    let has = |key: &str| value.get(key).is_some();
    if says("format", "tepa.replay/") || has("replies") {
        Some(Kind::Replay)
    } else if says("schema", "tepa.plan/") || has("madeFor") {
        Some(Kind::Plan)
    } else if has("goal") || has("expectedOutput") {
        Some(Kind::Prompt)
    } else {
        CONFIG.iter().any(|key| has(key)).then_some(Kind::Config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_told_by_the_keys() {
        for (value, named, found) in [
            (json!({"goal": "g", "context": {}}), Some(Kind::Prompt), Some(Kind::Prompt)),
            (json!({"goal": "g"}), Some(Kind::Prompt), None),
            (json!({"gaol": "g", "contxt": {}}), Some(Kind::Prompt), None),
            (json!({"limits": {}, "x-why": 1}), Some(Kind::Config), Some(Kind::Config)),
            (json!({"services": {}, "secrets": {}}), Some(Kind::Config), None),
            (json!({"on": {}, "jobs": {}}), None, None),
            (json!({"limts": {}}), Some(Kind::Config), None),
            (json!({"replies": []}), Some(Kind::Replay), Some(Kind::Replay)),
            (json!({"schema": "tepa.plan/1"}), Some(Kind::Plan), Some(Kind::Plan)),
            (json!([1]), None, None),
            (json!("x"), None, None),
        ] {
            assert_eq!((of_named(&value), of_found(&value)), (named, found), "{value}");
        }
    }

    #[test]
    fn text_that_cannot_be_parsed_may_still_tell() {
        assert!(is_telling("# a\n  goal: \"x\n"));
        assert!(is_telling("{\"goal\": 1,}"));
        assert!(!is_telling("{{- if .Values.x }}\nkind: Pod\n"));
    }
}
