//! Owns one rule as a person types it: `shell_execute`, or `shell_execute(git *)`.

use std::fmt;

use super::pattern::Pattern;
use super::subject::Kind;
use crate::error::Error;

/// A tool, or those of its calls that match a pattern.
#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    tool: String,
    pattern: Option<Pattern>,
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Nothing stands where the name should be.
    #[error("`{0}` names no tool")]
    NoTool(String),
    /// A parenthesis is opened, and the text does not end by closing it.
    #[error("`{0}` has no closing parenthesis at its end")]
    NotClosed(String),
    /// Nothing stands between the parentheses.
    #[error("`{0}` has no pattern between its parentheses")]
    NoPattern(String),
    /// The pattern of a path has something in it that no path has that it is compared with.
    #[error("the pattern of `{0}` has to be relative to the workspace or absolute, without `..` and `~`")]
    NotPlain(String),
    /// The pattern of a path is no glob.
    #[error("the pattern of `{rule}` is not a glob: {reason}")]
    Glob {
        /// The rule.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl RuleError {
    /// What to do about it.
    pub const HINT: &str = "write it like `file_read` or `shell_execute(git *)`";
}

impl From<RuleError> for Error {
    fn from(error: RuleError) -> Self {
        Self::usage(error.to_string()).hint(RuleError::HINT)
    }
}

impl Rule {
    /// Returns the rule that `text` means; a pattern that everything matches is none.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let tool = tool_of(text);
        let rest = text.split_once('(').map(|(_, rest)| rest);
        if tool.is_empty() {
            return Err(RuleError::NoTool(text.to_owned()));
        }
        let pattern = match rest {
            None => None,
            Some(rest) => pattern(text, tool, rest)?,
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), pattern })
    }

    /// Returns the name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns which calls are meant; all if there is none.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn pattern(rule: &str, tool: &str, rest: &str) -> Result<Option<Pattern>, RuleError> {
    let pattern = rest.strip_suffix(')').ok_or_else(|| RuleError::NotClosed(rule.to_owned()))?.trim();
    if pattern.is_empty() {
        return Err(RuleError::NoPattern(rule.to_owned()));
    }
    let kind = Kind::of_tool(tool);
    let leads_away = |part: &str| part == ".." || part.starts_with('~');
    if kind == Kind::Path && pattern.split('/').any(leads_away) {
        return Err(RuleError::NotPlain(rule.to_owned()));
    }
    Pattern::parse(kind, pattern)
        .map_err(|error| RuleError::Glob { rule: rule.to_owned(), reason: error.to_string() })
}

/// Returns the name of the tool that a text would be a rule about.
pub fn tool_of(text: &str) -> &str {
    text.split_once('(').map_or(text, |(tool, _)| tool).trim()
}

/// Returns the rules in a list that commas separate; a comma in parentheses belongs to its pattern.
pub fn split(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let separates = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    list.split(separates).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_name_with_or_without_a_pattern() {
        for (text, tool, has_pattern) in [
            ("file_read", "file_read", false),
            (" shell_execute(git *) ", "shell_execute", true),
            ("shell_execute (echo (a))", "shell_execute", true),
            ("server__tool(x)", "server__tool", true),
            // What everything matches is as good as no pattern.
            ("shell_execute(*)", "shell_execute", false),
            ("http_request( ** )", "http_request", false),
            ("file_read(**)", "file_read", false),
            ("file_read(**/*)", "file_read", false),
            ("file_read(*)", "file_read", true),
        ] {
            let rule = Rule::parse(text).unwrap();
            assert_eq!((rule.tool(), rule.pattern().is_some()), (tool, has_pattern), "{text}");
            assert_eq!(rule.to_string(), text.trim());
        }
    }

    #[test]
    fn what_is_no_rule_says_what_is_missing() {
        for (text, message) in [
            ("", "`` names no tool"),
            ("(git *)", "`(git *)` names no tool"),
            ("shell_execute(", "`shell_execute(` has no closing parenthesis at its end"),
            ("shell_execute(a) b", "`shell_execute(a) b` has no closing parenthesis at its end"),
            ("shell_execute( )", "`shell_execute( )` has no pattern between its parentheses"),
            (
                "file_read(~/.ssh/**)",
                "the pattern of `file_read(~/.ssh/**)` has to be relative to the workspace or absolute, without `..` and `~`",
            ),
            (
                "file_read(a[)",
                "the pattern of `file_read(a[)` is not a glob: unclosed character class; missing ']'",
            ),
        ] {
            assert_eq!(Rule::parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_comma_in_parentheses_does_not_separate() {
        assert_eq!(split("a, b(x, y(1,2)),c"), ["a", "b(x, y(1,2))", "c"]);
        assert_eq!(split("a),b"), ["a)", "b"]);
        assert_eq!(split("a(b,c"), ["a(b,c"]);
        assert_eq!(split(""), [""]);
    }
}
