//! Owns the way from the text of a script to its replies.
//!
//! It refuses a file as a whole, with every fault that it has: a reply that was dropped would let a run look different from
//! what its author wrote.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Address, FORMAT, Form, Reply, Stage, Words, WrittenReply};
use crate::provider::FinishReason;
use crate::source;
use crate::text;

/// The largest YAML document, in nodes; a recorded run has a few thousand.
const MAX_NODES: usize = 1_000_000;

/// Something that is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::providers) struct Fault {
    /// The reply that it is about, from 1, if it is about one.
    pub(in crate::providers) reply: Option<usize>,
    /// What is wrong and with which reply.
    pub(in crate::providers) text: String,
}

/// Returns the replies of a file in their order, or all of its faults.
pub(in crate::providers) fn parse(text: &str, form: Form) -> Result<Vec<Reply>, Vec<Fault>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut wrong = Vec::new();
    let values = match form {
        Form::JsonLines => lines(text, &mut wrong),
        Form::Json => whole(serde_json::from_str(text).map_err(|error| error.to_string()), &mut wrong),
        Form::Yaml => whole(source::parse_yaml_value(text, MAX_NODES), &mut wrong),
    };
    let mut faults: Vec<Fault> = wrong.into_iter().map(|text| Fault { reply: None, text }).collect();
    let mut replies = Vec::new();
    for (index, (place, value)) in values.into_iter().enumerate() {
        let place = format!("{place}{}", described(&value));
        let fault = |fault: String| Fault { reply: Some(index + 1), text: format!("{place}: {fault}") };
        match reply(index + 1, value) {
            Ok(reply) => replies.push(reply),
            Err(wrong) => faults.extend(wrong.into_iter().map(fault)),
        }
    }
    if faults.is_empty() { Ok(replies) } else { Err(faults) }
}

/// Returns the replies of a file that is one document, each with its place.
fn whole(document: Result<Value, String>, faults: &mut Vec<String>) -> Vec<(String, Value)> {
    let document = match document {
        Ok(Value::Object(document)) => document,
        Ok(_) => {
            faults.push(format!("the file has to be a map with `format: {FORMAT}` and `replies`"));
            return Vec::new();
        }
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    if !header(&document, &["format", "replies"], faults) {
        return Vec::new();
    }
    match document.get("replies") {
        Some(Value::Array(replies)) => {
            let placed = replies.iter().enumerate();
            placed.map(|(index, reply)| (format!("reply {}", index + 1), reply.clone())).collect()
        }
        Some(_) => {
            faults.push("`replies` has to be a list".to_owned());
            Vec::new()
        }
        None => {
            faults.push("`replies` is missing".to_owned());
            Vec::new()
        }
    }
}

/// Returns the replies of a file of lines, each with its place.
fn lines(text: &str, faults: &mut Vec<String>) -> Vec<(String, Value)> {
    let mut values = Vec::new();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, first)) = lines.next() else {
        faults.push(format!("the first line has to be `{{\"format\":\"{FORMAT}\"}}`"));
        return values;
    };
    match serde_json::from_str::<Map<String, Value>>(first) {
        Ok(first) if header(&first, &["format"], faults) => {}
        Ok(_) => return values,
        Err(_) => faults.push(format!("the first line has to be `{{\"format\":\"{FORMAT}\"}}`")),
    }
    for (index, line) in lines {
        match serde_json::from_str(line) {
            Ok(value) => values.push((format!("line {}, reply {}", index + 1, values.len() + 1), value)),
            Err(error) => faults.push(format!("line {} is not JSON: {error}", index + 1)),
        }
    }
    values
}

/// Returns whether the rest of a file with this header can be judged.
fn header(header: &Map<String, Value>, known: &[&str], faults: &mut Vec<String>) -> bool {
    let format = header.get("format");
    let version = format.and_then(Value::as_str).and_then(|format| format.strip_prefix("tepa.replay/"));
    if version.and_then(|version| version.parse().ok()).is_some_and(|version: u32| version > 1) {
        let version = version.unwrap_or_default();
        faults.push(format!("`tepa.replay/{version}` is newer than this tepa, which reads `{FORMAT}`"));
        return false;
    }
    match format {
        None => faults.push(format!("`format` is missing; write `format: {FORMAT}`")),
        Some(format) if format == FORMAT => {}
        Some(format) => faults.push(format!("`format` is `{format}` and has to be `{FORMAT}`")),
    }
    for key in header.keys().filter(|key| !known.contains(&key.as_str())) {
        let hint = text::did_you_mean(key, known.iter().copied());
        let hint = hint.map_or_else(String::new, |hint| format!("; did you mean `{hint}`?"));
        faults.push(format!("unknown key `{key}` beside {}{hint}", text::ticked(known)));
    }
    true
}

