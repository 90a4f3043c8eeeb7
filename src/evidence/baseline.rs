//! Owns what has to be known from before the first step.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::CheckError;
use super::bundle::COMPARED;
use crate::check::Check;
use crate::prompt::Prompt;
use crate::script::{Outputs, Scripts};
use crate::seal::{Marks, Pattern, Seals};
use crate::workspace::{Workspace, WorkspaceError};

/// The state before the first step, as far as the checks of a prompt need it.
#[derive(Debug, Default)]
pub struct Baseline {
    /// What is to stay unchanged, by the path as the prompt names it.
    pub(super) sealed: BTreeMap<String, Seals>,
    /// The expected files that were there and not too large to compare.
    pub(super) before: BTreeMap<String, Vec<u8>>,
    pub(super) scripts: Scripts,
}

impl Baseline {
    /// Takes the state of everything that a check of `prompt` compares with.
    ///
    /// # Errors
    /// A script that a command names cannot be read, or what is to stay unchanged cannot be looked at.
    pub fn take(prompt: &Prompt, workspace: &Workspace) -> Result<Self, CheckError> {
        let (mut sealed, mut before) = (BTreeMap::new(), BTreeMap::new());
        for (path, expected) in prompt.expected_paths() {
            if let Ok(content) = workspace.read(path, COMPARED) {
                before.insert(path.to_owned(), content);
            }
            if expected.checks.iter().any(|check| matches!(check, Check::Unchanged(_))) {
                let reason =
                    |reason: String| CheckError { check: "unchanged", path: Some(path.to_owned()), reason };
                sealed.insert(path.to_owned(), seal(path, workspace).map_err(reason)?);
            }
        }
        Ok(Self { sealed, before, scripts: scripts(prompt, workspace)? })
    }

    /// Returns the state of what is to stay unchanged as it can be written down.
    pub fn marks(&self) -> BTreeMap<String, Marks> {
        self.sealed.iter().filter_map(|(path, seals)| Some((path.clone(), seals.marks()?))).collect()
    }

    /// Puts the state as an earlier run wrote it down in the place of what was taken now: that is not what the earlier run began with.
    #[must_use]
    pub fn recalled(mut self, workspace: &Workspace, marks: &BTreeMap<String, Marks>) -> Self {
        let seals = |path: &String| {
            let (patterns, files) = meant(path, workspace).ok()?;
            Seals::recalled(workspace.root(), patterns, files, marks.get(path)?)
        };
        let paths: Vec<String> = self.sealed.into_keys().collect();
        self.sealed = paths.into_iter().filter_map(|path| Some((path.clone(), seals(&path)?))).collect();
        self.before.clear();
        self
    }

    /// Leaves out the scripts that are in none of these places.
    #[must_use]
    pub fn with_scripts(mut self, is_known: impl Fn(&Path) -> bool) -> Self {
        self.scripts.retain(is_known);
        self
    }

    /// Returns the expected files that are text, as they can be written down.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let text = |(path, content): (&String, &Vec<u8>)| {
            Some((path.clone(), std::str::from_utf8(content).ok()?.to_owned()))
        };
        self.before.iter().filter_map(text).collect()
    }

    /// Puts the expected files as they were written down in the place of what was taken now.
    #[must_use]
    pub fn with_texts(mut self, before: BTreeMap<String, String>) -> Self {
        self.before = before.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
        self
    }

    /// Returns the files that decide over the verdict, absolute: no run may change them.
    pub fn protected(&self) -> impl Iterator<Item = &Path> {
        self.scripts.places()
    }
}

/// Takes every file of the workspace that a command of `prompt` names.
fn scripts(prompt: &Prompt, workspace: &Workspace) -> Result<Scripts, CheckError> {
    let outputs = Outputs::of(prompt, workspace);
    let mut scripts = Scripts::default();
    for of in prompt.expected() {
        for check in &of.checks {
            let Check::Command(command) = check else { continue };
            scripts.take(&command.run, &outputs, workspace).map_err(|error| CheckError {
                check: check.name(),
                path: of.path.clone(),
                reason: error.to_string(),
            })?;
        }
    }
    Ok(scripts)
}

fn seal(path: &str, workspace: &Workspace) -> Result<Seals, String> {
    let (patterns, files) = meant(path, workspace)?;
    let seals = Seals::take_everything(workspace.root(), patterns, files);
    match seals.unseen() {
        None => Ok(seals),
        Some((path, e)) => Err(format!("cannot look at `{path}`: {e}")),
    }
}

/// Returns what a path stands for: everything in a folder, a file by itself, what a link leads to.
fn meant(path: &str, workspace: &Workspace) -> Result<(Vec<Pattern>, Vec<PathBuf>), String> {
    let relative = workspace.relative(path).map_err(|e| e.to_string())?;
    // A folder is everything in it; a link is what it leads to as well.
    let mut places = match workspace.resolved(path) {
        Ok(target) => vec![relative, target],
        Err(WorkspaceError::Missing(_)) => vec![relative],
        Err(WorkspaceError::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            vec![relative]
        }
        Err(error) => return Err(error.to_string()),
    };
    places.dedup();
    if places.iter().any(|place| place.is_absolute()) {
        return Err(format!("`{path}` is not in the folder that the run works in"));
    }
    let inside = |place: &PathBuf| {
        let glob = format!("{}/**", globset::escape(&place.to_string_lossy().replace('\\', "/")));
        Pattern::parse(&glob).map_err(|e| e.to_string())
    };
    let patterns = places.iter().map(inside).collect::<Result<_, _>>()?;
    let root = workspace.root();
    let mut files: Vec<PathBuf> = places.iter().map(|place| root.join(place)).collect();
    files.retain(|file| !file.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
    files.dedup();
    Ok((patterns, files))
}
