//! Owns `tepa config`: every value that counts and who said it, without a provider, a key or a run.
//!
//! What is shown is what would be recorded of a run: values that are handed to servers, tools, hooks and stages are not.

use serde_json::{Value, json};

use super::answer::{json_text, print};
use super::args::{ConfigArguments, GlobalArguments, ToolOutputArgument};
use super::layers::{self, ConfigSource};
use super::load;
use super::status::ExitStatus;
use super::table::{Column, table};
use super::ui::Ui;
use crate::config::{Environment, Origin, Setting};
use crate::render::prose;
use crate::session::shown;
use crate::text;

pub(super) fn run(
    arguments: &ConfigArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let ConfigArguments { all, files, output, settings, work } = arguments;
    if *files {
        return print(
            ui,
            &places(&layers::config_files(&settings.layers, environment), environment, *output, ui),
        );
    }
    let found = load::settings(settings, work, global, environment, ui)?;
    let lines = found.iter().flat_map(rows);
    let (shown, hidden): (Vec<Row>, Vec<Row>) = lines.partition(|row| *all || !row.is_default);
    let out = match output {
        ToolOutputArgument::Json => {
            let said = found.iter().filter(|setting| *all || rows(setting).iter().any(|row| !row.is_default));
            json_text(&serde_json::to_value(said.collect::<Vec<_>>())?)
        }
        ToolOutputArgument::Text => {
            let columns = [Column::of("SETTING"), Column::of("SAID BY")];
            table(columns, shown.into_iter().map(|row| row.cells), ui)
        }
    };
    let status = print(ui, &out)?;
    if !hidden.is_empty() && *output == ToolOutputArgument::Text && !ui.quiet {
        ui.say(&format!("{} not shown: `tepa config --all`\n", text::plural("default", hidden.len())));
    }
    Ok(status)
}

/// A line of the table.
struct Row {
    cells: [String; 2],
    is_default: bool,
}

/// Returns the lines of a value: one, or one for each item of a list that grows.
fn rows(setting: &Setting) -> Vec<Row> {
    let row = |key: &str, value: &Value, origin: &Origin| Row {
        cells: [format!("{key} = {value}"), origin.to_string()],
        is_default: *origin == Origin::Default,
    };
    match setting.items.as_slice() {
        [] => vec![row(&setting.key, &setting.value, &setting.origin)],
        items => {
            let numbered = items.iter().enumerate();
            numbered
                .map(|(at, item)| row(&format!("{}[{at}]", setting.key), &item.value, &item.origin))
                .collect()
        }
    }
}

fn places(
    sources: &[ConfigSource],
    environment: &Environment,
    output: ToolOutputArgument,
    ui: &Ui,
) -> String {
    let state = |source: &ConfigSource| match source {
        ConfigSource { passed_over: true, .. } => "not looked for",
        ConfigSource { path, .. } if path.is_file() => "read",
        ConfigSource { path, .. } if path.symlink_metadata().is_ok() => "no file",
        _ => "not there",
    };
    match output {
        ToolOutputArgument::Json => {
            let places = sources.iter();
            json_text(
                &places
                    .map(|source| json!({"path": source.path.display().to_string(), "state": state(source)}))
                    .collect(),
            )
        }
        ToolOutputArgument::Text => table(
            [Column::of("STATE"), Column::of("FILE")],
            sources.iter().map(|source| [state(source).to_owned(), prose(&shown(&source.path, environment))]),
            ui,
        ),
    }
}
