//! A file as it was read: its name, its text and where each line begins.
//!
//! It refuses what is no small text file (a folder, a pipe, a device, more than [`MAX_SOURCE_BYTES`], anything
//! but UTF-8) before parsing, so that nothing later can hang or run out of memory on it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use serde::Serialize;

use super::span::{Position, Span};
use crate::text;

/// The largest file that is read, in bytes (4 MiB).
pub const MAX_SOURCE_BYTES: u64 = 4 * 1024 * 1024;

const EXTENSIONS: [(&str, Format); 3] =
    [("yaml", Format::Yaml), ("yml", Format::Yaml), ("json", Format::Json)];

/// The notation a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// YAML 1.2, one document.
    Yaml,
    /// JSON as RFC 8259 has it: no comments, no trailing commas.
    Json,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is nothing under this name.
    #[error("`{name}` does not exist")]
    Missing {
        /// The name as the person wrote it.
        name: String,
    },
    /// The name is that of a folder.
    #[error("`{name}` is a directory, not a file")]
    Directory {
        /// The name as the person wrote it.
        name: String,
    },
    /// The name is that of a pipe, a socket or a device.
    #[error("`{name}` is not a regular file")]
    NotRegular {
        /// The name as the person wrote it.
        name: String,
    },
    /// The operating system refused.
    #[error("cannot read `{name}`: {source}")]
    Unreadable {
        /// The name as the person wrote it.
        name: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file is larger than [`MAX_SOURCE_BYTES`].
    #[error("`{name}` is larger than {MAX_SOURCE_BYTES} bytes{}", measured(*.size))]
    TooLarge {
        /// The name as the person wrote it.
        name: String,
        /// Size in bytes, or none if reading stopped at the limit.
        size: Option<u64>,
    },
    /// The bytes are not UTF-8.
    #[error("`{name}` is not UTF-8 text: line {line} has an invalid byte at offset {offset}")]
    NotUtf8 {
        /// The name as the person wrote it.
        name: String,
        /// Offset of the first invalid byte, from 0.
        offset: usize,
        /// Line of the first invalid byte, from 1.
        line: usize,
    },
    /// The file holds white space and comments only.
    #[error("`{name}` is empty")]
    Empty {
        /// The name as the person wrote it.
        name: String,
    },
    /// The name does not end in an extension that says how to read the file.
    #[error("`{name}` does not end in `.yaml`, `.yml` or `.json`")]
    UnknownExtension {
        /// The name as the person wrote it.
        name: String,
        /// The known extension that was probably meant.
        suggestion: Option<&'static str>,
    },
}

impl SourceError {
    /// Returns what the person can do about it, if there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotUtf8 { .. } => Some("save the file as UTF-8".to_owned()),
            Self::UnknownExtension { suggestion: Some(known), .. } => {
                Some(format!("did you mean `.{known}`?"))
            }
            Self::UnknownExtension { suggestion: None, .. } => {
                Some("let the name say what is in it: `.yaml` or `.json`".to_owned())
            }
            _ => None,
        }
    }
}

fn measured(size: Option<u64>) -> String {
    size.map_or_else(String::new, |size| format!(": it has {size}"))
}

/// The text of one file with the name it goes by in messages.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    format: Format,
    lines: OnceLock<Vec<usize>>,
}

impl SourceFile {
    /// Reads the file at `path`; `name` is how messages call it.
    pub fn read(path: &Path, name: &str) -> Result<Self, SourceError> {
        let owned = || name.to_owned();
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => SourceError::Missing { name: owned() },
            _ => SourceError::Unreadable { name: owned(), source },
        };
        // Looked at before opening: to open a pipe nobody writes to would wait for ever.
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(SourceError::Directory { name: owned() });
        }
        if !metadata.is_file() {
            return Err(SourceError::NotRegular { name: owned() });
        }
        let format = Format::of(path)
            .map_err(|suggestion| SourceError::UnknownExtension { name: owned(), suggestion })?;
        if metadata.len() > MAX_SOURCE_BYTES {
            return Err(SourceError::TooLarge { name: owned(), size: Some(metadata.len()) });
        }
        let file = File::open(path).map_err(unreadable)?;
        Self::from_reader(name, file, format)
    }

    /// Reads a stream to its end, for instance standard input, with the same limits as a file.
    pub fn from_reader(name: &str, reader: impl Read, format: Format) -> Result<Self, SourceError> {
        let owned = || name.to_owned();
        let mut content = Vec::new();
        reader
            .take(MAX_SOURCE_BYTES + 1)
            .read_to_end(&mut content)
            .map_err(|source| SourceError::Unreadable { name: owned(), source })?;
        if content.len() as u64 > MAX_SOURCE_BYTES {
            return Err(SourceError::TooLarge { name: owned(), size: None });
        }
        let text = String::from_utf8(content).map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..offset].split(|byte| *byte == b'\n').count();
            SourceError::NotUtf8 { name: owned(), offset, line }
        })?;
        let file = Self::from_text(name, text, format);
        if file.is_blank() { Err(SourceError::Empty { name: owned() }) } else { Ok(file) }
    }

    /// Returns a file made of text that is already there. A leading byte order mark is dropped, so offsets count
    /// from the first character that a person sees.
    pub fn from_text(name: &str, text: impl Into<String>, format: Format) -> Self {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Self { name: name.to_owned(), text, format, lines: OnceLock::new() }
    }

    /// Returns the name as messages show it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the whole text, without byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the notation.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the text a span covers, empty if the span does not fit this file.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Returns line and column of a byte offset; one past the end counts as the end.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines().partition_point(|start| *start <= offset);
        let start = self.lines()[line - 1];
        Position { line, column: 1 + self.text[start..offset].chars().count() }
    }

    /// Returns the span of a line, counted from 1, without its line ending; past the end it is the last line.
    pub fn line_span(&self, line: usize) -> Span {
        let lines = self.lines();
        let index = line.saturating_sub(1).min(lines.len() - 1);
        let start = lines[index];
        let end = lines.get(index + 1).copied().unwrap_or(self.text.len());
        let content = self.text[start..end].trim_end_matches(['\n', '\r']);
        Span { start, end: start + content.len() }
    }

    /// Returns the byte offset of a position; a column past the end of its line is the end of the line.
    pub fn offset(&self, position: Position) -> usize {
        let line = self.line_span(position.line);
        let skipped = position.column.saturating_sub(1);
        self.slice(line).char_indices().nth(skipped).map_or(line.end, |(offset, _)| line.start + offset)
    }

    /// Returns whether there is nothing but white space and, in YAML, comments and document marks.
    pub fn is_blank(&self) -> bool {
        self.text.lines().map(str::trim).all(|line| {
            line.is_empty()
                || self.format == Format::Yaml && (line.starts_with('#') || line == "---" || line == "...")
        })
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = self.text.match_indices('\n').map(|(offset, _)| offset + 1);
            std::iter::once(0).chain(breaks).collect()
        })
    }
}

