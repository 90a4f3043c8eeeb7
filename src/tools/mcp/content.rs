//! Owns what a server's answer to a call comes to: its structured content, or its texts, or notes of what is neither.
//!
//! It refuses to hand on bytes in base64: no model reads them, and every later message would carry them along.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::tool::ToolError;

/// Returns the output of the tool called `name`, or the error that the server says it is.
pub(super) fn output(name: &str, result: CallToolResult) -> Result<Value, ToolError> {
    let failed = result.is_error == Some(true);
    let said = match result.structured_content {
        Some(content) if !failed || result.content.is_empty() => content,
        _ => joined(result.content.into_iter().map(block).collect()),
    };
    if !failed {
        return Ok(said);
    }
    Err(ToolError::new(match said {
        Value::String(text) if !text.trim().is_empty() => text,
        Value::Null | Value::String(_) => format!("Tool \"{name}\" failed without saying why"),
        other => other.to_string(),
    }))
}

/// Returns texts as one text, and a list where there is something else among them.
fn joined(mut blocks: Vec<Value>) -> Value {
    let texts: Option<Vec<&str>> = blocks.iter().map(Value::as_str).collect();
    match texts {
        Some(texts) if texts.is_empty() => Value::Null,
        Some(texts) => Value::String(texts.join("\n")),
        None if blocks.len() == 1 => blocks.swap_remove(0),
        None => Value::Array(blocks),
    }
}

fn block(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => Value::String(text.text),
        ContentBlock::Image(image) => {
            json!({"type": "image", "mimeType": image.mime_type, "bytes": decoded_length(&image.data)})
        }
        ContentBlock::Audio(audio) => {
            json!({"type": "audio", "mimeType": audio.mime_type, "bytes": decoded_length(&audio.data)})
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                let bytes = text.len();
                json!({"type": "resource", "uri": uri, "mimeType": mime_type, "bytes": bytes, "text": text})
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                json!({"type": "resource", "uri": uri, "mimeType": mime_type, "bytes": decoded_length(&blob)})
            }
            _ => json!({"type": "resource"}),
        },
        ContentBlock::ResourceLink(link) => {
            json!({"type": "resource_link", "uri": link.uri, "name": link.name, "mimeType": link.mime_type, "bytes": link.size})
        }
        _ => json!({"type": "unknown"}),
    }
}

/// Returns how many bytes a text in base64 stands for.
fn decoded_length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(result: Value) -> Result<Value, String> {
        output("s__t", serde_json::from_value(result).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn structured_content_comes_first_then_texts() {
        let text = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(of(json!({"content": [text("{}")], "structuredContent": {"a": 1}})), Ok(json!({"a": 1})));
        assert_eq!(of(json!({"content": [text("{\"a\":1}")]})), Ok(json!("{\"a\":1}")));
        assert_eq!(of(json!({"content": [text("a"), text("b")]})), Ok(json!("a\nb")));
        assert_eq!(of(json!({"content": []})), Ok(Value::Null));
    }

    #[test]
    fn bytes_become_notes() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="});
        let note = json!({"type": "image", "mimeType": "image/png", "bytes": 5});
        assert_eq!(of(json!({"content": [image]})), Ok(note.clone()));
        let blob = json!({"type": "resource", "resource": {"uri": "x://1", "blob": "aGVsbG8="}});
        let link = json!({"type": "resource_link", "uri": "x://2", "name": "two"});
        assert_eq!(
            of(json!({"content": [{"type": "text", "text": "see"}, image, blob, link]})),
            Ok(json!([
                "see",
                note,
                {"type": "resource", "uri": "x://1", "mimeType": null, "bytes": 5},
                {"type": "resource_link", "uri": "x://2", "name": "two", "mimeType": null, "bytes": null},
            ]))
        );
    }

    #[test]
    fn an_error_says_what_the_server_said() {
        let said = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(of(said), Err("no such file".to_owned()));
        assert_eq!(
            of(json!({"content": [], "isError": true})),
            Err("Tool \"s__t\" failed without saying why".to_owned())
        );
        let structured = json!({"content": [], "structuredContent": {"code": 7}, "isError": true});
        assert_eq!(of(structured), Err("{\"code\":7}".to_owned()));
    }
}
