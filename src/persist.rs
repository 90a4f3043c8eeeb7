//! Owns the writing of a file that is there whole or not at all, outside the workspace's own rules: results and recordings.
//!
//! A link is followed, and what is not a regular file (a device, a pipe) is written into, never replaced.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Finds out whether [`write()`] can work, and leaves nothing behind.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Opening a pipe would wait for a reader; whether it can be written shows at the end.
        Ok(found) if !found.is_file() => Ok(()),
        _ => draft_beside(&target(path)).map(drop),
    }
}

/// Writes `content` to `path`.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    let target = target(path);
    let mut draft = draft_beside(&target)?;
    draft.write_all(content).and_then(|()| draft.as_file().sync_all()).map_err(nameless)?;
    draft.persist(&target).map_err(|e| nameless(e.error))?;
    Ok(())
}

/// Returns where a link leads, or the path itself.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns a draft in the folder of `path`, gone when it is dropped, with the rights that a plain new file would have.
fn draft_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tepa-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(nameless)
}

/// Takes the draft's random name out of an error: nobody typed it.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn nameless(error: io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        check(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(check(dir.path()).is_err());
        assert!(check(&dir.path().join("no/such/folder")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay_what_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let null = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        check(&null).unwrap();
        write(&null, b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
