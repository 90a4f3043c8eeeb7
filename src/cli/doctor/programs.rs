//! Owns what the doctor says of programs that a run would start: the shell, and those that the configuration names. None is started.

use super::finding::Finding;
use crate::check::CommandLine;
use crate::cli::inspect::commands;
use crate::config::{Config, Environment, McpServer, Stage, without_secrets};

/// Looks whether the programs are there.
pub(super) fn look(config: &Config, environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![shell(environment)];
    let stages = [&config.turn.input, &config.turn.output, &config.cycle.input, &config.cycle.output];
    let stages = stages.into_iter().flatten().filter_map(|stage| match stage {
        Stage::Command(stage) => Some(("stage", &stage.run)),
        _ => None,
    });
    let hooks = config.events.all().map(|hook| ("hook", &hook.command));
    for (check, line) in hooks.chain(stages) {
        findings.extend(command(check, line, environment));
    }
    for tool in &config.custom_tools {
        findings.push(program("tool", &tool.name, tool.command.first().cloned(), environment));
    }
    for (name, server) in &config.mcp_servers {
        findings.push(mcp(name, server, environment));
    }
    findings
}

fn shell(environment: &Environment) -> Finding {
    let name = if cfg!(windows) { "cmd.exe" } else { "sh" };
    match environment.find_program(name) {
        Some(place) => Finding::ok("shell", place.display().to_string()),
        None => Finding::warn("shell", format!("`{name}` is not on the path"))
            .hint("`shell_execute` and checks that are a line of shell need it"),
    }
}

/// Looks for the program of a command and for the script that it runs. What a line of shell means only the shell knows for sure: what is
/// not found of it is a warning.
fn command(check: &'static str, line: &CommandLine, environment: &Environment) -> Vec<Finding> {
    let started = commands::program(line);
    let script = commands::script(line).filter(|script| Some(*script) != started);
    let found = started.map(|name| program(check, "", Some(name.to_owned()), environment));
    let sure = matches!(line, CommandLine::Words(_));
    let found = found.map(|finding| if sure { finding } else { finding.only_a_warning() });
    let mut findings: Vec<Finding> = found.into_iter().collect();
    findings.extend(script.map(|script| {
        match environment.locate(script) {
            path if path.is_file() => Finding::ok(check, format!("`{script}` is there")),
            _ => Finding::fail(check, format!("`{script}` is not found"))
                .hint("it is looked for from the folder that a run works in"),
        }
    }));
    findings
}

fn program(check: &'static str, name: &str, program: Option<String>, environment: &Environment) -> Finding {
    let program = program.unwrap_or_default();
    let named = if name.is_empty() { String::new() } else { format!("{name}: ") };
    match environment.find_program(&program) {
        Some(place) => Finding::ok(check, format!("{named}`{program}` is {}", place.display())),
        None => Finding::fail(check, format!("{named}`{program}` is not found"))
            .hint("install it, or mend its name in the configuration"),
    }
}

fn mcp(name: &str, server: &McpServer, environment: &Environment) -> Finding {
    if server.disabled {
        return Finding::ok("server", format!("{name}: disabled"));
    }
    match (&server.command, &server.url) {
        (Some(command), _) => {
            let finding = program("server", name, Some(command.clone()), environment);
            // A server that is not required is left out of a run with a warning.
            if server.required { finding } else { finding.only_a_warning() }
        }
        (None, Some(url)) => Finding::ok("server", format!("{name}: {}, not asked", without_secrets(url))),
        (None, None) => Finding::fail("server", format!("{name}: neither a command nor an address")),
    }
}
