//! Owns the stage `budget`: it makes what models are given fit, in an order that is always the same, or refuses the run.
//!
//! Nothing goes silently: what went and how much that was is written into the trace.

use std::cmp::Ordering;
use std::mem;

use serde::Serialize;

use super::{Work, refuse, task};
use crate::config;
use crate::stage::{StageError, TurnContext};
use crate::text;
use crate::turn::{Assembled, Shed, Trace};

/// Makes room.
pub(super) struct Budget(pub(super) config::Budget);

impl Work for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let config::Budget { context_window, reserve, on_overflow } = self.0;
        let mut turn = mem::take(&mut context.turn);
        let trace = fit(context, &mut turn, context_window.saturating_sub(reserve));
        let (after, limit) = (trace.after, trace.limit);
        turn.trace = Some(trace);
        context.turn = turn;
        if after <= limit {
            return Ok(());
        }
        let (after, limit) = (text::grouped(after), text::grouped(limit));
        let reason = format!(
            "what models would be given has about {after} tokens without all that may be left out, and there is room for {limit}"
        );
        refuse(context, on_overflow, reason)
    }
}

/// Takes out of `turn` what has to go.
fn fit(context: &TurnContext, turn: &mut Assembled, limit: u64) -> Trace {
    let mut scale = Scale { context, limit, now: 0, shed: Vec::new() };
    scale.now = context.tokens(&task(context))
        + context.tokens(&turn.system_prompt)
        + scale.all(&turn.standing_instructions)
        + scale.all(&turn.memories)
        + scale.all(&turn.retrievables)
        + scale.all(&turn.messages)
        + scale.all(&turn.thoughts)
        + scale.all(&turn.tool_calls);
    let before = scale.now;
    scale.shed("toolCalls", &mut turn.tool_calls, 0, |one, other| one.1.created_at.cmp(&other.1.created_at));
    scale.shed("retrievables", &mut turn.retrievables, 0, |(at, one), (other_at, other)| {
        let score = one.score.unwrap_or(0.0).total_cmp(&other.score.unwrap_or(0.0));
        score.then(other_at.cmp(&at))
    });
    scale.shed("memories", &mut turn.memories, 0, |(_, one), (_, other)| {
        one.importance.total_cmp(&other.importance).then(one.created_at.cmp(&other.created_at))
    });
    scale.shed("messages", &mut turn.messages, 1, |(_, one), (_, other)| {
        one.created_at.cmp(&other.created_at)
    });
    Trace { limit, before, after: scale.now, shed: scale.shed }
}

struct Scale<'c> {
    context: &'c TurnContext,
    limit: u64,
    now: u64,
    shed: Vec<Shed>,
}

impl Scale<'_> {
    /// Returns the tokens of a record as it is written down; the tags that models see it in cost about as much as the keys.
    fn one(&self, record: &impl Serialize) -> u64 {
        self.context.tokens(&serde_json::to_string(record).unwrap_or_default())
    }

    fn all(&self, records: &[impl Serialize]) -> u64 {
        records.iter().map(|record| self.one(record)).sum()
    }

    /// Takes records out of a list until everything fits or only `keep` are left; `order` says which goes first, told its place in the list.
    fn shed<T: Serialize>(
        &mut self,
        of: &str,
        list: &mut Vec<T>,
        keep: usize,
        order: impl Fn((usize, &T), (usize, &T)) -> Ordering,
    ) {
        let mut queue: Vec<usize> = (0..list.len()).collect();
        queue.sort_by(|one, other| order((*one, &list[*one]), (*other, &list[*other])));
        queue.truncate(list.len().saturating_sub(keep));
        let mut shed = Shed { of: of.to_owned(), count: 0, tokens: 0 };
        let mut goes = vec![false; list.len()];
        for at in queue {
            if self.now <= self.limit {
                break;
            }
            let tokens = self.one(&list[at]);
            goes[at] = true;
            self.now -= tokens;
            shed.count += 1;
            shed.tokens += tokens;
        }
        if shed.count > 0 {
            let mut goes = goes.into_iter();
            list.retain(|_| goes.next() != Some(true));
            self.shed.push(shed);
        }
    }
}
