//! Owns what the doctor says of the machine: versions, what commands are confined to, the terminal.

use super::finding::Finding;
use crate::cli::ui::Ui;
use crate::config::{Config, Environment, SandboxMode};
use crate::sandbox::{Confinement, Enforcement};
use crate::session::Ground;

/// Says what runs on what.
pub(super) fn system() -> Vec<Finding> {
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    vec![
        Finding::ok("tepa", env!("CARGO_PKG_VERSION")),
        Finding::ok("system", format!("{system}{} on {architecture}", kernel())),
    ]
}

#[cfg(unix)]
fn kernel() -> String {
    let name = rustix::system::uname();
    format!(", kernel {}", name.release().to_string_lossy())
}

#[cfg(not(unix))]
fn kernel() -> String {
    String::new()
}

/// Tries out what the commands of a run would be confined to.
pub(super) fn sandbox(config: &Config, environment: &Environment) -> Finding {
    let ground = match Ground::of(config, environment) {
        Ok(ground) => ground,
        Err(error) => return Finding::broken("sandbox", &error),
    };
    let Confinement { mode, enforcement, landlock, seccomp, network, gaps } = &ground.confinement;
    if config.sandbox.mode == SandboxMode::Off {
        return Finding::warn("sandbox", "off: commands are not confined")
            .hint("`sandbox.mode: workspace-write` confines them to the folder");
    }
    let landlock = if *landlock > 0 { format!("Landlock {landlock}") } else { "no Landlock".to_owned() };
    let seccomp = if *seccomp { "seccomp" } else { "no seccomp" };
    let network = if *network { "network on" } else { "network off" };
    let detail = format!("{mode}: {landlock}, {seccomp}, {network}");
    if gaps.is_empty() {
        return Finding::ok("sandbox", detail);
    }
    let detail = format!("{detail}; a command could {}", gaps.join(", "));
    let finding = Finding::warn("sandbox", detail);
    match enforcement {
        Enforcement::None => finding.hint("Linux 5.13 or newer with Landlock enabled confines commands; `sandbox.required: true` refuses to run without"),
        Enforcement::Partial => finding.hint("a newer kernel closes what is open"),
        Enforcement::Full => finding,
    }
}

/// Says how a run would be shown.
pub(super) fn terminal(environment: &Environment, ui: &Ui) -> Finding {
    let why = match () {
        () if ui.live => None,
        () if !environment.stderr_is_terminal => Some("standard error is no terminal"),
        () if environment.variable("CI").is_some() => Some("`CI` is set"),
        () => Some("`TERM` is dumb"),
    };
    let view = why.map_or_else(|| "live".to_owned(), |why| format!("plain lines, because {why}"));
    let color = if ui.color { "colour" } else { "no colour" };
    let columns =
        if environment.stderr_is_terminal { format!("{} columns, ", Ui::width()) } else { String::new() };
    let letters = if ui.ascii { "ASCII by `LC_ALL`, `LC_CTYPE` or `LANG`" } else { "UTF-8" };
    let detail = format!("{columns}{color}, {letters}, {view}");
    if environment.stderr_is_terminal && ui.ascii {
        return Finding::warn("terminal", detail).hint(
            "only ASCII is shown: set `LANG` to something like C.UTF-8, where the terminal can do more",
        );
    }
    Finding::ok("terminal", detail)
}
