//! Owns the tools that a configuration makes of commands: parameters as one JSON object on standard input, JSON or text on standard output.
//!
//! An exit code other than 0 is an error, and so is more output than is kept: half of a JSON value must not be taken for a whole one.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::config::{CommandEffect, CustomTool, Environment};
use crate::error::Error;
use crate::process::{self, Command, OUTPUT_LIMIT};
use crate::text;
use crate::tool::{AnyTool, Effect, ToolContext, ToolError, ToolSchema};

/// How many characters of standard error are quoted.
const QUOTED: usize = 2_000;

/// How much longer than the call itself the command may take: whoever calls ends it first, if there is somebody who watches the time.
const BEYOND: Duration = Duration::from_secs(1);

/// A command as a tool.
struct CommandTool {
    schema: ToolSchema,
    /// What the configuration says, with the values of its variables filled in.
    settings: CustomTool,
}

/// Returns the tools that `settings` describe.
///
/// # Errors
/// A variable that is named is not set, or models cannot work with the definition.
pub fn custom(settings: &[CustomTool], environment: &Environment) -> Result<Vec<Box<dyn AnyTool>>, Error> {
    settings.iter().map(|settings| command_tool(settings.clone(), environment)).collect()
}

fn command_tool(mut settings: CustomTool, environment: &Environment) -> Result<Box<dyn AnyTool>, Error> {
    let name = settings.name.clone();
    environment.fill(&mut settings.env, &format!("the custom tool `{name}`"))?;
    let schema = ToolSchema {
        parameters: settings.parameters.clone(),
        ..ToolSchema::new(&name, &settings.description)
    };
    let schema = schema
        .validated()
        .map_err(|e| Error::usage(format!("the custom tool `{name}` cannot be used")).because(&e))?;
    Ok(Box::new(CommandTool { schema, settings }))
}

impl CommandTool {
    /// Returns the process of one call, confined as every command but for the network, if the configuration says so.
    fn process(&self, params: &Value, context: &ToolContext) -> Command {
        let CustomTool { command, env, network, .. } = &self.settings;
        let setting = context.setting().clone().handing(env, *network);
        let timeout = self.timeout().unwrap_or(context.timeout()).saturating_add(BEYOND);
        let command = Command::program(command, context.workspace().root().to_owned(), setting, timeout);
        Command { input: Some(params.to_string().into_bytes()), ..command }
    }

    async fn call(&self, params: Value, context: &ToolContext) -> Result<Value, ToolError> {
        let name = &self.settings.name;
        let params = self.check(params)?;
        let outcome = process::run(self.process(&params, context)).await?;
        if outcome.exit_code != 0 {
            let failed = format!("Tool \"{name}\" failed with exit code {}", outcome.exit_code);
            return Err(ToolError::new(match text::tail(outcome.stderr.trim(), QUOTED) {
                said if said.is_empty() => failed,
                said => format!("{failed}: {said}"),
            }));
        }
        if outcome.stdout_is_cut() {
            let most = text::bytes(OUTPUT_LIMIT as u64);
            return Err(ToolError::new(format!(
                "Tool \"{name}\" wrote more than {most} to its standard output: have it write less, or a file"
            )));
        }
        Ok(output(&outcome.stdout))
    }
}

/// Returns what a command said: JSON where it is JSON, else its text.
fn output(stdout: &str) -> Value {
    if stdout.trim().is_empty() {
        return Value::Null;
    }
    serde_json::from_str(stdout).unwrap_or_else(|_| {
        let text = stdout.strip_suffix('\n').unwrap_or(stdout);
        Value::String(text.strip_suffix('\r').unwrap_or(text).to_owned())
    })
}

impl AnyTool for CommandTool {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        match self.settings.effect {
            CommandEffect::Reads => Effect::Reads,
            CommandEffect::Writes => Effect::Writes,
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.settings.timeout.map(|timeout| Duration::from_millis(timeout.0))
    }

    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(self.call(params, context))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::trial::Trial;

    fn tool(script: &str, more: &Value) -> Result<Box<dyn AnyTool>, Error> {
        let mut settings = json!({"name": "own", "description": "Does.", "command": ["sh", "-c", script],
            "parameters": {"n": {"type": "number", "description": "Which.", "default": 7}}});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let environment = Environment::of("/".into(), [("KEY".into(), "k-1".into())]);
        let settings: CustomTool = serde_json::from_value(settings).unwrap();
        Ok(custom(&[settings], &environment)?.remove(0))
    }

    async fn call(script: &str, params: Value) -> Result<Value, String> {
        let trial = Trial::new();
        tool(script, &json!({}))
            .unwrap()
            .invoke(params, &trial.context)
            .await
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn parameters_go_in_as_json_and_what_is_json_comes_back_as_json() {
        assert_eq!(call("cat", json!({"n": 1.5})).await, Ok(json!({"n": 1.5})));
        assert_eq!(call("cat", json!({})).await, Ok(json!({"n": 7})));
        assert_eq!(call("echo two; echo lines", json!({})).await, Ok(json!("two\nlines")));
        assert_eq!(call("printf ' {\"a\":[1]}\\n\\n'", json!({})).await, Ok(json!({"a": [1]})));
        assert_eq!(call("true", json!({})).await, Ok(json!(null)));
        assert_eq!(
            call("cat", json!({"m": 1})).await,
            Err("Parameter validation failed: m: Unknown parameter (known: n)".to_owned())
        );
    }

    #[tokio::test]
    async fn another_exit_code_is_an_error_with_the_end_of_standard_error() {
        assert_eq!(
            call("echo '{}'; echo broken >&2; exit 3", json!({})).await,
            Err("Tool \"own\" failed with exit code 3: broken".to_owned())
        );
        assert_eq!(call("exit 4", json!({})).await, Err("Tool \"own\" failed with exit code 4".to_owned()));
        let error = call("yes word | head -n 5000 >&2; echo last >&2; exit 1", json!({})).await.unwrap_err();
        assert!(error.chars().count() < 2_100 && error.ends_with("word\nlast"), "{error}");
    }

    #[tokio::test]
    async fn output_that_was_cut_is_not_taken_for_json() {
        let error = call("printf '\"'; yes | head -c 1048575 | tr '\\n' y; printf '\"'", json!({}))
            .await
            .unwrap_err();
        assert_eq!(
            error,
            "Tool \"own\" wrote more than 1.0 MB to its standard output: have it write less, or a file"
        );
    }

    #[tokio::test]
    async fn it_runs_in_the_workspace_with_its_own_variables() {
        let trial = Trial::new();
        trial.file("mark", "");
        let own = json!({"env": {"TOKEN": "Bearer ${KEY}", "MODE": "${MODE:-slow}"}, "effect": "reads", "timeout": "2m"});
        let tool = tool("ls; echo $TOKEN $MODE $GREETING", &own).unwrap();
        assert_eq!(tool.invoke(json!({}), &trial.context).await.unwrap(), "mark\nBearer k-1 slow hello");
        assert_eq!((tool.effect(), tool.timeout()), (Effect::Reads, Some(Duration::from_secs(120))));
    }

    #[test]
    fn what_cannot_work_is_refused_before_the_run() {
        let refusal = |more: Value| tool("true", &more).map(|_| ()).unwrap_err().to_string();
        assert_eq!(
            refusal(json!({"env": {"TOKEN": "${NONE}"}})),
            "cannot fill in `TOKEN` of the custom tool `own`: the variable `NONE` is not set"
        );
        assert_eq!(refusal(json!({"description": " "})), "the custom tool `own` cannot be used");
    }
}
