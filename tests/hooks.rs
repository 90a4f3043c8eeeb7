//! The eight hook points of the seeds' pipeline document: what each receives, and what changing or stopping does there.

#![cfg(test)]

mod support;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tepa::event::{HookOutcome, RunEvent};
use tepa::hook::{
    HookError, NAMES, Point, PostEvaluator, PostExecutor, PostPlanner, PostStep, PreEvaluator, PreExecutor,
    PrePlanner, PreStep,
};
use tepa::outcome::{Reason, RunStatus, StepStatus, Verdict};

use support::Bench;

const PROMPT: &str = "goal: Say something.\ncontext: {}\nexpectedOutput: Something said.\n";

const REPLIES: &str = r"
format: tepa.replay/1
replies:
  - stage: planner
    json: {reasoning: r, estimatedTokens: 10, steps: [{id: one, description: say it, tools: [], expectedOutcome: said, dependencies: []}]}
    usage: {input: 10, output: 5}
  - stage: step
    step: one
    text: it is said
    usage: {input: 20, output: 10}
  - stage: evaluator
    json: {verdict: pass, confidence: 0.9, summary: done}
    usage: {input: 30, output: 15}
";

fn bench() -> Bench {
    Bench::new(PROMPT, REPLIES, &json!({"limits": {"maxCycles": 1}}))
}

/// What was seen at each point, in order.
type Seen = Arc<Mutex<Vec<(&'static str, Value)>>>;

fn observe<P: Point>(bench: &mut Bench, seen: &Seen) {
    let seen = Arc::clone(seen);
    bench.pipeline.hooks.on::<P, _>("observer", false, move |payload, meta| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            let payload = json!({"data": serde_json::to_value(payload).unwrap(), "meta": meta});
            seen.lock().unwrap().push((P::NAME, payload));
            Ok(None)
        })
    });
}

fn replace<P: Point>(bench: &mut Bench, change: fn(&mut P::Payload)) {
    bench.pipeline.hooks.on::<P, _>("changer", false, move |mut payload, _| {
        Box::pin(async move {
            change(&mut payload);
            Ok(Some(payload))
        })
    });
}

#[tokio::test]
async fn every_point_receives_the_data_of_the_table_and_the_cycle_metadata() {
    let mut bench = bench();
    let seen = Seen::default();
    observe::<PrePlanner>(&mut bench, &seen);
    observe::<PostPlanner>(&mut bench, &seen);
    observe::<PreExecutor>(&mut bench, &seen);
    observe::<PreStep>(&mut bench, &seen);
    observe::<PostStep>(&mut bench, &seen);
    observe::<PostExecutor>(&mut bench, &seen);
    observe::<PreEvaluator>(&mut bench, &seen);
    observe::<PostEvaluator>(&mut bench, &seen);
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().map(|(name, _)| *name).collect::<Vec<_>>(), NAMES);
    let keys: Vec<Vec<&str>> = seen
        .iter()
        .map(|(_, payload)| payload["data"].as_object().unwrap().keys().map(String::as_str).collect())
        .collect();
    assert_eq!(keys[0], ["prompt"]);
    assert_eq!(keys[1], ["reasoning", "estimatedTokens", "steps"]);
    assert_eq!(keys[2], ["plan", "prompt", "cycle", "scratchpad"]);
    assert_eq!(keys[3], ["step", "cycle"]);
    assert_eq!(keys[4], ["step", "result", "cycle"]);
    assert_eq!(keys[5], ["results", "logs", "tokensUsed"]);
    assert_eq!(keys[6], ["prompt", "results", "scratchpad"]);
    assert_eq!(keys[7], ["verdict", "confidence", "summary", "tokensUsed"]);
    let tokens: Vec<u64> = seen.iter().map(|(_, p)| p["meta"]["tokensUsed"].as_u64().unwrap()).collect();
    assert_eq!(tokens, [0, 15, 15, 15, 45, 45, 45, 90]);
    assert_eq!(seen[0].1["meta"], json!({"cycleNumber": 1, "totalCyclesUsed": 1, "tokensUsed": 0}));
}

#[tokio::test]
async fn pre_planner_changes_what_the_planner_is_asked_and_nothing_else() {
    let mut bench = bench();
    replace::<PrePlanner>(&mut bench, |input| input.prompt.goal = "Sing something.".to_owned());
    bench.run().await;
    let requests = bench.requests.lock().unwrap();
    assert!(requests[0].messages[0].content.contains("Sing something."));
    assert!(requests[1].messages[0].content.contains("Say something."));
    assert!(requests[2].messages[0].content.contains("Say something."));
}

