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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Refusal;
    use crate::stages::fake::{Trial, at, call, memory, message, passage};
    use crate::turn::{self, Speaker, Thought};

    fn full() -> Trial {
        let mut trial = Trial::default();
        let text = "x".repeat(400);
        trial.context.turn = Assembled {
            system_prompt: "Be kind.".to_owned(),
            standing_instructions: vec![turn::Standing { source: "a".to_owned(), content: text.clone() }],
            memories: vec![
                memory("dear", 0.9, 0.1, 1),
                memory("young", 0.2, 1.0, 5),
                memory("old", 0.2, 1.0, 3),
            ],
            retrievables: vec![
                passage("good", Some(0.9)),
                passage("none", None),
                passage("zero", Some(0.0)),
                passage("fair", Some(0.5)),
            ],
            messages: vec![
                message("m1", "t", Speaker::User, &text, 1),
                message("m3", "t", Speaker::User, "newest", 3),
                message("m2", "t", Speaker::Assistant, &text, 2),
            ],
            thoughts: vec![Thought { id: "h".into(), turn: "t".into(), content: text, created_at: at(1) }],
            tool_calls: vec![
                call("c1", "t", json!({}), json!("y".repeat(200)), 1),
                call("c2", "t", json!({}), json!("y".repeat(200)), 2),
            ],
            trace: None,
            left_out: Vec::new(),
        };
        trial
    }

    fn left(trial: &Trial) -> String {
        let turn = &trial.context.turn;
        let mut ids: Vec<&str> = Vec::new();
        ids.extend(turn.tool_calls.iter().map(|call| call.id.as_str()));
        ids.extend(turn.retrievables.iter().map(|passage| passage.id.as_str()));
        ids.extend(turn.memories.iter().map(|memory| memory.id.as_str()));
        ids.extend(turn.messages.iter().map(|message| message.id.as_str()));
        ids.join(" ")
    }

    async fn fitted(limit: u64) -> Trial {
        let mut trial = full();
        let settings = config::Budget { context_window: limit + 7, reserve: 7, on_overflow: Refusal::Abort };
        trial.run(Budget(settings)).await.unwrap();
        trial
    }

    fn trace(trial: &Trial) -> Trace {
        trial.context.turn.trace.clone().unwrap()
    }

    #[tokio::test]
    async fn what_fits_stays_whole_and_is_counted() {
        let trial = fitted(100_000).await;
        let Trace { limit, before, after, shed } = trace(&trial);
        assert_eq!((limit, before, shed), (100_000, after, Vec::new()));
        let trial = fitted(before).await;
        assert_eq!(left(&trial), "c1 c2 good none zero fair dear young old m1 m3 m2");
        assert_eq!(trial.context.aborted(), None);
    }

    #[tokio::test]
    async fn s14_things_go_in_order_and_the_newest_message_never() {
        let whole = "c1 c2 good none zero fair dear young old m1 m3 m2";
        let mut goes: Vec<String> = Vec::new();
        let mut before = whole.to_owned();
        let mut limit = trace(&fitted(100_000).await).before;
        // One token less than what is left makes exactly one more thing go.
        loop {
            let trial = fitted(limit - 1).await;
            if trial.context.aborted().is_some() {
                break;
            }
            let left = left(&trial);
            let gone = before.split(' ').find(|id| !left.split(' ').any(|other| other == *id)).unwrap();
            goes.push(gone.to_owned());
            (before, limit) = (left, trace(&trial).after);
        }
        assert_eq!(goes.join(" "), "c1 c2 zero none fair good old young dear m1 m2");
        assert_eq!(before, "m3");
    }

    #[tokio::test]
    async fn the_trace_says_what_went_kind_by_kind() {
        let all = trace(&fitted(100_000).await).before;
        let one = trace(&fitted(all - 1).await);
        assert_eq!((one.shed.len(), one.shed[0].of.as_str(), one.shed[0].count), (1, "toolCalls", 1));
        assert_eq!(one.before - one.after, one.shed[0].tokens);
        let everything = trace(&fitted(1).await);
        let kinds: Vec<_> = everything.shed.iter().map(|shed| (shed.of.as_str(), shed.count)).collect();
        assert_eq!(kinds, [("toolCalls", 2), ("retrievables", 4), ("memories", 3), ("messages", 2)]);
        assert_eq!(all - everything.after, everything.shed.iter().map(|shed| shed.tokens).sum::<u64>());
    }

    #[tokio::test]
    async fn what_cannot_fit_is_refused_or_an_error() {
        let trial = fitted(200).await;
        let reason = trial.context.aborted().unwrap();
        let words = format!(
            "what models would be given has about {} tokens without all that may be left out, and there is room for 200",
            trace(&trial).after
        );
        assert_eq!(reason, words);
        let mut trial = full();
        let settings = config::Budget { context_window: 200, reserve: 0, on_overflow: Refusal::Error };
        let fault = trial.run(Budget(settings)).await.unwrap_err();
        assert!(fault.ends_with(&format!("stage `budget` failed: {words}")), "{fault}");
        assert_eq!(left(&trial), "m3");
        // The task alone counts as well.
        let mut trial = Trial::of(json!({"goal": "g".repeat(2_000), "expectedOutput": "e"}));
        let settings = config::Budget { context_window: 500, reserve: 0, on_overflow: Refusal::Abort };
        trial.run(Budget(settings)).await.unwrap();
        assert!(trial.context.aborted().is_some());
    }
}
