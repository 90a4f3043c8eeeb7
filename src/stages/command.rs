//! Owns the stage `command`: what a program is told of a turn, and what it may change.
//!
//! An answer is held to a closed form: a key that is misspelt would otherwise be a change that never happens. Where nothing reaches a model any
//! more, nothing that models are given can be changed.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Work;
use crate::program::{Answer, Program};
use crate::stage::{StageError, Stash, TurnContext};
use crate::turn::{Memory, Retrievable, Scope, Standing, ToolCall, TurnMessage};

/// Asks a program.
pub(super) struct CommandStage {
    pub(super) program: Program,
    pub(super) scope: Scope,
}

impl Work for CommandStage {
    fn name(&self) -> &str {
        self.program.name()
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let document = json!({"event": self.scope.to_string(), "data": told(context)});
        match self.program.ask(&document).await.map_err(StageError::new)? {
            Answer::Keep => Ok(()),
            Answer::Stop(reason) => {
                context.abort(reason);
                Ok(())
            }
            Answer::Replace(answer) => {
                let changes = Changes::read(answer, self.scope)
                    .map_err(|why| StageError::new(format!("its answer cannot be used: {why}")))?;
                changes.apply(context);
                Ok(())
            }
        }
    }
}

/// Returns what a program is told: every collection, also an empty one.
fn told(context: &TurnContext) -> Value {
    let turn = &context.turn;
    let mut data = json!({
        "id": context.id(),
        "session": context.session(),
        "prompt": context.prompt(),
        "tools": context.tools(),
        "systemPrompt": turn.system_prompt,
        "standingInstructions": turn.standing_instructions,
        "memories": turn.memories,
        "retrievables": turn.retrievables,
        "messages": turn.messages,
        "thoughts": turn.thoughts,
        "toolCalls": turn.tool_calls,
        "trace": turn.trace,
        "stash": context.stash,
        "cycle": context.cycle(),
    });
    if let Some(evaluation) = context.evaluation() {
        data["evaluation"] = json!(evaluation);
    }
    if let Some(ended) = context.ended() {
        data["ended"] = json!({
            "cycles": ended.cycles,
            "tokensUsed": ended.tokens_used,
            "costUsd": ended.cost.usd,
            "durationMs": ended.duration_ms,
        });
    }
    data
}

/// What a program may answer; what is left out stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Changes {
    system_prompt: Option<String>,
    standing_instructions: Option<Vec<Standing>>,
    memories: Option<Vec<Memory>>,
    retrievables: Option<Vec<Retrievable>>,
    messages: Option<Vec<TurnMessage>>,
    tool_calls: Option<Vec<ToolCall>>,
    stash: Option<Stash>,
    abort: Option<String>,
    withhold: Option<String>,
}

impl Changes {
    fn read(answer: Value, scope: Scope) -> Result<Self, String> {
        // A list would be read as the values of the keys in their order.
        if !answer.is_object() {
            return Err("it is no JSON object".to_owned());
        }
        let changes: Self = serde_path_to_error::deserialize(answer).map_err(|error| {
            let (path, why) = (error.path().to_string(), error.inner());
            if path == "." { why.to_string() } else { format!("{why} at `{path}`") }
        })?;
        changes.check(scope)?;
        Ok(changes)
    }

