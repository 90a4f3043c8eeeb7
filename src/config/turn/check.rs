//! Owns the faults of stages that no schema can see: where they stand, what contradicts itself, what is no pattern.

use std::path::{Component, Path};

use serde_json::{Map, Value};

use super::memory::{OF_LEAVING, OF_LOADING};
use super::{LISTS, check_order, check_store, pointer, session_key};
use crate::check;
use crate::seal::{Pattern, PatternError};
use crate::source::{Diagnostic, Diagnostics, Document};
use crate::text;
use crate::turn::Scope;

/// A stage with the lists that it may stand in.
const PLACES: [(&str, &[Scope]); 9] = [
    ("policy", &[Scope::TurnInput]),
    ("standing", &[Scope::TurnInput, Scope::DispatchInput]),
    ("retrieve", &[Scope::TurnInput, Scope::DispatchInput]),
    ("memory", &[Scope::TurnInput, Scope::TurnOutput]),
    ("history", &[Scope::TurnInput]),
    ("budget", &[Scope::TurnInput, Scope::DispatchInput]),
    ("safety", &[Scope::TurnOutput]),
    ("telemetry", &[Scope::TurnOutput, Scope::DispatchOutput]),
    ("command", &[Scope::TurnInput, Scope::TurnOutput, Scope::DispatchInput, Scope::DispatchOutput]),
];

/// A stage as it is written.
struct Written<'a> {
    /// The list that it stands in.
    list: Scope,
    name: &'a str,
    settings: &'a Map<String, Value>,
    /// Where its settings are.
    pointer: String,
}

impl Written<'_> {
    fn has(&self, key: &str) -> bool {
        self.settings.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the texts under a key, with their places.
    fn texts(&self, key: &str) -> impl Iterator<Item = (String, &Value)> {
        let list = self.settings.get(key).and_then(Value::as_array).into_iter().flatten();
        let pointer = format!("{}/{key}", self.pointer);
        let texts = list.enumerate().filter(|(_, text)| text.as_str().is_some_and(|text| !text.is_empty()));
        texts.map(move |(at, text)| (format!("{pointer}/{at}"), text))
    }
}

/// Finds the faults in what a document says about stages that its schema cannot see.
pub(in crate::config) fn check(document: &Document, faults: &mut Diagnostics) {
    check_session(document, faults);
    check_store(document, faults);
    for list in LISTS {
        let base = pointer(list);
        check_order(&base, document, faults);
        let stages = document.value().pointer(&base).and_then(Value::as_array);
        for (at, stage) in stages.into_iter().flatten().enumerate() {
            let Some((name, settings)) = stage.as_object().and_then(|map| map.iter().next()) else {
                continue;
            };
            let pointer = format!("{base}/{at}/{name}");
            let Some((_, places)) = PLACES.iter().find(|(known, _)| known == name) else { continue };
            if !places.contains(&list) {
                let message = format!("`{name}` cannot stand in `{}`", list.key());
                let fault = Diagnostic::error("misplaced", message).at(document.span_of_key(&pointer));
                let places = text::ticked_or(places.iter().map(|place| place.key()));
                faults.push(fault.hint(format!("it is for {places}")));
                continue;
            }
            let Some(settings) = settings.as_object() else { continue };
            check_stage(&Written { list, name, settings, pointer }, document, faults);
        }
    }
}

fn check_session(document: &Document, faults: &mut Diagnostics) {
    let key = document.value().pointer("/turn/session").and_then(Value::as_str);
    // That there is something in it is for the schema to see.
    if let Some(Err(error)) = key.filter(|key| !key.is_empty()).map(session_key) {
        let place = document.span_of_value("/turn/session");
        faults.push(Diagnostic::error("value", error.to_string()).at(place));
    }
}

