//! Owns the names of models that a configuration gives, as far as they can be known.

use serde::Deserialize as _;
use serde_json::Value;

use crate::config::{Catalog, ProviderKind};
use crate::source::{Diagnostic, Diagnostics, Document};

/// Warns of models that the provider of the same file is not known to have; behind another address there may be any.
pub(in crate::cli) fn check(document: &Document, faults: &mut Diagnostics) {
    let root = document.value();
    let provider = root.get("provider").and_then(|kind| ProviderKind::deserialize(kind).ok());
    let (Some(provider), None, Ok(catalog)) = (provider, root.get("baseUrl"), Catalog::load()) else {
        return;
    };
    if catalog.defaults(provider).is_none() {
        return;
    }
    let mut named = Vec::new();
    match root.get("model") {
        Some(Value::String(name)) => named.push(("/model".to_owned(), name)),
        Some(Value::Object(roles)) => named.extend(roles.iter().filter_map(|(role, name)| match name {
            Value::String(name) => Some((format!("/model/{role}"), name)),
            _ => None,
        })),
        _ => {}
    }
    let priced = |name: &str| root.get("pricing").is_some_and(|pricing| pricing.get(name).is_some());
    for (pointer, name) in named {
        if catalog.serves(provider, name) || priced(name) {
            continue;
        }
        let message = format!("`{name}` is no model of `{}` that tepa knows", provider.name());
        let fault = Diagnostic::warning("unknown-model", message).at(document.span_of_value(&pointer));
        let hint = match catalog.suggest(provider, name) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "check the name; a price under `pricing` makes it known".to_owned(),
        };
        faults.push(fault.hint(hint));
    }
}
