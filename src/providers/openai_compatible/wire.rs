//! Owns the form of a request and of an answer of Chat Completions; pure functions both.
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
use crate::tool::ToolSchema;

/// An answer as a server sends it.
#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    /// JSON in a string; some servers send the object itself.
    #[serde(default)]
    arguments: Value,
}

/// A tool call that a model wrote down as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    #[serde(rename = "type")]
    _kind: Option<String>,
    name: String,
    #[serde(alias = "parameters")]
    arguments: Value,
}

/// Returns the body that asks for `request`.
pub(super) fn encode(request: &Request, form: Form) -> Value {
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    let messages: Vec<Value> =
        system.into_iter().chain(request.messages.iter().map(|message| json!(message))).collect();
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "max_tokens": request.max_tokens,
    });
    if let Some(tool) = &request.tool {
        body["tools"] = json!([{"type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool_schema(tool),
        }}]);
        // With one tool this names it; LM Studio refuses the form that does so by name, and llama.cpp overlooks it.
        body["tool_choice"] = json!("required");
    }
    if let Some(schema) = request.schema.as_deref().filter(|_| form.structured) {
        let strict = strict_schema(schema);
        body["response_format"] = json!({"type": "json_schema", "json_schema": {
            "name": "answer",
            "strict": strict.is_some(),
            "schema": strict.as_ref().unwrap_or(schema),
        }});
    }
    if form.stream {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
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
    let Body { choices, usage } = answer.json()?;
    let Some(Choice { message, finish_reason }) = choices.into_iter().next() else {
        return Err(ProviderError::Overloaded(format!("the answer of `{model}` is empty")));
    };
    let Message { content, refusal, tool_calls } = message;
    let (mut text, calls) = (content.unwrap_or_default(), tool_calls.unwrap_or_default());
    // Some servers count nothing and say so with zeros.
    let counted = usage.map(Usage::from).filter(|usage| usage.total() > 0);
    let usage = counted.unwrap_or_else(|| estimate::usage(request, said(&text, &calls)));
    if let Some(refusal) = refusal.filter(|refusal| !refusal.is_empty()) {
        return Err(ProviderError::Refused(format!("`{model}` refused to answer: {refusal}")));
    }
    let is_cut = match finish_reason.as_deref() {
        Some("stop" | "tool_calls" | "function_call" | "eos") => false,
        Some("length") => true,
        Some("content_filter") => {
            return Err(ProviderError::Refused(format!("the answer of `{model}` was stopped by a filter")));
        }
        Some(other) => {
            return Err(ProviderError::Overloaded(format!(
                "`{model}` stopped for `{other}`, so its answer is not whole"
            )));
        }
        None => {
            return Err(ProviderError::Overloaded(format!(
                "the answer of `{model}` has no finish reason, so it is not whole"
            )));
        }
    };
    if is_cut && (request.tool.is_some() || !calls.is_empty()) {
        return Err(arguments::cut_off(model, usage.output));
    }
    let mut tool_use = Vec::new();
    for (at, Call { id, function }) in calls.into_iter().enumerate() {
        let input = match function.arguments {
            input @ Value::Object(_) => input,
            Value::Null => json!({}),
            Value::String(text) => arguments::read(&text, model)?,
            other => arguments::read(&other.to_string(), model)?,
        };
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{}", at + 1));
        tool_use.push(ToolUse { id, name: function.name, input });
    }
    if tool_use.is_empty()
        && let Some(call) = request.tool.as_ref().and_then(|tool| written_call(&text, tool))
    {
        tool_use.push(call);
        text.clear();
    }
    let finish_reason = match (is_cut, tool_use.is_empty()) {
        (true, _) => FinishReason::MaxTokens,
        (false, true) => FinishReason::EndTurn,
        (false, false) => FinishReason::ToolUse,
    };
    Ok(Response { text, tool_use, finish_reason, usage })
}

/// Returns the call of `tool` that `text` is and nothing else: models without a template for tools write it down.
fn written_call(text: &str, tool: &ToolSchema) -> Option<ToolUse> {
    let WrittenCall { name, arguments, .. } = serde_json::from_str(text.trim()).ok()?;
    let input = match arguments {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        other => other,
    };
    (name == tool.name && input.is_object()).then(|| ToolUse { id: "call_1".to_owned(), name, input })
}

