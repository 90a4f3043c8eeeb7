//! Owns the order of the steps of a plan: which may begin, and which of them have to wait for others in between.
//!
//! What a plan comes to is what it comes to when its steps run one after the other. So whatever changes something waits for every step before it,
//! and whatever could see a change waits for the steps before it that may make one. All else goes on at the same time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::outcome::Effect;
use crate::plan::{Plan, Step};
use crate::tool::AnyTool;

/// What a call of a tool may do, as far as others have to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// What it may change outside the run.
    pub effect: Effect,
    /// Whether it may write the scratchpad.
    pub notes: bool,
}

impl Touch {
    /// Returns what a tool says of itself.
    pub fn of(tool: &dyn AnyTool) -> Self {
        Self { effect: tool.effect(), notes: tool.notes() }
    }
}

/// What a tool that nobody knows may do.
const UNKNOWN: Touch = Touch { effect: Effect::Writes, notes: true };

/// The steps of a plan by their ranks: their places in the order in which they would run one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Schedule {
    steps: Vec<Planned>,
    ranks: HashMap<String, usize>,
    open: BTreeSet<usize>,
    /// Open, with all dependencies ended.
    ready: BTreeSet<usize>,
    /// Open, and with a tool that may change something, in the run or outside.
    changing: BTreeSet<usize>,
    /// Open, and with a tool that may write the scratchpad.
    noting: BTreeSet<usize>,
    /// How many calls of tools the open steps plan.
    calls_left: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Planned {
    /// In the plan.
    index: usize,
    /// Dependencies that have not ended.
    waits_for: usize,
    dependents: Vec<usize>,
    touches: Vec<Touch>,
    /// How many calls of tools it has made.
    made: usize,
}

impl Schedule {
    /// Returns the schedule of the steps of `plan` that `order` names.
    pub(super) fn of(plan: &Plan, order: &[String], touches: &BTreeMap<String, Touch>) -> Self {
        let indices: HashMap<&str, usize> =
            plan.steps.iter().enumerate().map(|(index, step)| (step.id.as_str(), index)).collect();
        let known: Vec<usize> = order.iter().filter_map(|id| indices.get(id.as_str()).copied()).collect();
        let ranks: HashMap<String, usize> =
            known.iter().enumerate().map(|(rank, index)| (plan.steps[*index].id.clone(), rank)).collect();
        let of_step = |step: &Step| {
            step.tools.iter().map(|tool| touches.get(tool).copied().unwrap_or(UNKNOWN)).collect()
        };
        let steps = known.iter().map(|index| Planned {
            index: *index,
            waits_for: 0,
            dependents: Vec::new(),
            touches: of_step(&plan.steps[*index]),
            made: 0,
        });
        let mut schedule = Self { steps: steps.collect(), ranks, ..Self::default() };
        for (rank, index) in known.iter().enumerate() {
            let dependencies: HashSet<usize> = plan.steps[*index]
                .dependencies
                .iter()
                .filter_map(|id| schedule.ranks.get(id).copied())
                .collect();
            schedule.steps[rank].waits_for = dependencies.len();
            for dependency in dependencies {
                schedule.steps[dependency].dependents.push(rank);
            }
            schedule.open.insert(rank);
            let step = &schedule.steps[rank];
            schedule.calls_left += step.touches.len();
            if step.waits_for == 0 {
                schedule.ready.insert(rank);
            }
            if step.touches.iter().any(|touch| touch.effect == Effect::Writes || touch.notes) {
                schedule.changing.insert(rank);
            }
            if step.touches.iter().any(|touch| touch.notes) {
                schedule.noting.insert(rank);
            }
        }
        schedule
    }

    /// Takes in that a step calls a tool.
    pub(super) fn call(&mut self, id: &str) {
        // One that broke off may be made again, and is one of the plan all the same.
        let step =
            self.ranks.get(id).filter(|rank| self.open.contains(rank)).map(|rank| &mut self.steps[*rank]);
        if let Some(step) = step.filter(|step| step.made < step.touches.len()) {
            step.made += 1;
            self.calls_left -= 1;
        }
    }

    /// Takes in that a step has ended.
    pub(super) fn end(&mut self, id: &str) {
        let Some(rank) = self.ranks.get(id).copied().filter(|rank| self.open.remove(rank)) else { return };
        for set in [&mut self.ready, &mut self.changing, &mut self.noting] {
            set.remove(&rank);
        }
        self.calls_left -= self.steps[rank].touches.len() - self.steps[rank].made;
        for dependent in std::mem::take(&mut self.steps[rank].dependents) {
            let step = &mut self.steps[dependent];
            step.waits_for -= 1;
            if step.waits_for == 0 && self.open.contains(&dependent) {
                self.ready.insert(dependent);
            }
        }
    }

