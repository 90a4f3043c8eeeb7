//! Owns one run of a case on a clock that only waiting moves, and the comparison of two of them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tepa::event::{Clock, RunEvent};
use tepa::hook::{HookBus, PostStep, PreStep};
use tepa::outcome::{Reason, StepResult};
use tepa::pipeline::{Cancel, Cause, Finished};
use tepa::workspace::Workspace;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::case::Case;
use crate::deed;
use crate::model::{Asked, Busy, Model, Sent};
use crate::support::{Bench, Events, files_below, text};

const PROMPT: &str = "goal: Do it.\ncontext: {}\nexpectedOutput: It is done.\n";

/// A time after which whoever still waits will wait for ever.
const FOR_EVER: Duration = Duration::from_secs(1_000_000);

/// The clock that only waiting moves.
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Where cases run, one after the other.
pub(crate) struct Ground {
    runtime: Runtime,
    bench: Bench,
}

/// What is not as usual in a run.
#[derive(Default, Clone, Copy)]
pub(crate) struct Odds {
    /// How long an answer takes, where that is not left to chance.
    pub(crate) lag: Option<Duration>,
    /// When somebody stops it.
    pub(crate) cancelled_after: Option<Duration>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let bench = Bench::new(PROMPT, "format: tepa.replay/1\nreplies: []\n", &json!({}));
        Self { runtime, bench }
    }

    /// Runs a case with so many steps together.
    pub(crate) fn run(&mut self, case: &Case, abreast: usize, odds: Odds) -> Ran {
        let Self { runtime, bench } = self;
        let _context = runtime.enter();
        let began = Instant::now();
        let [models, tools] = [(); 2].map(|()| Arc::new(Busy::default()));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let model = Model {
            case: Arc::new(case.clone()),
            lag: odds.lag,
            sent: Arc::clone(&sent),
            busy: Arc::clone(&models),
        };
        bench.folder = tempfile::tempdir().unwrap();
        bench.events = Events::default();
        bench.pipeline.workspace = Arc::new(Workspace::open(bench.folder.path()).unwrap());
        bench.pipeline.provider = Arc::new(model);
        bench.pipeline.tools = deed::tools(case.salt, &tools);
        let limits = &mut bench.pipeline.config.limits;
        *limits = case.limits(abreast, limits);
        bench.pipeline.clock = Arc::new(VirtualClock(began));
        bench.pipeline.hooks = if case.hooked { hooks() } else { HookBus::default() };
        let (finished, took, files) = runtime.block_on(async {
            let cancel = Cancel::default();
            let stop = async {
                match odds.cancelled_after {
                    Some(after) => tokio::time::sleep(after).await,
                    None => std::future::pending().await,
                }
                cancel.stop(Cause::Interrupted);
                std::future::pending::<()>().await;
            };
            let finished = tokio::select! {
                finished = tokio::time::timeout(FOR_EVER, bench.run_until(&cancel)) => finished,
                () = stop => unreachable!(),
            };
            let took = began.elapsed();
            let files = contents(bench.folder.path());
            // What was left running would go on now.
            tokio::time::sleep(FOR_EVER).await;
            (finished.ok(), took, files)
        });
        assert_eq!((models.now(), tools.now()), (0, 0), "something was left running");
        assert_eq!(contents(bench.folder.path()), files, "something was written after the end");
        let sent = std::mem::take(&mut *sent.lock().unwrap());
        Ran { finished, took, sent, files, events: bench.events.all(), most: models.most() }
    }
}

fn contents(folder: &Path) -> BTreeMap<String, String> {
    let content = |path: PathBuf| {
        (text(path.as_os_str().as_encoded_bytes()), text(&fs::read(folder.join(path)).unwrap()))
    };
    files_below(folder).into_iter().map(content).collect()
}

/// Hooks that can tell in which order they were asked.
fn hooks() -> HookBus {
    let mut hooks = HookBus::default();
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    hooks.on::<PreStep, _>("before", false, move |mut data, _| {
        data.step.description += &format!(", asked {}", count.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(Some(data))
        })
    });
    hooks.on::<PostStep, _>("after", false, move |mut data, _| {
        data.result.output = json!([data.result.output, asked.fetch_add(1, Ordering::SeqCst)]).into();
        Box::pin(async move { Ok(Some(data)) })
    });
    hooks
}

/// A run that ended.
pub(crate) struct Ran {
    /// Nothing if it would have gone on for ever.
    pub(crate) finished: Option<Finished>,
    /// By the clock that only waiting moves.
    pub(crate) took: Duration,
    pub(crate) sent: Vec<Sent>,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) events: Vec<RunEvent>,
    /// How many calls to models were under way at once.
    pub(crate) most: usize,
}

impl Ran {
    /// Returns why it ended.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.finished.as_ref().map(|finished| finished.settlement.reason())
    }

    /// Returns the tokens of all calls; 0 if it did not end.
    pub(crate) fn tokens_used(&self) -> u64 {
        self.finished.as_ref().map_or(0, |finished| finished.result.tokens_used)
    }

    /// Returns what was asked for a step.
    pub(crate) fn sent_for(&self, step: &str) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.asked.place().1.as_deref() == Some(step))
    }

    /// Returns how a step ended.
    pub(crate) fn result_of(&self, step: &str) -> Option<&StepResult> {
        self.events.iter().find_map(|event| match event {
            RunEvent::StepCompleted { result, .. } if result.step_id == step => Some(result),
            _ => None,
        })
    }

    /// Returns how many calls to models were given up before they were answered.
    pub(crate) fn abandoned(&self) -> usize {
        let given_up = |event: &&RunEvent| match event {
            RunEvent::LlmCompleted { error: Some(error), .. } => error.starts_with("abandoned"),
            _ => false,
        };
        self.events.iter().filter(given_up).count()
    }
}

