//! Owns the error object of OpenAI's API, which the servers compatible with it have taken over, each with its own additions.
//!
//! It refuses to guess where the status says enough already: then [`Answer::failure`] has the word.

use serde_json::Value;

use super::answer::Answer;
use super::too_long;
use crate::provider::{ProviderError, Request};

/// The names of errors that mean that this will never be answered.
const REFUSALS: [&str; 4] =
    ["content_filter", "content_policy_violation", "invalid_prompt", "moderation_blocked"];

/// An error as a server words it.
#[derive(Debug, PartialEq)]
pub(super) struct Complaint {
    message: String,
    /// Its code and its type.
    names: Vec<String>,
    /// The status that it gives for itself, which an answer of 200 may hide.
    status: Option<u16>,
    /// The tokens that were needed and those that there are, where it says so beside its message.
    sizes: Option<(u64, u64)>,
    /// Whether a moderator stands behind it.
    flagged: bool,
}

impl Complaint {
    /// Returns the error that a body or an event reports, if it does.
    pub(super) fn of(body: &Value) -> Option<Self> {
        let error = match &body["error"] {
            Value::Null if body["object"] == "error" || body["type"] == "error" => body,
            Value::Null => return None,
            error => error,
        };
        let message = error.as_str().or_else(|| error["message"].as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        let code = &error["code"];
        let status = code.as_u64().and_then(|code| u16::try_from(code).ok());
        let names = [code, &error["type"]].into_iter().filter_map(Value::as_str).map(str::to_owned);
        Some(Self {
            names: names.collect(),
            status: status.or_else(|| code.as_str()?.parse().ok()),
            sizes: error["n_prompt_tokens"].as_u64().zip(error["n_ctx"].as_u64()),
            flagged: error["metadata"]["reasons"].is_array(),
            message,
        })
    }

    /// Returns the error that a whole answer reports, if it does.
    pub(super) fn inside(answer: &Answer) -> Option<Self> {
        Self::of(&serde_json::from_slice(&answer.body).ok()?)
    }

    /// Returns what an answer to `request` means whose status is no success.
    pub(super) fn failure(answer: &Answer, request: &Request, key_variable: &str) -> ProviderError {
        let said = Self::inside(answer);
        let named = format!("`{}`", request.model);
        let meant = said.as_ref().and_then(|said| said.meaning(answer.status.as_u16(), &named, key_variable));
        meant.unwrap_or_else(|| answer.failure(said.as_ref().map(|said| said.message.as_str()), key_variable))
    }

    /// Returns what it means where the answer began as a success; `model` is named as in a sentence.
    pub(super) fn within(&self, model: &str, key_variable: &str) -> ProviderError {
        let status = self.status.or_else(|| self.names.iter().find_map(|name| status_of(name)));
        // It had taken the request, so the fault is most likely its own.
        let status = status.unwrap_or(503);
        if let Some(meant) = self.meaning(status, model, key_variable) {
            return meant;
        }
        let message = &self.message;
        match status {
            401 | 403 => ProviderError::Unauthorized(format!(
                "the provider refused the key in `{key_variable}`: {message}"
            )),
            429 => ProviderError::RateLimited {
                message: format!("the provider limits the rate: {message}"),
                retry_after: None,
            },
            408 | 409 | 500.. => {
                ProviderError::Overloaded(format!("the provider gave up answering: {message}"))
            }
            _ => ProviderError::Invalid(format!("the provider could not take the request: {message}")),
        }
    }

    /// Returns what the error itself says, beyond its status.
    fn meaning(&self, status: u16, model: &str, key_variable: &str) -> Option<ProviderError> {
        let Self { message, names, .. } = self;
        let words = message.to_lowercase();
        let is = |name: &str| names.iter().any(|known| known == name);
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        if is("context_length_exceeded")
            || is("exceed_context_size_error")
            || (status != 429 && too_long::is_meant(message))
        {
            return Some(match self.sizes {
                Some((needs, takes)) => too_long::by(model, needs, takes),
                None => too_long::error(model, message),
            });
        }
        if is("model_not_found")
            || (status == 404 && says(&["model"]))
            || (status == 400 && says(&["not a valid model"]))
        {
            return Some(ProviderError::UnknownModel(format!(
                "{model} is unknown to the provider: {message}"
            )));
        }
        if self.flagged || REFUSALS.into_iter().any(is) {
            return Some(ProviderError::Refused(format!(
                "the provider refused the request to {model}: {message}"
            )));
        }
        // Waiting does not fill an account.
        if status == 402 || is("insufficient_quota") {
            return Some(ProviderError::Unauthorized(format!(
                "the account of the key in `{key_variable}` has nothing left to spend: {message}"
            )));
        }
        None
    }
}

/// Returns the status that goes with the name of an error.
fn status_of(name: &str) -> Option<u16> {
    match name {
        "invalid_request_error" | "BadRequestError" => Some(400),
        "authentication_error" | "invalid_api_key" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" | "NotFoundError" => Some(404),
        "rate_limit_exceeded" | "rate_limit_error" => Some(429),
        "server_error" | "overloaded_error" | "server_is_overloaded" | "slow_down" => Some(503),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn within(body: &Value) -> ProviderError {
        Complaint::of(body).unwrap().within("`m`", "KEY")
    }

    #[test]
    fn every_form_of_an_error_is_seen_and_nothing_else() {
        for body in [
            json!({"error": {"message": "no", "type": "server_error"}}),
            json!({"error": "no"}),
            json!({"object": "error", "message": "no", "type": "InternalServerError", "code": 500}),
            json!({"type": "error", "code": "server_error", "message": "no", "param": null}),
        ] {
            assert_eq!(
                within(&body),
                ProviderError::Overloaded("the provider gave up answering: no".to_owned()),
                "{body}"
            );
        }
        for body in [json!({"object": "response", "error": null}), json!([]), json!({"choices": []})] {
            assert_eq!(Complaint::of(&body), None, "{body}");
        }
    }

    #[test]
    fn a_context_that_is_too_small_says_by_how_much() {
        let stated = json!({"error": {"message": "too long", "type": "exceed_context_size_error",
            "n_prompt_tokens": 9, "n_ctx": 8}});
        assert!(within(&stated).to_string().contains("needs 9 tokens"));
        let silent =
            json!({"error": {"message": "Your input exceeds it.", "code": "context_length_exceeded"}});
        assert_eq!(
            within(&silent),
            ProviderError::ContextTooLong(
                "the request is too long for `m`: Your input exceeds it.".to_owned()
            )
        );
    }

    #[test]
    fn an_error_is_named_by_what_to_do() {
        let error = |code: Value, kind: &str, message: &str| {
            within(&json!({"error": {"code": code, "type": kind, "message": message}}))
        };
        assert!(matches!(
            error(json!("rate_limit_exceeded"), "tokens", "wait"),
            ProviderError::RateLimited { retry_after: None, .. }
        ));
        assert!(matches!(error(json!(429), "", "wait"), ProviderError::RateLimited { .. }));
        assert!(matches!(error(json!("429"), "", "wait"), ProviderError::RateLimited { .. }));
        assert!(matches!(error(json!(502), "", "down"), ProviderError::Overloaded(_)));
        assert!(matches!(error(json!("something_new"), "", "?"), ProviderError::Overloaded(_)));
        assert!(matches!(
            error(Value::Null, "invalid_request_error", "bad `tools`"),
            ProviderError::Invalid(_)
        ));
        assert!(matches!(error(json!("invalid_prompt"), "", "no"), ProviderError::Refused(_)));
        for (code, kind) in
            [(json!(401), ""), (json!("insufficient_quota"), "insufficient_quota"), (json!(402), "")]
        {
            let error = error(code, kind, "no");
            assert!(
                matches!(&error, ProviderError::Unauthorized(text) if text.contains("`KEY`")),
                "{error:?}"
            );
        }
        for (code, message) in [
            (json!("model_not_found"), "The model `m` does not exist"),
            (json!(404), "model \"m\" not found, try pulling it first"),
            (json!(400), "m is not a valid model ID"),
        ] {
            let error = error(code, "", message);
            assert!(
                matches!(&error, ProviderError::UnknownModel(text) if text.starts_with("`m` is unknown")),
                "{error:?}"
            );
        }
        let moderated =
            json!({"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}});
        assert!(matches!(within(&moderated), ProviderError::Refused(_)));
    }
}
