//! Owns one folder or file that may be used: its handle, the names that it goes by, whether it may be written.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// A folder or a single file that may be used.
#[derive(Debug)]
pub(super) struct Root {
    /// Canonical.
    pub(super) path: PathBuf,
    /// As it was given, which may lead through links.
    given: PathBuf,
    /// The folder; of a file, the folder that it is in.
    pub(super) dir: Dir,
    /// Where `dir` is.
    base: PathBuf,
    pub(super) writable: bool,
}

impl Root {
    /// Opens what is at `given`, an absolute path.
    pub(super) fn open(given: &Path, writable: bool) -> io::Result<Self> {
        let path = given.canonicalize()?;
        let base = match path.parent() {
            Some(parent) if !path.is_dir() => parent.to_owned(),
            _ => path.clone(),
        };
        let dir = Dir::open_ambient_dir(&base, ambient_authority())?;
        Ok(Self { path, given: given.to_owned(), dir, base, writable })
    }

    /// Returns whether the canonical path `path` lies in here.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
    }

    /// Returns `path`, which lies in here, as seen from [`Self::dir`]; empty for the folder itself.
    pub(super) fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.base).unwrap_or(path)
    }

    /// Returns how specific the name is by which `path` is in here, and what follows it.
    pub(super) fn entered_by<'a>(&self, path: &'a Path) -> Option<(usize, &'a Path)> {
        let names = [&self.path, &self.given].into_iter();
        let found = names.filter_map(|name| Some((name.components().count(), path.strip_prefix(name).ok()?)));
        found.max_by_key(|(length, _)| *length)
    }
}
