//! Owns the writing of a file that is there whole or not at all, outside the workspace's own rules: results and recordings.
//!
//! Where it will lie is settled when a run begins. What stands there at the end may have been put there by a tool of the run, so nothing is
//! followed then: a link in the way is replaced, and so is a pipe. What a person named, a link or a device, is taken at its word.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions as OpenIn};

/// Where a file will be written.
#[derive(Debug)]
pub struct Place(Kind);

#[derive(Debug)]
enum Kind {
    /// A name in a folder that is held open: whatever becomes of the path to it, the folder stays the same.
    File { folder: Dir, name: OsString },
    /// A device or a pipe of a person's.
    Special(PathBuf),
}

impl Place {
    /// Settles where `path` leads now, links followed, and finds out whether it can be written; leaves nothing behind.
    pub fn at(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // Opening a pipe would wait for a reader; whether it can be written shows at the end.
            Ok(found) if !found.is_file() => return Ok(Self(Kind::Special(path.to_owned()))),
            _ => {}
        }
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Dir::open_ambient_dir(parent.unwrap_or(Path::new(".")), ambient_authority())?;
        let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        Self::of(folder, name)
    }

    /// Settles on `name` in a folder that is open, and finds out whether it can be written.
    pub fn of(folder: Dir, name: OsString) -> io::Result<Self> {
        let draft = draft();
        drop(folder.open_with(&draft, OpenIn::new().write(true).create_new(true))?);
        folder.remove_file(&draft)?;
        Ok(Self(Kind::File { folder, name }))
    }

    /// Writes `content`.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        match &self.0 {
            Kind::Special(path) => OpenOptions::new().write(true).open(path)?.write_all(content),
            Kind::File { folder, name } => {
                drafted(folder, content, |draft| folder.rename(draft, folder, name))
            }
        }
    }

    /// Writes `content` unless something is there by now; returns whether it did.
    pub fn write_new(&self, content: &[u8]) -> io::Result<bool> {
        let Kind::File { folder, name } = &self.0 else { return Ok(false) };
        let written = drafted(folder, content, |draft| match folder.hard_link(draft, folder, name) {
            // Not every file system has a second name for a file.
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists && folder.symlink_metadata(name).is_err() => {
                folder.rename(draft, folder, name)
            }
            linked => linked.and_then(|()| folder.remove_file(draft)),
        });
        match written {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// Writes a draft in `folder` and has `place` give it its name; nothing of it is left when that fails.
fn drafted(folder: &Dir, content: &[u8], place: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    let draft = draft();
    let written = (|| {
        let mut file = folder.open_with(&draft, OpenIn::new().write(true).create_new(true))?;
        file.write_all(content)?;
        file.sync_all()?;
        place(&draft)
    })();
    if written.is_err() {
        // It may not exist; the error that matters is the one above.
        let _ = folder.remove_file(&draft);
    }
    written
}

/// Returns a name that no other draft has by chance.
fn draft() -> String {
    format!(".tepa-{}", uuid::Uuid::now_v7().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_between_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let place = Place::at(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(!place.write_new(b"other").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        fs::remove_file(&path).unwrap();
        assert!(place.write_new(b"other").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_replaced_whole_and_a_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let place = Place::at(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        place.write(b"one").unwrap();
        place.write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(Place::at(dir.path()).is_err());
        assert!(Place::at(&dir.path().join("no/such/folder")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Place::at(&link).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let null = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        Place::at(&null).unwrap().write(b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_put_in_the_way_later_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("victim"), "mine").unwrap();
        let place = Place::at(&inside.join("result")).unwrap();
        std::os::unix::fs::symlink(outside.join("victim"), inside.join("result")).unwrap();
        place.write(b"one").unwrap();
        assert!(fs::symlink_metadata(inside.join("result")).unwrap().is_file());
        // The folder itself is swapped for a link.
        fs::rename(&inside, dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        place.write(b"two").unwrap();
        assert_eq!(fs::read(dir.path().join("moved/result")).unwrap(), b"two");
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        // A pipe that nobody reads.
        fs::remove_file(dir.path().join("moved/result")).unwrap();
        let made =
            std::process::Command::new("mkfifo").arg(dir.path().join("moved/result")).status().unwrap();
        assert!(made.success());
        place.write(b"three").unwrap();
        assert_eq!(fs::read(dir.path().join("moved/result")).unwrap(), b"three");
    }
}
