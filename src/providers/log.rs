//! Owns the log of model calls: one line of JSON for every try, in a file that is there from the first one on.
//!
//! It refuses to hold what was asked unless that is wanted, and it never stops a run: a log that cannot be written is reported once.
//! Secrets are removed before anything is shortened, as half of one would not be recognized.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions as OpenIn};
use jiff::Timestamp;
use serde::Serialize;

use crate::provider::{Message, ProviderError, Request, Response, Speaker};
use crate::secret::Secrets;
use crate::text;

/// The longest preview of a prompt, in characters.
const PREVIEW: usize = 100;

/// The log of the model calls of a run; its clones write to the same file.
#[derive(Debug, Clone)]
pub struct LlmLog {
    root: PathBuf,
    folder: PathBuf,
    include_content: bool,
    secrets: Secrets,
    file: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    Unopened,
    Open(File),
    Broken,
}

/// One try of a call.
pub(super) struct Try<'t> {
    pub(super) provider: &'t str,
    pub(super) request: &'t Request,
    pub(super) result: &'t Result<Response, ProviderError>,
    /// The number of the try, from 1.
    pub(super) number: u32,
    pub(super) took: Duration,
    /// Whether another try follows.
    pub(super) again: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'t> {
    timestamp: String,
    provider: &'t str,
    status: Status,
    duration_ms: u64,
    attempt: u32,
    request: Asked<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Answered<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failed>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Retry,
    Error,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'t> {
    model: &'t str,
    message_count: usize,
    total_char_length: usize,
    prompt_preview: String,
    max_tokens: u64,
    has_system_prompt: bool,
    has_tools: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'t [Message]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<&'t str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'t> {
    text: &'t str,
    tokens_used: Tokens,
    finish_reason: &'static str,
    tool_use_count: usize,
}

#[derive(Serialize)]
struct Tokens {
    input: u64,
    output: u64,
}

#[derive(Serialize)]
struct Failed {
    message: String,
    retryable: bool,
}

impl LlmLog {
    /// Returns a log in `folder`, as seen from `root`; with `include_content` it holds the messages and the system prompt too.
    pub fn new(root: PathBuf, folder: PathBuf, include_content: bool, secrets: Secrets) -> Self {
        Self { root, folder, include_content, secrets, file: Arc::new(Mutex::new(State::Unopened)) }
    }

    /// Writes one line.
    pub(super) fn write(&self, tried: &Try<'_>) {
        let now = Timestamp::now();
        // Lines are written whole: a panic elsewhere cannot leave half of one.
        let mut state = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.append(&mut state, now, tried) {
            *state = State::Broken;
            tracing::warn!("cannot log model calls in `{}`: {error}", self.folder.display());
        }
    }

    fn append(&self, state: &mut State, now: Timestamp, tried: &Try<'_>) -> io::Result<()> {
        let file = match state {
            State::Broken => return Ok(()),
            State::Open(file) => file,
            State::Unopened => {
                *state = State::Open(open(&self.root, &self.folder, now)?);
                return self.append(state, now, tried);
            }
        };
        let line = serde_json::to_string(&self.entry(now, tried))?;
        let mut line = self.secrets.redact(&line).into_owned();
        line.push('\n');
        file.write_all(line.as_bytes())
    }

    fn entry<'t>(&self, now: Timestamp, tried: &Try<'t>) -> Entry<'t> {
        let Try { provider, request, result, number, took, again } = *tried;
        let Request { model, system, messages, .. } = request;
        let chars = |text: &str| text.chars().count();
        let asked = messages.iter().rev().find(|message| message.role == Speaker::User);
        let prompt = self.secrets.redact(asked.map_or("", |message| &message.content));
        Entry {
            timestamp: iso(now),
            provider,
            status: match result {
                Ok(_) => Status::Success,
                Err(_) if again => Status::Retry,
                Err(_) => Status::Error,
            },
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            attempt: number,
            request: Asked {
                model,
                message_count: messages.len(),
                total_char_length: messages.iter().map(|message| chars(&message.content)).sum(),
                prompt_preview: text::truncate(&prompt, PREVIEW).into_owned(),
                max_tokens: request.max_tokens,
                has_system_prompt: !system.is_empty(),
                has_tools: request.tool.is_some(),
                messages: self.include_content.then_some(messages),
                system_prompt: (self.include_content && !system.is_empty()).then_some(system),
            },
            response: result.as_ref().ok().map(|response| Answered {
                text: &response.text,
                tokens_used: Tokens { input: response.usage.input, output: response.usage.output },
                finish_reason: response.finish_reason.name(),
                tool_use_count: response.tool_use.len(),
            }),
            error: result
                .as_ref()
                .err()
                .map(|error| Failed { message: error.to_string(), retryable: error.is_retryable() }),
        }
    }
}

