//! Owns the decorator that writes a run's model calls down as scripted replies, so that the run can be replayed.
//!
//! It refuses a path that it will not be able to write before the first call, and never leaves half a file behind. Until the run has
//! ended it leaves no file at all, so that the tools of a recorded run find what those of any other run find.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::script::{self, Form, WrittenError, WrittenReply};
use crate::error::Error;
use crate::event::{Envelope, EventSink, Purpose, RunEvent};
use crate::persist::Place;
use crate::provider::{FinishReason, Provider, ProviderError, Request, Response, Watch};
use crate::secret::Secrets;

/// Passes calls on and keeps what comes back.
pub struct Recording {
    inner: Arc<dyn Provider>,
    place: Place,
    form: Form,
    /// What the recording is called when it cannot be written.
    name: String,
    secrets: Secrets,
    /// How many calls began.
    begun: AtomicUsize,
    /// The calls that ended, each with its place in the order in which they began.
    ended: Mutex<Vec<(usize, WrittenReply)>>,
}

impl Recording {
    /// Returns a recording of `inner` that can be saved at `path`; messages call the file `name`.
    ///
    /// Every occurrence of a secret is written as `***`.
    pub fn create(
        inner: Arc<dyn Provider>,
        path: &Path,
        name: &str,
        secrets: Secrets,
    ) -> Result<Self, Error> {
        let fault = || Error::usage(format!("cannot write the recording `{name}`"));
        let place = Place::at(path).map_err(|error| match error.kind() {
            ErrorKind::IsADirectory => fault().hint("it is a folder; name a file in it"),
            ErrorKind::NotFound => fault().hint("the folder does not exist; create it first"),
            _ => fault().because(&error),
        })?;
        Ok(Self {
            inner,
            form: Form::of(path),
            place,
            name: format!("the recording `{name}`"),
            secrets,
            begun: AtomicUsize::new(0),
            ended: Mutex::default(),
        })
    }

    /// Writes the calls that have ended so far; the file appears as a whole or not at all.
    pub fn save(&self) -> io::Result<()> {
        let text = script::write(&self.replies(), self.form).map_err(io::Error::other)?;
        self.place.write(text.as_bytes())
    }

    /// Returns the calls in the order in which they began, without secrets.
    fn replies(&self) -> Vec<Value> {
        let mut ended = lock(&self.ended);
        ended.sort_by_key(|(place, _)| *place);
        ended
            .iter()
            .filter_map(|(_, reply)| serde_json::to_value(reply).ok())
            .map(|reply| self.secrets.redact_value(reply))
            .collect()
    }
}

impl Provider for Recording {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads(&self, request: &Request) -> u64 {
        self.inner.reads(request)
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let place = self.begun.fetch_add(1, Ordering::Relaxed);
        async move {
            let result = self.inner.complete(request, watch).await;
            if let Some(reply) = written(&request.purpose, &result) {
                lock(&self.ended).push((place, reply));
            }
            result
        }
        .boxed()
    }

    fn recall(&self, purpose: &Purpose) {
        self.inner.recall(purpose);
    }

    fn finish(&self) -> Result<(), ProviderError> {
        self.inner.finish()
    }
}

/// Saves the recording when the run has ended, however it did.
impl EventSink for Arc<Recording> {
    fn name(&self) -> &str {
        &self.name
    }

