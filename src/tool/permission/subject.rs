//! Owns what a rule looks at in a call: a command, a path, a URL, or a text, of which tool in which parameter.
//!
//! A path counts as it is written and as it leads, links followed. A search counts as the folder that it begins in, and data that are
//! given and not read from a file are about no path: nothing is touched that a rule could be about.

use serde_json::Value;

use super::command::{Unclear, simple_commands};
use super::fragments::fragments;
use crate::tool::{ParameterType, ToolError, ToolSchema};
use crate::workspace::Workspace;

/// What the subject of a tool's calls is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A path.
    Path,
    /// A command line.
    Command,
    /// A URL.
    Address,
    /// Anything else.
    Text,
}

/// The tools that come with tepa: what their calls are about, and the parameter that says it.
const KNOWN: [(&str, Kind, &str); 10] = [
    ("shell_execute", Kind::Command, "command"),
    ("file_read", Kind::Path, "path"),
    ("file_write", Kind::Path, "path"),
    ("directory_list", Kind::Path, "path"),
    ("file_search", Kind::Path, "cwd"),
    ("data_parse", Kind::Path, "input"),
    ("http_request", Kind::Address, "url"),
    ("web_search", Kind::Address, "endpoint"),
    ("scratchpad", Kind::Text, "key"),
    ("log_observe", Kind::Text, "message"),
];

impl Kind {
    /// Returns what the calls of a tool are about.
    pub(super) fn of_tool(tool: &str) -> Self {
        KNOWN.iter().find(|known| known.0 == tool).map_or(Self::Text, |known| known.1)
    }
}

/// What one call is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// As a whole, for people.
    pub(super) whole: String,
    /// What has to be allowed, each by itself; or why that cannot be said.
    pub(super) parts: Result<Vec<String>, Unclear>,
    /// What denies the call when it is denied.
    pub(super) exposed: Vec<String>,
}

impl Subject {
    fn plain(text: String) -> Self {
        Self { parts: Ok(vec![text.clone()]), exposed: vec![text.clone()], whole: text }
    }

    /// Returns what a call with checked parameters is about; nothing when it is about no path where rules are about paths.
    ///
    /// # Errors
    /// A path that cannot be used.
    pub(super) fn of(
        schema: &ToolSchema,
        params: &Value,
        workspace: &Workspace,
    ) -> Result<Option<Self>, ToolError> {
        let kind = Kind::of_tool(&schema.name);
        let given = parameter(schema).and_then(|name| params.get(name)?.as_str());
        let Some(given) = given else {
            return Ok(Some(Self::plain(params.to_string())));
        };
        Ok(Some(match kind {
            Kind::Text => Self::plain(given.to_owned()),
            Kind::Address => Self::address(given),
            Kind::Command => Self::command(given),
            Kind::Path => match path(&schema.name, given, params) {
                None => return Ok(None),
                Some(path) => Self::path(&path, workspace)?,
            },
        }))
    }

    fn command(given: &str) -> Self {
        let parts = simple_commands(given).map(|parts| parts.into_iter().map(str::to_owned).collect());
        Self { whole: given.trim().to_owned(), parts, exposed: fragments(given) }
    }

    /// What is asked for counts, and what was written may be denied as well.
    fn address(given: &str) -> Self {
        let asked = reqwest::Url::parse(given).map_or_else(
            |_| given.to_owned(),
            |mut url| {
                // URLs without a host cannot have a name or a password, and say so.
                let _ = (url.set_username(""), url.set_password(None));
                url.into()
            },
        );
        Self { exposed: vec![given.to_owned(), asked.clone()], ..Self::plain(asked) }
    }

    fn path(path: &str, workspace: &Workspace) -> Result<Self, ToolError> {
        let fail = |error: crate::workspace::WorkspaceError| ToolError::new(error.to_string());
        let written = workspace.relative(path).map_err(fail)?;
        let mut forms = vec![written.to_string_lossy().into_owned()];
        let resolved = workspace.resolved(path).map_err(fail)?;
        if resolved != written {
            forms.push(resolved.to_string_lossy().into_owned());
        }
        Ok(Self { whole: forms[0].clone(), parts: Ok(forms.clone()), exposed: forms })
    }
}

/// Returns what a pattern is held against, in words for a model.
pub(super) fn described(schema: &ToolSchema) -> String {
    match (schema.name.as_str(), parameter(schema)) {
        ("file_search", Some(name)) => format!("`{name}` (with the fixed beginning of `pattern`)"),
        ("data_parse", Some(name)) => format!("`{name}` (when it is a path)"),
        (_, Some(name)) => format!("`{name}`"),
        (_, None) => "list of parameters, as JSON,".to_owned(),
    }
}

/// Returns the parameter that says what a call is about; of other tools' it is the first text that every call has.
fn parameter(schema: &ToolSchema) -> Option<&str> {
    if let Some((_, _, name)) = KNOWN.iter().find(|known| known.0 == schema.name) {
        return Some(name);
    }
    let text = schema
        .parameters
        .iter()
        .find(|(_, definition)| definition.kind == ParameterType::String && definition.is_required());
    text.map(|(name, _)| name.as_str())
}

fn path(tool: &str, given: &str, params: &Value) -> Option<String> {
    let pattern = params.get("pattern").and_then(Value::as_str);
    match tool {
        "data_parse" if params.get("fromFile") != Some(&Value::Bool(true)) => None,
        "file_search" => {
            Some([given].into_iter().chain(fixed(pattern.unwrap_or_default())).collect::<Vec<_>>().join("/"))
        }
        _ => Some(given.to_owned()),
    }
}

/// Returns the parts of a glob that hold nothing special, up to the first that does.
fn fixed(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\']))
}
