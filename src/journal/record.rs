//! Owns the one door to recorded events: whoever reads a record comes through here.
//!
//! A record may have been brought along by anybody. What is no regular file is refused before it is opened, because to open a pipe that
//! nobody writes to would wait for ever, and so is one that is too large.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::path::Path;

use super::{EVENTS, outputs};
use crate::event::{self, Envelope, Kept, RecordError};

/// The largest record that is read, in bytes.
pub(super) const MOST: u64 = 1 << 30;

/// How much of the end of a record is looked at first for its last line, in bytes.
const TAIL: u64 = 64 << 10;

/// The longest last line that is looked for, in bytes.
const LONGEST_TAIL: u64 = 64 << 20;

/// Opens the events of the run that is recorded in `folder`.
///
/// # Errors
/// They are not there, are no regular file, or are too large.
pub fn open_record(folder: &Path) -> io::Result<Take<File>> {
    let path = folder.join(EVENTS);
    let metadata = fs::metadata(&path)?;
    if !metadata.is_file() {
        return Err(io::Error::other(format!("`{EVENTS}` is not a regular file")));
    }
    if metadata.len() > MOST {
        return Err(io::Error::other(format!("`{EVENTS}` is larger than {MOST} bytes")));
    }
    Ok(File::open(path)?.take(MOST))
}

/// Hands every event of `record`, which is in `folder`, to `take` with the outputs that are kept beside it; returns how many facts there are
/// that this program does not know.
///
/// # Errors
/// The record cannot be read, is of another version, or is none; an output is not there or not what it was.
pub fn read(
    folder: &Path,
    record: Take<File>,
    take: impl FnMut(Envelope<'static>),
) -> Result<usize, RecordError> {
    event::read_whole(BufReader::new(record), |kept| outputs::fetch(folder, kept), take)
}

/// A record as far as its lines are whole.
#[derive(Debug)]
pub struct Whole {
    /// The events, in order.
    pub events: Vec<Envelope<'static>>,
    /// How many facts there are that this program does not know.
    pub unknown: usize,
    /// How long the whole lines are, in bytes; what follows is the beginning of a line.
    pub bytes: u64,
}

/// Reads the events of the run that is recorded in `folder`; a last line without its end is left out.
///
/// # Errors
/// As [`read`].
pub fn read_whole(folder: &Path) -> Result<Whole, RecordError> {
    let mut text = Vec::new();
    open_record(folder)?.read_to_end(&mut text)?;
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut events = Vec::new();
    let fetch = |kept: &Kept| outputs::fetch(folder, kept);
    let unknown = event::read_whole(&text[..end], fetch, |envelope| events.push(envelope))?;
    Ok(Whole { events, unknown, bytes: end as u64 })
}

/// Returns the last line of a record.
pub(super) fn last_line(mut file: &File) -> io::Result<Vec<u8>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut size = TAIL;
    loop {
        size = size.min(length);
        file.seek(SeekFrom::Start(length - size))?;
        let mut tail = Vec::new();
        file.take(size).read_to_end(&mut tail)?;
        let line = tail.strip_suffix(b"\n").unwrap_or(&tail);
        match line.iter().rposition(|byte| *byte == b'\n') {
            None if size < length.min(LONGEST_TAIL) => size *= 8,
            before => return Ok(line[before.map_or(0, |at| at + 1)..].to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_found_however_long_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS);
        let long = "x".repeat(200_000);
        for (text, last) in [
            ("", ""),
            ("a", "a"),
            ("a\nb\n", "b"),
            ("a\nb", "b"),
            (&format!("a\n{long}\n"), &long),
            (&format!("{long}\n"), &long),
        ] {
            fs::write(&path, text).unwrap();
            let found = last_line(open_record(dir.path()).unwrap().get_ref()).unwrap();
            assert!(found == last.as_bytes(), "{} {}", text.len(), found.len());
        }
    }

    #[test]
    fn what_is_no_regular_file_or_too_large_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS);
        fs::create_dir(&path).unwrap();
        assert_eq!(open_record(dir.path()).unwrap_err().to_string(), "`events.jsonl` is not a regular file");
        fs::remove_dir(&path).unwrap();
        File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        let refused = open_record(dir.path()).unwrap_err().to_string();
        assert_eq!(refused, "`events.jsonl` is larger than 1073741824 bytes");
    }
}
