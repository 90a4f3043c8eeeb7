//! Owns the texts that are kept beside the events of a run: each in a file that is called by its hash, there whole and once.
//!
//! What lies there may have been put there by anybody, so nothing is followed and nothing is believed: a file is what its name says, or it is no output.

use std::collections::HashSet;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use crate::digest;
use crate::event::{Form, Kept};
use crate::persist::Place;

/// The folder of the texts, in that of a run.
const FOLDER: &str = "outputs";

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
            Place::of(folder.try_clone()?, name.clone().into())?.write(text.as_bytes())?;
        }
        self.written.insert(name);
        Ok(kept)
    }
}
