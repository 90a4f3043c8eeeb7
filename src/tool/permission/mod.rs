//! Owns permission rules: which tools a run has, and which calls of them it may make.
//!
//! A rule is a tool's name, or a name with a pattern of calls. Denying wins. A rule that cannot be read is refused and never left out: a
//! list that loses an entry would allow more than it says, or less.

mod command;
mod fragments;
mod guarded;
mod pattern;
mod rule;
mod rules;
mod subject;

use std::sync::Arc;

use guarded::Guarded;
pub use rule::{Rule, RuleError, split, tool_of};
use rules::Rules;

use super::Registry;

/// Returns the tools that the rules leave, each held to the rules that are about it; all tools when nothing is allowed by name.
///
/// # Errors
/// A rule that cannot be read.
pub fn apply(mut registry: Registry, allowed: &[String], denied: &[String]) -> Result<Registry, RuleError> {
    let allowed = parsed(allowed)?;
    let denied = parsed(denied)?;
    registry.retain(|name| {
        let is_allowed = allowed.is_empty() || allowed.iter().any(|rule| rule.tool() == name);
        is_allowed && !about(name, &denied).any(|rule| rule.pattern().is_none())
    });
    registry.replace_each(|tool| {
        let free = about(tool.name(), &allowed).any(|rule| rule.pattern().is_none());
        let allowed = about(tool.name(), &allowed).filter(|_| !free).cloned().collect::<Vec<_>>();
        let denied = about(tool.name(), &denied).cloned().collect::<Vec<_>>();
        if allowed.is_empty() && denied.is_empty() {
            return tool;
        }
        Arc::new(Guarded::new(tool, Rules { allowed, denied }))
    });
    Ok(registry)
}

fn parsed(rules: &[String]) -> Result<Vec<Rule>, RuleError> {
    rules.iter().map(|rule| Rule::parse(rule)).collect()
}

fn about<'a>(tool: &'a str, rules: &'a [Rule]) -> impl Iterator<Item = &'a Rule> {
    rules.iter().filter(move |rule| rule.tool() == tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Tool, ToolContext, ToolError, ToolSchema, erase};

    struct Named<const N: usize>;

    macro_rules! named {
        ($at:literal, $name:literal) => {
            impl Tool for Named<$at> {
                const NAME: &'static str = $name;
                type Args = ();
                type Output = ();

                fn schema(&self) -> ToolSchema {
                    ToolSchema::new(Self::NAME, "Does.")
                }

                async fn call(&self, (): (), _: &ToolContext) -> Result<(), ToolError> {
                    Ok(())
                }
            }
        };
    }

    named!(0, "one");
    named!(1, "two");
    named!(2, "three");

    /// Returns the names that are left, with a mark on those that are held to rules.
    fn left(allowed: &[&str], denied: &[&str]) -> Result<Vec<String>, String> {
        let mut registry = Registry::default();
        for tool in [erase(Named::<0>), erase(Named::<1>), erase(Named::<2>)] {
            registry.register(tool).unwrap();
        }
        let owned = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect::<Vec<_>>();
        let registry = apply(registry, &owned(allowed), &owned(denied)).map_err(|error| error.to_string())?;
        let mark = |schema: &ToolSchema| if schema.description == "Does." { "" } else { "!" };
        Ok(registry.schemas().iter().map(|schema| format!("{}{}", schema.name, mark(schema))).collect())
    }

    #[test]
    fn a_tool_is_there_when_it_is_allowed_and_not_denied() {
        for (allowed, denied, expected) in [
            (&[][..], &[][..], &["one", "two", "three"][..]),
            (&["two", "one"], &[], &["one", "two"]),
            (&["two(x)"], &[], &["two!"]),
            (&["two(x)", "two"], &[], &["two"]),
            (&["two(x)", "two(*)"], &[], &["two"]),
            (&[], &["one", "two(x)"], &["two!", "three"]),
            (&["one", "two"], &["one", "three"], &["two"]),
            (&["one", "two(x)"], &["two(*)"], &["one"]),
            (&["one"], &["one"], &[]),
        ] {
            assert_eq!(left(allowed, denied).unwrap(), expected, "{allowed:?} {denied:?}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_refused() {
        assert_eq!(left(&["one("], &[]).unwrap_err(), "`one(` has no closing parenthesis at its end");
    }
}
