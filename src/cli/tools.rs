//! Owns `tepa tools`: what a run can call.

use std::fmt::Write as _;

use super::load;
use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::{Environment, Layers};
use crate::error::Error;
use crate::session::registry;
use crate::text;
use crate::tool::Registry;

pub(super) fn list(environment: &Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let registry = registry(&load::standing_config(environment, ui)?)?;
    let widest = registry.list().map(|tool| tool.name().len()).max().unwrap_or(0);
    let mut out = String::new();
    for tool in registry.list() {
        let first = tool.schema().description.split(". ").next().unwrap_or_default().trim_end_matches('.');
        let _ = writeln!(out, "{:widest$}  {first}", tool.name());
    }
    write(ui, &out)
}

pub(super) fn show(name: &str, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let registry = all()?;
    let Some(tool) = registry.get(name) else {
        let names = registry.names();
        let error = Error::usage(format!("unknown tool `{name}`"));
        return Err(match text::did_you_mean(name, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("the tools are {}", text::ticked(&names))),
        }
        .into());
    };
    let schema = tool.schema();
    let mut out = format!("{}\n{}\n", schema.name, schema.description);
    for (name, parameter) in &schema.parameters {
        let need = match &parameter.default {
            Some(default) => format!("default {default}"),
            None if parameter.is_required() => "required".to_owned(),
            None => "optional".to_owned(),
        };
        let _ =
            writeln!(out, "\n  {name} ({}, {need})\n    {}", parameter.kind.name(), parameter.description);
    }
    write(ui, &out)
}

fn all() -> Result<Registry, Error> {
    registry(&Layers::defaults()?.resolve()?)
}

fn write(ui: &Ui, out: &str) -> anyhow::Result<ExitStatus> {
    ui.data(out).map_err(|e| Error::broken("cannot write to standard output").because(&e))?;
    Ok(ExitStatus::answered())
}
