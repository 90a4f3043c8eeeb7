//! Owns the stage `history`: what was said in earlier runs of the session that passed, as far as there is room.
//!
//! A run is told whole or not at all, and nothing older than one that has no room: a story with holes is worse than a short one.

use std::mem;

use serde::Serialize;
use serde_json::Value;

use super::Work;
use crate::config;
use crate::stage::{StageError, TurnContext};
use crate::text;
use crate::turn::{Selection, ToolCall, TurnMessage};

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
            match room.checked_sub(size(context, &calls)) {
                Some(rest) => room = rest,
                None => calls.clear(),
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
