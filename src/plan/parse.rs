//! Owns the way from a model's answer to a [`Plan`], and the six validations of the seeds' pipeline document ("Plan Validation").
//!
//! Every fault of an answer is found, not only the first: the planner's second try is told all of them.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::{Plan, Step};

/// Why an answer is no plan that can be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Validations 1 to 5: the answer does not have the form of a plan.
    #[error("Invalid plan: {}", .0.join("; "))]
    Malformed(Vec<String>),
    /// Validation 6.
    #[error("Plan references unknown tool \"{tool}\" in step \"{step}\". Available tools: {}", .available.join(", "))]
    UnknownTool {
        /// The tool that does not exist.
        tool: String,
        /// The step that asks for it.
        step: String,
        /// The tools of the run.
        available: Vec<String>,
    },
    /// The dependencies form a circle.
    #[error("Circular dependency detected among steps: {}", .0.join(", "))]
    Circular(Vec<String>),
}

static ANSWER_SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    Arc::new(json!({
        "type": "object",
        "properties": {
            "reasoning": text,
            "estimatedTokens": {"type": "number"},
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": text,
                        "description": text,
                        "tools": texts,
                        "expectedOutcome": text,
                        "dependencies": texts,
                        "model": {"type": ["string", "null"]},
                    },
                    "required": ["id", "description", "tools", "expectedOutcome", "dependencies", "model"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["reasoning", "estimatedTokens", "steps"],
        "additionalProperties": false,
    }))
});

/// Returns the JSON Schema of what [`parse`] reads, as the APIs take it: closed, and with `null` for what may be missing.
///
/// It says the form only; every validation is still up to [`parse`].
pub fn answer_schema() -> &'static Arc<Value> {
    &ANSWER_SCHEMA
}

/// Returns the plan that `answer` holds, with every validation passed.
pub fn parse(answer: &Value, tools: &[String]) -> Result<Plan, PlanError> {
    let mut faults = Vec::new();
    let plan = read_plan(answer, &mut faults);
    match plan {
        Some(plan) if faults.is_empty() => validate(plan, tools),
        _ => Err(PlanError::Malformed(faults)),
    }
}

/// Returns `plan` itself when it passes the validations; for a plan that did not come from a model (a hook's).
pub fn validate(plan: Plan, tools: &[String]) -> Result<Plan, PlanError> {
    let mut faults = Vec::new();
    check_values(&plan, &mut faults);
    check_references(&plan.steps, &mut faults);
    if !faults.is_empty() {
        return Err(PlanError::Malformed(faults));
    }
    for step in &plan.steps {
        if let Some(tool) = step.tools.iter().find(|tool| !tools.contains(tool)) {
            return Err(PlanError::UnknownTool {
                tool: tool.clone(),
                step: step.id.clone(),
                available: tools.to_vec(),
            });
        }
    }
    Ok(plan)
}

fn check_values(plan: &Plan, faults: &mut Vec<String>) {
    if plan.reasoning.trim().is_empty() {
        faults.push("reasoning must be a non-empty string".to_owned());
    }
    if !(plan.estimated_tokens.is_finite() && plan.estimated_tokens >= 0.0) {
        faults.push("estimatedTokens must be a non-negative number".to_owned());
    }
    if plan.steps.is_empty() {
        faults.push("steps must be a non-empty array".to_owned());
    }
    for (at, step) in plan.steps.iter().enumerate() {
        // An id stands in messages and on screens by itself: a line break in it would look like something else.
        if step.id.chars().any(char::is_control) {
            faults.push(format!("steps[{at}].id must not contain control characters"));
        }
        for (name, value) in [
            ("id", &step.id),
            ("description", &step.description),
            ("expectedOutcome", &step.expected_outcome),
        ] {
            if value.trim().is_empty() {
                faults.push(format!("steps[{at}].{name} must be a non-empty string"));
            }
        }
    }
}

fn check_references(steps: &[Step], faults: &mut Vec<String>) {
    let mut ids = HashSet::new();
    for step in steps {
        if !ids.insert(step.id.as_str()) {
            faults.push(format!("Duplicate step ID \"{}\"", step.id));
        }
    }
    for step in steps {
        for dependency in step.dependencies.iter().filter(|id| !ids.contains(id.as_str())) {
            faults.push(format!("Step \"{}\" depends on nonexistent step \"{dependency}\"", step.id));
        }
    }
}

fn read_plan(answer: &Value, faults: &mut Vec<String>) -> Option<Plan> {
    let Some(map) = answer.as_object() else {
        faults.push("the plan must be a JSON object".to_owned());
        return None;
    };
    let reasoning = read_text(map, "reasoning", "", faults);
    let estimated_tokens = map.get("estimatedTokens").and_then(Value::as_f64);
    if estimated_tokens.is_none() {
        faults.push("estimatedTokens must be a non-negative number".to_owned());
    }
    let steps = if let Some(list) = map.get("steps").and_then(Value::as_array) {
        list.iter().enumerate().filter_map(|(at, step)| read_step(at, step, faults)).collect()
    } else {
        faults.push("steps must be a non-empty array".to_owned());
        Vec::new()
    };
    Some(Plan { reasoning: reasoning?, estimated_tokens: estimated_tokens?, steps })
}

