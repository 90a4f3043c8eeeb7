//! Owns the form in which values are shown to models: what tepa says in plain words, what others wrote in envelopes that they cannot close.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::criteria::Criterion;
use super::room::{Cut, Piece};
use crate::config::Models;
use crate::event::Form;
use crate::outcome::{CheckResult, Entries, Evidence, Part};
use crate::prompt::{ExpectedOutput, Prompt};
use crate::text;
use crate::tool::{EXECUTION_SUMMARY, Registry, ToolSchema};
use crate::turn::TrustTier;

/// The seeds' limit for a step's output in the evaluator's message, in characters.
const OUTPUT_LIMIT: usize = 500;

/// How much of a long output stays at each end in `_execution_summary` as it is shown, in characters.
const SUMMARY_HEAD: usize = 1500;
const SUMMARY_TAIL: usize = 500;

/// The key in a step of `_execution_summary` that says where its whole output is.
const WHOLE_OUTPUT: &str = "wholeOutput";

/// What stands in the place of a map without keys.
const NOTHING: &str = "(empty)";

/// Text that somebody else wrote, as the templates put it into its envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Material<'t> {
    /// What makes its tags its own; without one it stands bare.
    mark: Option<String>,
    kind: &'static str,
    tool: Option<String>,
    content: Cow<'t, str>,
    /// What there was no room for.
    cut: Option<Cut<'t>>,
}

impl<'t> Material<'t> {
    /// Returns text in an envelope with this mark, which was shown to nobody before the text was finished.
    pub(super) fn of(kind: &'static str, mark: String, content: impl Into<Piece<'t>>) -> Self {
        let Piece { content, cut } = content.into();
        Self { mark: Some(mark), kind, tool: None, content, cut }
    }

    /// Returns what tools returned; without an envelope if all of them are trusted.
    pub(super) fn returned(
        tools: &[String],
        trusted: &[String],
        mark: String,
        content: impl Into<Piece<'t>>,
    ) -> Self {
        if tools.is_empty() {
            return Self::of("step-result", mark, content);
        }
        let bare = tools.iter().all(|tool| trusted.contains(tool));
        let tool = Some(attribute(&tools.join(", ")));
        let whole = Self::of("tool-result", mark, content);
        Self { mark: whole.mark.filter(|_| !bare), tool, ..whole }
    }

    /// Returns a passage that somebody else wrote, with where it was found.
    pub(super) fn retrieved(tier: TrustTier, mark: String, source: Option<&str>, content: &'t str) -> Self {
        let kind = match tier {
            TrustTier::ThirdPartyPrivate => "retrieved-third-party-private",
            _ => "retrieved-third-party-public",
        };
        Self { tool: source.map(attribute), ..Self::of(kind, mark, content) }
    }

    /// Returns tepa's own words, which need no envelope.
    pub(super) fn plain(content: impl Into<Cow<'t, str>>) -> Self {
        Self { mark: None, kind: "", tool: None, content: content.into(), cut: None }
    }
}

/// Returns text as it can stand in an attribute of a tag.
pub(super) fn attribute(text: &str) -> String {
    let unfit = |c: char| c.is_control() || matches!(c, '"' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if unfit(c) { '_' } else { c }).collect()
}

/// Returns text as it is and anything else as indented JSON.
pub(super) fn value(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        other => pretty(other).into(),
    }
}

/// Returns a map as indented JSON.
pub(super) fn map<'v>(map: impl IntoIterator<Item = (&'v String, &'v Value)>) -> String {
    let map: IndexMap<&String, &Value> = map.into_iter().collect();
    if map.is_empty() { NOTHING.to_owned() } else { pretty(&map) }
}

/// Returns `_execution_summary` as it is shown: long outputs of the last cycle's steps are cut, each with where `place` says that it is.
///
/// # Errors
/// Those of `place`.
pub(super) fn summary<E>(
    whole: &Value,
    place: impl Fn(&str, Form) -> Result<Option<String>, E>,
) -> Result<Value, E> {
    let Some(steps) = whole.as_array() else { return Ok(whole.clone()) };
    let step = |step: &Value| {
        let mut shown = Map::new();
        let Some(step) = step.as_object() else { return Ok(step.clone()) };
        for (key, value) in step {
            let text = if key == "output" { self::value(value) } else { Cow::Borrowed("") };
            match text::head_tail(&text, SUMMARY_HEAD, SUMMARY_TAIL) {
                Cow::Owned(cut) => {
                    shown.insert(key.clone(), cut.into());
                    let place = place(&text, if value.is_string() { Form::Text } else { Form::Json })?;
                    shown.extend(place.map(|place| (WHOLE_OUTPUT.to_owned(), place.into())));
                }
                Cow::Borrowed(_) => {
                    shown.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(Value::Object(shown))
    };
    steps.iter().map(step).collect()
}

/// Returns the scratchpad with this in the place of `_execution_summary`.
pub(super) fn entries(entries: &Entries, summary: Option<&Value>) -> String {
    map(entries.iter().map(|(key, value)| {
        let summary = summary.filter(|_| key == EXECUTION_SUMMARY);
        (key, summary.unwrap_or(value))
    }))
}

/// Returns the text of a scratchpad as models see it.
pub(super) fn scratchpad<'t>(text: impl Into<Piece<'t>>, mark: String) -> Material<'t> {
    let text = text.into();
    if text.content == NOTHING { Material::plain(NOTHING) } else { Material::of("scratchpad", mark, text) }
}

/// Returns the scratchpad as the judge sees it: the last cycle's steps have a section of their own.
pub(super) fn entries_for_judge(entries: &Entries) -> String {
    let others = entries.iter().filter(|(key, _)| *key != EXECUTION_SUMMARY);
    map(others.map(|(key, value)| (key, &**value)))
}

/// Returns a step's error as far as the judge sees it: at most 500 characters.
pub(super) fn error(error: &str) -> Cow<'_, str> {
    text::truncate(error, OUTPUT_LIMIT)
}

