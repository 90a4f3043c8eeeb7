//! Owns the faults of stages that come too late in their list: what is brought in after the last `budget` is measured by nobody.

use serde_json::Value;

use crate::source::{Diagnostic, Diagnostics, Document};

/// Stages that bring something in.
const COLLECTING: [&str; 5] = ["standing", "retrieve", "memory", "history", "command"];

/// Finds the stages of the list under `base` that bring something in after it was made to fit.
pub(super) fn check_order(base: &str, document: &Document, faults: &mut Diagnostics) {
    let stages = document.value().pointer(base).and_then(Value::as_array);
    let names = stages.into_iter().flatten().map(|stage| stage.as_object()?.keys().next());
    let names: Vec<_> = names.map(|name| name.map_or("", String::as_str)).collect();
    let Some(last) = names.iter().rposition(|name| *name == "budget") else { return };
    for (at, name) in names.iter().enumerate().skip(last).filter(|(_, name)| COLLECTING.contains(name)) {
        let message = format!("`{name}` stands behind `budget`, which does not measure what it brings in");
        let place = document.span_of_key(&format!("{base}/{at}/{name}"));
        faults.push(Diagnostic::error("misplaced", message).at(place).hint("put `budget` last"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Format, SourceFile};

    fn late(list: &str, stages: &str) -> Vec<String> {
        let (of, key) = list.split_once('.').unwrap();
        let file = SourceFile::from_text("c.yaml", format!("{of}: {{{key}: [{stages}]}}"), Format::Yaml);
        let document = Document::parse(file).unwrap();
        let mut faults = document.diagnostics();
        check_order(&format!("/{of}/{key}"), &document, &mut faults);
        let name = |fault: &Diagnostic| fault.span.map_or("", |span| document.file().slice(span)).to_owned();
        faults.iter().map(name).collect()
    }

    #[test]
    fn what_brings_something_in_comes_before_the_last_budget() {
        for list in ["turn.input", "cycle.input"] {
            for name in COLLECTING {
                assert_eq!(late(list, &format!("budget: {{}}, {name}: {{}}")), [name]);
                assert!(late(list, &format!("budget: {{}}, {name}: {{}}, budget: {{}}")).is_empty());
                assert!(late(list, &format!("{name}: {{}}")).is_empty());
            }
            assert!(late(list, "budget: {}, policy: {}").is_empty());
        }
    }
}
