//! Owns `file_read` and `file_write`: text files of the workspace, whole or a part.
//!
//! A file that is not valid in its encoding is refused: what a model reads is what the file says.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use serde::{Deserialize, Serialize};
use serde_json::{Number, json};

use super::blocking::{Wanted, aside};
use super::parameter::whole;
use crate::text;
use crate::tool::ParameterType::{Number as Count, String as Text};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolSchema};
use crate::workspace::{Workspace, WorkspaceError};

/// Largest file that `file_read` returns; more would drown a model's context several times over.
const LARGEST: u64 = 4 << 20;

/// The smallest part of a file: the longest character.
const SHORTEST: u64 = 4;

/// How much of a file is searched for the NUL bytes that give a binary file away.
const SNIFFED: usize = 8 << 10;

/// The encoding that files are in unless a call says otherwise.
const USUAL: &str = "utf-8";

/// Encodings that are suggested for a label that nobody knows.
const COMMON: [&str; 9] = [
    USUAL,
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "iso-8859-1",
    "iso-8859-15",
    "shift_jis",
    "euc-jp",
    "gb18030",
];

/// The tool `file_read`.
pub(super) struct FileRead;

#[derive(Deserialize)]
pub(super) struct ReadArgs {
    path: String,
    encoding: String,
    offset: Option<Number>,
    limit: Option<Number>,
}

impl Tool for FileRead {
    const NAME: &'static str = "file_read";
    type Args = ReadArgs;
    type Output = String;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Reads one text file (source code, configuration, notes, data) and returns its whole content as a string, or a part of it. \
             Binary files and more than 4 MiB at once are refused.",
        )
        .required(
            "path",
            Text,
            "Path of the file, relative to the workspace or absolute inside it, such as `src/index.ts`.",
        )
        .defaulted(
            "encoding",
            Text,
            "Encoding of the file as a WHATWG label, such as `utf-8`, `windows-1252` or `utf-16le`.",
            json!(USUAL),
        )
        .optional("offset", Count, "Byte at which to begin, from 0; what is left of a character there is left out.")
        .optional("limit", Count, "How many bytes to read at most, at least 4; without it everything from `offset` on.")
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn call(&self, args: ReadArgs, context: &ToolContext) -> Result<String, ToolError> {
        let part = Part {
            offset: args.offset.as_ref().map_or(Ok(0), |offset| whole("offset", offset, 0))?,
            limit: args.limit.as_ref().map(|limit| whole("limit", limit, SHORTEST)).transpose()?,
        };
        let read = move |workspace: &Workspace, _: &Wanted| {
            let text = if part == Part::default() {
                read_text(workspace, &args.path, &args.encoding, LARGEST)
            } else {
                read_part(workspace, &args.path, &args.encoding, part)
            };
            text.map_err(|error| match error {
                ReadError::Workspace(error @ WorkspaceError::TooLarge { .. }) => ToolError::new(format!(
                    "{error}: read a part of it with `offset` and `limit`, or its first entries with `data_parse` and `preview`"
                )),
                other => ToolError::new(other.to_string()),
            })
        };
        aside(context, read).await
    }
}

/// Why a file could not be read as text.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("`encoding` must be a WHATWG label such as `windows-1252`, not `{label}`{}",
        .meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default())]
    Label { label: String, meant: Option<&'static str> },
    #[error(
        "`{path}` is a binary file: look at it with `shell_execute`, or name its `encoding` if it is UTF-16"
    )]
    Binary { path: String },
    #[error("`{path}` is not valid {encoding}: name its `encoding`, such as {other}")]
    Malformed { path: String, encoding: &'static str, other: String },
}

/// Returns the text of a file of at most `limit` bytes, without its byte order mark; the mark overrules `label`.
pub(super) fn read_text(
    workspace: &Workspace,
    path: &str,
    label: &str,
    limit: u64,
) -> Result<String, ReadError> {
    let named = named(label)?;
    let bytes = workspace.read(path, limit)?;
    decode(&bytes, Encoding::for_bom(&bytes).map_or(named, |(marked, _)| marked), path)
}

/// The bytes of a file that are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    offset: u64,
    limit: Option<u64>,
}

