//! One diagnostic drawn with the line it is about and a caret under the place.
//!
//! It shows one line per diagnostic and only a window of a very long one, so that a file on a single line is not
//! dumped; control characters of the file and of its name never reach the terminal.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Severity};
use super::file::SourceFile;
use super::span::Span;
use crate::text::clean::line as one_line;

/// Bytes of a line up to which it goes to the renderer whole.
const LONG_LINE: usize = 1_000;

/// Characters that are kept on each side of a place in a longer line.
const AROUND: usize = 300;

/// Returns the drawn diagnostic without a final line break.
pub(super) fn render(file: &SourceFile, diagnostic: &Diagnostic, color: bool, width: usize) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(one_line(&diagnostic.message)).id(diagnostic.code);
    let place = diagnostic.span.map(|span| (span, file.position(span.start)));
    let window = place.map(|(span, position)| Window::around(file, file.line_span(position.line), span));
    let mut group = match (&window, place) {
        (Some(window), Some((_, position))) => {
            let label = diagnostic.label.as_deref().map(one_line);
            let caret = AnnotationKind::Primary.span(window.caret.clone()).label(label);
            let snippet = Snippet::source(window.text.as_str()).path(one_line(file.name()));
            title.element(snippet.line_start(position.line).annotation(caret))
        }
        _ => title.element(Origin::path(one_line(file.name()))),
    };
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(one_line(hint)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let drawn = renderer.term_width(width).render(&[group]);
    match (window, place) {
        (Some(window), Some((_, position))) if window.skipped > 0 => {
            moved_column(&drawn, position.column - window.skipped, position.column)
        }
        _ => drawn,
    }
}

/// What of a line is shown.
struct Window {
    text: String,
    caret: Range<usize>,
    /// How many characters of the line stand before the first one in `text`.
    skipped: usize,
}

impl Window {
    fn around(file: &SourceFile, line: Span, place: Span) -> Self {
        let start = place.start.clamp(line.start, line.end);
        let end = place.end.clamp(start, line.end);
        let (mut from, mut to) = (line.start, line.end);
        if line.end - line.start > LONG_LINE {
            let before = file.slice(Span { start: line.start, end: start });
            let after = file.slice(Span { start, end: line.end });
            from += before.char_indices().rev().nth(AROUND).map_or(0, |(offset, _)| offset);
            to = start + after.char_indices().nth(AROUND).map_or(after.len(), |(offset, _)| offset);
        }
        let skipped = file.slice(Span { start: line.start, end: from }).chars().count();
        let text = file.slice(Span { start: from, end: to }).to_owned();
        Self { text, caret: start - from..end.min(to) - from, skipped }
    }
}

/// Returns the drawing with the column in its second line put right: the renderer saw the window only.
fn moved_column(drawn: &str, shown: usize, real: usize) -> String {
    let mut lines: Vec<String> = drawn.split('\n').map(str::to_owned).collect();
    if let Some(header) = lines.get_mut(1)
        && let Some(place) = header.strip_suffix(&format!(":{shown}"))
    {
        *header = format!("{place}:{real}");
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::file::Format;

    fn drawn(text: &str, place: Range<usize>) -> String {
        let file = SourceFile::from_text("a.yaml", text, Format::Yaml);
        let span = Span { start: place.start, end: place.end };
        render(&file, &Diagnostic::error("odd", "this is odd").at(span).label("here"), false, 60)
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let expected = "error[odd]: this is odd\n --> a.yaml:2:8\n  |\n2 | b: [ü, x]\n  |        ^ here";
        assert_eq!(drawn("a: 1\r\nb: [ü, x]\r\nc: 3\n", 14..15), expected);
    }

    #[test]
    fn a_place_over_several_lines_is_shown_by_its_first() {
        let expected = "error[odd]: this is odd\n --> a.yaml:2:3\n  |\n2 |   x\n  |   ^ here";
        assert_eq!(drawn("b: |\n  x\n  y\n", 7..12), expected);
    }

    #[test]
    fn the_end_of_a_file_is_a_place() {
        let expected = "error[odd]: this is odd\n --> a.yaml:1:3\n  |\n1 | a:\n  |   ^ here";
        assert_eq!(drawn("a:", 2..2), expected);
    }

    #[test]
    fn control_characters_are_made_visible() {
        let text = drawn("a: \u{1b}[31m\u{202e}", 3..4);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let file = SourceFile::from_text("a.yaml", "a: 1", Format::Yaml);
        let text = render(&file, &Diagnostic::error("odd", "a\u{1b}\nb").hint("\u{7}"), false, 60);
        assert_eq!(text, "error[odd]: a␛ b\n--> a.yaml\n = help: ␇");
    }

    #[test]
    fn a_long_line_is_shown_in_part_with_its_true_column() {
        let text = "é xyz ".repeat(100_000);
        let place = text.len() / 2;
        let shown = drawn(&text, place..place + 3);
        assert!(shown.starts_with("error[odd]: this is odd\n --> a.yaml:1:300001\n"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 100), "{shown}");
        assert!(drawn(&text, 0..text.len()).len() < 1_000);
    }

    #[test]
    fn colour_is_asked_for() {
        let file = SourceFile::from_text("a.yaml", "a: 1", Format::Yaml);
        let diagnostic = Diagnostic::warning("odd", "this is odd").at(Span { start: 3, end: 4 });
        assert!(render(&file, &diagnostic, true, 60).contains("\u{1b}["));
        assert!(!render(&file, &diagnostic, false, 60).contains('\u{1b}'));
    }
}
