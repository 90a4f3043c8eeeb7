//! Owns the filling of placeholders in the texts of a document, and the faults of placeholders and declarations.

use std::collections::HashSet;

use serde_json::Value;

use super::placeholder::{Piece, is_name, pieces};
use super::shell;
use super::value::Values;
use super::{Kind, Variables};
use crate::source::{Diagnostic, Diagnostics, Document, Span};
use crate::text;

/// The keys whose texts are filled.
const FILLED: [&str; 3] = ["goal", "context", "expectedOutput"];

/// The faults that a value has by its look alone, so that another value may not have them.
const OF_THE_VALUE: [&str; 7] = ["value", "contradiction", "range", "size", "empty", "pattern", "choice"];

/// What was filled with something that only stands in for a value.
#[derive(Debug, Default)]
pub(in crate::prompt) struct Filled {
    stand_ins: Vec<Span>,
    /// Where a variable of text is all that a value is, with its name.
    texts: Vec<(Span, String)>,
    /// Where a value of another type is, with what it is as text.
    typed: Vec<(Span, String, String)>,
}

impl Filled {
    /// Takes out the faults that only the values have that stand in for others.
    pub(in crate::prompt) fn forgive(&self, faults: &mut Diagnostics) {
        faults.retain(|fault| {
            let covers =
                |span: Span| self.stand_ins.iter().any(|own| span.start <= own.start && own.end <= span.end);
            !(OF_THE_VALUE.contains(&fault.code) && fault.span.is_some_and(covers))
        });
    }

    /// Makes text of values where nothing but text has a place; returns whether there were any.
    pub(in crate::prompt) fn soften(&self, document: &mut Document, faults: &Diagnostics) -> bool {
        let wants_text = |span: &Span| {
            let mut here = faults.iter().filter(|fault| fault.code == "type" && fault.span == Some(*span));
            here.any(|fault| fault.message.starts_with("expected a string"))
        };
        let wrong = self.typed.iter().filter(|(span, ..)| wants_text(span));
        let wrong: Vec<_> = wrong.map(|(_, pointer, text)| (pointer, Value::String(text.clone()))).collect();
        let any = !wrong.is_empty();
        for (pointer, text) in wrong {
            document.replace_scalar(pointer, text);
        }
        any
    }

    /// Says of text in the place of something else that its variable may have another type.
    pub(in crate::prompt) fn explain(&self, faults: &mut Diagnostics) {
        faults.amend(|fault| {
            let variable =
                self.texts.iter().find(|(span, _)| fault.code == "type" && fault.span == Some(*span));
            if let Some((_, name)) = variable {
                fault.hint = Some(format!("the variable `{name}` is text: declare another `type` for it"));
            }
        });
    }
}

/// Fills the texts of a document, with a fault for each placeholder and each declaration that means nothing.
pub(in crate::prompt) fn fill(document: &mut Document, values: &Values, faults: &mut Diagnostics) -> Filled {
    shell::check(document, faults);
    let variables = Variables::of(document);
    let mut used = HashSet::new();
    let mut done = Filled::default();
    let mut filled = Vec::new();
    for key in FILLED {
        let mut place = Vec::new();
        if let Some(value) = document.value().get(key) {
            texts(value, &format!("/{key}"), &mut place);
        }
        for (pointer, text) in place {
            let span = document.span_of_value(&pointer);
            let pieces = pieces(text);
            let mut known = true;
            for piece in &pieces {
                let Piece::Placeholder { name, written } = piece else { continue };
                used.insert((*name).to_owned());
                match values.get(name) {
                    None => {
                        known = false;
                        faults.push(undefined(document, span, name, written, &variables));
                    }
                    Some(filling) if filling.stands_in => {
                        done.stand_ins.extend([span, document.span_of_key(&pointer)].into_iter().flatten());
                    }
                    Some(_) => {}
                }
            }
            let unchanged = pieces == [Piece::Text(text)];
            if let [Piece::Placeholder { name, .. }] = pieces[..]
                && variables.iter().any(|variable| variable.name == name && variable.kind == Kind::String)
            {
                done.texts.extend(span.map(|span| (span, name.to_owned())));
            }
            if known && !unchanged {
                let value = value_of(&pieces, values);
                if !value.is_string() {
                    done.typed.extend(span.map(|span| (span, pointer.clone(), value.to_string())));
                }
                filled.push((pointer, value));
            }
        }
    }
    for (pointer, value) in filled {
        document.replace_scalar(&pointer, value);
    }
    declarations(document, &used, faults);
    done
}