/// Returns the text of a part of a file, without what is left of characters at its ends.
fn read_part(workspace: &Workspace, path: &str, label: &str, part: Part) -> Result<String, ReadError> {
    let named = named(label)?;
    let mark = workspace.part(path, 0, 3)?;
    let encoding = Encoding::for_bom(&mark).map_or(named, |(marked, _)| marked);
    // Two bytes belong together.
    let even = |number: u64| if is_wide(encoding) { number / 2 * 2 } else { number };
    let (offset, limit) = (even(part.offset), even(part.limit.unwrap_or(LARGEST + 1).min(LARGEST + 1)));
    let bytes = workspace.part(path, offset, limit)?;
    if bytes.len() as u64 > LARGEST {
        return Err(WorkspaceError::TooLarge { path: path.to_owned(), limit: LARGEST }.into());
    }
    let mut whole = bytes.as_slice();
    if encoding == UTF_8 {
        let begun = if offset == 0 {
            0
        } else {
            whole.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
        };
        whole = &whole[begun..];
        if let Err(fault) = std::str::from_utf8(whole)
            && fault.error_len().is_none()
            && bytes.len() as u64 == limit
        {
            whole = &whole[..fault.valid_up_to()];
        }
    }
    decode(whole, encoding, path)
}

fn named(label: &str) -> Result<&'static Encoding, ReadError> {
    Encoding::for_label_no_replacement(label.as_bytes())
        .ok_or_else(|| ReadError::Label { label: label.to_owned(), meant: text::did_you_mean(label, COMMON) })
}

fn is_wide(encoding: &'static Encoding) -> bool {
    [UTF_16LE, UTF_16BE].contains(&encoding)
}

/// Returns the text that `bytes` are, without a byte order mark.
fn decode(bytes: &[u8], encoding: &'static Encoding, path: &str) -> Result<String, ReadError> {
    if !is_wide(encoding) && bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
        return Err(ReadError::Binary { path: path.to_owned() });
    }
    let (content, malformed) = encoding.decode_with_bom_removal(bytes);
    if malformed {
        let others =
            ["windows-1252", USUAL].into_iter().filter(|other| *other != encoding.name().to_lowercase());
        return Err(ReadError::Malformed {
            path: path.to_owned(),
            encoding: encoding.name(),
            other: text::ticked_or(others),
        });
    }
    Ok(content.into_owned())
}

/// The tool `file_write`.
pub(super) struct FileWrite;

