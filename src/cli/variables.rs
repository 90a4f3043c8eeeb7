//! Owns the gathering of values for the variables of a task: flags, files, the environment.
//!
//! It refuses what could be meant in two ways: a name given twice, a name that no task declares.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use super::args::{Assignment, Source, VariableArguments};
use super::inspect::secrets;
use super::ui::Ui;
use crate::config::Environment;
use crate::error::{Error, Message};
use crate::prompt::{ENVIRONMENT_PREFIX, Given, GivenText, ValueError};
use crate::text;

/// The largest file that is read for a value, in bytes.
const LARGEST: u64 = 1 << 20;

/// Returns what was given, by flags and by the environment.
pub(super) fn given(
    arguments: &VariableArguments,
    environment: &Environment,
    ui: &Ui,
) -> Result<Given, Error> {
    let mut given = Given {
        environment: environment.beginning_with(ENVIRONMENT_PREFIX),
        unreadable: environment.unreadable(ENVIRONMENT_PREFIX),
        ..Given::default()
    };
    for Assignment { name, source } in &arguments.variables {
        let (text, origin) = match source {
            Source::Here(text) => (text.clone(), format!("`--var {name}`")),
            Source::File(path) => {
                let shown = path.display().to_string();
                let text = read(&environment.resolve(path)).map_err(|e| {
                    Error::usage(format!("cannot read the value of `{name}` from `{shown}`")).because(&e)
                })?;
                (text, format!("`{shown}`"))
            }
        };
        if given.flags.insert(name.clone(), GivenText { text, origin }).is_some() {
            return Err(Error::usage(format!("`--var {name}` is given twice")).hint("leave one of them out"));
        }
    }
    let of_environment = given.environment.iter().map(|(variable, text)| (format!("`{variable}`"), text));
    for (origin, text) in
        given.flags.values().map(|given| (given.origin.clone(), &given.text)).chain(of_environment)
    {
        if let Some(found) = secrets::in_value(&origin, text, environment) {
            ui.warn(found.warnings);
        }
    }
    Ok(given)
}

/// Returns what was given with its keys masked, for whoever shows it.
pub(super) fn masked(given: &Given, environment: &Environment) -> Given {
    let mask = |text: &mut String| {
        if let Some(masked) =
            secrets::in_value("", text, environment).and_then(|mut found| found.masked.pop())
        {
            *text = masked;
        }
    };
    let mut given = given.clone();
    given.flags.values_mut().for_each(|given| mask(&mut given.text));
    given.environment.values_mut().for_each(mask);
    given
}

/// Returns the text of a file without its last line break.
fn read(path: &Path) -> io::Result<String> {
    // A pipe would keep everybody waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    if File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))?;
    if text.ends_with('\n') {
        text.truncate(text.len() - if text.ends_with("\r\n") { 2 } else { 1 });
    }
    Ok(text)
}

/// Refuses names on the command line that no task declares.
pub(super) fn check_names(given: &Given, declared: &[&str]) -> Result<(), Error> {
    let unknown = given.unknown_flags(declared);
    let Some((first, meant)) = unknown.first() else { return Ok(()) };
    let hint = match (meant, declared) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, []) => "the task declares no `variables`".to_owned(),
        (None, _) => format!("it declares {}", text::ticked(declared)),
    };
    let message = match unknown.len() {
        1 => format!("the task has no variable `{first}`"),
        _ => format!("the task has no variables {}", text::ticked(unknown.iter().map(|(name, _)| name))),
    };
    Err(Error::usage(message).hint(hint))
}

/// Returns what to say of variables of the environment that no task declares.
pub(super) fn warnings(given: &Given, declared: &[&str]) -> Vec<String> {
    let said = |(variable, meant): (String, Option<String>)| {
        let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
        format!("`{variable}` is set, and the task has no such variable{meant}")
    };
    given.unknown_in_environment(declared).into_iter().map(said).collect()
}

/// Refuses a task whose values are not all there or not all of their types.
pub(super) fn check_values(errors: &[ValueError]) -> Result<(), Error> {
    if errors.is_empty() {
        return Ok(());
    }
    let missing = errors.iter().filter_map(|error| match error {
        ValueError::Missing { name, .. } => Some(name.as_str()),
        ValueError::NotOfType { .. } | ValueError::NotText { .. } => None,
    });
    let missing: Vec<&str> = missing.collect();
    let hint = missing.first().map(|first| {
        let flags: Vec<String> = missing.iter().map(|name| format!("--var {name}=VALUE")).collect();
        let variable = format!("{ENVIRONMENT_PREFIX}{}", first.to_ascii_uppercase().replace('-', "_"));
        format!("give it on the command line: `{}`, or by variables such as `{variable}`", flags.join(" "))
    });
    if let [only] = errors {
        return Err(Error::Usage(Message { text: only.to_string(), causes: Vec::new(), hint }));
    }
    let text = format!("{} cannot be filled in", text::plural("variable", errors.len()));
    let causes = errors.iter().map(ToString::to_string).collect();
    Err(Error::Usage(Message { text, causes, hint }))
}