fn check_stage(stage: &Written<'_>, document: &Document, faults: &mut Diagnostics) {
    let heading = || document.span_of_key(&stage.pointer);
    match stage.name {
        "policy" => {
            check_patterns(stage, "denyPatterns", document, faults);
            let patterns = stage.settings.get("denyPatterns").and_then(Value::as_array);
            let denies = stage.has("denyPatterns") && patterns.is_none_or(|list| !list.is_empty());
            if !denies && !stage.has("maxPromptTokens") {
                let fault = Diagnostic::error("empty", "`policy` refuses nothing").at(heading());
                faults.push(fault.hint("give it `denyPatterns` or `maxPromptTokens`"));
            }
        }
        "safety" => check_patterns(stage, "redact", document, faults),
        "standing" => check_names(stage, document, faults),
        "retrieve" => {
            for (place, glob) in stage.texts("files") {
                if let Some(Err(error)) = glob.as_str().map(Pattern::parse) {
                    let fault = Diagnostic::error("invalid", error.to_string());
                    faults.push(fault.at(document.span_of_value(&place)));
                }
            }
        }
        "memory" => check_memory(stage, document, faults),
        "budget" => {
            let tokens = |key: &str| stage.settings.get(key).and_then(Value::as_u64);
            if let (Some(window), Some(reserve)) = (tokens("contextWindow"), tokens("reserve"))
                && window <= reserve
            {
                let message =
                    format!("a `reserve` of {reserve} leaves nothing of a `contextWindow` of {window}");
                let place = document.span_of_value(&format!("{}/reserve", stage.pointer));
                faults.push(Diagnostic::error("contradiction", message).at(place));
            }
        }
        "telemetry" => {
            let file = stage.settings.get("file").and_then(Value::as_str).unwrap_or_default();
            let place = || document.span_of_value(&format!("{}/file", stage.pointer));
            if leads_out(file) {
                let fault = Diagnostic::error("invalid", PatternError::Outside(file.to_owned()).to_string());
                faults.push(fault.at(place()));
            } else if !file.is_empty() && is_folder(file) {
                faults.push(Diagnostic::error("invalid", format!("`{file}` names no file")).at(place()));
            }
        }
        _ => {}
    }
}

fn leads_out(path: &str) -> bool {
    let leads = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
    Path::new(path).components().any(leads)
}

fn is_folder(path: &str) -> bool {
    let last = path.rsplit(std::path::is_separator).next().unwrap_or_default();
    last.trim().is_empty() || last == "."
}

/// Rules are files by name: a pattern would take whatever a run left there for rules.
fn check_names(stage: &Written<'_>, document: &Document, faults: &mut Diagnostics) {
    for (place, name) in stage.texts("files") {
        let name = name.as_str().unwrap_or_default();
        let fault = if leads_out(name) {
            Diagnostic::error("invalid", PatternError::Outside(name.to_owned()).to_string())
        } else if name.contains(['*', '?', '[', ']', '{', '}']) {
            Diagnostic::error(
                "invalid",
                format!("`{name}` is a pattern, and `standing` takes names of files"),
            )
            .hint("name each file")
        } else if is_folder(name) {
            Diagnostic::error("invalid", format!("`{name}` names no file"))
        } else {
            continue;
        };
        faults.push(fault.at(document.span_of_value(&place)));
    }
}

fn check_patterns(stage: &Written<'_>, key: &str, document: &Document, faults: &mut Diagnostics) {
    for (place, pattern) in stage.texts(key) {
        let message = match serde_json::from_value::<check::Pattern>(pattern.clone()) {
            Err(error) => error.to_string(),
            Ok(pattern) if pattern.regex().is_match(b"") => {
                format!("`{}` matches every text, also an empty one", pattern.text())
            }
            Ok(_) => continue,
        };
        faults.push(Diagnostic::error("value", message).at(document.span_of_value(&place)));
    }
}