/// Returns the expected output: its sentence, or one block per artifact with its criteria as a checklist.
pub(super) fn expected_output(prompt: &Prompt) -> String {
    let list = match &prompt.expected_output {
        ExpectedOutput::Text(text) => return text.clone(),
        ExpectedOutput::List(list) => list,
    };
    let mut blocks = Vec::with_capacity(list.len());
    for (at, expected) in list.iter().enumerate() {
        let place = expected.path.as_ref().map(|path| format!("`{path}`: ")).unwrap_or_default();
        let mut block = format!("{}. {place}{}", at + 1, expected.description);
        for criterion in &expected.criteria {
            block.push_str("\n   - [ ] ");
            block.push_str(criterion);
        }
        blocks.push(block);
    }
    blocks.join("\n")
}

/// Returns a step's output as far as the judge sees it: at most 500 characters.
pub(super) fn output(output: &Value) -> Option<String> {
    match output {
        Value::Null => None,
        output => Some(text::truncate(&value(output), OUTPUT_LIMIT).into_owned()),
    }
}

/// Returns the words of a step's output that may be quoted: its texts and numbers, and not the keys that a tool puts around them.
pub(super) fn words(output: &Value) -> Vec<String> {
    match output {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text::truncate(text, OUTPUT_LIMIT).into_owned()],
        Value::Array(items) => items.iter().flat_map(words).collect(),
        Value::Object(map) => map.values().flat_map(words).collect(),
        other => vec![other.to_string()],
    }
}

/// Returns evidence as the judge sees it; `mark` makes the mark of one of its parts.
pub(super) fn evidence(evidence: &Evidence, mark: impl Fn(usize) -> String) -> Value {
    let shape = evidence.shape.as_ref();
    json!({
        "id": evidence.id,
        "path": evidence.path,
        "summary": evidence.summary,
        "shape": shape.map(|shape| Material::of("file-content", mark(evidence.parts.len()), shape)),
        "parts": evidence.parts.iter().enumerate().map(|(at, part)| self::part(part, mark(at))).collect::<Vec<_>>(),
    })
}

fn part(part: &Part, mark: String) -> Material<'_> {
    match part {
        Part::Material(text) => Material::of("file-content", mark, text),
        Part::Note(note) => Material::plain(note),
    }
}

/// Returns the criteria that the judge has to answer for.
pub(super) fn criteria(criteria: &[Criterion]) -> Vec<Value> {
    criteria.iter().map(|one| json!({"id": one.id, "evidence": one.evidence, "text": one.text})).collect()
}

/// Returns the checks as the judge sees them; that a file exists is among the facts on disk.
pub(super) fn checks(checks: &[CheckResult], mark: impl Fn(usize) -> String) -> Vec<Value> {
    let told = checks.iter().filter(|check| check.check != "exists");
    told.enumerate()
    .map(|(at, check)| {
        let of = check.path.as_ref().map(|path| format!(" of `{path}`")).unwrap_or_default();
        json!({
            "name": format!("`{}`{of}", check.check),
            "outcome": if check.passed { "passed" } else { "failed" },
            "found": Material::of("check", mark(at), format!("expected {}\nfound {}", check.expected, check.actual)),
        })
    })
    .collect()
}

/// Returns the tools as the planner's template lists them.
pub(super) fn tools(registry: &Registry) -> Vec<Value> {
    registry.schemas().into_iter().map(tool).collect()
}

fn tool(schema: &ToolSchema) -> Value {
    let parameters: Map<String, Value> = schema
        .parameters
        .iter()
        .map(|(name, definition)| {
            let mut shown = json!(definition);
            shown["isRequired"] = json!(definition.is_required());
            (name.clone(), shown)
        })
        .collect();
    json!({"name": schema.name, "description": schema.description, "parameters": parameters})
}

/// Returns the models that a step may name, each with what it is configured for.
pub(super) fn models(models: &Models) -> Vec<Value> {
    let roles = [
        ("planning", &models.planner),
        ("executing steps", &models.executor),
        ("evaluating", &models.evaluator),
    ];
    let used_for = |name: &str| -> Vec<&str> {
        roles.iter().filter(|(_, model)| model.as_str() == name).map(|(role, _)| *role).collect()
    };
    models
        .distinct()
        .into_iter()
        .map(|name| json!({"name": name, "role": format!("configured for {}", used_for(name).join(" and "))}))
        .collect()
}

fn pretty(value: &impl Serialize) -> String {
    // Maps with string keys, lists and scalars always have a JSON form.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_an_attribute_cannot_leave_it() {
        assert_eq!(attribute("a\"><b>\n&c"), "a___b___c");
    }

    #[test]
    fn only_tools_that_are_all_trusted_return_bare_text() {
        let tools = ["a".to_owned(), "b".to_owned()];
        let mark = |trusted: &[String]| Material::returned(&tools, trusted, "m".into(), "x").mark;
        assert_eq!(mark(&tools), None);
        assert_eq!(mark(&tools[..1]), Some("m".to_owned()));
        assert_eq!(Material::returned(&[], &tools, "m".into(), "x").kind, "step-result");
    }

    #[test]
    fn a_long_output_is_cut_for_the_judge() {
        assert_eq!(output(&json!("x".repeat(600))).unwrap().matches('x').count(), 499);
        assert_eq!(output(&Value::Null), None);
    }
}
