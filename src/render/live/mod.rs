//! Owns the picture of a run on a terminal: the plan as a list that fills with ticks, spinners for what is under way.
//!
//! Everything that has ended is ordinary text, written once, line by line; only what is under way is drawn again.
//! So the picture that remains is the whole story, and it can be scrolled and copied.

mod board;
mod row;
mod screen;

use std::io;

use indicatif::{MultiProgress, ProgressDrawTarget, TermLike};

use self::board::Board;
use self::row::Note;
use self::screen::Screen;
use super::Style;
use super::ink::Tone;
use super::layout::usable;
use super::message::{Detail, Message};
use super::page::Page;
use super::words::Words;
use crate::event::{Envelope, EventSink, Purpose, RunEvent};
use crate::outcome::Usage;
use crate::text;

/// Draws per second at most.
const REFRESH: u8 = 20;

/// Draws a run on a terminal.
#[derive(Debug)]
pub struct Live {
    bars: MultiProgress,
    screen: Screen,
    board: Board,
    words: Words,
    page: Page,
}

impl Live {
    /// Returns a sink that draws on `term`, which is a terminal that understands cursor movements.
    pub fn new(term: impl TermLike + 'static, style: Style) -> Self {
        Self::start(term, style, true)
    }

    /// Returns the handle through which anybody else writes to the same terminal: inside of its `suspend`.
    pub fn bars(&self) -> MultiProgress {
        self.bars.clone()
    }

    fn start(term: impl TermLike + 'static, style: Style, turning: bool) -> Self {
        let screen = Screen::new(term, style.ascii);
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), REFRESH);
        let bars = MultiProgress::with_draw_target(target);
        let page = Page { width: usable(screen.width()), color: style.color };
        let board = Board::new(bars.clone(), page.width, page.color, turning);
        Self { bars, screen, board, words: Words::new(style.level), page }
    }

    /// Takes the size that the terminal has by now.
    fn fit(&mut self) {
        self.board.make_room(self.screen.height().into());
        let width = usable(self.screen.width());
        if width != self.page.width {
            self.page.width = width;
            self.board.resize(width);
        }
    }

    /// Moves what moves, and returns the lines that are fixed now.
    fn draw(&mut self, event: &RunEvent) -> Vec<String> {
        let mut messages = self.words.tell(event);
        if self.words.minimal() {
            return self.page.lines(&messages);
        }
        let mut lines = Vec::new();
        match event {
            RunEvent::CycleStarted { cycle } => {
                lines = self.board.close();
                self.board.think("planning");
                lines.push(String::new());
                lines.push(Tone::Strong.paint(&format!("cycle {cycle}"), self.page.color));
                return lines;
            }
            RunEvent::PlanCompleted { plan, .. } => {
                self.board.rest();
                self.board.plan(&plan.steps);
                messages.iter_mut().for_each(without_rows);
            }
            RunEvent::ExecutionStarted { plan, order, .. } => {
                if let Some(plan) = plan {
                    self.board.plan(&plan.steps);
                }
                self.board.order(order);
                messages.iter_mut().for_each(without_rows);
            }
            RunEvent::StepStarted { step, .. } => {
                self.board.start(step);
                return lines;
            }
            RunEvent::StepCompleted { result, skipped, .. } => return self.board.end(result, *skipped),
            RunEvent::ExecutionCompleted { .. } => {
                lines = self.board.close();
                self.board.think("judging");
            }
            RunEvent::EvaluationCompleted { .. } | RunEvent::RunStopped { .. } => lines = self.board.close(),
            // The terminal belongs to whoever is asked; the steps come back with the order in which they run.
            RunEvent::ApprovalRequested { .. } => self.board.hide(),
            RunEvent::LlmRetry { purpose, delay_ms, error, .. } => {
                let note = format!("again in {}: {error}", text::duration(*delay_ms));
                self.board.note(purpose, Some(Note::Held(note)));
            }
            RunEvent::LlmCompleted { purpose, .. } => self.board.note(purpose, None),
            RunEvent::RunCompleted { .. } => {
                lines = self.board.close();
                for message in &messages {
                    lines.push(String::new());
                    lines.extend(self.page.message(message));
                }
                return lines;
            }
            _ => {}
        }
        lines.extend(self.page.lines(&messages));
        lines
    }
}

