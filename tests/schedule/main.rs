//! Steps side by side come to what they come to one after the other, whatever the plan, the tools, the models and the time that they take.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod case;
mod deed;
mod model;
mod ran;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner, contextualize_config};
use tepa::event::RunEvent;
use tepa::outcome::{Reason, StepStatus};

use case::{Case, ENOUGH, Fate, LONG, any_case, any_case_that_talks, any_case_with_more};
use ran::{Ground, Odds, Ran};

/// How long an answer takes where that is not left to chance.
const BEAT: Duration = Duration::from_millis(200);

/// Every answer takes the same time.
const STEADY: Odds = Odds { lag: Some(BEAT), cancelled_after: None };

/// Tries so many cases; `PROPTEST_CASES` asks for more, and `PROPTEST_RNG_SEED` for others.
///
/// A case that fails is made smaller, and shown.
fn hold<T>(
    cases: u32,
    any: impl Strategy<Value = T>,
    mut check: impl FnMut(&mut Ground, T) -> Result<(), TestCaseError>,
) where
    T: std::fmt::Debug,
{
    let config = ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(contextualize_config(config));
    let mut ground = Ground::new();
    let both = std::cell::RefCell::new((&mut ground, &mut check));
    let checked = runner.run(&any, |case| {
        let (ground, check) = &mut *both.borrow_mut();
        check(ground, case)
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Runs a case in both ways, and fails if they come to different things.
fn alike(ground: &mut Ground, case: &Case) -> Result<[Ran; 2], TestCaseError> {
    let [one, other] = [1, case.abreast].map(|abreast| ground.run(case, abreast, Odds::default()));
    one.differs_from(&other).map_err(TestCaseError::fail)?;
    prop_assert!(one.most <= 1 && other.most <= case.abreast);
    // The earliest step that has not ended is never kept waiting.
    prop_assert!(other.took <= one.took, "{:?} instead of {:?}", other.took, one.took);
    Ok([one, other])
}

/// Runs a case in both ways at many speeds of what is in it.
fn alike_at_any_speed(case: &Case) -> Vec<[Ran; 2]> {
    let mut ground = Ground::new();
    (0..30).map(|salt| alike(&mut ground, &Case { salt, ..case.clone() }).unwrap()).collect()
}

#[test]
fn steps_side_by_side_come_to_what_they_come_to_one_after_the_other() {
    let mut took = [Duration::ZERO; 2];
    hold(1_000, any_case(), |ground, case| {
        for (took, ran) in took.iter_mut().zip(alike(ground, &case)?) {
            *took += ran.took;
        }
        Ok(())
    });
    let [one, other] = took;
    assert!(other < one.mul_f64(0.9), "{other:?} instead of {one:?}");
}

#[test]
fn cycles_side_by_side_come_to_what_they_come_to_one_after_the_other() {
    hold(1_000, any_case_with_more(), |ground, case| alike(ground, &case).map(drop));
}

#[test]
fn whoever_stops_a_run_leaves_nothing_running_and_no_file_that_would_not_be_there() {
    hold(200, (any_case(), 0.0..1.0_f64), |ground, (case, share)| {
        let one = ground.run(&case, 1, Odds::default());
        let whole = ground.run(&case, case.abreast, Odds::default());
        let after = whole.took.mul_f64(share);
        let odds = Odds { cancelled_after: Some(after), ..Odds::default() };
        let cancelled = ground.run(&case, case.abreast, odds);
        prop_assert!(cancelled.took <= whole.took);
        prop_assert!([Some(Reason::Interrupted), whole.reason()].contains(&cancelled.reason()));
        let is_settled = matches!(cancelled.events.last(), Some(RunEvent::RunCompleted { .. }));
        prop_assert!(is_settled);
        let answered = |event: &&RunEvent| matches!(event, RunEvent::LlmCompleted { .. });
        prop_assert_eq!(cancelled.events.iter().filter(answered).count(), cancelled.sent.len());
        for (name, content) in cancelled.files {
            let in_the_end = one.files.get(&name).cloned().unwrap_or_default();
            prop_assert!(in_the_end.starts_with(&content), "{}: {} of {}", name, content, in_the_end);
        }
        Ok(())
    });
}

#[test]
fn side_by_side_a_budget_of_tokens_ends_what_it_ends_one_after_the_other() {
    hold(200, (any_case_that_talks(), 1..130_u64), |ground, (case, percent)| {
        let whole = ground.run(&case, 1, Odds::default());
        // Of two reasons to stop, either may come first.
        prop_assume!(whole.reason() != Some(Reason::ProviderError));
        let case = Case { budget: (whole.tokens_used() * percent / 100).max(1), ..case };
        let [one, other] = [1, case.abreast].map(|abreast| ground.run(&case, abreast, Odds::default()));
        for ran in [&one, &other] {
            prop_assert!(ran.finished.is_some());
            let used = ran.tokens_used();
            prop_assert!(used <= case.budget, "{} of {}", used, case.budget);
        }
        // What a share cut is paid for twice.
        if case.longest <= ENOUGH {
            prop_assert_eq!(one.reason(), other.reason());
            prop_assert_eq!(one.reason() == Some(Reason::TokenBudget), percent < 100);
            if percent >= 100 {
                one.differs_from(&other).map_err(TestCaseError::fail)?;
            }
        }
        Ok(())
    });
}

#[test]
fn steps_that_wait_for_nothing_take_the_time_of_one() {
    let mut ground = Ground::new();
    let ids: Vec<String> = (0..8).map(|id| format!("s{id}")).collect();
    let join = format!("join < {}", ids.join(","));
    let steps: Vec<&str> = ids.iter().map(String::as_str).chain([join.as_str()]).collect();
    // The plan, the steps, what joins them, the judge.
    assert_eq!(ground.run(&Case::of(&steps, 8), 8, STEADY).took, 4 * BEAT);
    assert_eq!(ground.run(&Case::of(&steps, 8), 1, STEADY).took, 11 * BEAT);
    let ids: Vec<String> = (0..200).map(|id| format!("s{id}")).collect();
    let steps: Vec<&str> = ids.iter().map(String::as_str).collect();
    let ran = ground.run(&Case::of(&steps, 8), 8, STEADY);
    assert_eq!((ran.took, ran.most), ((1 + 25 + 1) * BEAT, 8));
}

#[test]
fn no_step_holds_a_place_that_one_before_it_needs() {
    for abreast in 2..=3 {
        let steps = ["x", "y", "p < x", "q put < y", "r note < y", "t peek,put < y", "u < p"];
        alike_at_any_speed(&Case::of(&steps, abreast));
        // With exactly as many calls of tools as are planned, the first of them makes none of the others scarce.
        let case = Case { spare_calls: Some(0), ..Case::of(&["x", "y", "p < x", "q peek,put < y"], abreast) };
        alike_at_any_speed(&case);
    }
}

#[test]
fn what_stops_a_run_in_a_step_lets_the_steps_before_it_end() {
    let case = Case::of(&["first survey,put", "second note", "stops", "asked", "writes put"], 5);
    let ran = alike_at_any_speed(&case.with("stops", Fate::Unscripted));
    for [_, other] in &ran {
        let ended = other.events.iter().filter_map(|event| match event {
            RunEvent::StepCompleted { result, .. } if result.step_id != "asked" => Some(result.status),
            _ => None,
        });
        assert_eq!(ended.collect::<Vec<_>>(), [StepStatus::Success; 2]);
        assert_eq!(other.files.len(), 1);
    }
    assert!(ran.iter().any(|[_, other]| other.abandoned() > 0));
}

#[test]
fn a_signal_in_the_middle_of_several_calls_ends_all_of_them() {
    let mut ground = Ground::new();
    let odds = Odds { cancelled_after: Some(BEAT + BEAT / 2), ..STEADY };
    let ran = ground.run(&Case::of(&["a", "b peek", "c put", "d"], 4), 4, odds);
    assert_eq!((ran.reason(), ran.took), (Some(Reason::Interrupted), BEAT + BEAT / 2));
    assert_eq!((ran.abandoned(), ran.most), (4, 4));
}

#[test]
fn an_answer_that_its_share_cuts_is_asked_for_again_with_the_room_that_it_would_have_had() {
    let mut ground = Ground::new();
    let case = Case { budget: 110_000, ..Case::of(&["a", "b", "c", "d", "e < a", "f < b"], 4) };
    let case = case.with("c", Fate::Long);
    let [one, other] = [1, 4].map(|abreast| ground.run(&case, abreast, STEADY));
    let of_step =
        |ran: &Ran| -> Vec<(u64, usize)> { ran.sent_for("c").map(|sent| (sent.room, sent.beside)).collect() };
    let [(room, 0)] = of_step(&one)[..] else { panic!("{:?}", of_step(&one)) };
    let [(share, beside), again] = of_step(&other)[..] else { panic!("{:?}", of_step(&other)) };
    assert!(share < LONG && beside > 0);
    assert_eq!(again, (room, 0));
    assert_eq!((one.reason(), other.reason()), (Some(Reason::Passed), Some(Reason::Passed)));
    let used = |ran: &Ran| ran.result_of("c").map(|result| result.tokens_used);
    let reads: u64 = one.sent_for("c").map(|sent| sent.asked.tokens()).sum();
    assert_eq!(used(&one), Some(reads + LONG));
    assert_eq!(used(&other), Some(reads + share + reads + LONG), "what was cut was paid for");
}
