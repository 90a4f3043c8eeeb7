//! Owns the arguments of a tool call that come as JSON in a string; it refuses half of them, so that nothing is done that nobody asked for.

use serde_json::{Value, json};

use crate::provider::ProviderError;
use crate::text;

/// Returns the arguments that `text` holds; none at all are an empty object.
pub(super) fn read(text: &str, model: &str) -> Result<Value, ProviderError> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    let why = match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => return Ok(arguments),
        Ok(_) => "they are no JSON object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(ProviderError::Overloaded(format!(
        "the arguments of the tool call of `{model}` cannot be read: {why}"
    )))
}

/// Returns the error of a tool call that ran into the limit of `output` tokens.
pub(super) fn cut_off(model: &str, output: u64) -> ProviderError {
    let cut = text::plural("token", usize::try_from(output).unwrap_or(usize::MAX));
    ProviderError::Overloaded(format!("the tool call of `{model}` was cut off after {cut}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_object_is_taken() {
        assert_eq!(read(r#"{"path": "a"}"#, "m"), Ok(json!({"path": "a"})));
        assert_eq!(read(" ", "m"), Ok(json!({})));
        for broken in [r#"{"path": "a"#, "[1]", "null", "{}{}"] {
            assert!(matches!(read(broken, "m"), Err(ProviderError::Overloaded(_))), "{broken}");
        }
    }
}
