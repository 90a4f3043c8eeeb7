//! Owns what the doctor finds out over the network, when it is told to: one cheap request to each provider that could answer.

use std::time::{Duration, Instant};

use super::finding::Finding;
use crate::cli::runtime;
use crate::config::{Config, Environment, ProviderKind};
use crate::session::{access, reach};

/// How long a provider may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks the provider that is used, and every other one whose key is set.
pub(super) fn look(online: bool, config: &Config, environment: &Environment) -> anyhow::Result<Vec<Finding>> {
    if !online {
        return Ok(vec![
            Finding::ok("endpoint", "not asked").hint("`--online` asks whether providers answer"),
        ]);
    }
    let used = config.provider.unwrap_or(ProviderKind::Anthropic);
    let has_key = |kind: ProviderKind| {
        access(kind).is_some_and(|access| {
            access.key_needed && access.keys.iter().any(|name| environment.variable(name).is_some())
        })
    };
    let asked = ProviderKind::ALL.into_iter().filter(|kind| access(*kind).is_some());
    let asked: Vec<ProviderKind> = asked.filter(|kind| *kind == used || has_key(*kind)).collect();
    let looking = async {
        let each = asked.iter().map(|kind| one(*kind, *kind == used, config, environment));
        futures_util::future::join_all(each).await
    };
    let findings =
        runtime::block_on(environment, async |cancel| runtime::unless_stopped(&cancel, looking).await)??;
    Ok(findings)
}

async fn one(kind: ProviderKind, used: bool, config: &Config, environment: &Environment) -> Finding {
    let name = kind.name();
    // The address of the configuration is that of the provider that is used.
    let own = Config { base_url: config.base_url.clone().filter(|_| used), ..config.clone() };
    let began = Instant::now();
    let bad = |detail: String| {
        if used { Finding::fail("endpoint", detail) } else { Finding::warn("endpoint", detail) }
    };
    let Ok(answer) = tokio::time::timeout(LIMIT, reach(kind, &own, environment)).await else {
        return bad(format!("{name}: no answer in {} s", LIMIT.as_secs()))
            .hint("look at the network, the proxy and the address");
    };
    let took = began.elapsed().as_millis();
    match answer {
        Ok(status @ 200..=299) => Finding::ok("endpoint", format!("{name}: answers ({status}) in {took} ms")),
        Ok(status @ (401 | 403)) => bad(format!("{name}: answers in {took} ms and refuses the key ({status})"))
            .hint("the key is wrong, was taken back, or is one for something else: make a new one, and look that it has no blanks or quotes around it"),
        Ok(status @ 404) => Finding::warn("endpoint", format!("{name}: answers ({status}) in {took} ms, and has no list of models"))
            .hint("a server of one's own need not have one; else look at the address"),
        Ok(429) => Finding::warn("endpoint", format!("{name}: answers in {took} ms that it is asked too often (429)"))
            .hint("wait, or look at the limits of the account"),
        Ok(status) => bad(format!("{name}: answers with {status} in {took} ms")).hint("look whether the provider has an outage"),
        Err(error) => {
            let finding = Finding::broken("endpoint", &error);
            if used { finding } else { finding.only_a_warning() }
        }
    }
}
