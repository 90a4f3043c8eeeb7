//! Owns rows of text in columns, as wide as what stands in them.

use std::fmt::Write as _;

/// Returns rows one below the other; the last column takes what it needs.
pub(super) fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let width = |column: usize| rows.iter().map(|row| console::measure_text_width(&row[column])).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths).take(N - 1) {
            let room = " ".repeat(width.saturating_sub(console::measure_text_width(cell)));
            let _ = write!(out, "{cell}{room}  ");
        }
        let _ = writeln!(out, "{}", row[N - 1]);
    }
    out
}
