//! Owns the rule for files that are written at the end: each has a place of its own, and none of them is a file that the run is about.

use std::path::{Path, PathBuf};

use super::Options;
use crate::error::Error;
use crate::prompt::Prompt;
use crate::workspace::Workspace;

/// Refuses a result, a report or a recording that would replace another one, the task, what configures it, or what is expected of it.
pub(super) fn check(options: &Options, prompt: &Prompt, workspace: &Workspace) -> Result<(), Error> {
    let mut written = Vec::new();
    written.extend(options.result.iter().map(|path| ("the result", path)));
    written.extend(options.record.iter().map(|path| ("the recording", path)));
    written.extend(options.reports.iter().map(|(_, path)| ("the report", path)));
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