    fn required(&self) -> bool {
        true
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        if matches!(*envelope.event, RunEvent::RunCompleted { .. }) { self.save() } else { Ok(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns how the end of a call is written; what the format has no words for is left out.
fn written(purpose: &Purpose, result: &Result<Response, ProviderError>) -> Option<WrittenReply> {
    let mut reply = WrittenReply {
        stage: purpose.role.into(),
        cycle: Some(purpose.cycle),
        step: purpose.step.clone(),
        tool: purpose.tool.clone(),
        expect: None,
        text: None,
        json: None,
        tool_use: None,
        error: None,
        usage: None,
        delay_ms: None,
        finish_reason: None,
    };
    match result {
        Err(error) => reply.error = Some(WrittenError::of(error)?),
        Ok(response) => {
            reply.usage = Some(response.usage.into());
            let call = response.tool_use.iter().find(|call| Some(&call.name) == purpose.tool.as_ref());
            let usual = if let Some(call) = call {
                let input = Some(call.input.clone()).filter(|input| !input.is_null());
                reply.tool_use = input.or_else(|| Some(json!({})));
                FinishReason::ToolUse
            } else {
                reply.text = Some(response.text.clone());
                FinishReason::EndTurn
            };
            reply.finish_reason = Some(response.finish_reason).filter(|reason| *reason != usual);
        }
    }
    Some(reply)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::event::{Role, ToolUse};
    use crate::outcome::Usage;
    use crate::provider::Message;
    use crate::providers::replay::Replay;

    type Answer = Result<Response, ProviderError>;

    /// Answers from a list.
    struct Listed(Mutex<VecDeque<Answer>>);

    impl Provider for Listed {
        fn name(&self) -> &'static str {
            "listed"
        }

        fn complete<'a>(&'a self, _: &'a Request, _: &'a dyn Watch) -> BoxFuture<'a, Answer> {
            async { self.0.lock().unwrap().pop_front().unwrap() }.boxed()
        }

        fn finish(&self) -> Result<(), ProviderError> {
            Err(ProviderError::Unscripted("left over".to_owned()))
        }
    }

    fn listed(answers: impl IntoIterator<Item = Answer>) -> Arc<dyn Provider> {
        Arc::new(Listed(Mutex::new(answers.into_iter().collect())))
    }

    fn ask(role: Role, cycle: u32, step: Option<&str>, tool: Option<&str>) -> Request {
        Request {
            purpose: Purpose {
                role,
                cycle,
                step: step.map(Into::into),
                tool: tool.map(Into::into),
                attempt: 1,
            },
            model: "m".to_owned(),
            system: "s".to_owned(),
            messages: vec![Message::user("u")],
            tool: None,
            schema: None,
            max_tokens: 1,
        }
    }

    fn says(text: &str, finish_reason: FinishReason) -> Response {
        let usage = Usage { input: 9, output: 8, cached: 7, cache_write: 6 };
        Response { text: text.to_owned(), tool_use: vec![], finish_reason, usage }
    }

    fn calls(name: &str, input: Value) -> Response {
        let mut response = says("", FinishReason::ToolUse);
        response.tool_use = vec![ToolUse { id: "reply_3".to_owned(), name: name.to_owned(), input }];
        response
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    /// A conversation with everything that the format can say.
    fn conversation() -> Vec<(Request, Answer)> {
        vec![
            (
                ask(Role::Planner, 1, None, None),
                Ok(says("{\"steps\":[]}\n\n  - x: |\n", FinishReason::EndTurn)),
            ),
            (ask(Role::Executor, 1, Some("a"), None), Ok(says("", FinishReason::MaxTokens))),
            (
                ask(Role::Executor, 1, Some("a"), Some("shell")),
                Ok(calls("shell", json!({"b": ["yes", null, 1.5, "1e3", " x\r\n\t"], "a": {"~": "no: #"}}))),
            ),
            (
                ask(Role::Executor, 1, Some("b"), Some("shell")),
                Err(ProviderError::Refused("no: not this".to_owned())),
            ),
            (ask(Role::Evaluator, 1, None, None), Ok(says("unreadable", FinishReason::EndTurn))),
            (ask(Role::Evaluator, 1, None, None), Ok(says("{}", FinishReason::EndTurn))),
            (
                ask(Role::Planner, 2, None, None),
                Err(ProviderError::RateLimited { message: "later".to_owned(), retry_after: None }),
            ),
        ]
    }

    #[test]
    fn a_recorded_run_replays_in_every_form() {
        for name in ["run.yaml", "run.json", "run.jsonl"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            let calls = conversation();
            let inner = listed(calls.iter().map(|(_, answer)| answer.clone()));
            let recording = Recording::create(inner, &path, name, Secrets::default()).unwrap();
            assert_eq!(recording.name(), "listed");
            for (request, answer) in &calls {
                assert_eq!(run(recording.complete(request, &())), *answer);
            }
            assert!(!path.exists());
            recording.save().unwrap();
            recording.save().unwrap();
            assert_eq!(folder.path().read_dir().unwrap().count(), 1);

            let replay = Replay::load(&path, name).unwrap();
            for (request, answer) in &calls {
                assert_eq!(run(replay.complete(request, &())), *answer, "{name}");
            }
            assert_eq!(replay.finish(), Ok(()));
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_every_form(text in any::<String>(), key in "[ -~\\n]{0,6}", number in any::<f64>()) {
            let call = calls("t", json!({key: [&text, number]}));
            for name in ["run.yaml", "run.json", "run.jsonl"] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join(name);
                let inner = listed([Ok(says(&text, FinishReason::EndTurn)), Ok(call.clone())]);
                let recording = Recording::create(inner, &path, name, Secrets::default()).unwrap();
                let (planner, step) = (ask(Role::Planner, 1, None, None), ask(Role::Executor, 1, Some("s"), Some("t")));
                let said = (run(recording.complete(&planner, &())), run(recording.complete(&step, &())));
                recording.save().unwrap();
                let replay = Replay::load(&path, name).unwrap();
                let again = (run(replay.complete(&planner, &())), run(replay.complete(&step, &())));
                prop_assert_eq!(again.0, said.0);
                prop_assert_eq!(&again.1.unwrap().tool_use[0].input, &said.1.unwrap().tool_use[0].input);
            }
        }
    }

    #[test]
    fn replies_stand_in_the_order_of_their_requests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let inner = listed(["second", "first"].map(|text| Ok(says(text, FinishReason::EndTurn))));
        let recording = Recording::create(inner, &path, "run.jsonl", Secrets::default()).unwrap();
        let request = ask(Role::Evaluator, 1, None, None);
        let (first, abandoned, second) = (
            recording.complete(&request, &()),
            recording.complete(&request, &()),
            recording.complete(&request, &()),
        );
        drop(abandoned);
        run(second).unwrap();
        run(first).unwrap();
        recording.save().unwrap();
        let replay = Replay::load(&path, "run.jsonl").unwrap();
        assert_eq!(run(replay.complete(&request, &())).unwrap().text, "first");
        assert_eq!(run(replay.complete(&request, &())).unwrap().text, "second");
    }

    #[test]
    fn secrets_are_starred_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.yaml");
        let inner = listed([
            Ok(says("key sk-secret-1, longer sk-secret-12", FinishReason::EndTurn)),
            Ok(calls("t", json!({"key": ["sk-secret-1"]}))),
        ]);
        let secrets = ["sk-secret-1", "sk-secret-12"].map(secrecy::SecretString::from);
        let recording = Recording::create(inner, &path, "run.yaml", Secrets::new(secrets)).unwrap();
        run(recording.complete(&ask(Role::Planner, 1, None, None), &())).unwrap();
        run(recording.complete(&ask(Role::Executor, 1, Some("s"), Some("t")), &())).unwrap();
        recording.save().unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.contains("key ***, longer ***") && !written.contains("sk-"), "{written}");
    }

    #[test]
    fn an_unwritable_path_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("missing/run.yaml")] {
            let result = Recording::create(listed([]), &path, "run.yaml", Secrets::default());
            let Err(Error::Usage(message)) = result else { panic!("{}", path.display()) };
            assert!(message.hint.is_some_and(|hint| hint.contains("folder")));
        }
    }

    #[test]
    fn nothing_is_left_when_nothing_is_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.yaml");
        drop(Recording::create(listed([]), &path, "run.yaml", Secrets::default()).unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_the_inner_provider_says_at_the_end_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.yaml");
        let recording = Recording::create(listed([]), &path, "run.yaml", Secrets::default()).unwrap();
        assert!(recording.finish().is_err());
    }
}