#[tokio::test]
async fn post_planner_changes_the_plan_before_it_is_executed() {
    let mut bench = bench();
    replace::<PostPlanner>(&mut bench, |plan| plan.steps[0].description = "whisper it".to_owned());
    bench.run().await;
    assert!(bench.requests.lock().unwrap()[1].messages[0].content.contains("whisper it"));
    let recorded = bench.events.all().into_iter().find_map(|event| match event {
        RunEvent::PlanCompleted { plan, .. } => Some(plan.steps[0].description.clone()),
        _ => None,
    });
    assert_eq!(recorded.as_deref(), Some("whisper it"));
}

#[tokio::test]
async fn a_plan_that_a_hook_broke_is_a_cycle_error() {
    let mut bench = bench();
    replace::<PostPlanner>(&mut bench, |plan| plan.steps[0].tools = vec!["rm_rf".to_owned()]);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.reason(), Reason::CycleError);
    assert!(
        finished.settlement.feedback().starts_with("Plan references unknown tool \"rm_rf\" in step \"one\".")
    );
}

#[tokio::test]
async fn pre_executor_changes_plan_prompt_and_scratchpad() {
    let mut bench = bench();
    replace::<PreExecutor>(&mut bench, |input| {
        input.prompt.goal = "Hum something.".to_owned();
        input.plan.steps[0].description = "hum it".to_owned();
        input.scratchpad.insert("key".to_owned(), json!("C major").into());
    });
    bench.run().await;
    let sent = bench.requests.lock().unwrap()[1].messages[0].content.clone();
    for part in ["Hum something.", "hum it", "C major"] {
        assert!(sent.contains(part), "{part} is not in {sent}");
    }
}

#[tokio::test]
async fn pre_step_replaces_the_step_but_not_its_id() {
    let mut bench = bench();
    replace::<PreStep>(&mut bench, |data| data.step.description = "shout it".to_owned());
    bench.run().await;
    assert!(bench.requests.lock().unwrap()[1].messages[0].content.contains("shout it"));

    let mut bench = self::bench();
    replace::<PreStep>(&mut bench, |data| data.step.id = "two".to_owned());
    let finished = bench.run().await;
    assert_eq!(finished.settlement.reason(), Reason::CycleError);
    assert!(finished.settlement.feedback().contains("renamed step \"one\" to \"two\""));
}

#[tokio::test]
async fn post_step_replaces_the_result() {
    let mut bench = bench();
    replace::<PostStep>(&mut bench, |data| {
        data.result.status = StepStatus::Failure;
        data.result.error = Some("not loud enough".to_owned());
    });
    bench.run().await;
    assert!(bench.requests.lock().unwrap()[2].messages[0].content.contains("## one: failure"));
}

#[tokio::test]
async fn post_executor_changes_the_results_before_the_judge_sees_them() {
    let mut bench = bench();
    replace::<PostExecutor>(&mut bench, |output| output.results[0].output = json!("[redacted]").into());
    bench.run().await;
    let sent = bench.requests.lock().unwrap()[2].messages[0].content.clone();
    assert!(sent.contains("[redacted]") && !sent.contains("it is said"), "{sent}");
}

#[tokio::test]
async fn pre_evaluator_changes_what_the_judge_sees() {
    let mut bench = bench();
    replace::<PreEvaluator>(&mut bench, |input| input.prompt.goal = "Be strict.".to_owned());
    bench.run().await;
    assert!(bench.requests.lock().unwrap()[2].messages[0].content.contains("# Goal\nBe strict."));
}

#[tokio::test]
async fn post_evaluator_overrides_the_verdict_and_the_result_says_who() {
    let mut bench = bench();
    replace::<PostEvaluator>(&mut bench, |evaluation| {
        evaluation.verdict = Verdict::Fail;
        evaluation.feedback = Some("a person says no".to_owned());
    });
    let finished = bench.run().await;
    assert_eq!(finished.settlement.status(), Some(RunStatus::Fail));
    assert_eq!(finished.settlement.feedback(), "a person says no");
    let overruled = finished.result.evaluation.unwrap().overruled;
    assert_eq!(overruled.len(), 1);
    assert_eq!(
        (overruled[0].by.as_str(), overruled[0].from, overruled[0].to),
        ("postEvaluator hook `changer`", Verdict::Pass, Verdict::Fail)
    );
}

const ARTIFACT: &str = "goal: g\ncontext: {}\nexpectedOutput: [{path: there.txt, description: d}]\n";

