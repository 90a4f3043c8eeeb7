//! What is wrong with one file: every fault with its place, sorted, for people and for machines.
//!
//! Faults are data, not errors: nothing stops at the first one. It refuses to flood people: the first
//! [`MOST_SHOWN`] are shown, the rest is counted. Machines get them all.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use super::file::SourceFile;
use super::snippet;
use super::span::Span;
use crate::text::{self, clean};

/// How many diagnostics of one file are rendered at most.
pub const MOST_SHOWN: usize = 100;

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably does not mean what it seems to.
    Warning,
}

/// One thing that is wrong, in words, with the place it is wrong at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name of the kind of fault, in kebab case.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where it is wrong, unless the file as a whole is.
    pub span: Option<Span>,
    /// A few words that stand beside the caret.
    pub label: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Returns an error without place or hint.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), span: None, label: None, hint: None }
    }

    /// Returns a warning without place or hint.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Sets the place; a pointer that led nowhere may be passed on as `None`.
    #[must_use]
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// Sets the words beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the hint unless there is a better one.
    #[must_use]
    pub fn hint_if_none(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Sets a "did you mean" hint if one of the candidates is close to the word.
    #[must_use]
    pub fn suggest<'a>(mut self, word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(meant) = text::did_you_mean(word, candidates) {
            self.hint = Some(format!("did you mean `{meant}`?"));
        }
        self
    }
}

/// A diagnostic as a machine reads it; places are there unless the file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'a> {
    /// The kind of fault.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What is wrong.
    pub message: &'a str,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'a str>,
    /// Line from 1.
    pub line: Option<usize>,
    /// Column in characters from 1.
    pub column: Option<usize>,
    /// Line of the end, from 1.
    pub end_line: Option<usize>,
    /// Column after the last character, from 1.
    pub end_column: Option<usize>,
}

/// Everything that is wrong with one file.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    file: Arc<SourceFile>,
    items: Vec<Diagnostic>,
    seen: HashSet<Diagnostic>,
}

impl Diagnostics {
    /// Returns an empty collection for a file.
    pub fn new(file: Arc<SourceFile>) -> Self {
        Self { file, items: Vec::new(), seen: HashSet::new() }
    }

