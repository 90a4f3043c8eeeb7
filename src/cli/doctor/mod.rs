//! Owns `tepa doctor`: what a run would find here, each thing with what to do about it.
//!
//! It is called where something is wrong, so nothing that is wrong keeps it from looking at the rest. It starts no server and spends no
//! token; what is secret is named and not shown.

mod finding;
mod folder;
mod keys;
mod machine;
mod online;
mod programs;
mod settings;

use serde_json::json;

use self::finding::Status;
use super::answer::{json_text, print};
use super::args::{DoctorArguments, GlobalArguments, ToolOutputArgument};
use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::Environment;

pub(super) fn run(
    arguments: &DoctorArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let mut findings = machine::system();
    let (config, found) = settings::look(arguments, global, environment)?;
    findings.extend(found);
    findings.extend(keys::look(&config, environment));
    findings.extend(online::look(arguments.online, &config, environment)?);
    findings.push(machine::sandbox(&config, environment));
    findings.extend(folder::look(&config, environment));
    findings.extend(programs::look(&config, environment));
    findings.push(machine::terminal(environment, ui));
    let text = match arguments.output {
        ToolOutputArgument::Json => {
            json_text(&json!({ "version": env!("CARGO_PKG_VERSION"), "checks": findings }))
        }
        ToolOutputArgument::Text => finding::page(&findings, ui),
    };
    print(ui, &text)?;
    let lacks = findings.iter().any(|finding| finding.status == Status::Fail);
    Ok(if lacks { ExitStatus::something_lacks() } else { ExitStatus::answered() })
}
