//! Owns the warning about variables that look like those of tepa and mean nothing: a budget that is misspelt is no budget.

use super::ui::Ui;
use crate::config::{Environment, VARIABLES};
use crate::prompt::ENVIRONMENT_PREFIX;
use crate::text;

/// What names of tepa's own variables begin with.
const PREFIX: &str = "TEPA_";

/// What is read by the tests of tepa itself.
const OF_TESTS: [&str; 2] = ["TEPA_TEST_", "TEPA_BLESS"];

/// Warns of variables that nothing reads.
pub(super) fn warn(environment: &Environment, ui: &Ui) {
    let mut known: Vec<String> = VARIABLES.iter().map(|name| (*name).to_owned()).collect();
    flags(&super::command(), &mut known);
    let is_known = |name: &String| {
        known.contains(name)
            || name.starts_with(ENVIRONMENT_PREFIX)
            || OF_TESTS.iter().any(|tests| name.starts_with(tests))
    };
    let names = environment.beginning_with(PREFIX).into_keys();
    for name in names.filter(|name| !is_known(name)) {
        let candidates = known.iter().map(String::as_str).filter(|known| known.starts_with(PREFIX));
        let meant = text::did_you_mean(&name, candidates);
        let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
        ui.warn([format!("the variable `{name}` means nothing to tepa{meant}")]);
    }
}

/// Collects the variables of all flags.
fn flags(command: &clap::Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
    known.extend(variables.map(str::to_owned));
    command.get_subcommands().for_each(|below| flags(below, known));
}
