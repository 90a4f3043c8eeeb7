//! Owns plan files: a plan, and what it was made for. One that was made for something else is refused, and it is said what differs.
//!
//! What it was made for is kept as hashes, key by key: a plan file may be passed on, and says nothing of a configuration. A key that means
//! nothing is refused, because somebody meant something by it, and so is a plan that would be another one without its secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::digest;
use crate::error::{Error, Message};
use crate::outcome::{Estimate, Spending};
use crate::pipeline::Planned;
use crate::plan::{self, Plan, PlanError};
use crate::prompt::Prompt;
use crate::secret::Secrets;
use crate::text;
use crate::tool::Registry;

/// The version of the form.
const SCHEMA: &str = "tepa.plan/1";

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// Keys of the configuration that change nothing about what is executed.
const BESIDE_THE_POINT: [&str; 2] = ["logging", "llmLog"];

/// A plan file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanFile {
    schema: String,
    /// The goal, for whoever reads the file.
    goal: String,
    plan: Value,
    /// What making the plan took.
    spent: Spending,
    estimate: Estimate,
    made_for: MadeFor,
}

/// What a plan was made for: hashes by key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MadeFor {
    prompt: BTreeMap<String, String>,
    config: BTreeMap<String, String>,
    tools: BTreeMap<String, String>,
}

impl PlanFile {
    pub(super) fn new(planned: &Planned, goal: String, made_for: MadeFor) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            goal,
            plan: json!(planned.plan),
            spent: planned.spent,
            estimate: planned.estimate.clone(),
            made_for,
        }
    }

    /// Reads the file at `path`, which messages call `name`.
    ///
    /// # Errors
    /// It cannot be read, is no plan file, or its plan says what means nothing.
    pub fn read(path: &Path, name: &str) -> Result<Self, Error> {
        let fail = |e: &(dyn std::error::Error + 'static)| {
            Error::usage(format!("cannot use the plan in `{name}`"))
                .because(e)
                .hint(format!("make one with `tepa plan PROMPT -o {name}`"))
        };
        let found = fs::metadata(path).map_err(|e| fail(&e))?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(Error::usage(format!("`{name}` is no plan file: it is no file, or much too large")));
        }
        let value: Value =
            serde_json::from_slice(&fs::read(path).map_err(|e| fail(&e))?).map_err(|e| fail(&e))?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => {
                let message =
                    format!("the plan in `{name}` has the form `{other}`, and this tepa reads `{SCHEMA}`");
                return Err(Error::usage(message));
            }
            None => {
                return Err(Error::usage(format!("`{name}` is no plan file: it says no `schema`"))
                    .hint(format!("make one with `tepa plan PROMPT -o {name}`")));
            }
        }
        let file: Self = serde_json::from_value(value).map_err(|e| fail(&e))?;
        let causes = unknown_keys(&file.plan);
        if causes.is_empty() {
            return Ok(file);
        }
        let hint = "take it out, or let its name begin with `x-` if it is a remark".to_owned();
        let text = format!("the plan in `{name}` says what means nothing");
        Err(Error::Usage(Message { text, causes, hint: Some(hint) }))
    }

    /// Returns what is wrong with a plan file, as far as that can be known without a run: where, as a JSON pointer, and what.
    pub fn faults(value: &Value) -> Vec<(String, String)> {
        match value.get("schema") {
            Some(schema) if schema == SCHEMA => {}
            Some(other) => {
                let message =
                    format!("this tepa reads plans of the form `{SCHEMA}`, and this one has {other}");
                return vec![("/schema".to_owned(), message)];
            }
            None => return vec![(String::new(), format!("the key `schema` is missing: it says `{SCHEMA}`"))],
        }
        let mut faults = Vec::new();
        if let Err(e) = serde_path_to_error::deserialize::<_, Self>(value) {
            let place = e.path().to_string();
            let place = if place == "." { String::new() } else { pointer("", &place) };
            let message = e.into_inner().to_string();
            let message = match message.strip_prefix("missing field ") {
                Some(key) => format!("the key {key} is missing"),
                None => message,
            };
            faults.push((place, message));
        }
        let plan = &value["plan"];
        for fault in unknown_keys(plan) {
            let place = fault.split('`').nth(3).map(|place| pointer("", place));
            faults.push((place.unwrap_or_default(), fault));
        }
        // Which tools there are is known when it runs.
        let tools: Vec<String> = plan["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|step| step["tools"].as_array().cloned().unwrap_or_default())
            .filter_map(|tool| tool.as_str().map(str::to_owned))
            .collect();
        let wrong = match plan::parse(plan, &tools) {
            Ok(plan) => plan::graph::order(&plan.steps).err().map(|e| vec![e.to_string()]),
            Err(PlanError::Malformed(wrong)) => Some(wrong),
            Err(other) => Some(vec![other.to_string()]),
        };
        let placed = wrong.into_iter().flatten().map(|fault| {
            let place = fault.split(' ').next().filter(|word| word.contains(['[', '.']));
            (place.map_or("/plan/steps".to_owned(), |place| pointer("/plan", place)), fault)
        });
        faults.extend(placed);
        faults
    }

    /// Refuses a plan that holds a secret: whatever is written has `***` in its place, and that would be executed.
    ///
    /// # Errors
    /// It holds one.
    pub fn check_writable(&self, secrets: &Secrets) -> Result<(), Error> {
        let plan = self.plan.to_string();
        if secrets.redact(&plan) == plan {
            return Ok(());
        }
        let mut places = Vec::new();
        places_of_secrets(&self.plan, "plan", secrets, &mut places);
        let places = if places.is_empty() { vec!["plan".to_owned()] } else { places };
        let message = format!("the plan is not written: it holds a secret in {}", text::ticked(places));
        Err(Error::broken(message).hint(
            "a plan file would have `***` there: keep the value out of the task, and hand it to tools and servers by `env`",
        ))
    }

    /// Returns the plan.
    ///
    /// # Errors
    /// It is none.
    pub fn plan(&self) -> Result<Plan, Error> {
        serde_json::from_value(self.plan.clone())
            .map_err(|e| Error::usage("the plan file holds no plan").because(&e))
    }

    /// Returns what making the plan took.
    pub fn spent(&self) -> Spending {
        self.spent
    }

    /// Returns what executing the plan will cost.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Returns the plan, if it was made for this and can be executed.
    ///
    /// # Errors
    /// It was made for something else, or is no plan that could be executed.
    pub(super) fn plan_for(&self, now: &MadeFor, registry: &Registry) -> Result<Plan, Error> {
        let differences = self.made_for.differences(now);
        if !differences.is_empty() {
            return Err(Error::Usage(Message {
                text: "the plan was made for something else".to_owned(),
                causes: differences,
                hint: Some("make it again with `tepa plan`, or run with what it was made for".to_owned()),
            }));
        }
        let refused = |causes: Vec<String>| {
            let text = "the plan cannot be executed".to_owned();
            Error::Usage(Message { text, causes, hint: None })
        };
        let plan = plan::parse(&self.plan, &registry.names()).map_err(|error| match error {
            PlanError::Malformed(faults) => refused(faults),
            other => refused(vec![other.to_string()]),
        })?;
        plan::graph::order(&plan.steps).map_err(|e| refused(vec![e.to_string()]))?;
        Ok(plan)
    }
}

