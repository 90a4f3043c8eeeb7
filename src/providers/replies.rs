//! Owns the file of replies for those who do not answer from it: how it is read, what is wrong with it, its schema.
//!
//! It refuses what is no regular file, and what is too large to be one of replies.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::Value;

use super::script::{self, Fault, Form};
use crate::text;

/// The largest file that is read, in bytes.
pub(super) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Returns everything that is wrong with a file of replies: the number of the reply, from 1, where it is about one, and what.
pub fn faults(text: &str, path: &Path) -> Vec<(Option<usize>, String)> {
    let faults = script::parse(text, Form::of(path)).err().unwrap_or_default();
    faults.into_iter().map(|Fault { reply, text }| (reply, text)).collect()
}

/// Returns the published schema of a file of replies that is one document.
pub fn schema() -> Value {
    script::schema()
}

/// Returns the text of a file of replies.
pub(super) fn read(path: &Path) -> io::Result<String> {
    // Looked at first: opening a pipe that nobody writes to would wait for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it is larger than {}", text::bytes(MAX_FILE))));
    }
    Ok(text)
}
