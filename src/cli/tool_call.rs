//! Owns `tepa tools call`: one call of one tool, by hand, in the folder where it is typed.
//!
//! Whatever is wrong with the parameters is found before anything is called, and has another exit code than a tool that failed.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{json_text, print};
use super::args::{CallArguments, ToolOutputArgument, ToolsArguments};
use super::status::ExitStatus;
use super::tools::warn;
use super::ui::Ui;
use super::{load, runtime};
use crate::config::{Config, Environment};
use crate::error::Error;
use crate::event::{Clock as _, SystemClock};
use crate::outcome::LogLevel;
use crate::pipeline::Cancel;
use crate::render::prose;
use crate::session::{Ground, Toolbox};
use crate::tool::{AnyTool, Observation, Scratchpad, ToolContext, ToolError};

type Ended = Result<Value, ToolError>;

pub(super) fn call(
    call: &CallArguments,
    arguments: &ToolsArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let params = params(&call.params, environment)?;
    let config = load::standing_config(&arguments.layers, environment, ui)?;
    let ended = runtime::block_on(environment, async |cancel| {
        let connecting = Toolbox::connect_for(&call.name, &config, environment, &environment.directory);
        let toolbox = runtime::unless_stopped(&cancel, connecting).await??;
        warn(&toolbox, ui);
        let ground = Ground::of(&config, environment)?;
        let ended = perform(&call.name, params, &toolbox, &config, &ground, &cancel, ui).await;
        toolbox.close().await;
        ground.leave().await;
        ended
    })??;
    report(ended, arguments.output, ui)
}

async fn perform(
    name: &str,
    params: Value,
    toolbox: &Toolbox,
    config: &Config,
    ground: &Ground,
    cancel: &Cancel,
    ui: &Ui,
) -> anyhow::Result<Ended> {
    let tool = toolbox.find(name)?;
    let params = tool.check(params).map_err(|e| {
        Error::usage(e.to_string()).hint(format!("`tepa tools show {name}` has the parameters"))
    })?;
    let limit = tool.timeout().unwrap_or(Duration::from_millis(config.limits.tool_timeout));
    let context = ToolContext::new(
        Arc::clone(&ground.workspace),
        Scratchpad::default(),
        Arc::clone(&ground.setting),
        limit,
        SystemClock::default().now(),
    );
    let context = Arc::new(context.noting(tool.notes()));
    for gap in ground.confinement.gaps.iter().filter(|_| !ui.quiet) {
        ui.say(&format!("warning: a command could {gap}\n"));
    }
    let ended = runtime::unless_stopped(cancel, invoke(tool, params, &context, limit)).await;
    if !ui.quiet {
        observed(&context, ui);
    }
    Ok(ended?)
}

async fn invoke(
    tool: &Arc<dyn AnyTool>,
    params: Value,
    context: &Arc<ToolContext>,
    limit: Duration,
) -> Ended {
    // A task of its own: a tool that computes without a pause must not keep the command from hearing of a signal.
    let mut task = tokio::task::JoinSet::new();
    let (called, context) = (Arc::clone(tool), Arc::clone(context));
    task.spawn(async move { called.invoke(params, &context).await });
    let name = tool.name();
    match tokio::time::timeout(limit, task.join_next()).await {
        Ok(Some(Ok(ended))) => ended,
        Ok(_) => Err(ToolError::new(format!("Tool \"{name}\" panicked: this is a bug in the tool"))),
        Err(_) => Err(ToolError::new(format!("Tool \"{name}\" timed out after {} ms", limit.as_millis()))),
    }
}

fn observed(context: &ToolContext, ui: &Ui) {
    for observation in context.take_observations() {
        let line = match observation {
            Observation::Wrote(path) => format!("wrote {path}"),
            Observation::Scratchpad { key, value } => format!("scratchpad {key} = {value}"),
            Observation::Log { level: LogLevel::Info, message } => format!("info: {message}"),
            Observation::Log { level: LogLevel::Warn, message } => format!("warn: {message}"),
            Observation::Log { level: LogLevel::Error, message } => format!("error: {message}"),
        };
        ui.say(&format!("{}\n", prose(&line)));
    }
}

fn report(ended: Ended, output: ToolOutputArgument, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let json = output == ToolOutputArgument::Json;
    match ended {
        Ok(Value::String(text)) if !json => {
            // What a tool says must not command a terminal; a file or a pipe gets it as it is.
            let text = if ui.data_terminal { prose(&text) } else { text };
            let end = if text.ends_with('\n') { "" } else { "\n" };
            print(ui, &format!("{text}{end}"))
        }
        Ok(value) => print(ui, &json_text(&value)),
        Err(error) => {
            if json {
                print(ui, &json_text(&json!({"error": error.0})))?;
            }
            ui.error(&error.into());
            Ok(ExitStatus::tool_failed())
        }
    }
}

/// Returns the parameters that were typed, or that a file or standard input holds.
fn params(typed: &str, environment: &Environment) -> Result<Value, Error> {
    let (text, place) = match typed.strip_prefix('@') {
        Some(file) => {
            let read = std::fs::read_to_string(environment.resolve(Path::new(file)));
            (
                read.map_err(|e| Error::usage(format!("cannot read `{file}`")).because(&e))?,
                format!("`{file}`"),
            )
        }
        None if typed == "-" => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.map_err(|e| Error::usage("cannot read standard input").because(&e))?;
            (text, "standard input".to_owned())
        }
        None => (typed.to_owned(), "what `--params` says".to_owned()),
    };
    let value: Value = serde_json::from_str(&text).map_err(|e| {
        Error::usage(format!("{place} is not JSON"))
            .because(&e)
            .hint(r#"write an object, such as '{"path": "a.txt"}'"#)
    })?;
    if value.is_object() { Ok(value) } else { Err(Error::usage(format!("{place} is not a JSON object"))) }
}