/// Returns every text below a value, with its place.
fn texts<'v>(value: &'v Value, pointer: &str, found: &mut Vec<(String, &'v str)>) {
    match value {
        Value::String(text) if text.contains("{{") => found.push((pointer.to_owned(), text)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                texts(item, &format!("{pointer}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                texts(value, &Document::pointer_below(pointer, key), found);
            }
        }
        _ => {}
    }
}

/// Returns what a text becomes: a value of its type where it is one placeholder, else text.
fn value_of(pieces: &[Piece<'_>], values: &Values) -> Value {
    let found = |name: &str| values.get(name).map_or(Value::Null, |filling| filling.value.clone());
    if let [Piece::Placeholder { name, .. }] = pieces {
        return found(name);
    }
    let text = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Placeholder { name, .. } => match found(name) {
            Value::String(text) => text,
            other => other.to_string(),
        },
    });
    Value::String(text.collect())
}

/// Returns a default with its escaped placeholders as the characters that they stand for.
pub(super) fn unescaped(value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let plain = pieces(text).into_iter().map(|piece| match piece {
        Piece::Text(text) | Piece::Placeholder { written: text, .. } => text,
    });
    Value::String(plain.collect())
}

/// Returns where in the value at `span` the text `written` stands, or the whole where it is written in another way.
pub(super) fn place_of(document: &Document, span: Option<Span>, written: &str) -> Option<Span> {
    let span = span?;
    let at = document.file().slice(span).find(written);
    Some(at.map_or(span, |at| Span { start: span.start + at, end: span.start + at + written.len() }))
}

