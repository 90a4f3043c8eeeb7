//! Holds the schemas under `config/schema` to the types that they come from, and both to what people write and what runs leave.

#![cfg(test)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tepa::event::{Envelope, EventSink, Fanout, Purpose, Role, RunEvent, Subject};
use tepa::secret::Secrets;
use tepa::source::{Document, Format, SourceFile, UnknownKeys};

use support::published::Forms;
use support::{StoppedClock, copy_folder, example, files_below, finish, tepa, text};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

const FORMS: [&str; 5] = ["prompt", "config", "result", "event", "replay"];

fn schema_of(form: &str) -> Value {
    match form {
        "prompt" => tepa::prompt::schema(),
        "config" => tepa::config::schema(),
        "result" => tepa::outcome::schema(),
        "event" => tepa::event::schema(),
        _ => tepa::providers::replies::schema(),
    }
}

#[test]
fn the_schemas_under_config_are_what_is_printed() {
    let bless = std::env::var_os("TEPA_BLESS").is_some();
    for form in FORMS {
        let printed = finish(tepa(&root()).args(["schema", form]));
        assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
        let path = root().join(format!("config/schema/{form}.schema.json"));
        if bless {
            fs::write(&path, &printed.stdout).unwrap();
        }
        let published = fs::read(&path).unwrap_or_default();
        assert!(published == printed.stdout, "{} is out of date: TEPA_BLESS=1 writes it", path.display());
        let schema: Value = serde_json::from_slice(&published).unwrap();
        assert_eq!(schema, schema_of(form));
        assert_eq!(schema["$id"], format!("urn:tepa:schema:{form}"));
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{form}");
    }
    let other = finish(tepa(&root()).args(["schema", "plan"]));
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn every_key_that_people_write_has_a_description() {
    fn walk(schema: &Value, place: &str, bare: &mut Vec<String>) {
        let Some(map) = schema.as_object() else { return };
        for (key, below) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let told = below.get("description").is_some()
                || schema
                    .get("description")
                    .is_some_and(|_| map["properties"].as_object().unwrap().len() == 1);
            if !told {
                bare.push(format!("{place}/{key}"));
            }
        }
        for (key, below) in map {
            match below {
                Value::Object(_) => walk(below, &format!("{place}/{key}"), bare),
                Value::Array(list) => {
                    for below in list {
                        walk(below, &format!("{place}/{key}"), bare);
                    }
                }
                _ => {}
            }
        }
    }
    let mut bare = Vec::new();
    for form in FORMS {
        let schema = schema_of(form);
        walk(&schema, form, &mut bare);
        let text = schema.to_string();
        for foreign in ["[`", "seeds", "\"uint"] {
            assert!(!text.contains(foreign), "{form} holds {foreign}");
        }
    }
    // What tells facts apart speaks for itself.
    bare.retain(|place| !place.ends_with("/type"));
    assert_eq!(bare, Vec::<String>::new());
}

/// Returns the files under `prompts/` and `config/` that a person could have written, with the form of each.
fn written() -> Vec<(PathBuf, &'static str)> {
    let mut files = Vec::new();
    for folder in ["prompts", "config"] {
        for file in files_below(&root().join(folder)) {
            let path = Path::new(folder).join(file);
            let name = path.display().to_string();
            let form = match () {
                () if path.extension().is_none_or(|ending| ending != "yaml")
                    || name == "config/models.yaml" =>
                {
                    continue;
                }
                () if name.ends_with(".replay.yaml") => "replay",
                () if folder == "prompts" && !name.ends_with("/config.yaml") => "prompt",
                () => "config",
            };
            files.push((path, form));
        }
    }
    assert!(files.len() > 10);
    files
}

#[test]
fn examples_name_their_schema_and_fit_it() {
    for (path, form) in written() {
        let name = path.display();
        let written = fs::read_to_string(root().join(&path)).unwrap();
        let first = written.lines().next().unwrap();
        let schema = first
            .strip_prefix("# yaml-language-server: $schema=")
            .unwrap_or_else(|| panic!("{name} names no schema"));
        let schema = root().join(&path).parent().unwrap().join(schema).canonicalize().unwrap();
        assert_eq!(
            schema,
            root().canonicalize().unwrap().join(format!("config/schema/{form}.schema.json")),
            "{name}"
        );
        let value = tepa::source::parse_yaml_value(&written, 1_000_000).unwrap();
        let validator = jsonschema::draft202012::new(&schema_of(form)).unwrap();
        let faults: Vec<String> = validator.iter_errors(&value).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}");
    }
}

/// Returns whether tepa takes a file, and whether its published schema does.
fn taken(form: &str, yaml: &str) -> (bool, bool) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), yaml).unwrap();
    let value = tepa::source::parse_yaml_value(yaml, 1_000).unwrap();
    let fits = jsonschema::draft202012::new(&schema_of(form)).unwrap().is_valid(&value);
    let validated = finish(tepa(folder.path()).args(["validate", "a.yaml"]));
    (validated.status.code() == Some(0), fits)
}

