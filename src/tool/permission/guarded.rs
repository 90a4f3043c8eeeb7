//! Owns a tool that is held to rules: it tells models which calls are allowed, and makes no other.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::command::Unclear;
use super::rule::Rule;
use super::subject::{Kind, Subject, described};
use crate::text;
use crate::tool::{AnyTool, Effect, ToolContext, ToolError, ToolSchema, check_params};

/// How many characters of a call are repeated when it is denied.
const LONGEST_SHOWN: usize = 200;

/// A tool and the rules with patterns that are about it.
pub(super) struct Guarded {
    tool: Arc<dyn AnyTool>,
    schema: ToolSchema,
    /// Empty when every call is allowed that is not denied.
    allowed: Vec<Rule>,
    denied: Vec<Rule>,
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Denial {
    #[error("Tool \"{tool}\" was denied by the rule `{rule}`")]
    Denied { tool: String, rule: String },
    #[error("Tool \"{tool}\" was denied: no rule allows `{what}` (allowed: {})", text::ticked(.allowed))]
    NotAllowed { tool: String, what: String, allowed: Vec<String> },
    #[error(
        "Tool \"{tool}\" was denied: no rule allows `{what}`, and patterns do not see through {why} (allowed: {})",
        text::ticked(.allowed)
    )]
    Unclear { tool: String, what: String, why: Unclear, allowed: Vec<String> },
}

impl Guarded {
    pub(super) fn new(tool: Arc<dyn AnyTool>, allowed: Vec<Rule>, denied: Vec<Rule>) -> Self {
        let mut schema = tool.schema().clone();
        schema.description = told(&schema, &allowed, &denied);
        Self { tool, schema, allowed, denied }
    }

    fn check(&self, subject: &Subject, root: &Path) -> Result<(), Denial> {
        let tool = self.schema.name.clone();
        let matches = |rule: &&Rule, text: &str| rule.pattern().is_none_or(|p| p.matches(text, root));
        let denies = |rule: &&Rule| subject.exposed.iter().any(|text| matches(rule, text));
        if let Some(rule) = self.denied.iter().find(denies) {
            return Err(Denial::Denied { tool, rule: rule.to_string() });
        }
        let exactly = |rule: &Rule| rule.pattern().is_some_and(|p| p.is_exactly(&subject.whole));
        if self.allowed.is_empty() || self.is_command() && self.allowed.iter().any(exactly) {
            return Ok(());
        }
        let allowed = self.allowed.iter().map(ToString::to_string).collect();
        let shown = |text: &str| text::truncate(text, LONGEST_SHOWN).into_owned();
        match &subject.parts {
            Err(why) => Err(Denial::Unclear { tool, what: shown(&subject.whole), why: *why, allowed }),
            Ok(parts) => {
                match parts.iter().find(|part| !self.allowed.iter().any(|rule| matches(&rule, part))) {
                    Some(part) => Err(Denial::NotAllowed { tool, what: shown(part), allowed }),
                    None => Ok(()),
                }
            }
        }
    }

    fn is_command(&self) -> bool {
        Kind::of_tool(&self.schema.name) == Kind::Command
    }
}

impl AnyTool for Guarded {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            // What was looked at is what the tool is handed.
            let params = check_params(params, &self.schema.parameters)
                .map_err(|error| ToolError::new(error.to_string()))?;
            let workspace = context.workspace();
            if let Some(subject) = Subject::of(&self.schema, &params, workspace)? {
                self.check(&subject, workspace.root())
                    .map_err(|denial| ToolError::new(denial.to_string()))?;
            }
            self.tool.invoke(params, context).await
        })
    }
}

/// Returns the description of a tool with what its rules say.
fn told(schema: &ToolSchema, allowed: &[Rule], denied: &[Rule]) -> String {
    let mut told = schema.description.clone();
    let subject = described(schema);
    let patterns =
        |rules: &[Rule]| text::ticked_or(rules.iter().filter_map(|rule| Some(rule.pattern()?.text())));
    if !allowed.is_empty() {
        told.push_str(&format!(
            " Here only calls whose {subject} matches {} are allowed.",
            patterns(allowed)
        ));
        if Kind::of_tool(&schema.name) == Kind::Command {
            told.push_str(
                " Every command of a line has to match, and redirections, substitutions, variables before a command, \
                 comments and compound commands are not allowed.",
            );
        }
    }
    if !denied.is_empty() {
        told.push_str(&format!(" Calls whose {subject} matches {} are denied.", patterns(denied)));
    }
    told
}