impl Format {
    /// Returns the format that a path's extension stands for, or the extension that was probably meant.
    fn of(path: &Path) -> Result<Self, Option<&'static str>> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let known = EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
        known
            .map(|(_, format)| *format)
            .ok_or_else(|| text::did_you_mean(&extension, EXTENSIONS.iter().map(|(known, _)| *known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &[u8]) -> Result<SourceFile, SourceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        SourceFile::read(&path, name)
    }

    fn refusal(name: &str, content: &[u8]) -> (String, Option<String>) {
        let error = read(name, content).unwrap_err();
        (error.to_string(), error.hint())
    }

    #[test]
    fn a_file_is_read_by_its_extension() {
        assert_eq!(read("a.yaml", b"goal: x").unwrap().format(), Format::Yaml);
        assert_eq!(read("a.YML", b"goal: x").unwrap().format(), Format::Yaml);
        assert_eq!(read("a.json", b"{}").unwrap().format(), Format::Json);
    }

    #[test]
    fn refusals_say_what_and_where() {
        assert_eq!(refusal("a.yaml", b"# nothing\n---\n\n").0, "`a.yaml` is empty");
        assert_eq!(refusal("a.json", b" \n\t ").0, "`a.json` is empty");
        assert_eq!(
            refusal("a.yaml", b"goal: x\nb: \xff\n"),
            (
                "`a.yaml` is not UTF-8 text: line 2 has an invalid byte at offset 11".to_owned(),
                Some("save the file as UTF-8".to_owned())
            )
        );
        let (message, hint) = refusal("a.yanl", b"goal: x");
        assert_eq!(message, "`a.yanl` does not end in `.yaml`, `.yml` or `.json`");
        assert_eq!(hint.as_deref(), Some("did you mean `.yaml`?"));
        for name in ["a.exe", "a"] {
            assert!(refusal(name, b"goal: x").1.unwrap().contains("`.yaml` or `.json`"));
        }
    }

    #[test]
    fn a_missing_file_and_a_folder_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = SourceFile::read(&folder.path().join("no.yaml"), "no.yaml").unwrap_err();
        assert_eq!(missing.to_string(), "`no.yaml` does not exist");
        let directory = SourceFile::read(folder.path(), "here").unwrap_err();
        assert_eq!(directory.to_string(), "`here` is a directory, not a file");
    }

    #[test]
    fn size_is_checked_before_and_while_reading() {
        let big = vec![b'a'; 4 * 1024 * 1024 + 1];
        assert_eq!(refusal("a.yaml", &big).0, "`a.yaml` is larger than 4194304 bytes: it has 4194305");
        let endless = SourceFile::from_reader("-", io::repeat(b'a'), Format::Yaml).unwrap_err();
        assert_eq!(endless.to_string(), "`-` is larger than 4194304 bytes");
        assert!(read("a.yaml", &big[1..]).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.yaml");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = SourceFile::read(&path, "s.yaml").unwrap_err();
        assert_eq!(error.to_string(), "`s.yaml` is not a regular file");
    }

    #[test]
    fn positions_and_offsets_agree() {
        let file = SourceFile::from_text("a", "\u{feff}ä: 1\r\nbb: ü2", Format::Yaml);
        assert_eq!(file.position(0), Position { line: 1, column: 1 });
        assert_eq!(file.position(2), Position { line: 1, column: 2 });
        assert_eq!(file.position(1), Position { line: 1, column: 1 });
        assert_eq!(file.slice(file.line_span(1)), "ä: 1");
        let two = file.text().find('2').unwrap();
        assert_eq!(file.position(two), Position { line: 2, column: 6 });
        assert_eq!(file.offset(Position { line: 2, column: 6 }), two);
        assert_eq!(file.offset(Position { line: 9, column: 99 }), file.text().len());
        assert_eq!(file.position(usize::MAX), Position { line: 2, column: 7 });
    }
}