    /// Returns the rank of a step.
    pub(super) fn rank(&self, id: &str) -> Option<usize> {
        self.ranks.get(id).copied()
    }

    /// Returns the place in the plan of the step with this rank.
    pub(super) fn index(&self, rank: usize) -> Option<usize> {
        Some(self.steps.get(rank)?.index)
    }

    /// Returns the places in the plan of all steps, in order.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().map(|step| step.index)
    }

    /// Returns the places in the plan of the steps that may be under way, in order.
    pub(super) fn ready(&self) -> impl ExactSizeIterator<Item = usize> {
        self.ready.iter().map(|rank| self.steps[*rank].index)
    }

    /// Returns whether every step has ended.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns how many calls of tools the open steps have still to make.
    pub(super) fn calls_left(&self) -> usize {
        self.calls_left
    }

    /// Returns whether a step may ask a model: no earlier one may still write what it would be shown.
    pub(super) fn may_ask(&self, rank: usize) -> bool {
        self.noting.first().is_none_or(|noting| *noting >= rank)
    }

    /// Returns whether a step may call a tool that does this: what changes something comes after every earlier step, what looks after those that
    /// may change something.
    pub(super) fn may_call(&self, rank: usize, touch: Touch) -> bool {
        let earlier = if touch.effect == Effect::Writes || touch.notes { &self.open } else { &self.changing };
        earlier.first().is_none_or(|earlier| *earlier >= rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Touch = Touch { effect: Effect::Reads, notes: false };
    const WRITES: Touch = Touch { effect: Effect::Writes, notes: false };
    const NOTES: Touch = Touch { effect: Effect::Reads, notes: true };

    /// A schedule of steps written as `id tool,tool < dependency,dependency`, in order.
    fn schedule(steps: &[&str]) -> Schedule {
        let step = |text: &&str| {
            let (head, after) = text.split_once(" < ").unwrap_or((text, ""));
            let (id, tools) = head.split_once(' ').unwrap_or((head, ""));
            let list =
                |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            Step {
                id: id.to_owned(),
                description: String::new(),
                tools: list(tools),
                expected_outcome: String::new(),
                dependencies: list(after),
                model: None,
            }
        };
        let steps: Vec<Step> = steps.iter().map(step).collect();
        let order: Vec<String> = steps.iter().map(|step| step.id.clone()).collect();
        let plan = Plan { reasoning: String::new(), estimated_tokens: 0.0, steps };
        let touches = [("read", READS), ("write", WRITES), ("note", NOTES)];
        Schedule::of(&plan, &order, &touches.map(|(name, touch)| (name.to_owned(), touch)).into())
    }

    fn ready(schedule: &Schedule) -> Vec<usize> {
        schedule.ready().collect()
    }

    #[test]
    fn a_step_is_ready_when_all_that_it_depends_on_has_ended() {
        let mut schedule = schedule(&["a", "b", "c < a,b,a", "d < c"]);
        assert_eq!(ready(&schedule), [0, 1]);
        schedule.end("b");
        assert_eq!(ready(&schedule), [0]);
        schedule.end("a");
        schedule.end("a");
        assert_eq!(ready(&schedule), [2]);
        schedule.end("c");
        schedule.end("d");
        assert!(schedule.is_over() && ready(&schedule).is_empty());
    }

    #[test]
    fn what_changes_something_comes_after_all_before_it_and_what_looks_after_what_may_change() {
        let mut schedule = schedule(&["think", "look read", "put write", "see read", "more write"]);
        assert!(schedule.may_call(1, READS));
        assert!(!schedule.may_call(2, WRITES));
        assert!(!schedule.may_call(3, READS));
        assert_eq!(schedule.calls_left(), 4);
        schedule.call("look");
        assert_eq!(schedule.calls_left(), 3);
        schedule.end("look");
        assert_eq!(schedule.calls_left(), 3);
        assert!(!schedule.may_call(2, WRITES), "a step that only thinks may still fail it");
        schedule.end("think");
        assert!(schedule.may_call(2, WRITES));
        schedule.end("put");
        assert!(schedule.may_call(3, READS) && !schedule.may_call(4, WRITES));
    }

    #[test]
    fn a_step_that_writes_the_scratchpad_holds_back_what_later_ones_are_told() {
        let mut schedule = schedule(&["a write", "b note", "c", "d unheard"]);
        assert!(schedule.may_ask(0) && schedule.may_ask(1) && !schedule.may_ask(2));
        assert!(!schedule.may_call(1, NOTES));
        schedule.end("b");
        assert!(schedule.may_ask(2) && schedule.may_ask(3));
        schedule.end("c");
        assert!(!schedule.may_ask(4), "of a tool that nobody knows anything may be expected");
    }
}
