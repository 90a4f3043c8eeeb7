//! Owns what an error of the Gemini API means, whether it came as an answer or inside a stream: what can be done about it.
//!
//! The name of the status decides, since the API answers several faults with a plain 400.

use std::time::Duration;

use serde_json::Value;

use super::KEY_VARIABLE;
use crate::provider::{ProviderError, Request};
use crate::providers::answer::Answer;
use crate::providers::too_long;

/// An error as the API describes it.
pub(super) struct Complaint {
    status: String,
    message: String,
    details: Vec<Value>,
}

/// Returns the error that `body` describes; some endpoints wrap it in a list.
pub(super) fn complaint(body: &Value) -> Option<Complaint> {
    let error = body.get(0).unwrap_or(body).get("error").filter(|error| !error.is_null())?;
    let message = error["message"].as_str().or(error.as_str());
    Some(Complaint {
        status: error["status"].as_str().unwrap_or_default().to_owned(),
        message: message.unwrap_or_default().to_owned(),
        details: error["details"].as_array().cloned().unwrap_or_default(),
    })
}

/// Returns the error of an answer that is no success.
pub(super) fn of_answer(request: &Request, answer: &Answer) -> ProviderError {
    let body = serde_json::from_slice::<Value>(&answer.body).ok();
    let Some(complaint) = body.as_ref().and_then(complaint) else {
        return answer.failure(None, KEY_VARIABLE);
    };
    let model = &request.model;
    let message = &complaint.message;
    if complaint.is_about_the_key() {
        return ProviderError::Unauthorized(format!(
            "`{}` refused the key in `{KEY_VARIABLE}` ({}: {message})",
            answer.url,
            answer.status.as_u16()
        ));
    }
    if complaint.status == "NOT_FOUND" {
        return ProviderError::UnknownModel(format!("`{}` knows no model `{model}` ({message})", answer.url));
    }
    if too_long::is_meant(message) {
        return too_long::error(&format!("`{model}`"), message);
    }
    match answer.failure(Some(message), KEY_VARIABLE) {
        ProviderError::RateLimited { message, retry_after } => {
            ProviderError::RateLimited { message, retry_after: retry_after.or(complaint.retry_after()) }
        }
        other => other,
    }
}

impl Complaint {
    /// Returns the error that ended a stream.
    pub(super) fn in_stream(self) -> ProviderError {
        if too_long::is_meant(&self.message) {
            return too_long::error("the model", &self.message);
        }
        let retry_after = self.retry_after();
        let key = self.is_about_the_key();
        let Self { status, message, .. } = self;
        let kind = if status.is_empty() { "an error".to_owned() } else { format!("`{status}`") };
        let text = format!("the stream ended with {kind}: {message}");
        match status.as_str() {
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => key_refused(&text),
            _ if key => key_refused(&text),
            "RESOURCE_EXHAUSTED" => ProviderError::RateLimited { message: text, retry_after },
            "NOT_FOUND" => ProviderError::UnknownModel(text),
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" | "UNIMPLEMENTED" => {
                ProviderError::Invalid(text)
            }
            _ => ProviderError::Overloaded(text),
        }
    }

    /// Returns whether the API calls the key wrong, which it does with a plain `INVALID_ARGUMENT`.
    fn is_about_the_key(&self) -> bool {
        self.details.iter().any(|detail| detail["reason"] == "API_KEY_INVALID")
            || self.status == "INVALID_ARGUMENT" && self.message.to_lowercase().starts_with("api key ")
    }

    fn retry_after(&self) -> Option<Duration> {
        let delay = self.details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
        Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
    }
}

fn key_refused(text: &str) -> ProviderError {
    ProviderError::Unauthorized(format!("the key in `{KEY_VARIABLE}` was refused: {text}"))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderValue, RETRY_AFTER};
    use serde_json::json;

    use super::*;
    use crate::providers::gemini::tests::MODEL;
    use crate::providers::pairs::{answer, request};

    fn error(code: u16, status: &str, message: &str, details: &Value) -> ProviderError {
        let body = json!({"error": {"code": code, "message": message, "status": status, "details": details}});
        of_answer(&request(MODEL, false), &answer(code, &body))
    }

    #[test]
    fn a_wrong_key_is_named_though_it_comes_as_a_bad_request() {
        let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
            "domain": "googleapis.com", "metadata": {"service": "generativelanguage.googleapis.com"}}]);
        for (code, status, message, details) in [
            (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", json!([])),
            (400, "INVALID_ARGUMENT", "Renew it.", reason),
            (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", json!([])),
            (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.", json!([])),
        ] {
            let error = error(code, status, message, &details);
            let ProviderError::Unauthorized(text) = &error else { panic!("{error:?}") };
            assert!(text.contains("`GEMINI_API_KEY`") && text.contains(message), "{text}");
        }
    }

    #[test]
    fn a_request_that_is_too_long_says_by_how_much() {
        let message =
            "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).";
        assert_eq!(
            error(400, "INVALID_ARGUMENT", message, &json!([])),
            ProviderError::ContextTooLong(
                "the request needs 3475108 tokens, and `gemini-3.5-flash` takes 1048576".to_owned()
            )
        );
    }

    #[test]
    fn an_unknown_model_is_named() {
        let message =
            "models/gemini-x is not found for API version v1beta, or is not supported for generateContent.";
        let unknown = error(404, "NOT_FOUND", message, &json!([]));
        assert!(
            matches!(&unknown, ProviderError::UnknownModel(text) if text.contains("no model `gemini-3.5-flash`"))
        );
        // A wrong base URL, not a wrong model.
        let elsewhere = of_answer(&request(MODEL, false), &answer(404, &json!({"detail": "Not Found"})));
        assert!(matches!(elsewhere, ProviderError::Invalid(_)));
    }

    #[test]
    fn the_wait_is_in_the_header_or_in_the_body() {
        let details = json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerMinute"}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"},
        ]);
        let limited = |error| match error {
            ProviderError::RateLimited { retry_after, .. } => retry_after,
            other => panic!("{other:?}"),
        };
        let wait = Some(Duration::from_millis(38_500));
        assert_eq!(limited(error(429, "RESOURCE_EXHAUSTED", "m", &details)), wait);
        assert_eq!(limited(error(429, "RESOURCE_EXHAUSTED", "m", &json!([{"retryDelay": "soon"}]))), None);
        let body = json!({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": details}});
        assert_eq!(limited(complaint(&body).unwrap().in_stream()), wait);
        let mut answer = answer(429, &json!([body]));
        assert_eq!(limited(of_answer(&request(MODEL, false), &answer)), wait);
        answer.headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(limited(of_answer(&request(MODEL, false), &answer)), Some(Duration::from_secs(7)));
    }

    #[test]
    fn the_rest_follows_the_status() {
        let busy = error(503, "UNAVAILABLE", "The model is overloaded.", &json!([]));
        assert!(
            matches!(&busy, ProviderError::Overloaded(text) if text.contains("The model is overloaded."))
        );
        assert!(matches!(error(504, "DEADLINE_EXCEEDED", "m", &json!([])), ProviderError::Overloaded(_)));
        let country = error(400, "FAILED_PRECONDITION", "User location is not supported.", &json!([]));
        assert!(matches!(country, ProviderError::Invalid(_)));
        let page = of_answer(
            &request(MODEL, false),
            &Answer { body: b"<html>".to_vec(), ..answer(502, &json!({})) },
        );
        assert!(matches!(page, ProviderError::Overloaded(_)));
    }
}