#[tokio::test]
async fn a_hook_is_a_person_who_may_overrule_a_failed_check_and_the_result_says_so() {
    let mut bench = Bench::new(ARTIFACT, REPLIES, &json!({"limits": {"maxCycles": 1}}));
    replace::<PostEvaluator>(&mut bench, |evaluation| {
        evaluation.verdict = Verdict::Pass;
        evaluation.summary = Some("the file comes tomorrow".to_owned());
    });
    let finished = bench.run().await;
    assert_eq!((finished.settlement.exit_code(), finished.settlement.status()), (0, Some(RunStatus::Pass)));
    assert!(!finished.result.checks[0].passed);
    let overruled = finished.result.evaluation.unwrap().overruled;
    let said: Vec<_> = overruled.iter().map(|o| (o.by.as_str(), o.to, o.reason.as_str())).collect();
    assert_eq!(
        said,
        [
            ("checks", Verdict::Fail, "expected output \"there.txt\" does not exist"),
            ("postEvaluator hook `changer`", Verdict::Pass, "the file comes tomorrow"),
        ]
    );
}

#[tokio::test]
async fn no_hook_makes_up_for_a_protected_file() {
    let mut bench =
        Bench::new(ARTIFACT, REPLIES, &json!({"protect": ["rules.txt"], "limits": {"maxCycles": 1}}));
    let file = bench.folder.path().join("rules.txt");
    std::fs::write(bench.folder.path().join("there.txt"), "here").unwrap();
    std::fs::write(&file, "strict").unwrap();
    bench.pipeline.hooks.on::<PreStep, _>("vandal", false, move |_, _| {
        let file = file.clone();
        Box::pin(async move {
            std::fs::write(file, "lax").unwrap();
            Ok(None)
        })
    });
    replace::<PostEvaluator>(&mut bench, |evaluation| evaluation.verdict = Verdict::Pass);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.exit_code(), 1);
    assert_eq!(finished.settlement.reason(), Reason::ProtectedPathModified);
    let by: Vec<String> = finished.result.evaluation.unwrap().overruled.into_iter().map(|o| o.by).collect();
    assert_eq!(by, ["checks", "postEvaluator hook `changer`", "checks"]);
    assert_eq!(finished.result.checks.iter().filter(|check| check.check == "protected").count(), 1);
}

#[tokio::test]
async fn a_file_that_goes_away_while_it_is_judged_is_no_pass() {
    let mut bench = Bench::new(ARTIFACT, REPLIES, &json!({"limits": {"maxCycles": 1}}));
    let file = bench.folder.path().join("there.txt");
    std::fs::write(&file, "here").unwrap();
    bench.pipeline.hooks.on::<PostEvaluator, _>("thief", false, move |_, _| {
        let file = file.clone();
        Box::pin(async move {
            std::fs::remove_file(file).unwrap();
            Ok(None)
        })
    });
    let finished = bench.run().await;
    assert_eq!(finished.settlement.exit_code(), 1);
    assert!(
        finished.settlement.feedback().contains("check `unchanged` of \"there.txt\" failed"),
        "{}",
        finished.settlement.feedback()
    );
}

#[tokio::test]
async fn a_hook_leaves_an_evaluation_that_makes_sense() {
    let mut bench = bench();
    replace::<PostEvaluator>(&mut bench, |evaluation| evaluation.confidence = 42.0);
    assert_eq!(bench.run().await.settlement.reason(), Reason::HookStopped);
}

#[tokio::test]
async fn a_hook_that_breaks_stops_the_run_unless_it_may_break() {
    for (continue_on_error, status, reason) in
        [(false, Some(RunStatus::Fail), Reason::HookStopped), (true, Some(RunStatus::Pass), Reason::Passed)]
    {
        let mut bench = bench();
        bench.pipeline.hooks.on::<PreStep, _>("fragile", continue_on_error, |_, _| {
            Box::pin(async { Err(HookError("the lamp is out".to_owned())) })
        });
        let finished = bench.run().await;
        assert_eq!((finished.settlement.status(), finished.settlement.reason()), (status, reason));
        let failed = bench.events.all().into_iter().any(|event| {
            matches!(event, RunEvent::HookCompleted { outcome: HookOutcome::Failed, error: Some(error), .. } if error == "the lamp is out")
        });
        assert!(failed);
    }
}

#[tokio::test]
async fn a_failing_verdict_of_a_hook_goes_back_to_the_planner() {
    let replies = REPLIES.replace("format: tepa.replay/1\nreplies:\n", "");
    let twice = format!("format: tepa.replay/1\nreplies:\n{replies}{replies}");
    let mut bench = Bench::new(PROMPT, &twice, &json!({"limits": {"maxCycles": 2}}));
    bench.pipeline.hooks.on::<PostEvaluator, _>("once", false, |mut evaluation, meta| {
        Box::pin(async move {
            if meta.cycle_number > 1 {
                return Ok(None);
            }
            evaluation.verdict = Verdict::Fail;
            evaluation.feedback = Some("louder, please".to_owned());
            Ok(Some(evaluation))
        })
    });
    let finished = bench.run().await;
    assert_eq!((finished.settlement.status(), finished.result.cycles), (Some(RunStatus::Pass), 2));
    assert!(bench.requests.lock().unwrap()[3].messages[0].content.contains("louder, please"));
}
