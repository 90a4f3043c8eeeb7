//! Owns the stage `safety`: it takes text out of what was stored in this run.
//!
//! It looks into the store and not at what models were given: storage is the receipt.

use super::{Redaction, Work};
use crate::config::Redacted;
use crate::stage::{StageError, TurnContext};
use crate::turn::{Recorded, Selection, ToolCall, TurnMessage};

/// Takes text out of records.
pub(super) struct Safety {
    pub(super) redaction: Redaction,
    pub(super) scope: Vec<Redacted>,
}

impl Work for Safety {
    fn name(&self) -> &'static str {
        "safety"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let redaction = &self.redaction;
        if self.scope.contains(&Redacted::Messages) {
            let clean = |message: &TurnMessage| TurnMessage {
                content: redaction.text(&message.content),
                ..message.clone()
            };
            rewrite(context, clean).await?;
        }
        if self.scope.contains(&Redacted::ToolCalls) {
            let clean = |call: &ToolCall| ToolCall {
                params: redaction.value(&call.params),
                output: redaction.value(&call.output),
                error: call.error.as_deref().map(|error| redaction.text(error)),
                ..call.clone()
            };
            rewrite(context, clean).await?;
        }
        Ok(())
    }
}

/// Puts what `clean` makes of each record of the turn into its place, where that is something else.
async fn rewrite<T: Recorded + PartialEq>(
    context: &TurnContext,
    clean: impl Fn(&T) -> T,
) -> Result<(), StageError> {
    let of = Selection { turn: Some(context.id().to_owned()), ..Selection::default() };
    for record in context.fetch::<T>(&of).await? {
        let cleaned = clean(&record);
        if cleaned != record {
            context.mutate(cleaned).await?;
        }
    }
    Ok(())
}
