//! Budgets: where each one ends a run, how far a run may go beyond it, and what is said before.
//!
//! A provider that is paid by the token answers every call with what it was allowed, as vendors do, and knows what a call will read: then
//! nothing is used beyond a budget.

#![cfg(test)]

mod support;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tepa::event::{Role, RunEvent, ToolUse};
use tepa::outcome::{Reason, Usage};
use tepa::pipeline::Finished;
use tepa::provider::{FinishReason, Provider, ProviderError, Request, Response, Watch};

use support::Bench;

const PROMPT: &str = "goal: Note two numbers.\ncontext: {}\nexpectedOutput: The numbers.\n";

/// What every call reads, and what it would write if it might.
const READ: u64 = 100;
const WRITTEN: u64 = 40;

/// Calls of a cycle: the planner, two tools, the judge.
const CALLS: u64 = 4;

/// Answers every call as a model would; the judge is never content.
struct Metered;

impl Provider for Metered {
    fn name(&self) -> &'static str {
        "metered"
    }

    fn reads(&self, _: &Request) -> u64 {
        READ
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let step = |id: &str| json!({"id": id, "description": "note it", "tools": ["scratchpad"], "expectedOutcome": "noted", "dependencies": []});
        let text = match request.purpose.role {
            Role::Planner => json!({"reasoning": "r", "estimatedTokens": 1, "steps": [step("a"), step("b")]}),
            Role::Executor => Value::Null,
            Role::Evaluator => json!({"verdict": "fail", "confidence": 0.9, "feedback": "more"}),
        };
        let call = request.tool.as_ref().map(|tool| ToolUse {
            id: "1".to_owned(),
            name: tool.name.clone(),
            input: json!({"action": "write", "key": "k", "value": "v"}),
        });
        let output = WRITTEN.min(request.max_tokens);
        let response = Response {
            text: if text.is_null() { String::new() } else { text.to_string() },
            tool_use: call.into_iter().collect(),
            usage: Usage { input: READ, output, ..Usage::default() },
            finish_reason: FinishReason::EndTurn,
        };
        Box::pin(async move { Ok(response) })
    }
}

fn run(limits: &Value) -> (Bench, Finished) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::with_provider(folder, PROMPT, Metered, &json!({"limits": limits}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let finished = runtime.block_on(bench.run());
    (bench, finished)
}

fn warnings(bench: &Bench, code: &str) -> usize {
    let events = bench.events.all();
    events.iter().filter(|event| matches!(event, RunEvent::Warning { code: of, .. } if of == code)).count()
}

#[test]
fn no_token_is_used_beyond_a_budget() {
    let whole = 3 * CALLS * (READ + WRITTEN);
    for budget in (1..=whole + READ).step_by(53).chain([READ, READ + WRITTEN, whole - 1, whole]) {
        let (bench, finished) = run(&json!({"maxTokens": budget, "maxCycles": 3}));
        let used = finished.result.tokens_used;
        assert!(used <= budget, "{used} of {budget}");
        // The last answer may be cut short by the budget.
        if budget > whole - WRITTEN {
            assert_eq!((finished.settlement.exit_code(), used), (1, whole.min(budget)), "{budget}");
        } else {
            assert_eq!(finished.settlement.reason(), Reason::TokenBudget, "{budget}");
            assert_eq!(finished.settlement.exit_code(), 3);
            // What is left has no room for what the next call reads.
            assert!(budget - used <= READ, "{used} of {budget}");
        }
        let mut left = budget;
        for request in bench.requests.lock().unwrap().iter() {
            assert!(request.max_tokens + READ <= left, "{} of {left}", request.max_tokens);
            left -= READ + WRITTEN.min(request.max_tokens);
        }
        assert!(warnings(&bench, "token_budget_low") <= 1);
    }
}

#[test]
fn tool_calls_are_held_to_exactly_over_steps_and_cycles() {
    for budget in 1..=8 {
        let (bench, finished) = run(&json!({"maxToolCalls": budget, "maxCycles": 3}));
        let calls = bench.events.all().iter().filter(|e| matches!(e, RunEvent::ToolStarted { .. })).count();
        let (reason, expected) =
            if budget < 6 { (Reason::ToolBudget, budget) } else { (Reason::MaxCycles, 6) };
        assert_eq!((finished.settlement.reason(), calls), (reason, expected), "{budget}");
        // Nobody asks for the parameters of a call that cannot be made.
        let asked = bench.requests.lock().unwrap();
        let asked = asked.iter().filter(|request| request.purpose.role == Role::Executor).count();
        assert_eq!(asked, calls);
        assert_eq!(warnings(&bench, "tool_budget_low"), usize::from(budget <= 7));
    }
}

#[test]
fn no_money_is_spent_beyond_a_budget() {
    let price = |tokens: u64, usd: f64| usd * f64::from(u32::try_from(tokens).unwrap()) / 1e6;
    let call = price(READ, 1.0) + price(WRITTEN, 2.0);
    let pricing = json!({"m": {"input": 1.0, "output": 2.0}});
    for calls in 1..=14_u32 {
        let limit = call * (f64::from(calls) - 0.5);
        let folder = tempfile::tempdir().unwrap();
        let model = json!({"planner": "m", "executor": "m", "evaluator": "m"});
        let config =
            json!({"model": model, "pricing": pricing, "limits": {"maxCostUsd": limit, "maxCycles": 3}});
        let bench = Bench::with_provider(folder, PROMPT, Metered, &config);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let finished = runtime.block_on(bench.run());
        let spent = finished.result.cost.usd.unwrap();
        assert!(spent <= limit, "{spent} of {limit}");
        let reason = if calls <= 12 { Reason::CostBudget } else { Reason::MaxCycles };
        assert_eq!(finished.settlement.reason(), reason, "{calls}");
    }
}

#[test]
fn what_is_running_low_is_said_once() {
    let (bench, _) =
        run(&json!({"maxCycles": 5, "maxTokens": 5 * CALLS * (READ + WRITTEN), "maxToolCalls": 10}));
    for code in ["cycle_budget_low", "token_budget_low", "tool_budget_low"] {
        assert_eq!(warnings(&bench, code), 1, "{code}");
    }
    let (bench, _) = run(&json!({"maxCycles": 3}));
    assert_eq!(
        bench
            .events
            .all()
            .iter()
            .filter(|event| matches!(event, RunEvent::Warning { code, .. } if code.ends_with("_low")))
            .count(),
        0
    );
}
