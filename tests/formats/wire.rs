//! Owns the four formats on the wire as their vendors document them: what a request asks for, and how an answer is put.
//!
//! It refuses a request that offers a tool without forcing it, and one that forces what it does not offer.

use axum::http::Uri;
use serde_json::{Value, json};

/// How a vendor's API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Messages,
    Responses,
    Chat,
    Gemini,
}

/// What a request asks for, in whichever format it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) system: String,
    /// Role and text of every message.
    pub(crate) messages: Vec<(String, String)>,
    /// The one tool that has to be called.
    pub(crate) tool: Option<String>,
    /// The properties of the answer, where it has to have a schema.
    pub(crate) properties: Option<Vec<String>>,
    pub(crate) stream: bool,
    pub(crate) limit: u64,
}

impl Format {
    pub(crate) const ALL: [Self; 4] = [Self::Messages, Self::Responses, Self::Chat, Self::Gemini];

    /// Returns the format that is spoken at an address.
    pub(crate) fn at(uri: &Uri) -> Self {
        match uri.to_string().as_str() {
            "/v1/messages" => Self::Messages,
            "/v1/responses" => Self::Responses,
            "/v1/chat/completions" => Self::Chat,
            "/v1beta/models/m:generateContent" | "/v1beta/models/m:streamGenerateContent?alt=sse" => {
                Self::Gemini
            }
            other => panic!("nothing is served at {other}"),
        }
    }

