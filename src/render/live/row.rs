//! Owns how one step of the plan is drawn: its mark, name, tools, dependencies, description, and how it went.
//!
//! What a step is for comes before what it uses and waits for: on narrow terminals these go first, then the description, because one that
//! is cut after a few letters helps nobody.

use console::measure_text_width;

use crate::outcome::{StepResult, StepStatus};
use crate::plan::Step;
use crate::render::clean::shield;
use crate::render::ink::{Text, Tone};
use crate::render::layout::{cut, fit, spread, wrap};
use crate::render::message::{Mark, reason, tokens};
use crate::render::words::why;
use crate::text;

/// Columns that the names of a list take at most.
const WIDEST_NAME: usize = 20;

/// Columns that a description needs to say anything.
const NARROWEST_DESCRIPTION: usize = 12;

/// Columns that a description should have before dependencies stand beside it.
const GOOD_DESCRIPTION: usize = 24;

/// Columns that it should have before tools do.
const BEST_DESCRIPTION: usize = 32;

/// Columns that tools, and dependencies, take at most.
const WIDEST_BESIDE: usize = 20;

/// Columns kept free for time and tokens, which come when a step ends.
const MEASURE: usize = 26;

/// Columns kept free for the time that a running step has taken.
const ELAPSED: usize = 14;

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

/// The columns of a list of steps; what has none does not show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// All of them.
    width: usize,
    /// Names.
    name: usize,
    /// Descriptions.
    description: usize,
    /// Tools.
    tools: usize,
    /// Dependencies.
    after: usize,
    /// Whether colours are wanted.
    color: bool,
}

impl Columns {
    /// Returns columns that fit `steps` into `width`: names first, then descriptions, then what stands beside them.
    pub(super) fn fitting(steps: &[Step], width: usize, color: bool) -> Self {
        let widest = |cell: fn(&Step) -> String, limit: usize| {
            steps.iter().map(|step| measure_text_width(&cell(step))).max().unwrap_or(0).min(limit)
        };
        let name = widest(name, WIDEST_NAME.min(width / 3));
        let mut room = width.saturating_sub(4 + name + 2 + MEASURE);
        let mut beside = |wanted: usize, before: usize| {
            let fits = wanted > 0 && room >= before + wanted + 2;
            room -= if fits { wanted + 2 } else { 0 };
            if fits { wanted } else { 0 }
        };
        let after = widest(|step| list("← ", &step.dependencies, WIDEST_BESIDE), WIDEST_BESIDE);
        let after = beside(after, GOOD_DESCRIPTION);
        let tools = widest(|step| list("", &step.tools, WIDEST_BESIDE), WIDEST_BESIDE);
        let tools = beside(tools, BEST_DESCRIPTION);
        let description = widest(description, room);
        Self {
            width,
            name,
            description: if room < NARROWEST_DESCRIPTION { 0 } else { description },
            tools,
            after,
            color,
        }
    }

    /// Returns the row of a step that has not ended, without mark, with room for the time it takes.
    pub(super) fn open(&self, step: &Step, note: Option<&Note>) -> String {
        let mut cells = vec![self.cell(Tone::Name, &name(step), self.name)];
        let mut count = String::new();
        match note {
            Some(Note::Held(why)) => cells.push(Text::of(Tone::Caution, why).paint(self.color)),
            _ if self.description == 0 => {
                cells.push(Tone::Faint.paint(&list("← ", &step.dependencies, WIDEST_BESIDE), self.color));
            }
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
        cells.extend(self.task(step));
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
        let cells = [
            (Tone::Plain, description(step), self.description),
            (Tone::Faint, list("", &step.tools, self.tools), self.tools),
            (Tone::Faint, list("← ", &step.dependencies, self.after), self.after),
        ];
        let shown = cells.into_iter().filter(|(_, _, width)| *width > 0);
        shown.map(|(tone, text, width)| self.cell(tone, &text, width)).collect()
    }

    fn cell(&self, tone: Tone, text: &str, width: usize) -> String {
        tone.paint(&fit(text, width), self.color)
    }
}

fn name(step: &Step) -> String {
    Text::of(Tone::Plain, &step.id).paint(false)
}

fn description(step: &Step) -> String {
    Text::of(Tone::Plain, &step.description).paint(false)
}

/// Returns names in at most `width` columns: all of them, or as many as fit and how many there are beside them.
fn list(before: &str, names: &[String], width: usize) -> String {
    if names.is_empty() {
        return String::new();
    }
    let clean = |names: &[String]| Text::of(Tone::Plain, names.join(", ")).paint(false);
    let all = (1..=names.len()).rev().map(|shown| match names.len() - shown {
        0 => format!("{before}{}", clean(names)),
        left => format!("{before}{} +{left}", clean(&names[..shown])),
    });
    let mut forms: Vec<String> = all.collect();
    let fitting = forms.iter().position(|form| measure_text_width(form) <= width);
    forms.swap_remove(fitting.unwrap_or(names.len() - 1))
}
