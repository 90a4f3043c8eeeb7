//! Approval for programs that embed tepa: an approver of their own, what it is asked, and what its answers come to.

#![cfg(test)]

mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tepa::approval::{Approval, Approver, PlanAnswer, PlanQuestion, VerdictAnswer, VerdictQuestion};
use tepa::event::{Decision, RunEvent};
use tepa::hook::PreExecutor;
use tepa::outcome::{Reason, RunStatus, Verdict};
use tepa::pipeline::Cause;

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
    json: {verdict: fail, confidence: 0.8, feedback: too quiet}
    usage: {input: 30, output: 15}
";

/// Gives the answers that it has, in order, and keeps what it was asked.
#[derive(Default)]
struct Scripted {
    plans: Mutex<VecDeque<PlanAnswer>>,
    verdicts: Mutex<VecDeque<VerdictAnswer>>,
    asked: Mutex<Vec<Value>>,
    absent: bool,
}

impl Approver for Scripted {
    fn who(&self) -> String {
        "grace in the chat".to_owned()
    }

    fn available(&self) -> Result<(), String> {
        if self.absent { Err("the chat is closed".to_owned()) } else { Ok(()) }
    }

    fn plan<'a>(&'a self, question: PlanQuestion<'a>) -> BoxFuture<'a, PlanAnswer> {
        let PlanQuestion { cycle, plan, estimate, editable, problem } = question;
        self.asked.lock().unwrap().push(json!({
            "cycle": cycle,
            "does": plan.steps[0].description,
            "atMost": estimate.at_most.tokens,
            "editable": editable,
            "problem": problem,
        }));
        let answer = self.plans.lock().unwrap().pop_front();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn verdict<'a>(&'a self, question: VerdictQuestion<'a>) -> BoxFuture<'a, VerdictAnswer> {
        let VerdictQuestion { cycle, evaluation, cycles_left, acceptable } = question;
        let said = &evaluation.feedback;
        let asked =
            json!({"cycle": cycle, "said": said, "cyclesLeft": cycles_left, "acceptable": acceptable});
        self.asked.lock().unwrap().push(asked);
        let answer = self.verdicts.lock().unwrap().pop_front().unwrap();
        Box::pin(async move { answer })
    }
}

fn bench(plans: &[PlanAnswer], verdicts: &[VerdictAnswer], cycles: u32) -> (Bench, Arc<Scripted>) {
    // Replies answer once, and there must be none to spare.
    let again = REPLIES.split("replies:\n").nth(1).unwrap().repeat(verdicts.len().saturating_sub(1));
    let mut bench = Bench::new(
        PROMPT,
        &format!("{REPLIES}{again}"),
        &json!({"limits": {"maxCycles": cycles, "maxTokens": 1000}}),
    );
    let approver = Arc::new(Scripted {
        plans: Mutex::new(plans.iter().cloned().collect()),
        verdicts: Mutex::new(verdicts.iter().cloned().collect()),
        ..Scripted::default()
    });
    let approval = Approval {
        approver: Some(Arc::<Scripted>::clone(&approver)),
        plans: !plans.is_empty(),
        fails: !verdicts.is_empty(),
    };
    bench.pipeline.approval = approval;
    (bench, approver)
}

fn asked(approver: &Scripted) -> Vec<Value> {
    approver.asked.lock().unwrap().clone()
}

fn decisions(bench: &Bench) -> Vec<(u32, Decision, String)> {
    let decided = |event| match event {
        RunEvent::ApprovalDecided { cycle, decision, by, .. } => Some((cycle, decision, by)),
        _ => None,
    };
    bench.events.all().into_iter().filter_map(decided).collect()
}

fn edit(steps: &Value) -> PlanAnswer {
    PlanAnswer::Edit(json!({"reasoning": "r", "estimatedTokens": 1, "steps": steps}))
}

fn step(description: &str) -> Value {
    json!({"id": "one", "description": description, "tools": [], "expectedOutcome": "o", "dependencies": []})
}

#[tokio::test]
async fn what_is_asked_about_is_what_hooks_left_and_what_is_executed_is_what_was_approved() {
    let (mut bench, approver) = bench(&[edit(&json!([step("whisper it")])), PlanAnswer::Approve], &[], 1);
    bench.pipeline.hooks.on::<PreExecutor, _>("changer", false, |mut input, _| {
        Box::pin(async move {
            input.plan.steps[0].description = "shout it".to_owned();
            input.prompt.goal = "Sing something.".to_owned();
            Ok(Some(input))
        })
    });
    bench.run().await;
    let first = json!({"cycle": 1, "does": "shout it", "atMost": 985, "editable": true, "problem": null});
    let mut second = first.clone();
    second["does"] = json!("whisper it");
    assert_eq!(asked(&approver), [first, second]);
    let sent = bench.requests.lock().unwrap()[1].messages[0].content.clone();
    assert!(sent.contains("whisper it") && sent.contains("Sing something."), "{sent}");
    let by = || "grace in the chat".to_owned();
    assert_eq!(decisions(&bench), [(1, Decision::Edited, by()), (1, Decision::Approved, by())]);
}

#[tokio::test]
async fn an_edit_is_held_to_what_every_plan_is_held_to() {
    let mut circle = step("say it");
    circle["dependencies"] = json!(["one"]);
    let mut unknown = step("say it");
    unknown["tools"] = json!(["moon_walk"]);
    let edits =
        [edit(&json!([])), edit(&json!([unknown])), edit(&json!([circle])), PlanAnswer::Edit(json!("no"))];
    let (bench, approver) = bench(&[&edits[..], &[PlanAnswer::Refuse { comment: None }]].concat(), &[], 1);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.reason(), Reason::Declined);
    let problems: Vec<Value> = asked(&approver).iter().map(|asked| asked["problem"].clone()).collect();
    let expected =
        ["", "non-empty array", "unknown tool \"moon_walk\"", "Circular dependency", "JSON object"];
    for (problem, words) in problems.iter().zip(expected) {
        assert!(problem.as_str().unwrap_or_default().contains(words), "{problem} says nothing of {words}");
    }
    assert_eq!(decisions(&bench).len(), 1, "what cannot be executed decides nothing");
    assert_eq!(bench.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_approver_that_never_lets_go_does_not_keep_a_run_from_its_signals() {
    let endless = vec![edit(&json!([])); 100_000];
    for plans in [&endless[..], &[edit(&json!([step("say it")]))]] {
        let (bench, _) = bench(plans, &[], 1);
        let cancel = tepa::pipeline::Cancel::default();
        let stop = async {
            tokio::task::yield_now().await;
            cancel.stop(Cause::Interrupted);
        };
        let (finished, ()) = tokio::join!(bench.run_until(&cancel), stop);
        assert_eq!(finished.settlement.exit_code(), 130);
    }
}

#[tokio::test]
async fn every_cycle_and_every_fail_is_asked_about() {
    let retry = VerdictAnswer::Retry { comment: Some("louder".to_owned()) };
    let accept = VerdictAnswer::Accept { comment: None };
    let (bench, approver) = bench(&[PlanAnswer::Approve, PlanAnswer::Approve], &[retry, accept], 3);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.status(), Some(RunStatus::Pass));
    assert_eq!(finished.result.cycles, 2);
    let asked = asked(&approver);
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[1], json!({"cycle": 1, "said": "too quiet", "cyclesLeft": 2, "acceptable": true}));
    assert_eq!(asked[3]["cyclesLeft"], 1);
    let conversation = bench.conversation();
    assert!(conversation.contains("too quiet\ngrace in the chat says: louder"), "{conversation}");
    let overruled = &finished.result.evaluation.unwrap().overruled;
    assert_eq!((overruled[0].by.as_str(), overruled[0].to), ("grace in the chat", Verdict::Pass));
}

