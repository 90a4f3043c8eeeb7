//! Owns the way from a path that somebody wrote to the place that it means: links followed, every step inside a root.
//!
//! What is found holds no link, and is opened one name at a time without following any: a folder that becomes a link in between makes
//! the operation fail and never leads elsewhere.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, Metadata};

use super::root::Root;
use super::{Workspace, WorkspaceError};

/// Most links on the way to one place, as the operating system has it.
const MOST_LINKS: usize = 40;

/// Where a path leads: in a root, without links; nothing need be there.
pub(super) struct Place<'a> {
    root: &'a Root,
    /// Absolute.
    pub(super) path: PathBuf,
}

impl Workspace {
    /// Returns the root that `path` enters by its words alone, and the rest of the way.
    pub(super) fn entrance(&self, path: &Path) -> Option<(&Root, PathBuf)> {
        let absolute = without_dots(&self.roots[0].path.join(path));
        let found = self.roots.iter().filter_map(|root| Some((root, root.entered_by(&absolute)?)));
        let (root, (_, rest)) = found.max_by_key(|(_, (length, _))| *length)?;
        Some((root, rest.to_owned()))
    }

    /// Returns where `path` leads.
    pub(super) fn place(&self, path: impl AsRef<Path>) -> Result<Place<'_>, WorkspaceError> {
        let path = path.as_ref();
        let outside = || WorkspaceError::Outside(path.display().to_string());
        let fail = |error| WorkspaceError::of("look at", &path.display().to_string(), error);
        let (root, rest) = self.entrance(path).ok_or_else(outside)?;
        let mut at = root.path.clone();
        let mut ahead = names(&rest);
        let (mut links, mut missing) = (0, false);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                if missing {
                    return Err(WorkspaceError::Missing(path.display().to_string()));
                }
                at.pop();
                continue;
            }
            at.push(name);
            // On the way from one root to the other there may be steps in neither.
            let Some(root) = self.root_of(&at).filter(|_| !missing) else { continue };
            let inside = root.inside(&at);
            match root.dir.symlink_metadata(inside) {
                Ok(found) if found.is_symlink() => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(fail(io::Error::other("too many symbolic links")));
                    }
                    let target = root.dir.read_link_contents(inside).map_err(fail)?;
                    at.pop();
                    let mut further = names(&target);
                    if target.is_absolute() {
                        let (root, rest) = self.entrance(&target).ok_or_else(outside)?;
                        at.clone_from(&root.path);
                        further = names(&rest);
                    }
                    further.append(&mut ahead);
                    ahead = further;
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing = true,
                Err(error) => return Err(fail(error)),
            }
        }
        let root = self.root_of(&at).ok_or_else(outside)?;
        if self.hidden.iter().any(|hidden| at.starts_with(hidden)) {
            return Err(WorkspaceError::Hidden(path.display().to_string()));
        }
        if self.kept.iter().any(|kept| at.starts_with(kept)) {
            return Err(WorkspaceError::Kept(path.display().to_string()));
        }
        Ok(Place { root, path: at })
    }

    /// Returns the root that a canonical path is in; of several, the innermost.
    fn root_of(&self, path: &Path) -> Option<&Root> {
        let holding = self.roots.iter().filter(|root| root.holds(path));
        holding.max_by_key(|root| root.path.components().count())
    }
}

