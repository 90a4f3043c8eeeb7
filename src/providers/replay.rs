//! Owns the provider that answers from a file: the same run again without a network, or a test of one's own prompts.
//!
//! It refuses to improvise. A call that no reply is for, an expectation that is not met and a reply that nobody asked for all say that
//! the script and the run have parted, and then no verdict of the run means anything.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::replies::read;
use super::script::{self, Address, Expectation, Form, Reply, Stage, Words};
use crate::error::{Error, Message};
use crate::event::{Purpose, ToolUse};
use crate::outcome::Usage;
use crate::provider::{Provider, ProviderError, Request, Response, Watch};
use crate::text;

/// How much of what was sent is quoted beside an expectation, in characters.
const EXCERPT: usize = 300;

/// Answers from a file.
#[derive(Debug)]
pub struct Replay {
    name: String,
    replies: Vec<Reply>,
    /// Where the replies to an address are, in order.
    places: HashMap<Address, Vec<usize>>,
    /// Which replies were given, by index.
    given: Mutex<Vec<bool>>,
    /// Whether nobody may ask for a plan.
    planned: bool,
}

impl Replay {
    /// Returns a provider with the replies of the file at `path`; messages call the file `name`.
    pub fn load(path: &Path, name: &str) -> Result<Self, Error> {
        let text = read(path).map_err(|error| {
            let fault = Error::usage(format!("cannot read the replies in `{name}`")).because(&error);
            if error.kind() == io::ErrorKind::NotFound {
                return fault
                    .hint("name the file with `--replay FILE`, or put it beside the prompt as `<prompt>.replay.yaml`");
            }
            fault
        })?;
        let replies = script::parse(&text, Form::of(path)).map_err(|faults| {
            let count = text::plural("fault", faults.len());
            Error::Usage(Message {
                text: format!("the replies in `{name}` cannot be used: {count}"),
                causes: faults.into_iter().map(|fault| fault.text).collect(),
                hint: None,
            })
        })?;
        let given = Mutex::new(vec![false; replies.len()]);
        let mut places: HashMap<Address, Vec<usize>> = HashMap::new();
        for (place, reply) in replies.iter().enumerate() {
            places.entry(reply.address.clone()).or_default().push(place);
        }
        Ok(Self { name: name.to_owned(), replies, places, given, planned: false })
    }

    /// Returns the same for a run that is given its plan: the planner's replies may be left over.
    #[must_use]
    pub fn planned(self) -> Self {
        Self { planned: true, ..self }
    }

    /// Returns where the reply to a call is.
    fn find(&self, purpose: &Purpose, given: &[bool]) -> Option<usize> {
        let places = self.places.get(&Address::of(purpose))?;
        let open = |cycle: Option<u32>| {
            places.iter().copied().find(|place| !given[*place] && self.replies[*place].cycle == cycle)
        };
        open(Some(purpose.cycle)).or_else(|| open(None))
    }

    /// Returns the reply to a call, which is then used up.
    fn take(&self, purpose: &Purpose) -> Result<&Reply, ProviderError> {
        let mut given = self.given();
        let index = self.find(purpose, &given).ok_or_else(|| {
            let address = Address::of(purpose);
            let hint = self.similar(&address, &given).map_or_else(String::new, |hint| format!("; {hint}"));
            ProviderError::Unscripted(format!(
                "`{}` has no reply for {address} in cycle {}{hint}",
                self.name, purpose.cycle
            ))
        })?;
        given[index] = true;
        Ok(&self.replies[index])
    }

    /// Says which replies come close to an address that has none left.
    fn similar(&self, address: &Address, given: &[bool]) -> Option<String> {
        let list = |replies: &[&Reply]| text::joined(replies.iter().map(ToString::to_string), "and");
        let here: Vec<&Reply> = self.replies.iter().filter(|reply| reply.address == *address).collect();
        let left: Vec<&Reply> = here.iter().copied().filter(|reply| !given[reply.number - 1]).collect();
        if !left.is_empty() {
            return Some(format!("of other cycles there is {}", list(&left)));
        }
        if !here.is_empty() {
            return Some(format!("used up: {}", list(&here)));
        }
        let same_step: Vec<&Reply> = self
            .replies
            .iter()
            .filter(|reply| reply.address.step.is_some() && reply.address.step == address.step)
            .collect();
        if !same_step.is_empty() {
            return Some(format!("for this step there is {}", list(&same_step)));
        }
        let steps = self.replies.iter().filter_map(|reply| reply.address.step.as_deref());
        let step = text::did_you_mean(address.step.as_deref()?, steps)?;
        Some(format!("there are replies for step `{step}`"))
    }

