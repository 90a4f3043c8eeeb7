//! Owns what the environment says of an export: where to, with which headers, for how long, and what may leave.
//!
//! It refuses what it cannot do as it is asked, instead of doing something else.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;

use super::ENDPOINTS;
use crate::config::{Environment, HEADER_VARIABLES, pairs};

/// How long the end of a run waits for a collector.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Variables that name the form of what is sent, the one that wins first.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/// Variables that say how long sending may take, in milliseconds.
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];

/// The one protocol.
const PROTOCOL: &str = "http/protobuf";

/// The variable that lets out what models and tools say.
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// Why a run is not exported.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// The address is none.
    #[error("the run is not exported: `{0}` is no address that begins with `http://` or `https://`")]
    Endpoint(&'static str),
    /// Another protocol is asked for.
    #[error("the run is not exported: `{0}` asks for something else than `{PROTOCOL}`")]
    Protocol(&'static str),
    /// A header cannot be sent.
    #[error("the run is not exported: `{0}` holds what is no header")]
    Header(&'static str),
}

/// What is exported, and where to.
#[derive(Debug)]
pub(super) struct Settings {
    /// Where spans are taken.
    pub(super) endpoint: Url,
    /// What is sent with them.
    pub(super) headers: HeaderMap,
    /// How long sending may take, all in all.
    pub(super) timeout: Duration,
    /// Whether prompts, outputs and parameters leave as well.
    pub(super) content: bool,
    /// Who is running.
    pub(super) resource: Vec<(String, String)>,
}

impl Settings {
    /// Returns the settings of the environment in which `variable` names a collector.
    pub(super) fn of(variable: &'static str, environment: &Environment) -> Result<Self, Unusable> {
        let first = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| Some((name, environment.variable(name)?.trim())))
        };
        if let Some((name, _)) = first(PROTOCOLS).filter(|(_, protocol)| *protocol != PROTOCOL) {
            return Err(Unusable::Protocol(name));
        }
        let endpoint = environment.variable(variable).unwrap_or_default();
        let endpoint = endpoint_of(variable, endpoint.trim()).ok_or(Unusable::Endpoint(variable))?;
        environment.secrets().learn(endpoint.password().map(|word| SecretString::from(word.to_owned())));
        let headers = match first(HEADER_VARIABLES) {
            Some((name, headers)) => headers_of(headers).ok_or(Unusable::Header(name))?,
            None => HeaderMap::new(),
        };
        let timeout = first(TIMEOUTS).and_then(|(_, limit)| limit.parse().ok()).filter(|limit| *limit > 0);
        Ok(Self {
            endpoint,
            headers,
            timeout: timeout.map_or(TIMEOUT, Duration::from_millis),
            content: environment
                .variable(CONTENT)
                .is_some_and(|value| value.trim().eq_ignore_ascii_case("true")),
            resource: resource(environment),
        })
    }
}

/// Returns where spans go: an address for traces as it is, one for everything with the path that is theirs.
fn endpoint_of(variable: &str, address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    if variable != ENDPOINTS[0] {
        url.path_segments_mut().ok()?.pop_if_empty().extend(["v1", "traces"]);
    }
    Some(url)
}

fn headers_of(text: &str) -> Option<HeaderMap> {
    let header = |(name, value): (String, String)| {
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name).ok()?, value))
    };
    pairs(text).into_iter().map(header).collect()
}

/// Returns the attributes of the program that runs; what the environment says of them goes before what tepa knows.
fn resource(environment: &Environment) -> Vec<(String, String)> {
    let named =
        environment.variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name.to_owned()));
    let listed = pairs(environment.variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    let known = [("service.name", "tepa"), ("service.version", env!("CARGO_PKG_VERSION"))];
    let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut attributes: Vec<(String, String)> = Vec::new();
    for (name, value) in named.into_iter().chain(listed).chain(known) {
        if !attributes.iter().any(|(known, _)| *known == name) {
            attributes.push((name, value));
        }
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of("/".into(), variables);
        let variable = ENDPOINTS.into_iter().find(|name| environment.variable(name).is_some()).unwrap();
        Settings::of(variable, &environment).map_err(|unusable| unusable.to_string())
    }

    const EVERY: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");

    #[test]
    fn an_address_for_everything_is_that_of_traces_with_their_path() {
        for (every, traces) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("https://a.example/otlp/", "https://a.example/otlp/v1/traces"),
        ] {
            let settings = settings(&[(ENDPOINTS[1], every)]).unwrap();
            assert_eq!(settings.endpoint.as_str(), traces);
        }
        let settings = settings(&[EVERY, (ENDPOINTS[0], "https://a.example/own?x=1")]).unwrap();
        assert_eq!(settings.endpoint.as_str(), "https://a.example/own?x=1");
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_the_name_of_its_variable() {
        let refused = |name, value| settings(&[EVERY, (name, value)]).unwrap_err();
        assert!(settings(&[(ENDPOINTS[1], "localhost:4318")]).unwrap_err().contains(ENDPOINTS[1]));
        assert!(refused(PROTOCOLS[1], "grpc").contains(PROTOCOLS[1]));
        assert!(refused(HEADER_VARIABLES[0], "a b=c").contains(HEADER_VARIABLES[0]));
        assert!(settings(&[EVERY, (PROTOCOLS[0], PROTOCOL), (PROTOCOLS[1], "grpc")]).is_ok());
    }

    #[test]
    fn the_environment_says_who_runs_for_how_long_and_with_which_headers() {
        let plain = settings(&[EVERY]).unwrap();
        assert_eq!(plain.resource[0], ("service.name".to_owned(), "tepa".to_owned()));
        assert!(plain.headers.is_empty() && plain.timeout == TIMEOUT && !plain.content);
        let said = settings(&[
            EVERY,
            ("OTEL_SERVICE_NAME", "nightly"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test%201"),
            (HEADER_VARIABLES[1], "x-key=a%20b"),
            (TIMEOUTS[1], "300"),
            (CONTENT, "True"),
        ])
        .unwrap();
        let who: Vec<&str> = said.resource.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(who, ["nightly", "test 1", env!("CARGO_PKG_VERSION")]);
        assert_eq!(said.headers["x-key"], "a b");
        assert!(said.timeout == Duration::from_millis(300) && said.content);
        for odd in ["0", "soon"] {
            assert_eq!(settings(&[EVERY, (TIMEOUTS[0], odd)]).unwrap().timeout, TIMEOUT);
        }
    }
}