impl Place<'_> {
    /// Returns whether it may be written as far as its root says.
    pub(super) fn is_writable(&self) -> bool {
        self.root.writable
    }

    /// Returns what is there; a link, which was none when the place was found, counts as a link.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        match self.enter(false)? {
            (dir, None) => dir.dir_metadata(),
            (dir, Some(name)) => dir.symlink_metadata(name),
        }
    }

    /// Opens the folder that is there.
    pub(super) fn folder(&self) -> io::Result<Dir> {
        match self.enter(false)? {
            (dir, None) => Ok(dir),
            (dir, Some(name)) => dir.open_dir_nofollow(name),
        }
    }

    /// Opens the folder that the place is in, if asked with those above it that are missing, and returns its name there; a root has none.
    pub(super) fn enter(&self, make: bool) -> io::Result<(Dir, Option<&OsStr>)> {
        let inside = self.root.inside(&self.path);
        let mut dir = self.root.dir.try_clone()?;
        for part in inside.parent().unwrap_or(Path::new("")) {
            dir = match dir.open_dir_nofollow(part) {
                Err(error) if make && error.kind() == io::ErrorKind::NotFound => match dir.create_dir(part) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => dir.open_dir_nofollow(part)?,
                },
                opened => opened?,
            };
        }
        Ok((dir, inside.file_name()))
    }
}

/// Returns `path` with `..` taken at its word, as people mean it: the folder before it does not have to be there.
fn without_dots(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

/// Returns the names on a way, `..` among them.
fn names(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["work/a/b", "in/deep"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let workspace = Workspace::open(&dir.path().join("work")).unwrap();
        let bounded = workspace.with_roots(&[], &[dir.path().join("in")], false).unwrap();
        (dir, bounded)
    }

    #[test]
    fn links_are_followed_as_the_operating_system_does() {
        let (dir, workspace) = workspace();
        let base = dir.path().canonicalize().unwrap();
        let work = base.join("work");
        for (target, link) in [
            ("a/b", "link"),
            ("link", "chain"),
            ("../a/b/../..", "a/up"),
            ("link/../x", "through"),
            ("nowhere/x", "broken"),
            (".tepa", "records"),
            ("../in", "beside"),
        ] {
            symlink(target, work.join(link)).unwrap();
        }
        symlink(work.join("a"), work.join("absolute")).unwrap();
        symlink(base.join("in/deep"), work.join("far")).unwrap();
        for (path, found) in [
            ("", "."),
            ("a/./b/../b", "a/b"),
            ("no/such/file", "no/such/file"),
            ("chain/x/y", "a/b/x/y"),
            ("a/up", "."),
            ("a/up/chain", "a/b"),
            ("through", "a/x"),
            ("link/../x", "x"),
            ("broken", "nowhere/x"),
            ("records/runs", ".tepa/runs"),
            ("absolute/b", "a/b"),
        ] {
            assert_eq!(workspace.resolved(path).unwrap(), Path::new(found), "{path}");
        }
        assert_eq!(workspace.resolved("far/x").unwrap(), base.join("in/deep/x"));
        assert_eq!(workspace.resolved("beside/deep").unwrap(), base.join("in/deep"));
        assert_eq!(workspace.resolved("../in/./x").unwrap(), base.join("in/x"));
    }

    #[test]
    fn a_link_cannot_lead_out_and_loops_end() {
        let (dir, workspace) = workspace();
        let work = dir.path().join("work");
        for (target, link) in [
            ("/etc", "out"),
            ("../..", "up"),
            ("..", "parent"),
            ("b/../../../secret", "a/sly"),
            ("no/../../secret", "sly"),
            ("other", "loop"),
            ("loop", "other"),
        ] {
            symlink(target, work.join(link)).unwrap();
        }
        for path in
            ["out", "out/hostname", "up/x", "parent", "a/sly", "parent/secret/../x", "/etc/hostname", ".."]
        {
            assert!(matches!(workspace.resolved(path), Err(WorkspaceError::Outside(_))), "{path}");
            assert!(matches!(workspace.read(path, 99), Err(WorkspaceError::Outside(_))), "{path}");
            assert!(matches!(workspace.write(path, b""), Err(WorkspaceError::Outside(_))), "{path}");
            assert!(matches!(workspace.open_folder(path), Err(WorkspaceError::Outside(_))), "{path}");
        }
        assert!(matches!(workspace.resolved("sly"), Err(WorkspaceError::Missing(_))));
        let error = workspace.resolved("loop/x").unwrap_err().to_string();
        assert_eq!(error, "cannot look at `loop/x`: too many symbolic links");
    }
}
