//! Owns `tepa schema`: the JSON Schema of each form that tepa reads or writes.

use super::answer::{json_text, print};
use super::args::SchemaArgument;
use super::status::ExitStatus;
use super::ui::Ui;
use crate::{config, event, outcome, prompt, providers};

pub(super) fn run(form: SchemaArgument, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let schema = match form {
        SchemaArgument::Prompt => prompt::schema(),
        SchemaArgument::Config => config::schema(),
        SchemaArgument::Result => outcome::schema(),
        SchemaArgument::Event => event::schema(),
        SchemaArgument::Replay => providers::replies::schema(),
    };
    print(ui, &json_text(&schema))
}
