//! Owns the token counts of OpenAI's two APIs, which differ in their names only.

use serde::Deserialize;
use serde_json::Value;

use super::answer::Answer;
use crate::outcome::Usage;

/// The tokens of an answer: the names of the Responses API, and those of Chat Completions.
#[derive(Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens", alias = "prompt_tokens")]
    input: u64,
    /// Servers that stand in for Chat Completions leave it out when nothing was written.
    #[serde(rename = "output_tokens", alias = "completion_tokens", default)]
    output: u64,
    #[serde(rename = "input_tokens_details", alias = "prompt_tokens_details")]
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let details = tokens.details.unwrap_or_default();
        Self {
            input: tokens.input,
            output: tokens.output,
            cached: details.cached_tokens.unwrap_or_default(),
            cache_write: details.cache_write_tokens.unwrap_or_default(),
        }
    }
}

/// Returns the tokens that a body speaks of, whether or not the rest of it makes sense.
pub(super) fn spent(answer: &Answer) -> Usage {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    Tokens::deserialize(&body["usage"]).map_or_else(|_| Usage::default(), Usage::from)
}
