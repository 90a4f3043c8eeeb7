//! Owns the folding of the events of one stream into the message that an answer in one piece would have been.
//!
//! It refuses a tool call whose arguments are no JSON when it ends, and a message whose blocks or whose end are missing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::wire::{self, Complaint};
use crate::outcome::Usage;
use crate::provider::ProviderError;
use crate::providers::dialect::Collect;
use crate::providers::sse;
use crate::text;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Map<String, Value>,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: Map<String, Value>,
        usage: Option<Map<String, Value>>,
    },
    MessageStop,
    Error {
        error: Complaint,
    },
    /// Pings, and whatever is added to the API.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(other)]
    Other,
}

/// A block of the message, as far as it is there.
struct Block {
    start: Map<String, Value>,
    /// The text, or the JSON of the arguments.
    words: String,
    ended: bool,
}

/// The message, as far as it is there.
#[derive(Default)]
pub(super) struct Stream {
    message: Map<String, Value>,
    blocks: BTreeMap<u64, Block>,
    usage: Map<String, Value>,
    chars: usize,
    counted: bool,
    stopped: bool,
}

impl Stream {
    fn fold(&mut self, event: Event) -> Result<(), ProviderError> {
        match event {
            Event::MessageStart { mut message } => {
                if let Some(Value::Object(usage)) = message.remove("usage") {
                    self.usage = usage;
                }
                self.message = message;
            }
            Event::ContentBlockStart { index, content_block } => {
                let words = content_block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.blocks.insert(index, Block { start: content_block, words, ended: false });
            }
            Event::ContentBlockDelta { index, delta } => {
                let (Delta::Text { text: words }
                | Delta::Input { partial_json: words }
                | Delta::Thinking { thinking: words }) = delta
                else {
                    return Ok(());
                };
                self.chars += words.chars().count();
                self.block(index)?.words.push_str(&words);
            }
            Event::ContentBlockStop { index } => self.block(index)?.end()?,
            Event::MessageDelta { delta, usage } => {
                self.message.extend(delta);
                let usage = usage.unwrap_or_default();
                self.counted |= usage.contains_key("output_tokens");
                self.usage.extend(usage.into_iter().filter(|(_, count)| !count.is_null()));
            }
            Event::MessageStop => self.stopped = true,
            Event::Error { error } => return Err(error.into_error()),
            Event::Other => {}
        }
        Ok(())
    }

    fn block(&mut self, index: u64) -> Result<&mut Block, ProviderError> {
        self.blocks.get_mut(&index).ok_or_else(|| {
            ProviderError::Overloaded(format!("the stream goes on with block {index}, which it never began"))
        })
    }
}

impl Block {
    fn end(&mut self) -> Result<(), ProviderError> {
        let words = std::mem::take(&mut self.words);
        match self.start.get("type").and_then(Value::as_str) {
            Some("text") => {
                self.start.insert("text".to_owned(), words.into());
            }
            // Without arguments there are no deltas either, and the block began with an empty object.
            Some("tool_use") if !words.is_empty() => {
                let input: Value = serde_json::from_str(&words).map_err(|error| {
                    ProviderError::Overloaded(format!(
                        "the model called a tool with arguments that are no whole JSON: {error}"
                    ))
                })?;
                self.start.insert("input".to_owned(), input);
            }
            _ => {}
        }
        self.ended = true;
        Ok(())
    }
}

impl Collect for Stream {
    fn take(&mut self, event: &sse::Event) -> Result<Usage, ProviderError> {
        let event = serde_json::from_str(&event.data).map_err(|error| {
            let name = event.name.as_deref().unwrap_or("message");
            let text = format!("the event `{name}` of the stream cannot be read: {error}");
            // Bytes that were lost on the way may be there next time; another shape would come again.
            if error.is_data() { ProviderError::Invalid(text) } else { ProviderError::Overloaded(text) }
        })?;
        self.fold(event)?;
        let mut usage = wire::usage(&self.usage);
        if !self.counted {
            usage.output = usage.output.max(text::tokens_in(self.chars));
        }
        Ok(usage)
    }

