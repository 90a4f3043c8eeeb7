//! Owns the form of a request and of an answer of the Messages API; pure functions both.
//!
//! It refuses an answer that is not whole: acting on half a tool call would do something that nobody asked for.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{KEY_VARIABLE, schema};
use crate::outcome::Usage;
use crate::provider::{FinishReason, Message as Said, ProviderError, Request, Response, ToolUse};
use crate::providers::answer::Answer;
use crate::providers::dialect::Form;
use crate::providers::tool_schema::tool_schema;
use crate::providers::{arguments, too_long};

/// A message as the API sends it.
#[derive(Deserialize)]
struct Message {
    content: Vec<Block>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
    usage: Tokens,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// Thinking, and whatever is added to the API.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct StopDetails {
    explanation: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
}

/// An error as the API sends it.
#[derive(Deserialize)]
struct Failure {
    error: Complaint,
}

/// What is wrong.
#[derive(Deserialize)]
pub(super) struct Complaint {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

impl Complaint {
    /// Returns the error that an event inside a stream reports.
    pub(super) fn into_error(self) -> ProviderError {
        let Self { kind, message } = self;
        let said = format!("the stream ended with `{kind}`: {message}");
        match kind.as_str() {
            "overloaded_error" | "api_error" | "timeout_error" => ProviderError::Overloaded(said),
            "rate_limit_error" => ProviderError::RateLimited { message: said, retry_after: None },
            "authentication_error" | "permission_error" => ProviderError::Unauthorized(format!(
                "the key in `{KEY_VARIABLE}` was refused in the middle of a stream (`{kind}`: {message})"
            )),
            "request_too_large" => ProviderError::ContextTooLong(said),
            "invalid_request_error" if too_long::is_meant(&message) => too_long::error("the model", &message),
            _ => ProviderError::Invalid(said),
        }
    }
}

/// Returns the body that asks for `request`.
pub(super) fn encode(request: &Request, form: Form) -> Value {
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": messages,
    });
    // The API refuses empty text.
    if !request.system.is_empty() {
        body["system"] = json!([cached(&request.system)]);
    }
    if form.stream {
        body["stream"] = json!(true);
    }
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool_schema(tool),
        }]);
        body["tool_choice"] = json!({"type": "tool", "name": tool.name, "disable_parallel_tool_use": true});
    }
    if let Some(schema) = request.schema.as_deref().filter(|_| form.structured) {
        body["output_config"] =
            json!({"format": {"type": "json_schema", "schema": schema::accepted(schema)}});
    }
    body
}

/// Returns a message whose stable part, where it has one, is a block that the API keeps.
fn message(message: &Said) -> Value {
    let content = match message.content.split_at_checked(message.stable) {
        None | Some(("", _)) => json!(message.content),
        Some((_, rest)) if rest.trim().is_empty() => json!([cached(&message.content)]),
        Some((stable, rest)) => json!([cached(stable), {"type": "text", "text": rest}]),
    };
    json!({"role": message.role, "content": content})
}