impl EventSink for Live {
    fn name(&self) -> &'static str {
        "the live picture"
    }

    /// Lines that have left the picture were told when it happened; the picture is what it was.
    fn recall(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.draw(&envelope.event);
        Ok(())
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.fit();
        let lines = self.draw(&envelope.event);
        // The screen keeps its faults to itself until it is asked.
        self.bars.suspend(|| lines.iter().try_for_each(|line| self.screen.write_line(line.trim_end())))?;
        self.screen.fault()
    }

    fn progress(&mut self, purpose: &Purpose, so_far: Usage) {
        if !self.words.minimal() {
            self.fit();
            self.board.note(purpose, Some(Note::Tokens(so_far.total())));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Nobody said how the run ended: what is known of its steps stays.
        let lines = self.board.close();
        self.bars.suspend(|| lines.iter().for_each(|line| drop(self.screen.write_line(line.trim_end()))));
    }
}

/// Leaves the steps out of a message: they are drawn as a list that moves.
fn without_rows(message: &mut Message) {
    message.details.retain(|detail| matches!(detail, Detail::Prose(..)));
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;
    use crate::config::LoggingLevel;
    use crate::event::Role;
    use crate::outcome::{StepResult, StepStatus};
    use crate::plan::{Plan, Step};
    use crate::render::fixture;

    /// A terminal with the sink that draws on it; nothing turns by itself.
    fn still(width: u16, level: LoggingLevel) -> (InMemoryTerm, Live) {
        let term = InMemoryTerm::new(300, width);
        let live = Live::start(term.clone(), Style { color: false, width, ascii: false, level }, false);
        (term, live)
    }

    fn picture(events: &[RunEvent], width: u16, level: LoggingLevel) -> String {
        let (term, mut live) = still(width, level);
        for envelope in fixture::envelopes(events) {
            live.emit(&envelope).unwrap();
        }
        drop(live);
        format!("{}\n", term.contents())
    }

    #[test]
    fn the_picture_that_remains_fits_its_terminal() {
        fixture::compare("live-100.txt", &picture(&fixture::run(), 100, LoggingLevel::Standard));
        fixture::compare("live-40.txt", &picture(&fixture::run(), 40, LoggingLevel::Standard));
        fixture::compare("live-verbose.txt", &picture(&fixture::run(), 100, LoggingLevel::Verbose));
        fixture::compare("live-minimal.txt", &picture(&fixture::run(), 100, LoggingLevel::Minimal));
    }

    #[test]
    fn a_stopped_run_shows_what_was_under_way() {
        fixture::compare("live-stopped.txt", &picture(&fixture::stopped(), 100, LoggingLevel::Standard));
    }

    #[test]
    fn running_and_waiting_steps_show_while_others_have_ended() {
        let (term, mut live) = still(80, LoggingLevel::Standard);
        let mut seen = String::new();
        for envelope in fixture::envelopes(&fixture::stopped()) {
            live.emit(&envelope).unwrap();
            let now = term.contents();
            let shown = match &*envelope.event {
                RunEvent::CycleStarted { .. } => "planning",
                RunEvent::StepStarted { .. } => "running",
                RunEvent::LlmRetry { .. } => "retried",
                RunEvent::StepCompleted { .. } => "ended",
                _ => continue,
            };
            seen.extend(["--- ", shown, "\n", now.as_str(), "\n"]);
        }
        fixture::compare("live-moving.txt", &seen);
    }

    #[test]
    fn the_tokens_of_a_call_show_beside_who_asks() {
        let (term, mut live) = still(80, LoggingLevel::Standard);
        let mut seen = 0;
        for envelope in fixture::envelopes(&fixture::run()) {
            live.emit(&envelope).unwrap();
            let (role, step) = match &*envelope.event {
                RunEvent::CycleStarted { .. } => (Role::Planner, None),
                RunEvent::StepStarted { step, .. } => (Role::Executor, Some(step.id.clone())),
                RunEvent::ExecutionCompleted { .. } => (Role::Evaluator, None),
                _ => continue,
            };
            let purpose = Purpose { role, cycle: 1, step, tool: None, attempt: 1 };
            live.progress(&purpose, Usage { input: 1200, output: 34, ..Usage::default() });
            // Draws are limited; this one is not.
            live.bars().suspend(|| ());
            assert!(term.contents().contains("1,234 tokens"), "{}", term.contents());
            seen += 1;
        }
        assert!(seen > 3, "{seen}");
    }

    #[test]
    fn a_plan_longer_than_the_screen_shows_where_it_is() {
        let step = |number: usize| Step {
            id: format!("step{number}"),
            description: "Do it".to_owned(),
            tools: Vec::new(),
            expected_outcome: "It is done".to_owned(),
            dependencies: Vec::new(),
            model: None,
        };
        let steps: Vec<Step> = (1..=30).map(step).collect();
        let plan = Plan { reasoning: String::new(), estimated_tokens: 0.0, steps: steps.clone() };
        let mut events = vec![
            RunEvent::CycleStarted { cycle: 1 },
            RunEvent::PlanCompleted { cycle: 1, plan: plan.into(), tokens_used: 0, duration_ms: 0 },
        ];
        for step in &steps[..20] {
            let result = StepResult {
                step_id: step.id.clone(),
                status: StepStatus::Success,
                output: serde_json::Value::Null.into(),
                error: None,
                tokens_used: 0,
                duration_ms: 0,
            };
            events.push(RunEvent::StepStarted { cycle: 1, step: step.clone() });
            events.push(RunEvent::StepCompleted { cycle: 1, result, skipped: false });
        }
        events.push(RunEvent::StepStarted { cycle: 1, step: steps[20].clone() });
        let term = InMemoryTerm::new(8, 60);
        let style = Style { color: false, width: 60, ascii: false, level: LoggingLevel::Standard };
        let mut live = Live::start(term.clone(), style, false);
        for envelope in fixture::envelopes(&events) {
            live.emit(&envelope).unwrap();
        }
        assert!(term.contents().contains("step21"), "{}", term.contents());
    }

    #[test]
    fn colours_change_no_word() {
        let (_, mut plain) = still(90, LoggingLevel::Verbose);
        let (_, mut painted) = still(90, LoggingLevel::Verbose);
        painted.page.color = true;
        painted.board = Board::new(painted.bars.clone(), painted.page.width, true, false);
        for event in fixture::run().iter().chain(&fixture::stopped()) {
            for (plain, painted) in plain.draw(event).iter().zip(painted.draw(event)) {
                assert_eq!(console::strip_ansi_codes(&painted), *plain);
            }
        }
    }

    #[test]
    fn a_run_that_breaks_off_leaves_nothing_that_moves() {
        let (term, mut live) = still(80, LoggingLevel::Standard);
        for envelope in &fixture::envelopes(&fixture::stopped())[..6] {
            live.emit(envelope).unwrap();
        }
        drop(live);
        assert!(!term.contents().contains('⠋'), "{}", term.contents());
    }

    #[test]
    fn hostile_text_cannot_move_the_cursor_or_pose_as_the_final_line() {
        for width in [40, 100] {
            let picture = picture(&fixture::hostile(), width, LoggingLevel::Verbose);
            assert!(picture.starts_with("tepa 0.1.0"), "{picture}");
            assert_eq!(picture.lines().filter(|line| line.starts_with("pass")).count(), 0, "{picture}");
            for line in picture.lines() {
                assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line}");
            }
            let marked: Vec<&str> = picture.lines().filter(|line| line.starts_with(['✓', '✗'])).collect();
            assert!(matches!(marked[..], [end] if end.starts_with("✗ fail")), "{picture}");
        }
    }

    #[test]
    fn every_width_is_kept() {
        for width in [20, 33, 40, 59, 60, 61, 80, 200] {
            for level in [LoggingLevel::Standard, LoggingLevel::Verbose] {
                let (_, mut live) = still(width, level);
                for event in fixture::run().iter().chain(&fixture::hostile()) {
                    for line in live.draw(event) {
                        let taken = console::measure_text_width(&line);
                        assert!(taken <= usable(width), "{taken} columns of {width}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_terminal_that_went_away_is_told_of_once() {
        #[derive(Debug)]
        struct Gone(io::ErrorKind);
        impl TermLike for Gone {
            fn width(&self) -> u16 {
                80
            }
            fn move_cursor_up(&self, _: usize) -> io::Result<()> {
                Err(self.0.into())
            }
            fn move_cursor_down(&self, _: usize) -> io::Result<()> {
                Err(self.0.into())
            }
            fn move_cursor_right(&self, _: usize) -> io::Result<()> {
                Err(self.0.into())
            }
            fn move_cursor_left(&self, _: usize) -> io::Result<()> {
                Err(self.0.into())
            }
            fn write_line(&self, _: &str) -> io::Result<()> {
                Err(self.0.into())
            }
            fn write_str(&self, _: &str) -> io::Result<()> {
                Err(self.0.into())
            }
            fn clear_line(&self) -> io::Result<()> {
                Err(self.0.into())
            }
            fn flush(&self) -> io::Result<()> {
                Err(self.0.into())
            }
        }
        let style = Style { color: true, width: 80, ascii: false, level: LoggingLevel::Standard };
        for (kind, expected) in [(io::ErrorKind::Other, 1), (io::ErrorKind::BrokenPipe, 0)] {
            let mut live = Live::new(Gone(kind), style);
            let envelopes = fixture::envelopes(&fixture::run());
            assert_eq!(envelopes.iter().filter(|envelope| live.emit(envelope).is_err()).count(), expected);
        }
    }
}
