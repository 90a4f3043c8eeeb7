//! Owns the models of the cases: what they answer is a function of what they are asked, so that any difference in that goes on into all that
//! follows.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use regex::Regex;
use serde_json::{Value, json};
use tepa::event::{Role, ToolUse};
use tepa::outcome::Usage;
use tepa::provider::{FinishReason, Provider, ProviderError, Request, Response, Watch};

use crate::case::{Case, Fate};
use crate::deed::NAMES;

/// Counts what is under way.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Busy {
    /// Counts one more until what is returned is dropped.
    pub(crate) fn enter(&self) -> impl Drop + '_ {
        struct Left<'b>(&'b Busy);
        impl Drop for Left<'_> {
            fn drop(&mut self) {
                self.0.now.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Left(self)
    }

    /// Returns how many are under way.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// Returns how many were under way at once.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// Returns a number that derives from all of `of`.
pub(crate) fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Returns how long something takes; often as long as something else.
pub(crate) fn lag(of: &impl Hash) -> Duration {
    let ways = [0, 0, 1, 50, 50, 51, 100, 200, 333];
    Duration::from_millis(ways[(digest(of) % ways.len() as u64) as usize])
}

/// What is sent, but for the longest answer and for how long steps took.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) purpose: String,
    model: String,
    system: String,
    messages: Vec<String>,
    tool: String,
    schema: String,
}

impl Asked {
    /// Returns what a request asks.
    pub(crate) fn of(request: &Request) -> Self {
        static TOOK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"tokens, \d+ ms\)").unwrap());
        let timeless = |text: &str| match TOOK.replace_all(text, "tokens, - ms)") {
            Cow::Borrowed(_) => text.to_owned(),
            Cow::Owned(text) => text,
        };
        let messages = request.messages.iter();
        Self {
            purpose: format!("{:?}", request.purpose),
            model: request.model.clone(),
            system: request.system.clone(),
            messages: messages.map(|said| format!("{:?}: {}", said.role, timeless(&said.content))).collect(),
            tool: format!("{:?}", request.tool),
            schema: json!(request.schema.as_deref()).to_string(),
        }
    }
}

/// All models.
pub(crate) struct Model {
    pub(crate) case: Arc<Case>,
    /// How long an answer takes, where that is not left to chance.
    pub(crate) lag: Option<Duration>,
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    pub(crate) busy: Arc<Busy>,
}

impl Model {
    fn answer(&self, request: &Request, asked: &Asked, nth: usize) -> Result<Response, ProviderError> {
        let number = digest(asked);
        let purpose = &request.purpose;
        let fate = purpose.step.as_ref().and_then(|step| self.case.task(purpose.cycle, step).fate);
        let fate = fate.filter(|(call, _)| *call == nth).map(|(_, fate)| fate);
        match fate {
            Some(Fate::Broken) => return Err(ProviderError::Invalid(format!("broken at {number:x}"))),
            Some(Fate::Unscripted) => return Err(ProviderError::Unscripted(format!("no reply to {number:x}"))),
            Some(Fate::Silent | Fate::Cut) | None => {}
        }
        let text = match purpose.role {
            Role::Planner => self.plan(purpose.cycle, number).to_string(),
            Role::Evaluator => {
                let passes = self.case.passes && purpose.cycle as usize == self.case.plans.len();
                let verdict = if passes { "pass" } else { "fail" };
                let words = format!("because of {number:x}");
                json!({"verdict": verdict, "confidence": 0.9, "feedback": words, "summary": words}).to_string()
            }
            Role::Executor if request.tool.is_none() && fate != Some(Fate::Silent) => format!("thought {number:x}"),
            Role::Executor => String::new(),
        };
        let tool = request.tool.as_ref().filter(|_| fate != Some(Fate::Silent));
        let name = NAMES[(number % NAMES.len() as u64) as usize];
        let tool_use = tool.map(|tool| ToolUse {
            id: "1".to_owned(),
            name: tool.name.clone(),
            input: json!({"name": name, "text": format!("{number:x}")}),
        });
        let usage = Usage { input: self.reads(request), output: number % 40 + 1, ..Usage::default() };
        let finish_reason = if fate == Some(Fate::Cut) { FinishReason::MaxTokens } else { FinishReason::EndTurn };
        Ok(Response { text, tool_use: tool_use.into_iter().collect(), usage, finish_reason })
    }

    fn plan(&self, cycle: u32, number: u64) -> Value {
        let steps = self.case.plans[cycle as usize - 1].iter().map(|task| {
            let tools: Vec<&str> = task.deeds.iter().map(|deed| deed.name()).collect();
            json!({
                "id": task.id,
                "description": format!("{number:x}"),
                "tools": tools,
                "expectedOutcome": "done",
                "dependencies": task.after,
            })
        });
        json!({"reasoning": "r", "estimatedTokens": 1, "steps": steps.collect::<Vec<_>>()})
    }
}

impl Provider for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn reads(&self, request: &Request) -> u64 {
        Asked::of(request).messages.iter().map(|said| said.len() as u64 / 4).sum()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let purpose = &request.purpose;
        let of_step = |earlier: &&Request| {
            (earlier.purpose.cycle, &earlier.purpose.step) == (purpose.cycle, &purpose.step)
        };
        let mut requests = self.requests.lock().unwrap();
        let nth = requests.iter().filter(of_step).count();
        requests.push(request.clone());
        drop(requests);
        Box::pin(async move {
            let _busy = self.busy.enter();
            let asked = Asked::of(request);
            tokio::time::sleep(self.lag.unwrap_or_else(|| lag(&(self.case.salt, &asked)))).await;
            self.answer(request, &asked, nth)
        })
    }
}
