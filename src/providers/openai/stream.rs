//! Owns the events of a stream of the Responses API: the last one holds the whole answer, those before show it growing.
//!
//! It refuses to put an answer together itself, except where the last event leaves out the items that came before.

use serde::Deserialize as _;
use serde_json::Value;

use super::KEY_VARIABLE;
use crate::outcome::Usage;
use crate::provider::ProviderError;
use crate::providers::complaint::Complaint;
use crate::providers::dialect::Collect;
use crate::providers::sse;
use crate::providers::tokens::Tokens;
use crate::text;

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The items that are done.
    items: Vec<Value>,
    /// How many characters have come.
    said: usize,
    whole: Option<Value>,
}

impl Collect for Stream {
    fn take(&mut self, event: &sse::Event) -> Result<Usage, ProviderError> {
        let mut data = event_data(event)?;
        match data["type"].as_str().unwrap_or_default() {
            "response.completed" | "response.incomplete" => {
                let mut response = data["response"].take();
                if response["output"].as_array().is_none_or(Vec::is_empty) && response.is_object() {
                    response["output"] = std::mem::take(&mut self.items).into();
                }
                self.whole = Some(response);
            }
            "response.failed" => return Err(broken_off(&data["response"])),
            "error" => return Err(broken_off(&data)),
            "response.output_item.done" => self.items.push(data["item"].take()),
            _ => self.said += data["delta"].as_str().map_or(0, |delta| delta.chars().count()),
        }
        let counted = self.whole.as_ref().and_then(|whole| Tokens::deserialize(&whole["usage"]).ok());
        let estimated = || Usage { output: text::tokens_in(self.said), ..Usage::default() };
        Ok(counted.map(Usage::from).filter(|usage| usage.total() > 0).unwrap_or_else(estimated))
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        self.whole
    }
}

fn event_data(event: &sse::Event) -> Result<Value, ProviderError> {
    // Servers in front of the API close their streams as those of Chat Completions are closed.
    if event.data.trim() == "[DONE]" {
        return Ok(Value::Null);
    }
    serde_json::from_str(&event.data)
        .map_err(|error| ProviderError::Overloaded(format!("an event of the answer is not JSON: {error}")))
}

fn broken_off(reported: &Value) -> ProviderError {
    Complaint::of(reported).map_or_else(
        || ProviderError::Overloaded("the provider gave up answering without a reason".to_owned()),
        |complaint| complaint.within("the model", KEY_VARIABLE),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn take(stream: &mut Stream, data: &Value) -> Result<Usage, ProviderError> {
        stream.take(&sse::Event { name: None, data: data.to_string() })
    }

    #[test]
    fn the_display_moves_until_the_vendor_has_counted() {
        let mut stream = Stream::default();
        let created =
            json!({"type": "response.created", "response": {"status": "in_progress", "usage": null}});
        assert_eq!(take(&mut stream, &created), Ok(Usage::default()));
        let delta = json!({"type": "response.output_text.delta", "delta": "12345678"});
        assert_eq!(take(&mut stream, &delta).unwrap().output, 2);
        let item = json!({"type": "message", "content": []});
        take(&mut stream, &json!({"type": "response.output_item.done", "item": item})).unwrap();
        let done = json!({"type": "response.completed", "response": {"status": "completed", "output": [],
            "usage": {"input_tokens": 9, "output_tokens": 5}}});
        assert_eq!(take(&mut stream, &done).unwrap(), Usage { input: 9, output: 5, ..Usage::default() });
        stream.take(&sse::Event { name: None, data: "[DONE]".to_owned() }).unwrap();
        assert_eq!(Box::new(stream).whole().unwrap()["output"], json!([item]));
    }

    #[test]
    fn an_error_in_the_stream_is_named_by_what_to_do() {
        let error = |data: Value| take(&mut Stream::default(), &data).unwrap_err();
        let failed = |code: &str| {
            let reported = json!({"code": code, "message": "why"});
            error(json!({"type": "response.failed", "response": {"status": "failed", "error": reported}}))
        };
        assert!(matches!(failed("rate_limit_exceeded"), ProviderError::RateLimited { .. }));
        assert!(matches!(failed("server_error"), ProviderError::Overloaded(_)));
        assert!(matches!(failed("context_length_exceeded"), ProviderError::ContextTooLong(_)));
        assert!(matches!(failed("invalid_prompt"), ProviderError::Refused(_)));
        let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "why", "param": null});
        assert!(matches!(error(flat), ProviderError::RateLimited { .. }));
        let nested = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "why"}});
        assert!(matches!(error(nested), ProviderError::Invalid(_)));
        let silent = json!({"type": "response.failed", "response": {"error": null}});
        assert!(matches!(error(silent), ProviderError::Overloaded(_)));
        let garbled = Stream::default().take(&sse::Event { name: None, data: "{\"type\":".to_owned() });
        assert!(matches!(garbled, Err(ProviderError::Overloaded(_))));
    }
}
