//! Owns the form of a request and of an answer of `generateContent`; pure functions both.
//!
//! It refuses an answer that is not whole: acting on half a tool call would do something that nobody asked for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::schema;
use crate::outcome::Usage;
use crate::provider::{FinishReason, ProviderError, Request, Response, Speaker, ToolUse};
use crate::providers::answer::Answer;
use crate::providers::arguments;
use crate::providers::dialect::Form;
use crate::providers::tool_schema::tool_schema;
use crate::text;

/// The longest part of what the API says about an end that is quoted, in characters; it may hold the whole answer.
const QUOTED: usize = 200;

/// An answer as the API sends it, in one piece or as one event of a stream.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Body {
    candidates: Vec<Candidate>,
    prompt_feedback: Feedback,
    usage_metadata: Option<Tokens>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Candidate {
    content: Content,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    parts: Vec<Part>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Part {
    text: String,
    /// Whether the text is a thought and not for whoever asked.
    thought: bool,
    function_call: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Feedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

/// The tokens of a call as the API counts them.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(rename = "promptTokenCount")]
    prompt: u64,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use_prompt: u64,
    #[serde(rename = "cachedContentTokenCount")]
    cached: u64,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: u64,
}

impl Tokens {
    /// Returns the usage, with `estimate` for an answer that the API has not counted yet.
    pub(super) fn usage(self, estimate: u64) -> Usage {
        Usage {
            input: self.prompt.saturating_add(self.tool_use_prompt),
            output: self.candidates.unwrap_or(estimate).saturating_add(self.thoughts),
            cached: self.cached,
            cache_write: 0,
        }
    }
}

/// Returns the tokens that a body speaks of, whether or not the rest of it makes sense.
pub(super) fn spent(answer: &Answer) -> Usage {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    Tokens::deserialize(&body["usageMetadata"]).unwrap_or_default().usage(0)
}

/// Returns the body that asks for `request`.
pub(super) fn encode(request: &Request, form: Form) -> Value {
    let contents: Vec<Value> = request
        .messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Speaker::User => "user",
                Speaker::Assistant => "model",
            };
            json!({"role": role, "parts": [{"text": message.content}]})
        })
        .collect();
    let mut body = json!({});
    if !request.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    body["contents"] = json!(contents);
    body["generationConfig"] = json!({"maxOutputTokens": request.max_tokens});
    if let Some(tool) = &request.tool {
        let mut declaration = json!({"name": tool.name, "description": tool.description});
        // The API refuses an object without properties here.
        let parameters = tool_schema(tool);
        if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
            declaration["parameters"] = schema::of(&parameters);
        }
        body["tools"] = json!([{"functionDeclarations": [declaration]}]);
        body["toolConfig"] =
            json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [tool.name]}});
    } else if let Some(schema) = request.schema.as_ref().filter(|_| form.structured) {
        body["generationConfig"]["responseMimeType"] = json!("application/json");
        body["generationConfig"]["responseJsonSchema"] = json!(schema);
    }
    body
}

/// Returns what a successful answer to `request` says.
pub(super) fn decode(request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
    let Body { candidates, prompt_feedback, usage_metadata } = answer.json()?;
    let model = &request.model;
    if let Some(reason) = prompt_feedback.block_reason {
        return Err(refused(model, &reason, prompt_feedback.block_reason_message));
    }
    let counted = usage_metadata.is_some();
    let usage = usage_metadata.unwrap_or_default().usage(0);
    let Some(Candidate { content, finish_reason, finish_message }) = candidates.into_iter().next() else {
        if counted {
            return Err(ProviderError::Overloaded(format!("`{model}` gave no answer")));
        }
        return Err(ProviderError::Invalid(format!(
            "the answer of `{}` has an unexpected shape: it has no candidates",
            answer.url
        )));
    };
    let mut text = String::new();
    let mut tool_use = Vec::new();
    for part in content.parts {
        if !part.thought {
            text.push_str(&part.text);
        }
        if let Some(Call { id, name, args }) = part.function_call {
            // Only the newest models number their calls.
            let id = id.unwrap_or_else(|| format!("call_{}", tool_use.len() + 1));
            let input = match args {
                Value::Object(_) => args,
                Value::Null => json!({}),
                _ => {
                    return Err(ProviderError::Overloaded(format!(
                        "the tool call of `{model}` has parameters that are no object"
                    )));
                }
            };
            tool_use.push(ToolUse { id, name, input });
        }
    }
    let finish_reason = match finish_reason.as_deref() {
        // The API itself says STOP here; servers that stand in for it have a word of their own.
        Some("STOP" | "FUNCTION_CALL") if !tool_use.is_empty() => FinishReason::ToolUse,
        Some("STOP") if text.is_empty() => {
            return Err(ProviderError::Overloaded(format!("`{model}` gave an empty answer")));
        }
        Some("STOP") => FinishReason::EndTurn,
        Some("MAX_TOKENS") if request.tool.is_some() || !tool_use.is_empty() => {
            return Err(arguments::cut_off(model, usage.output));
        }
        Some("MAX_TOKENS") => FinishReason::MaxTokens,
        other => return Err(unfinished(model, other, finish_message)),
    };
    Ok(Response { text, tool_use, finish_reason, usage })
}

