//! Owns `tepa validate`: every fault of every file, without a provider.
//!
//! Files are looked at side by side and reported in the order in which they were named; one that cannot be read keeps none of the others from
//! being reported.

mod below;
mod check;
mod files;
mod kind;
mod places;
mod report;
mod sarif;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::check::{Checked, End, Rules, check};
use self::files::Found;
use self::places::Places;
use super::answer::print;
use super::args::{FaultOutputArgument, GlobalArguments, LoggingLevelArgument, ValidateArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{load, variables};
use crate::config::Environment;
use crate::error::Error;
use crate::prompt::Given;

pub(super) fn run(
    arguments: &ValidateArguments,
    global: &GlobalArguments,
    called_in: &Path,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let given = variables::given(&arguments.variables, environment, ui)?;
    // Nothing of this command uses a value: all of them may be shown.
    let given = variables::masked(&given, environment);
    let found = files::find(&arguments.paths, environment);
    let rules = Rules {
        kind: arguments.kind,
        unknown: load::unknown_keys(arguments.allow_unknown),
        given: &given,
        environment,
        below: &below::layers(arguments.hermetic, environment, ui)?,
    };
    let checked = side_by_side(&found, &|found| check(found, &rules));
    let usable = values_for(&checked, &given);
    let ending = Ending::of(&checked);
    if ending.checked == 0 && ending.unreadable == 0 {
        return Err(Error::usage("there is nothing to check: no file here is for tepa")
            .hint("name a file itself to see what it lacks, or say what it is with `--kind`")
            .into());
    }
    let places = Places { folder: global.directory.as_deref(), called_in };
    let data = match arguments.output {
        FaultOutputArgument::Text => {
            let verbose = global.log_level == Some(LoggingLevelArgument::Verbose);
            report::text(&checked, &ending, verbose, ui);
            None
        }
        FaultOutputArgument::Json => Some(report::json(&checked, &ending)),
        FaultOutputArgument::Github => Some(report::github(&checked, &places)),
        FaultOutputArgument::Sarif => Some(sarif::render(&checked, &places)),
    };
    if let Some(data) = data {
        print(ui, &data)?;
    }
    ui.warn(usable?);
    Ok(match (ending.unreadable, ending.errors, ending.warnings) {
        (1.., ..) => ExitStatus::usage(),
        (0, 1.., _) => ExitStatus::faults_found(),
        (0, 0, 1..) if arguments.strict => ExitStatus::faults_found(),
        _ => ExitStatus::answered(),
    })
}

/// Returns what to say of values that nobody wants, or why they cannot be meant.
fn values_for(checked: &[Checked], given: &Given) -> Result<Vec<String>, Error> {
    let declared: Vec<&str> = checked.iter().flat_map(|file| &file.variables).map(String::as_str).collect();
    variables::check_names(given, &declared)?;
    let values: Vec<_> = checked.iter().flat_map(|file| &file.values).cloned().collect();
    variables::check_values(&values)?;
    // Where no task declares any, those of the environment are for other tasks.
    Ok(if declared.is_empty() { Vec::new() } else { variables::warnings(given, &declared) })
}

/// What became of all files.
#[derive(Debug, Default)]
struct Ending {
    checked: usize,
    passed_over: usize,
    unreadable: usize,
    /// Files with at least one error.
    broken: usize,
    errors: usize,
    warnings: usize,
}

impl Ending {
    fn of(files: &[Checked]) -> Self {
        let mut ending = Self::default();
        for file in files {
            match &file.end {
                End::PassedOver => ending.passed_over += 1,
                End::Unreadable(_) => ending.unreadable += 1,
                End::Faults(faults) => {
                    let (errors, warnings) = faults.counts();
                    ending.checked += 1;
                    ending.broken += usize::from(errors > 0);
                    ending.errors += errors;
                    ending.warnings += warnings;
                }
            }
        }
        ending
    }
}

/// Returns what `work` makes of each file, in their order.
fn side_by_side(found: &[Found], work: &(dyn Fn(&Found) -> Checked + Sync)) -> Vec<Checked> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(found.len()));
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(found.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, file)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    found.get(at).map(|file| (at, file))
                } {
                    let checked = work(file);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, checked));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, checked)| checked).collect()
}