#[derive(Deserialize)]
pub(super) struct WriteArgs {
    path: String,
    content: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written {
    path: String,
    bytes_written: usize,
}

impl Tool for FileWrite {
    const NAME: &'static str = "file_write";
    type Args = WriteArgs;
    type Output = Written;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Creates a text file, or replaces all of an existing one, with the given content in UTF-8; missing folders above it are created. \
             Returns the path and the number of bytes written.",
        )
        .required(
            "path",
            Text,
            "Path of the file, relative to the workspace or absolute inside it, such as `reports/summary.md`.",
        )
        .required("content", Text, "The whole new content of the file; nothing of an old content is kept.")
    }

    async fn call(&self, args: WriteArgs, context: &ToolContext) -> Result<Written, ToolError> {
        let write = move |workspace: &Workspace, wanted: &Wanted| {
            wanted.check()?;
            let relative = workspace.write(&args.path, args.content.as_bytes())?;
            Ok((relative, Written { path: args.path, bytes_written: args.content.len() }))
        };
        let (relative, written) = aside(context, write).await?;
        context.wrote(&relative);
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Observation;
    use crate::tools::trial::Trial;

    async fn read(trial: &Trial, params: serde_json::Value) -> Result<serde_json::Value, String> {
        trial.call("file_read", params).await
    }

    #[tokio::test]
    async fn a_file_is_returned_as_it_is() {
        let trial = Trial::new();
        trial.file("src/a.txt", "größer\r\n\n");
        assert_eq!(read(&trial, json!({"path": "./src/a.txt"})).await, Ok(json!("größer\r\n\n")));
        let absolute = trial.path("src/a.txt");
        assert_eq!(read(&trial, json!({"path": absolute})).await, Ok(json!("größer\r\n\n")));
    }

    #[tokio::test]
    async fn other_encodings_are_named_and_a_byte_order_mark_names_its_own() {
        let trial = Trial::new();
        trial.file("latin", b"gr\xf6\xdfer");
        trial.file("wide", b"\xff\xfea\0\xdf\0");
        trial.file("marked", b"\xef\xbb\xbfa");
        for label in ["latin1", "windows-1252", "ISO-8859-1"] {
            let params = json!({"path": "latin", "encoding": label});
            assert_eq!(read(&trial, params).await, Ok(json!("größer")), "{label}");
        }
        assert_eq!(read(&trial, json!({"path": "wide", "encoding": "utf-16le"})).await, Ok(json!("aß")));
        assert_eq!(read(&trial, json!({"path": "wide"})).await, Ok(json!("aß")));
        assert_eq!(read(&trial, json!({"path": "marked"})).await, Ok(json!("a")));
    }

    #[tokio::test]
    async fn a_part_is_returned_in_whole_characters() {
        let trial = Trial::new();
        trial.file("a", "größer als alles");
        trial.file("wide", b"\xff\xfea\0\xdf\0b\0");
        trial.file("large", vec![b'x'; (4 << 20) + 9]);
        trial.file("odd", b"gr\xc3");
        for (params, part) in [
            (json!({"path": "a", "offset": 3}), "ßer als alles"),
            (json!({"path": "a", "limit": 5}), "grö"),
            (json!({"path": "a", "offset": 7, "limit": 6}), "r als "),
            (json!({"path": "a", "offset": 99}), ""),
            (json!({"path": "wide", "offset": 5, "limit": 5}), "ßb"),
            (json!({"path": "large", "offset": 4 << 20}), "xxxxxxxxx"),
        ] {
            assert_eq!(read(&trial, params.clone()).await, Ok(json!(part)), "{params}");
        }
        for (params, fault) in [
            (json!({"path": "large", "offset": 1}), "`large` is larger than 4.2 MB"),
            (json!({"path": "a", "limit": 3}), "`limit` must be a whole number of at least 4"),
            (json!({"path": "odd", "offset": 1}), "`odd` is not valid UTF-8"),
        ] {
            let refused = read(&trial, params).await.unwrap_err();
            assert!(refused.starts_with(fault), "{refused}");
        }
    }

    #[tokio::test]
    async fn what_is_not_text_in_its_encoding_is_refused() {
        let trial = Trial::new();
        trial.file("latin", b"gr\xf6\xdfer");
        trial.file("odd", b"\xff\xfea");
        trial.file("image", b"\x89PNG\0\0");
        let errors = [
            (
                json!({"path": "latin"}),
                "`latin` is not valid UTF-8: name its `encoding`, such as `windows-1252`",
            ),
            (
                json!({"path": "odd"}),
                "`odd` is not valid UTF-16LE: name its `encoding`, such as `windows-1252` or `utf-8`",
            ),
            (
                json!({"path": "image"}),
                "`image` is a binary file: look at it with `shell_execute`, or name its `encoding` if it is UTF-16",
            ),
            (
                json!({"path": "latin", "encoding": "utf16le"}),
                "`encoding` must be a WHATWG label such as `windows-1252`, not `utf16le`: did you mean `utf-16le`?",
            ),
        ];
        for (params, error) in errors {
            assert_eq!(read(&trial, params).await, Err(error.to_owned()));
        }
    }

    #[tokio::test]
    async fn paths_that_cannot_be_read_are_told_apart() {
        let trial = Trial::new();
        trial.file("folder/x", "x");
        trial.file("large", vec![b'x'; (4 << 20) + 1]);
        let errors = [
            ("absent.txt", "`absent.txt` does not exist"),
            ("../x", "`../x` is outside the workspace"),
            ("/etc/hostname", "`/etc/hostname` is outside the workspace"),
            ("folder", "`folder` is a folder, not a file"),
            (
                "large",
                "`large` is larger than 4.2 MB: read a part of it with `offset` and `limit`, \
                 or its first entries with `data_parse` and `preview`",
            ),
        ];
        for (path, error) in errors {
            assert_eq!(read(&trial, json!({"path": path})).await, Err(error.to_owned()));
        }
    }

    #[tokio::test]
    async fn a_file_is_written_and_the_run_learns_of_it() {
        let trial = Trial::new();
        let params = json!({"path": "./out/./a.txt", "content": "größer"});
        let returned = trial.call("file_write", params).await;
        assert_eq!(returned, Ok(json!({"path": "./out/./a.txt", "bytesWritten": 8})));
        assert_eq!(std::fs::read_to_string(trial.path("out/a.txt")).unwrap(), "größer");
        assert_eq!(trial.context.take_observations(), [Observation::Wrote("out/a.txt".to_owned())]);
    }

    #[tokio::test]
    async fn a_file_that_was_not_written_is_not_reported() {
        let trial = Trial::new();
        for (path, error) in
            [("../a.txt", "`../a.txt` is outside the workspace"), (".", "`.` is a folder, not a file")]
        {
            let returned = trial.call("file_write", json!({"path": path, "content": ""})).await;
            assert_eq!(returned, Err(error.to_owned()));
        }
        assert_eq!(trial.context.take_observations(), []);
    }
}
