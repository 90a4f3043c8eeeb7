//! Owns what the doctor says of the folder: git, whether runs can be recorded, the store.
//!
//! The folder may have come from anybody: no program of it is started, and no byte in it changes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::finding::Finding;
use crate::config::{Config, Environment, Store};
use crate::journal;
use crate::persist::Place;
use crate::store::SqliteStore;

/// Looks at the folder that is worked in.
pub(super) fn look(config: &Config, environment: &Environment) -> Vec<Finding> {
    vec![git(environment), record(&environment.directory), store(config, environment)]
}

/// Says whether git would show what a run changed. What has changed until now is not asked: for that git starts programs that the
/// repository names.
fn git(environment: &Environment) -> Finding {
    let git = environment.find_installed("git").unwrap_or_default();
    let Some(version) = answer(&git, &["--version"], environment) else {
        return Finding::ok("git", "not found, and tepa does not need it");
    };
    let version = version.trim().trim_start_matches("git version ").to_owned();
    match answer(&git, &["rev-parse", "--is-inside-work-tree"], environment) {
        Some(said) if said.trim() == "true" => {
            Finding::ok("git", format!("{version}; the folder is in a repository"))
        }
        _ => Finding::warn("git", format!("{version}; the folder is in no repository"))
            .hint("`git init` here shows afterwards what a run changed"),
    }
}

/// Returns what git says; nothing when it fails or is not there.
fn answer(git: &Path, arguments: &[&str], environment: &Environment) -> Option<String> {
    let output = Command::new(git)
        // No program that the repository names is started for a question.
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .env_clear()
        .envs(environment.for_children(&[]))
        .env("GIT_OPTIONAL_LOCKS", "0")
        .current_dir(&environment.directory)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Tries whether a run could be recorded.
fn record(folder: &Path) -> Finding {
    let candidates = [folder.join(journal::FOLDER), folder.join(".tepa"), folder.to_owned()];
    let there: Option<PathBuf> = candidates.into_iter().find(|path| path.symlink_metadata().is_ok());
    let there = there.unwrap_or_else(|| folder.to_owned());
    // Leaves nothing behind.
    match Place::at(&there.join("doctor")) {
        Ok(_) => Finding::ok("record", format!("runs are recorded under `{}`", journal::FOLDER)),
        Err(e) => Finding::fail("record", format!("`{}` cannot be written: {e}", there.display()))
            .hint("make it writable, work elsewhere with `-C`, or run without a record: `--no-journal`"),
    }
}

fn store(config: &Config, environment: &Environment) -> Finding {
    let Store::Sqlite { path } = &config.turn.store else {
        return Finding::ok("store", "none: nothing outlives a run");
    };
    let place = environment.resolve(Path::new(path));
    if place.symlink_metadata().is_err() {
        return Finding::ok(
            "store",
            format!("`{path}` is not there yet; the first run that needs it makes it"),
        );
    }
    match SqliteStore::examine(&place) {
        Ok(()) => Finding::ok("store", format!("`{path}` can be used")),
        // A run that shares nothing does not open it.
        Err(error) if config.turn.is_empty() && config.cycle.is_empty() => Finding::warn("store", error.0),
        Err(error) => Finding::fail("store", error.0),
    }
}
