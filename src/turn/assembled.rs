//! Owns what the models of a run are given beside the task: exactly what the input stages left, and what had to go for lack of room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Memory, Retrievable, Speaker, Thought, ToolCall, TrustTier, TurnMessage};

/// What the models of a run are given beside the task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Assembled {
    /// Stands before every system prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// Rules of those who run tepa.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standing_instructions: Vec<Standing>,
    /// What earlier runs of the session left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Memory>,
    /// What was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retrievables: Vec<Retrievable>,
    /// What was said in earlier runs, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<TurnMessage>,
    /// What was thought, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
    /// What tools returned in earlier runs, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What found no room before it was measured, such as tool calls of earlier runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Shed>,
    /// How it was made to fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl Assembled {
    /// Returns whether there is nothing that a model would see.
    pub fn is_empty(&self) -> bool {
        let Self { system_prompt, standing_instructions, memories, retrievables, messages, .. } = self;
        let said = messages.is_empty() && self.thoughts.is_empty() && self.tool_calls.is_empty();
        let known = standing_instructions.is_empty() && memories.is_empty() && retrievables.is_empty();
        system_prompt.is_empty() && known && said
    }

    /// Returns the least trusted tier of everything that was brought in.
    pub fn least_trusted(&self) -> TrustTier {
        let found = self.retrievables.iter().map(|found| found.trust_tier);
        let known = self.memories.iter().map(|memory| memory.trust_tier);
        // What a tool returned was written by nobody in particular, and what a run said may rest on it.
        let said = self.messages.iter().any(|message| message.role == Speaker::Assistant);
        let doubtful = said || !self.thoughts.is_empty() || !self.tool_calls.is_empty();
        let doubtful = doubtful.then_some(TrustTier::ThirdPartyPublic);
        found.chain(known).chain(doubtful).max().unwrap_or(TrustTier::FirstParty)
    }
}

/// Rules from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Where they stand.
    pub source: String,
    /// The text.
    pub content: String,
}

/// How the context of a run was made to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// What it may be, in tokens.
    pub limit: u64,
    /// What it was, in tokens.
    pub before: u64,
    /// What it is, in tokens.
    pub after: u64,
    /// What went, in the order in which it went; a kind of which nothing went is not among them.
    pub shed: Vec<Shed>,
}

/// What went of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shed {
    /// `toolCalls`, `retrievables`, `memories` or `messages`.
    pub of: String,
    /// How many.
    pub count: u64,
    /// How much that was, in tokens.
    pub tokens: u64,
}
