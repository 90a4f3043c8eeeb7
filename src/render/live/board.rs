//! Owns what moves on the screen: the list of steps, and a spinner for whoever thinks.
//!
//! The list stays in the order in which steps run. What has ended at its top becomes fixed text and scrolls away with
//! the rest, so a plan that is longer than the screen still shows where it is. What there is no room for is not drawn: every event draws all rows.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::row::{Columns, Ending, Note, Progress};
use crate::event::{Purpose, Role};
use crate::outcome::StepResult;
use crate::plan::Step;
use crate::render::ink::{Text, Tone};
use crate::render::layout::cut;
use crate::render::message::tokens;
use crate::text;

/// The pictures of a spinner; the last one stands still.
const SPINNER: [&str; 11] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏", "·"];

/// How often spinners turn.
const TURN: Duration = Duration::from_millis(100);

/// What moves on the screen.
#[derive(Debug)]
pub(super) struct Board {
    bars: MultiProgress,
    width: usize,
    color: bool,
    turning: bool,
    rows: VecDeque<Row>,
    /// How many rows there is room for.
    room: usize,
    /// How many rows are drawn, from the first.
    drawn: usize,
    /// Whether the screen belongs to somebody else.
    away: bool,
    columns: Columns,
    thinker: Option<(ProgressBar, &'static str)>,
}

#[derive(Debug)]
struct Row {
    step: Step,
    progress: Progress,
    bar: ProgressBar,
}

impl Board {
    /// Returns an empty board; `turning` spinners need a clock, still ones do not.
    pub(super) fn new(bars: MultiProgress, width: usize, color: bool, turning: bool) -> Self {
        let columns = Columns::fitting(&[], width, color);
        let rows = VecDeque::new();
        Self { bars, width, color, turning, rows, room: 0, drawn: 0, away: false, columns, thinker: None }
    }

    /// Takes how many rows there is room for.
    pub(super) fn make_room(&mut self, rows: usize) {
        self.room = rows;
        self.fill();
    }

    /// Shows that somebody thinks.
    pub(super) fn think(&mut self, doing: &'static str) {
        self.rest();
        let bar = self.bars.add(ProgressBar::no_length());
        self.spin(&bar);
        bar.set_message(doing);
        bar.tick();
        self.thinker = Some((bar, doing));
    }

    /// Shows that nobody thinks.
    pub(super) fn rest(&mut self) {
        if let Some((bar, _)) = self.thinker.take() {
            self.bars.remove(&bar);
        }
    }

    /// Takes everything from the screen; the steps are remembered.
    pub(super) fn hide(&mut self) {
        self.rest();
        for row in &self.rows {
            self.bars.remove(&row.bar);
        }
        (self.drawn, self.away) = (0, true);
    }

    /// Shows the steps of a plan, none of which has started.
    pub(super) fn plan(&mut self, steps: &[Step]) {
        for row in self.rows.drain(..) {
            self.bars.remove(&row.bar);
        }
        (self.drawn, self.away) = (0, false);
        self.columns = Columns::fitting(steps, self.width, self.color);
        for step in steps {
            self.add(step.clone());
        }
    }

    /// Takes another width; what has ended above stays as it is.
    pub(super) fn resize(&mut self, width: usize) {
        self.width = width;
        let steps: Vec<Step> = self.rows.iter().map(|row| row.step.clone()).collect();
        self.columns = Columns::fitting(&steps, width, self.color);
        for row in &self.rows {
            row.draw(&self.columns);
        }
    }

    /// Puts the steps into the order in which they run.
    pub(super) fn order(&mut self, order: &[String]) {
        let mut steps: Vec<Step> = self.rows.iter().map(|row| row.step.clone()).collect();
        let ranks: HashMap<&String, usize> = order.iter().enumerate().map(|(rank, id)| (id, rank)).collect();
        steps.sort_by_key(|step| ranks.get(&step.id).copied().unwrap_or(usize::MAX));
        self.plan(&steps);
    }

    /// Shows that a step runs, as hooks left it.
    pub(super) fn start(&mut self, step: &Step) {
        if !self.rows.iter().any(|row| row.step.id == step.id) {
            self.add(step.clone());
        }
        let Some(at) = self.rows.iter().position(|row| row.step.id == step.id) else { return };
        self.spin(&self.rows[at].bar);
        let row = &mut self.rows[at];
        row.step = step.clone();
        row.progress = Progress::Running(None);
        row.draw(&self.columns);
    }

