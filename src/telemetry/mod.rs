//! Owns the export of a run as a trace: spans by OpenTelemetry's conventions for generative AI, sent by OTLP over HTTP when the run has ended.
//!
//! It is off unless the environment names a collector. Whatever breaks here is a warning: no run fails, waits for long or ends with
//! another code because somebody watches it. What models and tools say stays here unless the environment asks for it.

#[cfg(feature = "otel")]
mod context;
#[cfg(feature = "otel")]
mod export;
#[cfg(feature = "otel")]
mod post;
#[cfg(feature = "otel")]
mod settings;
#[cfg(feature = "otel")]
mod spans;
#[cfg(feature = "otel")]
mod tree;
#[cfg(feature = "otel")]
mod value;

use crate::config::Environment;
use crate::event::EventSink;

/// Variables that name a collector, the one that wins first.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The export of one run, or that there is none.
#[derive(Debug, Default)]
pub struct Telemetry {
    warnings: Vec<String>,
    #[cfg(feature = "otel")]
    export: Option<export::Export>,
}

impl Telemetry {
    /// Returns what the environment asks for.
    pub fn of(environment: &Environment) -> Self {
        asked(environment).map(|variable| Self::asked_by(variable, environment)).unwrap_or_default()
    }

    #[cfg(feature = "otel")]
    fn asked_by(variable: &'static str, environment: &Environment) -> Self {
        match export::Export::of(variable, environment) {
            Ok(export) => Self { warnings: Vec::new(), export },
            Err(unusable) => Self { warnings: vec![unusable.to_string()], export: None },
        }
    }

    #[cfg(not(feature = "otel"))]
    fn asked_by(variable: &'static str, _: &Environment) -> Self {
        let warning = format!(
            "`{variable}` asks for a trace of the run, and this tepa was built without OpenTelemetry (feature `otel`)"
        );
        Self { warnings: vec![warning] }
    }

    /// Returns what a person should know before the run.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the environment for the run, whose children belong to its span.
    #[must_use]
    pub fn environment(&self, environment: &Environment) -> Environment {
        #[cfg(feature = "otel")]
        if let Some(export) = &self.export {
            return export.environment(environment);
        }
        environment.clone()
    }

    /// Returns a sink that remembers the run, when there is a collector to tell of it.
    pub fn sink(&self) -> Option<Box<dyn EventSink>> {
        #[cfg(feature = "otel")]
        return self.export.as_ref().map(export::Export::sink);
        #[cfg(not(feature = "otel"))]
        None
    }

    /// Sends what is remembered, within seconds; returns why it did not arrive.
    #[cfg_attr(
        not(feature = "otel"),
        expect(clippy::unused_async, reason = "the form is that of a tepa that can")
    )]
    pub async fn send(&self) -> Option<String> {
        #[cfg(feature = "otel")]
        if let Some(export) = &self.export {
            return export.send().await.err().map(|lost| lost.to_string());
        }
        None
    }
}

/// Returns the variable that asks for an export, unless another one forbids it.
fn asked(environment: &Environment) -> Option<&'static str> {
    let disabled = environment.variable("OTEL_SDK_DISABLED");
    let exporters = environment.variable("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
    if disabled.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
        || !exporters.split(',').any(|exporter| exporter.trim() == "otlp")
    {
        return None;
    }
    ENDPOINTS.into_iter().find(|name| environment.variable(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(variables: &[(&str, &str)]) -> Option<&'static str> {
        asked(&Environment::of("/".into(), variables.iter().map(|(name, value)| (name.into(), value.into()))))
    }

    #[test]
    fn a_collector_has_to_be_named_and_nothing_may_speak_against_it() {
        let [traces, every] = ENDPOINTS;
        assert_eq!(asks(&[]), None);
        assert_eq!(asks(&[(every, "")]), None);
        assert_eq!(asks(&[(every, "http://a")]), Some(every));
        assert_eq!(asks(&[(every, "http://a"), (traces, "http://b")]), Some(traces));
        assert_eq!(asks(&[(every, "http://a"), ("OTEL_SDK_DISABLED", "True")]), None);
        assert_eq!(asks(&[(every, "http://a"), ("OTEL_SDK_DISABLED", "false")]), Some(every));
        assert_eq!(asks(&[(every, "http://a"), ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert_eq!(asks(&[(every, "http://a"), ("OTEL_TRACES_EXPORTER", "console, otlp")]), Some(every));
    }
}
