//! Owns what the project's own configuration may not say: it lies where the tools of a run write.
//!
//! Whoever can write it, a tool of an earlier run included, must not decide for the person who starts the next run who gets the key,
//! who gives the verdict, or how far commands reach. It may narrow what a run may do, and not widen it.

use std::path::{Component, Path};

use serde_json::{Value, json};

use super::layers::Layer;
use crate::config::Layers;
use crate::source::{Diagnostic, Document};
use crate::workspace::PROJECT_FILE;

/// Something that the project's file must not say: where, which values there, and why.
type Untrusted = (&'static str, fn(&Value) -> bool, &'static str);

const UNTRUSTED: [Untrusted; 21] = [
    ("/baseUrl", said, "the key would go to whoever wrote the file"),
    ("/provider", |value| value == "replay", "a script would give the verdict"),
    ("/sandbox/mode", |value| value == "off", WIDER),
    ("/sandbox/network", |value| value == true, WIDER),
    ("/sandbox/required", |value| value == false, WIDER),
    ("/sandbox/writable", said, WIDER),
    ("/sandbox/readable", said, WIDER),
    ("/sandbox/hidden", said, WIDER),
    ("/sandbox/environment", said, WIDER),
    ("/calls/allowPlainHttp", |value| value == true, "the key could be read on its way"),
    ("/llmLog/folder", said, "the log could be written anywhere"),
    ("/llmLog/includeContent", |value| value == true, "the log would hold what you did not ask for"),
    ("/events", said, "a hook runs before you know of it, and may change the verdict"),
    ("/trustedTools", said, "what a tool returns would pass for your own words"),
    ("/turn/input", asks_a_command, STAGE),
    ("/turn/output", asks_a_command, STAGE),
    ("/cycle/input", asks_a_command, STAGE),
    ("/cycle/output", asks_a_command, STAGE),
    ("/turn/store/path", leads_out, "what is remembered could be written anywhere"),
    ("/mcpServers", said, "a server is a program outside of the sandbox"),
    ("/customTools", reaches_out, "with `env` or `network` its tools would reach beyond the sandbox"),
];

const WIDER: &str = "commands of a run would reach further than you allowed";

const STAGE: &str = "a command among the stages runs before you know of it, and may change or stop the run";

fn said(value: &Value) -> bool {
    !value.is_null()
}

fn reaches_out(tools: &Value) -> bool {
    let list = tools.as_array().into_iter().flatten();
    list.into_iter().any(|tool| ["env", "network"].iter().any(|key| tool.get(key).is_some_and(said)))
}

fn asks_a_command(stages: &Value) -> bool {
    let list = stages.as_array().into_iter().flatten();
    list.into_iter().any(|stage| stage.get("command").is_some_and(said))
}

fn leads_out(path: &Value) -> bool {
    let leads = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
    path.as_str().is_some_and(|path| path.starts_with('~') || Path::new(path).components().any(leads))
}

/// Whether a value of the project's file goes further than the one that the layers below it say.
type Wider = fn(&Value, &Value) -> bool;

/// What the user's own configuration decides, as soon as it says something.
const DECIDED: [(&str, Wider); 19] = [
    ("/tools", |_, own| own != &json!([])),
    ("/network/allowHosts", |_, own| own != &json!([])),
    ("/customTools", |_, own| own != &json!([])),
    // A list of stages would take the place of one's own, with every guard in it.
    ("/turn/input", |_, own| own != &json!([])),
    ("/turn/output", |_, own| own != &json!([])),
    ("/cycle/input", |_, own| own != &json!([])),
    ("/cycle/output", |_, own| own != &json!([])),
    // Another session has other runs' memories in it, and another store is one that others may write.
    ("/turn/session", |value, own| value != own),
    ("/turn/store", |value, own| value != own),
    ("/sandbox/mode", |_, own| own == "read-only"),
    ("/limits/maxCycles", higher),
    ("/limits/maxTokens", higher),
    ("/limits/maxCostUsd", higher),
    ("/limits/maxDuration", higher),
    ("/limits/maxToolCalls", higher),
    ("/pricing", |_, _| true),
    ("/evaluator/votes", |value, own| value != own),
    ("/evaluator/askAgainBelow", |value, own| higher(own, value)),
    ("/evaluator/strict", |value, _| value == false),
];

