//! Owns `shell_execute`: one command line in the workspace.
//!
//! An exit code other than 0 is a result and not an error: what it means is for the model to say.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Number, json};

use super::parameter::whole;
use crate::process::{self, Command, ProcessError};
use crate::tool::ParameterType::{Number as Numeric, String as Text};
use crate::tool::{Tool, ToolContext, ToolError, ToolSchema};

/// The tool `shell_execute`.
pub(super) struct ShellExecute;

#[derive(Deserialize)]
pub(super) struct Args {
    command: String,
    cwd: Option<String>,
    timeout: Number,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Executed {
    stdout: String,
    stderr: String,
    exit_code: i32,
}

impl Tool for ShellExecute {
    const NAME: &'static str = "shell_execute";
    type Args = Args;
    type Output = Executed;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Runs a command line in the system's shell (`sh -c`, on Windows `cmd /C`) with an empty standard input and returns \
             `{stdout, stderr, exitCode}`, each stream cut at 1 MB. Processes that it leaves in the background are killed when it ends.",
        )
        .required("command", Text, "The command line, such as `npm test -- --reporter=dot`; nothing in it may ask for input.")
        .optional("cwd", Text, "Folder to run in, relative to the workspace or absolute inside it; the workspace itself if left out.")
        .defaulted(
            "timeout",
            Numeric,
            "Milliseconds after which the command is killed and the call fails.",
            json!(30_000),
        )
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Executed, ToolError> {
        let timeout = Duration::from_millis(whole("timeout", &args.timeout, 1)?);
        let folder = context.workspace().folder(args.cwd.as_deref().unwrap_or("."))?;
        let outcome = process::run(Command::shell(&args.command, folder, context.setting(), timeout)).await?;
        Ok(Executed { stdout: outcome.stdout, stderr: outcome.stderr, exit_code: outcome.exit_code })
    }
}

impl From<ProcessError> for ToolError {
    fn from(error: ProcessError) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trial::Trial;

    #[tokio::test]
    async fn a_command_that_fails_is_a_result() {
        let trial = Trial::new();
        let returned =
            trial.call("shell_execute", json!({"command": "echo out; echo err >&2; exit 3"})).await;
        assert_eq!(returned, Ok(json!({"stdout": "out\n", "stderr": "err\n", "exitCode": 3})));
    }

    #[tokio::test]
    async fn the_environment_is_the_one_of_the_run() {
        let trial = Trial::new();
        let returned = trial.call("shell_execute", json!({"command": "env"})).await.unwrap();
        let variables =
            returned["stdout"].as_str().unwrap().lines().map(|line| line.split_once('=').unwrap().0);
        // Some shells set variables of their own.
        let own = ["PWD", "OLDPWD", "SHLVL", "_"];
        let mut inherited: Vec<_> = variables.filter(|name| !own.contains(name)).collect();
        inherited.sort_unstable();
        assert_eq!(inherited, ["GREETING", "PATH"]);
    }

    #[tokio::test]
    async fn it_runs_in_a_folder_of_the_workspace() {
        let trial = Trial::new();
        trial.file("sub/mark", "");
        let returned = trial.call("shell_execute", json!({"command": "ls", "cwd": "sub"})).await.unwrap();
        assert_eq!(returned["stdout"], "mark\n");
        let returned = trial.call("shell_execute", json!({"command": "ls"})).await.unwrap();
        assert_eq!(returned["stdout"], "sub\n");
        for (cwd, error) in [
            ("..", "`..` is outside the workspace"),
            ("/", "`/` is outside the workspace"),
            ("absent", "`absent` does not exist"),
            ("sub/mark", "cannot open `sub/mark`: not a directory"),
        ] {
            let returned = trial.call("shell_execute", json!({"command": "ls", "cwd": cwd})).await;
            assert_eq!(returned, Err(error.to_owned()));
        }
    }

    #[tokio::test]
    async fn the_time_that_it_may_take_is_a_whole_number_of_milliseconds() {
        let trial = Trial::new();
        let returned = trial.call("shell_execute", json!({"command": "sleep 300", "timeout": 50})).await;
        assert_eq!(returned, Err("Command timed out after 50 ms".to_owned()));
        for timeout in [json!(0), json!(-1), json!(1.5)] {
            let returned = trial.call("shell_execute", json!({"command": "true", "timeout": timeout})).await;
            let error = format!("`timeout` must be a whole number of at least 1, not `{timeout}`");
            assert_eq!(returned, Err(error));
        }
    }
}
