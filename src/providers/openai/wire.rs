//! Owns the form of a request and of an answer of the Responses API; pure functions both.
//!
//! It refuses an answer that is not whole: acting on half a tool call would do something that nobody asked for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::KEY_VARIABLE;
use crate::outcome::Usage;
use crate::provider::{FinishReason, ProviderError, Request, Response, ToolUse};
use crate::providers::answer::Answer;
use crate::providers::complaint::Complaint;
use crate::providers::dialect::Form;
use crate::providers::strict_schema::strict_schema;
use crate::providers::tokens::Tokens;
use crate::providers::tool_schema::tool_schema;
use crate::providers::{arguments, estimate};

/// The API refuses a lower limit.
const MIN_OUTPUT: u64 = 16;

/// An answer as the API sends it.
#[derive(Deserialize)]
struct Body {
    status: String,
    incomplete_details: Option<Incomplete>,
    output: Vec<Item>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        content: Vec<Part>,
        phase: Option<String>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    /// Reasoning, and whatever is added to the API.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

/// Returns the body that asks for `request`.
pub(super) fn encode(request: &Request, form: Form) -> Value {
    let mut body = json!({
        "model": request.model,
        "input": request.messages,
        "max_output_tokens": request.max_tokens.max(MIN_OUTPUT),
        "store": false,
    });
    if !request.system.is_empty() {
        body["instructions"] = json!(request.system);
    }
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool_schema(tool),
            "strict": false,
        }]);
        body["tool_choice"] = json!({"type": "function", "name": tool.name});
        body["parallel_tool_calls"] = json!(false);
    }
    if let Some(schema) = request.schema.as_deref().filter(|_| form.structured) {
        let strict = strict_schema(schema);
        body["text"] = json!({"format": {
            "type": "json_schema",
            "name": "answer",
            "strict": strict.is_some(),
            "schema": strict.as_ref().unwrap_or(schema),
        }});
    }
    if form.stream {
        body["stream"] = json!(true);
    }
    body
}

/// Returns what an answer to `request` says.
pub(super) fn decode(request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
    if !answer.status.is_success() {
        return Err(Complaint::failure(answer, request, KEY_VARIABLE));
    }
    let model = &request.model;
    if let Some(complaint) = Complaint::inside(answer) {
        return Err(complaint.within(&format!("`{model}`"), KEY_VARIABLE));
    }
    let Body { status, incomplete_details, output, usage } = answer.json()?;
    let reason = incomplete_details.and_then(|details| details.reason);
    let is_cut = match (status.as_str(), reason.as_deref()) {
        ("completed", _) => false,
        ("incomplete", Some("max_output_tokens")) => true,
        ("incomplete", Some("content_filter")) => {
            return Err(ProviderError::Refused(format!("the answer of `{model}` was stopped by a filter")));
        }
        _ => {
            let reason = reason.map_or_else(String::new, |reason| format!(" for `{reason}`"));
            return Err(ProviderError::Overloaded(format!(
                "the answer of `{model}` is `{status}`{reason}, so it is not whole"
            )));
        }
    };
    let said = said(&output);
    // Some servers count nothing and say so with zeros.
    let counted = usage.map(Usage::from).filter(|usage| usage.total() > 0);
    let usage = counted.unwrap_or_else(|| estimate::usage(request, said));
    if is_cut && request.tool.is_some() {
        return Err(arguments::cut_off(model, usage.output));
    }
    let mut text = String::new();
    let mut tool_use = Vec::new();
    for item in output {
        match item {
            // What is said on the way is not part of the answer.
            Item::Message { phase, .. } if phase.as_deref() == Some("commentary") => {}
            Item::Message { content, .. } => {
                for part in content {
                    match part {
                        Part::OutputText { text: more } => text.push_str(&more),
                        Part::Refusal { refusal } => {
                            return Err(ProviderError::Refused(format!(
                                "`{model}` refused to answer: {refusal}"
                            )));
                        }
                        Part::Other => {}
                    }
                }
            }
            Item::FunctionCall { call_id: id, name, arguments } => {
                tool_use.push(ToolUse { id, name, input: arguments::read(&arguments, model)? });
            }
            Item::Other => {}
        }
    }
    let finish_reason = match (is_cut, tool_use.is_empty()) {
        (true, _) => FinishReason::MaxTokens,
        (false, true) => FinishReason::EndTurn,
        (false, false) => FinishReason::ToolUse,
    };
    Ok(Response { text, tool_use, finish_reason, usage })
}

