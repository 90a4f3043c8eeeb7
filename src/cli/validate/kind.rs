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

/// The keys that only a task has.
const TELLING_KEYS: [&str; 2] = ["goal", "expectedOutput"];

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
///
/// One key that others have too does not tell: `secrets` stands beside `services` in files of Compose.
pub(super) fn of_found(value: &Value) -> Option<Kind> {
    let keys = || value.as_object().into_iter().flat_map(|map| map.keys()).filter(|key| !is_free(key));
    match sure(value) {
        Some(Kind::Replay) => says(value, "format", "tepa.replay/").then_some(Kind::Replay),
        Some(kind @ (Kind::Plan | Kind::Prompt)) => Some(kind),
        Some(Kind::Config) | None => {
            let near_goal = keys().any(|key| TELLING_KEYS.into_iter().any(|known| text::is_slip(key, known)));
            if near_goal && PROMPT.iter().any(|key| value.get(key).is_some()) {
                return Some(Kind::Prompt);
            }
            let (known, other): (Vec<_>, Vec<_>) = keys().partition(|key| CONFIG.contains(key));
            let near = |key: &String| CONFIG.iter().any(|known| text::is_slip(key, known));
            let mostly = known.len() > 1 && known.len() >= other.len();
            let any = !known.is_empty() || !other.is_empty();
            (any && (mostly || other.into_iter().all(near))).then_some(Kind::Config)
        }
    }
}

/// Returns whether a key says nothing of what a file is: it is for editors, or for whoever wrote it.
fn is_free(key: &str) -> bool {
    key.starts_with("x-") || key == "$schema"
}

/// Returns whether text that cannot be parsed was meant for tepa.
pub(super) fn is_telling(text: &str) -> bool {
    text.lines().any(|line| TELLING.iter().any(|start| line.trim_start_matches(['{', ' ']).contains(start)))
}

fn sure(value: &Value) -> Option<Kind> {
    let has = |key: &str| value.get(key).is_some();
    if says(value, "format", "tepa.replay/") || has("replies") {
        Some(Kind::Replay)
    } else if says(value, "schema", "tepa.plan/") || has("madeFor") {
        Some(Kind::Plan)
    } else if has("goal") || has("expectedOutput") {
        Some(Kind::Prompt)
    } else {
        CONFIG.iter().any(|key| has(key)).then_some(Kind::Config)
    }
}

fn says(value: &Value, key: &str, start: &str) -> bool {
    value.get(key).and_then(Value::as_str).is_some_and(|text| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_told_by_the_keys() {
        for (value, named, found) in [
            (json!({"goal": "g", "context": {}}), Some(Kind::Prompt), Some(Kind::Prompt)),
            (json!({"goal": "g"}), Some(Kind::Prompt), Some(Kind::Prompt)),
            (json!({"gaol": "g", "context": {}}), Some(Kind::Prompt), Some(Kind::Prompt)),
            (json!({"gaol": "g", "contxt": {}}), Some(Kind::Prompt), None),
            (json!({"limits": {}, "x-why": 1}), Some(Kind::Config), Some(Kind::Config)),
            (json!({"services": {}, "secrets": {}}), Some(Kind::Config), None),
            (json!({"on": {}, "jobs": {}}), None, None),
            (json!({"limts": {}}), Some(Kind::Config), Some(Kind::Config)),
            (json!({"limits": {}, "model": "m", "a": 1, "b": 2}), Some(Kind::Config), Some(Kind::Config)),
            (json!({"limits": {}, "model": "m", "a": 1, "b": 2, "c": 3}), Some(Kind::Config), None),
            (json!({"services": {}}), Some(Kind::Config), None),
            (json!({}), None, None),
            (json!({"replies": []}), Some(Kind::Replay), None),
            (json!({"format": "tepa.replay/1"}), Some(Kind::Replay), Some(Kind::Replay)),
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
