//! Owns `tepa tools list` and `tepa tools show`: what a run can call.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::answer::{json_text, print};
use super::args::{ToolOutputArgument, ToolsArguments};
use super::status::ExitStatus;
use super::table::{Column, table};
use super::ui::Ui;
use super::{load, runtime};
use crate::config::{Config, Environment, Network};
use crate::render::{cell, prose};
use crate::session::Toolbox;
use crate::tool::AnyTool;

pub(super) fn list(
    arguments: &ToolsArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let config = load::standing_config(&arguments.layers, environment, ui)?;
    let toolbox = runtime::block_on(environment, async |cancel| {
        let root = environment.directory.as_path();
        let connecting = Toolbox::connect(&config, environment, root);
        let toolbox = runtime::unless_stopped(&cancel, connecting).await??;
        toolbox.close().await;
        anyhow::Ok(toolbox)
    })??;
    warn(&toolbox, ui);
    let tools = toolbox.registry.list();
    let out = match arguments.output {
        ToolOutputArgument::Json => {
            json_text(&tools.map(|tool| described(tool, &toolbox)).collect::<Value>())
        }
        ToolOutputArgument::Text => {
            let columns = [Column::of("TOOL"), Column::of("FROM").goes(1), Column::of("WHAT")];
            let row = |tool: &dyn AnyTool| {
                let first = first_sentence(&tool.schema().description);
                [tool.name().to_owned(), toolbox.source(tool.name()), first]
            };
            table(columns, tools.map(row), ui)
        }
    };
    print(ui, &out)
}

pub(super) fn show(
    name: &str,
    arguments: &ToolsArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    if let Some(tool) =
        crate::tools::built_in(&Network { allow_hosts: Vec::new() }).iter().find(|tool| tool.name() == name)
    {
        return print(ui, &shown(tool.as_ref(), &Toolbox::default(), arguments.output));
    }
    let config = load::standing_config(&arguments.layers, environment, ui)?;
    let toolbox = connect_for(name, &config, environment)?;
    warn(&toolbox, ui);
    print(ui, &shown(toolbox.find(name)?.as_ref(), &toolbox, arguments.output))
}

fn connect_for(name: &str, config: &Config, environment: &Environment) -> anyhow::Result<Toolbox> {
    runtime::block_on(environment, async |cancel| {
        let connecting = Toolbox::connect_for(name, config, environment, &environment.directory);
        let toolbox = runtime::unless_stopped(&cancel, connecting).await??;
        toolbox.close().await;
        Ok(toolbox)
    })?
}

/// Says what is not as it should be with the tools.
pub(super) fn warn(toolbox: &Toolbox, ui: &Ui) {
    for warning in toolbox.warnings.iter().filter(|_| !ui.quiet) {
        ui.say(&format!("warning: {}\n", prose(warning)));
    }
}

fn shown(tool: &dyn AnyTool, toolbox: &Toolbox, output: ToolOutputArgument) -> String {
    if output == ToolOutputArgument::Json {
        return json_text(&described(tool, toolbox));
    }
    let schema = tool.schema();
    let mut out = format!("{}\n{}\n", cell(&schema.name), prose(&schema.description));
    for (name, parameter) in &schema.parameters {
        let need = match &parameter.default {
            Some(default) => format!("default {default}"),
            None if parameter.is_required() => "required".to_owned(),
            None => "optional".to_owned(),
        };
        let _ = writeln!(out, "\n  {} ({}, {})", cell(name), parameter.kind.name(), cell(&need));
        if !parameter.description.is_empty() {
            let _ = writeln!(out, "    {}", cell(&parameter.description));
        }
    }
    out
}

fn described(tool: &dyn AnyTool, toolbox: &Toolbox) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.schema().description,
        "effect": tool.effect(),
        "source": toolbox.source(tool.name()),
        "inputSchema": tool.schema().to_json_schema(),
    })
}

fn first_sentence(description: &str) -> String {
    let line = description.lines().next().unwrap_or_default();
    let first = line.split_once(". ").map_or(line, |(first, _)| first);
    first.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_the_first_sentence() {
        assert_eq!(first_sentence("Reads a.b files. And more."), "Reads a.b files");
        assert_eq!(first_sentence("One line.\nAnother. Third."), "One line");
    }
}
