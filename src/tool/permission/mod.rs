//! Owns permission rules: which tools a run has, and which calls of them it may make.
//!
//! A rule is a tool's name, or a name with a pattern of calls. Denying wins. A rule that cannot be read is refused and never left out: a
//! list that loses an entry would allow more than it says, or less.

mod command;
mod fragments;
mod guarded;
mod pattern;
mod rule;
mod subject;

use std::sync::Arc;

use guarded::Guarded;
pub use rule::{Rule, RuleError, split};

use super::Registry;
use crate::error::Error;

/// Returns the tools that the rules leave, each held to the rules that are about it; all tools when nothing is allowed by name.
///
/// # Errors
/// A rule that cannot be read, or rules that leave nothing.
pub fn apply(mut registry: Registry, allowed: &[String], denied: &[String]) -> Result<Registry, Error> {
    let allowed = parsed(allowed)?;
    let denied = parsed(denied)?;
    registry.retain(|name| {
        let is_allowed = allowed.is_empty() || allowed.iter().any(|rule| rule.tool() == name);
        is_allowed && !about(name, &denied).any(|rule| rule.pattern().is_none())
    });
    if registry.names().is_empty() {
        return Err(Error::usage("the rules leave no tool")
            .hint("allow one with `tools` or `--tools`, or take it out of `denyTools` and `--deny-tool`"));
    }
    registry.replace_each(|tool| {
        let free = about(tool.name(), &allowed).any(|rule| rule.pattern().is_none());
        let allowed = about(tool.name(), &allowed).filter(|_| !free).cloned().collect::<Vec<_>>();
        let denied = about(tool.name(), &denied).cloned().collect::<Vec<_>>();
        if allowed.is_empty() && denied.is_empty() {
            return tool;
        }
        Arc::new(Guarded::new(tool, allowed, denied))
    });
    Ok(registry)
}

fn parsed(rules: &[String]) -> Result<Vec<Rule>, RuleError> {
    rules.iter().map(|rule| Rule::parse(rule)).collect()
}

fn about<'a>(tool: &'a str, rules: &'a [Rule]) -> impl Iterator<Item = &'a Rule> {
    rules.iter().filter(move |rule| rule.tool() == tool)
}