/// Returns the error of an answer that ended for anything but its own end or its length.
fn unfinished(model: &str, reason: Option<&str>, why: Option<String>) -> ProviderError {
    let Some(reason) = reason else {
        return ProviderError::Overloaded(format!("the answer of `{model}` is not whole"));
    };
    match reason {
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => refused(model, reason, why),
        // What the model wrote could not be read as a call: another try reads differently.
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "OTHER" => ProviderError::Overloaded(format!("`{model}` stopped for `{reason}`{}", because(why))),
        _ => ProviderError::Invalid(format!(
            "`{model}` stopped for `{reason}`, so its answer is not whole{}",
            because(why)
        )),
    }
}

fn refused(model: &str, reason: &str, why: Option<String>) -> ProviderError {
    ProviderError::Refused(format!("`{model}` refused to answer (`{reason}`){}", because(why)))
}

fn because(why: Option<String>) -> String {
    why.filter(|why| !why.is_empty())
        .map_or_else(String::new, |why| format!(": {}", text::truncate(&why, QUOTED)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::gemini::tests::MODEL;
    use crate::providers::pairs::{answer, request};
    use crate::tool::ToolSchema;

    const WHOLE: Form = Form { stream: false, structured: true };

    fn read(tool: bool, body: &Value) -> Result<Response, ProviderError> {
        decode(&request(MODEL, tool), &answer(200, body))
    }

    fn stopped(reason: &str, parts: &Value) -> Value {
        json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 7},
        })
    }

    #[test]
    fn nothing_empty_is_sent() {
        let mut request = request(MODEL, false);
        request.tool = Some(ToolSchema::new("list", "Lists."));
        request.system.clear();
        let body = encode(&request, WHOLE);
        assert!(body.get("systemInstruction").is_none());
        assert_eq!(
            body["tools"],
            json!([{"functionDeclarations": [{"name": "list", "description": "Lists."}]}])
        );
    }

    #[test]
    fn a_schema_is_sent_where_the_endpoint_takes_it_and_no_tool_is_asked_for() {
        let mut request = request(MODEL, false);
        request.schema = Some(json!({"type": "object"}).into());
        let config = |request: &Request, form| encode(request, form)["generationConfig"].clone();
        assert_eq!(config(&request, WHOLE)["responseJsonSchema"], json!({"type": "object"}));
        let plain = json!({"maxOutputTokens": 1024});
        assert_eq!(config(&request, Form { structured: false, ..WHOLE }), plain);
        request.tool = Some(ToolSchema::new("list", "Lists."));
        assert_eq!(config(&request, WHOLE), plain);
    }

    #[test]
    fn calls_without_a_number_get_one() {
        let parts =
            json!([{"functionCall": {"name": "a"}}, {"functionCall": {"name": "b", "args": {"x": 1}}}]);
        let response = read(true, &stopped("STOP", &parts)).unwrap();
        assert_eq!(
            response.tool_use,
            [
                ToolUse { id: "call_1".to_owned(), name: "a".to_owned(), input: json!({}) },
                ToolUse { id: "call_2".to_owned(), name: "b".to_owned(), input: json!({"x": 1}) },
            ]
        );
    }

    #[test]
    fn a_text_may_be_cut_but_a_tool_call_may_not() {
        let body = stopped("MAX_TOKENS", &json!([{"text": "a"}]));
        let response = read(false, &body).unwrap();
        assert_eq!((response.finish_reason, response.text.as_str()), (FinishReason::MaxTokens, "a"));
        assert_eq!(
            read(true, &body),
            Err(ProviderError::Overloaded(
                "the tool call of `gemini-3.5-flash` was cut off after 7 tokens".to_owned()
            ))
        );
    }

    #[test]
    fn what_is_blocked_is_refused_with_its_reason() {
        let prompt = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 3}});
        assert_eq!(
            read(false, &prompt),
            Err(ProviderError::Refused(
                "`gemini-3.5-flash` refused to answer (`PROHIBITED_CONTENT`)".to_owned()
            ))
        );
        let mut body = stopped("SAFETY", &json!([{"text": "half an ans"}]));
        body["candidates"][0]["finishMessage"] = json!("not this");
        let error = read(false, &body).unwrap_err();
        assert!(matches!(&error, ProviderError::Refused(text) if text.ends_with("(`SAFETY`): not this")));
        for reason in ["RECITATION", "SPII", "BLOCKLIST"] {
            let error = read(false, &stopped(reason, &json!([]))).unwrap_err();
            assert!(matches!(error, ProviderError::Refused(_)), "{reason}");
        }
    }

    #[test]
    fn what_went_wrong_on_the_way_can_be_tried_again() {
        let mut endless = stopped("STOP", &json!([{"text": "a"}]));
        endless["candidates"][0].as_object_mut().unwrap().remove("finishReason");
        for body in [
            stopped("MALFORMED_FUNCTION_CALL", &json!([])),
            stopped("OTHER", &json!([{"text": "a"}])),
            stopped("STOP", &json!([])),
            stopped("STOP", &json!([{"functionCall": {"name": "file_read", "args": "{"}}])),
            stopped("STOP", &json!([{"text": "hm", "thought": true}])),
            json!({"usageMetadata": {"promptTokenCount": 3}}),
            endless,
        ] {
            let error = read(true, &body).unwrap_err();
            assert!(matches!(error, ProviderError::Overloaded(_)), "{body}: {error:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_invalid() {
        let new = stopped("SOMETHING_NEW", &json!([{"text": "a"}]));
        for body in [json!({}), json!({"choices": []}), json!([]), json!({"candidates": 1}), new] {
            let error = read(false, &body).unwrap_err();
            assert!(matches!(error, ProviderError::Invalid(_)), "{body}: {error:?}");
        }
    }
}
