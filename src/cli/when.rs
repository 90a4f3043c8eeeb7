//! Owns how commands about runs name a time and a state.

use console::Style;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::ui::Ui;
use crate::journal::State;

/// Returns a time as a clock on the wall here shows it.
pub(super) fn short(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns a time to the second, with how far the clock here is from that of the world.
pub(super) fn full(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Returns the name of a state in its colour, where standard output takes colour.
pub(super) fn state(state: State, ui: &Ui) -> String {
    let style = match state {
        State::Pass => Style::new().green(),
        State::Fail | State::Error => Style::new().red(),
        State::Terminated | State::Lost => Style::new().yellow(),
        State::Running => Style::new().cyan(),
    };
    style.force_styling(ui.data_color).apply_to(state.name()).to_string()
}
