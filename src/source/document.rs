//! A parsed file: one value, and for every part of it the place it is written at.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::file::{Format, SourceFile};
use super::node::{Children, Node, child};
use super::span::Span;
use super::{json, yaml};

/// How many keys and values a file may hold, counted after its aliases are resolved.
pub(super) const MAX_NODES: usize = 100_000;

/// A file whose syntax is right. What it means is another question.
#[derive(Debug)]
pub struct Document {
    file: Arc<SourceFile>,
    value: Value,
    root: Node,
    /// Pointers to the values that something else took the place of.
    replaced: HashSet<String>,
}

impl Document {
    /// Parses a file as YAML or strictly as JSON, by its format.
    pub fn parse(file: SourceFile) -> Result<Self, Diagnostics> {
        let parsed = if file.is_blank() {
            Err(Diagnostic::error("empty-file", "the file is empty"))
        } else if file.format() == Format::Json {
            json::check(&file).and_then(|()| yaml::parse(&file, MAX_NODES))
        } else {
            yaml::parse(&file, MAX_NODES)
        };
        let file = Arc::new(file);
        match parsed {
            Ok(placed) => Ok(Self { file, value: placed.value, root: placed.node, replaced: HashSet::new() }),
            Err(fault) => {
                let mut faults = Diagnostics::new(file);
                faults.push(fault);
                Err(faults)
            }
        }
    }

    /// Returns a document of parts that were parsed one by one.
    pub(super) fn of(file: Arc<SourceFile>, value: Value, root: Node) -> Self {
        Self { file, value, root, replaced: HashSet::new() }
    }

    /// Returns the file the document was parsed from.
    pub fn file(&self) -> &SourceFile {
        &self.file
    }

    /// Returns the whole value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns an empty collection of diagnostics for this file.
    pub fn diagnostics(&self) -> Diagnostics {
        Diagnostics::new(Arc::clone(&self.file))
    }

    /// Returns where the value under a JSON pointer is written, for an aliased one where its anchor is.
    pub fn span_of_value(&self, pointer: &str) -> Option<Span> {
        self.root.find(pointer).map(|found| found.value.span)
    }

    /// Returns where the key under a JSON pointer is written; the root and list items have none.
    pub fn span_of_key(&self, pointer: &str) -> Option<Span> {
        self.root.find(pointer)?.key
    }

    /// Returns the pointer to what stands under `key` in the map at `pointer`.
    pub fn pointer_below(pointer: &str, key: &str) -> String {
        child(pointer, key)
    }

    /// Puts another value in the place of a string, number or boolean; its place stays what it was. A list or a map is not touched.
    pub fn replace_scalar(&mut self, pointer: &str, value: Value) {
        let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
        if let Some(old) = self.value.pointer_mut(pointer).filter(|old| is_scalar(old) && is_scalar(&value)) {
            *old = value;
            self.replaced.insert(pointer.to_owned());
        }
    }

    /// Returns the line that the value under a pointer begins on.
    pub(super) fn line_at(&self, pointer: &str) -> &str {
        let line = self.span_of_value(pointer).map(|span| self.file.position(span.start).line);
        line.map_or("", |line| self.file.slice(self.file.line_span(line)))
    }

    /// Returns how the value under a pointer is written, or what took its place.
    pub(super) fn written(&self, pointer: &str) -> Cow<'_, str> {
        match self.value.pointer(pointer) {
            Some(value) if self.replaced.contains(pointer) => Cow::Owned(value.to_string()),
            _ => Cow::Borrowed(self.span_of_value(pointer).map_or("", |span| self.file.slice(span))),
        }
    }

    /// Returns where a fault of a map as a whole is best shown: at its key, else at its first key.
    pub(super) fn span_of_heading(&self, pointer: &str) -> Option<Span> {
        let found = self.root.find(pointer)?;
        let first = match &found.value.children {
            Children::Map(entries) => entries.first().map(|entry| entry.key),
            _ => None,
        };
        found.key.or(first).or(Some(found.value.span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, text: &str) -> Document {
        let format = if name == "json" { Format::Json } else { Format::Yaml };
        Document::parse(SourceFile::from_text(name, text, format)).unwrap()
    }

    #[test]
    fn keys_and_values_are_found_by_pointer() {
        let yaml = "ä: [x, 'y z']\nb:\n  c/d~: {e: 1}\n  f: |\n    one\n    two\n  g: >-\n    end\n";
        let json = "{\"ä\": [\"x\", \"y z\"],\n\t\"b\": {\"c/d~\": {\"e\": 1 } }}";
        for (name, text, second, key) in
            [("yaml", yaml, "'y z'", "c/d~"), ("json", json, "\"y z\"", "\"c/d~\"")]
        {
            let document = document(name, text);
            let slice = |span: Option<Span>| span.map(|span| document.file().slice(span));
            assert_eq!(slice(document.span_of_value("/ä/1")), Some(second));
            assert_eq!(slice(document.span_of_key("/b/c~1d~0")), Some(key));
            assert_eq!(slice(document.span_of_value("/b/c~1d~0/e")), Some("1"));
            assert!(slice(document.span_of_value("/b/c~1d~0")).unwrap().ends_with('}'));
            assert_eq!(document.span_of_key("/ä/1"), None);
            assert_eq!(document.span_of_value("/ä/2"), None);
            assert_eq!(document.span_of_value("/ä/1/x"), None);
            assert_eq!(document.value().pointer("/b/c~1d~0/e"), Some(&Value::from(1)));
        }
        let document = document("yaml", yaml);
        let block = document.span_of_value("/b/f").unwrap();
        assert_eq!(document.file().slice(block), "one\n    two");
        let all = document.span_of_value("").unwrap();
        assert_eq!(document.file().slice(all), yaml.trim_end());
    }

    #[test]
    fn byte_order_mark_and_windows_line_ends_move_nothing() {
        let document = document("yaml", "\u{feff}a: 1\r\nb: ü2\r\n");
        let span = document.span_of_value("/b").unwrap();
        assert_eq!(document.file().slice(span), "ü2");
        assert_eq!(
            document.file().position(span.start),
            crate::source::span::Position { line: 2, column: 4 }
        );
    }

    #[test]
    fn json_means_what_json_says() {
        let text = r#"{"<<": {"a": 1}, "s": "\ud83d\ude00\/", "n": [-0, 1E2, 1.0], "y": "yes", "z": "*a"}"#;
        let document = document("json", text);
        assert_eq!(
            document.value(),
            &serde_json::json!({"<<": {"a": 1}, "s": "😀/", "n": [0, 100.0, 1.0], "y": "yes", "z": "*a"})
        );
    }

    #[test]
    fn an_aliased_value_stands_where_its_anchor_is() {
        let document = document("yaml", "a: &x {p: q}\nb: *x\n");
        assert_eq!(document.span_of_value("/b/p"), document.span_of_value("/a/p"));
        assert_ne!(document.span_of_key("/b"), document.span_of_key("/a"));
    }
}
