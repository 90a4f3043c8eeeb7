//! Owns plans for the tests of their drawings.

use crate::plan::{Plan, Step};

/// Returns a plan of steps with what they depend on.
pub(super) fn plan(steps: &[(&str, &[&str])]) -> Plan {
    let step = |(id, dependencies): &(&str, &[&str])| Step {
        id: (*id).into(),
        description: format!("do {id}"),
        tools: vec!["file_read".into()],
        expected_outcome: "o".into(),
        dependencies: dependencies.iter().map(ToString::to_string).collect(),
        model: None,
    };
    Plan { reasoning: "r".into(), estimated_tokens: 1.0, steps: steps.iter().map(step).collect() }
}
