//! Owns the files of `tepa init` on disk: what is there stays, and nothing is written through a link.
//!
//! Everything is looked at before the first file is written, so that what cannot be written leaves nothing half done. The folder itself is
//! the one that a person named; below it nobody named a link.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::ignored;
use crate::error::Error;
use crate::persist::Place;

/// The largest `.gitignore` that is looked at, in bytes.
const MOST: u64 = 1024 * 1024;

/// The folder that is written to.
pub(super) struct Files {
    path: PathBuf,
    /// Absent while it is not there.
    folder: Option<Dir>,
}

/// What is to become of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It is not there, and can be written.
    New,
    /// It is there.
    Kept,
}

/// What is to become of the `.gitignore`.
pub(super) enum Ignoring {
    /// It has the line.
    Kept,
    /// It gets these bytes at its end.
    Added(Vec<u8>),
    /// It is nothing that could be looked at.
    Odd,
}

impl Files {
    /// Returns the folder at `path`, which need not be there; `name` is what a person called it.
    pub(super) fn at(path: &Path, name: &Path) -> Result<Self, Error> {
        let folder = match fs::metadata(path) {
            Ok(found) if !found.is_dir() => return Err(no_folder(name)),
            Ok(_) => Some(open(path).map_err(|e| unwritten(path, &e))?),
            // A link that leads nowhere is there.
            Err(_) if path.symlink_metadata().is_ok() => return Err(no_folder(name)),
            Err(_) => None,
        };
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Returns whether a file is there, or else that it could be written.
    pub(super) fn look(&self, name: &str) -> Result<Wanted, Error> {
        let Some(folder) = &self.folder else { return Ok(Wanted::New) };
        let mut here = folder.try_clone().map_err(|e| self.unwritten(name, &e))?;
        let (folders, file) = parts(name);
        for part in folders {
            match here.symlink_metadata(part) {
                Ok(found) if found.is_dir() => {
                    here = here.open_dir_nofollow(part).map_err(|e| self.unwritten(name, &e))?;
                }
                Ok(_) => {
                    return Err(Error::usage(format!("`{part}` on the way to `{name}` is no folder"))
                        .hint("move it away, or choose another folder"));
                }
                Err(_) => {
                    Place::of(here, file.into()).map_err(|e| self.unwritten(name, &e))?;
                    return Ok(Wanted::New);
                }
            }
        }
        match here.symlink_metadata(file) {
            Ok(found) if found.is_file() => Ok(Wanted::Kept),
            Ok(_) => Err(Error::usage(format!("`{name}` is there and no file")).hint("move it away")),
            Err(_) => {
                Place::of(here, file.into()).map_err(|e| self.unwritten(name, &e))?;
                Ok(Wanted::New)
            }
        }
    }

    /// Returns what the `.gitignore` lacks.
    pub(super) fn look_at_ignored(&self, name: &str) -> Result<Ignoring, Error> {
        let lacking = |text: &[u8]| ignored::lacks(text).map_or(Ignoring::Kept, Ignoring::Added);
        let Some(folder) = &self.folder else { return Ok(lacking(b"")) };
        match folder.symlink_metadata(name) {
            Err(_) => Ok(lacking(b"")),
            Ok(found) if !found.is_file() || found.len() > MOST => Ok(Ignoring::Odd),
            Ok(_) => {
                let mut text = Vec::new();
                let mut options = OpenOptions::new();
                options.read(true).follow(FollowSymlinks::No);
                let read = folder.open_with(name, &options);
                let read = read.and_then(|file| file.take(MOST).read_to_end(&mut text));
                read.map_err(|e| self.unwritten(name, &e))?;
                Ok(lacking(&text))
            }
        }
    }

    /// Makes the folder, if it is not there.
    pub(super) fn make(&mut self) -> Result<(), Error> {
        if self.folder.is_none() {
            let made = fs::create_dir_all(&self.path).and_then(|()| open(&self.path));
            self.folder = Some(made.map_err(|e| unwritten(&self.path, &e))?);
        }
        Ok(())
    }

    /// Writes a file unless something of its name came in between; returns whether it did.
    pub(super) fn write(&self, name: &str, text: &[u8]) -> Result<bool, Error> {
        self.written(name, text).map_err(|e| self.unwritten(name, &e))
    }

    fn written(&self, name: &str, text: &[u8]) -> io::Result<bool> {
        let Some(folder) = &self.folder else { return Err(io::ErrorKind::NotFound.into()) };
        let mut here = folder.try_clone()?;
        let (folders, file) = parts(name);
        for part in folders {
            match here.create_dir(part) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => here = here.open_dir_nofollow(part)?,
            }
        }
        if here.symlink_metadata(file).is_ok() {
            return Ok(false);
        }
        Place::of(here, file.into())?.write_new(text)
    }

    /// Puts bytes at the end of a file, which keeps its mode and its other names.
    pub(super) fn append(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Err(no_folder(&self.path)) };
        let mut options = OpenOptions::new();
        options.append(true).create(true).follow(FollowSymlinks::No);
        let opened = folder.open_with(name, &options);
        opened.and_then(|mut file| file.write_all(bytes)).map_err(|e| self.unwritten(name, &e))
    }

    fn unwritten(&self, name: &str, error: &io::Error) -> Error {
        let path: PathBuf = self.path.join(name).components().collect();
        unwritten(&path, error)
    }
}

fn open(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, ambient_authority())
}

/// Returns the folders of a name, and what is below them.
fn parts(name: &str) -> (Vec<&str>, &str) {
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    (folders.split('/').filter(|part| !part.is_empty()).collect(), file)
}

fn no_folder(name: &Path) -> Error {
    Error::usage(format!("`{}` is no folder", name.display()))
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::broken(format!("cannot write `{}`", path.display())).because(error)
}
