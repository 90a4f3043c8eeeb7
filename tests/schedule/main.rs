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

use case::{Case, any_case};
use ran::{Ground, Odds};

/// How many cases there are; `PROPTEST_CASES` asks for others, `PROPTEST_RNG_SEED` for other ones.
const CASES: u32 = 1_000;

#[test]
fn steps_side_by_side_come_to_what_they_come_to_one_after_the_other() {
    let config = ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(contextualize_config(config));
    let ground = std::cell::RefCell::new(Ground::new());
    let whole = std::cell::Cell::new([Duration::ZERO; 2]);
    let checked = runner.run(&any_case(), |case| {
        let mut ground = ground.borrow_mut();
        let one = ground.run(&case, 1, Odds::default());
        let other = ground.run(&case, case.abreast, Odds::default());
        one.differs_from(&other).map_err(TestCaseError::fail)?;
        prop_assert!(one.most <= 1 && other.most <= case.abreast);
        prop_assert!(other.took <= one.took, "{:?} instead of {:?}", other.took, one.took);
        let [alone, abreast] = whole.get();
        whole.set([alone + one.took, abreast + other.took]);
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
    let [alone, abreast] = whole.get();
    println!("{alone:?} {abreast:?}");
    assert!(abreast < alone, "{abreast:?} instead of {alone:?}");
}

#[test]
fn steps_that_wait_for_nothing_take_the_time_of_one() {
    let mut ground = Ground::new();
    let odds = Odds { lag: Some(Duration::from_millis(200)), ..Odds::default() };
    let ids: Vec<String> = (0..8).map(|id| format!("s{id}")).collect();
    let join = format!("join < {}", ids.join(","));
    let steps: Vec<&str> = ids.iter().map(String::as_str).chain([join.as_str()]).collect();
    // The plan, the steps, what joins them, the judge.
    assert_eq!(ground.run(&Case::of(&steps, 8), 8, odds).took, Duration::from_millis(4 * 200));
    assert_eq!(ground.run(&Case::of(&steps, 8), 1, odds).took, Duration::from_millis(11 * 200));
    let ids: Vec<String> = (0..200).map(|id| format!("s{id}")).collect();
    let steps: Vec<&str> = ids.iter().map(String::as_str).collect();
    let ran = ground.run(&Case::of(&steps, 8), 8, odds);
    assert_eq!((ran.took, ran.most), (Duration::from_millis((1 + 25 + 1) * 200), 8));
}
