//! Owns the choice of whoever answers model calls, and what stands around it: tries, their log, the recording.
//!
//! It refuses what no call could mend: a key that is missing, a server without an address, a model without a name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Options, shown};
use crate::config::{self, Catalog, Config, Environment, ProviderKind};
use crate::error::Error;
use crate::provider::Provider;
use crate::providers::log::LlmLog;
use crate::providers::recording::Recording;
use crate::providers::replay::Replay;
use crate::providers::retry::{Policy, Retrying};
use crate::providers::suggesting::Suggesting;
use crate::providers::vendor::Connection;
use crate::providers::{self, anthropic, gemini, openai, openai_compatible};

/// Who answers, and what is to be saved when nobody asks any more.
pub(super) type Wired = (Arc<dyn Provider>, Option<Arc<Recording>>);

/// How a vendor is reached: variables, and what counts without them.
#[derive(Debug)]
pub struct Access {
    /// The variables that may hold the key, the first that is set counts.
    pub keys: &'static [&'static str],
    /// Whether there is nothing to ask without one.
    pub key_needed: bool,
    /// The vendor's own variable for another address.
    pub base_url_variable: &'static str,
    /// The vendor's own address; none where anybody may have a server.
    pub base_url: Option<&'static str>,
}

/// Returns how a provider is reached, unless its replies come from a file.
pub fn access(kind: ProviderKind) -> Option<&'static Access> {
    match kind {
        ProviderKind::Anthropic => Some(&ANTHROPIC),
        ProviderKind::OpenAi => Some(&OPENAI),
        ProviderKind::Gemini => Some(&GEMINI),
        ProviderKind::OpenAiCompatible => Some(&OPENAI_COMPATIBLE),
        ProviderKind::Replay => None,
    }
}

const ANTHROPIC: Access = Access {
    keys: &[anthropic::KEY_VARIABLE],
    key_needed: true,
    base_url_variable: "ANTHROPIC_BASE_URL",
    base_url: Some(anthropic::BASE_URL),
};

const OPENAI: Access = Access {
    keys: &[openai::KEY_VARIABLE],
    key_needed: true,
    base_url_variable: "OPENAI_BASE_URL",
    base_url: Some(openai::BASE_URL),
};

const GEMINI: Access = Access {
    keys: &[gemini::KEY_VARIABLE, "GOOGLE_API_KEY"],
    key_needed: true,
    base_url_variable: "GOOGLE_GEMINI_BASE_URL",
    base_url: Some(gemini::BASE_URL),
};

const OPENAI_COMPATIBLE: Access = Access {
    keys: &[openai_compatible::KEY_VARIABLE],
    key_needed: false,
    base_url_variable: "OPENAI_BASE_URL",
    base_url: None,
};

/// Returns who answers the calls of a run that works in `root`.
pub(super) fn provider(
    config: &Config,
    catalog: Catalog,
    environment: &Environment,
    options: &Options,
    root: &Path,
) -> Result<Wired, Error> {
    let kind = kind(config);
    let provider: Arc<dyn Provider> = match vendor(kind, config, environment)? {
        None => Arc::new(replay(environment, options)?),
        Some(vendor) => {
            let calls = &config.calls;
            let policy = Policy {
                max_retries: calls.max_retries,
                base_delay: Duration::from_millis(calls.retry_base_delay),
            };
            let log = (config.llm_log.enabled && options.log).then(|| {
                let config::LlmLog { folder, include_content, .. } = &config.llm_log;
                LlmLog::new(root.to_owned(), folder.into(), *include_content, environment.secrets().clone())
            });
            Arc::new(Retrying::new(Arc::new(Suggesting::new(vendor, kind, catalog)), policy, log))
        }
    };
    let Some(path) = &options.record else {
        return Ok((provider, None));
    };
    let name = shown(path, environment);
    if options.replay.as_ref() == Some(path) {
        return Err(Error::usage(format!("the recording would replace the replies in `{name}`"))
            .hint("record into another file"));
    }
    let recording = Recording::create(provider, path, &name, environment.secrets().clone())?;
    let recording = Arc::new(recording);
    Ok((Arc::<Recording>::clone(&recording), Some(recording)))
}

/// Refuses roles without a model: a server that may serve anything has none that could be taken for granted.
pub(super) fn check_models(config: &Config) -> Result<(), Error> {
    if config.model.distinct().contains(&"") {
        let name = kind(config).name();
        return Err(Error::usage(format!("the provider `{name}` has no model unless one is named"))
            .hint("name a model with `--model`"));
    }
    Ok(())
}

fn kind(config: &Config) -> ProviderKind {
    config.provider.unwrap_or(ProviderKind::Anthropic)
}

/// Returns the vendor's API, or `None` where replies come from a file.
fn vendor(
    kind: ProviderKind,
    config: &Config,
    environment: &Environment,
) -> Result<Option<Arc<dyn Provider>>, Error> {
    let Some(access) = access(kind) else { return Ok(None) };
    let connection = connection(kind, access, config, environment)?;
    Ok(Some(match kind {
        ProviderKind::Anthropic => Arc::new(anthropic::connect(connection)?),
        ProviderKind::OpenAi => Arc::new(openai::connect(connection)?),
        ProviderKind::Gemini => Arc::new(gemini::connect(connection)?),
        ProviderKind::OpenAiCompatible => Arc::new(openai_compatible::connect(connection)?),
        ProviderKind::Replay => return Ok(None),
    }))
}

