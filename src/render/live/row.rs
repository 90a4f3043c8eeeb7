//! Owns how one step of the plan is drawn: its mark, name, tools, dependencies, description, and how it went.
//!
//! Narrow terminals show the name, with the dependencies before a step ends and with time and tokens after: a
//! description cut after a few letters helps nobody.

use console::measure_text_width;

use crate::outcome::{StepResult, StepStatus};
use crate::plan::Step;
use crate::render::clean::shield;
use crate::render::ink::{Text, Tone};
use crate::render::layout::{cut, fit, spread, wrap};
use crate::render::message::{Mark, reason, tokens};
use crate::render::words::why;
use crate::text;

/// Columns below which tools and descriptions are left out.
const NARROW: usize = 60;

/// Columns that the names of a list take at most.
const WIDEST_NAME: usize = 20;

/// Columns kept free for the time that a running step has taken.
const ELAPSED: usize = 12;

/// How far a step has come.
#[derive(Debug, Clone)]
pub(super) enum Progress {
    /// Not started.
    Waiting,
    /// Started; with what is to be said of its model call, if anything is.
    Running(Option<Note>),
    /// Ended.
    Ended(Ending),
}

/// What is said of a model call that is under way.
#[derive(Debug, Clone)]
pub(super) enum Note {
    /// What holds it up.
    Held(String),
    /// Its tokens so far.
    Tokens(u64),
}

/// How a step ended.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    mark: Mark,
    measure: String,
    why: String,
}

impl Ending {
    /// Returns the ending that `result` tells of.
    pub(super) fn of(result: &StepResult, skipped: bool) -> Self {
        let measure = format!("{} · {}", text::duration(result.duration_ms), tokens(result.tokens_used));
        let (mark, measure) = match result.status {
            StepStatus::Success => (Mark::Good, measure),
            StepStatus::Failure if skipped => (Mark::Skipped, "skipped".to_owned()),
            StepStatus::Failure => (Mark::Bad, measure),
        };
        Self { mark, measure, why: why(result, skipped).to_owned() }
    }

    /// Returns the ending of a step whose run ended first.
    pub(super) fn cut_short(started: bool) -> Self {
        let measure = if started { "not finished" } else { "not started" };
        Self { mark: Mark::Skipped, measure: measure.to_owned(), why: String::new() }
    }
}

/// The columns of a list of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// All of them.
    width: usize,
    /// Names.
    name: usize,
    /// Tools.
    tools: usize,
    /// Dependencies.
    after: usize,
    /// Whether colours are wanted.
    color: bool,
}

impl Columns {
    /// Returns columns that fit `steps` into `width`.
    pub(super) fn fitting(steps: &[Step], width: usize, color: bool) -> Self {
        let widest = |cell: fn(&Step) -> String, limit: usize| {
            steps.iter().map(|step| measure_text_width(&cell(step))).max().unwrap_or(0).min(limit)
        };
        Self {
            width,
            name: widest(name, WIDEST_NAME.min(width / 3)),
            tools: widest(tools, width / 4),
            after: widest(after, width / 4),
            color,
        }
    }

    /// Returns the row of a step that has not ended, without mark, with room for the time it takes.
    pub(super) fn open(&self, step: &Step, note: Option<&Note>) -> String {
        let mut cells = vec![self.cell(Tone::Name, &name(step), self.name)];
        let mut count = String::new();
        match note {
            Some(Note::Held(why)) => cells.push(Text::of(Tone::Caution, why).paint(self.color)),
            _ if self.narrow() => cells.push(Tone::Faint.paint(&after(step), self.color)),
            _ => cells.extend(self.task(step)),
        }
        if let Some(Note::Tokens(so_far)) = note {
            count = Tone::Faint.paint(&tokens(*so_far), self.color);
        }
        spread(&cells.join("  "), &count, self.width.saturating_sub(4 + ELAPSED))
    }

    /// Returns the lines of a step that has ended.
    pub(super) fn closed(&self, step: &Step, ending: &Ending) -> Vec<String> {
        let (tone, sign) = ending.mark.sign();
        let mut cells = vec![self.cell(Tone::Name, &name(step), self.name)];
        if !self.narrow() {
            cells.extend(self.task(step));
        }
        let left = format!("  {} {}", tone.paint(sign, self.color), shield(&cells.join("  ")));
        let mut lines = vec![spread(&left, &Tone::Faint.paint(&ending.measure, self.color), self.width)];
        let tone = if ending.mark == Mark::Bad { Tone::Bad } else { Tone::Faint };
        for line in reason(&ending.why) {
            let room = self.width.saturating_sub(6);
            for part in wrap(&shield(&line), room) {
                lines.push(format!("      {}", tone.paint(&cut(&shield(&part), room), self.color)));
            }
        }
        lines
    }

    /// Returns what a step does, with what, and after which ones.
    fn task(&self, step: &Step) -> Vec<String> {
        let mut cells = Vec::new();
        for (text, width) in [(tools(step), self.tools), (after(step), self.after)] {
            if width > 0 {
                cells.push(self.cell(Tone::Faint, &text, width));
            }
        }
        cells.push(Text::of(Tone::Plain, &step.description).paint(self.color));
        cells
    }

    fn narrow(&self) -> bool {
        self.width < NARROW
    }

    fn cell(&self, tone: Tone, text: &str, width: usize) -> String {
        tone.paint(&fit(text, width), self.color)
    }
}

fn name(step: &Step) -> String {
    Text::of(Tone::Plain, &step.id).paint(false)
}

fn tools(step: &Step) -> String {
    Text::of(Tone::Plain, step.tools.join(", ")).paint(false)
}

fn after(step: &Step) -> String {
    if step.dependencies.is_empty() {
        return String::new();
    }
    Text::of(Tone::Plain, format!("← {}", step.dependencies.join(", "))).paint(false)
}
