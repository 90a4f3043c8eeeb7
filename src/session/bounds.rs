//! Owns the way from `sandbox` in the configuration to what the file tools of a run may touch.
//!
//! It refuses paths that are not there: a typing error would otherwise show in the middle of a run.

use std::path::PathBuf;

use crate::config::{Config, Environment, Sandbox, SandboxMode, Store};
use crate::error::Error;
use crate::store::SqliteStore;
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
    let hidden = hidden(config, environment);
    let kept = match &config.turn.store {
        Store::Sqlite { path } => SqliteStore::files(&environment.directory.join(path)).to_vec(),
        Store::None => Vec::new(),
    };
    bounded.map(|workspace| workspace.hiding(&hidden).keeping(&kept)).map_err(|e| {
        Error::usage("the sandbox cannot be set up")
            .because(&e)
            .hint("`sandbox.writable` and `sandbox.readable` list folders and files that exist")
    })
}

/// Returns what is kept from commands and file tools: what the configuration hides and does not open by name.
pub(super) fn hidden(config: &Config, environment: &Environment) -> Vec<PathBuf> {
    let Sandbox { writable, readable, hidden, .. } = &config.sandbox;
    let opened: Vec<PathBuf> = writable.iter().chain(readable).map(|path| environment.locate(path)).collect();
    hidden.iter().map(|path| environment.locate(path)).filter(|path| !opened.contains(path)).collect()
}