    fn check(&self, scope: Scope) -> Result<(), String> {
        let output = matches!(scope, Scope::TurnOutput | Scope::DispatchOutput);
        let given = [
            ("systemPrompt", self.system_prompt.is_some()),
            ("standingInstructions", self.standing_instructions.is_some()),
            ("memories", self.memories.is_some()),
            ("retrievables", self.retrievables.is_some()),
            ("messages", self.messages.is_some()),
            ("toolCalls", self.tool_calls.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, is_given)| output && *is_given) {
            return Err(format!("`{key}` cannot be changed by a {scope} stage"));
        }
        for (key, reason) in [("abort", &self.abort), ("withhold", &self.withhold)] {
            if reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
                return Err(format!("`{key}` gives no reason"));
            }
        }
        if self.withhold.is_some() && scope != Scope::DispatchOutput {
            return Err(format!("`withhold` is for {} stages", Scope::DispatchOutput));
        }
        let memories = self.memories.iter().flatten();
        let of_memories = memories
            .flat_map(|memory| [("confidence", memory.confidence), ("importance", memory.importance)]);
        let passages = self.retrievables.iter().flatten();
        let scores = passages.filter_map(|passage| Some(("score", passage.score?)));
        match of_memories.chain(scores).find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((key, share)) => Err(format!("`{key}` must be from 0 to 1, found {share}")),
            None => Ok(()),
        }
    }

    fn apply(self, context: &mut TurnContext) {
        let turn = &mut context.turn;
        put(&mut turn.system_prompt, self.system_prompt);
        put(&mut turn.standing_instructions, self.standing_instructions);
        put(&mut turn.memories, self.memories);
        put(&mut turn.retrievables, self.retrievables);
        put(&mut turn.messages, self.messages);
        put(&mut turn.tool_calls, self.tool_calls);
        context.stash.merge(self.stash.unwrap_or_default());
        if let Some(reason) = self.withhold {
            context.withhold(reason);
        }
        if let Some(reason) = self.abort {
            context.abort(reason);
        }
    }
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::check::CommandLine;
    use crate::outcome::{Evaluation, Verdict};
    use crate::process::Setting;
    use crate::program::{Call, Site};
    use crate::script::Outputs;
    use crate::secret::Secrets;
    use crate::stages::fake::{Trial, memory, passage};
    use crate::workspace::Workspace;

    fn asked(script: &str, scope: Scope, folder: &std::path::Path) -> CommandStage {
        let workspace = Arc::new(Workspace::open(folder).unwrap());
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
        let setting = Setting { environment: [path].into(), supervisor: None };
        let site = Site {
            workspace,
            setting: Arc::new(setting),
            temporary: folder.to_owned(),
            secrets: Secrets::default(),
        };
        let line = CommandLine::Shell(script.to_owned());
        let call = Call { line, env: indexmap::IndexMap::new(), network: None, timeout: None };
        let outputs = Outputs::of(Trial::default().context.prompt(), &site.workspace);
        let program = Program::prepare("it", call, &outputs, &Arc::new(site)).unwrap();
        CommandStage { program, scope }
    }

    /// Runs a stage that says `answer`.
    async fn answered(answer: &Value, scope: Scope) -> (Trial, Result<(), String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut trial = Trial::at(scope);
        trial.context.turn.memories.push(memory("kept", 0.5, 0.5, 1));
        trial.context.stash.set("a", 1);
        let ended = trial.run(asked(&format!("cat <<'.'\n{answer}\n."), scope, folder.path())).await;
        (trial, ended)
    }

    #[tokio::test]
    async fn a_program_is_told_everything_that_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut trial = Trial::default();
        trial.context.turn.retrievables.push(passage("p", None));
        trial.context.stash.set("a.b", 1);
        trial.run(asked("cat > told.json", Scope::TurnInput, folder.path())).await.unwrap();
        let told = || -> Value {
            serde_json::from_slice(&std::fs::read(folder.path().join("told.json")).unwrap()).unwrap()
        };
        let data = told();
        assert_eq!(data["event"], "turn-input");
        let mut data = data["data"].clone();
        assert_eq!(data["retrievables"][0].take()["trustTier"], "third-party-private");
        assert_eq!(
            data,
            json!({"id": "now", "session": "s", "tools": ["file_read"], "cycle": 0, "stash": {"a": {"b": 1}},
                "prompt": {"goal": "Go.", "context": {}, "expectedOutput": "There."}, "systemPrompt": "",
                "standingInstructions": [], "memories": [], "retrievables": [null], "messages": [],
                "thoughts": [], "toolCalls": [], "trace": null})
        );
        trial.scope = Scope::DispatchOutput;
        trial.context.begin_cycle(2);
        trial.context.judge(Evaluation::new(Verdict::Fail, 0.5));
        trial.run(asked("cat > told.json", Scope::DispatchOutput, folder.path())).await.unwrap();
        let data = told();
        assert_eq!((&data["event"], &data["data"]["cycle"]), (&json!("dispatch-output"), &json!(2)));
        assert_eq!(data["data"]["evaluation"]["verdict"], "fail");
    }

    #[tokio::test]
    async fn what_is_answered_takes_the_place_of_what_there_is_and_the_rest_stays() {
        let answer = json!({
            "systemPrompt": "Be kind.",
            "standingInstructions": [{"source": "a", "content": "b"}],
            "retrievables": [passage("p", Some(0.5))],
            "stash": {"b": 2},
        });
        let (trial, ended) = answered(&answer, Scope::TurnInput).await;
        ended.unwrap();
        let turn = &trial.context.turn;
        assert_eq!((turn.system_prompt.as_str(), turn.standing_instructions.len()), ("Be kind.", 1));
        assert_eq!((turn.retrievables.len(), turn.memories.len()), (1, 1));
        assert_eq!(json!(trial.context.stash), json!({"a": 1, "b": 2}));
        let (trial, _) = answered(&json!({"memories": []}), Scope::DispatchInput).await;
        assert!(trial.context.turn.memories.is_empty());
    }

    #[tokio::test]
    async fn a_program_refuses_in_two_ways_and_withholds_a_pass_in_one_place() {
        let (trial, ended) = answered(&json!({"abort": "too dear"}), Scope::TurnInput).await;
        assert_eq!((ended, trial.context.aborted()), (Ok(()), Some("too dear")));
        let (trial, ended) = answered(&json!({"withhold": "too short"}), Scope::DispatchOutput).await;
        assert_eq!((ended, trial.context.withheld()), (Ok(()), Some("too short")));
        let folder = tempfile::tempdir().unwrap();
        let mut trial = Trial::default();
        let stops = "echo no >&2; exit 2";
        trial.run(asked(stops, Scope::TurnInput, folder.path())).await.unwrap();
        assert_eq!(trial.context.aborted(), Some("no"));
        let mut trial = Trial::default();
        let fault = trial.run(asked("echo boom >&2; exit 1", Scope::TurnInput, folder.path())).await;
        let words = "turn-input stage `echo boom >&2; exit 1` failed: exit code 1: boom";
        assert_eq!(fault, Err(format!("E_INPUT_PIPELINE_ERROR: {words}")));
    }

    #[tokio::test]
    async fn an_answer_is_held_to_its_form() {
        let mut untrusted = json!(passage("p", None));
        untrusted.as_object_mut().unwrap().shift_remove("trustTier");
        for (answer, scope, words) in [
            (json!({"memoris": []}), Scope::TurnInput, "unknown field `memoris`"),
            (json!([]), Scope::TurnInput, "it is no JSON object"),
            (json!("kept"), Scope::TurnInput, "it is no JSON object"),
            (
                json!({"retrievables": [untrusted]}),
                Scope::TurnInput,
                "missing field `trustTier` at `retrievables[0]`",
            ),
            (json!({"memories": [{"id": "a"}]}), Scope::DispatchInput, "missing field `content`"),
            (
                json!({"memories": [memory("a", 0.5, 1.5, 1)]}),
                Scope::TurnInput,
                "`confidence` must be from 0 to 1, found 1.5",
            ),
            (
                json!({"retrievables": [passage("a", Some(-1.0))]}),
                Scope::TurnInput,
                "`score` must be from 0 to 1, found -1",
            ),
            (
                json!({"messages": []}),
                Scope::TurnOutput,
                "`messages` cannot be changed by a turn-output stage",
            ),
            (
                json!({"systemPrompt": ""}),
                Scope::DispatchOutput,
                "`systemPrompt` cannot be changed by a dispatch-output stage",
            ),
            (json!({"abort": ""}), Scope::TurnInput, "`abort` gives no reason"),
            (json!({"withhold": " \n"}), Scope::DispatchOutput, "`withhold` gives no reason"),
            (json!({"withhold": "x"}), Scope::TurnOutput, "`withhold` is for dispatch-output stages"),
        ] {
            let (trial, ended) = answered(&answer, scope).await;
            let fault = ended.unwrap_err();
            assert!(fault.contains(&format!("failed: its answer cannot be used: {words}")), "{fault}");
            assert_eq!(trial.context.turn.memories.len(), 1, "nothing of it counts");
        }
    }
}
