//! Owns the rule for files that are written at the end: each has a place of its own, and none of them is a file that the run is about.

use std::path::{Path, PathBuf};

use super::Options;
use crate::config::{Config, Stage, Store};
use crate::error::Error;
use crate::prompt::Prompt;
use crate::seal::Pattern;
use crate::store::SqliteStore;
use crate::workspace::{PROJECT_FILE, Workspace};

/// Refuses a result, a report or a recording that would replace another one, the task, what configures it, or what is expected of it, and
/// lines about runs that would be added to one of them.
pub(super) fn check(
    options: &Options,
    config: &Config,
    prompt: &Prompt,
    workspace: &Workspace,
) -> Result<(), Error> {
    let mut written = Vec::new();
    written.extend(options.result.iter().map(|path| ("the result", path)));
    written.extend(options.record.iter().map(|path| ("the recording", path)));
    written.extend(options.reports.iter().map(|(_, path)| ("the report", path)));
    written.extend(options.plan_output.iter().map(|path| ("the plan", path)));
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    taken.extend(options.protected.iter().map(|path| ("a file that no run may change", place(path))));
    taken.extend(options.replay.iter().map(|path| ("the replies of this run", place(path))));
    let expected = prompt.expected_paths().filter_map(|(path, _)| workspace.relative(path).ok());
    taken.extend(expected.map(|path| ("an expected output", place(&workspace.root().join(path)))));
    for (what, path) in written {
        let place = place(path);
        if let Some((other, _)) = taken.iter().find(|(_, taken)| *taken == place) {
            let message = format!("{what} would replace {other}: `{}`", path.display());
            return Err(Error::usage(message).hint("write it to another file"));
        }
        taken.push((what, place));
    }
    check_lines(config, &taken, workspace)
}

/// Refuses lines of the stage `telemetry` in a file that is something else; its stages may share one.
fn check_lines(config: &Config, taken: &[(&str, PathBuf)], workspace: &Workspace) -> Result<(), Error> {
    let globs: Vec<Pattern> = config.protect.iter().filter_map(|glob| Pattern::parse(glob).ok()).collect();
    let stored = match &config.turn.store {
        Store::Sqlite { path } => {
            SqliteStore::files(&workspace.root().join(path)).map(|file| place(&file)).to_vec()
        }
        Store::None => Vec::new(),
    };
    for stage in config.turn.output.iter().chain(&config.cycle.output) {
        let Stage::Telemetry(lines) = stage else { continue };
        let place = place(&workspace.root().join(&lines.file));
        let is_protected = || {
            let relative = place.strip_prefix(workspace.root()).unwrap_or(&place);
            globs.iter().any(|glob| glob.covers(relative))
        };
        let other = match taken.iter().find(|(_, taken)| *taken == place) {
            Some((other, _)) => *other,
            None if stored.contains(&place) => "the store",
            None if place.file_name().is_some_and(|name| name == PROJECT_FILE)
                && place.parent() == Some(workspace.root()) =>
            {
                "the project's configuration"
            }
            None if is_protected() => "a file that no run may change",
            None => continue,
        };
        let message = format!("the stage `telemetry` would write to {other}: `{}`", lines.file);
        return Err(Error::usage(message).hint("name a file of its own"));
    }
    Ok(())
}

/// Returns where a path leads, as far as it leads anywhere yet.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Layers, Origin};

    #[test]
    fn lines_about_runs_go_to_a_file_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        workspace.write("task.replay.yaml", b"replies: []").unwrap();
        workspace.write("hook.sh", b"exit 0").unwrap();
        let at = |name: &str| workspace.root().join(name);
        let options = Options {
            replay: Some(at("task.replay.yaml")),
            result: Some(at("result.json")),
            protected: vec![at("hook.sh")],
            ..Options::default()
        };
        let prompt =
            json!({"goal": "g", "context": {}, "expectedOutput": [{"path": "out/a.md", "description": "d"}]});
        let prompt: Prompt = serde_json::from_value(prompt).unwrap();
        let lines = |file: &str| {
            let stages = json!([{"telemetry": {"file": file}}]);
            let mut layers = Layers::defaults().unwrap();
            let values =
                json!({"turn": {"output": stages}, "cycle": {"output": stages}, "protect": ["rules/**"]});
            layers.push(Origin::CommandLine, values);
            check(&options, &layers.resolve().unwrap(), &prompt, &workspace).map_err(|e| e.to_string())
        };
        for (file, other) in [
            ("out/a.md", "an expected output"),
            ("./task.replay.yaml", "the replies of this run"),
            ("result.json", "the result"),
            ("hook.sh", "a file that no run may change"),
            ("rules/new.jsonl", "a file that no run may change"),
            ("tepa.yaml", "the project's configuration"),
            (".tepa/tepa.db", "the store"),
        ] {
            let fault = format!("the stage `telemetry` would write to {other}: `{file}`");
            assert_eq!(lines(file), Err(fault));
        }
        // Lines about the run and about its cycles may stand in one file.
        assert_eq!(lines(".tepa/telemetry.jsonl"), Ok(()));
    }
}
