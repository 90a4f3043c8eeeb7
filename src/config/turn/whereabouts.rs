//! Owns the faults of what is said about the store: a place that is none, and stages that need a store where there is none.

use serde_json::Value;

use super::{LISTS, pointer};
use crate::source::{Diagnostic, Diagnostics, Document};

/// Stages that read from the store or write to it.
const STORED: [&str; 2] = ["memory", "history"];

/// Finds the faults in what a document says about the store.
pub(super) fn check_store(document: &Document, faults: &mut Diagnostics) {
    match document.value().pointer("/turn/store") {
        Some(Value::String(kind)) if kind == "none" => check_none(document, faults),
        Some(Value::Object(store)) => {
            let place = || document.span_of_value("/turn/store/path");
            match store.get("path").and_then(Value::as_str) {
                Some(path) if path == ":memory:" || path.starts_with("file:") => {
                    let fault = Diagnostic::error("value", format!("`{path}` is no file")).at(place());
                    faults.push(fault.hint("write `store: none` to keep nothing"));
                }
                // That there is something in it is for the schema to see.
                Some(path) if !path.is_empty() && path.trim().is_empty() => {
                    faults.push(Diagnostic::error("value", "`path` must not be blank").at(place()));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn check_none(document: &Document, faults: &mut Diagnostics) {
    for base in LISTS.map(pointer) {
        let stages = document.value().pointer(&base).and_then(Value::as_array);
        for (at, stage) in stages.into_iter().flatten().enumerate() {
            for name in STORED.iter().filter(|name| stage.get(**name).is_some()) {
                let message = format!("`{name}` needs a store, and `turn.store` is none");
                let place = document.span_of_key(&format!("{base}/{at}/{name}"));
                let fault = Diagnostic::error("contradiction", message).at(place);
                faults.push(fault.hint("leave out the stage, or `store: none`"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::source::{Format, SourceFile, UnknownKeys};

    fn faults(yaml: &str) -> Vec<String> {
        let document = Document::parse(SourceFile::from_text("c.yaml", yaml, Format::Yaml)).unwrap();
        let (Ok((_, faults)) | Err(faults)) = load(&document, &[], UnknownKeys::Refuse);
        faults.iter().map(|fault| fault.message.clone()).collect()
    }

    #[test]
    fn a_store_is_a_file_and_stages_that_need_one_have_one() {
        for path in ["x.db", "/var/x.db", "~/x.db"] {
            assert!(faults(&format!("turn: {{store: {{kind: sqlite, path: {path}}}}}")).is_empty());
        }
        for (path, message) in [
            ("':memory:'", "`:memory:` is no file"),
            ("'file:x?mode=memory'", "`file:x?mode=memory` is no file"),
            ("''", "`path` must not be empty"),
            ("' '", "`path` must not be blank"),
        ] {
            assert_eq!(faults(&format!("turn: {{store: {{kind: sqlite, path: {path}}}}}")), [message]);
        }
        for (list, stage) in
            [("input", "history: {}"), ("input", "memory: {}"), ("output", "memory: {write: summary}")]
        {
            let name = stage.split(':').next().unwrap();
            let found = faults(&format!("turn: {{store: none, {list}: [{stage}]}}"));
            assert_eq!(found, [format!("`{name}` needs a store, and `turn.store` is none")]);
            assert!(faults(&format!("turn: {{{list}: [{stage}]}}")).is_empty());
        }
    }
}
