//! Owns the stage `telemetry`: one line about a run, or about a cycle, at the end of a file.
//!
//! The file stays in the folder that the run works in, whatever the run made of the path to it: what leads out is not followed, and neither
//! is a link in the place of the file. Secrets do not get into it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde_json::{Map, Value, json};

use super::Work;
use crate::secret::Secrets;
use crate::stage::{StageError, TurnContext};

/// Appends a line.
pub(super) struct Telemetry {
    pub(super) root: PathBuf,
    pub(super) file: PathBuf,
    pub(super) secrets: Secrets,
}

impl Work for Telemetry {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let line = format!("{}\n", self.secrets.redact_value(facts(context)));
        let (root, file) = (self.root.clone(), self.file.clone());
        let fail = || StageError::new(format!("cannot write to `{}`", self.file.display()));
        let written = tokio::task::spawn_blocking(move || append(&root, &file, line.as_bytes())).await;
        written.map_err(|e| fail().because(e))?.map_err(|e| fail().because(e))
    }
}

fn facts(context: &TurnContext) -> Value {
    let ended = context.ended();
    let mut facts = Map::new();
    let mut say = |key: &str, value: Value| facts.insert(key.to_owned(), value);
    say("ts", json!(context.now()));
    say("turn", json!(context.id()));
    say("session", json!(context.session()));
    if context.cycle() > 0 {
        say("cycle", json!(context.cycle()));
    }
    say("verdict", json!(context.evaluation().map(|evaluation| evaluation.verdict)));
    say("cycles", json!(ended.map(|ended| ended.cycles)));
    say("tokensUsed", json!(ended.map(|ended| ended.tokens_used)));
    say("costUsd", json!(ended.and_then(|ended| ended.cost.usd)));
    say("durationMs", json!(ended.map(|ended| ended.duration_ms)));
    say("trace", json!(context.turn.trace));
    say("stash", json!(context.stash));
    facts.into()
}

fn append(root: &Path, file: &Path, line: &[u8]) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let folder = match file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            root.create_dir_all(parent)?;
            root.open_dir(parent)?
        }
        None => root,
    };
    let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut options = OpenOptions::new();
    // A pipe that nobody reads would wait for ever.
    options.append(true).create(true).follow(FollowSymlinks::No).nonblock(true);
    let mut file = folder.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    file.write_all(line)
}
