//! Owns where programs are: what a name or a path that a configuration or a prompt mentions would start.

use std::path::{Path, PathBuf};

use super::Environment;

impl Environment {
    /// Returns where a program is: a path as seen from the folder to work in, a name as found on the path.
    pub fn find_program(&self, program: &str) -> Option<PathBuf> {
        if program.is_empty() {
            return None;
        }
        if program.contains('/') {
            return Some(self.locate(program)).filter(|path| path.is_file());
        }
        let folders = self.variable("PATH").unwrap_or_default();
        let places = std::env::split_paths(folders).map(|folder| self.resolve(&folder).join(program));
        places.into_iter().find(|path| is_program(path))
    }

    /// Returns where a program is that somebody installed: on the path, and not in the folder to work in, whose content may have come
    /// from anybody.
    pub fn find_installed(&self, program: &str) -> Option<PathBuf> {
        let here = self.directory.canonicalize().ok()?;
        let folders = std::env::split_paths(self.variable("PATH").unwrap_or_default());
        let places: Vec<PathBuf> =
            folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(program)).collect();
        let elsewhere = |path: &PathBuf| {
            let outside = |path: PathBuf| !path.starts_with(&here);
            // Neither the entry nor what it leads to.
            path.parent().and_then(|folder| folder.canonicalize().ok()).is_some_and(outside)
                && path.canonicalize().is_ok_and(outside)
        };
        places.into_iter().find(|path| is_program(path) && elsewhere(path))
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}