    /// Checks what was sent against what the reply expects.
    fn check(&self, reply: &Reply, sent: &str) -> Result<(), ProviderError> {
        let Expectation { contains, not_contains } = &reply.expect;
        let missing =
            contains.iter().find(|text| !sent.contains(*text)).map(|text| ("does not contain", text));
        let unwanted = not_contains.iter().find(|text| sent.contains(*text)).map(|text| ("contains", text));
        let Some((fault, text)) = missing.or(unwanted) else { return Ok(()) };
        let words: Vec<&str> = sent.split_whitespace().collect();
        Err(ProviderError::Unscripted(format!(
            "what was sent {fault} `{text}`, against {reply} of `{}`; it was: {}",
            self.name,
            text::truncate(&words.join(" "), EXCERPT)
        )))
    }

    fn given(&self) -> MutexGuard<'_, Vec<bool>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    /// The script knows, where it says so.
    fn reads(&self, request: &Request) -> u64 {
        let index = self.find(&request.purpose, &self.given());
        let words = index.and_then(|index| self.replies[index].answer.as_ref().ok());
        let usage = words.and_then(|words| words.usage);
        usage.map_or_else(|| request.estimated_tokens(), |usage| usage.input)
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        _: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        async move {
            let reply = self.take(&request.purpose)?;
            let sent = transcript(request);
            self.check(reply, &sent)?;
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            reply.answer.as_ref().map(|words| respond(reply, words, request)).map_err(Clone::clone)
        }
        .boxed()
    }

    fn recall(&self, purpose: &Purpose) {
        let mut given = self.given();
        if let Some(index) = self.find(purpose, &given) {
            given[index] = true;
        }
    }

    fn finish(&self) -> Result<(), ProviderError> {
        let given = self.given();
        let left: Vec<String> = self
            .replies
            .iter()
            .zip(given.iter())
            .filter(|(reply, given)| !(**given || self.planned && reply.address.stage == Stage::Planner))
            .map(|(reply, _)| reply.to_string())
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let count = text::plural("reply", left.len());
        let left = text::joined(left, "and");
        Err(ProviderError::Unscripted(format!("nobody asked for {count} of `{}`: {left}", self.name)))
    }
}

/// Returns everything that a request says, system prompt first.
fn transcript(request: &Request) -> String {
    let mut parts = vec![request.system.as_str()];
    parts.extend(request.messages.iter().map(|message| message.content.as_str()));
    parts.join("\n")
}

