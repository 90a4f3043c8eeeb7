//! Owns what SIGINT, SIGTERM and SIGHUP mean: the first stops the run in order, the second ends the process at once.
//!
//! SIGXFSZ means nothing: a file that may not grow any more is an error of who writes it, and no end without a result.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::status::ExitStatus;
use crate::pipeline::{Cancel, Cause};

/// Whether the keyboard belongs to a program that tepa waits for, whose own the interrupt key is.
static LENT: AtomicBool = AtomicBool::new(false);

/// When it came back.
static RETURNED: Mutex<Option<Instant>> = Mutex::new(None);

/// How long an interrupt may be on its way: the key that ends the other program is heard here as well, perhaps after that program has ended.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

/// The keyboard in the hands of another program; it comes back when this is dropped.
#[derive(Debug)]
pub(super) struct Lent(());

impl Lent {
    /// Hands the keyboard over.
    pub(super) fn keyboard() -> Self {
        LENT.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // In this order: whoever looks in between finds it lent.
        *RETURNED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        LENT.store(false, Ordering::SeqCst);
    }
}

/// Returns whether an interrupt that is heard now was meant for another program.
fn is_lent() -> bool {
    let returned = || *RETURNED.lock().unwrap_or_else(PoisonError::into_inner);
    LENT.load(Ordering::SeqCst) || returned().is_some_and(|at| at.elapsed() < ON_ITS_WAY)
}

/// Makes a limit of file sizes an error of whoever writes, from now on and as long as the process lives; children have the system's own
/// meaning of it again.
pub(super) fn outlive_limits() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler outlives the runtime, which is there to install it.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let _entered = runtime.enter();
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

/// Listens for as long as the runtime lives, to every signal from now on.
pub(super) fn listen(cancel: Cancel) {
    // Handlers are in place before this returns, or a signal that comes early would end the process without a result.
    let Ok(mut signals) = Signals::install() else {
        // Without handlers the system's own meaning of the signals stays in force.
        return;
    };
    tokio::spawn(async move {
        cancel.stop(signals.next().await);
        let again = signals.next().await;
        leave_now(again);
    });
}

/// Makes every signal from now on end the process: there is no run any more that it could stop, but something may still be written to
/// somebody who does not read.
pub(super) fn leave_on_any() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            if let Ok(mut signals) = Signals::install() {
                leave_now(signals.next().await);
            }
        });
    });
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// The terminal was closed.
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Cause {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {
                    if !is_lent() {
                        return Cause::Interrupted;
                    }
                }
                _ = self.terminate.recv() => return Cause::Terminated,
                _ = self.hangup.recv() => return Cause::Terminated,
            }
        }
    }
}

#[cfg(not(unix))]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(not(unix))]
impl Signals {
    fn install() -> io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    async fn next(&mut self) -> Cause {
        loop {
            self.interrupt.recv().await;
            if !is_lent() {
                return Cause::Interrupted;
            }
        }
    }
}

#[expect(clippy::exit, reason = "a second signal means at once, with or without a result")]
fn leave_now(cause: Cause) {
    std::process::exit(ExitStatus::stopped(cause).code().into())
}