fn higher(value: &Value, own: &Value) -> bool {
    value.as_f64() > own.as_f64()
}

/// Returns the layer of the project's file above the configuration `below`, with a fault for everything that is not for it to say.
///
/// `own` are the globs of protected files below it.
pub(super) fn narrowed(document: &Document, layer: Layer, below: &Layers, own: &[String]) -> Layer {
    let (mut faults, values) = match layer {
        Ok((values, warnings)) => (warnings, Some(values)),
        Err(faults) => (faults, None),
    };
    let is_wider = |(pointer, wider): &(&str, Wider)| {
        // Prices are as good as a limit of what they add up to.
        let own = below.said(if *pointer == "/pricing" { "/limits/maxCostUsd" } else { pointer });
        let value =
            values.as_ref().and_then(|values: &Value| values.pointer(pointer)).filter(|value| said(value));
        own.zip(value).is_some_and(|(own, value)| wider(value, &own))
    };
    let decided = DECIDED.iter().filter(|decided| is_wider(decided));
    let decided =
        decided.map(|(pointer, _)| -> Untrusted { (pointer, said, "your own configuration says it") });
    let decided: Vec<Untrusted> = decided.collect();
    for (pointer, untrusted, why) in UNTRUSTED.into_iter().chain(decided) {
        if document.value().pointer(pointer).is_some_and(untrusted) {
            let key = pointer[1..].replace('/', ".");
            let message = format!("`{key}` cannot be set in the project's `{PROJECT_FILE}`: {why}");
            let fault = Diagnostic::error("untrusted", message).at(document.span_of_key(pointer));
            faults.push(
                fault.hint("set it in your own configuration, in a file named with `--config`, or by a flag"),
            );
        }
    }
    match values {
        Some(mut values) if !faults.has_errors() => {
            // It may protect more files, and no fewer.
            if let Some(Value::Array(protect)) = values.get_mut("protect") {
                protect.extend(own.iter().map(|glob| json!(glob)));
            }
            Ok((values, faults))
        }
        _ => Err(faults),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Origin};
    use crate::source::{Format, SourceFile, UnknownKeys};

    /// Returns the faults of a project's file above what the user says.
    fn faults(own: Value, project: &str) -> Vec<String> {
        let mut below = Layers::defaults().unwrap();
        below.push(Origin::File("own".to_owned()), own);
        let file = SourceFile::from_text(PROJECT_FILE, project, Format::Yaml);
        let document = Document::parse(file).unwrap();
        let layer = config::load(&document, &[], UnknownKeys::Refuse);
        match narrowed(&document, layer, &below, &[]) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(|fault| fault.message.clone()).collect(),
        }
    }

    #[test]
    fn with_whom_and_where_the_user_shares_is_not_for_the_project_to_say() {
        let own = json!({"turn": {"session": "own", "store": {"kind": "sqlite", "path": "/home/me/own.db"}}});
        for (project, key) in [
            ("turn: {session: other}", "turn.session"),
            ("turn: {store: none}", "turn.store"),
            ("turn: {store: {kind: sqlite}}", "turn.store"),
            ("turn: {store: {kind: sqlite, path: here.db}}", "turn.store"),
        ] {
            let words = "your own configuration says it";
            let fault = format!("`{key}` cannot be set in the project's `{PROJECT_FILE}`: {words}");
            assert_eq!(faults(own.clone(), project), [fault]);
            assert!(faults(json!({}), project).is_empty(), "{project}");
        }
        assert!(faults(own, "turn: {session: own}").is_empty());
    }

    #[test]
    fn a_store_of_the_project_stays_in_its_folder() {
        for path in ["/tmp/x.db", "../x.db", "~/x.db"] {
            let found = faults(json!({}), &format!("turn: {{store: {{kind: sqlite, path: {path}}}}}"));
            assert_eq!(found.len(), 1, "{path}: {found:?}");
            assert!(found[0].starts_with("`turn.store.path` cannot be set"), "{found:?}");
        }
    }
}