/// Asks a provider for its models, as the configuration reaches it; returns the HTTP status of the answer.
///
/// # Errors
/// Nothing answers, or nothing ever could: no key, no address.
pub async fn reach(kind: ProviderKind, config: &Config, environment: &Environment) -> Result<u16, Error> {
    let access = access(kind).ok_or_else(|| Error::usage("replies from a file have no address"))?;
    providers::reach::reach(kind, connection(kind, access, config, environment)?).await
}

fn connection(
    kind: ProviderKind,
    access: &Access,
    config: &Config,
    environment: &Environment,
) -> Result<Connection, Error> {
    let name = kind.name();
    let key = access.keys.iter().find_map(|variable| environment.secret(variable));
    if key.is_none() && access.key_needed {
        let variable = access.keys[0];
        return Err(Error::usage(format!("no key for the provider `{name}`: `{variable}` is not set"))
            .hint("set it, or run without a key on scripted replies: `--provider replay`"));
    }
    let variable = access.base_url_variable;
    let base_url = config.base_url.as_deref().or_else(|| environment.variable(variable)).or(access.base_url);
    let base_url = base_url.ok_or_else(|| {
        Error::usage(format!("the provider `{name}` needs the address of its server"))
            .hint("give it with `--base-url`, such as `--base-url http://localhost:11434`")
    })?;
    Ok(Connection {
        key,
        base_url: base_url.to_owned(),
        stream: config.calls.stream,
        idle_timeout: Duration::from_millis(config.calls.idle_timeout),
        allow_plain_http: config.calls.allow_plain_http,
    })
}

fn replay(environment: &Environment, options: &Options) -> Result<Replay, Error> {
    let Some(path) = &options.replay else {
        return Err(Error::usage("the provider `replay` needs a file with replies")
            .hint("name it with `--replay FILE`"));
    };
    let replay = Replay::load(path, &shown(path, environment))?;
    Ok(if options.plan.is_some() { replay.planned() } else { replay })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Layers, Origin};

    fn config(values: serde_json::Value) -> Config {
        let mut layers = Layers::defaults().unwrap();
        layers.push(Origin::CommandLine, values);
        layers.resolve().unwrap()
    }

    fn connect(values: serde_json::Value, variables: &[(&str, &str)]) -> Result<String, Error> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of("/project".into(), variables);
        let config = config(values);
        check_models(&config)?;
        let options = Options::default();
        let catalog = Catalog::load()?;
        let (provider, _) = provider(&config, catalog, &environment, &options, Path::new("/project"))?;
        Ok(provider.name().to_owned())
    }

    fn refusal(values: serde_json::Value, variables: &[(&str, &str)]) -> (String, String) {
        match connect(values, variables).unwrap_err() {
            Error::Usage(message) => (message.text, message.hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_vendor_is_reached_with_its_own_key() {
        for (name, variable) in [
            ("anthropic", "ANTHROPIC_API_KEY"),
            ("openai", "OPENAI_API_KEY"),
            ("gemini", "GEMINI_API_KEY"),
            ("gemini", "GOOGLE_API_KEY"),
        ] {
            let provider = json!({"provider": name});
            assert_eq!(connect(provider.clone(), &[(variable, "sk-1")]).unwrap(), name);
            assert!(refusal(provider, &[("OTHER", "sk-1")]).0.contains("_API_KEY` is not set"));
        }
    }

    #[test]
    fn the_address_is_the_named_one_then_the_variables_then_the_vendors() {
        let address = |access: &Access, values: serde_json::Value, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
            let environment = Environment::of("/project".into(), variables);
            connection(ProviderKind::OpenAi, access, &config(values), &environment).unwrap().base_url
        };
        let key = ("OPENAI_API_KEY", "sk-1");
        let variable = ("OPENAI_BASE_URL", "https://b");
        assert_eq!(address(&OPENAI, json!({"baseUrl": "https://a"}), &[key, variable]), "https://a");
        assert_eq!(address(&OPENAI, json!({}), &[key, variable]), "https://b");
        assert_eq!(address(&OPENAI, json!({}), &[key]), openai::BASE_URL);
        assert_eq!(address(&OPENAI_COMPATIBLE, json!({}), &[variable]), "https://b");
    }

    #[test]
    fn a_server_of_any_kind_needs_an_address_and_a_model_and_no_key() {
        let server = json!({"provider": "openai-compatible", "baseUrl": "http://localhost:11434"});
        assert!(refusal(server.clone(), &[]).1.contains("`--model`"));
        let model = json!({"planner": "qwen3:8b", "executor": "qwen3:8b", "evaluator": "qwen3:8b"});
        let mut whole = server;
        whole["model"] = model;
        assert_eq!(connect(whole.clone(), &[]).unwrap(), "openai-compatible");
        whole["baseUrl"] = json!(null);
        assert!(refusal(whole.clone(), &[]).1.contains("`--base-url`"));
        whole["baseUrl"] = json!("http://example.com");
        assert!(refusal(whole.clone(), &[]).1.contains("`calls.allowPlainHttp`"));
        whole["calls"] = json!({"allowPlainHttp": true});
        assert_eq!(connect(whole, &[]).unwrap(), "openai-compatible");
    }
}