/// What loads memories and what leaves them have one name, and keys of their own.
fn check_memory(stage: &Written<'_>, document: &Document, faults: &mut Diagnostics) {
    let leaves = stage.list == Scope::TurnOutput;
    let (strange, other): (&[&str], _) =
        if leaves { (&OF_LOADING, Scope::TurnInput) } else { (&OF_LEAVING, Scope::TurnOutput) };
    for key in strange.iter().filter(|key| stage.has(key)) {
        let message = format!("`{key}` means nothing to `memory` in `{}`", stage.list.key());
        let place = document.span_of_key(&format!("{}/{key}", stage.pointer));
        let fault = Diagnostic::error("misplaced", message).at(place);
        faults.push(fault.hint(format!("it is for `memory` in `{}`", other.key())));
    }
    if leaves && !stage.has("write") {
        let fault = Diagnostic::error("missing-key", "the key `write` is missing in `memory`");
        faults.push(fault.at(document.span_of_key(&stage.pointer)).hint("write `write: summary`"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::source::{Format, SourceFile, UnknownKeys};

    /// Returns each fault with its place and its hint.
    fn faults(yaml: &str) -> Vec<[String; 3]> {
        let file = SourceFile::from_text("c.yaml", yaml, Format::Yaml);
        let document = Document::parse(file).unwrap();
        let faults = match load(&document, &[], UnknownKeys::Refuse) {
            Ok((_, faults)) | Err(faults) => faults,
        };
        let place = |fault: &Diagnostic| fault.span.map_or("", |span| document.file().slice(span)).to_owned();
        let row = |fault: &Diagnostic| {
            [fault.message.clone(), place(fault), fault.hint.clone().unwrap_or_default()]
        };
        faults.iter().map(row).collect()
    }

    fn input(stage: &str) -> Vec<[String; 3]> {
        faults(&format!("turn:\n  input:\n    - {stage}\n"))
    }

    fn output(stage: &str) -> Vec<[String; 3]> {
        faults(&format!("turn:\n  output:\n    - {stage}\n"))
    }

    /// Settings that are right, by the name of the stage.
    const RIGHT: [(&str, &str); 9] = [
        ("policy", "{maxPromptTokens: 10}"),
        ("standing", "{files: [AGENTS.md]}"),
        ("retrieve", "{files: ['docs/**'], trust: third-party-public}"),
        ("memory", "{}"),
        ("history", "{}"),
        ("budget", "{contextWindow: 10, reserve: 9}"),
        ("safety", "{redact: [a]}"),
        ("telemetry", "{file: .tepa/t.jsonl}"),
        ("command", "{run: [a, b], timeout: 2m, env: {A: b}, network: true}"),
    ];

    #[test]
    fn a_stage_stands_where_it_can_do_its_work() {
        assert_eq!(RIGHT.map(|(name, _)| name), PLACES.map(|(name, _)| name));
        for ((name, settings), (_, places)) in RIGHT.into_iter().zip(PLACES) {
            for list in LISTS {
                let (of, key) = list.key().split_once('.').unwrap();
                let settings =
                    if (name, list) == ("memory", Scope::TurnOutput) { "{write: summary}" } else { settings };
                let found = faults(&format!("{of}:\n  {key}:\n    - {name}: {settings}\n"));
                if places.contains(&list) {
                    assert_eq!(found, Vec::<[String; 3]>::new());
                } else {
                    let [message, place, _] = &found[0];
                    assert_eq!(message, &format!("`{name}` cannot stand in `{}`", list.key()));
                    assert_eq!((place.as_str(), found.len()), (name, 1));
                }
            }
        }
        let [_, _, hint] = &faults("cycle: {output: [budget: {contextWindow: 9}]}")[0];
        assert_eq!(hint, "it is for `turn.input` or `cycle.input`");
    }

    #[test]
    fn unknown_names_are_refused_at_their_place_with_what_was_probably_meant() {
        let [message, place, hint] = &input("polcy: {}")[0];
        assert_eq!((message.as_str(), place.as_str()), ("unknown key `polcy`", "polcy"));
        assert!(hint.starts_with("did you mean `policy`? known here: `policy`, `standing`"), "{hint}");
        for (stage, key, meant) in [
            ("history: {maxTurn: 1}", "maxTurn", "maxTurns"),
            ("budget: {contextWindow: 9, reserv: 1}", "reserv", "reserve"),
            ("retrieve: {files: [a], trust: first-party, topk: 1}", "topk", "topK"),
            ("command: {run: a, timout: 5}", "timout", "timeout"),
        ] {
            let found = input(stage);
            let [message, place, hint] = &found[0];
            assert_eq!((message, place.as_str(), found.len()), (&format!("unknown key `{key}`"), key, 1));
            assert!(hint.starts_with(&format!("did you mean `{meant}`?")), "{hint}");
        }
        let [message, place, _] = &faults("turn: {inputs: []}")[0];
        assert_eq!((message.as_str(), place.as_str()), ("unknown key `inputs`", "inputs"));
    }

    #[test]
    fn s11_passages_without_trust_are_refused() {
        let found = input("retrieve: {files: ['docs/**']}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0][..2], ["the key `trust` is missing in `retrieve`", "retrieve"]);
        let found = input("retrieve: {files: ['docs/**'], trust: first_party}");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0][1..], ["first_party", "did you mean `first-party`?"]);
    }

    #[test]
    fn a_session_is_called_by_what_can_be_typed() {
        let long = format!("turn: {{session: {}}}", "x".repeat(201));
        for (yaml, message) in [
            ("turn: {session: ''}", "`session` must not be empty"),
            ("turn: {session: ' '}", "the key of a session must not be blank"),
            (
                r#"turn: {session: "a\nb"}"#,
                "the key of a session must not hold control characters, such as the end of a line",
            ),
            (&long, "the key of a session has 201 characters, and at most 200 are allowed"),
        ] {
            let found = faults(yaml);
            assert_eq!((found[0][0].as_str(), found.len()), (message, 1), "{found:?}");
        }
    }

    #[test]
    fn what_cannot_mean_anything_is_refused_once_at_its_place() {
        for (stage, message, place) in [
            ("policy: {}", "`policy` refuses nothing", "policy"),
            ("policy: {denyPatterns: [], onMatch: error}", "`policy` refuses nothing", "policy"),
            ("policy: {denyPatterns: ['a*', b]}", "`a*` matches every text, also an empty one", "'a*'"),
            ("policy: {denyPatterns: ['(']}", "`(` is not a regular expression: unclosed group", "'('"),
            (
                "policy: {denyPatterns: [a], onMatch: warn}",
                "expected `abort` or `error`, found the string \"warn\"",
                "warn",
            ),
            (
                "standing: {files: [AGENTS.md, ../x]}",
                "`../x` has to be relative to the folder that the run works in, without `..`",
                "../x",
            ),
            (
                "standing: {files: [/etc/rules]}",
                "`/etc/rules` has to be relative to the folder that the run works in, without `..`",
                "/etc/rules",
            ),
            (
                "standing: {files: ['docs/*.md']}",
                "`docs/*.md` is a pattern, and `standing` takes names of files",
                "'docs/*.md'",
            ),
            ("standing: {files: [docs/]}", "`docs/` names no file", "docs/"),
            ("standing: {files: []}", "`files` must not be empty", "[]"),
            ("retrieve: {files: [], trust: first-party}", "`files` must not be empty", "[]"),
            (
                "retrieve: {files: [../x], trust: first-party}",
                "`../x` has to be relative to the folder that the run works in, without `..`",
                "../x",
            ),
            (
                "retrieve: {files: ['a['], trust: first-party}",
                "`a[` is not a glob: unclosed character class; missing ']'",
                "'a['",
            ),
            (
                "retrieve: {files: [a], trust: first-party, topK: 0}",
                "`topK` must be at least 1, found 0",
                "0",
            ),
            (
                "retrieve: {files: [a], trust: first-party, minScore: 2}",
                "`minScore` must be at most 1, found 2",
                "2",
            ),
            ("memory: {minConfidence: -0.1}", "`minConfidence` must be at least 0, found -0.1", "-0.1"),
            ("memory: {write: summary}", "`write` means nothing to `memory` in `turn.input`", "write"),
            (
                "budget: {contextWindow: 8000, reserve: 8000}",
                "a `reserve` of 8000 leaves nothing of a `contextWindow` of 8000",
                "8000",
            ),
            ("budget: {reserve: 1}", "the key `contextWindow` is missing in `budget`", "budget"),
            ("history: {maxTurns: 0}", "`maxTurns` must be at least 1, found 0", "0"),
            ("command: {run: []}", "`run` must not be empty", "[]"),
        ] {
            let found = input(stage);
            assert_eq!(found.len(), 1, "{stage}: {found:?}");
            assert_eq!(found[0][..2], [message, place]);
        }
        for (stage, message, place) in [
            ("safety: {redact: []}", "`redact` must not be empty", "[]"),
            (
                "safety: {redact: ['['], scope: [messages]}",
                "`[` is not a regular expression: unclosed character class",
                "'['",
            ),
            ("memory: {confidence: 1}", "the key `write` is missing in `memory`", "memory"),
            ("memory: {write: summary, importance: 1.5}", "`importance` must be at most 1, found 1.5", "1.5"),
            (
                "memory: {write: summary, limit: 3}",
                "`limit` means nothing to `memory` in `turn.output`",
                "limit",
            ),
            (
                "telemetry: {file: ../t}",
                "`../t` has to be relative to the folder that the run works in, without `..`",
                "../t",
            ),
            ("telemetry: {file: .}", "`.` names no file", "."),
            ("telemetry: {file: x/}", "`x/` names no file", "x/"),
            ("telemetry: {file: x/.}", "`x/.` names no file", "x/."),
        ] {
            let found = output(stage);
            assert_eq!(found.len(), 1, "{stage}: {found:?}");
            assert_eq!(found[0][..2], [message, place]);
        }
    }
}
