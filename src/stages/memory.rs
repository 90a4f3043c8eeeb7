//! Owns the two stages `memory`: what earlier runs of the session left, and what this one leaves.
//!
//! A memory is as little trusted as the least of what the run that wrote it was given.

use std::cmp::Reverse;

use super::{Redaction, Work};
use crate::stage::{StageError, TurnContext};
use crate::turn::{Memory, Selection};

/// Loads memories.
pub(super) struct Loading {
    pub(super) min_confidence: f64,
    pub(super) limit: usize,
}

impl Work for Loading {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let Some(session) = context.session().map(str::to_owned) else { return Ok(()) };
        let of = Selection { session: Some(session), acknowledged: true, ..Selection::default() };
        let mut memories = context.fetch::<Memory>(&of).await?;
        let known = &mut context.turn.memories;
        memories.retain(|memory| {
            memory.confidence >= self.min_confidence && known.iter().all(|known| known.id != memory.id)
        });
        memories.sort_by_key(|memory| Reverse(memory.created_at));
        let weight = |memory: &Memory| memory.importance * memory.confidence;
        memories.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        memories.truncate(self.limit);
        known.extend(memories);
        Ok(())
    }
}

/// Leaves the summary of the judge.
pub(super) struct Leaving {
    pub(super) confidence: f64,
    pub(super) importance: f64,
    /// What must not stay in the store.
    pub(super) redaction: Redaction,
}

impl Work for Leaving {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let summary = context.evaluation().and_then(|evaluation| evaluation.summary.as_deref());
        let Some(summary) = summary.map(str::trim).filter(|summary| !summary.is_empty()) else {
            return Ok(());
        };
        if context.session().is_none() {
            return Ok(());
        }
        let now = context.now();
        let memory = Memory {
            id: uuid::Uuid::now_v7().to_string(),
            content: self.redaction.text(summary),
            confidence: self.confidence,
            importance: self.importance,
            source: Some(format!("run:{}", context.id())),
            trust_tier: context.least_trusted(),
            created_at: now,
            updated_at: now,
        };
        context.store(memory).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Pattern;
    use crate::outcome::{Evaluation, Verdict};
    use crate::stages::fake::{Trial, at, memory, passage};
    use crate::turn::{Scope, TrustTier};

    fn ids(trial: &Trial) -> String {
        trial.context.turn.memories.iter().map(|memory| memory.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[tokio::test]
    async fn what_matters_and_is_sure_comes_first_and_the_newest_of_equals() {
        let mut trial = Trial::default();
        for (id, importance, confidence, seconds) in [
            ("old", 0.5, 0.8, 1),
            ("new", 0.8, 0.5, 2),
            ("best", 0.9, 0.9, 1),
            ("unsure", 1.0, 0.3, 9),
            ("small", 0.1, 0.4, 9),
        ] {
            trial.store.put("t", "s", true, memory(id, importance, confidence, seconds));
        }
        trial.store.put("t", "other", true, memory("strange", 1.0, 1.0, 9));
        trial.store.put("failed", "s", false, memory("failed", 1.0, 1.0, 9));
        trial.run(Loading { min_confidence: 0.4, limit: 3 }).await.unwrap();
        assert_eq!(ids(&trial), "best new old");
        trial.run(Loading { min_confidence: 0.0, limit: 20 }).await.unwrap();
        assert_eq!(ids(&trial), "best new old unsure small", "what is there already is not told twice");
    }

    #[tokio::test]
    async fn without_a_session_there_is_nothing_to_load_or_to_leave() {
        let mut trial = Trial::without_session();
        trial.store.put("t", "s", true, memory("m", 1.0, 1.0, 1));
        trial.run(Loading { min_confidence: 0.0, limit: 20 }).await.unwrap();
        assert_eq!(ids(&trial), "");
        leave(&mut trial, Some("Done.")).await;
        assert_eq!(trial.store.all::<Memory>().len(), 1);
    }

    async fn leave(trial: &mut Trial, summary: Option<&str>) {
        let summary = summary.map(str::to_owned);
        trial.context.judge(Evaluation { summary, ..Evaluation::new(Verdict::Pass, 1.0) });
        trial.scope = Scope::TurnOutput;
        let redaction = Redaction(vec![Pattern::try_from("sk-[a-z]+".to_owned()).unwrap()]);
        trial.run(Leaving { confidence: 0.7, importance: 0.2, redaction }).await.unwrap();
    }

    #[tokio::test]
    async fn the_summary_is_left_with_the_least_trust_of_what_there_was_and_without_what_must_go() {
        let mut trial = Trial::default();
        trial.context.turn.retrievables.push(passage("a", None));
        for summary in [None, Some(" \n")] {
            leave(&mut trial, summary).await;
            assert_eq!(trial.store.all::<Memory>(), []);
        }
        leave(&mut trial, Some(" Found sk-abc.\n")).await;
        let left = trial.store.all::<Memory>().remove(0);
        assert_eq!((left.content.as_str(), left.source.as_deref()), ("Found ***.", Some("run:now")));
        assert_eq!((left.confidence, left.importance), (0.7, 0.2));
        assert_eq!((left.trust_tier, left.created_at), (TrustTier::ThirdPartyPrivate, at(1_000)));
        assert!(trial.context.turn.memories.is_empty(), "storing touches no collection");
    }
}
