//! Owns the cases: plans as they may come, what befalls their calls, and the limits that they run under.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::deed::Deed;

/// More tokens than any case uses.
const PLENTY: u64 = 1_000_000_000;

/// The longest answer that no share cuts, in tokens.
pub(crate) const ENOUGH: u64 = 4_000;

/// What befalls a call to a model instead of an answer that is any good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The provider fails: a failed step.
    Broken,
    /// There is neither a tool call nor a text: a failed step.
    Silent,
    /// The answer is cut by the model's own limit: a failed step if it is a text.
    Cut,
    /// The script of a replay has no answer: the end of the run.
    Unscripted,
    /// The answer is long, whichever of the calls it is: [`LONG`], as far as there is room.
    Long,
}

/// What a long answer takes, in tokens.
pub(crate) const LONG: u64 = 30_000;

/// A step of a plan.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) deeds: Vec<Deed>,
    pub(crate) after: Vec<String>,
    /// What befalls which of its calls.
    pub(crate) fate: Option<(usize, Fate)>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deeds: Vec<&str> = self.deeds.iter().map(|deed| deed.name()).collect();
        write!(f, "{} {} < {}", self.id, deeds.join(","), self.after.join(","))?;
        self.fate.map_or(Ok(()), |(call, fate)| write!(f, " ! {fate:?} at {call}"))
    }
}

/// Something to run one step after the other, and side by side.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The plan of each cycle; those before the last fail.
    pub(crate) plans: Vec<Vec<Task>>,
    /// Whether the last cycle passes.
    pub(crate) passes: bool,
    /// How many steps may be under way together.
    pub(crate) abreast: usize,
    /// How many calls of tools more there may be than are planned, or fewer.
    pub(crate) spare_calls: Option<i64>,
    /// Tokens.
    pub(crate) budget: u64,
    /// The longest that an answer is of itself, in tokens.
    pub(crate) longest: u64,
    /// Whether hooks stand around the steps.
    pub(crate) hooked: bool,
    /// From what it derives how long everything takes.
    pub(crate) salt: u64,
}

impl Case {
    /// Returns a case of one cycle with steps written as `id deed,deed < dependency,dependency`, in order.
    pub(crate) fn of(steps: &[&str], abreast: usize) -> Self {
        let task = |text: &&str| {
            let (head, after) = text.split_once(" < ").unwrap_or((text, ""));
            let (id, deeds) = head.split_once(' ').unwrap_or((head, ""));
            let words =
                |text: &str| text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            let deeds: Vec<String> = words(deeds);
            Task {
                id: id.to_owned(),
                deeds: deeds.iter().map(|name| Deed::named(name)).collect(),
                after: words(after),
                fate: None,
            }
        };
        Self {
            plans: vec![steps.iter().map(task).collect()],
            passes: true,
            abreast,
            spare_calls: None,
            budget: PLENTY,
            longest: 40,
            hooked: false,
            salt: 0,
        }
    }

    /// Returns the same with something that befalls the first call of a step.
    pub(crate) fn with(mut self, step: &str, fate: Fate) -> Self {
        self.plans[0].iter_mut().find(|task| task.id == step).unwrap().fate = Some((0, fate));
        self
    }

    /// Returns the step of a cycle.
    pub(crate) fn task(&self, cycle: u32, id: &str) -> &Task {
        self.plans[cycle as usize - 1].iter().find(|task| task.id == id).unwrap()
    }

    /// Returns the limits that it runs under with so many steps together.
    pub(crate) fn limits(&self, abreast: usize) -> Value {
        let mut limits = json!({
            "maxCycles": self.plans.len(),
            "maxTokens": self.budget,
            "maxParallelSteps": abreast,
            "toolTimeout": Deed::LIMIT.as_millis() as u64,
        });
        if let Some(spare) = self.spare_calls {
            let planned: usize = self.plans.iter().flatten().map(|task| task.deeds.len()).sum();
            limits["maxToolCalls"] = json!((planned as i64 + spare).max(1));
        }
        limits
    }
}

/// Returns any case of one cycle with nothing around it.
pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    (any_plan(), 2..=8_usize, any::<u64>()).prop_map(|(plan, abreast, salt)| Case {
        plans: vec![plan],
        abreast,
        salt,
        ..Case::of(&[], 1)
    })
}

/// Returns any case with up to two cycles, few calls of tools, or hooks.
pub(crate) fn any_case_with_more() -> impl Strategy<Value = Case> {
    let spare = prop_oneof![1 => Just(None), 2 => (-4..3_i64).prop_map(Some)];
    let more = (proptest::option::of(any_plan()), any::<bool>(), spare, prop::bool::weighted(0.1));
    (any_case(), more).prop_map(|(case, (second, passes, spare_calls, hooked))| Case {
        plans: case.plans.iter().cloned().chain(second).collect(),
        passes,
        spare_calls,
        hooked,
        ..case
    })
}

/// Returns any case whose answers have some length, with or without one that is more than the shares of steps that go together are worth.
pub(crate) fn any_case_that_talks() -> impl Strategy<Value = Case> {
    let longest = select(&[40, ENOUGH, ENOUGH, 5 * ENOUGH][..]);
    (any_case(), longest).prop_map(|(case, longest)| Case { longest, ..case })
}

fn any_plan() -> impl Strategy<Value = Vec<Task>> {
    let deeds = prop_oneof![2 => Just(Vec::new()), 3 => vec(any_deed(), 1), 2 => vec(any_deed(), 2..=3)];
    let after = prop_oneof![4 => vec(any::<Index>(), 0), 4 => vec(any::<Index>(), 1), 2 => vec(any::<Index>(), 2..=3)];
    let fate = prop_oneof![
        40 => Just(None),
        2 => (0..3_usize, select(&[Fate::Broken, Fate::Silent, Fate::Cut][..])).prop_map(Some),
        1 => (0..3_usize, Just(Fate::Unscripted)).prop_map(Some),
    ];
    vec((deeds, after, fate, any::<u8>()), 1..=12).prop_map(|steps| {
        let mut plan: Vec<(u8, Task)> = Vec::with_capacity(steps.len());
        for (at, (deeds, after, fate, place)) in steps.into_iter().enumerate() {
            // What it depends on comes before it here, and in the plan wherever its place is.
            let after =
                after.iter().filter(|_| at > 0).map(|index| format!("s{}", index.index(at))).collect();
            plan.push((place, Task { id: format!("s{at}"), deeds, after, fate }));
        }
        plan.sort_by_key(|(place, _)| *place);
        plan.into_iter().map(|(_, task)| task).collect()
    })
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let good = select(&[Deed::Peek, Deed::Survey, Deed::Recall, Deed::Say, Deed::Put, Deed::Note][..]);
    let odd = select(
        &[Deed::Several, Deed::Crash, Deed::Dawdle, Deed::Deny, Deed::Burst, Deed::Linger, Deed::Refuse][..],
    );
    prop_oneof![4 => good, 1 => odd]
}