    /// Returns the provider that speaks it, the variable with its key, the header that carries one, and what stands before it there.
    pub(crate) fn access(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Messages => ("anthropic", "ANTHROPIC_API_KEY", "x-api-key", ""),
            Self::Responses => ("openai", "OPENAI_API_KEY", "authorization", "Bearer "),
            Self::Chat => ("openai-compatible", "OPENAI_API_KEY", "authorization", "Bearer "),
            Self::Gemini => ("gemini", "GEMINI_API_KEY", "x-goog-api-key", ""),
        }
    }

    /// Returns what a request asks for.
    pub(crate) fn read(self, uri: &Uri, body: &Value) -> Asked {
        let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
        let (system, messages, tools, choice, schema, limit) = match self {
            Self::Messages => (
                "/system",
                "/messages",
                "/tools",
                "/tool_choice",
                "/output_config/format/schema",
                "/max_tokens",
            ),
            Self::Responses => (
                "/instructions",
                "/input",
                "/tools",
                "/tool_choice",
                "/text/format/schema",
                "/max_output_tokens",
            ),
            Self::Chat => (
                "/messages/0/content",
                "/messages",
                "/tools",
                "/tool_choice",
                "/response_format/json_schema/schema",
                "/max_tokens",
            ),
            Self::Gemini => (
                "/systemInstruction",
                "/contents",
                "/tools/0/functionDeclarations",
                "/toolConfig/functionCallingConfig",
                "/generationConfig/responseJsonSchema",
                "/generationConfig/maxOutputTokens",
            ),
        };
        let messages = at(messages);
        let said = messages.as_array().unwrap().iter().filter(|message| message["role"] != "system");
        let said = said.map(|message| (message["role"].as_str().unwrap().to_owned(), words(message)));
        let tools = at(tools);
        let tool = tools.as_array().map(|tools| {
            assert_eq!(tools.len(), 1, "{tools:?}");
            let name = tools[0]["name"].as_str().or(tools[0]["function"]["name"].as_str()).unwrap();
            assert_eq!(at(choice), self.forcing(name));
            name.to_owned()
        });
        assert!(tool.is_some() || at(choice).is_null(), "{body:#}");
        Asked {
            system: words(&at(system)),
            messages: said.collect(),
            tool,
            properties: at(schema)["properties"].as_object().map(|map| map.keys().cloned().collect()),
            stream: body["stream"] == true || uri.query() == Some("alt=sse"),
            limit: at(limit).as_u64().unwrap(),
        }
    }

    /// Returns how a tool is forced.
    fn forcing(self, name: &str) -> Value {
        match self {
            Self::Messages => json!({"type": "tool", "name": name, "disable_parallel_tool_use": true}),
            Self::Responses => json!({"type": "function", "name": name}),
            Self::Chat => json!("required"),
            Self::Gemini => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        }
    }

    /// Returns a scripted reply as a whole answer.
    pub(crate) fn whole(self, reply: &Value) -> Value {
        let (said, arguments, name) = (said(reply), reply["toolUse"].to_string(), &reply["tool"]);
        let is_call = name.is_string();
        let message = match (self, is_call) {
            (Self::Messages, false) => json!({"type": "text", "text": said}),
            (Self::Messages, true) => {
                json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": reply["toolUse"]})
            }
            (Self::Responses, false) => json!({"id": "msg_1", "type": "message", "status": "completed",
                "role": "assistant", "content": [{"type": "output_text", "text": said, "annotations": []}]}),
            (Self::Responses, true) => json!({"id": "fc_1", "type": "function_call", "status": "completed",
                "call_id": "call_1", "name": name, "arguments": arguments}),
            (Self::Chat, false) => json!({"role": "assistant", "content": said}),
            (Self::Chat, true) => {
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1",
                "type": "function", "function": {"name": name, "arguments": arguments}}]})
            }
            (Self::Gemini, false) => json!({"text": said}),
            (Self::Gemini, true) => json!({"functionCall": {"name": name, "args": reply["toolUse"]}}),
        };
        let usage = self.usage(&reply["usage"]);
        match self {
            Self::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [message], "stop_sequence": null, "usage": usage,
                "stop_reason": if is_call { "tool_use" } else { "end_turn" }}),
            Self::Responses => json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "m",
                "status": "completed", "error": null, "incomplete_details": null, "usage": usage,
                "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, message]}),
            Self::Chat => json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": message,
                    "finish_reason": if is_call { "tool_calls" } else { "stop" }}],
                "usage": usage}),
            Self::Gemini => json!({"candidates": [{"index": 0, "finishReason": "STOP",
                    "content": {"role": "model", "parts": [message]}}],
                "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"}),
        }
    }

    fn usage(self, usage: &Value) -> Value {
        let count = |key: &str| usage[key].as_u64().unwrap_or_default();
        let (input, output, cached) = (count("input"), count("output"), count("cached"));
        match self {
            Self::Messages => json!({"input_tokens": input - cached, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0, "output_tokens": output}),
            Self::Responses => {
                json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 4},
                "total_tokens": input + output})
            }
            Self::Chat => json!({"prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens": output, "total_tokens": input + output}),
            Self::Gemini => json!({"promptTokenCount": input, "cachedContentTokenCount": cached,
                "candidatesTokenCount": output - 4, "thoughtsTokenCount": 4, "totalTokenCount": input + output}),
        }
    }

    /// Returns a scripted reply as the text of a stream.
    pub(crate) fn stream(self, reply: &Value) -> String {
        let whole = self.whole(reply);
        let is_call = reply["tool"].is_string();
        let text = if is_call { reply["toolUse"].to_string() } else { said(reply) };
        let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
        let parts = <[&str; 2]>::from(text.split_at(middle));
        let events = match self {
            Self::Messages => message_events(whole, is_call, parts),
            Self::Responses => response_events(&whole, is_call, parts),
            Self::Chat => chunks(&whole, is_call, parts),
            Self::Gemini => generated(&whole, is_call, parts),
        };
        let events = events.iter().map(|event| match self {
            Self::Messages | Self::Responses => {
                format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
            }
            Self::Chat => format!("data: {event}\n\n"),
            Self::Gemini => format!("data: {event}\r\n\r\n"),
        });
        events.collect::<String>() + if self == Self::Chat { "data: [DONE]\n\n" } else { "" }
    }

    /// Returns the error of an endpoint that does not know structured output.
    pub(crate) fn refusal(self) -> Value {
        let said = |message: &str| json!({"type": "invalid_request_error", "message": message});
        match self {
            Self::Messages => json!({"type": "error",
                "error": said("output_config.format: Extra inputs are not permitted")}),
            Self::Responses => json!({"error": said("'text.format' of type 'json_schema' is not supported")}),
            Self::Chat => json!({"error": said("This model does not support response_format")}),
            Self::Gemini => json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                "message": "Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field."}}),
        }
    }
}

