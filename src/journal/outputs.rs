//! Owns the texts that are kept beside the events of a run: each in a file that is called by its hash, there whole and once.
//!
//! What lies there may have been put there by anybody, so nothing is followed and nothing is believed: a file is what its name says, or it is no output.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, OpenOptions};
use serde_json::Value;

use crate::digest;
use crate::event::{Envelope, Form, Kept, SCHEMA, Wire};

/// The folder of the texts, in that of a run.
const FOLDER: &str = "outputs";

/// The longest output that stands in a line of the record, in bytes of JSON.
const LONGEST: usize = 64 << 10;

/// The texts of a run that is recorded.
#[derive(Debug)]
pub(super) struct Outputs {
    /// Where they lie, as tools name it.
    path: String,
    /// The folder, once something is in it.
    folder: Option<Dir>,
    written: HashSet<String>,
}

impl Outputs {
    /// Returns the texts of a run whose folder tools call `run`.
    pub(super) fn of(run: &str) -> Self {
        Self { path: format!("{run}/{FOLDER}"), folder: None, written: HashSet::new() }
    }

    /// Returns the path of a text, as tools name it.
    pub(super) fn path(&self, kept: &Kept) -> String {
        format!("{}/{}", self.path, kept.file())
    }

    /// Writes a text into the folder of the run, unless it is there.
    pub(super) fn keep(&mut self, run: &Dir, text: &str, form: Form) -> io::Result<Kept> {
        let kept = Kept { sha256: digest::sha256_of(text), bytes: text.len() as u64, form };
        let name = kept.file();
        if self.written.contains(&name) {
            return Ok(kept);
        }
        if self.folder.is_none() {
            match run.create_dir(FOLDER) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => self.folder = Some(run.open_dir_nofollow(FOLDER)?),
            }
        }
        if let Some(folder) = &self.folder {
            let draft = format!(".{}", uuid::Uuid::now_v7());
            let mut file = folder.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
            file.write_all(text.as_bytes())?;
            // A line that is on the disk must not name what is not.
            file.sync_data()?;
            folder.rename(&draft, folder, &name)?;
        }
        self.written.insert(name);
        Ok(kept)
    }
}

impl Outputs {
    /// Returns the line of an event as it is recorded: outputs that are too long for it are kept beside it.
    pub(super) fn line<'e>(&mut self, run: &Dir, envelope: &'e Envelope<'_>) -> io::Result<Cow<'e, str>> {
        let line = Cow::Borrowed(envelope.line.as_str());
        // What looks like a reference must not become one.
        if line.len() <= LONGEST && !line.contains(Kept::KEY) {
            return Ok(line);
        }
        let mut event = envelope.event.clone().into_owned();
        let mut is_kept = false;
        for output in event.outputs_mut() {
            if !Kept::is_reference(output) && serde_json::to_vec(output)?.len() <= LONGEST {
                continue;
            }
            let kept = match &**output {
                Value::String(text) => self.keep(run, text, Form::Text)?,
                other => self.keep(run, &serde_json::to_string_pretty(other)?, Form::Json)?,
            };
            *output = Arc::new(kept.reference());
            is_kept = true;
        }
        if !is_kept {
            return Ok(line);
        }
        let Envelope { seq, ts, run_id, redacted, .. } = envelope;
        let schema = SCHEMA.to_owned();
        let wire =
            Wire { schema, seq: *seq, ts: *ts, run_id: run_id.clone(), redacted: *redacted, event: &event };
        Ok(Cow::Owned(serde_json::to_string(&wire)?))
    }
}

/// Returns an output of the run that is recorded in `folder`.
pub(super) fn fetch(folder: &Path, kept: &Kept) -> io::Result<Value> {
    let is_hash =
        kept.sha256.len() == 64 && kept.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hash {
        return Err(io::Error::other("it is called by no hash"));
    }
    let path = folder.join(FOLDER).join(kept.file());
    // To open a pipe that nobody writes to would wait for ever.
    if !fs::symlink_metadata(&path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(kept.bytes.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 != kept.bytes || digest::sha256_of(&text) != kept.sha256 {
        return Err(io::Error::other("somebody changed it"));
    }
    match kept.form {
        Form::Text => Ok(Value::String(text)),
        Form::Json => Ok(serde_json::from_str(&text)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    #[test]
    fn a_text_is_written_once_and_believed_only_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let run = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let mut outputs = Outputs::of("r");
        let text = outputs.keep(&run, "größer", Form::Text).unwrap();
        assert_eq!(outputs.keep(&run, "größer", Form::Text).unwrap(), text);
        let json = outputs.keep(&run, "[\n  1\n]", Form::Json).unwrap();
        let files = dir.path().join(FOLDER);
        assert_eq!(fs::read_dir(&files).unwrap().count(), 2);
        assert_eq!(outputs.path(&json), format!("r/outputs/{}.json", json.sha256));
        assert_eq!(fetch(dir.path(), &text).unwrap(), "größer");
        assert_eq!(fetch(dir.path(), &json).unwrap(), serde_json::json!([1]));
        let refused = |kept: &Kept| fetch(dir.path(), kept).unwrap_err().to_string();
        assert_eq!(refused(&Kept { sha256: "../../x".into(), ..text.clone() }), "it is called by no hash");
        fs::write(files.join(text.file()), "kleiner!").unwrap();
        assert_eq!(refused(&text), "somebody changed it");
        fs::remove_file(files.join(json.file())).unwrap();
        assert!(refused(&json).contains("No such file"));
    }
}