    fn whole(mut self: Box<Self>) -> Option<Value> {
        if !self.stopped || self.blocks.values().any(|block| !block.ended) {
            return None;
        }
        let content = self.blocks.into_values().map(|block| Value::Object(block.start)).collect();
        self.message.insert("content".to_owned(), content);
        self.message.insert("usage".to_owned(), self.usage.into());
        Some(self.message.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn take(stream: &mut Stream, event: &Value) -> Result<Usage, ProviderError> {
        stream.take(&sse::Event { name: None, data: event.to_string() })
    }

    fn start() -> Value {
        json!({"type": "message_start", "message": {"id": "m", "content": [], "stop_reason": null,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}}})
    }

    fn begin(block: &Value) -> Value {
        json!({"type": "content_block_start", "index": 0, "content_block": block})
    }

    fn delta(delta: &Value) -> Value {
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    }

    fn tool() -> Value {
        begin(&json!({"type": "tool_use", "id": "t", "name": "ls", "input": {}}))
    }

    fn end() -> Value {
        json!({"type": "content_block_stop", "index": 0})
    }

    #[test]
    fn usage_is_estimated_until_it_is_counted() {
        let mut stream = Stream::default();
        let usage = take(&mut stream, &start()).unwrap();
        assert_eq!(usage, Usage { input: 15, output: 1, cached: 5, cache_write: 0 });
        take(&mut stream, &begin(&json!({"type": "text", "text": ""}))).unwrap();
        let words = delta(&json!({"type": "text_delta", "text": "twelve chars"}));
        assert_eq!(take(&mut stream, &words).unwrap().output, 3);
        take(&mut stream, &end()).unwrap();
        let counted = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2, "cache_read_input_tokens": null}});
        let usage = take(&mut stream, &counted).unwrap();
        assert_eq!(usage, Usage { input: 15, output: 2, cached: 5, cache_write: 0 });
    }

    #[test]
    fn a_tool_without_arguments_is_called_with_none() {
        let mut stream = Stream::default();
        for event in [start(), tool(), delta(&json!({"type": "input_json_delta", "partial_json": ""})), end()]
        {
            take(&mut stream, &event).unwrap();
        }
        take(&mut stream, &json!({"type": "message_stop"})).unwrap();
        assert_eq!(Box::new(stream).whole().unwrap()["content"][0]["input"], json!({}));
    }

    #[test]
    fn half_arguments_are_no_call() {
        let mut stream = Stream::default();
        let half = delta(&json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a"}));
        for event in [start(), tool(), half] {
            take(&mut stream, &event).unwrap();
        }
        assert!(matches!(take(&mut stream, &end()), Err(ProviderError::Overloaded(_))));
    }

    #[test]
    fn what_is_not_whole_is_nothing() {
        let text = || begin(&json!({"type": "text", "text": "a"}));
        let stop = || json!({"type": "message_stop"});
        for events in [vec![], vec![start(), text(), end()], vec![start(), text(), stop()]] {
            let mut stream = Stream::default();
            for event in &events {
                take(&mut stream, event).unwrap();
            }
            assert_eq!(Box::new(stream).whole(), None, "{events:?}");
        }
    }

    #[test]
    fn what_is_added_to_the_api_is_passed_over_and_nonsense_is_not() {
        let mut stream = Stream::default();
        for event in [start(), json!({"type": "ping"}), json!({"type": "new"}), tool()] {
            take(&mut stream, &event).unwrap();
        }
        take(&mut stream, &delta(&json!({"type": "signature_delta", "signature": "s"}))).unwrap();
        let lost = json!({"type": "content_block_stop", "index": 7});
        assert!(matches!(take(&mut stream, &lost), Err(ProviderError::Overloaded(_))));
        let event = |data: &str| sse::Event { name: None, data: data.to_owned() };
        assert!(matches!(stream.take(&event("{\"type\": ")), Err(ProviderError::Overloaded(_))));
        assert!(matches!(stream.take(&event("[]")), Err(ProviderError::Invalid(_))));
    }

    #[test]
    fn an_error_event_is_the_error_that_it_names() {
        let error = |kind, message| {
            let event = json!({"type": "error", "error": {"type": kind, "message": message}});
            take(&mut Stream::default(), &event).unwrap_err()
        };
        for kind in ["overloaded_error", "api_error", "timeout_error"] {
            assert!(matches!(error(kind, "no"), ProviderError::Overloaded(text) if text.contains("no")));
        }
        assert!(matches!(error("rate_limit_error", ""), ProviderError::RateLimited { .. }));
        let refused = error("authentication_error", "bad");
        assert!(matches!(refused, ProviderError::Unauthorized(text) if text.contains("`ANTHROPIC_API_KEY`")));
        assert!(matches!(error("request_too_large", ""), ProviderError::ContextTooLong(_)));
        assert!(matches!(
            error("invalid_request_error", "prompt is too long"),
            ProviderError::ContextTooLong(_)
        ));
        assert!(matches!(error("invalid_request_error", "no"), ProviderError::Invalid(_)));
    }
}
