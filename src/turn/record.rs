//! Owns what is kept between runs: one kind of record each, with its trust where it comes from outside.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a piece of text comes from, which decides how a model is shown it. There is no default: whoever brings it in has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustTier {
    /// Written by those who run tepa.
    FirstParty,
    /// Written by somebody else, for their eyes.
    ThirdPartyPrivate,
    /// Written by somebody else, for anybody.
    ThirdPartyPublic,
}

impl TrustTier {
    /// All tiers, from the most to the least trusted.
    pub const ALL: [Self; 3] = [Self::FirstParty, Self::ThirdPartyPrivate, Self::ThirdPartyPublic];

    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstParty => "first-party",
            Self::ThirdPartyPrivate => "third-party-private",
            Self::ThirdPartyPublic => "third-party-public",
        }
    }
}

/// Something worth knowing in later runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    /// The id.
    pub id: String,
    /// The text.
    pub content: String,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// How much it matters, from 0 to 1.
    pub importance: f64,
    /// Who wrote it: `run:` and the id of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The least trusted tier of what the run that wrote it was given.
    pub trust_tier: TrustTier,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retrievable {
    /// The id.
    pub id: String,
    /// The text.
    pub content: String,
    /// How far it is trusted.
    pub trust_tier: TrustTier,
    /// Where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What sort of thing it is, such as `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How well it matches, from 0 to 1; without one it counts as 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Whoever started the run: its goal.
    User,
    /// The run: what it came to.
    Assistant,
}

/// One message of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnMessage {
    /// The id.
    pub id: String,
    /// The turn.
    pub turn: String,
    /// Who said it.
    pub role: Speaker,
    /// The text.
    pub content: String,
    /// When it was said.
    pub created_at: Timestamp,
}

/// Words of a model that were not for anybody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thought {
    /// The id.
    pub id: String,
    /// The turn.
    pub turn: String,
    /// The text.
    pub content: String,
    /// When it was thought.
    pub created_at: Timestamp,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCall {
    /// The id.
    pub id: String,
    /// The turn.
    pub turn: String,
    /// The step.
    pub step: String,
    /// The tool.
    pub tool: String,
    /// The parameters.
    pub params: Value,
    /// What it returned; null when it failed.
    pub output: Value,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it ended.
    pub created_at: Timestamp,
}

/// The kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`Memory`].
    Memory,
    /// [`Retrievable`].
    Retrievable,
    /// [`TurnMessage`].
    Message,
    /// [`Thought`].
    Thought,
    /// [`ToolCall`].
    ToolCall,
}

/// One record of any kind.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each variant is the kind it names")]
pub enum Record {
    Memory(Memory),
    Retrievable(Retrievable),
    Message(TurnMessage),
    Thought(Thought),
    ToolCall(ToolCall),
}

impl Record {
    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Memory(_) => Kind::Memory,
            Self::Retrievable(_) => Kind::Retrievable,
            Self::Message(_) => Kind::Message,
            Self::Thought(_) => Kind::Thought,
            Self::ToolCall(_) => Kind::ToolCall,
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        match self {
            Self::Memory(record) => &record.id,
            Self::Retrievable(record) => &record.id,
            Self::Message(record) => &record.id,
            Self::Thought(record) => &record.id,
            Self::ToolCall(record) => &record.id,
        }
    }
}

/// A kind of record, as a type.
pub trait Recorded: Into<Record> {
    /// The kind.
    const KIND: Kind;

    /// Returns the record as this kind, if it is of it.
    fn of(record: Record) -> Option<Self>;
}

macro_rules! recorded {
    ($($kind:ident $of:ty),+) => {
        $(
            impl From<$of> for Record {
                fn from(record: $of) -> Self {
                    Self::$kind(record)
                }
            }

            impl Recorded for $of {
                const KIND: Kind = Kind::$kind;

                fn of(record: Record) -> Option<Self> {
                    match record {
                        Record::$kind(record) => Some(record),
                        _ => None,
                    }
                }
            }
        )+
    };
}

recorded!(Memory Memory, Retrievable Retrievable, Message TurnMessage, Thought Thought, ToolCall ToolCall);
