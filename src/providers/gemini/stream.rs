//! Owns the folding of a stream of `streamGenerateContent` into the body of one answer: parts are strung together, all else is replaced.
//!
//! It refuses to call a stream whole before the API gave a reason for its end.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::failure;
use super::wire::Tokens;
use crate::outcome::Usage;
use crate::provider::ProviderError;
use crate::providers::dialect::Collect;
use crate::providers::sse;
use crate::text;

/// What came of a stream so far.
#[derive(Default)]
pub(super) struct Collected {
    parts: Vec<Value>,
    /// The fields of the first candidate beside its content.
    candidate: Map<String, Value>,
    /// The fields of the answer beside its candidates.
    body: Map<String, Value>,
    tokens: Map<String, Value>,
    characters: usize,
}

impl Collect for Collected {
    fn take(&mut self, event: &sse::Event) -> Result<Usage, ProviderError> {
        let unreadable =
            |why: &str| ProviderError::Overloaded(format!("an event of the stream cannot be read: {why}"));
        let data: Value =
            serde_json::from_str(&event.data).map_err(|error| unreadable(&error.to_string()))?;
        if let Some(complaint) = failure::complaint(&data) {
            return Err(complaint.in_stream());
        }
        let Value::Object(mut piece) = data else { return Err(unreadable("it is no object")) };
        if let Some(Value::Array(candidates)) = piece.remove("candidates")
            && let Some(Value::Object(candidate)) = candidates.into_iter().next()
        {
            self.take_candidate(candidate);
        }
        if let Some(Value::Object(tokens)) = piece.remove("usageMetadata") {
            self.tokens.extend(tokens);
        }
        self.body.extend(piece);
        let tokens = Tokens::deserialize(&self.tokens).map_err(|error| unreadable(&error.to_string()))?;
        Ok(tokens.usage(text::tokens_in(self.characters)))
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let Self { parts, mut candidate, mut body, tokens, .. } = *self;
        if candidate.contains_key("finishReason") {
            candidate.insert("content".to_owned(), json!({"role": "model", "parts": parts}));
            body.insert("candidates".to_owned(), json!([candidate]));
        } else if body.get("promptFeedback").is_none_or(|feedback| feedback["blockReason"].is_null()) {
            return None;
        }
        if !tokens.is_empty() {
            body.insert("usageMetadata".to_owned(), tokens.into());
        }
        Some(body.into())
    }
}

impl Collected {
    fn take_candidate(&mut self, mut candidate: Map<String, Value>) {
        if let Some(mut content) = candidate.remove("content")
            && let Some(Value::Array(parts)) = content.get_mut("parts").map(Value::take)
        {
            self.characters += parts.iter().map(length).sum::<usize>();
            self.parts.extend(parts);
        }
        self.candidate.extend(candidate);
    }
}

/// Returns how many characters of a part the model wrote.
fn length(part: &Value) -> usize {
    let call = part.get("functionCall").map_or(0, |call| call["args"].to_string().chars().count());
    part["text"].as_str().map_or(0, |text| text.chars().count()) + call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::sse::Event;

    fn event(data: &Value) -> Event {
        Event { name: None, data: data.to_string() }
    }

    fn collected(events: &[Event]) -> Result<(Vec<Usage>, Option<Value>), ProviderError> {
        let mut collected = Box::<Collected>::default();
        let usage = events.iter().map(|event| collected.take(event)).collect::<Result<_, _>>()?;
        Ok((usage, collected.whole()))
    }

    fn said(text: &str) -> Value {
        json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}]})
    }

    #[test]
    fn output_is_estimated_until_it_is_counted() {
        let mut first = said("12345678");
        first["usageMetadata"] = json!({"promptTokenCount": 9, "cachedContentTokenCount": 4});
        let mut last = said("9");
        last["candidates"][0]["finishReason"] = json!("STOP");
        last["usageMetadata"] =
            json!({"promptTokenCount": 9, "candidatesTokenCount": 20, "thoughtsTokenCount": 5});
        let (usage, body) = collected(&[event(&first), event(&said("ab")), event(&last)]).unwrap();
        let outputs: Vec<u64> = usage.iter().map(|usage| usage.output).collect();
        assert_eq!(outputs, [2, 3, 25]);
        assert_eq!(usage[0], Usage { input: 9, output: 2, cached: 4, cache_write: 0 });
        assert_eq!(body.unwrap()["candidates"][0]["content"]["parts"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_blocked_prompt_is_a_whole_answer() {
        let blocked = event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}));
        let (_, body) = collected(&[blocked]).unwrap();
        assert_eq!(body.unwrap()["promptFeedback"]["blockReason"], "SAFETY");
        let rated = event(&json!({"promptFeedback": {"safetyRatings": []}}));
        assert_eq!(collected(&[rated]).unwrap().1, None);
    }

    #[test]
    fn an_error_in_the_stream_is_the_error_it_names() {
        let error = |code: u16, status: &str, message: &str| {
            let event = event(&json!({"error": {"code": code, "status": status, "message": message}}));
            collected(&[event]).unwrap_err()
        };
        assert!(
            matches!(error(503, "UNAVAILABLE", "m"), ProviderError::Overloaded(text) if text.contains(": m"))
        );
        let bare = event(&json!({"error": "no room"}));
        assert!(
            matches!(collected(&[bare]), Err(ProviderError::Overloaded(text)) if text.contains("no room"))
        );
        assert!(matches!(error(504, "DEADLINE_EXCEEDED", "m"), ProviderError::Overloaded(_)));
        assert!(matches!(error(500, "INTERNAL", "m"), ProviderError::Overloaded(_)));
        assert!(matches!(error(429, "RESOURCE_EXHAUSTED", "m"), ProviderError::RateLimited { .. }));
        assert!(matches!(error(404, "NOT_FOUND", "m"), ProviderError::UnknownModel(_)));
        assert!(matches!(error(400, "INVALID_ARGUMENT", "m"), ProviderError::Invalid(_)));
        for (code, status) in [(401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED")] {
            let error = error(code, status, "m");
            assert!(matches!(&error, ProviderError::Unauthorized(text) if text.contains("`GEMINI_API_KEY`")));
        }
    }

    #[test]
    fn an_event_that_cannot_be_read_can_be_tried_again() {
        for data in ["", "{\"candidates\": [", "7", "{\"usageMetadata\": {\"promptTokenCount\": \"x\"}}"] {
            let event = Event { name: None, data: data.to_owned() };
            assert!(matches!(collected(&[event]), Err(ProviderError::Overloaded(_))), "{data}");
        }
    }
}
