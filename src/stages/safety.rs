//! Owns the stage `safety`: it takes text out of what was stored in this run.
//!
//! It looks into the store and not at what models were given: storage is the receipt.

use std::sync::Arc;

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
            let redaction = redaction.clone();
            context.revise(Arc::new(move |text| redaction.text(text))).await?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::Pattern;
    use crate::stages::fake::{Trial, call, message};
    use crate::turn::{Scope, Speaker};

    fn stored() -> Trial {
        let trial = Trial::at(Scope::TurnOutput);
        let key = "use sk-abc";
        for (id, turn, content) in [("m1", "now", key), ("m2", "now", "done"), ("m0", "before", key)] {
            trial.store.put(turn, "s", true, message(id, turn, Speaker::User, content, 1));
        }
        let failed = crate::turn::ToolCall {
            error: Some("no sk-abc".to_owned()),
            ..call("c2", "now", json!({}), json!(null), 2)
        };
        trial.store.put(
            "now",
            "s",
            true,
            call("c1", "now", json!({"a": [key]}), json!({"b": {"c": key}}), 1),
        );
        trial.store.put("now", "s", true, failed);
        trial.store.texts.lock().unwrap().extend([format!("Please {key}."), "done".to_owned()]);
        trial
    }

    async fn cleaned(scope: &[Redacted]) -> Trial {
        let mut trial = stored();
        let redaction = Redaction(vec![Pattern::try_from("sk-[a-z]+".to_owned()).unwrap()]);
        trial.run(Safety { redaction, scope: scope.to_vec() }).await.unwrap();
        trial
    }

    #[tokio::test]
    async fn what_this_run_stored_is_rewritten_where_it_matches_and_only_there() {
        let trial = cleaned(&[Redacted::Messages, Redacted::ToolCalls]).await;
        let messages = trial.store.all::<TurnMessage>();
        let contents: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(contents, ["use ***", "done", "use sk-abc"]);
        assert_eq!(*trial.store.texts.lock().unwrap(), ["Please use ***.", "done"]);
        let calls = trial.store.all::<ToolCall>();
        assert_eq!(
            (&calls[0].params, &calls[0].output),
            (&json!({"a": ["use ***"]}), &json!({"b": {"c": "use ***"}}))
        );
        assert_eq!(calls[1].error.as_deref(), Some("no ***"));
        assert_eq!(*trial.store.mutations.lock().unwrap(), 3);
    }

    #[tokio::test]
    async fn only_what_is_in_scope_is_looked_at() {
        let trial = cleaned(&[Redacted::ToolCalls]).await;
        assert_eq!(trial.store.all::<TurnMessage>()[0].content, "use sk-abc");
        assert_eq!(trial.store.texts.lock().unwrap()[0], "Please use sk-abc.");
        assert_eq!(*trial.store.mutations.lock().unwrap(), 2);
    }
}
