//! Owns the reading of a model's answer where JSON was asked for.
//!
//! A code fence around the object is taken off: it is the one deviation that carries no doubt. Prose around an object is refused, because what to
//! cut would be a guess.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Returns the JSON object that `text` is, or what is wrong in words for the model.
pub(super) fn json_object(text: &str) -> Result<Value, String> {
    let body = without_fence(text.trim());
    if body.is_empty() {
        return Err("it was empty".to_owned());
    }
    match serde_json::from_str::<Unambiguous>(body) {
        Ok(Unambiguous(value @ Value::Object(_))) => Ok(value),
        Ok(_) => Err("it is JSON, but not an object".to_owned()),
        Err(e) => Err(format!("it is not valid JSON ({e})")),
    }
}

/// JSON in which no object has a key twice: an answer that says both pass and fail says neither.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Unambiguous(value))) = entries.next_entry::<String, _>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is there twice")));
            }
            map.insert(key, value);
        }
        Ok(map.into())
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
