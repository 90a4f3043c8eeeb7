//! Owns how models are shown what they are given beside the task, each piece by how far it is trusted.
//!
//! The judge is shown the rules of those who run tepa, and nothing else: documents may have been written by a run, memories and history were,
//! and all of that is for those who do the work, not for the one who says whether it is done. Source of the form: the design of turn-scoped pipelines, "Rendering".

use std::sync::Arc;

use serde_json::{Value, json};

use super::run::{Run, Stop};
use super::shown::{Material, attribute, value};
use crate::event::Role;
use crate::provider::Message;
use crate::template::Template;
use crate::turn::{Assembled, Retrievable, Speaker, ToolCall, TrustTier};

impl Run<'_> {
    /// Returns the system prompt of a role: its own, between what stands before all of them and the rules of those who run tepa.
    pub(super) fn system(
        &self,
        role: Role,
        template: Template,
        slots: impl serde::Serialize,
    ) -> Result<String, Stop> {
        let own = self.render(template, slots)?;
        let context = self.read(|state| {
            if role == Role::Evaluator { state.first_context() } else { state.context() }.cloned()
        });
        let Some(context) = context else { return Ok(own) };
        let rules = self.texts.rules.try_of(&context, || {
            if context.standing_instructions.is_empty() {
                return Ok("".into());
            }
            let slots = json!({"standing": context.standing_instructions});
            self.render(Template::KnownStanding, slots).map(Arc::from)
        })?;
        let parts = [&*context.system_prompt, &own, &rules];
        Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns the message that opens a conversation: first what is the same in other calls of the run, then what is new.
    pub(super) fn opening(
        &self,
        role: Role,
        task: &str,
        rest: Template,
        slots: impl serde::Serialize,
    ) -> Result<Message, Stop> {
        let known = self.read(|state| {
            let context = state.context().filter(|_| role != Role::Evaluator)?;
            Some((Arc::clone(context), state.context_since()))
        });
        let known = known.map(|(context, since)| {
            self.texts.knowledge.try_of(&context, || self.knowledge(&context, since).map(Arc::from))
        });
        let known = known.transpose()?.unwrap_or_default();
        let rest = self.render(rest, slots)?;
        let parts = [&*known, task].into_iter().filter(|part| !part.is_empty());
        Ok(Message::user_with_stable(&parts.collect::<Vec<_>>().join("\n\n"), &format!("\n\n{rest}")))
    }

    fn knowledge(&self, context: &Assembled, since: u32) -> Result<String, Stop> {
        let Assembled { memories, retrievables, messages, thoughts, tool_calls, .. } = context;
        if memories.is_empty()
            && retrievables.is_empty()
            && messages.is_empty()
            && thoughts.is_empty()
            && tool_calls.is_empty()
        {
            return Ok(String::new());
        }
        let since = since.to_string();
        let mark = |kind: &str, id: &str| self.pipeline.nonces.of(&["known", since.as_str(), kind, id]);
        let (corpus, untrusted): (Vec<&Retrievable>, Vec<&Retrievable>) =
            retrievables.iter().partition(|found| found.trust_tier == TrustTier::FirstParty);
        let memories: Vec<Value> = memories
            .iter()
            .map(|memory| {
                json!({
                    "mark": mark("memory", &memory.id),
                    "createdAt": memory.created_at,
                    "confidence": memory.confidence,
                    "importance": memory.importance,
                    "trust": memory.trust_tier.name(),
                    "content": memory.content,
                })
            })
            .collect();
        let corpus: Vec<Value> = corpus
            .into_iter()
            .map(|found| {
                json!({
                    "mark": mark("retrieved", &found.id),
                    "source": attribute(found.source.as_deref().unwrap_or_default()),
                    "createdAt": found.created_at,
                    "kind": attribute(found.kind.as_deref().unwrap_or_default()),
                    "score": format!("{:.2}", found.score.unwrap_or_default()),
                    "content": found.content,
                })
            })
            .collect();
        let untrusted: Vec<Material> = untrusted
            .into_iter()
            .map(|found| {
                let mark = mark("retrieved", &found.id);
                Material::retrieved(found.trust_tier, mark, found.source.as_deref(), &found.content)
            })
            .collect();
        let returned = |call: &ToolCall| {
            let failed = call.error.as_ref().map(|error| format!("failed: {error}").into());
            let words = failed.unwrap_or_else(|| value(&call.output));
            let tools = [call.tool.clone()];
            let trusted = &self.pipeline.config.trusted_tools;
            json!(Material::returned(&tools, trusted, mark("call", &call.id), words))
        };
        let said = messages.iter().map(|message| {
            let role = match message.role {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            let mark = mark("message", &message.id);
            let at = message.created_at;
            (at, json!({"role": role, "mark": mark, "createdAt": at, "content": message.content}))
        });
        let thought = thoughts.iter().map(|thought| {
            let (at, mark) = (thought.created_at, mark("thought", &thought.id));
            (at, json!({"role": "thought", "mark": mark, "createdAt": at, "content": thought.content}))
        });
        let called = tool_calls
            .iter()
            .map(|call| (call.created_at, json!({"role": null, "returned": returned(call)})));
        let mut history: Vec<_> = said.chain(thought).chain(called).collect();
        history.sort_by_key(|(at, _)| *at);
        let slots = json!({
            "memories": memories,
            "careful": !context.retrievables.is_empty() || context.least_trusted() != TrustTier::FirstParty,
            "corpus": corpus,
            "untrusted": untrusted,
            "history": history.into_iter().map(|(_, said)| said).collect::<Vec<_>>(),
        });
        self.render(Template::KnownKnowledge, slots)
    }
}
