//! Owns the models of the cases: what they answer is a function of what they are asked, so that any difference in that goes on into all that
//! follows.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use regex::Regex;
use serde_json::{Value, json};
use tepa::event::{Purpose, Role, ToolUse};
use tepa::outcome::Usage;
use tepa::provider::{FinishReason, Provider, ProviderError, Request, Response, Watch};
use tepa::tool::ToolSchema;

use crate::case::{Case, Fate, LONG};
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
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    purpose: Purpose,
    model: String,
    system: String,
    messages: Vec<String>,
    tool: Option<ToolSchema>,
    schema: Option<Arc<Value>>,
}

impl Asked {
    /// Returns what a request asks.
    pub(crate) fn of(request: &Request) -> Self {
        static TOOK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"tokens, \d+ ms\)").unwrap());
        let timeless = |text: &str| match request.purpose.role {
            // Nobody else is shown times.
            Role::Evaluator => TOOK.replace_all(text, "tokens, - ms)").into_owned(),
            Role::Planner | Role::Executor => text.to_owned(),
        };
        Self {
            purpose: request.purpose.clone(),
            model: request.model.clone(),
            system: request.system.clone(),
            messages: request.messages.iter().map(|said| timeless(&said.content)).collect(),
            tool: request.tool.clone(),
            schema: request.schema.clone(),
        }
    }

    /// Returns the cycle and the step that it is asked for.
    pub(crate) fn place(&self) -> (u64, Option<String>) {
        (self.purpose.cycle.into(), self.purpose.step.clone())
    }

    /// Returns how much it is.
    pub(crate) fn tokens(&self) -> u64 {
        self.messages.iter().map(|said| said.len() as u64 / 4).sum()
    }
}

impl Hash for Asked {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let tool = self.tool.as_ref().map(|tool| &tool.name);
        (&self.purpose.step, self.purpose.cycle, &self.model, &self.system, &self.messages, tool)
            .hash(hasher);
    }
}

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) asked: Asked,
    /// The longest answer, in tokens.
    pub(crate) room: u64,
    /// How many others were under way.
    pub(crate) beside: usize,
}

/// All models.
pub(crate) struct Model {
    pub(crate) case: Arc<Case>,
    /// How long an answer takes, where that is not left to chance.
    pub(crate) lag: Option<Duration>,
    pub(crate) sent: Arc<Mutex<Vec<Sent>>>,
    pub(crate) busy: Arc<Busy>,
}

impl Model {
    fn answer(&self, asked: &Asked, room: u64, nth: usize) -> Result<Response, ProviderError> {
        let number = digest(asked);
        let purpose = &asked.purpose;
        let fate = purpose.step.as_ref().and_then(|step| self.case.task(purpose.cycle, step).fate);
        let fate = fate.filter(|(call, fate)| *call == nth || *fate == Fate::Long).map(|(_, fate)| fate);
        match fate {
            Some(Fate::Broken) => return Err(ProviderError::Invalid(format!("broken at {number:x}"))),
            Some(Fate::Unscripted) => {
                return Err(ProviderError::Unscripted(format!("no reply to {number:x}")));
            }
            Some(Fate::Silent | Fate::Cut | Fate::Long) | None => {}
        }
        let text = match purpose.role {
            Role::Planner => self.plan(purpose.cycle, number).to_string(),
            Role::Evaluator => {
                let passes = self.case.passes && purpose.cycle as usize == self.case.plans.len();
                let verdict = if passes { "pass" } else { "fail" };
                let words = format!("because of {number:x}");
                json!({"verdict": verdict, "confidence": 0.9, "feedback": words, "summary": words})
                    .to_string()
            }
            Role::Executor if asked.tool.is_none() && fate != Some(Fate::Silent) => {
                format!("thought {number:x}")
            }
            Role::Executor => String::new(),
        };
        let tool = asked.tool.as_ref().filter(|_| fate != Some(Fate::Silent));
        let name = NAMES[(number % NAMES.len() as u64) as usize];
        let tool_use = tool.map(|tool| ToolUse {
            id: "1".to_owned(),
            name: tool.name.clone(),
            input: json!({"name": name, "text": format!("{number:x}")}),
        });
        let wanted = if fate == Some(Fate::Long) { LONG } else { number % self.case.longest + 1 };
        let usage = Usage { input: asked.tokens(), output: wanted.min(room), ..Usage::default() };
        let is_cut = fate == Some(Fate::Cut) || wanted > room;
        // Half of an answer is none.
        let text = if wanted > room { text[..text.len() / 2].to_owned() } else { text };
        let finish_reason = if is_cut { FinishReason::MaxTokens } else { FinishReason::EndTurn };
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
        Asked::of(request).tokens()
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let asked = Asked::of(request);
        let mut sent = self.sent.lock().unwrap();
        let nth = sent.iter().filter(|earlier| earlier.asked.place() == asked.place()).count();
        sent.push(Sent { asked: asked.clone(), room: request.max_tokens, beside: self.busy.now() });
        drop(sent);
        Box::pin(async move {
            let _busy = self.busy.enter();
            tokio::time::sleep(self.lag.unwrap_or_else(|| lag(&(self.case.salt, &asked)))).await;
            self.answer(&asked, request.max_tokens, nth)
        })
    }
}
