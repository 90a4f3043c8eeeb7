//! Owns the ground that tools stand on: the folders that file tools may touch, and what commands are confined to, tried out before a token
//! is spent.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::bounds;
use crate::config::{Config, Environment, SandboxMode};
use crate::error::Error;
use crate::process::{Leaving, Setting, Supervisor};
use crate::sandbox::{self, Confinement, Enforcement, Policy, Restriction};
use crate::workspace::Workspace;

/// Where tools work, and how they start commands.
#[derive(Debug)]
pub struct Ground {
    /// What may be read and written.
    pub workspace: Arc<Workspace>,
    /// How commands are started.
    pub setting: Arc<Setting>,
    /// What they are confined to.
    pub confinement: Confinement,
    /// For the temporary files of commands; it goes when this does.
    temporary: Option<TempDir>,
    leaving: Leaving,
}

impl Ground {
    /// Finds out what the configuration's sandbox comes to here.
    ///
    /// # Errors
    /// A folder that is not there, or a sandbox that is required and cannot be had.
    pub fn of(config: &Config, environment: &Environment) -> Result<Self, Error> {
        let workspace = bounds::workspace(config, environment)?;
        let temporary = match config.sandbox.mode {
            SandboxMode::Off => None,
            SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => Some(temporary(environment)?),
        };
        let (setting, confinement) = match &temporary {
            None => (unconfined(config, environment), Confinement::off()),
            Some(temporary) => confine(config, environment, &workspace, temporary.path())?,
        };
        Ok(Self {
            workspace: Arc::new(workspace),
            setting: Arc::new(setting),
            confinement,
            temporary,
            leaving: environment.leaving().clone(),
        })
    }

    /// Waits until no command is left, and removes their temporary files.
    pub async fn leave(self) {
        self.leaving.all_gone().await;
        // What cannot be removed is not worth a verdict.
        drop(self.temporary);
    }
}

/// Returns how processes are started that a person configured and trusts, such as servers: as any command, but not confined.
pub(super) fn unconfined(config: &Config, environment: &Environment) -> Setting {
    let mut variables = environment.for_children(&config.sandbox.environment);
    // Git would otherwise write to its index to answer a question.
    variables.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
    let supervisor = environment
        .launcher
        .clone()
        .map(|program| Supervisor::new(program, None, environment.leaving().clone()));
    Setting { environment: variables, supervisor }
}

fn confine(
    config: &Config,
    environment: &Environment,
    workspace: &Workspace,
    temporary: &Path,
) -> Result<(Setting, Confinement), Error> {
    let asked = &config.sandbox;
    let mut setting = unconfined(config, environment);
    for name in ["TMPDIR", "TEMP", "TMP"] {
        setting.environment.insert(name.into(), temporary.into());
    }
    let mut policy = policy(config, environment, workspace, temporary);
    let restriction = match environment.launcher {
        Some(_) => sandbox::probe(&policy).map_err(|e| {
            Error::broken("the sandbox cannot be entered")
                .because(&e)
                .hint("`sandbox.mode: off` runs commands without it")
        })?,
        None => Restriction::default(),
    };
    let mut confinement = Confinement::of(asked.mode.name(), restriction, asked.network);
    if confinement.enforcement != Enforcement::None {
        // Rules can only add: where everything may be written, nothing can be kept from being read.
        let open = workspace.hidden_in_writable_roots();
        confinement.gaps.extend(open.map(|path| format!("read `{}`", path.display())));
    }
    if asked.required && confinement.enforcement == Enforcement::None {
        let open = confinement.gaps.join(", ");
        return Err(Error::broken(format!(
            "this system cannot confine commands as `sandbox.required` demands: they could {open}"
        ))
        .hint("Linux 5.13 or newer with Landlock enabled can; or leave `shell_execute` and custom tools out and `sandbox.required` off"));
    }
    // A command that finds the kernel to confine less than now does not start.
    policy.landlock = restriction.landlock;
    if let Some(supervisor) = &mut setting.supervisor {
        supervisor.policy = Some(policy);
    }
    Ok((setting, confinement))
}

fn policy(config: &Config, environment: &Environment, workspace: &Workspace, temporary: &Path) -> Policy {
    let asked = &config.sandbox;
    let hidden = bounds::hidden(config, environment);
    let writable = workspace.writable_roots().chain([temporary]).map(Path::to_owned).collect();
    Policy { writable, hidden, network: asked.network, landlock: sandbox::LANDLOCK }
}

fn temporary(environment: &Environment) -> Result<TempDir, Error> {
    let parent = environment.temporary();
    tempfile::Builder::new().prefix("tepa-").tempdir_in(&parent).map_err(|e| {
        Error::broken(format!("cannot make a folder for temporary files in `{}`", parent.display()))
            .because(&e)
    })
}