#[test]
fn tepa_and_other_validators_agree_on_keys() {
    let prompt = |keys: &str, check: &str| {
        format!(
            "goal: g\ncontext: {{any: 1}}\nexpectedOutput: [{{path: p, description: d, checks: [{{{check}}}]}}]\n{keys}\n"
        )
    };
    for (form, yaml, agreed) in [
        ("prompt", prompt("$schema: ./prompt.schema.json", "exists: true"), true),
        ("prompt", prompt("$schema: 3", "exists: true"), false),
        ("prompt", prompt("x-mine: {a: 1}", "csv: {minRows: 1, x-why: because}"), true),
        ("prompt", prompt("", "exists: true, x-why: because"), true),
        ("prompt", prompt("", "exists: true, minBytes: 3"), false),
        ("prompt", prompt("gaol: g", "exists: true"), false),
        ("prompt", prompt("", "csv: {minRow: 1}"), false),
        ("config", "$schema: config.schema.json\nlimits: {maxCycles: 3, x-why: because}".to_owned(), true),
        ("config", "x-a: 1\nturn: {store: none}\nprovider: openai".to_owned(), true),
        ("config", "turn: {input: [{standing: {files: [A.md], x-why: because}}]}".to_owned(), true),
        ("config", "limits: {maxCycle: 3}".to_owned(), false),
        ("config", "limits: {maxCycles: 0}".to_owned(), false),
        ("config", "$schema: [a]".to_owned(), false),
    ] {
        assert_eq!(taken(form, &yaml), (agreed, agreed), "{yaml}");
    }
}

#[test]
fn a_schema_does_not_make_a_configuration_of_a_prompt_nor_reach_a_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), r#"{"$schema": "a.schema.json", "gaol": "g"}"#).unwrap();
    let output = finish(tepa(folder.path()).args(["validate", "a.json"]));
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("did you mean `goal`"), "{said}");
    let (layer, _) = tepa::config::load(
        &Document::parse(SourceFile::from_text("a.yaml", "$schema: a", Format::Yaml)).unwrap(),
        &[],
        UnknownKeys::Refuse,
    )
    .unwrap();
    assert_eq!(layer.get("$schema"), None);
}

const TASK: &str = "goal: Write a greeting.\ncontext: {}\nexpectedOutput: [{path: terms, description: d, checks: [{unchanged: true}]}]\n";

const PLAN: &str = r"  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: s1, description: note it, tools: [scratchpad], expectedOutcome: noted, dependencies: []}]}
";

const STEP: &str =
    "  - {stage: step, step: s1, tool: scratchpad, toolUse: {action: write, key: a, value: [1]}}\n";

const JUDGE: &str = "  - {stage: evaluator, json: {verdict: fail, confidence: 0.5, feedback: louder}}\n";

/// Returns facts as they are written down.
fn lines_of(facts: &[RunEvent]) -> Vec<Value> {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<Value>>>);
    impl EventSink for Lines {
        fn name(&self) -> &'static str {
            "the test"
        }
        fn emit(&mut self, envelope: &Envelope) -> std::io::Result<()> {
            self.0.lock().unwrap().push(serde_json::from_str(&envelope.line)?);
            Ok(())
        }
    }
    let lines = Lines::default();
    let mut fanout =
        Fanout::new("r".into(), Arc::new(StoppedClock), Secrets::default(), vec![Box::new(lines.clone())]);
    for fact in facts {
        fanout.emit(fact).unwrap();
    }
    lines.0.lock().unwrap().clone()
}

#[test]
fn every_fact_that_there_is_fits_the_schema_and_every_result_does() {
    let mut forms = Forms::default();
    let mut faults = Vec::new();

    let class = example();
    copy_folder(&root().join("config"), &class.path().join("config"));
    let recall = "run prompts/task.yaml --provider replay --config config/examples/turns/recall.yaml";
    let output = finish(tepa(class.path()).args(recall.split(' ')));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    faults.extend(forms.faults_of_runs(class.path()));

    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
    write("task.yaml", TASK);
    write("terms", "as agreed");
    write("c.yaml", "events: {postPlanner: [{command: \"true\"}]}\n");
    for (name, replies) in
        [("all", [PLAN, STEP, JUDGE].concat()), ("plan", PLAN.into()), ("judge", JUDGE.into())]
    {
        write(name, &format!("format: tepa.replay/1\nreplies:\n{replies}"));
    }
    let break_off = || {
        let run = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
        let record = fs::read_to_string(run.join("events.jsonl")).unwrap();
        let planned = record.split_inclusive('\n').take_while(|line| !line.contains("\"step.started\""));
        fs::write(run.join("events.jsonl"), planned.collect::<String>()).unwrap();
    };
    for (line, code) in [
        ("run task.yaml --replay all --config c.yaml --max-cycles 1", 1),
        ("runs resume latest --config c.yaml", 1),
        ("runs evaluate latest --replay judge", 1),
        ("run task.yaml --replay plan --approve", 1),
    ] {
        let output = finish(tepa(folder.path()).args(line.split(' ')));
        assert_eq!(output.status.code(), Some(code), "{line}: {}", text(&output.stderr));
        if line.contains("--max-cycles") {
            break_off();
        }
    }
    faults.extend(forms.faults_of_runs(folder.path()));

    let purpose = Purpose { role: Role::Planner, cycle: 1, step: None, tool: None, attempt: 1 };
    for line in lines_of(&[
        RunEvent::LlmRetry { purpose, retry: 1, delay_ms: 20, error: "busy".into() },
        RunEvent::Warning { code: "c".into(), message: "m".into() },
        RunEvent::ApprovalRequested { cycle: 1, about: Subject::Plan },
    ]) {
        faults.extend(forms.faults_of_event(&line));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let schema = schema_of("event");
    let types = schema["oneOf"].as_array().unwrap().iter();
    let types: BTreeSet<&str> =
        types.map(|fact| fact["properties"]["type"]["const"].as_str().unwrap()).collect();
    let seen: BTreeSet<&str> = forms.seen.iter().map(String::as_str).collect();
    assert_eq!(seen, types, "a fact that is not seen here proves nothing");
}
