//! Owns what commands are confined to: the configuration's sandbox as a policy, tried out before a token is spent.

use std::ffi::OsString;
use std::path::Path;

use tempfile::TempDir;

use crate::config::{Config, Environment, SandboxMode};
use crate::error::Error;
use crate::process::{Setting, Supervisor};
use crate::sandbox::{self, Confinement, Enforcement, Policy, Restriction};
use crate::workspace::Workspace;

/// How commands are started, and what there is to say about it.
pub(super) struct Confined {
    pub(super) setting: Setting,
    pub(super) confinement: Confinement,
    /// The folder for the temporary files of commands; it goes when the run does.
    pub(super) temporary: Option<TempDir>,
}

/// Returns how the commands of a run in `workspace` are started.
pub(super) fn confine(
    config: &Config,
    environment: &Environment,
    workspace: &Workspace,
) -> Result<Confined, Error> {
    let asked = &config.sandbox;
    let mut variables = environment.for_children(&asked.environment);
    // Git would otherwise write to its index to answer a question.
    variables.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
    if asked.mode == SandboxMode::Off {
        let supervisor = environment.launcher.clone().map(|program| Supervisor::new(program, None));
        let setting = Setting { environment: variables, supervisor };
        return Ok(Confined { setting, confinement: Confinement::off(), temporary: None });
    }
    let temporary = temporary(environment)?;
    for name in ["TMPDIR", "TEMP", "TMP"] {
        variables.insert(name.into(), OsString::from(temporary.path()));
    }
    let mut policy = policy(config, environment, workspace, temporary.path());
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
    let supervisor = environment.launcher.clone().map(|program| Supervisor::new(program, Some(policy)));
    let setting = Setting { environment: variables, supervisor };
    Ok(Confined { setting, confinement, temporary: Some(temporary) })
}

fn policy(config: &Config, environment: &Environment, workspace: &Workspace, temporary: &Path) -> Policy {
    let asked = &config.sandbox;
    let hidden = asked.hidden.iter().map(|path| environment.expand(path)).collect();
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
