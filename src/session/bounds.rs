//! Owns the way from `sandbox` in the configuration to what the file tools of a run may touch.
//!
//! It refuses paths that are not there: a typing error would otherwise show in the middle of a run.

use std::path::{Path, PathBuf};

use crate::config::{Config, Environment, SandboxMode};
use crate::error::Error;
use crate::workspace::Workspace;

/// Opens the folder to work in and what the configuration lists beside it.
pub(super) fn workspace(config: &Config, environment: &Environment) -> Result<Workspace, Error> {
    let workspace = Workspace::open(&environment.directory).map_err(|e| {
        Error::usage(format!("cannot work in `{}`", environment.directory.display())).because(&e)
    })?;
    let sandbox = &config.sandbox;
    let absolute = |paths: &[String]| paths.iter().map(|path| place(path, environment)).collect::<Vec<_>>();
    let read_only = sandbox.mode == SandboxMode::ReadOnly;
    let bounded = workspace.with_roots(&absolute(&sandbox.writable), &absolute(&sandbox.readable), read_only);
    bounded.map_err(|e| {
        Error::usage("the sandbox cannot be set up")
            .because(&e)
            .hint("`sandbox.writable` and `sandbox.readable` list folders and files that exist")
    })
}

/// Returns what `path` means in the folder to work in; `~` is the user's own folder.
fn place(path: &str, environment: &Environment) -> PathBuf {
    let own = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (own, environment.variable("HOME")) {
        (Some(rest), Some(home)) => environment.resolve(&Path::new(home).join(rest.trim_start_matches('/'))),
        _ => environment.resolve(Path::new(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_users_folder() {
        let environment = Environment::of("/work".into(), [("HOME".into(), "/home/me".into())]);
        for (path, meant) in
            [("~", "/home/me/"), ("~/x", "/home/me/x"), ("~x", "/work/~x"), ("x", "/work/x"), ("/x", "/x")]
        {
            assert_eq!(place(path, &environment), Path::new(meant));
        }
        let homeless = Environment::of("/work".into(), []);
        assert_eq!(place("~/x", &homeless), Path::new("/work/~/x"));
    }
}
