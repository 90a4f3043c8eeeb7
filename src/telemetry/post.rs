//! Owns the sending of spans to a collector: requests of a size that collectors take, within a time that nobody minds.
//!
//! It follows no redirect, because headers are for the host that they were given for, and tries again only where the collector asks for it.

use std::error::Error as _;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use super::settings::Settings;
use super::value::words;
use crate::text;

/// The largest request, in bytes, and the most spans in one.
const LARGEST: usize = 2 << 20;
const MOST: usize = 512;

/// The largest answer that is looked at, in bytes.
const ANSWER: usize = 64 << 10;

/// How long a collector that is busy is left alone, when it does not say.
const PAUSE: Duration = Duration::from_millis(500);

/// Why a trace did not arrive, or not all of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// It took too long.
    #[error("the trace of the run is lost: `{to}` did not take it within {}", text::duration(*.milliseconds))]
    TooSlow { to: String, milliseconds: u64 },
    /// Nobody was reached.
    #[error("the trace of the run is lost: cannot reach `{to}`: {why}")]
    Unreachable { to: String, why: String },
    /// The collector said no.
    #[error("the trace of the run is lost: `{to}` answered {status}")]
    Refused { to: String, status: StatusCode },
    /// The collector took only some.
    #[error("`{to}` refused {} of the run's trace: {why}", text::plural("span", *.spans))]
    Partly { to: String, spans: usize, why: String },
}

/// Sends `spans`, and gives up when the time for it is over.
pub(super) async fn post(settings: &Settings, spans: Vec<Span>) -> Result<(), Lost> {
    // What the HTTP client has to say of this is no part of what a run has to log.
    let work = post_all(settings, spans).with_subscriber(NoSubscriber::default());
    let late = |_| Lost::TooSlow {
        to: shown(&settings.endpoint),
        milliseconds: u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX),
    };
    tokio::time::timeout(settings.timeout, work).await.map_err(late)?
}

async fn post_all(settings: &Settings, spans: Vec<Span>) -> Result<(), Lost> {
    let to = || shown(&settings.endpoint);
    let unreachable = |error: &reqwest::Error| Lost::Unreachable { to: to(), why: root_cause(error) };
    let mut builder = Client::builder()
        .user_agent(concat!("tepa/", env!("CARGO_PKG_VERSION")))
        // A connection is put by in a task of its own, which would speak of it in the log for developers.
        .pool_max_idle_per_host(0)
        .redirect(redirect::Policy::none());
    if is_loopback(&settings.endpoint) {
        builder = builder.no_proxy();
    }
    let client = builder.build().map_err(|error| unreachable(&error))?;
    for batch in batches(spans) {
        let body = request(&settings.resource, batch).encode_to_vec();
        let response = loop {
            let request = client.post(settings.endpoint.clone()).headers(settings.headers.clone());
            let request = request.header(CONTENT_TYPE, "application/x-protobuf").body(body.clone());
            let response = request.send().await.map_err(|error| unreachable(&error))?;
            let Some(pause) = pause(&response) else { break response };
            tokio::time::sleep(pause).await;
        };
        if !response.status().is_success() {
            return Err(Lost::Refused { to: to(), status: response.status() });
        }
        let refused = answer(response).await.partial_success.filter(|partly| partly.rejected_spans > 0);
        if let Some(partly) = refused {
            let spans = usize::try_from(partly.rejected_spans).unwrap_or_default();
            return Err(Lost::Partly { to: to(), spans, why: partly.error_message });
        }
    }
    Ok(())
}

/// Returns how long the collector wants to be left alone, if it may take the same a little later.
fn pause(response: &Response) -> Option<Duration> {
    if !matches!(response.status().as_u16(), 429 | 502 | 503 | 504) {
        return None;
    }
    let asked =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    Some(asked.map_or(PAUSE, Duration::from_secs).max(PAUSE))
}

/// Returns what the collector says; it has taken everything when it says nothing that can be read.
async fn answer(mut response: Response) -> ExportTraceServiceResponse {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER {
            return ExportTraceServiceResponse::default();
        }
    }
    ExportTraceServiceResponse::decode(body.as_slice()).unwrap_or_default()
}

fn batches(spans: Vec<Span>) -> Vec<Vec<Span>> {
    let mut batches: Vec<Vec<Span>> = Vec::new();
    let mut size = 0;
    for span in spans {
        let more = span.encoded_len();
        if let Some(batch) = batches.last_mut().filter(|batch| batch.len() < MOST && size + more <= LARGEST) {
            size += more;
            batch.push(span);
        } else {
            size = more;
            batches.push(vec![span]);
        }
    }
    batches
}

fn request(resource: &[(String, String)], spans: Vec<Span>) -> ExportTraceServiceRequest {
    let attributes = resource.iter().map(|(name, value)| words(name, value)).collect();
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    let resource = Some(Resource { attributes, ..Resource::default() });
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }],
    }
}

/// Returns the address without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // An address with a host has room for a name, so neither can fail.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut words = String::new();
    while let Some(deeper) = cause {
        words = deeper.to_string();
        cause = deeper.source();
    }
    if words.is_empty() { error.to_string() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trace_goes_in_pieces_that_collectors_take() {
        let many = batches(vec![Span::default(); 2 * MOST + 1]);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [MOST, MOST, 1]);
        let large = Span { name: "x".repeat(LARGEST / 2), ..Span::default() };
        assert_eq!(batches(vec![large; 3]).len(), 3);
        assert!(batches(Vec::new()).is_empty());
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let url = Url::parse("https://user:word@a.example/v1/traces?key=1").unwrap();
        assert_eq!(shown(&url), "https://a.example/v1/traces");
    }
}
