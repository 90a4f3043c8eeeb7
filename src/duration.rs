//! Owns a length of time as people write it: milliseconds, or text with units.
//!
//! A day has 24 hours. It refuses months, whose lengths differ, zero, and text without a unit: a bare number counts seconds elsewhere.

use jiff::{Span, SpanRelativeTo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// A length of time in milliseconds: a number of them, or text such as `1h 30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DurationText(pub u64);

impl DurationText {
    /// Returns the milliseconds that `text` means: a bare number counts seconds on the command line of other tools, so a unit is required.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a length of time: write a number with a unit, such as `90s`, `10m` or `1h 30m`"
            )
        };
        let span: Span = text.trim().parse().map_err(|_| wrong())?;
        let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
        match u64::try_from(length.as_millis()) {
            Ok(0) | Err(_) => Err(format!("`{text}` is not a length of time above zero")),
            Ok(millis) => Ok(Self(millis)),
        }
    }
}

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match Value::deserialize(deserializer)? {
            Value::Number(number) => millis(&number)
                .map(Self)
                .ok_or_else(|| D::Error::custom("expected whole milliseconds above zero")),
            Value::String(text) => Self::parse(&text).map_err(D::Error::custom),
            _ => Err(D::Error::custom("expected milliseconds or text such as `90s`")),
        }
    }
}

fn millis(number: &Number) -> Option<u64> {
    number.as_u64().filter(|n| *n > 0)
}

impl JsonSchema for DurationText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "integer"], "minimum": 1, "minLength": 1})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_from_milliseconds_to_weeks_are_understood_and_months_are_not() {
        let millis = |text: &str| DurationText::parse(text).map(|length| length.0).ok();
        for (text, expected) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h 30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("PT90S", 90_000),
            ("30d", 2_592_000_000),
            ("2w", 1_209_600_000),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in ["", "5", "0s", "-5s", "1mo", "1y", "soon"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
