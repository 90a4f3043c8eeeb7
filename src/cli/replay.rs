//! Owns `tepa runs replay`: a recorded run, shown again by those who show one that is under way.
//!
//! Nothing is executed: how the run ended is data here, and never how this process ends.

use std::time::Duration;

use super::answer::print;
use super::args::{GlobalArguments, OutputArgument, ReplayArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{record, run, runtime};
use crate::config::{Environment, LoggingLevel};
use crate::error::Error;
use crate::event::{self, Envelope, EventSink, RunEvent};
use crate::journal::{self, State};
use crate::outcome::RunResult;
use crate::text;

pub(super) fn replay(
    arguments: &ReplayArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let ReplayArguments { run, speed, output } = arguments;
    let fail = |e: &(dyn std::error::Error + 'static)| {
        Error::usage(format!("cannot use the record of the run `{run}`")).because(e)
    };
    let folder = journal::find(&environment.directory, run)?;
    let record = journal::read_whole(&folder).map_err(|e| fail(&e))?;
    // What became a secret since it was recorded is one for every renderer.
    let events = record.events.into_iter().map(|envelope| envelope.without(environment.secrets()));
    let events: Vec<Envelope> = events.collect::<Result<_, _>>().map_err(|e| fail(&e))?;
    let listed = journal::recorded(&folder)
        .ok_or_else(|| Error::usage(format!("the record of the run `{run}` does not say how it began")))?;
    let result = result(&events);
    if result.is_none() && *output == OutputArgument::Json {
        return Err(record::unended(&listed).into());
    }
    if record.unknown > 0 {
        let facts = text::plural("fact", record.unknown);
        ui.warn([format!("the record holds {facts} that this tepa does not know and does not show")]);
    }
    let level = global.log_level.map_or(LoggingLevel::Standard, LoggingLevel::from);
    let sinks = || run::sinks(*output, level, ui);
    runtime::block_on(environment, async |cancel| {
        runtime::unless_stopped(&cancel, show(&events, *speed, sinks, ui)).await
    })???;
    if let Some(result) = result {
        return print(ui, &run::data(*output, result)?);
    }
    if !ui.quiet {
        ui.say(&match listed.state {
            State::Running => format!("the run {} is under way: it came so far until now\n", listed.run_id),
            _ => format!("the run {} never ended: its process is gone\n", listed.run_id),
        });
    }
    Ok(ExitStatus::answered())
}

/// Returns how a run ended, unless it went on afterwards.
fn result<'e>(events: &'e [Envelope]) -> Option<&'e RunResult> {
    let end = events.iter().rev().find_map(|envelope| match &*envelope.event {
        RunEvent::RunCompleted { result } => Some(Some(&**result)),
        RunEvent::RunResumed { .. } => Some(None),
        _ => None,
    });
    end.flatten()
}

/// Hands events to sinks, with the pauses between them divided by `speed`, or without any.
async fn show(
    events: &[Envelope<'_>],
    speed: Option<f64>,
    fresh: impl Fn() -> Vec<Box<dyn EventSink>>,
    ui: &Ui,
) -> Result<(), Error> {
    let mut sinks = fresh();
    for (at, envelope) in events.iter().enumerate() {
        let before = &events[..at];
        if matches!(*envelope.event, RunEvent::RunResumed { .. }) {
            // Each attempt was a process with a picture of its own. How long there was none is nobody's pause.
            sinks.clear();
            sinks.extend(fresh());
            event::recall(&mut sinks, before);
        } else if let (Some(speed), Some(last)) = (speed, before.last()) {
            tokio::time::sleep(pause(last, envelope, speed)).await;
        }
        // A signal is heard between any two events.
        tokio::task::yield_now().await;
        hand(&mut sinks, envelope, ui)?;
    }
    Ok(())
}

fn pause(from: &Envelope, to: &Envelope, speed: f64) -> Duration {
    // A clock that was set back makes no pause, and one that was set forward one that nobody waits for.
    let pause = Duration::try_from(to.ts.duration_since(from.ts)).unwrap_or_default();
    Duration::try_from_secs_f64(pause.as_secs_f64() / speed).unwrap_or(Duration::MAX)
}

/// Hands an event to every sink; one that breaks is dropped and named.
fn hand(sinks: &mut Vec<Box<dyn EventSink>>, envelope: &Envelope, ui: &Ui) -> Result<(), Error> {
    let mut lost = None;
    sinks.retain_mut(|sink| match sink.emit(envelope) {
        Ok(()) => true,
        Err(e) => {
            let error = Error::broken(format!("cannot write {}", sink.name())).because(&e);
            if sink.required() {
                lost = Some(error);
            } else {
                ui.warn([format!("cannot write {}: {e}", sink.name())]);
            }
            false
        }
    });
    lost.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Envelope<'static> {
        let line = format!(
            r#"{{"schema":"tepa.events/1","seq":1,"ts":"{time}","runId":"r","type":"cycle.started","cycle":1}}"#
        );
        let mut events = Vec::new();
        event::read(line.as_bytes(), |envelope| events.push(envelope)).unwrap();
        events.remove(0)
    }

    #[test]
    fn a_pause_is_divided_and_never_negative() {
        let (one, other) = (at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:30Z"));
        assert_eq!(pause(&one, &other, 10.0), Duration::from_secs(3));
        assert_eq!(pause(&other, &one, 10.0), Duration::ZERO);
        assert_eq!(pause(&one, &other, 1e-300), Duration::MAX);
    }
}