fn respond(reply: &Reply, words: &Words, request: &Request) -> Response {
    let tool_use = words.tool_use.iter().map(|input| ToolUse {
        id: format!("reply_{}", reply.number),
        name: reply.address.tool.clone().unwrap_or_default(),
        input: input.clone(),
    });
    let said = words.tool_use.as_ref().map_or_else(|| words.text.clone(), ToString::to_string);
    Response {
        text: words.text.clone(),
        tool_use: tool_use.collect(),
        finish_reason: words.finish_reason,
        usage: words.usage.unwrap_or_else(|| Usage {
            input: request.estimated_tokens(),
            output: text::tokens_in(said.chars().count()),
            ..Usage::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Role;
    use crate::provider::{FinishReason, Message};

    fn load(replies: &str) -> Replay {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.yaml");
        std::fs::write(&path, format!("format: tepa.replay/1\nreplies:\n{replies}")).unwrap();
        Replay::load(&path, "r.yaml").unwrap()
    }

    fn request(role: Role, cycle: u32, step: Option<&str>, tool: Option<&str>) -> Request {
        let purpose =
            Purpose { role, cycle, step: step.map(Into::into), tool: tool.map(Into::into), attempt: 1 };
        Request {
            purpose,
            model: "m".to_owned(),
            system: "You are terse.".to_owned(),
            messages: vec![Message::user("Do"), Message::assistant("what?"), Message::user("it.")],
            tool: None,
            schema: None,
            max_tokens: 1,
        }
    }

    fn planner(cycle: u32) -> Request {
        request(Role::Planner, cycle, None, None)
    }

    fn step(step: &str, tool: Option<&str>) -> Request {
        request(Role::Executor, 1, Some(step), tool)
    }

    async fn text(replay: &Replay, request: &Request) -> String {
        replay.complete(request, &()).await.unwrap().text
    }

    async fn unscripted(replay: &Replay, request: &Request) -> String {
        match replay.complete(request, &()).await.unwrap_err() {
            ProviderError::Unscripted(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn addresses_are_independent_of_the_order_of_calls() {
        let replay = load(
            "  - {stage: planner, text: plan}
  - {stage: step, step: a, text: thought}
  - {stage: step, step: a, tool: shell, toolUse: {command: ls}}
  - {stage: step, step: b, text: other}
  - {stage: evaluator, json: {verdict: pass}}",
        );
        assert_eq!(text(&replay, &request(Role::Evaluator, 7, None, None)).await, r#"{"verdict":"pass"}"#);
        assert_eq!(text(&replay, &step("b", None)).await, "other");
        let call = replay.complete(&step("a", Some("shell")), &()).await.unwrap();
        assert_eq!(call.finish_reason, FinishReason::ToolUse);
        assert_eq!(
            call.tool_use,
            [ToolUse { id: "reply_3".to_owned(), name: "shell".to_owned(), input: json!({"command": "ls"}) }]
        );
        assert_eq!(text(&replay, &step("a", None)).await, "thought");
        assert!(replay.finish().is_err());
        assert_eq!(text(&replay, &planner(1)).await, "plan");
        assert_eq!(replay.finish(), Ok(()));
    }

    #[tokio::test]
    async fn a_reply_of_the_cycle_goes_before_one_of_any_cycle() {
        let replay = load(
            "  - {stage: planner, text: any}
  - {stage: planner, cycle: 2, text: second}
  - {stage: planner, text: another}
  - {stage: planner, cycle: 3, text: third}",
        );
        assert_eq!(text(&replay, &planner(2)).await, "second");
        assert_eq!(text(&replay, &planner(2)).await, "any");
        assert_eq!(text(&replay, &planner(1)).await, "another");
        assert_eq!(
            unscripted(&replay, &planner(1)).await,
            "`r.yaml` has no reply for planner in cycle 1; of other cycles there is reply 4 (planner, cycle 3)"
        );
    }

    #[tokio::test]
    async fn a_call_without_a_reply_hears_what_comes_close() {
        let replay = load("  - {stage: step, step: fetch, tool: http, toolUse: {}}");
        assert_eq!(
            unscripted(&replay, &step("fetch", None)).await,
            "`r.yaml` has no reply for step `fetch` in cycle 1; \
             for this step there is reply 1 (step `fetch`, tool `http`)"
        );
        assert!(
            unscripted(&replay, &step("fetsh", None)).await.ends_with("; there are replies for step `fetch`")
        );
        assert!(unscripted(&replay, &planner(1)).await.ends_with("has no reply for planner in cycle 1"));
        replay.complete(&step("fetch", Some("http")), &()).await.unwrap();
        assert!(
            unscripted(&replay, &step("fetch", Some("http")))
                .await
                .ends_with("; used up: reply 1 (step `fetch`, tool `http`)")
        );
    }

    #[tokio::test]
    async fn expectations_look_at_everything_that_was_sent() {
        let replay = load(
            "  - {stage: planner, text: ok, expect: {contains: [terse, \"Do\\nwhat?\"], notContains: [please]}}",
        );
        assert_eq!(text(&replay, &planner(1)).await, "ok");
        let replay = load("  - {stage: planner, cycle: 1, text: x, expect: {contains: [Do, verbose]}}");
        assert_eq!(
            unscripted(&replay, &planner(1)).await,
            "what was sent does not contain `verbose`, against reply 1 (planner, cycle 1) of `r.yaml`; \
             it was: You are terse. Do what? it."
        );
        assert_eq!(replay.finish(), Ok(()), "a reply that was asked for is not left over as well");
        let replay = load("  - {stage: planner, text: x, expect: {notContains: [terse]}}");
        assert!(unscripted(&replay, &planner(1)).await.starts_with("what was sent contains `terse`"));
    }

    #[tokio::test]
    async fn errors_come_back_as_they_are_written() {
        let kinds = [
            ("rate_limited", ProviderError::RateLimited { message: "m".to_owned(), retry_after: None }),
            ("overloaded", ProviderError::Overloaded("m".to_owned())),
            ("unreachable", ProviderError::Unreachable("m".to_owned())),
            ("unauthorized", ProviderError::Unauthorized("m".to_owned())),
            ("context_too_long", ProviderError::ContextTooLong("m".to_owned())),
            ("refused", ProviderError::Refused("m".to_owned())),
            ("invalid", ProviderError::Invalid("m".to_owned())),
        ];
        for (kind, error) in kinds {
            let replay = load(&format!("  - {{stage: planner, error: {{kind: {kind}, message: m}}}}"));
            assert_eq!(replay.complete(&planner(1), &()).await, Err(error));
        }
    }

    #[tokio::test]
    async fn usage_is_what_is_written_or_an_estimate() {
        let replay = load(
            "  - {stage: planner, text: x, usage: {input: 10, output: 5, cached: 4, cacheWrite: 3}}
  - {stage: planner, text: '12345'}
  - {stage: step, step: a, tool: t, toolUse: {a: 1}}",
        );
        let usage = |response: Result<Response, ProviderError>| response.unwrap().usage;
        let written = usage(replay.complete(&planner(1), &()).await);
        assert_eq!(written, Usage { input: 10, output: 5, cached: 4, cache_write: 3 });
        // 14 + 2 + 5 + 3 characters are sent.
        let estimated = usage(replay.complete(&planner(1), &()).await);
        assert_eq!(estimated, Usage { input: 6, output: 2, ..Usage::default() });
        assert_eq!(usage(replay.complete(&step("a", Some("t")), &()).await).output, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_holds_back_only_its_own_call() {
        let replay =
            load("  - {stage: step, step: a, text: a, delayMs: 500}\n  - {stage: step, step: b, text: b}");
        let (slow, quick) = (step("a", None), step("b", None));
        let mut slow = replay.complete(&slow, &());
        assert!((&mut slow).now_or_never().is_none());
        assert_eq!(text(&replay, &quick).await, "b");
        let before = tokio::time::Instant::now();
        assert_eq!(slow.await.unwrap().text, "a");
        assert_eq!(before.elapsed().as_millis(), 500);
    }

    #[tokio::test]
    async fn replies_that_nobody_asked_for_are_listed() {
        let replay = load(
            "  - {stage: planner, text: x}\n  - {stage: step, step: a, cycle: 2, text: z}\n  - {stage: evaluator, text: z}",
        );
        text(&replay, &planner(1)).await;
        assert_eq!(
            replay.finish().unwrap_err().to_string(),
            "nobody asked for 2 replies of `r.yaml`: reply 2 (step `a`, cycle 2) and reply 3 (evaluator)"
        );
        // Where the plan is given, nobody asks for one.
        let error = load("  - {stage: planner, text: x}\n  - {stage: evaluator, text: z}")
            .planned()
            .finish()
            .unwrap_err();
        assert_eq!(error.to_string(), "nobody asked for 1 reply of `r.yaml`: reply 2 (evaluator)");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_a_usage_error_with_every_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        let fault = || match Replay::load(&path, "r.json").unwrap_err() {
            Error::Usage(message) => message,
            other => panic!("{other:?}"),
        };
        let missing = fault();
        assert_eq!(missing.text, "cannot read the replies in `r.json`");
        assert!(missing.hint.unwrap().contains("--replay FILE"));
        std::fs::write(&path, r#"{"format": "tepa.replay/1", "replies": [{}, {"stage": "planner"}]}"#)
            .unwrap();
        let wrong = fault();
        assert_eq!(wrong.text, "the replies in `r.json` cannot be used: 2 faults");
        assert_eq!(wrong.causes.len(), 2);
        std::fs::write(&path, [b'"', 0xff, b'"']).unwrap();
        assert_eq!(fault().causes, ["stream did not contain valid UTF-8"]);
        std::fs::File::create(&path).unwrap().set_len(crate::providers::replies::MAX_FILE + 1).unwrap();
        assert_eq!(fault().causes, ["it is larger than 67.1 MB"]);
    }
}
