//! Owns the order of a plan's steps: a stable topological sort.
//!
//! Source of the rule: the seeds' pipeline document, "Topological Sorting" (Kahn, ties in plan order).

use std::collections::{HashMap, VecDeque};

use super::{PlanError, Step};

/// Returns the indices of `steps` in the order in which they run.
///
/// # Errors
/// The dependencies form a circle.
pub fn order(steps: &[Step]) -> Result<Vec<usize>, PlanError> {
    let index: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(i, step)| (step.id.as_str(), i)).collect();
    let mut waiting_for = vec![0_usize; steps.len()];
    let mut unlocks = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for dependency in step.dependencies.iter().filter_map(|id| index.get(id.as_str())) {
            waiting_for[at] += 1;
            unlocks[*dependency].push(at);
        }
    }
    let mut ready: VecDeque<usize> = (0..steps.len()).filter(|at| waiting_for[*at] == 0).collect();
    let mut sorted = Vec::with_capacity(steps.len());
    while let Some(at) = ready.pop_front() {
        sorted.push(at);
        for next in &unlocks[at] {
            waiting_for[*next] -= 1;
            if waiting_for[*next] == 0 {
                ready.push_back(*next);
            }
        }
    }
    if sorted.len() == steps.len() {
        return Ok(sorted);
    }
    let circle = (0..steps.len()).filter(|at| waiting_for[*at] > 0).map(|at| steps[at].id.clone()).collect();
    Err(PlanError::Circular(circle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, dependencies: &[&str]) -> Step {
        Step {
            id: id.into(),
            description: "d".into(),
            tools: vec![],
            expected_outcome: "o".into(),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
            model: None,
        }
    }

    fn ids(steps: &[Step]) -> Vec<&str> {
        order(steps).unwrap().into_iter().map(|at| steps[at].id.as_str()).collect()
    }

    #[test]
    fn the_example_of_the_pipeline_document_gives_a_c_b_d() {
        let steps = [step("A", &[]), step("B", &["A"]), step("C", &[]), step("D", &["B", "C"])];
        assert_eq!(ids(&steps), ["A", "C", "B", "D"]);
    }

    #[test]
    fn plan_order_is_kept_between_independent_steps() {
        let steps = [step("z", &[]), step("a", &[]), step("m", &[])];
        assert_eq!(ids(&steps), ["z", "a", "m"]);
    }

    #[test]
    fn a_dependency_listed_twice_still_unlocks_its_step() {
        assert_eq!(ids(&[step("b", &["a", "a"]), step("a", &[])]), ["a", "b"]);
    }

    #[test]
    fn a_circle_names_the_steps_that_cannot_start() {
        let steps = [step("a", &[]), step("b", &["a", "c"]), step("c", &["b"])];
        assert!(matches!(order(&steps), Err(PlanError::Circular(circle)) if circle == ["b", "c"]));
        assert!(matches!(order(&[step("a", &["a"])]), Err(PlanError::Circular(circle)) if circle == ["a"]));
    }
}