/// Returns the address that a reply seems to have, in parentheses.
fn described(value: &Value) -> String {
    let words: Vec<String> = ["stage", "step", "tool"]
        .iter()
        .filter_map(|key| Some((key, value.get(key)?.as_str()?)))
        .map(|(key, name)| format!("{key} `{}`", text::truncate(name, 40)))
        .collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn reply(number: usize, value: Value) -> Result<Reply, Vec<String>> {
    let written: WrittenReply = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        // Of an unknown or missing key the path repeats the key, or says nothing.
        let place = if path == "." || error.inner().to_string().contains(&format!("`{path}`")) {
            String::new()
        } else {
            format!("`{path}`: ")
        };
        vec![format!("{place}{}", error.inner())]
    })?;
    let faults = faults(&written);
    if !faults.is_empty() {
        return Err(faults);
    }
    let finish_reason = written.finish_reason.unwrap_or(match written.tool_use {
        Some(_) => FinishReason::ToolUse,
        None => FinishReason::EndTurn,
    });
    let text = written.text.or_else(|| written.json.map(|json| json.to_string())).unwrap_or_default();
    let usage = written.usage.map(Into::into);
    Ok(Reply {
        number,
        address: Address { stage: written.stage, step: written.step, tool: written.tool },
        cycle: written.cycle,
        expect: written.expect.unwrap_or_default(),
        delay: Duration::from_millis(written.delay_ms.unwrap_or_default()),
        answer: match written.error {
            Some(error) => Err(error.into()),
            None => Ok(Words { text, tool_use: written.tool_use, usage, finish_reason }),
        },
    })
}

