//! Owns the way of a run's events into spans and out of the process, for one run.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::context::Context;
use super::post::{Lost, post};
use super::settings::{Settings, Unusable};
use super::spans::Spans;
use crate::config::Environment;
use crate::event::{Envelope, EventSink};

/// The export of a run.
#[derive(Debug)]
pub(super) struct Export {
    settings: Settings,
    context: Context,
    spans: Arc<Mutex<Spans>>,
}

impl Export {
    /// Returns the export that `variable` asks for; none where who began the trace does not want it recorded.
    pub(super) fn of(variable: &'static str, environment: &Environment) -> Result<Option<Self>, Unusable> {
        let context = Context::of(environment);
        if !context.is_sampled() {
            return Ok(None);
        }
        let settings = Settings::of(variable, environment)?;
        let spans = Spans::new(context.clone(), settings.content);
        Ok(Some(Self { settings, context, spans: Arc::new(Mutex::new(spans)) }))
    }

    /// Returns the environment whose children belong to the run.
    pub(super) fn environment(&self, environment: &Environment) -> Environment {
        environment.in_trace(&self.context.for_children(), &self.context.state)
    }

    pub(super) fn sink(&self) -> Box<dyn EventSink> {
        Box::new(Watch(Arc::clone(&self.spans)))
    }

    pub(super) async fn send(&self) -> Result<(), Lost> {
        let spans = lock(&self.spans).take();
        post(&self.settings, spans).await
    }
}

struct Watch(Arc<Mutex<Spans>>);

impl EventSink for Watch {
    fn name(&self) -> &'static str {
        "the trace"
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        lock(&self.0).apply(envelope);
        Ok(())
    }

    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.emit(envelope)
    }
}

fn lock(spans: &Mutex<Spans>) -> MutexGuard<'_, Spans> {
    // A trace that a panic left half told is still worth telling.
    spans.lock().unwrap_or_else(PoisonError::into_inner)
}
