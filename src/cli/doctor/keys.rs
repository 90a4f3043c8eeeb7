//! Owns what the doctor says of keys and proxies: whether they are set, and never what they are.

use super::finding::Finding;
use crate::config::{Config, Environment, ProviderKind, without_secrets};
use crate::session::{Access, access};

/// Variables by which the system's proxies are named.
const PROXIES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Looks which keys there are.
pub(super) fn look(config: &Config, environment: &Environment) -> Vec<Finding> {
    let used = config.provider.unwrap_or(ProviderKind::Anthropic);
    let providers = ProviderKind::ALL.into_iter().filter_map(|kind| Some((kind, access(kind)?)));
    let mut findings: Vec<Finding> =
        providers.map(|(kind, access)| key(kind, access, kind == used, environment)).collect();
    let proxies = PROXIES.iter().filter_map(|name| {
        environment.variable(name).map(|value| format!("{name}={}", without_secrets(value)))
    });
    let proxies: Vec<String> = proxies.collect();
    if !proxies.is_empty() {
        findings.push(Finding::ok("proxy", proxies.join(", ")));
    }
    findings
}

fn key(kind: ProviderKind, access: &Access, used: bool, environment: &Environment) -> Finding {
    let name = kind.name();
    match access.keys.iter().find(|variable| environment.variable(variable).is_some()) {
        Some(variable) => Finding::ok("key", format!("{name}: set (`{variable}`)")),
        None if used && access.key_needed => {
            let variable = access.keys[0];
            Finding::fail("key", format!("{name}: missing (`{variable}`)")).hint(format!(
                "export {variable}, or run without a key on scripted replies: `--provider replay`"
            ))
        }
        None if used => Finding::ok("key", format!("{name}: missing, and perhaps not needed by its server")),
        None => Finding::ok("key", format!("{name}: missing, not used")),
    }
}
