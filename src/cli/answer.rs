//! Owns how a command hands over what it was asked for: data on standard output, all of it or an error.

use serde_json::Value;

use super::status::ExitStatus;
use super::ui::Ui;
use crate::error::Error;

/// Returns a JSON value as a person can read it.
pub(super) fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes data; what did not reach its reader is not an answer.
pub(super) fn print(ui: &Ui, out: &str) -> anyhow::Result<ExitStatus> {
    ui.data(out).map_err(|e| Error::broken("cannot write to standard output").because(&e))?;
    Ok(ExitStatus::answered())
}
