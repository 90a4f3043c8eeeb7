//! Owns the tree of spans while it grows: what is open, what is below what, and when everything began and ended.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::context::{Context, Id, new_id};
use super::value::words;

/// What a span stands for while it is open.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    Run,
    Cycle,
    Plan,
    Evaluation,
    Step(String),
    Tool(String, String),
}

/// The spans of a run so far.
#[derive(Debug)]
pub(super) struct Tree {
    context: Context,
    /// What has begun, from the run inwards.
    open: Vec<(Place, Span)>,
    done: Vec<Span>,
    /// When the last event happened, in nanoseconds.
    now: u64,
}

impl Tree {
    /// Returns the tree of a run that has not begun.
    pub(super) fn new(context: Context) -> Self {
        Self { context, open: Vec::new(), done: Vec::new(), now: 0 }
    }

    /// Returns when the last event happened.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Moves on to the next event.
    pub(super) fn at(&mut self, now: jiff::Timestamp) {
        self.now = u64::try_from(now.as_nanosecond()).unwrap_or_default();
    }

    /// Returns the moment so many milliseconds ago, but none before the cycle.
    pub(super) fn before(&self, milliseconds: u64) -> u64 {
        let around = self.open.iter().rev().find(|(place, _)| matches!(place, Place::Cycle | Place::Run));
        let earliest = around.map_or(0, |(_, span)| span.start_time_unix_nano);
        self.now.saturating_sub(milliseconds.saturating_mul(1_000_000)).max(earliest)
    }

    /// Begins what `place` stands for.
    pub(super) fn begin(&mut self, place: Place, called: &str, start: u64, attributes: Vec<KeyValue>) -> Id {
        let around = match &place {
            Place::Run | Place::Cycle => self.context.run,
            Place::Plan | Place::Evaluation | Place::Step(_) => self.id_of(&Place::Cycle),
            Place::Tool(step, _) => self.id_of(&Place::Step(step.clone())),
        };
        let mut span = Span { attributes, ..self.span(around, called, start) };
        if place == Place::Run {
            span.span_id = self.context.run.to_vec();
            span.parent_span_id = self.context.parent.map(Vec::from).unwrap_or_default();
            span.flags = self.context.flags_below(self.context.parent.is_some());
        }
        let begun = id(&span);
        self.open.push((place, span));
        begun
    }

    /// Returns the span of planning or judging, which had begun by `start` at the latest.
    pub(super) fn stage(&mut self, place: Place, start: u64) -> Id {
        if let Some(span) = self.find(&place) {
            span.start_time_unix_nano = span.start_time_unix_nano.min(start);
            return id(span);
        }
        if place == Place::Plan {
            let operation = words("gen_ai.operation.name", "plan");
            return self.begin(place, "plan", start, vec![operation]);
        }
        self.begin(place, "evaluate", start, Vec::new())
    }

    /// Ends what `place` stands for now.
    pub(super) fn end(&mut self, place: &Place, finish: impl FnOnce(&mut Span)) {
        if let Some(at) = self.open.iter().position(|(open, _)| open == place) {
            let (_, mut span) = self.open.remove(at);
            finish(&mut span);
            self.add(span);
        }
    }

    /// Returns a span that is not part of the tree yet.
    pub(super) fn span(&self, parent: Id, called: &str, start: u64) -> Span {
        Span {
            trace_id: self.context.trace.to_vec(),
            span_id: new_id().to_vec(),
            trace_state: self.context.state.clone(),
            parent_span_id: parent.to_vec(),
            flags: self.context.flags_below(false),
            name: called.to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: start,
            ..Span::default()
        }
    }

    /// Adds a span that ends now.
    pub(super) fn add(&mut self, span: Span) {
        self.done.push(Span { end_time_unix_nano: self.now, ..span });
    }

    /// Adds what happened to the span of `place`, or to the nearest one around it.
    pub(super) fn note(&mut self, place: &Place, happened: Event) {
        let around = self.id_of(place);
        if let Some((_, span)) = self.open.iter_mut().find(|(_, span)| id(span) == around) {
            span.events.push(happened);
        }
    }

    /// Returns the open span of `place`.
    pub(super) fn find(&mut self, place: &Place) -> Option<&mut Span> {
        self.open.iter_mut().find(|(open, _)| open == place).map(|(_, span)| span)
    }

    /// Returns the id of the span of `place`, or of the nearest one around it.
    pub(super) fn id_of(&self, place: &Place) -> Id {
        let find = |place: &Place| self.open.iter().find(|(open, _)| open == place).map(|(_, span)| id(span));
        find(place).or_else(|| find(&Place::Cycle)).unwrap_or(self.context.run)
    }

    /// Ends everything; what is open below the run did not come to its own end, for this reason.
    pub(super) fn close(&mut self, reason: &str) {
        for (place, mut span) in std::mem::take(&mut self.open).into_iter().rev() {
            if place != Place::Run {
                fail(&mut span, reason, String::new());
            }
            self.add(span);
        }
    }

    /// Returns what has ended, and forgets it.
    pub(super) fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.done)
    }
}

/// Says that what a span stands for failed.
pub(super) fn fail(span: &mut Span, kind: &str, message: String) {
    span.attributes.push(words("error.type", kind));
    span.status = Some(Status { code: StatusCode::Error.into(), message });
}

fn id(span: &Span) -> Id {
    span.span_id.as_slice().try_into().unwrap_or_default()
}
