//! Owns the dialect of Google's Gemini API: where a request goes, its key, and the parts that put and read it.
//!
//! A model's name never decides more than one segment of the path, whatever it is made of.

mod failure;
mod schema;
mod stream;
mod wire;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::answer::Answer;
use super::dialect::{Collect, Dialect, Form, Target};
use crate::provider::{ProviderError, Request, Response};

/// The variable that holds the key.
const KEY_VARIABLE: &str = "GEMINI_API_KEY";

/// The Gemini API.
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn key_variable(&self) -> &'static str {
        KEY_VARIABLE
    }

    fn target(&self, request: &Request, form: Form) -> Target {
        let model = segment(request.model.strip_prefix("models/").unwrap_or(&request.model));
        let (method, query) =
            if form.stream { ("streamGenerateContent", Some("alt=sse")) } else { ("generateContent", None) };
        Target { version: "v1beta", path: format!("models/{model}:{method}"), query }
    }

    fn headers(&self, key: Option<&HeaderValue>) -> HeaderMap {
        key.map(|key| (HeaderName::from_static("x-goog-api-key"), key.clone())).into_iter().collect()
    }

    fn encode(&self, request: &Request, form: Form) -> Value {
        wire::encode(request, form)
    }

    fn decode(&self, request: &Request, answer: &Answer) -> Result<Response, ProviderError> {
        if answer.status.is_success() {
            wire::decode(request, answer)
        } else {
            Err(failure::of_answer(request, answer))
        }
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::<stream::Collected>::default()
    }
}

/// Returns `name` as one segment of a path.
fn segment(name: &str) -> String {
    name.bytes()
        .map(|byte| {
            let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use reqwest::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::event::{Purpose, Role};
    use crate::outcome::Usage;
    use crate::provider::Message;
    use crate::providers::sse::Event;
    use crate::tool::{ParameterType, ToolSchema};

    pub(super) fn request(tool: Option<ToolSchema>) -> Request {
        Request {
            purpose: Purpose { role: Role::Executor, cycle: 1, step: None, tool: None, attempt: 1 },
            model: "gemini-3.5-flash".to_owned(),
            system: "You fill in parameters.".to_owned(),
            messages: vec![
                Message::user("Read the notes."),
                Message::assistant("Which?"),
                Message::user_with_stable("a", ".txt"),
            ],
            tool,
            schema: None,
            max_tokens: 1024,
        }
    }

    pub(super) fn file_read() -> ToolSchema {
        ToolSchema::new("file_read", "Reads a file.")
            .required("path", ParameterType::String, "Relative to the workspace")
            .defaulted("encoding", ParameterType::String, "Of the text", json!("utf-8"))
    }

    pub(super) fn answer(status: u16, body: &Value) -> Answer {
        Answer {
            url: "https://host/v1beta/models/m:generateContent".to_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_string().into_bytes(),
        }
    }

    /// Returns the events of a stream as it is written down: one data line each.
    fn events(text: &str) -> Vec<Event> {
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| Event { name: None, data: data.to_owned() })
            .collect()
    }

    /// Returns the body that the events make, with what was said of the usage on the way.
    pub(super) fn collected(events: &[Event]) -> Result<(Vec<Usage>, Option<Value>), ProviderError> {
        let mut collect = Gemini.collect();
        let usage = events.iter().map(|event| collect.take(event)).collect::<Result<_, _>>()?;
        Ok((usage, collect.whole()))
    }

    fn pairs() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/gemini")
    }

    fn shown(response: &Response) -> Value {
        let Response { text, tool_use, finish_reason, usage } = response;
        json!({"text": text, "toolUse": tool_use, "finishReason": finish_reason, "usage": usage})
    }

    #[test]
    fn recorded_pairs_are_sent_and_read_as_written_down() {
        let schema = json!({"type": "object", "properties": {"verdict": {"type": "string"}},
            "required": ["verdict"], "additionalProperties": false});
        for (name, tool, schema) in
            [("text", None, None), ("tool_use", Some(file_read()), None), ("structured", None, Some(schema))]
        {
            let request = Request { schema: schema.map(Into::into), ..request(tool) };
            let text = std::fs::read_to_string(pairs().join(format!("{name}.json"))).unwrap();
            let pair: Value = serde_json::from_str(&text).unwrap();
            for stream in [false, true] {
                let form = Form { stream, structured: true };
                assert_eq!(Gemini.encode(&request, form), pair["received"], "{name}");
            }
            let whole = Gemini.decode(&request, &answer(200, &pair["answer"])).unwrap();
            assert_eq!(shown(&whole), pair["decoded"], "{name}");

            let stream = std::fs::read_to_string(pairs().join(format!("{name}.sse"))).unwrap();
            let (usage, body) = collected(&events(&stream)).unwrap();
            let streamed = Gemini.decode(&request, &answer(200, &body.unwrap())).unwrap();
            assert_eq!(streamed, whole, "{name}");
            assert_eq!(usage.last(), Some(&whole.usage), "{name}");
        }
    }

    #[test]
    fn a_stream_that_is_cut_anywhere_is_not_whole() {
        for name in ["text", "tool_use", "structured"] {
            let stream = std::fs::read_to_string(pairs().join(format!("{name}.sse"))).unwrap();
            let events = events(&stream);
            for count in 0..events.len() {
                assert_eq!(collected(&events[..count]).unwrap().1, None, "{name} after {count}");
            }
        }
    }

    #[test]
    fn the_path_names_the_model_and_nothing_else() {
        let path = |model: &str, stream| {
            let request = Request { model: model.to_owned(), ..request(None) };
            Gemini.target(&request, Form { stream, structured: false })
        };
        for model in ["gemini-3.5-flash", "models/gemini-3.5-flash"] {
            let target = path(model, false);
            assert_eq!(target.path, "models/gemini-3.5-flash:generateContent");
            assert_eq!((target.version, target.query), ("v1beta", None));
            let target = path(model, true);
            assert_eq!(target.path, "models/gemini-3.5-flash:streamGenerateContent");
            assert_eq!(target.query, Some("alt=sse"));
        }
        assert_eq!(path("", false).path, "models/:generateContent");
        assert_eq!(
            path("../a?key=1#b c%é", false).path,
            "models/..%2Fa%3Fkey%3D1%23b%20c%25%C3%A9:generateContent"
        );
    }

    #[test]
    fn the_key_is_in_its_header_and_nowhere_else() {
        assert!(Gemini.headers(None).is_empty());
        let headers = Gemini.headers(Some(&HeaderValue::from_static("AIza-hunter2")));
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-goog-api-key"], "AIza-hunter2");
    }
}