fn cached(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

/// Returns the tokens that a body speaks of, whether or not the rest of it makes sense.
pub(super) fn spent(answer: &Answer) -> Usage {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body["usage"].as_object().map_or_else(Usage::default, usage)
}

/// Returns the tokens that `counts` speaks of so far.
pub(super) fn usage(counts: &Map<String, Value>) -> Usage {
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    let tokens = Tokens {
        input: count("input_tokens").unwrap_or_default(),
        output: count("output_tokens").unwrap_or_default(),
        cached: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
    };
    tokens.into()
}

/// Returns what an answer to `request` says.
pub(super) fn decode(request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
    if !answer.status.is_success() {
        return Err(failure(request, answer));
    }
    let Message { content, stop_reason, stop_details, usage } = answer.json()?;
    let mut text = String::new();
    let mut tool_use = Vec::new();
    for block in content {
        match block {
            Block::Text { text: more } => text.push_str(&more),
            Block::ToolUse { id, name, input } => tool_use.push(ToolUse { id, name, input }),
            Block::Other => {}
        }
    }
    let model = &request.model;
    let finish_reason = match stop_reason.as_deref() {
        Some("end_turn") => FinishReason::EndTurn,
        Some("stop_sequence") => FinishReason::StopSequence,
        Some("tool_use") => FinishReason::ToolUse,
        Some("max_tokens") if request.tool.is_some() || !tool_use.is_empty() => {
            return Err(arguments::cut_off(model, usage.output));
        }
        Some("max_tokens") => FinishReason::MaxTokens,
        Some("refusal") => {
            let why = stop_details.and_then(|details| details.explanation);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Err(ProviderError::Refused(format!("`{model}` refused to answer{why}")));
        }
        Some("model_context_window_exceeded") => {
            return Err(ProviderError::ContextTooLong(format!(
                "the answer of `{model}` ran out of the model's context window"
            )));
        }
        // `pause_turn` is among these: it ends a turn of server tools, and a request never offers any.
        other => {
            let other = other.map_or_else(|| "no reason".to_owned(), |other| format!("`{other}`"));
            return Err(ProviderError::Invalid(format!(
                "`{model}` stopped for {other}, so its answer is not whole"
            )));
        }
    };
    Ok(Response { text, tool_use, finish_reason, usage: usage.into() })
}

impl From<Tokens> for Usage {
    /// The API counts what went through its cache apart; for us it is part of the input.
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.cached.unwrap_or_default();
        let cache_write = tokens.cache_write.unwrap_or_default();
        Self {
            input: tokens.input.saturating_add(cached).saturating_add(cache_write),
            output: tokens.output,
            cached,
            cache_write,
        }
    }
}

