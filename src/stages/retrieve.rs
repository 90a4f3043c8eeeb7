//! Owns the stage `retrieve`: passages that are found by the goal, each once.

use std::sync::Arc;

use super::Work;
use crate::stage::{Query, Retriever, StageError, TurnContext};
use crate::turn::Retrievable;

/// Finds passages.
pub(super) struct Retrieve {
    pub(super) retriever: Arc<dyn Retriever>,
    pub(super) top_k: usize,
    pub(super) min_score: f64,
}

impl Work for Retrieve {
    fn name(&self) -> &'static str {
        "retrieve"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let query = Query { text: &context.prompt().goal, top_k: self.top_k, min_score: self.min_score };
        for passage in self.retriever.retrieve(query).await? {
            keep_better(&mut context.turn.retrievables, passage);
        }
        Ok(())
    }
}

/// Adds a passage; of two with one id the one that matches better stays.
fn keep_better(passages: &mut Vec<Retrievable>, passage: Retrievable) {
    match passages.iter_mut().find(|known| known.id == passage.id) {
        Some(known) if known.score.unwrap_or(0.0) < passage.score.unwrap_or(0.0) => *known = passage,
        Some(_) => {}
        None => passages.push(passage),
    }
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
            let retrieve = Retrieve { retriever: Arc::<Shelf>::clone(&retriever), top_k: 4, min_score: 0.1 };
            trial.run(retrieve).await.unwrap();
            assert_eq!(*retriever.asked.lock().unwrap(), ["Go. 4 0.1"]);
        }
        let passages = trial.context.turn.retrievables.iter();
        let scores: Vec<_> = passages.map(|passage| (passage.id.as_str(), passage.score)).collect();
        assert_eq!(scores, [("a", Some(0.9)), ("b", Some(0.5)), ("c", Some(0.3)), ("d", None)]);
    }
}
