//! Owns the stage `history`: what was said in earlier runs of the session that passed, as far as there is room.
//!
//! What a run was to do and what it came to is told whole or not at all, and nothing older than one that has no room: a story with holes is
//! worse than a short one. Its tool calls come along where there is room, or are among what was left out.

use std::mem;

use serde::Serialize;
use serde_json::Value;

use super::Work;
use crate::config;
use crate::stage::{StageError, TurnContext};
use crate::text;
use crate::turn::{Selection, Shed, ToolCall, TurnMessage};

/// How many characters of one text of a tool call are told.
const TOLD: usize = 2_000;

/// Tells of earlier runs.
pub(super) struct History(pub(super) config::History);

impl Work for History {
    fn name(&self) -> &'static str {
        "history"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let Some(session) = context.session().map(str::to_owned) else { return Ok(()) };
        let config::History { max_turns, budget_tokens } = self.0;
        let mut room = budget_tokens;
        let mut told: Vec<(Vec<TurnMessage>, Vec<ToolCall>)> = Vec::new();
        let of = Selection { session: Some(session), acknowledged: true, ..Selection::default() };
        for messages in turns(context.fetch::<TurnMessage>(&of).await?).into_iter().take(max_turns) {
            let Some(rest) = room.checked_sub(size(context, &messages)) else { break };
            room = rest;
            let turn = Some(messages[0].turn.clone());
            let of = Selection { turn, acknowledged: true, ..Selection::default() };
            let mut calls = context.fetch::<ToolCall>(&of).await?;
            calls.iter_mut().for_each(shorten);
            let tokens = size(context, &calls);
            if let Some(rest) = room.checked_sub(tokens) {
                room = rest;
            } else {
                let count = calls.len() as u64;
                context.turn.left_out.push(Shed { of: "toolCalls".to_owned(), count, tokens });
                calls.clear();
            }
            told.push((messages, calls));
        }
        // Everything so far has the newest first.
        for (messages, calls) in told.into_iter().rev() {
            context.turn.messages.extend(messages.into_iter().rev());
            context.turn.tool_calls.extend(calls.into_iter().rev());
        }
        Ok(())
    }
}

/// Returns messages by their turn, in the order in which the turns come.
fn turns(messages: Vec<TurnMessage>) -> Vec<Vec<TurnMessage>> {
    let mut turns: Vec<Vec<TurnMessage>> = Vec::new();
    for message in messages {
        match turns.iter_mut().find(|turn| turn[0].turn == message.turn) {
            Some(turn) => turn.push(message),
            None => turns.push(vec![message]),
        }
    }
    turns
}

/// Returns the tokens of records as they are written down; the tags that models see them in cost about as much as the keys.
fn size<T: Serialize>(context: &TurnContext, records: &[T]) -> u64 {
    let text = |record| serde_json::to_string(record).unwrap_or_default();
    records.iter().map(|record| context.tokens(&text(record))).sum()
}

fn shorten(call: &mut ToolCall) {
    cut(&mut call.params);
    cut(&mut call.output);
    call.error = call.error.take().map(|error| text::truncate(&error, TOLD).into_owned());
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) => *text = text::truncate(&mem::take(text), TOLD).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Object(map) => map.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stages::fake::{Trial, call, message};
    use crate::turn::Speaker;

    /// Stores a turn of two messages and one call that begins at `seconds`.
    fn told(trial: &Trial, turn: &str, session: &str, acknowledged: bool, seconds: i64) {
        let put = |id: &str, role, content: &str, at| {
            let message = message(&format!("{turn}-{id}"), turn, role, content, at);
            trial.store.put(turn, session, acknowledged, message);
        };
        put("asked", Speaker::User, "Do it.", seconds);
        let call =
            call(&format!("{turn}-call"), turn, json!({"path": "a"}), json!("x".repeat(3_000)), seconds);
        trial.store.put(turn, session, acknowledged, call);
        put("done", Speaker::Assistant, "It is done.", seconds + 1);
    }

    fn stored() -> Trial {
        let trial = Trial::default();
        for (turn, session, acknowledged) in [
            ("one", "s", true),
            ("two", "s", true),
            ("failed", "s", false),
            ("strange", "other", true),
            ("three", "s", true),
            ("now", "s", false),
        ] {
            told(&trial, turn, session, acknowledged, 10);
        }
        trial
    }

    async fn ids(max_turns: usize, budget_tokens: u64) -> (String, String) {
        let mut trial = stored();
        trial.run(History(config::History { max_turns, budget_tokens })).await.unwrap();
        let messages = trial.context.turn.messages.iter().map(|message| message.id.as_str());
        let calls = trial.context.turn.tool_calls.iter().map(|call| call.id.as_str());
        (messages.collect::<Vec<_>>().join(" "), calls.collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn s16_only_runs_that_passed_are_told_of_oldest_first() {
        let (messages, calls) = ids(5, 100_000).await;
        assert_eq!(messages, "one-asked one-done two-asked two-done three-asked three-done");
        assert_eq!(calls, "one-call two-call three-call");
        let (messages, _) = ids(1, 100_000).await;
        assert_eq!(messages, "three-asked three-done");
    }

    #[tokio::test]
    async fn a_turn_is_told_whole_its_calls_only_where_there_is_room() {
        let trial = stored();
        let messages = trial.store.all::<TurnMessage>();
        let of = |turn: &str| -> u64 {
            let of = messages.iter().filter(|message| message.turn == turn).cloned().collect::<Vec<_>>();
            size(&trial.context, &of)
        };
        let (newest, before) = (of("three"), of("two"));
        let mut calls = trial.store.all::<ToolCall>();
        calls.retain(|call| call.turn == "three");
        calls.iter_mut().for_each(shorten);
        let call = size(&trial.context, &calls);
        assert_eq!(ids(5, newest - 1).await, (String::new(), String::new()));
        assert_eq!(ids(5, newest).await.0, "three-asked three-done");
        assert_eq!(ids(5, newest + before - 1).await.0, "three-asked three-done");
        let (messages, calls) = ids(5, newest + before).await;
        assert_eq!((messages.as_str(), calls.as_str()), ("two-asked two-done three-asked three-done", ""));
        let (messages, calls) = ids(5, newest + call).await;
        assert_eq!((messages.as_str(), calls.as_str()), ("three-asked three-done", "three-call"));
    }

    #[tokio::test]
    async fn long_texts_of_calls_are_cut_with_a_mark() {
        let mut trial = Trial::default();
        let long = json!({"deep": ["y".repeat(2_001)]});
        let mut told = call("c", "t", long, json!("z".repeat(2_000)), 1);
        told.error = Some("w".repeat(5_000));
        trial.store.put("t", "s", true, message("m", "t", Speaker::User, "Do it.", 1));
        trial.store.put("t", "s", true, told);
        trial.run(History(config::History::default())).await.unwrap();
        let call = &trial.context.turn.tool_calls[0];
        let cut = format!("{}…", "y".repeat(1_999));
        assert_eq!((&call.params["deep"][0], &call.output), (&json!(cut), &json!("z".repeat(2_000))));
        assert_eq!(call.error.as_deref().map(|error| error.chars().count()), Some(2_000));
    }

    #[tokio::test]
    async fn without_a_session_there_is_no_history() {
        let mut trial = Trial::without_session();
        told(&trial, "one", "s", true, 1);
        trial.run(History(config::History::default())).await.unwrap();
        assert!(trial.context.turn.is_empty());
    }
}
