//! Owns whether a hook is asked: what its conditions say of the data and the cycle.

use serde_json::Value;

use crate::config::When;
use crate::hook::CycleMeta;

/// Returns whether everything in `when` holds; of a plan or of results it is enough that one step is meant.
pub(super) fn holds(when: &When, data: &Value, meta: &CycleMeta) -> bool {
    let When { cycle, verdict, tool, step } = when;
    let named = |id: &Value| step.as_deref().is_none_or(|step| id == step);
    let uses = |list: &Value| {
        let mut tools = list.as_array().into_iter().flatten();
        tool.as_deref().is_none_or(|tool| tools.any(|used| used == tool))
    };
    let meant = || {
        steps(data).any(|step| named(&step["id"]) && uses(&step["tools"]))
            || tool.is_none() && items(&data["results"]).any(|result| named(&result["stepId"]))
    };
    cycle.as_ref().is_none_or(|cycles| cycles.0.contains(&meta.cycle_number))
        && verdict.is_none_or(|verdict| serde_json::to_value(verdict).is_ok_and(|v| v == data["verdict"]))
        && (tool.is_none() && step.is_none() || meant())
}

/// Returns the steps in the data of any point: the one that runs, or those of a plan.
fn steps(data: &Value) -> impl Iterator<Item = &Value> {
    data.get("step").into_iter().chain(items(&data["steps"])).chain(items(&data["plan"]["steps"]))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(when: Value, data: &Value) -> bool {
        let meta = CycleMeta { cycle_number: 2, total_cycles_used: 2, tokens_used: 0 };
        holds(&serde_json::from_value(when).unwrap(), data, &meta)
    }

    #[test]
    fn every_condition_has_to_hold() {
        let nothing = json!({});
        for (when, holds) in [
            (json!({}), true),
            (json!({"cycle": 2}), true),
            (json!({"cycle": [1, 2]}), true),
            (json!({"cycle": [1, 3]}), false),
        ] {
            assert_eq!(asked(when, &nothing), holds);
        }
        let verdict = json!({"verdict": "fail"});
        assert!(asked(json!({"verdict": "fail", "cycle": 2}), &verdict));
        assert!(!asked(json!({"verdict": "fail", "cycle": 1}), &verdict));
        assert!(!asked(json!({"verdict": "pass"}), &verdict));
    }

    #[test]
    fn steps_are_found_in_the_data_of_every_point_that_has_some() {
        let (one, two) = (json!({"id": "a", "tools": ["x"]}), json!({"id": "b", "tools": ["y", "z"]}));
        let plan = json!({"steps": [one, two]});
        for data in [json!({"step": two, "cycle": 1}), plan.clone(), json!({"plan": plan})] {
            assert!(asked(json!({"step": "b"}), &data) && asked(json!({"tool": "z"}), &data));
            assert!(asked(json!({"tool": "z", "step": "b"}), &data), "{data}");
            assert!(!asked(json!({"tool": "z", "step": "a"}), &data), "the conditions are about one step");
            assert!(!asked(json!({"tool": "q"}), &data) && !asked(json!({"step": "q"}), &data));
        }
        let results = json!({"results": [{"stepId": "a"}]});
        assert!(asked(json!({"step": "a"}), &results) && !asked(json!({"step": "b"}), &results));
    }
}