/// Returns how a placeholder is written as characters, in the quotes that stand around it.
fn as_characters(document: &Document, span: Option<Span>, written: &str) -> String {
    let doubled = span.is_some_and(|span| document.file().slice(span).starts_with('"'));
    format!("`{}{written}`", if doubled { r"\\" } else { r"\" })
}

fn undefined(
    document: &Document,
    span: Option<Span>,
    name: &str,
    written: &str,
    variables: &Variables,
) -> Diagnostic {
    let meant = text::did_you_mean(name, variables.names());
    let literally = as_characters(document, span, written);
    let hint = match meant {
        Some(meant) => {
            format!("did you mean `{{{{{meant}}}}}`? for the characters themselves write {literally}")
        }
        None => {
            format!("declare `{name}` under `variables`, or write {literally} for the characters themselves")
        }
    };
    let message = format!("the variable `{}` is not declared", text::truncate(name, 40));
    Diagnostic::error("undefined-variable", message).at(place_of(document, span, written)).hint(hint)
}

/// Finds what is wrong with declarations beyond their shape.
fn declarations(document: &Document, used: &HashSet<String>, faults: &mut Diagnostics) {
    let declared = document.value().get("variables").and_then(Value::as_object);
    for (name, declaration) in declared.into_iter().flatten() {
        let pointer = Document::pointer_below("/variables", name);
        let heading = document.span_of_key(&pointer);
        if !is_name(name) {
            let message = format!("`{}` is no name for a variable", text::truncate(name, 40));
            let hint = "begin with a letter or `_`, and go on with letters, digits, `_` and `-`";
            faults.push(Diagnostic::error("variable-name", message).at(heading).hint(hint));
        } else if !used.contains(name) {
            let message = format!("the variable `{name}` is declared and never used");
            let hint = format!("write `{{{{{name}}}}}` where its value belongs, or take it out");
            let candidates = used.iter().map(String::as_str);
            let fault = Diagnostic::error("unused-variable", message).at(heading).hint(hint);
            // Who misspelt the name in its only use is told so there.
            if text::did_you_mean(name, candidates.filter(|other| !Variables::of(document).declares(other)))
                .is_none()
            {
                faults.push(fault);
            }
        }
        default(document, name, declaration, &pointer, faults);
        let mut within = Vec::new();
        texts(declaration, &pointer, &mut within);
        for (pointer, text) in within {
            let span = document.span_of_value(&pointer);
            for piece in pieces(text) {
                let Piece::Placeholder { written, .. } = piece else { continue };
                let literally = as_characters(document, span, written);
                let fault = Diagnostic::error(
                    "variable-in-variable",
                    "placeholders are not filled in under `variables`",
                )
                .at(place_of(document, span, written));
                faults.push(fault.hint(format!("write {literally} for the characters themselves")));
            }
        }
    }
}

fn default(document: &Document, name: &str, declaration: &Value, pointer: &str, faults: &mut Diagnostics) {
    let below = |key: &str| document.span_of_value(&format!("{pointer}/{key}"));
    let kind = declaration.get("type").map(|kind| serde_json::from_value::<Kind>(kind.clone()).ok());
    // What type was meant is the schema's question.
    let Some(kind) = kind.unwrap_or(Some(Kind::default())) else { return };
    let required = declaration.get("required").and_then(Value::as_bool);
    let fault = |message: String| Diagnostic::error("variable-default", message);
    match declaration.get("default") {
        Some(Value::Array(_) | Value::Object(_)) => {}
        Some(default) if !kind.takes(default) => {
            let message = format!("the default of `{name}` is not of its type: expected {}", kind.expected());
            let hint = match (kind, default) {
                (Kind::String, Value::Null) => r#"write `""` for the empty text"#.to_owned(),
                (kind, Value::String(text)) if kind.read(text).is_some() => "remove the quotes".to_owned(),
                (Kind::String, other) => format!("put it in quotes, or write `type: {}`", type_of(other)),
                _ => format!("a variable of this default has `type: {}`", type_of(default)),
            };
            faults.push(fault(message).at(below("default")).hint(hint));
        }
        Some(_) if required == Some(true) => {
            let message = format!("`{name}` has a default, so that its value is not required");
            let hint = "leave out `required`, or the default";
            faults.push(fault(message).at(below("required")).hint(hint));
        }
        None if required == Some(false) && kind != Kind::String => {
            let message = format!("`{name}` would have no value: {} cannot be empty", kind.expected());
            faults.push(fault(message).at(below("required")).hint("give it a `default`, or require it"));
        }
        _ => {}
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prompt::{self, Given, GivenText, Prompt};
    use crate::source::{Format, SourceFile, UnknownKeys};

    const TASK: &str = "context: {}\nexpectedOutput: done\n";

    /// Loads a task with values from the command line.
    fn load(text: &str, flags: &[(&str, &str)]) -> Result<Prompt, Vec<(&'static str, String, usize)>> {
        let mut document = Document::parse(SourceFile::from_text("a.yaml", text, Format::Yaml)).unwrap();
        let flag = |(name, text): &(&str, &str)| {
            ((*name).to_owned(), GivenText { text: (*text).to_owned(), origin: String::new() })
        };
        let given = Given { flags: flags.iter().map(flag).collect(), ..Given::default() };
        let (values, _) = Variables::of(&document).resolve(&given);
        let loaded = prompt::load(&mut document, &values, UnknownKeys::Refuse);
        loaded.map(|(prompt, _)| prompt).map_err(|faults| {
            let column =
                |fault: &Diagnostic| fault.span.map_or(0, |span| faults.file().position(span.start).column);
            faults.iter().map(|fault| (fault.code, fault.message.clone(), column(fault))).collect()
        })
    }

    #[test]
    fn a_text_of_one_placeholder_takes_the_type_and_others_take_text() {
        let text = "goal: 'top {{ rows }} of {{topic}}, \\{{rows}}, ${{ github.ref }}'\ncontext: {n: '{{rows}}', deep: [{t: '{{topic}}!'}], '{{rows}}': kept}\n\
            expectedOutput: [{path: out.csv, description: d, checks: [csv: {minRows: '{{rows}}'}]}]\n\
            variables: {rows: {type: integer}, topic: {}}\n";
        let prompt = load(text, &[("rows", "5"), ("topic", "a\nb: [{{rows}}")]).unwrap();
        assert_eq!(prompt.goal, "top 5 of a\nb: [{{rows}}, {{rows}}, ${{ github.ref }}");
        let context = json!({"n": 5, "deep": [{"t": "a\nb: [{{rows}}!"}], "{{rows}}": "kept"});
        assert_eq!(serde_json::to_value(&prompt.context).unwrap(), context);
        assert_eq!(
            serde_json::to_value(&prompt.expected()[0].checks).unwrap(),
            json!([{"csv": {"minRows": 5}}])
        );
    }

    #[test]
    fn what_a_value_breaks_is_told_where_the_placeholder_is() {
        let text = "goal: g\ncontext: {}\nvariables: {out: {}}\nexpectedOutput: [{path: '{{out}}', description: d}]\n";
        assert!(load(text, &[("out", "a/b.txt")]).is_ok());
        let faults = load(text, &[("out", "../x")]).unwrap_err();
        assert_eq!(faults, [("outside-workspace", "`../x` is outside the workspace".to_owned(), 25)]);
        let text = "goal: g\ncontext: {}\nexpectedOutput: [{path: p, description: d, checks: [yaml: '{{n}}']}]\nvariables: {n: {type: integer}}\n";
        let faults = load(text, &[("n", "5")]).unwrap_err();
        assert_eq!(faults, [("choice", "expected `true`, found the number 5".to_owned(), 59)]);
    }

    #[test]
    fn a_value_is_text_where_nothing_else_has_a_place() {
        let text = "goal: '{{n}}'\ncontext: {n: '{{n}}'}\nvariables: {n: {type: integer}}\n\
            expectedOutput: [{description: d, checks: [command: {run: [echo, '{{n}}'], exit: '{{n}}'}]}]\n";
        let prompt = load(text, &[("n", "5")]).unwrap();
        assert_eq!((prompt.goal.as_str(), &prompt.context["n"]), ("5", &json!(5)));
        let checks = serde_json::to_value(&prompt.expected()[0].checks).unwrap();
        assert_eq!(checks, json!([{"command": {"run": ["echo", "5"], "exit": 5}}]));
    }

    #[test]
    fn what_means_nothing_is_a_fault_with_its_place() {
        for (text, code, column) in [
            ("goal: 'about {{topc}}'\nvariables: {topic: {}}", "undefined-variable", 14),
            ("goal: g\nvariables: {topic: {}}", "unused-variable", 13),
            ("goal: g\nvariables: {1a: {}}", "variable-name", 13),
            ("goal: '{{a}}'\nvariables: {a: {default: 5}}", "variable-default", 26),
            ("goal: 'x{{a}}'\nvariables: {a: {type: integer, default: '5'}}", "variable-default", 41),
            ("goal: 'x{{a}}'\nvariables: {a: {type: integer, required: false}}", "variable-default", 42),
            ("goal: '{{a}}'\nvariables: {a: {default: b, required: true}}", "variable-default", 39),
            ("goal: '{{a}}'\nvariables: {a: {default: 'x {{b}}'}}", "variable-in-variable", 29),
        ] {
            let faults = load(&format!("{text}\n{TASK}"), &[]).unwrap_err();
            let found: Vec<(&str, usize)> = faults.iter().map(|(code, _, column)| (*code, *column)).collect();
            assert_eq!(found, [(code, column)], "{text}: {faults:?}");
        }
    }

    #[test]
    fn a_stand_in_causes_no_faults_of_its_own() {
        let text = "goal: '{{goal}}'\ncontext: {}\nvariables: {goal: {}, n: {type: integer}, re: {}, hash: {}}\nexpectedOutput:\n\
            - {path: a, description: d, checks: [matches: '{{re}}', sha256: '{{hash}}', minBytes: 5, maxBytes: '{{n}}', csv: {minRows: 3, maxRows: '{{n}}'}]}\n";
        // There is no prompt either: nobody knows what the expression is.
        assert_eq!(load(text, &[]), Err(vec![]));
        let broken = text.replace("'{{hash}}'", "abc");
        let codes: Vec<&str> = load(&broken, &[]).unwrap_err().iter().map(|(code, ..)| *code).collect();
        assert_eq!(codes, ["unused-variable", "value"]);
        let broken = text.replace("minBytes: 5", "minBytes: '{{re}}'");
        assert_eq!(load(&broken, &[]).unwrap_err()[0].0, "type");
        assert_eq!(load(text, &[("re", "("), ("n", "4")]).unwrap_err().len(), 2);
    }
}
