//! Owns the reading of JSON that a program wrote: one value, and every key once.
//!
//! It refuses a key that stands twice in one object: whoever looks at the answer sees the first one, and the last one would count.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Returns the value of a text that is JSON.
///
/// # Errors
/// It is not one JSON value, or an object in it has a key twice.
pub fn parse_strict_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).map(|Strict(value)| value)
}

/// A value without keys that stand twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
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
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_says_is_read_as_it_is() {
        let text = r#"{"b": [null, true, -1, 18446744073709551615, 1.5, "\u00e9", {}], "a": {"b": 1}}"#;
        assert_eq!(parse_strict_json(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(parse_strict_json("{} {}").is_err() && parse_strict_json("").is_err());
        assert!(parse_strict_json(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_key_stands_once_at_every_depth() {
        for text in [
            r#"{"withhold": "a", "withhold": null}"#,
            r#"[1, {"x": {"withhold": "a", "b": 1, "\u0077ithhold": "b"}}]"#,
        ] {
            let fault = parse_strict_json(text).unwrap_err().to_string();
            assert!(fault.starts_with("the key `withhold` is there twice"), "{fault}");
        }
        assert!(parse_strict_json(r#"[{"a": {"a": 1}}, {"a": 1}]"#).is_ok());
    }
}