fn message_events(mut whole: Value, is_call: bool, parts: [&str; 2]) -> Vec<Value> {
    let (mut block, reason) = (whole["content"][0].take(), whole["stop_reason"].take());
    let (kind, key) = if is_call { ("input_json_delta", "partial_json") } else { ("text_delta", "text") };
    let (emptied, empty) = if is_call { ("input", json!({})) } else { ("text", json!("")) };
    block[emptied] = empty;
    let output = whole["usage"]["output_tokens"].take();
    (whole["content"], whole["usage"]["output_tokens"]) = (json!([]), json!(1));
    let delta =
        |part: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: part}});
    vec![
        json!({"type": "message_start", "message": whole}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "ping"}),
        delta(parts[0]),
        delta(parts[1]),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}}),
        json!({"type": "message_stop"}),
    ]
}

fn response_events(whole: &Value, is_call: bool, parts: [&str; 2]) -> Vec<Value> {
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let (thought, item) = (&whole["output"][0], &whole["output"][1]);
    let mut added = item.clone();
    let (emptied, empty) = if is_call { ("arguments", json!("")) } else { ("content", json!([])) };
    (added[emptied], added["status"]) = (empty, json!("in_progress"));
    let kind = if is_call { "response.function_call_arguments" } else { "response.output_text" };
    let done = if is_call { "arguments" } else { "text" };
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": added}),
        json!({"type": format!("{kind}.delta"), "output_index": 1, "delta": parts[0]}),
        json!({"type": format!("{kind}.delta"), "output_index": 1, "delta": parts[1]}),
        json!({"type": format!("{kind}.done"), "output_index": 1, done: parts.concat()}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": item}),
        json!({"type": "response.completed", "response": whole}),
    ];
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn chunks(whole: &Value, is_call: bool, parts: [&str; 2]) -> Vec<Value> {
    let chunk = |choices: Value, usage: &Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, "usage": usage})
    };
    let choice = |delta: Value, reason: &Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), &Value::Null)
    };
    let made = &whole["choices"][0];
    let first = if is_call {
        let mut call = made["message"]["tool_calls"][0].clone();
        (call["index"], call["function"]["arguments"]) = (json!(0), json!(""));
        json!({"role": "assistant", "content": null, "tool_calls": [call]})
    } else {
        json!({"role": "assistant", "content": ""})
    };
    let delta = |part: &str| {
        let call = || json!({"tool_calls": [{"index": 0, "function": {"arguments": part}}]});
        if is_call { call() } else { json!({"content": part}) }
    };
    vec![
        choice(first, &Value::Null),
        choice(delta(parts[0]), &Value::Null),
        choice(delta(parts[1]), &Value::Null),
        choice(json!({}), &made["finish_reason"]),
        chunk(json!([]), &whole["usage"]),
    ]
}

fn generated(whole: &Value, is_call: bool, parts: [&str; 2]) -> Vec<Value> {
    let part = |part: Value| {
        let mut event = whole.clone();
        event["candidates"] = json!([{"index": 0, "content": {"role": "model", "parts": [part]}}]);
        event
    };
    let mut events = if is_call {
        vec![part(whole["candidates"][0]["content"]["parts"][0].clone()), part(json!({"text": ""}))]
    } else {
        parts.map(|text| part(json!({"text": text}))).to_vec()
    };
    events[0]["usageMetadata"].as_object_mut().unwrap().remove("candidatesTokenCount");
    events[1]["candidates"][0]["finishReason"] = json!("STOP");
    events
}

fn said(reply: &Value) -> String {
    reply["text"].as_str().map_or_else(|| reply["json"].to_string(), str::to_owned)
}

/// Returns a text, however it is wrapped and cut.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect(),
        Value::Object(map) => {
            ["text", "content", "parts"].iter().filter_map(|key| map.get(*key)).map(words).collect()
        }
        _ => String::new(),
    }
}