/// Opens the file that is named after `now`; where two runs begin in the same millisecond, they share it line by line.
fn open(root: &Path, folder: &Path, now: Timestamp) -> io::Result<File> {
    // Not every file system takes a colon.
    let name = format!("llm-{}.jsonl", iso(now).replace(':', "-"));
    if folder.is_absolute() || folder.components().any(|part| part == Component::ParentDir) {
        let folder = root.join(folder);
        fs::create_dir_all(&folder)?;
        return OpenOptions::new().append(true).create(true).open(folder.join(name));
    }
    // An earlier run may have put a link there: what leads out of the workspace is not followed.
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    root.create_dir_all(folder)?;
    let opened = root.open_with(folder.join(name), OpenIn::new().append(true).create(true))?;
    Ok(opened.into_std())
}

fn iso(now: Timestamp) -> String {
    format!("{now:.3}")
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::{Value, json};

    use super::*;
    use crate::event::{Purpose, Role};
    use crate::outcome::Usage;
    use crate::provider::{FinishReason, ToolUse};
    use crate::tool::ToolSchema;

    const FOLDER: &str = ".tepa/logs";

    fn request() -> Request {
        Request {
            purpose: Purpose { role: Role::Executor, cycle: 1, step: None, tool: None, attempt: 1 },
            model: "m".to_owned(),
            system: "Be brief.".to_owned(),
            messages: vec![
                Message::user("Héllo"),
                Message::assistant("?"),
                Message::user(format!("{}sk-hunter2hunter2", "x".repeat(95))),
            ],
            tool: Some(ToolSchema::new("ls", "Lists")),
            schema: None,
            max_tokens: 9,
        }
    }

    fn answer() -> Response {
        let call = ToolUse { id: "1".to_owned(), name: "ls".to_owned(), input: json!({}) };
        Response {
            text: "the key is sk-hunter2hunter2".to_owned(),
            tool_use: vec![call],
            finish_reason: FinishReason::ToolUse,
            usage: Usage { input: 3, output: 4, cached: 2, cache_write: 0 },
        }
    }

    fn log(folder: &Path, include_content: bool) -> LlmLog {
        let secrets = Secrets::new([SecretString::from("sk-hunter2hunter2")]);
        LlmLog::new(folder.to_owned(), FOLDER.into(), include_content, secrets)
    }

    fn write(log: &LlmLog, result: &Result<Response, ProviderError>, again: bool) {
        let took = Duration::from_millis(1500);
        log.write(&Try { provider: "p", request: &request(), result, number: 2, took, again });
    }

    /// Returns the lines of the only log, after a look at its name.
    fn lines(folder: &Path) -> Vec<Value> {
        let files: Vec<_> = fs::read_dir(folder.join(FOLDER)).unwrap().map(Result::unwrap).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        let name = file.file_name().into_string().unwrap();
        let time = name.strip_prefix("llm-").unwrap().strip_suffix(".jsonl").unwrap();
        assert!(time.ends_with('Z') && !time.contains(':'), "{name}");
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_has_every_field_but_no_content() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), false);
        assert!(!folder.path().join(".tepa").exists());
        write(&log, &Ok(answer()), false);
        let mut lines = lines(folder.path());
        let time: Timestamp = lines[0]["timestamp"].take().as_str().unwrap().parse().unwrap();
        assert!(time <= Timestamp::now());
        assert_eq!(
            lines,
            [json!({
                "timestamp": null,
                "provider": "p",
                "status": "success",
                "durationMs": 1500,
                "attempt": 2,
                "request": {
                    "model": "m",
                    "messageCount": 3,
                    "totalCharLength": 118,
                    "promptPreview": format!("{}***", "x".repeat(95)),
                    "maxTokens": 9,
                    "hasSystemPrompt": true,
                    "hasTools": true,
                },
                "response": {
                    "text": "the key is ***",
                    "tokensUsed": {"input": 3, "output": 4},
                    "finishReason": "tool_use",
                    "toolUseCount": 1,
                },
            })]
        );
    }

    #[test]
    fn content_is_there_where_it_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        write(&log(folder.path(), true), &Ok(answer()), false);
        let request = &lines(folder.path())[0]["request"];
        assert_eq!(request["systemPrompt"], "Be brief.");
        assert_eq!(request["messages"][0], json!({"role": "user", "content": "Héllo"}));
        assert_eq!(request["messages"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_failure_says_whether_it_is_worth_another_try() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), false);
        let busy = ProviderError::Overloaded("busy with sk-hunter2hunter2".to_owned());
        write(&log, &Err(busy.clone()), true);
        write(&log.clone(), &Err(busy), false);
        let lines = lines(folder.path());
        assert_eq!(lines[0]["error"], json!({"message": "busy with ***", "retryable": true}));
        assert_eq!((&lines[0]["status"], &lines[1]["status"]), (&json!("retry"), &json!("error")));
        assert!(lines[0].get("response").is_none());
    }

    #[test]
    fn a_log_that_cannot_be_written_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".tepa"), "a file").unwrap();
        let log = log(folder.path(), false);
        write(&log, &Ok(answer()), false);
        fs::remove_file(folder.path().join(".tepa")).unwrap();
        write(&log, &Ok(answer()), false);
        assert!(!folder.path().join(".tepa").exists());
    }
}
