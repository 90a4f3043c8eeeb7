//! Owns rows of text in columns under their heads, on a terminal no wider than it.
//!
//! A terminal that is too narrow loses whole columns, those that say the least first, before the last one is cut to nothing. What goes to a
//! file or a pipe is whole. A cell is one line whatever stands in it: no value can look like another row.

use console::{Alignment, Style, measure_text_width, pad_str, truncate_str};

use super::ui::Ui;
use crate::render::cell;

/// Columns that the last cell of a row keeps before another one goes.
const LEAST: usize = 16;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    head: &'static str,
    right: bool,
    /// Whether its cells come as they are to be seen.
    painted: bool,
    /// How gladly it goes where there is no room; 0 stays.
    goes: u8,
}

impl Column {
    /// Returns a column that stays.
    pub(super) fn of(head: &'static str) -> Self {
        Self { head, right: false, painted: false, goes: 0 }
    }

    /// Returns the column with its cells at the right edge.
    pub(super) fn right(self) -> Self {
        Self { right: true, ..self }
    }

    /// Returns the column as one whose cells are words of tepa's own, perhaps in colour.
    pub(super) fn painted(self) -> Self {
        Self { painted: true, ..self }
    }

    /// Returns the column as one that goes before all with a lower `rank`.
    pub(super) fn goes(self, rank: u8) -> Self {
        Self { goes: rank, ..self }
    }
}

/// Returns rows one below the other under the heads of their columns; nothing when there are none.
pub(super) fn table<const N: usize>(
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
    ui: &Ui,
) -> String {
    let clean = |row: [String; N]| {
        let mut at = 0..N;
        row.map(|text| if at.next().is_some_and(|at| columns[at].painted) { text } else { cell(&text) })
    };
    let rows: Vec<[String; N]> = rows.into_iter().map(clean).collect();
    laid_out(columns, &rows, ui.data_width, ui.data_color)
}

fn laid_out<const N: usize>(
    columns: [Column; N],
    rows: &[[String; N]],
    width: Option<usize>,
    color: bool,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let widest = |column: usize| rows.iter().map(|row| measure_text_width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(|at| widest(at).max(columns[at].head.len())).collect();
    let shown = shown(&columns, &widths, width);
    let style = Style::new().bold().force_styling(color);
    let heads = columns.map(|column| style.apply_to(column.head).to_string());
    let mut page = String::new();
    for row in std::iter::once(&heads).chain(rows) {
        let cells = shown.iter().map(|&at| {
            let side = if columns[at].right { Alignment::Right } else { Alignment::Left };
            pad_str(&row[at], widths[at], side, None).into_owned()
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let line = line.trim_end();
        page.push_str(&width.map_or(line.into(), |width| truncate_str(line, width, "…")));
        page.push('\n');
    }
    page
}

/// Returns the columns for which there is room.
fn shown<const N: usize>(columns: &[Column; N], widths: &[usize], width: Option<usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..N).collect();
    let needed = |shown: &[usize]| {
        let last = shown.last().map_or(0, |&at| widths[at].min(LEAST));
        shown.iter().rev().skip(1).map(|&at| widths[at] + 2).sum::<usize>() + last
    };
    while width.is_some_and(|width| needed(&shown) > width) {
        let least =
            shown.iter().copied().filter(|&at| columns[at].goes > 0).max_by_key(|&at| columns[at].goes);
        let Some(least) = least else { break };
        shown.retain(|&at| at != least);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(width: Option<usize>) -> String {
        let columns = [Column::of("NAME"), Column::of("TOKENS").right().goes(1), Column::of("WHAT")];
        let rows = [["a", "1,200", "one"], ["long", "7", "日本語の very long text, too long by far"]];
        laid_out(columns, &rows.map(|row| row.map(str::to_owned)), width, false)
    }

    #[test]
    fn what_goes_to_a_pipe_is_whole() {
        let whole =
            "NAME  TOKENS  WHAT\na      1,200  one\nlong       7  日本語の very long text, too long by far\n";
        assert_eq!(page(None), whole);
        assert_eq!(page(Some(200)), whole);
    }

    #[test]
    fn a_narrow_terminal_loses_columns_first_and_words_then() {
        assert_eq!(page(Some(30)), "NAME  TOKENS  WHAT\na      1,200  one\nlong       7  日本語の very l…\n");
        assert_eq!(page(Some(24)), "NAME  WHAT\na     one\nlong  日本語の very lon…\n");
        for width in 1..60 {
            assert!(page(Some(width)).lines().all(|line| measure_text_width(line) <= width), "{width}");
        }
    }

    #[test]
    fn nothing_has_no_heads() {
        assert_eq!(laid_out([Column::of("A")], &[], None, true), "");
    }
}