fn failure(request: &Request, answer: &Answer) -> ProviderError {
    let said = serde_json::from_slice::<Failure>(&answer.body).ok().map(|failure| failure.error);
    let model = &request.model;
    if let Some(Complaint { kind, message }) = &said {
        let status = answer.status.as_u16();
        if status == 404 && kind == "not_found_error" && message.contains("model") {
            return ProviderError::UnknownModel(format!(
                "`{}` knows no model `{model}` ({message})",
                answer.url
            ));
        }
        if status == 400 && too_long::is_meant(message) {
            return too_long::error(&format!("`{model}`"), message);
        }
    }
    answer.failure(said.as_ref().map(|said| said.message.as_str()), KEY_VARIABLE)
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;

    use super::*;
    use crate::event::{Purpose, Role};
    use crate::tool::{ParameterType, ToolSchema};

    fn request(tool: Option<ToolSchema>) -> Request {
        Request {
            purpose: Purpose { role: Role::Planner, cycle: 1, step: None, tool: None, attempt: 1 },
            model: "claude-x".to_owned(),
            system: String::new(),
            messages: vec![Said::user("Plan."), Said::assistant("{"), Said::user("Again.")],
            tool,
            schema: None,
            max_tokens: 100,
        }
    }

    fn tool() -> ToolSchema {
        ToolSchema::new("file_read", "Reads").required("path", ParameterType::String, "Where")
    }

    fn read(tool: Option<ToolSchema>, status: u16, body: &Value) -> Result<Response, ProviderError> {
        let answer = Answer {
            url: "https://host/v1/messages".to_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_string().into_bytes(),
        };
        decode(&request(tool), &answer)
    }

    fn stopped(reason: &str) -> Value {
        json!({
            "content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "?"}, {"type": "text", "text": "b"}],
            "stop_reason": reason,
            "usage": {"input_tokens": 3, "output_tokens": 7},
        })
    }

    #[test]
    fn without_system_and_tool_nothing_empty_is_sent() {
        assert_eq!(
            encode(&request(None), Form { stream: false, structured: true }),
            json!({"model": "claude-x", "max_tokens": 100, "messages": [
                {"role": "user", "content": "Plan."},
                {"role": "assistant", "content": "{"},
                {"role": "user", "content": "Again."},
            ]})
        );
    }

    #[test]
    fn what_stays_the_same_is_marked_for_the_cache() {
        let mark = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        let content = |said: &Said| message(said)["content"].clone();
        assert_eq!(
            content(&Said::user_with_stable("Goal.\n", "Now.")),
            json!([mark("Goal.\n"), {"type": "text", "text": "Now."}])
        );
        assert_eq!(content(&Said::user_with_stable("Goal.", "\n")), json!([mark("Goal.\n")]));
        assert_eq!(content(&Said::user_with_stable("", "Now.")), json!("Now."));
        let mut request = request(None);
        request.system = "You plan.".to_owned();
        let body = encode(&request, Form { stream: true, structured: false });
        assert_eq!((&body["system"], &body["stream"]), (&json!([mark("You plan.")]), &json!(true)));
    }

    #[test]
    fn a_schema_is_sent_where_it_is_asked_for() {
        let mut request = request(None);
        request.schema = Some(json!({"type": "object", "properties": {}}).into());
        let format =
            |structured| encode(&request, Form { stream: false, structured })["output_config"].clone();
        assert_eq!(format(false), Value::Null);
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(format(true), json!({"format": {"type": "json_schema", "schema": schema}}));
    }

    #[test]
    fn texts_are_joined_and_unknown_blocks_left_out() {
        let response = read(None, 200, &stopped("end_turn")).unwrap();
        assert_eq!(response.text, "ab");
        assert_eq!(response.finish_reason, FinishReason::EndTurn);
        assert_eq!(response.usage, Usage { input: 3, output: 7, cached: 0, cache_write: 0 });
    }

    #[test]
    fn what_went_through_the_cache_is_input() {
        let mut body = stopped("stop_sequence");
        body["usage"] = json!({"input_tokens": 3, "output_tokens": 7, "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 100, "service_tier": "standard"});
        let usage = read(None, 200, &body).unwrap().usage;
        assert_eq!(usage, Usage { input: 123, output: 7, cached: 20, cache_write: 100 });
        body["usage"]["cache_read_input_tokens"] = Value::Null;
        assert_eq!(read(None, 200, &body).unwrap().usage.input, 103);
    }

    #[test]
    fn a_text_may_be_cut_but_a_tool_call_may_not() {
        let response = read(None, 200, &stopped("max_tokens")).unwrap();
        assert_eq!(response.finish_reason, FinishReason::MaxTokens);
        assert_eq!(
            read(Some(tool()), 200, &stopped("max_tokens")),
            Err(ProviderError::Overloaded(
                "the tool call of `claude-x` was cut off after 7 tokens".to_owned()
            ))
        );
    }

    #[test]
    fn ends_without_a_whole_answer_are_errors() {
        let mut refusal = stopped("refusal");
        refusal["stop_details"] = json!({"type": "refusal", "explanation": "not this"});
        assert_eq!(
            read(None, 200, &refusal),
            Err(ProviderError::Refused("`claude-x` refused to answer: not this".to_owned()))
        );
        assert!(matches!(read(None, 200, &stopped("refusal")), Err(ProviderError::Refused(_))));
        let window = read(None, 200, &stopped("model_context_window_exceeded"));
        assert!(matches!(window, Err(ProviderError::ContextTooLong(_))));
        for reason in ["pause_turn", "something_new"] {
            let error = read(None, 200, &stopped(reason)).unwrap_err();
            assert!(matches!(&error, ProviderError::Invalid(text) if text.contains(reason)), "{error}");
        }
    }

    #[test]
    fn json_that_is_no_message_is_invalid() {
        for body in [json!({"type": "message"}), json!([]), json!({"type": "error", "error": {}})] {
            assert!(matches!(read(None, 200, &body), Err(ProviderError::Invalid(_))), "{body}");
        }
    }

    #[test]
    fn an_error_body_says_more_than_its_status() {
        let error = |status, kind: &str, message: &str| {
            let body = json!({"type": "error", "error": {"type": kind, "message": message}});
            read(None, status, &body).unwrap_err()
        };
        let missing = error(404, "not_found_error", "model: claude-x");
        assert!(
            matches!(&missing, ProviderError::UnknownModel(text) if text.contains("no model `claude-x`"))
        );
        assert!(matches!(error(404, "not_found_error", "Not found"), ProviderError::Invalid(_)));
        assert_eq!(
            error(400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
            ProviderError::ContextTooLong(
                "the request needs 215000 tokens, and `claude-x` takes 200000".to_owned()
            )
        );
        let other = error(400, "invalid_request_error", "messages: at least one message is required");
        assert!(matches!(&other, ProviderError::Invalid(text) if text.ends_with("message is required")));
        let busy = error(529, "overloaded_error", "Overloaded");
        assert_eq!(busy.to_string(), "`https://host/v1/messages` answered 529: Overloaded");
    }
}
