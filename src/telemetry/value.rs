//! Owns the making of attributes and events from Rust's own values.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::Event;
use serde::Serialize;

use crate::text;

/// Characters of a text that leaves; collectors refuse requests of some megabytes.
const LONGEST: usize = 32_000;

/// Returns an attribute that is a text.
pub(super) fn words(key: &str, value: &str) -> KeyValue {
    attribute(key, string(value))
}

/// Returns an attribute that is a list of texts.
pub(super) fn list<T: AsRef<str>>(key: &str, values: impl IntoIterator<Item = T>) -> KeyValue {
    let values = values.into_iter().map(|value| AnyValue { value: Some(string(value.as_ref())) }).collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}

/// Returns an attribute that is a count.
pub(super) fn count(key: &str, value: impl TryInto<i64>) -> KeyValue {
    attribute(key, Value::IntValue(value.try_into().unwrap_or(i64::MAX)))
}

/// Returns an attribute that is a measure.
pub(super) fn measure(key: &str, value: f64) -> KeyValue {
    attribute(key, Value::DoubleValue(value))
}

/// Returns an attribute that is yes or no.
pub(super) fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, Value::BoolValue(value))
}

/// Returns an attribute that is the name of a value.
pub(super) fn name(key: &str, value: &impl Serialize) -> KeyValue {
    words(key, &name_of(value))
}

/// Returns the name of a value, as it is written in events.
pub(super) fn name_of(value: &impl Serialize) -> String {
    let written = serde_json::to_value(value).unwrap_or_default();
    written.as_str().unwrap_or_default().to_owned()
}

/// Returns something that happened at a moment within a span.
pub(super) fn event(at: u64, name: &str, attributes: Vec<KeyValue>) -> Event {
    Event { time_unix_nano: at, name: name.to_owned(), attributes, dropped_attributes_count: 0 }
}

fn string(value: &str) -> Value {
    Value::StringValue(text::truncate(value, LONGEST).into_owned())
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
