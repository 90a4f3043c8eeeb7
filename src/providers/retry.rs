//! Owns trying again: which failures are worth it, how long to wait before, and when to give up.
//!
//! It is a provider around a provider. It refuses to wait longer than five minutes: a server that asks for more is not tried again.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use super::log::{LlmLog, Try};
use crate::provider::{Provider, ProviderError, Request, Response, Retry, Watch};

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(300);

/// How many times as long to wait where the rate is limited.
const RATE_LIMIT: u32 = 30;

/// The largest part of a computed wait that chance adds to it.
const JITTER: f64 = 0.1;

/// How often and how patiently to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How many further tries there are.
    pub max_retries: u32,
    /// The wait before the first of them, doubled for each that follows.
    pub base_delay: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { max_retries: 3, base_delay: Duration::from_secs(1) }
    }
}

/// A provider that tries again.
pub struct Retrying {
    inner: Arc<dyn Provider>,
    policy: Policy,
    log: Option<LlmLog>,
    /// Returns a number from 0 to 1: calls that failed together should not come back together.
    chance: fn() -> f64,
}

impl Retrying {
    /// Returns a provider that asks `inner` and writes every try to `log`.
    pub fn new(inner: Arc<dyn Provider>, policy: Policy, log: Option<LlmLog>) -> Self {
        Self { inner, policy, log, chance }
    }

    async fn answer(&self, request: &Request, watch: &dyn Watch) -> Result<Response, ProviderError> {
        let mut number = 1;
        loop {
            let began = Instant::now();
            let result = self.inner.complete(request, watch).await;
            let wait = result.as_ref().err().and_then(|error| self.wait(number, error));
            if let Some(log) = &self.log {
                let provider = self.inner.name();
                let (took, again) = (began.elapsed(), wait.is_some());
                log.write(&Try { provider, request, result: &result, number, took, again });
            }
            match (result, wait) {
                (Err(error), Some(delay)) => {
                    watch.retry(&Retry { number, delay, error });
                    sleep(delay).await;
                    number += 1;
                }
                (result, _) => return result,
            }
        }
    }

    /// Returns how long to wait after the failed try `number`, or `None` when it was the last one.
    fn wait(&self, number: u32, error: &ProviderError) -> Option<Duration> {
        if !error.is_retryable() || number > self.policy.max_retries {
            return None;
        }
        let factor = match error {
            ProviderError::RateLimited { retry_after: Some(wait), .. } => {
                return Some(*wait).filter(|wait| *wait <= LONGEST);
            }
            ProviderError::RateLimited { .. } => RATE_LIMIT,
            _ => 1,
        };
        let doubled = 2_u32.saturating_pow(number - 1);
        let wait = self.policy.base_delay.saturating_mul(factor).saturating_mul(doubled).min(LONGEST);
        Some(wait.mul_f64(1.0 + JITTER * (self.chance)()).min(LONGEST))
    }
}

/// Returns a number from 0 to 1, from the keys that the standard library draws for every hash map.
fn chance() -> f64 {
    let drawn = RandomState::new().hash_one(());
    f64::from((drawn >> 32) as u32) / f64::from(u32::MAX)
}