#[tokio::test]
async fn nobody_accepts_what_is_protected_and_no_cycle_follows() {
    let (mut bench, approver) = bench(&[], &[VerdictAnswer::Accept { comment: None }], 3);
    std::fs::write(bench.folder.path().join("tepa.yaml"), "{}").unwrap();
    let path = bench.folder.path().join("tepa.yaml");
    bench.pipeline.hooks.on::<tepa::hook::PreStep, _>("intruder", false, move |_, _| {
        std::fs::write(&path, "limits: {}").unwrap();
        Box::pin(async { Ok(None) })
    });
    let finished = bench.run().await;
    assert_eq!(asked(&approver)[0]["acceptable"], false);
    assert_eq!(finished.settlement.reason(), Reason::ProtectedPathModified);
    assert_eq!((finished.settlement.exit_code(), finished.result.cycles), (1, 1));
    let overruled: Vec<String> =
        finished.result.evaluation.unwrap().overruled.into_iter().map(|one| one.by).collect();
    assert_eq!(overruled.last().map(String::as_str), Some("checks"));
}

#[tokio::test]
async fn a_retry_without_a_cycle_is_the_fail_that_it_was() {
    let (bench, _) = bench(&[], &[VerdictAnswer::Retry { comment: Some("again".into()) }], 1);
    let finished = bench.run().await;
    assert_eq!(finished.settlement.reason(), Reason::MaxCycles);
}

#[tokio::test]
async fn whoever_cannot_be_asked_has_refused() {
    for approver in
        [None, Some(Arc::new(Scripted { absent: true, ..Scripted::default() }) as Arc<dyn Approver>)]
    {
        let (mut bench, _) = bench(&[], &[], 3);
        bench.pipeline.approval = Approval { approver: approver.clone(), plans: true, fails: true };
        let finished = bench.run().await;
        assert_eq!(finished.settlement.reason(), Reason::Declined);
        assert_eq!(bench.requests.lock().unwrap().len(), 0);
        assert_eq!(decisions(&bench), [(0, Decision::Refused, "nobody".to_owned())]);

        let (mut bench, _) = self::bench(&[], &[], 3);
        bench.pipeline.approval = Approval { approver, plans: false, fails: true };
        let finished = bench.run().await;
        assert_eq!((finished.settlement.reason(), finished.result.cycles), (Reason::Declined, 1));
        assert_eq!(decisions(&bench), [(1, Decision::Stopped, "nobody".to_owned())]);
    }
}

#[tokio::test]
async fn a_pass_is_not_asked_about() {
    let (mut bench, approver) = bench(&[], &[VerdictAnswer::Stop { comment: None }], 1);
    let replies = REPLIES
        .replace("verdict: fail, confidence: 0.8, feedback", "verdict: pass, confidence: 0.8, summary");
    let approval = bench.pipeline.approval.clone();
    bench = Bench::new(PROMPT, &replies, &json!({}));
    bench.pipeline.approval = approval;
    assert_eq!(bench.run().await.settlement.status(), Some(RunStatus::Pass));
    assert!(asked(&approver).is_empty());
}
