//! Owns `scratchpad`: a step's access to the notes that steps, planner and evaluator share for the length of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parameter::one_of;
use crate::tool::ParameterType::String as Text;
use crate::tool::{Effect, ScratchpadError, Tool, ToolContext, ToolError, ToolSchema};

#[derive(Clone, Copy)]
enum Action {
    Read,
    Write,
}

/// The tool `scratchpad`.
pub(super) struct ScratchpadNotes;

#[derive(Deserialize)]
pub(super) struct Args {
    action: String,
    key: String,
    value: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Returned {
    Written { success: bool, key: String },
    Found { found: bool, key: String, value: Value },
    NotFound { found: bool, key: String },
}

impl Tool for ScratchpadNotes {
    const NAME: &'static str = "scratchpad";
    type Args = Args;
    type Output = Returned;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Stores a text under a key, or returns what is stored under it, so that later steps of the same run can use an intermediate result. \
             Writing returns `{success, key}`, reading `{found, key, value}`.",
        )
        .required("action", Text, "`read` or `write`.")
        .required("key", Text, "Name of the entry, such as `api_endpoints`; keys that begin with `_` can be read only.")
        .optional("value", Text, "The text to store; `write` needs it, `read` ignores it.")
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn notes(&self) -> bool {
        true
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Returned, ToolError> {
        let key = args.key;
        match one_of("action", &args.action, &[("read", Action::Read), ("write", Action::Write)])? {
            Action::Read => Ok(match context.read_scratchpad(&key) {
                Some(value) => Returned::Found { found: true, key, value },
                None => Returned::NotFound { found: false, key },
            }),
            Action::Write => {
                let Some(value) = args.value else {
                    return Err(ToolError::new("`action` is `write`, which needs a `value`"));
                };
                context.write_scratchpad(&key, Value::String(value))?;
                Ok(Returned::Written { success: true, key })
            }
        }
    }
}

impl From<ScratchpadError> for ToolError {
    fn from(error: ScratchpadError) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use crate::tool::Observation;
    use crate::tools::trial::Trial;
    use serde_json::json;

    #[tokio::test]
    async fn what_was_written_can_be_read() {
        let trial = Trial::new();
        let write = trial.call("scratchpad", json!({"action": "write", "key": "k", "value": "v"})).await;
        assert_eq!(write, Ok(json!({"success": true, "key": "k"})));
        let read = trial.call("scratchpad", json!({"action": "read", "key": "k"})).await;
        assert_eq!(read, Ok(json!({"found": true, "key": "k", "value": "v"})));
        let absent = trial.call("scratchpad", json!({"action": "read", "key": "other"})).await;
        assert_eq!(absent, Ok(json!({"found": false, "key": "other"})));
        let written = Observation::Scratchpad { key: "k".to_owned(), value: json!("v").into() };
        assert_eq!(trial.context.take_observations(), [written]);
    }

    #[tokio::test]
    async fn a_write_needs_a_value_and_a_key_of_its_own() {
        let trial = Trial::new();
        let errors = [
            (json!({"action": "write", "key": "k"}), "`action` is `write`, which needs a `value`"),
            (
                json!({"action": "write", "key": "_execution_summary", "value": "v"}),
                "the scratchpad key `_execution_summary` is reserved: keys that begin with `_` can be read only",
            ),
            (
                json!({"action": "Write", "key": "k", "value": "v"}),
                "`action` must be `read` or `write`, not `Write`: did you mean `write`?",
            ),
        ];
        for (params, error) in errors {
            assert_eq!(trial.call("scratchpad", params).await, Err(error.to_owned()));
        }
        assert_eq!(trial.context.take_observations(), []);
    }
}