impl Provider for Retrying {
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
        self.answer(request, watch).boxed()
    }

    fn finish(&self) -> Result<(), ProviderError> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::event::{Purpose, Role};
    use crate::outcome::Usage;
    use crate::provider::{FinishReason, Message};

    /// Fails with each error in turn, then answers.
    struct Failing(Mutex<Vec<ProviderError>>);

    impl Provider for Failing {
        fn name(&self) -> &'static str {
            "failing"
        }

        fn complete<'a>(
            &'a self,
            _: &'a Request,
            _: &'a dyn Watch,
        ) -> BoxFuture<'a, Result<Response, ProviderError>> {
            let mut errors = self.0.lock().unwrap();
            let result = if errors.is_empty() { Ok(answer()) } else { Err(errors.remove(0)) };
            async { result }.boxed()
        }
    }

    #[derive(Default)]
    struct Seen(Mutex<Vec<Retry>>);

    impl Watch for Seen {
        fn usage(&self, _: Usage) {}

        fn retry(&self, retry: &Retry) {
            self.0.lock().unwrap().push(retry.clone());
        }
    }

    fn answer() -> Response {
        let usage = Usage { input: 1, output: 1, ..Usage::default() };
        Response {
            text: "done".to_owned(),
            tool_use: Vec::new(),
            finish_reason: FinishReason::EndTurn,
            usage,
        }
    }

    fn request() -> Request {
        Request {
            purpose: Purpose { role: Role::Planner, cycle: 1, step: None, tool: None, attempt: 1 },
            model: "m".to_owned(),
            system: String::new(),
            messages: vec![Message::user("Plan.")],
            tool: None,
            schema: None,
            max_tokens: 1,
        }
    }

    fn busy() -> ProviderError {
        ProviderError::Overloaded("busy".to_owned())
    }

    fn limited(retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError::RateLimited { message: "slow".to_owned(), retry_after }
    }

    fn retrying(errors: Vec<ProviderError>, chance: fn() -> f64) -> Retrying {
        let inner = Arc::new(Failing(Mutex::new(errors)));
        Retrying { inner, policy: Policy::default(), log: None, chance }
    }

    /// Returns the answer, the waits in milliseconds, and that time went by exactly as they say.
    async fn try_out(
        errors: Vec<ProviderError>,
        chance: fn() -> f64,
    ) -> (Result<Response, ProviderError>, Vec<u128>) {
        let (seen, began) = (Seen::default(), Instant::now());
        let result = retrying(errors, chance).complete(&request(), &seen).await;
        let retries = seen.0.into_inner().unwrap();
        assert_eq!(began.elapsed().as_millis(), retries.iter().map(|retry| retry.delay.as_millis()).sum());
        assert!(retries.iter().map(|retry| retry.number).eq(1..=u32::try_from(retries.len()).unwrap()));
        (result, retries.iter().map(|retry| retry.delay.as_millis()).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_until_the_tries_are_used_up() {
        assert_eq!(try_out(vec![busy(); 3], || 0.0).await, (Ok(answer()), vec![1000, 2000, 4000]));
        assert_eq!(try_out(vec![busy(); 4], || 0.0).await, (Err(busy()), vec![1000, 2000, 4000]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limited_rate_takes_more_patience() {
        let (result, waits) = try_out(vec![limited(None); 3], || 0.0).await;
        assert_eq!((result, waits), (Ok(answer()), vec![30_000, 60_000, 120_000]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_says_how_long_to_wait_unless_it_is_too_long() {
        let errors = vec![limited(Some(7)), limited(Some(0)), limited(Some(300))];
        assert_eq!(try_out(errors, || 1.0).await, (Ok(answer()), vec![7000, 0, 300_000]));
        assert_eq!(try_out(vec![limited(Some(301))], || 0.0).await, (Err(limited(Some(301))), vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn chance_adds_a_little_to_computed_waits() {
        assert_eq!(try_out(vec![busy(); 2], || 0.5).await.1, [1050, 2100]);
        assert!((0.0..=1.0).contains(&chance()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_would_fail_again_is_not_tried_again() {
        for error in [
            ProviderError::Unauthorized("no".to_owned()),
            ProviderError::ContextTooLong("no".to_owned()),
            ProviderError::Refused("no".to_owned()),
            ProviderError::UnknownModel("no".to_owned()),
            ProviderError::Invalid("no".to_owned()),
            ProviderError::Unscripted("no".to_owned()),
        ] {
            assert_eq!(try_out(vec![error.clone()], || 0.0).await, (Err(error), vec![]));
        }
        let errors = vec![ProviderError::Unreachable("no".to_owned())];
        assert_eq!(try_out(errors, || 0.0).await, (Ok(answer()), vec![1000]));
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_is_longer_than_the_longest() {
        let mut provider = retrying(Vec::new(), || 1.0);
        provider.policy = Policy { max_retries: u32::MAX, base_delay: Duration::MAX };
        for number in [1, 2, 40, u32::MAX] {
            assert_eq!(provider.wait(number, &busy()), Some(LONGEST), "{number}");
            assert_eq!(provider.wait(number, &limited(None)), Some(LONGEST), "{number}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_can_be_abandoned() {
        let (seen, provider) = (Seen::default(), retrying(vec![limited(Some(300))], || 0.0));
        let asked = request();
        let waited = tokio::time::timeout(Duration::from_secs(1), provider.complete(&asked, &seen)).await;
        assert!(waited.is_err());
        assert_eq!(seen.0.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn every_try_is_logged() {
        let folder = tempfile::tempdir().unwrap();
        let log =
            LlmLog::new(folder.path().to_owned(), "logs".into(), false, crate::secret::Secrets::default());
        for errors in [vec![busy()], vec![ProviderError::Invalid("no".to_owned())]] {
            let provider = Retrying { log: Some(log.clone()), ..retrying(errors, || 0.0) };
            let _ = provider.complete(&request(), &()).await;
        }
        let file = std::fs::read_dir(folder.path().join("logs")).unwrap().next().unwrap().unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let told: Vec<String> = lines.map(|line| format!("{} {}", line["attempt"], line["status"])).collect();
        assert_eq!(told, ["1 \"retry\"", "2 \"success\"", "1 \"error\""]);
    }
}