    /// Adds a diagnostic, unless the same one stands there already: a value that is used through several aliases
    /// is faulty once.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.seen.insert(diagnostic.clone()) {
            self.items.push(diagnostic);
        }
    }

    /// Adds all of another collection about the same file.
    pub fn extend(&mut self, others: Self) {
        others.items.into_iter().for_each(|item| self.push(item));
    }

    /// Changes what is there.
    pub fn amend(&mut self, change: impl FnMut(&mut Diagnostic)) {
        self.items.iter_mut().for_each(change);
        self.seen = self.items.iter().cloned().collect();
    }

    /// Keeps what is wanted.
    pub fn retain(&mut self, wanted: impl Fn(&Diagnostic) -> bool) {
        self.items.retain(&wanted);
        self.seen.retain(&wanted);
    }

    /// Returns the file the places belong to.
    pub fn file(&self) -> &SourceFile {
        &self.file
    }

    /// Returns whether there is at least one error.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|item| item.severity == Severity::Error)
    }

    /// Returns whether there is nothing, not even a warning.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns how many errors there are, and how many warnings.
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.items.iter().filter(|item| item.severity == Severity::Error).count();
        (errors, self.items.len() - errors)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the diagnostics in the order of the text, those about the whole file first.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.items.iter().collect();
        sorted.sort_by_key(|item| item.span.map(|span| span.start));
        sorted.into_iter()
    }

    /// Returns all of them as rows for a machine.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let row = |item| Self::row(&self.file, item);
        self.iter().map(row).collect()
    }

    /// Returns text for a person: each diagnostic with the line it is about, then the count. It has no final
    /// line break.
    pub fn render(&self, color: bool, width: usize) -> String {
        let mut parts: Vec<String> = self
            .iter()
            .take(MOST_SHOWN)
            .map(|item| snippet::render(&self.file, item, color, width))
            .collect();
        parts.push(self.summary());
        clean::shielded(&parts.join("\n\n"))
    }

    /// Returns the closing line: `task.yaml: 3 problems`.
    pub fn summary(&self) -> String {
        let (errors, warnings) = self.counts();
        let mut counts = Vec::new();
        if errors > 0 || warnings == 0 {
            counts.push(text::plural("problem", errors));
        }
        if warnings > 0 {
            counts.push(text::plural("warning", warnings));
        }
        if self.items.len() > MOST_SHOWN {
            counts.push(format!("the first {MOST_SHOWN} are shown"));
        }
        format!("{}: {}", clean::line(self.file.name()), counts.join(", "))
    }

    fn row<'a>(file: &'a SourceFile, item: &'a Diagnostic) -> Row<'a> {
        let start = item.span.map(|span| file.position(span.start));
        let end = item.span.map(|span| file.position(span.end));
        Row {
            code: item.code,
            severity: item.severity,
            message: &item.message,
            hint: item.hint.as_deref(),
            line: start.map(|place| place.line),
            column: start.map(|place| place.column),
            end_line: end.map(|place| place.line),
            end_column: end.map(|place| place.column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::file::Format;

    fn diagnostics(text: &str) -> Diagnostics {
        Diagnostics::new(Arc::new(SourceFile::from_text("a.yaml", text, Format::Yaml)))
    }

    fn at(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    #[test]
    fn they_come_in_the_order_of_the_text_and_once() {
        let mut all = diagnostics("a: 1\nb: 2\n");
        all.push(Diagnostic::error("late", "second").at(at(8, 9)));
        all.push(Diagnostic::warning("early", "first").at(at(3, 4)));
        all.push(Diagnostic::error("late", "second").at(at(8, 9)));
        all.push(Diagnostic::error("whole", "the file"));
        let codes: Vec<_> = all.iter().map(|item| item.code).collect();
        assert_eq!(codes, ["whole", "early", "late"]);
        assert_eq!(all.summary(), "a.yaml: 2 problems, 1 warning");
        assert!(all.has_errors());
    }

    #[test]
    fn a_warning_alone_is_no_error() {
        let mut all = diagnostics("a: 1");
        assert!(all.is_empty());
        assert_eq!(all.summary(), "a.yaml: 0 problems");
        all.push(Diagnostic::warning("odd", "odd").suggest("stpe", ["step"]));
        assert!(!all.has_errors());
        assert_eq!(all.summary(), "a.yaml: 1 warning");
        assert_eq!(all.iter().next().unwrap().hint.as_deref(), Some("did you mean `step`?"));
    }

    #[test]
    fn rows_serialize_with_place() {
        let mut all = diagnostics("a: 1\nb: ü2\n");
        all.push(Diagnostic::error("odd", "odd").at(at(10, 11)).hint("do"));
        all.push(Diagnostic::warning("whole", "whole"));
        let rows = serde_json::to_string(&all.rows()).unwrap();
        assert_eq!(
            rows,
            concat!(
                r#"[{"code":"whole","severity":"warning","message":"whole","line":null,"column":null,"endLine":null,"endColumn":null},"#,
                r#"{"code":"odd","severity":"error","message":"odd","hint":"do","line":2,"column":5,"endLine":2,"endColumn":6}]"#
            )
        );
    }

    #[test]
    fn a_flood_is_cut_and_counted_for_people_only() {
        let mut all = diagnostics("a: 1\n");
        for number in 0..MOST_SHOWN + 5 {
            all.push(Diagnostic::error("odd", number.to_string()).at(at(0, 1)));
        }
        assert_eq!(all.rows().len(), MOST_SHOWN + 5);
        assert!(all.render(false, 80).ends_with("a.yaml: 105 problems, the first 100 are shown"));
    }
}
