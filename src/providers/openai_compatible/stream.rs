//! Owns the chunks of a stream of Chat Completions, put together into one answer.
//!
//! It refuses to call an answer whole that no finish reason ends.

use serde::Deserialize;
use serde_json::{Value, json};

use super::KEY_VARIABLE;
use crate::outcome::Usage;
use crate::provider::ProviderError;
use crate::providers::complaint::Complaint;
use crate::providers::dialect::Collect;
use crate::providers::sse;
use crate::providers::tokens::Tokens;
use crate::text;

/// What the stream has said so far.
#[derive(Debug, Default)]
pub(super) struct Stream {
    content: String,
    refusal: String,
    calls: Vec<Call>,
    finish_reason: Option<String>,
    usage: Option<Value>,
    /// How many characters have come, thoughts included.
    said: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    #[serde(alias = "reasoning_content")]
    reasoning: Option<Value>,
    tool_calls: Option<Vec<Piece>>,
}

/// A part of a tool call.
#[derive(Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

impl Stream {
    fn add(&mut self, delta: Delta) {
        let Delta { content, refusal, reasoning, tool_calls } = delta;
        for (text, more) in [(&mut self.content, content), (&mut self.refusal, refusal)] {
            let more = more.unwrap_or_default();
            self.said += more.chars().count();
            text.push_str(&more);
        }
        self.said += reasoning.as_ref().and_then(Value::as_str).map_or(0, |thought| thought.chars().count());
        for piece in tool_calls.unwrap_or_default() {
            self.add_to_call(piece);
        }
    }

    fn add_to_call(&mut self, piece: Piece) {
        let Piece { index, id, function } = piece;
        let id = id.unwrap_or_default();
        let index = index.unwrap_or_else(|| self.calls.last().map_or(0, |call| call.index));
        // Some servers give every call the same index, but each a name of its own.
        let same = |call: &Call| call.index == index && (id.is_empty() || call.id == id);
        let at = self.calls.iter().rposition(same).unwrap_or_else(|| {
            self.calls.push(Call { index, id, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        let Some(Function { name, arguments }) = function else { return };
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        let more = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(more)) => more,
            Some(whole) => whole.to_string(),
        };
        self.said += more.chars().count();
        call.arguments.push_str(&more);
    }
}

impl Collect for Stream {
    fn take(&mut self, event: &sse::Event) -> Result<Usage, ProviderError> {
        if event.data.trim() != "[DONE]" {
            let unreadable = |error: serde_json::Error| {
                ProviderError::Overloaded(format!("an event of the answer cannot be read: {error}"))
            };
            let data: Value = serde_json::from_str(&event.data).map_err(unreadable)?;
            if let Some(complaint) = Complaint::of(&data) {
                return Err(complaint.within("the model", KEY_VARIABLE));
            }
            let Chunk { choices, usage } = serde_json::from_value(data).map_err(unreadable)?;
            self.usage = usage.or(self.usage.take());
            for choice in choices.into_iter().filter(|choice| choice.index == 0) {
                if let Some(delta) = choice.delta {
                    self.add(delta);
                }
                let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
                self.finish_reason = reason.or(self.finish_reason.take());
            }
        }
        let counted = self.usage.as_ref().and_then(|usage| Tokens::deserialize(usage).ok());
        let estimated = || Usage { output: text::tokens_in(self.said), ..Usage::default() };
        Ok(counted.map(Usage::from).filter(|usage| usage.total() > 0).unwrap_or_else(estimated))
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let finish_reason = self.finish_reason?;
        let calls: Vec<Value> = self
            .calls
            .into_iter()
            .map(|Call { id, name, arguments, .. }| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        let message = json!({
            "role": "assistant",
            "content": self.content,
            "refusal": self.refusal,
            "tool_calls": calls,
        });
        Some(json!({
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": self.usage,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(stream: &mut Stream, data: &Value) -> Result<Usage, ProviderError> {
        stream.take(&sse::Event { name: None, data: data.to_string() })
    }

    fn delta(delta: &Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn calls(stream: Stream) -> Value {
        Box::new(stream).whole().unwrap()["choices"][0]["message"]["tool_calls"].clone()
    }

    #[test]
    fn the_display_moves_until_the_server_has_counted() {
        let mut stream = Stream::default();
        assert_eq!(take(&mut stream, &delta(&json!({"role": "assistant"}))), Ok(Usage::default()));
        take(&mut stream, &delta(&json!({"reasoning_content": "1234"}))).unwrap();
        assert_eq!(take(&mut stream, &delta(&json!({"content": "5678"}))).unwrap().output, 2);
        let nothing = json!({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}});
        assert_eq!(take(&mut stream, &nothing).unwrap().output, 2, "zeros count nothing");
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}});
        assert_eq!(take(&mut stream, &usage), Ok(Usage { input: 9, output: 5, ..Usage::default() }));
        assert_eq!(Box::new(stream).whole(), None, "nothing says that this was all");
    }

    #[test]
    fn calls_with_the_same_index_are_told_apart_by_their_ids() {
        let mut stream = Stream::default();
        let call = |id: &str| json!({"index": 0, "id": id, "function": {"name": "t", "arguments": "{}"}});
        take(&mut stream, &delta(&json!({"tool_calls": [call("a"), call("b")]}))).unwrap();
        take(&mut stream, &json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})).unwrap();
        let calls = calls(stream);
        assert_eq!((&calls[0]["id"], &calls[1]["id"]), (&json!("a"), &json!("b")));
    }

    #[test]
    fn a_call_may_come_in_one_piece_without_an_index() {
        let mut stream = Stream::default();
        let call = json!({"function": {"name": "t", "arguments": {"a": 1}}});
        take(&mut stream, &delta(&json!({"tool_calls": [call]}))).unwrap();
        take(&mut stream, &json!({"choices": [{"finish_reason": "stop"}]})).unwrap();
        assert_eq!(calls(stream)[0]["function"], json!({"name": "t", "arguments": "{\"a\":1}"}));
    }

    #[test]
    fn an_error_in_the_stream_is_named_by_what_to_do() {
        let error = |data: Value| take(&mut Stream::default(), &data).unwrap_err();
        let upstream = json!({"error": {"code": 502, "message": "Provider disconnected"},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
        assert!(matches!(error(upstream), ProviderError::Overloaded(_)));
        let limited = json!({"error": {"code": 429, "message": "slower"}});
        assert!(matches!(error(limited), ProviderError::RateLimited { .. }));
        let long = json!({"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error",
            "n_prompt_tokens": 1407, "n_ctx": 256}});
        assert_eq!(
            error(long),
            ProviderError::ContextTooLong(
                "the request needs 1407 tokens, and the model takes 256".to_owned()
            )
        );
        for garbled in ["{\"choices\":", "[1]"] {
            let result = Stream::default().take(&sse::Event { name: None, data: garbled.to_owned() });
            assert!(matches!(result, Err(ProviderError::Overloaded(_))), "{garbled}");
        }
    }
}
