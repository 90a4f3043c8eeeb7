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
            trust_tier: context.turn.least_trusted(),
            created_at: now,
            updated_at: now,
        };
        context.store(memory).await?;
        Ok(())
    }
}
