//! Owns the clock, which tests replace.

use std::time::Duration;

/// Tells the time; replaced in tests.
pub trait Clock: Send + Sync {
    /// Returns the wall clock.
    fn now(&self) -> jiff::Timestamp;

    /// Returns the time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The clock of the machine.
#[derive(Debug)]
pub struct SystemClock {
    started: std::time::Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { started: std::time::Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}