/// Returns what the keys of a reply say against each other.
fn faults(reply: &WrittenReply) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |text: &str| faults.push(text.to_owned());
    if reply.cycle == Some(0) {
        fault("`cycle` counts from 1");
    }
    if reply.stage == Stage::Step {
        if reply.step.is_none() {
            fault("`stage: step` needs `step`, the id of the step");
        }
    } else {
        for (key, given) in [("step", &reply.step), ("tool", &reply.tool)] {
            if given.is_some() {
                fault(&format!("`{key}` goes with `stage: step` only"));
            }
        }
    }
    let answers = [
        ("text", reply.text.is_some()),
        ("json", reply.json.is_some()),
        ("toolUse", reply.tool_use.is_some()),
        ("error", reply.error.is_some()),
    ];
    let given: Vec<&str> = answers.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect();
    match given.len() {
        0 => fault(&format!("one of {} is missing", text::ticked_or(answers.map(|(key, _)| key)))),
        1 => {}
        _ => fault(&format!("{} exclude each other", text::ticked(given))),
    }
    if reply.tool_use.is_some() && reply.stage == Stage::Step && reply.tool.is_none() {
        fault("`toolUse` needs `tool`, the name of the tool that is called");
    } else if reply.tool_use.is_some() && reply.stage != Stage::Step {
        fault("`toolUse` goes with `stage: step` only");
    }
    if reply.tool_use == Some(Value::Null) {
        fault("`toolUse` has to hold the parameters; `{}` for none");
    }
    for (key, given) in [("usage", reply.usage.is_some()), ("finishReason", reply.finish_reason.is_some())] {
        if given && reply.error.is_some() {
            fault(&format!("`{key}` does not go with `error`"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses with faults as text.
    fn parse(text: &str, form: Form) -> Result<Vec<Reply>, Vec<String>> {
        super::parse(text, form).map_err(|faults| faults.into_iter().map(|fault| fault.text).collect())
    }

    fn yaml(replies: &str) -> Result<Vec<Reply>, Vec<String>> {
        parse(&format!("format: tepa.replay/1\nreplies:\n{replies}"), Form::Yaml)
    }

    fn faults(replies: &str) -> Vec<String> {
        yaml(replies).unwrap_err()
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let json =
            r#"{"format": "tepa.replay/1", "replies": [{"stage": "planner", "json": {"a": [1, null]}}]}"#;
        let lines =
            "\n{\"format\":\"tepa.replay/1\"}\r\n\r\n{\"stage\":\"planner\",\"json\":{\"a\":[1,null]}}\r\n";
        for replies in [
            yaml("  - {stage: planner, json: {a: [1, null]}}").unwrap(),
            parse(json, Form::Json).unwrap(),
            parse(json, Form::Yaml).unwrap(),
            parse(lines, Form::JsonLines).unwrap(),
            parse(&format!("\u{feff}{lines}"), Form::JsonLines).unwrap(),
        ] {
            assert_eq!(replies.len(), 1);
            assert_eq!(replies[0].answer.as_ref().unwrap().text, r#"{"a":[1,null]}"#);
        }
    }

    #[test]
    fn null_is_a_json_answer_but_no_parameters() {
        let replies = yaml("  - {stage: planner, json: null}").unwrap();
        assert_eq!(replies[0].answer.as_ref().unwrap().text, "null");
        assert_eq!(
            faults("  - {stage: step, step: a, tool: b, toolUse: }"),
            [
                "reply 1 (stage `step`, step `a`, tool `b`): `toolUse` has to hold the parameters; `{}` for none"
            ]
        );
    }

    #[test]
    fn defaults_follow_the_answer() {
        let replies = yaml(
            "  - {stage: step, step: a, tool: b, toolUse: {}}\n  - {stage: evaluator, text: ''}\n  \
               - {stage: planner, text: x, finishReason: max_tokens, usage: {input: 3}, delayMs: 5}",
        )
        .unwrap();
        let words = |index: usize| replies[index].answer.as_ref().unwrap();
        assert_eq!(words(0).finish_reason, FinishReason::ToolUse);
        assert_eq!(words(1).finish_reason, FinishReason::EndTurn);
        assert_eq!(words(2).finish_reason, FinishReason::MaxTokens);
        assert_eq!(words(2).usage.unwrap().total(), 3);
        assert_eq!(replies[2].delay, Duration::from_millis(5));
    }

    #[test]
    fn every_fault_of_a_file_is_listed_with_its_place() {
        let listed = faults(
            "  - {stage: step, text: x}
  - {stage: planner, step: a, tool: t, text: x, json: 1}
  - {stage: evaluator, cycle: 0}
  - {stage: step, step: a, toolUse: {}}
  - {stage: executor, text: x}
  - {stage: planner, text: x, delay: 5}
  - {stage: planner, text: x, usage: {input: -1}}
  - {stage: planner, error: {kind: unscripted, message: x}}
  - {stage: planner, error: {kind: refused, message: x}, usage: {}, finishReason: end_turn}
  - {text: x}
  - 7",
        );
        let expected = [
            "reply 1 (stage `step`): `stage: step` needs `step`, the id of the step",
            "reply 2 (stage `planner`, step `a`, tool `t`): `step` goes with `stage: step` only",
            "reply 2 (stage `planner`, step `a`, tool `t`): `tool` goes with `stage: step` only",
            "reply 2 (stage `planner`, step `a`, tool `t`): `text` and `json` exclude each other",
            "reply 3 (stage `evaluator`): `cycle` counts from 1",
            "reply 3 (stage `evaluator`): one of `text`, `json`, `toolUse` or `error` is missing",
            "reply 4 (stage `step`, step `a`): `toolUse` needs `tool`, the name of the tool that is called",
            "reply 5 (stage `executor`): `stage`: unknown variant `executor`, expected one of",
            "reply 6 (stage `planner`): unknown field `delay`, expected one of",
            "reply 7 (stage `planner`): `usage.input`: invalid value: integer `-1`, expected u64",
            "reply 8 (stage `planner`): `error.kind`: unknown variant `unscripted`",
            "reply 9 (stage `planner`): `usage` does not go with `error`",
            "reply 9 (stage `planner`): `finishReason` does not go with `error`",
            "reply 10: missing field `stage`",
            "reply 11: invalid type: integer `7`",
        ];
        assert_eq!(listed.len(), expected.len(), "{listed:#?}");
        for (listed, expected) in listed.iter().zip(expected) {
            assert!(listed.starts_with(expected), "{listed}\n{expected}");
        }
    }

    #[test]
    fn the_header_has_to_fit() {
        let one = |text: &str, form: Form| {
            let faults = parse(text, form).unwrap_err();
            assert_eq!(faults.len(), 1, "{faults:?}");
            faults[0].clone()
        };
        assert_eq!(
            one("{format: tepa.replay/2, replies: [7], more: 1}", Form::Yaml),
            "`tepa.replay/2` is newer than this tepa, which reads `tepa.replay/1`"
        );
        assert!(one("{format: other, replies: []}", Form::Yaml).contains("has to be `tepa.replay/1`"));
        assert!(one("replies: []", Form::Yaml).contains("`format` is missing"));
        assert!(one("format: tepa.replay/1", Form::Yaml).contains("`replies` is missing"));
        assert!(one("{format: tepa.replay/1, replies: {}}", Form::Yaml).contains("has to be a list"));
        assert!(
            one("{format: tepa.replay/1, replies: [], reply: 1}", Form::Yaml).contains("unknown key `reply`")
        );
        assert!(one("", Form::Yaml).contains("has to be a map"));
        assert!(one("{", Form::Json).contains("EOF"));
        assert!(one("", Form::JsonLines).contains("the first line"));
        assert!(one("{\"stage\":\"planner\"", Form::JsonLines).contains("the first line"));
        assert!(one("{\"format\":\"tepa.replay/9\"}\n7", Form::JsonLines).contains("newer"));
    }

    #[test]
    fn lines_are_named_by_their_number() {
        let text = "{\"format\":\"tepa.replay/1\"}\n{\n\n{\"stage\":\"planner\"}";
        let faults = parse(text, Form::JsonLines).unwrap_err();
        assert!(faults[0].starts_with("line 2 is not JSON"), "{faults:?}");
        assert!(faults[1].starts_with("line 4, reply 1 (stage `planner`): one of"), "{faults:?}");
    }
}
