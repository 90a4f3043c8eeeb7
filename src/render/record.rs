//! Owns the telling of a run that was recorded: the words of a run under way, without what was only of interest while it went on.
//!
//! How the run began and ended is not told here: whoever shows a record says that at its head.

use std::io;

use super::Style;
use super::ink::{Text, Tone};
use super::layout::usable;
use super::message::{Mark, Message, Place};
use super::page::Page;
use super::plain::Plain;
use super::words::Words;
use crate::event::RunEvent;

/// Returns what happened in a run, cycle by cycle: wrapped for a terminal with so many `columns`, else one line each, uncut.
pub fn told(events: &[RunEvent], style: Style, columns: Option<u16>) -> String {
    let page = columns.map(|columns| Page { width: usable(columns), color: style.color });
    let plain = Plain::new(io::sink(), style);
    let mut words = Words::new(style.level);
    let mut out = String::new();
    let mut open: Vec<Place> = Vec::new();
    for event in events {
        let mut messages = words.tell(event);
        match event {
            RunEvent::RunStarted { .. } if !words.verbose() => continue,
            RunEvent::CycleStarted { cycle } if page.is_some() && !words.minimal() => {
                let head = Tone::Strong.paint(&format!("cycle {cycle}"), style.color);
                out += &format!("\n{head}\n");
                continue;
            }
            RunEvent::StepStarted { cycle, step } => {
                open.push(Place::step(*cycle, &step.id, None));
                if !words.verbose() {
                    continue;
                }
            }
            RunEvent::StepCompleted { result, .. } => {
                open.retain(|place| place.step.as_ref() != Some(&result.step_id));
            }
            // The final line; the artifacts come before it.
            RunEvent::RunCompleted { .. } => {
                messages.pop();
            }
            _ => {}
        }
        for message in &messages {
            write(message, page, &plain, &mut out);
        }
    }
    if !words.minimal() {
        for place in open {
            let message = Message::new(place, Text::of(Tone::Caution, "not finished")).marked(Mark::Skipped);
            write(&message, page, &plain, &mut out);
        }
    }
    out
}

fn write(message: &Message, page: Option<Page>, plain: &Plain<io::Sink>, out: &mut String) {
    match page {
        None => plain.write(message, out),
        Some(page) => page.message(message).iter().for_each(|line| *out += &format!("{}\n", line.trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoggingLevel;
    use crate::render::fixture;
    use console::measure_text_width;

    fn style() -> Style {
        Style { color: false, width: 80, ascii: false, level: LoggingLevel::Standard }
    }

    #[test]
    fn a_record_fits_every_terminal_and_is_whole_in_a_file() {
        for columns in [40, 80, 120, 200] {
            let page = told(&fixture::run(), style(), Some(columns));
            assert!(page.lines().all(|line| measure_text_width(line) < usize::from(columns)), "{page}");
            assert!(page.contains("\ncycle 2\n"), "{page}");
        }
        let page = told(&fixture::run(), style(), None);
        assert!(!page.contains('…') && page.contains("[cycle 2] ✓ pass"), "{page}");
        assert!(!page.lines().any(|line| line.contains("[step") && line.ends_with(" started")), "{page}");
    }

    #[test]
    fn a_step_that_was_cut_off_is_told_of() {
        let mut events = fixture::stopped();
        let last = events.iter().rposition(|event| matches!(event, RunEvent::StepStarted { .. })).unwrap();
        events.truncate(last + 1);
        let page = told(&events, style(), None);
        assert!(page.trim_end().ends_with("– not finished"), "{page}");
    }

    #[test]
    fn hostile_text_neither_paints_nor_commands() {
        for columns in [None, Some(60)] {
            let page = told(&fixture::hostile(), style(), columns);
            assert!(!page.chars().any(|c| c != '\n' && c.is_control()), "{page:?}");
            assert!(page.lines().all(|line| !line.trim_start().starts_with("::")), "{page}");
        }
    }
}
