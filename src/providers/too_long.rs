//! Owns what is said of a request that is too long for its model, by how much where the vendor says both numbers.
//!
//! It refuses to make up a number: where one of them is missing, the vendor's own words stand.

use crate::provider::ProviderError;

/// What the message of an error says when this is what is wrong.
const SIGNS: [&str; 6] = [
    "prompt is too long",
    "input is too long",
    "context length",
    "context limit",
    "context size",
    "context window",
];

/// Returns whether a message speaks of a request that is too long.
pub(super) fn is_meant(message: &str) -> bool {
    let words = message.to_lowercase();
    SIGNS.iter().any(|sign| words.contains(sign))
        || (words.contains("token count") && words.contains("exceeds"))
}

/// Returns the error; `model` is named as in a sentence.
pub(super) fn error(model: &str, message: &str) -> ProviderError {
    sizes(message).map_or_else(
        || ProviderError::ContextTooLong(format!("the request is too long for {model}: {message}")),
        |(needs, takes)| by(model, needs, takes),
    )
}

/// Returns the error where both numbers are known.
pub(super) fn by(model: &str, needs: u64, takes: u64) -> ProviderError {
    ProviderError::ContextTooLong(format!("the request needs {needs} tokens, and {model} takes {takes}"))
}

/// Returns how many tokens are needed and how many there are, where a message says both.
fn sizes(message: &str) -> Option<(u64, u64)> {
    let words = message.to_lowercase();
    // Words like `188240 + 21333 > 200000`: what is sent and what may be answered.
    if let Some((request, model)) = words.split_once('>') {
        let needs = numbers(request).try_fold(0_u64, u64::checked_add).filter(|sum| *sum > 0)?;
        return Some((needs, numbers(model).next()?));
    }
    let limit = words.find("context").or_else(|| words.find("exceeds"))?;
    let takes = numbers(words.get(limit..)?).next()?;
    let needs = numbers(&words).find(|&number| number > takes)?;
    Some((needs, takes))
}

fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_ascii_digit() && c != ',')
        .filter_map(|word| word.replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_both_numbers_says_by_how_much() {
        for message in [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "This model's maximum context length is 8,192 tokens. However, you requested 9,000 tokens (8,000 in the messages, 1,000 in the completion).",
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "Requested tokens (9000) exceed context window of 8192",
            "You passed 9000 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens.",
            "prompt is too long: 9000 tokens > 8192 maximum",
            "input length and `max_tokens` exceed context limit: 7000 + 2000 > 8192",
            "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
        ] {
            assert!(is_meant(message), "{message}");
            assert_eq!(
                error("`m`", message).to_string(),
                "the request needs 9000 tokens, and `m` takes 8192",
                "{message}"
            );
        }
    }

    #[test]
    fn a_message_without_them_stands_as_it_is() {
        for message in [
            "prompt is too long",
            "The input token count exceeds the maximum number of tokens allowed 8192.",
            "Your input exceeds the context window of this model.",
        ] {
            assert!(is_meant(message), "{message}");
            assert_eq!(
                error("the model", message),
                ProviderError::ContextTooLong(format!("the request is too long for the model: {message}"))
            );
        }
        assert!(!is_meant("messages: at least one message is required"));
    }
}
