//! Owns what tepa finds out by itself about the work of a run: whether the checks of a prompt hold,
//! and the evidence that a judge has to go by.
//!
//! A check that cannot be run is neither passed nor failed: there is no verdict then ([`CheckError`]). What can only be known from the time
//! before the first step (what is to stay unchanged, the scripts that commands name) is kept in a [`Baseline`].

mod baseline;
mod bundle;
mod command;
mod content;
mod file;
mod kind;

use std::path::PathBuf;
use std::sync::Arc;

pub use baseline::Baseline;
pub use bundle::{Bundle, Quote, changes};

use crate::check::Check;
use crate::outcome::CheckResult;
use crate::process::Setting;
use crate::prompt::Prompt;
use crate::workspace::Workspace;

/// A check that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("check `{check}`{} cannot be run: {reason}", .path.as_deref().map(|path| format!(" of `{path}`")).unwrap_or_default())]
pub struct CheckError {
    /// The check's name.
    pub check: &'static str,
    /// The path that it is about.
    pub path: Option<String>,
    /// Why not.
    pub reason: String,
}

/// Where checks are run.
#[derive(Debug, Clone)]
pub struct Site {
    /// Where the files are.
    pub workspace: Arc<Workspace>,
    /// How commands are started.
    pub setting: Arc<Setting>,
    /// Where a folder for copies of scripts can be made.
    pub temporary: PathBuf,
}

/// What came of the checks.
#[derive(Debug, Default)]
pub struct Checked {
    /// The outcomes, in the order of the prompt.
    pub results: Vec<CheckResult>,
    /// The first one that could not be run; those that cost more than it were not tried.
    pub unable: Option<CheckError>,
}

/// One check, its path, and what came of it.
struct Slot {
    check: Check,
    path: Option<String>,
    /// The evidence of the expected output that it belongs to.
    evidence: String,
    outcome: Option<Result<CheckResult, CheckError>>,
}

/// What was found out about a check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    passed: bool,
    expected: String,
    actual: String,
}

impl Finding {
    fn of(passed: bool, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { passed, expected: expected.into(), actual: actual.into() }
    }
}

impl Checked {
    fn of(slots: Vec<Slot>) -> Self {
        let mut checked = Self::default();
        for outcome in slots.into_iter().filter_map(|slot| slot.outcome) {
            match outcome {
                Ok(result) => checked.results.push(result),
                Err(error) => checked.unable = checked.unable.or(Some(error)),
            }
        }
        checked
    }
}

impl Slot {
    fn fill(&mut self, found: Result<Finding, String>) {
        let (check, path) = (self.check.name(), self.path.clone());
        self.outcome = Some(match found {
            Ok(Finding { passed, expected, actual }) => {
                let evidence = Some(self.evidence.clone());
                Ok(CheckResult { check: check.to_owned(), path, evidence, passed, expected, actual })
            }
            Err(reason) => Err(CheckError { check, path, reason }),
        });
    }

    fn unable(&self) -> bool {
        matches!(self.outcome, Some(Err(_)))
    }
}

/// Runs every check of `prompt`: first those that look at files, then the commands, each kind in the order of the prompt.
///
/// # Errors
/// The thread that looks at files panicked, which is a bug.
pub async fn check(
    prompt: &Prompt,
    baseline: Arc<Baseline>,
    site: &Site,
) -> Result<Checked, tokio::task::JoinError> {
    let mut slots = look(slots(prompt), &baseline, site).await?;
    let has_commands = slots.iter().any(|slot| matches!(slot.check, Check::Command(_)));
    if has_commands && !slots.iter().any(Slot::unable) {
        run_commands(&mut slots, &baseline, site).await?;
        // A command may run what the run made, and that may change what was looked at before.
        slots = look(slots, &baseline, site).await?;
    }
    Ok(Checked::of(slots))
}

/// Looks at the files once more, and runs no command.
///
/// # Errors
/// As [`check`].
pub async fn check_files(
    prompt: &Prompt,
    baseline: Arc<Baseline>,
    site: &Site,
) -> Result<Checked, tokio::task::JoinError> {
    Ok(Checked::of(look(slots(prompt), &baseline, site).await?))
}

fn slots(prompt: &Prompt) -> Vec<Slot> {
    let expected = prompt.expected().iter().enumerate();
    expected
        .flat_map(|(at, expected)| {
            let slot = move |check| Slot {
                check,
                path: expected.path.clone(),
                evidence: Bundle::id(at),
                outcome: None,
            };
            expected.all_checks().into_iter().map(slot)
        })
        .collect()
}

/// Looks at the files, off the thread: they may be large and slow.
async fn look(
    mut slots: Vec<Slot>,
    baseline: &Arc<Baseline>,
    site: &Site,
) -> Result<Vec<Slot>, tokio::task::JoinError> {
    let (workspace, start) = (Arc::clone(&site.workspace), Arc::clone(baseline));
    tokio::task::spawn_blocking(move || {
        for slot in &mut slots {
            if let (Some(path), false) = (&slot.path, matches!(slot.check, Check::Command(_))) {
                let found = file::look(&slot.check, path, &workspace, &start);
                slot.fill(found);
            }
        }
        slots
    })
    .await
}

async fn run_commands(
    slots: &mut [Slot],
    baseline: &Arc<Baseline>,
    site: &Site,
) -> Result<(), tokio::task::JoinError> {
    let (start, parent) = (Arc::clone(baseline), site.temporary.clone());
    let copies = tokio::task::spawn_blocking(move || start.scripts.unpack(&parent)).await?;
    for slot in slots {
        let Check::Command(check) = &slot.check else { continue };
        let found = match &copies {
            Ok(copies) => command::run(check, copies, site).await,
            Err(reason) => Err(reason.clone()),
        };
        slot.fill(found);
        if slot.unable() {
            break;
        }
    }
    // The copies go when nothing can name them any more.
    tokio::task::spawn_blocking(move || drop(copies)).await
}