    /// Shows beside who asks a model what is to be said of the call, or nothing any more.
    pub(super) fn note(&mut self, purpose: &Purpose, note: Option<Note>) {
        if purpose.role == Role::Executor {
            let row = self.rows.iter_mut().find(|row| Some(&row.step.id) == purpose.step.as_ref());
            if let Some(row) = row
                && matches!(row.progress, Progress::Running(_))
            {
                row.progress = Progress::Running(note);
                row.draw(&self.columns);
            }
        } else if let Some((bar, doing)) = &self.thinker {
            let line = Text::of(Tone::Plain, *doing);
            let line = match note {
                Some(Note::Held(why)) => line.add(Tone::Caution, format!(", {why}")),
                Some(Note::Tokens(so_far)) => line.add(Tone::Faint, format!("  {}", tokens(so_far))),
                None => line,
            };
            bar.set_message(cut(&line.paint(self.color), self.width.saturating_sub(16)));
            bar.tick();
        }
    }

    /// Takes the end of a step; returns the lines that are fixed now.
    pub(super) fn end(&mut self, result: &StepResult, skipped: bool) -> Vec<String> {
        if let Some(row) = self.rows.iter_mut().find(|row| row.step.id == result.step_id) {
            row.progress = Progress::Ended(Ending::of(result, skipped));
            row.bar.disable_steady_tick();
            row.bar.set_style(still());
            row.draw(&self.columns);
        }
        let ended = self.rows.iter().take_while(|row| matches!(row.progress, Progress::Ended(_))).count();
        self.fix(ended)
    }

    /// Ends everything that moves; returns the lines that are fixed now.
    pub(super) fn close(&mut self) -> Vec<String> {
        self.rest();
        for row in &mut self.rows {
            let started = match row.progress {
                Progress::Waiting => false,
                Progress::Running(_) => true,
                Progress::Ended(_) => continue,
            };
            row.progress = Progress::Ended(Ending::cut_short(started));
        }
        self.fix(self.rows.len())
    }

    fn fix(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for row in self.rows.drain(..count) {
            self.bars.remove(&row.bar);
            if let Progress::Ended(ending) = &row.progress {
                lines.extend(self.columns.closed(&row.step, ending));
            }
        }
        self.drawn = self.drawn.saturating_sub(count);
        self.fill();
        lines
    }

    fn add(&mut self, step: Step) {
        let bar = ProgressBar::hidden().with_style(still());
        self.rows.push_back(Row { step, progress: Progress::Waiting, bar });
        self.fill();
    }

    /// Draws the rows that there is room for by now.
    fn fill(&mut self) {
        let room = if self.away { 0 } else { self.room };
        for row in self.rows.iter().take(room).skip(self.drawn) {
            self.bars.add(row.bar.clone());
            row.draw(&self.columns);
            self.drawn += 1;
        }
    }

    fn spin(&self, bar: &ProgressBar) {
        let pictures = SPINNER.map(|picture| Tone::Busy.paint(picture, self.color));
        let color = self.color;
        let since = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let seconds = state.elapsed().as_secs();
            if seconds > 0 {
                // The drawing library knows nothing better to do with a fault than this function does.
                let _ = out.write_str(&Tone::Faint.paint(&format!("  {}", elapsed(seconds)), color));
            }
        };
        let time = if self.turning { "{since}" } else { "" };
        bar.set_style(
            template(&format!("  {{spinner}} {{msg}}{time}"))
                .with_key("since", since)
                .tick_strings(&pictures.each_ref().map(String::as_str)),
        );
        bar.reset_elapsed();
        if self.turning {
            bar.enable_steady_tick(TURN);
        }
    }
}

impl Row {
    fn draw(&self, columns: &Columns) {
        let line = match &self.progress {
            Progress::Waiting => format!("  · {}", columns.open(&self.step, None)),
            Progress::Running(note) => columns.open(&self.step, note.as_ref()),
            Progress::Ended(ending) => columns.closed(&self.step, ending).swap_remove(0),
        };
        self.bar.set_message(line);
        self.bar.tick();
    }
}

/// Returns whole seconds without the tenths that would only flicker.
fn elapsed(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds} s") } else { text::duration(seconds.saturating_mul(1000)) }
}

// Lines are no longer than their text: what the terminal puts behind the last one, such as `^C`, begins no line, and a window that gets
// narrower has little to break.
fn still() -> ProgressStyle {
    template("{msg}")
}

fn template(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