/// Returns how many characters the items say.
fn said(output: &[Item]) -> usize {
    let characters = |part: &Part| match part {
        Part::OutputText { text: said } | Part::Refusal { refusal: said } => said.chars().count(),
        Part::Other => 0,
    };
    let items = output.iter().map(|item| match item {
        Item::Message { content, .. } => content.iter().map(characters).sum(),
        Item::FunctionCall { arguments, .. } => arguments.chars().count(),
        Item::Other => 0,
    });
    items.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::pairs;

    fn read(tool: bool, body: &Value) -> Result<Response, ProviderError> {
        decode(&pairs::request("gpt-x", tool), &pairs::answer(200, body))
    }

    fn ended(status: &str, reason: Option<&str>, output: &Value) -> Value {
        json!({"status": status, "error": null, "incomplete_details": reason.map(|reason| json!({"reason": reason})),
            "output": output, "usage": {"input_tokens": 3, "output_tokens": 7}})
    }

    fn text() -> Value {
        json!([{"type": "message", "content": [{"type": "output_text", "text": "half"}]}])
    }

    #[test]
    fn a_schema_is_asked_for_strictly_where_that_can_be() {
        let mut request = pairs::request("gpt-x", false);
        let whole = Form { stream: false, structured: true };
        assert_eq!(encode(&request, whole).get("text"), None);
        let optional = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        request.schema = Some(optional.into());
        assert_eq!(
            encode(&request, whole)["text"]["format"],
            json!({"type": "json_schema", "name": "answer", "strict": true, "schema": {"type": "object",
                "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "additionalProperties": false}})
        );
        let open = json!({"type": "object"});
        request.schema = Some(open.clone().into());
        let format = encode(&request, whole)["text"]["format"].clone();
        assert_eq!((&format["strict"], &format["schema"]), (&json!(false), &open));
        assert_eq!(encode(&request, Form { stream: false, structured: false }).get("text"), None);
    }

    #[test]
    fn the_limit_is_never_lower_than_the_api_takes() {
        let mut request = pairs::request("gpt-x", false);
        request.max_tokens = 1;
        request.system.clear();
        let body = encode(&request, Form { stream: true, structured: false });
        assert_eq!((&body["max_output_tokens"], &body["stream"]), (&json!(16), &json!(true)));
        assert_eq!(body.get("instructions"), None);
    }

    #[test]
    fn a_text_may_be_cut_but_a_tool_call_may_not() {
        let cut = ended("incomplete", Some("max_output_tokens"), &text());
        assert_eq!(read(false, &cut).unwrap().finish_reason, FinishReason::MaxTokens);
        assert_eq!(
            read(true, &cut),
            Err(ProviderError::Overloaded("the tool call of `gpt-x` was cut off after 7 tokens".to_owned()))
        );
        let call =
            json!([{"type": "function_call", "call_id": "c", "name": "file_read", "arguments": "{\"pa"}]);
        assert!(matches!(read(true, &ended("completed", None, &call)), Err(ProviderError::Overloaded(_))));
    }

    #[test]
    fn ends_without_a_whole_answer_are_errors() {
        for status in ["failed", "cancelled", "in_progress", "incomplete"] {
            assert!(matches!(read(false, &ended(status, None, &text())), Err(ProviderError::Overloaded(_))));
        }
        let filtered = read(false, &ended("incomplete", Some("content_filter"), &text()));
        assert!(matches!(filtered, Err(ProviderError::Refused(_))));
        let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "not this"}]}]);
        assert_eq!(
            read(false, &ended("completed", None, &refusal)),
            Err(ProviderError::Refused("`gpt-x` refused to answer: not this".to_owned()))
        );
        let mut failed = ended("failed", None, &json!([]));
        failed["error"] = json!({"code": "rate_limit_exceeded", "message": "later"});
        assert!(matches!(read(false, &failed), Err(ProviderError::RateLimited { .. })));
    }

    #[test]
    fn tokens_are_estimated_where_they_are_not_counted() {
        let mut body = ended("completed", None, &text());
        for usage in [Value::Null, json!({"input_tokens": 0, "output_tokens": 0})] {
            body["usage"] = usage;
            let usage = read(false, &body).unwrap().usage;
            assert_eq!((usage.input > 0, usage.output), (true, 1));
        }
    }

    #[test]
    fn an_error_body_says_more_than_its_status() {
        let error = |status, code: &str, message: &str| {
            let body = json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}});
            decode(&pairs::request("gpt-x", false), &pairs::answer(status, &body)).unwrap_err()
        };
        assert_eq!(
            error(401, "invalid_api_key", "Incorrect API key provided"),
            ProviderError::Unauthorized(
                "`https://host/v1` refused the key in `OPENAI_API_KEY` (401: Incorrect API key provided)"
                    .to_owned()
            )
        );
        let unknown = error(400, "model_not_found", "The requested model 'gpt-x' does not exist.");
        assert!(matches!(&unknown, ProviderError::UnknownModel(text) if text.contains("`gpt-x`")));
        let long =
            error(400, "context_length_exceeded", "Your input exceeds the context window of this model.");
        assert!(matches!(long, ProviderError::ContextTooLong(_)));
        assert!(matches!(error(429, "rate_limit_exceeded", "slower"), ProviderError::RateLimited { .. }));
        assert!(matches!(error(429, "insufficient_quota", "pay"), ProviderError::Unauthorized(_)));
        assert!(matches!(error(503, "server_error", "later"), ProviderError::Overloaded(_)));
        assert!(matches!(error(400, "unsupported_value", "no"), ProviderError::Invalid(_)));
    }
}
