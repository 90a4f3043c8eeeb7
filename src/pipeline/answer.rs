//! Owns the reading of a model's answer where JSON was asked for.
//!
//! A code fence around the object is taken off: it is the one deviation that carries no doubt. Prose around an object is refused, because what to
//! cut would be a guess.

use serde_json::Value;

use crate::source::parse_strict_json;

/// Returns the JSON object that `text` is, or what is wrong in words for the model.
pub(super) fn json_object(text: &str) -> Result<Value, String> {
    let body = without_fence(text.trim());
    if body.is_empty() {
        return Err("it was empty".to_owned());
    }
    // An answer that says both pass and fail says neither.
    match parse_strict_json(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("it is JSON, but not an object".to_owned()),
        Err(e) => Err(format!("it is not valid JSON ({e})")),
    }
}

fn without_fence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    // The rest of the opening line is the language.
    inner.split_once('\n').map_or(inner, |(_, body)| body).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_with_or_without_a_fence() {
        for text in ["{\"a\":1}", " \n{\"a\":1}\n", "```json\n{\"a\":1}\n```", "```\n{\"a\":1}\n```"] {
            assert_eq!(json_object(text).unwrap()["a"], 1, "{text}");
        }
    }

    #[test]
    fn anything_else_says_what_is_wrong() {
        assert_eq!(json_object("  ").unwrap_err(), "it was empty");
        let twice = json_object(r#"{"verdict": "fail", "a": [{"b": 1.5}], "verdict": "pass"}"#).unwrap_err();
        assert!(twice.contains("the key `verdict` is there twice"), "{twice}");
        assert_eq!(json_object("[1]").unwrap_err(), "it is JSON, but not an object");
        assert!(json_object("Here is the plan: {}").unwrap_err().starts_with("it is not valid JSON"));
    }
}
