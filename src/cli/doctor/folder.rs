//! Owns what the doctor says of the folder: git, whether runs can be recorded, the store.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::finding::Finding;
use crate::config::{Config, Environment, Store};
use crate::journal;
use crate::persist::Place;
use crate::store::SqliteStore;
use crate::text;

/// Looks at the folder that is worked in.
pub(super) fn look(config: &Config, environment: &Environment) -> Vec<Finding> {
    [git(environment), Some(record(&environment.directory)), Some(store(config, environment))]
        .into_iter()
        .flatten()
        .collect()
}

fn git(environment: &Environment) -> Option<Finding> {
    let Some(version) = answer(&["--version"], environment) else {
        return Some(Finding::ok("git", "not found, and tepa does not need it"));
    };
    let version = version.trim().trim_start_matches("git version ").to_owned();
    if answer(&["rev-parse", "--is-inside-work-tree"], environment).is_none_or(|said| said.trim() != "true") {
        return Some(
            Finding::warn("git", format!("{version}; the folder is in no repository"))
                .hint("`git init` here shows afterwards what a run changed"),
        );
    }
    let changed = answer(&["status", "--porcelain"], environment)?.lines().count();
    if changed == 0 {
        return Some(Finding::ok("git", format!("{version}; the repository is clean")));
    }
    let files = text::plural("file", changed);
    Some(
        Finding::warn("git", format!("{version}; {files} changed and not committed"))
            .hint("commit them before a run, and what it changes can be told apart"),
    )
}

/// Returns what git says; nothing when it fails or is not there.
fn answer(arguments: &[&str], environment: &Environment) -> Option<String> {
    let output = Command::new("git")
        // No program that the repository names is started for a question.
        .args(["-c", "core.fsmonitor=false"])
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
    if !place.exists() {
        return Finding::ok(
            "store",
            format!("`{path}` is not there yet; the first run that needs it makes it"),
        );
    }
    match SqliteStore::open(&place, environment.secrets().clone()) {
        Ok(_) => Finding::ok("store", format!("`{path}` opens")),
        // A run that shares nothing does not open it.
        Err(error) if config.turn.is_empty() && config.cycle.is_empty() => Finding::warn("store", error.0),
        Err(error) => Finding::fail("store", error.0),
    }
}