/// Returns how many characters an answer has.
fn said(text: &str, calls: &[Call]) -> usize {
    let arguments = calls.iter().map(|call| match &call.function.arguments {
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    });
    text.chars().count() + arguments.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::pairs;

    fn read(tool: bool, body: &Value) -> Result<Response, ProviderError> {
        decode(&pairs::request("llama", tool), &pairs::answer(200, body))
    }

    fn ended(reason: Option<&str>, message: &Value) -> Value {
        json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 10}})
    }

    fn calls(arguments: &Value) -> Value {
        json!({"content": null, "tool_calls": [{"type": "function",
            "function": {"name": "file_read", "arguments": arguments}}]})
    }

    #[test]
    fn what_is_not_needed_is_not_sent() {
        let mut request = pairs::request("llama", false);
        request.system.clear();
        request.schema = Some(json!({"type": "object"}).into());
        let body = encode(&request, Form { stream: true, structured: false });
        assert_eq!(body["messages"][0]["role"], "user");
        assert_eq!((body.get("response_format"), body.get("tools")), (None, None));
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
    }

    #[test]
    fn a_text_may_be_cut_but_a_tool_call_may_not() {
        let cut = ended(Some("length"), &json!({"content": "half"}));
        assert_eq!(read(false, &cut).unwrap().finish_reason, FinishReason::MaxTokens);
        assert!(matches!(read(true, &cut), Err(ProviderError::Overloaded(_))));
        for broken in [json!("{\"path\": \"a"), json!("[1]"), json!([1])] {
            let error = read(true, &ended(Some("tool_calls"), &calls(&broken))).unwrap_err();
            assert!(matches!(error, ProviderError::Overloaded(_)), "{broken}: {error}");
        }
    }

    #[test]
    fn a_call_is_understood_in_every_form_that_servers_send() {
        for arguments in [json!("{\"path\":\"a\"}"), json!({"path": "a"})] {
            let response = read(true, &ended(Some("stop"), &calls(&arguments))).unwrap();
            assert_eq!(response.finish_reason, FinishReason::ToolUse);
            assert_eq!(
                response.tool_use,
                [ToolUse {
                    id: "call_1".to_owned(),
                    name: "file_read".to_owned(),
                    input: json!({"path": "a"})
                }]
            );
        }
        let nothing = read(true, &ended(Some("tool_calls"), &calls(&Value::Null))).unwrap();
        assert_eq!(nothing.tool_use[0].input, json!({}));
    }

    #[test]
    fn a_call_that_is_written_down_counts_only_when_it_is_nothing_else() {
        for text in [
            r#"{"name": "file_read", "arguments": {"path": "a"}}"#,
            r#" {"type": "function", "name": "file_read", "parameters": {"path": "a"}}"#,
            r#"{"name": "file_read", "arguments": "{\"path\": \"a\"}"}"#,
        ] {
            let response = read(true, &ended(Some("stop"), &json!({"content": text}))).unwrap();
            assert_eq!(response.tool_use[0].input, json!({"path": "a"}), "{text}");
            assert_eq!((response.text.as_str(), response.finish_reason), ("", FinishReason::ToolUse));
            assert_eq!(read(false, &ended(Some("stop"), &json!({"content": text}))).unwrap().text, text);
        }
        for text in [
            r#"I call {"name": "file_read", "arguments": {"path": "a"}}"#,
            r#"{"name": "shell", "arguments": {"path": "a"}}"#,
            r#"{"name": "file_read", "arguments": 1}"#,
            r#"{"name": "file_read", "arguments": {}, "why": "x"}"#,
            r#"{"path": "a"}"#,
        ] {
            let response = read(true, &ended(Some("stop"), &json!({"content": text}))).unwrap();
            assert_eq!((response.tool_use.len(), response.text.as_str()), (0, text));
        }
    }

    #[test]
    fn ends_without_a_whole_answer_are_errors() {
        let text = json!({"content": "half"});
        for reason in [None, Some("error"), Some("abort")] {
            assert!(matches!(read(false, &ended(reason, &text)), Err(ProviderError::Overloaded(_))));
        }
        assert!(matches!(read(false, &ended(Some("content_filter"), &text)), Err(ProviderError::Refused(_))));
        let refusal = json!({"content": null, "refusal": "not this"});
        assert!(matches!(read(false, &ended(Some("stop"), &refusal)), Err(ProviderError::Refused(_))));
        assert!(matches!(read(false, &json!({"choices": []})), Err(ProviderError::Overloaded(_))));
        let reported = json!({"error": {"code": 502, "message": "upstream is down"}});
        assert!(matches!(read(false, &reported), Err(ProviderError::Overloaded(_))));
    }

    #[test]
    fn tokens_are_estimated_where_they_are_not_counted() {
        let mut body = ended(Some("stop"), &json!({"content": "12345"}));
        // 23, 15, 6 and 5 characters are sent.
        let estimated = Usage { input: 13, output: 2, ..Usage::default() };
        for usage in [Value::Null, json!({"prompt_tokens": 0, "completion_tokens": 0})] {
            body["usage"] = usage;
            assert_eq!(read(false, &body).unwrap().usage, estimated);
        }
    }
}
