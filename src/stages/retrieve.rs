//! Owns the stage `retrieve`: passages that are found by the goal, each once.

use std::sync::Arc;

use super::Work;
use crate::stage::{Query, Retriever, StageError, TurnContext};
use crate::turn::Retrievable;

/// Finds passages.
pub(super) struct Retrieve {
    pub(super) retriever: Arc<dyn Retriever>,
    /// Where it looks, for messages.
    pub(super) files: String,
    pub(super) top_k: usize,
    pub(super) min_score: f64,
}

impl Work for Retrieve {
    fn name(&self) -> &'static str {
        "retrieve"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let query = Query { text: &context.prompt().goal, top_k: self.top_k, min_score: self.min_score };
        let found = self.retriever.retrieve(query).await?;
        if found.is_empty() {
            context.warn(format!("nothing that matches the goal was found in {}", self.files));
        }
        for passage in found {
            keep_better(&mut context.turn.retrievables, passage);
        }
        Ok(())
    }
}

/// Adds a passage; of two with one id the one that matches better stays, trusted no further than the other.
fn keep_better(passages: &mut Vec<Retrievable>, passage: Retrievable) {
    let Some(known) = passages.iter_mut().find(|known| known.id == passage.id) else {
        passages.push(passage);
        return;
    };
    let trust_tier = known.trust_tier.max(passage.trust_tier);
    if known.score.unwrap_or(0.0) < passage.score.unwrap_or(0.0) {
        *known = passage;
    }
    known.trust_tier = trust_tier;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::fake::{Shelf, Trial, passage};

    #[tokio::test]
    async fn the_goal_is_looked_for_and_what_is_found_twice_is_kept_once() {
        let mut trial = Trial::default();
        let found = [
            vec![passage("a", Some(0.9)), passage("b", Some(0.2)), passage("c", None)],
            vec![
                passage("b", Some(0.5)),
                passage("a", Some(0.1)),
                passage("c", Some(0.3)),
                passage("d", None),
            ],
        ];
        for passages in found {
            let retriever = Arc::new(Shelf::of(passages));
            let retrieve = Retrieve {
                retriever: Arc::<Shelf>::clone(&retriever),
                files: "`docs`".to_owned(),
                top_k: 4,
                min_score: 0.1,
            };
            trial.run(retrieve).await.unwrap();
            assert_eq!(*retriever.asked.lock().unwrap(), ["Go. 4 0.1"]);
        }
        let passages = trial.context.turn.retrievables.iter();
        let scores: Vec<_> = passages.map(|passage| (passage.id.as_str(), passage.score)).collect();
        assert_eq!(scores, [("a", Some(0.9)), ("b", Some(0.5)), ("c", Some(0.3)), ("d", None)]);
    }
}