impl MadeFor {
    /// Returns what a plan is made for now.
    pub(super) fn of(prompt: &Prompt, config: &Config, registry: &Registry) -> Result<Self, Error> {
        let fail = |e: serde_json::Error| Error::broken("what a plan is made for is not JSON").because(&e);
        // With what servers, tools and hooks are handed, which no record has: variables by their names, as they are written.
        let mut config = serde_json::to_value(config).map_err(fail)?;
        for key in BESIDE_THE_POINT {
            if let Some(config) = config.as_object_mut() {
                config.shift_remove(key);
            }
        }
        let tools: Map<String, Value> =
            registry.schemas().into_iter().map(|schema| (schema.name.clone(), json!(schema))).collect();
        Ok(Self {
            prompt: hashes(&serde_json::to_value(prompt).map_err(fail)?),
            config: hashes(&config),
            tools: hashes(&Value::Object(tools)),
        })
    }

    fn differences(&self, now: &Self) -> Vec<String> {
        let of = |what: &str, then: &BTreeMap<String, String>, now: &BTreeMap<String, String>| {
            let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
            let differ: Vec<&String> =
                keys.into_iter().filter(|key| then.get(*key) != now.get(*key)).collect();
            (!differ.is_empty()).then(|| format!("{what} in {}", text::ticked(differ)))
        };
        [
            of("the prompt differs", &self.prompt, &now.prompt),
            of("the configuration differs", &self.config, &now.config),
            of("the tools differ", &self.tools, &now.tools),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Returns a place such as `steps[0].id` as a JSON pointer below another.
fn pointer(below: &str, place: &str) -> String {
    let parts = place.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.fold(below.to_owned(), |pointer, part| format!("{pointer}/{part}"))
}

/// Returns what is wrong with the keys of a plan, for each that it has no use for.
fn unknown_keys(plan: &Value) -> Vec<String> {
    let form = plan::answer_schema();
    let steps = plan["steps"].as_array().into_iter().flatten().enumerate();
    let of_steps = steps.flat_map(|(at, step)| {
        strangers(step, &form["properties"]["steps"]["items"], &format!("plan.steps[{at}]"))
    });
    strangers(plan, form, "plan").into_iter().chain(of_steps).collect()
}

fn strangers(object: &Value, form: &Value, place: &str) -> Vec<String> {
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flat_map(Map::keys).cloned().collect()
    };
    let known = keys(&form["properties"]);
    let unknown = keys(object).into_iter().filter(|key| !known.contains(key) && !key.starts_with("x-"));
    let fault = |key: String| {
        let meant = text::did_you_mean(&key, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
        format!("unknown key `{key}` in `{place}`{meant}")
    };
    unknown.map(fault).collect()
}

fn places_of_secrets(value: &Value, place: &str, secrets: &Secrets, places: &mut Vec<String>) {
    match value {
        Value::String(words) if secrets.redact(words) != *words => places.push(place.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                places_of_secrets(item, &format!("{place}[{at}]"), secrets, places);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                places_of_secrets(value, &format!("{place}.{key}"), secrets, places);
            }
        }
        _ => {}
    }
}

/// Returns the hash of each value of an object.
fn hashes(object: &Value) -> BTreeMap<String, String> {
    let entries = object.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), digest::sha256_of(&value.to_string()))).collect()
}