fn read_step(at: usize, step: &Value, faults: &mut Vec<String>) -> Option<Step> {
    let place = format!("steps[{at}].");
    let Some(map) = step.as_object() else {
        faults.push(format!("steps[{at}] must be an object"));
        return None;
    };
    let id = read_text(map, "id", &place, faults);
    let description = read_text(map, "description", &place, faults);
    let expected_outcome = read_text(map, "expectedOutcome", &place, faults);
    let tools = read_list(map, "tools", &place, faults);
    let dependencies = read_list(map, "dependencies", &place, faults);
    let model = match map.get("model") {
        None | Some(Value::Null) => None,
        Some(Value::String(model)) => Some(model.clone()).filter(|model| !model.is_empty()),
        Some(_) => {
            faults.push(format!("{place}model must be a string"));
            None
        }
    };
    Some(Step {
        id: id?,
        description: description?,
        tools: tools?,
        expected_outcome: expected_outcome?,
        dependencies: dependencies?,
        model,
    })
}

fn read_text(map: &Map<String, Value>, key: &str, place: &str, faults: &mut Vec<String>) -> Option<String> {
    let text = map.get(key).and_then(Value::as_str).map(str::to_owned);
    if text.is_none() {
        faults.push(format!("{place}{key} must be a non-empty string"));
    }
    text
}

fn read_list(
    map: &Map<String, Value>,
    key: &str,
    place: &str,
    faults: &mut Vec<String>,
) -> Option<Vec<String>> {
    let list = map.get(key).and_then(Value::as_array).and_then(|list| {
        list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    if list.is_none() {
        faults.push(format!("{place}{key} must be an array of strings"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, tools: &[&str], dependencies: &[&str]) -> Value {
        json!({"id": id, "description": "d", "tools": tools, "expectedOutcome": "o", "dependencies": dependencies})
    }

    fn plan(steps: &[Value]) -> Value {
        json!({"reasoning": "because", "estimatedTokens": 100, "steps": steps})
    }

    fn faults(answer: &Value) -> Vec<String> {
        match parse(answer, &["file_read".into(), "file_write".into()]) {
            Err(PlanError::Malformed(faults)) => faults,
            other => panic!("expected faults, got {other:?}"),
        }
    }

    #[test]
    fn a_complete_plan_is_read() {
        let plan =
            parse(&plan(&[step("a", &["file_read"], &[]), step("b", &[], &["a"])]), &["file_read".into()]);
        let plan = plan.unwrap();
        assert_eq!(plan.steps.len(), 2);
        assert_eq!(plan.steps[1].dependencies, ["a"]);
    }

    #[test]
    fn what_fits_the_schema_can_be_read() {
        let schema = jsonschema::validator_for(answer_schema()).unwrap();
        let mut answer = plan(&[step("a", &["file_read"], &[])]);
        assert!(!schema.is_valid(&answer), "a step that says nothing of its model");
        for model in [Value::Null, json!("m")] {
            answer["steps"][0]["model"] = model;
            assert!(schema.is_valid(&answer), "{answer}");
            assert!(parse(&answer, &["file_read".into()]).is_ok(), "{answer}");
        }
    }

    #[test]
    fn validation_1_reasoning_and_estimate() {
        assert_eq!(
            faults(&json!({"reasoning": "", "estimatedTokens": -1, "steps": [step("a", &[], &[])]})),
            ["reasoning must be a non-empty string", "estimatedTokens must be a non-negative number"]
        );
    }

    #[test]
    fn validation_2_steps_is_a_non_empty_array() {
        assert_eq!(faults(&plan(&[])), ["steps must be a non-empty array"]);
        assert_eq!(
            faults(&json!({"reasoning": "r", "estimatedTokens": 1})),
            ["steps must be a non-empty array"]
        );
    }

    #[test]
    fn validation_3_fields_of_a_step_all_at_once() {
        let broken = json!({"id": "", "description": 3, "tools": [1], "dependencies": "a"});
        assert_eq!(
            faults(&plan(&[broken])),
            [
                "steps[0].description must be a non-empty string",
                "steps[0].expectedOutcome must be a non-empty string",
                "steps[0].tools must be an array of strings",
                "steps[0].dependencies must be an array of strings",
            ]
        );
    }

    #[test]
    fn an_id_cannot_pass_for_a_line_of_a_message() {
        assert_eq!(
            faults(&plan(&[step("a\n# Facts on disk", &[], &[])])),
            ["steps[0].id must not contain control characters"]
        );
    }

    #[test]
    fn validations_4_and_5_ids_and_references() {
        assert_eq!(
            faults(&plan(&[step("a", &[], &[]), step("a", &[], &["ghost"])])),
            ["Duplicate step ID \"a\"", "Step \"a\" depends on nonexistent step \"ghost\""]
        );
    }

    #[test]
    fn validation_6_an_unknown_tool_has_the_message_of_the_seeds() {
        let error = parse(
            &plan(&[step("step_1", &["file_read"], &[]), step("step_2", &["database_query"], &[])]),
            &["file_read".into(), "file_write".into(), "shell_execute".into()],
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "Plan references unknown tool \"database_query\" in step \"step_2\". \
             Available tools: file_read, file_write, shell_execute"
        );
    }
}
