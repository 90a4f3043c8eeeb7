//! Owns the rules about one tool: whether they allow a call, and what models are told of them.

use serde_json::Value;

use super::command::Unclear;
use super::rule::Rule;
use super::subject::{Kind, Subject, described};
use crate::text;
use crate::tool::{ToolError, ToolSchema};
use crate::workspace::Workspace;

/// How many characters of a call are repeated when it is denied.
const LONGEST_SHOWN: usize = 200;

/// What models are told where only some commands are allowed.
const OF_COMMANDS: &str = " Every command of a line has to match, and redirections, substitutions, variables before a command, comments \
                           and compound commands are not allowed.";

/// What is allowed of one tool, and what is denied.
pub(super) struct Rules {
    /// Rules with patterns; empty when every call is allowed that is not denied.
    pub(super) allowed: Vec<Rule>,
    /// They win.
    pub(super) denied: Vec<Rule>,
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

impl Rules {
    /// Fails when a call with checked parameters is not to be made.
    pub(super) fn check(
        &self,
        schema: &ToolSchema,
        params: &Value,
        workspace: &Workspace,
    ) -> Result<(), ToolError> {
        let Some(subject) = Subject::of(schema, params, workspace)? else { return Ok(()) };
        let tool = schema.name.clone();
        self.judge(tool, &subject, workspace).map_err(|denial| ToolError::new(denial.to_string()))
    }

    fn judge(&self, tool: String, subject: &Subject, workspace: &Workspace) -> Result<(), Denial> {
        let root = workspace.root();
        let matches = |rule: &Rule, text: &str| rule.pattern().is_none_or(|p| p.matches(text, root));
        let denies = |rule: &&Rule| subject.exposed.iter().any(|text| matches(rule, text));
        if let Some(rule) = self.denied.iter().find(denies) {
            return Err(Denial::Denied { tool, rule: rule.to_string() });
        }
        // Who writes a whole line down, without a `*`, means all that is in it.
        let exactly = |rule: &Rule| rule.pattern().is_some_and(|p| p.is_exactly(&subject.whole));
        let is_command = Kind::of_tool(&tool) == Kind::Command;
        if self.allowed.is_empty() || is_command && self.allowed.iter().any(exactly) {
            return Ok(());
        }
        let allowed = self.allowed.iter().map(ToString::to_string).collect();
        let shown = |text: &str| text::truncate(text, LONGEST_SHOWN).into_owned();
        match &subject.parts {
            Err(why) => Err(Denial::Unclear { tool, what: shown(&subject.whole), why: *why, allowed }),
            Ok(parts) => match parts.iter().find(|part| !self.allowed.iter().any(|rule| matches(rule, part)))
            {
                Some(part) => Err(Denial::NotAllowed { tool, what: shown(part), allowed }),
                None => Ok(()),
            },
        }
    }

    /// Returns the description of a tool with what its rules say.
    pub(super) fn told(&self, schema: &ToolSchema) -> String {
        let mut told = schema.description.clone();
        let subject = described(schema);
        let patterns =
            |rules: &[Rule]| text::ticked_or(rules.iter().filter_map(|rule| Some(rule.pattern()?.text())));
        if !self.allowed.is_empty() {
            let patterns = patterns(&self.allowed);
            told.push_str(&format!(" Here only calls whose {subject} matches {patterns} are allowed."));
            if Kind::of_tool(&schema.name) == Kind::Command {
                told.push_str(OF_COMMANDS);
            }
        }
        if !self.denied.is_empty() {
            told.push_str(&format!(" Calls whose {subject} matches {} are denied.", patterns(&self.denied)));
        }
        told
    }
}
