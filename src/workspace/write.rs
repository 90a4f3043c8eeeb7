//! Owns the writing of files: whole or not at all, in the place that links lead to.
//!
//! It refuses what is no regular file, what its owner made read-only, tepa's records, and the project's own configuration.

use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Metadata, OpenOptions};

use super::place::Place;
use super::{PROJECT_FILE, RECORDS, Workspace, WorkspaceError};

impl Workspace {
    /// Writes a file whole or not at all, with the folders above it; returns its path as [`Workspace::relative`] does.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<String, WorkspaceError> {
        let fail = |e| WorkspaceError::of("write", path, e);
        let place = self.place(path)?;
        self.check_writable(path, &place)?;
        let folder = || WorkspaceError::Folder(path.to_owned());
        if path.ends_with('/') {
            return Err(folder());
        }
        let (dir, name) = place.enter(true).map_err(fail)?;
        let name = name.ok_or_else(folder)?;
        let old = match dir.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found.map_err(fail)?),
        };
        if let Some(old) = &old {
            check_replaceable(path, old)?;
        }
        // Short, because a name that is as long as names may be has no room for more.
        let draft = format!(".tepa-{:08x}", random());
        let written = (|| {
            let mut file = dir.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
            if let Some(old) = old {
                file.set_permissions(old.permissions())?;
            }
            file.write_all(content)?;
            file.sync_all()?;
            dir.rename(&draft, &dir, name)
        })();
        if let Err(e) = written {
            // The draft may not exist; the error that matters is the one above.
            let _ = dir.remove_file(&draft);
            return Err(fail(e));
        }
        Ok(self.relative(path)?.to_string_lossy().replace('\\', "/"))
    }

    fn check_writable(&self, path: &str, place: &Place<'_>) -> Result<(), WorkspaceError> {
        let path = path.to_owned();
        if self.read_only {
            return Err(WorkspaceError::ReadOnly(path));
        }
        if !place.is_writable() {
            return Err(WorkspaceError::NotWritable(path));
        }
        let inside = place.path.strip_prefix(self.root()).unwrap_or(Path::new(""));
        let first = inside.iter().next().unwrap_or_default();
        // There are file systems to which upper and lower case are the same.
        if first.eq_ignore_ascii_case(RECORDS) {
            return Err(WorkspaceError::Records(path));
        }
        if first.eq_ignore_ascii_case(PROJECT_FILE) {
            return Err(WorkspaceError::Project(path));
        }
        Ok(())
    }
}

fn check_replaceable(path: &str, old: &Metadata) -> Result<(), WorkspaceError> {
    let path = path.to_owned();
    if old.is_dir() {
        return Err(WorkspaceError::Folder(path));
    }
    if !old.is_file() {
        return Err(WorkspaceError::Special(path));
    }
    if old.permissions().readonly() {
        return Err(WorkspaceError::ReadOnlyFile(path));
    }
    Ok(())
}

/// Returns a number that no other draft has by chance.
fn random() -> u32 {
    let id = uuid::Uuid::now_v7();
    let bytes = id.as_bytes();
    u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, workspace)
    }

    #[test]
    fn a_file_is_written_whole_with_its_folders_and_nothing_else_is_left() {
        let (dir, workspace) = workspace();
        assert_eq!(workspace.write("./a/b/../c.txt", b"one").unwrap(), "a/c.txt");
        assert_eq!(workspace.write("a/c.txt", b"two").unwrap(), "a/c.txt");
        assert_eq!(workspace.read("a/c.txt", 10).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
        let inside = workspace.root().join("x.txt");
        assert_eq!(workspace.write(inside.to_str().unwrap(), b"x").unwrap(), "x.txt");
        assert_eq!(workspace.write(&"n".repeat(255), b"x").unwrap().len(), 255);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let (dir, workspace) = workspace();
        workspace.write("file", b"x").unwrap();
        for (path, words) in [
            ("n".repeat(256).as_str(), "too long"),
            ("file/x", "cannot look at `file/x`: not a directory"),
            (".", "`.` is a folder, not a file"),
            ("new/", "`new/` is a folder, not a file"),
            ("nul\0", "cannot look at `nul\0`"),
        ] {
            let error = workspace.write(path, b"x").unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_records_of_runs_and_the_projects_file_are_not_for_others_to_write() {
        let (_dir, workspace) = workspace();
        for path in [".tepa/runs/x/events.jsonl", "./a/../.tepa/x", ".TEPA/x", ".tepa"] {
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Records(_))), "{path}");
        }
        for path in ["tepa.yaml", "./Tepa.YAML"] {
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Project(_))), "{path}");
        }
        assert_eq!(workspace.write("sub/tepa.yaml", b"").unwrap(), "sub/tepa.yaml");
    }

    #[cfg(unix)]
    #[test]
    fn neither_a_link_nor_a_wider_root_is_a_way_to_the_records() {
        use std::os::unix::fs::symlink;
        let (dir, workspace) = workspace();
        let outer = tempfile::tempdir().unwrap();
        let workspace = workspace.with_roots(&[outer.path().to_owned()], &[], false).unwrap();
        std::fs::create_dir(dir.path().join(".tepa")).unwrap();
        symlink(".tepa", dir.path().join("link")).unwrap();
        symlink("tepa.yaml", dir.path().join("config")).unwrap();
        symlink(workspace.root(), outer.path().join("back")).unwrap();
        let back = outer.path().join("back/.tepa/x").display().to_string();
        for path in ["link/x", "link/new/x", &back] {
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Records(_))), "{path}");
        }
        assert!(matches!(workspace.write("config", b""), Err(WorkspaceError::Project(_))));
        assert_eq!(std::fs::read_dir(dir.path().join(".tepa")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (dir, workspace) = workspace();
        let at = |path: &str| dir.path().join(path);
        workspace.write("real/script", b"old").unwrap();
        std::fs::set_permissions(at("real/script"), std::fs::Permissions::from_mode(0o750)).unwrap();
        symlink("real/script", at("link")).unwrap();
        symlink("real/new", at("dangling")).unwrap();
        assert_eq!(workspace.write("link", b"new").unwrap(), "link");
        assert_eq!(workspace.write("dangling", b"new").unwrap(), "dangling");
        assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(std::fs::read(at("real/script")).unwrap(), b"new");
        assert_eq!(std::fs::read(at("real/new")).unwrap(), b"new");
        assert_eq!(std::fs::metadata(at("real/script")).unwrap().permissions().mode() & 0o777, 0o750);
        std::fs::set_permissions(at("real/script"), std::fs::Permissions::from_mode(0o440)).unwrap();
        assert!(matches!(workspace.write("link", b"x"), Err(WorkspaceError::ReadOnlyFile(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_second_name_of_a_file_keeps_the_old_content() {
        let (dir, workspace) = workspace();
        let outside = tempfile::NamedTempFile::new_in(dir.path().parent().unwrap()).unwrap();
        std::fs::hard_link(outside.path(), dir.path().join("name")).unwrap();
        workspace.write("name", b"new").unwrap();
        assert_eq!(std::fs::read(outside.path()).unwrap(), b"");
    }
}
