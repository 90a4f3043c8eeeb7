//! Owns what the command line says of the configuration: which argument says which value, and how they stand to each other.
//!
//! Variables are below `--set`, and that is below the flags. It refuses two words of one command line that contradict each other: nobody can
//! tell which one was meant.

use serde_json::{Value, json};

use super::args::{
    DoctorArguments, GlobalArguments, ResumeArguments, Rules, SettingArguments, Voices, WorkArguments,
};
use crate::config::{Layers, LoggingLevel, Origin, ProviderKind, SandboxMode, grows};
use crate::error::Error;

/// What each argument says, by its id, in the form of a configuration file; of one value, the last counts.
pub(super) type Said = Vec<(&'static str, Value)>;

/// Returns what is said of a run, of planning one, and of judging one.
pub(super) fn settings(settings: &SettingArguments, global: &GlobalArguments) -> Said {
    let every = settings.model.as_ref();
    vec![
        ("replay", json!({"provider": settings.replay.as_ref().map(|_| ProviderKind::Replay)})),
        ("provider", json!({"provider": settings.provider})),
        ("base_url", json!({"baseUrl": settings.base_url})),
        ("model", json!({"model": {"planner": every, "executor": every, "evaluator": every}})),
        ("evaluator_model", json!({"model": {"evaluator": settings.evaluator_model}})),
        ("max_tokens", json!({"limits": {"maxTokens": settings.max_tokens}})),
        ("max_cost", json!({"limits": {"maxCostUsd": settings.max_cost}})),
        ("timeout", json!({"limits": {"maxDuration": settings.timeout}})),
        ("strict", json!({"evaluator": {"strict": settings.strict.then_some(true)}})),
        ("sandbox", json!({"sandbox": {"mode": settings.sandbox.map(SandboxMode::from)}})),
        ("log_level", json!({"logging": {"level": global.log_level.map(LoggingLevel::from)}})),
    ]
}

/// Returns what is said of work that is yet to be done.
pub(super) fn work(work: &WorkArguments) -> Said {
    vec![
        ("planner_model", json!({"model": {"planner": work.planner_model}})),
        ("executor_model", json!({"model": {"executor": work.executor_model}})),
        ("max_cycles", json!({"limits": {"maxCycles": work.max_cycles}})),
        ("max_tool_calls", json!({"limits": {"maxToolCalls": work.max_tool_calls}})),
        ("tool_timeout", json!({"limits": {"toolTimeout": work.tool_timeout}})),
        ("session", json!({"turn": {"session": work.session}})),
        ("tools", json!({"tools": rules(&work.tools)})),
        ("deny_tool", json!({"denyTools": rules(&work.deny_tool)})),
    ]
}

/// Returns what is said of a run that goes on: its limits.
pub(super) fn resumed(arguments: &ResumeArguments, global: &GlobalArguments) -> Said {
    vec![
        ("max_cycles", json!({"limits": {"maxCycles": arguments.max_cycles}})),
        ("max_tokens", json!({"limits": {"maxTokens": arguments.max_tokens}})),
        ("max_cost", json!({"limits": {"maxCostUsd": arguments.max_cost}})),
        ("max_tool_calls", json!({"limits": {"maxToolCalls": arguments.max_tool_calls}})),
        ("timeout", json!({"limits": {"maxDuration": arguments.timeout}})),
        ("log_level", json!({"logging": {"level": global.log_level.map(LoggingLevel::from)}})),
    ]
}

/// Returns what is said to the doctor of who would answer.
pub(super) fn doctor(arguments: &DoctorArguments) -> Said {
    let every = arguments.model.as_ref();
    vec![
        ("provider", json!({"provider": arguments.provider})),
        ("base_url", json!({"baseUrl": arguments.base_url})),
        ("model", json!({"model": {"planner": every, "executor": every, "evaluator": every}})),
    ]
}

/// Returns all rules of a flag, or nothing when it was not given.
fn rules(given: &[Rules]) -> Option<Vec<&String>> {
    (!given.is_empty()).then(|| given.iter().flat_map(|rules| &rules.0).collect())
}

/// Puts what is said on top of the layers.
///
/// # Errors
/// A flag and `--set` say different things of one value.
pub(super) fn push(
    layers: &mut Layers,
    said: Said,
    set: Option<Value>,
    variables: &Voices,
) -> Result<(), Error> {
    let said = said.into_iter().filter(|(_, value)| says(value));
    let (of_variables, of_flags): (Vec<_>, Vec<_>) = said
        .map(|(id, value)| (variables.origin(id), value))
        .partition(|(origin, _)| matches!(origin, Origin::Variable(_)));
    for (origin, value) in of_variables {
        layers.push(origin, value);
    }
    if let Some(set) = set {
        for (flag, value) in &of_flags {
            if let Some(key) = contradiction(value, &set, "") {
                let message = format!("`{flag}` and `--set` say different things of `{key}`");
                return Err(Error::usage(message).hint("leave one of them out"));
            }
        }
        layers.push(Origin::Set, set);
    }
    for (origin, value) in of_flags {
        layers.push(origin, value);
    }
    Ok(())
}

/// Returns whether there is anything in a value but nulls.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(map) => map.values().any(says),
        _ => true,
    }
}

/// Returns the key of which two layers say different things.
fn contradiction(one: &Value, other: &Value, key: &str) -> Option<String> {
    match (one, other) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Object(one), Value::Object(other)) => one.iter().find_map(|(name, value)| {
            let below = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            if grows(name) { None } else { contradiction(value, other.get(name)?, &below) }
        }),
        _ => (one != other).then(|| key.to_owned()),
    }
}
