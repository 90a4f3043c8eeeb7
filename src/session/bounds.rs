//! Owns the way from `sandbox` in the configuration to what the file tools of a run may touch.
//!
//! It refuses paths that are not there: a typing error would otherwise show in the middle of a run.

use crate::config::{Config, Environment, SandboxMode};
use crate::error::Error;
use crate::workspace::Workspace;

/// Opens the folder to work in and what the configuration lists beside it.
pub(super) fn workspace(config: &Config, environment: &Environment) -> Result<Workspace, Error> {
    let workspace = Workspace::open(&environment.directory).map_err(|e| {
        Error::usage(format!("cannot work in `{}`", environment.directory.display())).because(&e)
    })?;
    let sandbox = &config.sandbox;
    let absolute = |paths: &[String]| paths.iter().map(|path| environment.locate(path)).collect::<Vec<_>>();
    let read_only = sandbox.mode == SandboxMode::ReadOnly;
    let bounded = workspace.with_roots(&absolute(&sandbox.writable), &absolute(&sandbox.readable), read_only);
    let hidden = absolute(&sandbox.hidden);
    bounded.map(|workspace| workspace.hiding(&hidden)).map_err(|e| {
        Error::usage("the sandbox cannot be set up")
            .because(&e)
            .hint("`sandbox.writable` and `sandbox.readable` list folders and files that exist")
    })
}
