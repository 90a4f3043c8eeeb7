//! Owns `log_observe`: a step's way to say something to the people who read the run's logs.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::parameter::one_of;
use crate::outcome::LogLevel;
use crate::tool::ParameterType::String as Text;
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolSchema};

const LEVELS: [(&str, LogLevel); 3] =
    [("info", LogLevel::Info), ("warn", LogLevel::Warn), ("error", LogLevel::Error)];

/// The tool `log_observe`.
pub(super) struct LogObserve;

#[derive(Deserialize)]
pub(super) struct Args {
    message: String,
    level: String,
}

#[derive(Serialize)]
pub(super) struct Observed {
    observation: String,
    level: LogLevel,
    timestamp: String,
}

impl Tool for LogObserve {
    const NAME: &'static str = "log_observe";
    type Args = Args;
    type Output = Observed;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Adds a remark, such as a doubt about the quality of some data, to the logs of the run without making it the result of the step. \
             Returns the remark with its level and time.",
        )
        .required("message", Text, "The remark, as one or a few sentences for a person to read.")
        .defaulted("level", Text, "How weighty it is: `info`, `warn` or `error`.", json!("info"))
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Observed, ToolError> {
        let level = one_of("level", &args.level, &LEVELS)?;
        context.log(level, &args.message);
        Ok(Observed { observation: args.message, level, timestamp: context.now().to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Observation;
    use crate::tools::trial::Trial;

    #[tokio::test]
    async fn a_remark_is_logged_and_returned() {
        let trial = Trial::new();
        let returned =
            trial.call("log_observe", json!({"message": "3 rows lack a date", "level": "warn"})).await;
        assert_eq!(
            returned,
            Ok(
                json!({"observation": "3 rows lack a date", "level": "warn", "timestamp": "2023-11-14T22:13:20Z"})
            )
        );
        let logged = Observation::Log { level: LogLevel::Warn, message: "3 rows lack a date".to_owned() };
        assert_eq!(trial.context.take_observations(), [logged]);
    }

    #[tokio::test]
    async fn the_level_is_info_unless_named_and_has_to_exist() {
        let trial = Trial::new();
        let returned = trial.call("log_observe", json!({"message": "m"})).await.unwrap();
        assert_eq!(returned["level"], "info");
        assert_eq!(
            trial.call("log_observe", json!({"message": "m", "level": "warning"})).await,
            Err("`level` must be `info`, `warn` or `error`, not `warning`: did you mean `warn`?".to_owned())
        );
    }
}
