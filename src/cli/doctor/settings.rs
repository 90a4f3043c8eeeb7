//! Owns what the doctor says of the configuration: its files, who answers, which models.

use super::finding::Finding;
use crate::cli::args::{DoctorArguments, GlobalArguments};
use crate::cli::layers::{self, Found, Survey};
use crate::cli::said;
use crate::config::{Catalog, Config, Environment, ProviderKind, without_secrets};
use crate::error::Error;
use crate::session::{access, check_base_url};

/// Looks at the files, and returns what those of them that are valid add up to.
pub(super) fn look(
    arguments: &DoctorArguments,
    global: &GlobalArguments,
    environment: &Environment,
) -> Result<(Config, Vec<Finding>), Error> {
    let said = said::doctor(arguments);
    let Survey { places, config, secrets } =
        layers::survey(&arguments.layers, said, &global.variables, environment)?;
    let mut findings: Vec<Finding> = places.into_iter().map(|(name, found)| file(&name, found)).collect();
    match secrets {
        Ok(warnings) => {
            findings.extend(warnings.into_iter().map(|warning| Finding::warn("secrets", warning)));
        }
        Err(error) => findings.push(Finding::broken("secrets", &error)),
    }
    let kind = config.provider.unwrap_or(ProviderKind::Anthropic);
    findings.push(answerer(kind, &config, environment));
    findings.extend(models(kind, &config)?);
    Ok((config, findings))
}

fn file(name: &str, found: Found) -> Finding {
    match found {
        Found::Nothing => Finding::ok("configuration", format!("`{name}` is not there")),
        Found::Valid(_) => Finding::ok("configuration", format!("`{name}` is valid")),
        Found::Faulty(faults) => {
            let first = faults.iter().next().map(|fault| fault.message.clone()).unwrap_or_default();
            let more = match faults.iter().count() {
                0 | 1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            let finding = Finding::fail("configuration", format!("`{name}` has faults: {first}{more}"));
            if name == layers::SET {
                return finding;
            }
            finding.hint(format!("`tepa validate {name}` shows where; without it the rest here is looked at"))
        }
        Found::Unreadable(error) => Finding::broken("configuration", &error),
    }
}

fn answerer(kind: ProviderKind, config: &Config, environment: &Environment) -> Finding {
    let name = kind.name();
    let Some(access) = access(kind) else {
        return Finding::ok("provider", format!("{name}: answers come from a file"));
    };
    let variable = environment.variable(access.base_url_variable);
    let (address, from) = match (&config.base_url, variable, access.base_url) {
        (Some(url), ..) => (url.as_str(), " (configured)".to_owned()),
        (None, Some(url), _) => (url, format!(" (`{}`)", access.base_url_variable)),
        (None, None, Some(url)) => (url, String::new()),
        (None, None, None) => {
            return Finding::fail("provider", format!("{name} needs the address of its server"))
                .hint("give it with `--base-url` or `TEPA_BASE_URL`, such as http://localhost:11434");
        }
    };
    match check_base_url(config) {
        Ok(()) => Finding::ok("provider", format!("{name} at {}{from}", without_secrets(address))),
        Err(error) => Finding::broken("provider", &error),
    }
}

fn models(kind: ProviderKind, config: &Config) -> Result<Vec<Finding>, Error> {
    let catalog = Catalog::load()?;
    let names = config.model.distinct();
    if names.contains(&"") {
        let detail = format!("the provider `{}` has no model unless one is named", kind.name());
        return Ok(vec![Finding::fail("models", detail).hint("name one with `--model` or `TEPA_MODEL`")]);
    }
    let detail = format!(
        "planner {}, executor {}, evaluator {}",
        config.model.planner, config.model.executor, config.model.evaluator
    );
    let mut findings = vec![Finding::ok("models", detail)];
    let knows_all = |name: &&str| catalog.models().any(|(known, _)| known == *name);
    for name in names.iter().filter(|name| !knows_all(name) && catalog.defaults(kind).is_some()) {
        let finding = Finding::warn("models", format!("tepa knows no model `{name}`, and no price for it"));
        findings.push(match catalog.suggest(kind, name) {
            Some(near) => finding.hint(format!("did you mean `{near}`?")),
            None => finding.hint("name its price under `pricing`, if its cost is to be known"),
        });
    }
    Ok(findings)
}
