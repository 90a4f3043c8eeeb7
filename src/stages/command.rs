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