/// A cycle and a step in it.
type Place = (u64, Option<String>);

/// What two runs have to have in common, by step.
#[derive(Default)]
struct Facts {
    events: BTreeMap<Place, Vec<Value>>,
    asked: BTreeMap<Place, Vec<Asked>>,
    logs: Vec<Value>,
    tokens: u64,
}

impl Ran {
    /// Says in what `other`, with steps side by side, came to something else than this, one after the other.
    ///
    /// Where this was stopped in a step, the other may have begun steps after that: their requests, what these cost, and what was noted of
    /// such steps is more there. They may have read, but neither written a file nor a note.
    pub(crate) fn differs_from(&self, other: &Self) -> Result<(), String> {
        let (Some(one), Some(two)) = (&self.finished, &other.finished) else {
            return Err("one of them waits for ever".to_owned());
        };
        let (mine, theirs) = (self.facts(), other.facts());
        let stopped = one.settlement.status().is_none() || one.result.error.is_some();
        let vain = |place: &Place| stopped && place.1.is_some() && !mine.events.contains_key(place);
        let mut wasted = 0;
        for (place, events) in theirs.events.iter().filter(|(place, _)| vain(place)) {
            for event in events {
                let changes = event["type"] == "tool.started" && event["effect"] == "writes"
                    || event["type"] == "scratchpad.written";
                if changes {
                    return Err(format!("{place:?} comes after the end, and changed something: {event}"));
                }
                wasted += tokens_of(event);
            }
        }
        same("settlement", &one.settlement, &two.settlement)?;
        same("files", &self.files, &other.files)?;
        same("tokens", &mine.tokens, &(theirs.tokens - wasted))?;
        let places = theirs.events.keys().chain(theirs.asked.keys()).chain(mine.events.keys());
        for place in places.filter(|place| !vain(place)) {
            let [my_asked, their_asked] = [&mine, &theirs].map(|facts| facts.asked.get(place));
            same_list(&format!("requests of {place:?}"), my_asked, their_asked)?;
            let [my_events, their_events] = [&mine, &theirs].map(|facts| facts.events.get(place));
            same_list(&format!("events of {place:?}"), my_events, their_events)?;
        }
        let is_vain = |entry: &&Value| {
            vain(&(entry["cycle"].as_u64().unwrap(), entry["step"].as_str().map(str::to_owned)))
        };
        let logs = theirs.logs.iter().filter(|entry| !is_vain(entry)).cloned().collect();
        same_list("logs", Some(&mine.logs), Some(&logs))?;
        let result = |finished: &Finished| {
            let mut result = timeless(json!(finished.result));
            if stopped {
                // Their sums were compared without what was asked in vain.
                for key in ["tokensUsed", "usage", "cost", "logs"] {
                    result.as_object_mut().unwrap().shift_remove(key);
                }
            }
            result.to_string()
        };
        same("result", &result(one), &result(two))
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        for event in &self.events {
            let event = timeless(json!(event));
            facts.tokens += tokens_of(&event);
            if event["type"] == "run.completed" {
                facts.logs = event["result"]["logs"].as_array().cloned().unwrap_or_default();
                continue;
            }
            let step =
                [&event["step"], &event["step"]["id"], &event["result"]["stepId"], &event["entry"]["step"]];
            let step = step.into_iter().find_map(Value::as_str).map(str::to_owned);
            let cycle = event["cycle"].as_u64().or(event["entry"]["cycle"].as_u64()).unwrap_or_default();
            facts.events.entry((cycle, step)).or_default().push(event);
        }
        for Sent { asked, .. } in &self.sent {
            facts.asked.entry(asked.place()).or_default().push(asked.clone());
        }
        facts
    }
}

fn same<T: PartialEq + Debug>(what: &str, one: &T, other: &T) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    Err(format!("{what}:\none after the other {one:#?}\nside by side {other:#?}"))
}

/// Compares lists, and shows of them only where they differ first.
fn same_list<T: PartialEq + Debug>(
    what: &str,
    one: Option<&Vec<T>>,
    other: Option<&Vec<T>>,
) -> Result<(), String> {
    let [one, other] = [one, other].map(|list| list.map(Vec::as_slice).unwrap_or_default());
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at));
    at.map_or(Ok(()), |at| same(&format!("{what}, at {at}"), &one.get(at), &other.get(at)))
}

fn tokens_of(event: &Value) -> u64 {
    if event["type"] != "llm.completed" {
        return 0;
    }
    ["input", "output"].iter().filter_map(|key| event["usage"][key].as_u64()).sum()
}

/// Returns the same without times, without how much was used by the time that somebody was told, and without what says how many steps go together.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            if fields.get("code").is_some_and(|code| code == "token_budget_low") {
                fields.shift_remove("message");
            }
            fields.retain(|key, _| !["durationMs", "timestamp", "maxParallelSteps"].contains(&key.as_str()));
            fields.values_mut().for_each(|field| *field = timeless(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    value
}
