//! Owns `tepa completions`: the script for a shell, generated from the command line itself.

use super::status::ExitStatus;
use super::ui::Ui;
use crate::error::Error;

pub(super) fn print(shell: clap_complete::Shell, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "tepa", &mut script);
    ui.data(&String::from_utf8_lossy(&script))
        .map_err(|e| Error::broken("cannot write the completion script").because(&e))?;
    Ok(ExitStatus::answered())
}
