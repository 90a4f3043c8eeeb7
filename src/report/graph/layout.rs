//! Owns where the steps of a plan stand in a picture: in layers, each below everything that it depends on.
//!
//! A layer that is too wide becomes several rows. A line that passes a row gets a place in it, so that it never runs behind a step.

use std::collections::HashMap;

/// Steps side by side at most.
const WIDEST: usize = 5;

pub(super) const STEP_WIDTH: i32 = 176;
pub(super) const STEP_HEIGHT: i32 = 48;
const LINE_WIDTH: i32 = 10;
const BESIDE: i32 = 18;
const BELOW: i32 = 44;
const MARGIN: i32 = 8;

/// How often rows are put in order by what stands above and below them.
const SWEEPS: usize = 6;

/// A layout in pixels.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: i32,
    pub(super) height: i32,
    /// The middle of the upper side of each step.
    pub(super) steps: Vec<(i32, i32)>,
    /// The points of each line, from the lower side of one step to the upper side of another.
    pub(super) lines: Vec<Vec<(i32, i32)>>,
}

/// What takes a place in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Item {
    Step(usize),
    /// The line with this number, on its way past this row.
    Line(usize, usize),
}

impl Item {
    fn width(self) -> i32 {
        match self {
            Self::Step(_) => STEP_WIDTH,
            Self::Line(..) => LINE_WIDTH,
        }
    }
}

/// Returns the layout of `count` steps of which `edges` says who comes before whom.
pub(super) fn layout(count: usize, edges: &[(usize, usize)]) -> Layout {
    let row_of = rows_of(&layers(count, edges));
    let mut rows: Vec<Vec<Item>> = vec![Vec::new(); row_of.iter().max().map_or(0, |last| last + 1)];
    for (step, row) in row_of.iter().enumerate() {
        rows[*row].push(Item::Step(step));
    }
    let mut links: Vec<(Item, Item)> = Vec::new();
    for (line, (from, to)) in edges.iter().enumerate() {
        let mut last = Item::Step(*from);
        for (row, items) in rows.iter_mut().enumerate().take(row_of[*to]).skip(row_of[*from] + 1) {
            let item = Item::Line(line, row);
            items.push(item);
            links.push((last, item));
            last = item;
        }
        links.push((last, Item::Step(*to)));
    }
    for sweep in 0..SWEEPS {
        arrange(&mut rows, &links, sweep % 2 == 0);
    }
    place(count, edges, &row_of, &rows)
}

/// Returns the layer of each step: below all that it waits for. Steps of a circle stand in a last layer of their own.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0_usize; count];
    let mut waiting = vec![0_usize; count];
    for (_, to) in edges {
        waiting[*to] += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|step| waiting[*step] == 0).collect();
    let mut settled = vec![false; count];
    while let Some(step) = ready.pop() {
        settled[step] = true;
        for (_, to) in edges.iter().filter(|(from, _)| *from == step) {
            layer[*to] = layer[*to].max(layer[step] + 1);
            waiting[*to] -= 1;
            if waiting[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    let last = (0..count).filter(|step| settled[*step]).map(|step| layer[step] + 1).max().unwrap_or(0);
    (0..count).map(|step| if settled[step] { layer[step] } else { last }).collect()
}

/// Returns the row of each step: a layer has as many as it needs, about equally long.
fn rows_of(layers: &[usize]) -> Vec<usize> {
    let mut row_of = vec![0; layers.len()];
    let mut row = 0;
    for layer in 0..=layers.iter().copied().max().unwrap_or(0) {
        let steps: Vec<usize> = (0..layers.len()).filter(|step| layers[*step] == layer).collect();
        let rows = steps.len().div_ceil(WIDEST).max(1);
        for chunk in steps.chunks(steps.len().div_ceil(rows).max(1)) {
            for step in chunk {
                row_of[*step] = row;
            }
            row += 1;
        }
    }
    row_of
}

/// Puts each row in the order of what its items are linked to in the rows before it, from above or from below.
fn arrange(rows: &mut [Vec<Item>], links: &[(Item, Item)], downwards: bool) {
    let mut at: HashMap<Item, i32> = HashMap::new();
    let mut near: HashMap<Item, Vec<Item>> = HashMap::new();
    for (above, below) in links {
        let (item, neighbour) = if downwards { (*below, *above) } else { (*above, *below) };
        near.entry(item).or_default().push(neighbour);
    }
    let order: Vec<usize> =
        if downwards { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
    for row in order {
        let own: HashMap<Item, i32> = positions(&rows[row]).into_iter().collect();
        let wish = |item: &Item| {
            let known: Vec<i32> =
                near.get(item).into_iter().flatten().filter_map(|other| at.get(other).copied()).collect();
            let sum: i32 = known.iter().sum();
            i32::try_from(known.len()).ok().filter(|n| *n > 0).map_or(own[item], |n| sum / n)
        };
        rows[row].sort_by_cached_key(wish);
        at.extend(positions(&rows[row]));
    }
}

/// Returns the middle of each item of a row whose own middle is 0.
fn positions(row: &[Item]) -> Vec<(Item, i32)> {
    let mut left = -length(row) / 2;
    row.iter()
        .map(|item| {
            let middle = left + item.width() / 2;
            left += item.width() + BESIDE;
            (*item, middle)
        })
        .collect()
}

fn length(row: &[Item]) -> i32 {
    let gaps = i32::try_from(row.len()).unwrap_or(0) - 1;
    row.iter().map(|item| item.width()).sum::<i32>() + gaps.max(0) * BESIDE
}

fn place(count: usize, edges: &[(usize, usize)], row_of: &[usize], rows: &[Vec<Item>]) -> Layout {
    let width = rows.iter().map(|row| length(row)).max().unwrap_or(0) + 2 * MARGIN;
    let top = |row: usize| i32::try_from(row).unwrap_or(0) * (STEP_HEIGHT + BELOW) + MARGIN;
    let mut at: HashMap<Item, (i32, i32)> = HashMap::new();
    for (row, items) in rows.iter().enumerate() {
        at.extend(positions(items).into_iter().map(|(item, x)| (item, (x + width / 2, top(row)))));
    }
    let steps: Vec<(i32, i32)> = (0..count).map(|step| at[&Item::Step(step)]).collect();
    let line = |(line, (from, to)): (usize, &(usize, usize))| {
        let ((from_x, from_y), end) = (steps[*from], steps[*to]);
        let mut points = vec![(from_x, from_y + STEP_HEIGHT)];
        for row in row_of[*from] + 1..row_of[*to] {
            let (x, y) = at[&Item::Line(line, row)];
            points.extend([(x, y), (x, y + STEP_HEIGHT)]);
        }
        points.push(end);
        points
    };
    let lines = edges.iter().enumerate().map(line).collect();
    let height = top(rows.len()) - BELOW.min(top(rows.len())) + MARGIN;
    Layout { width, height, steps, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_stands_below_what_it_depends_on() {
        let layout = layout(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]);
        let y = |step: usize| layout.steps[step].1;
        assert!(y(0) < y(1) && y(1) == y(2) && y(2) < y(3));
        assert!(layout.steps[1].0 < layout.steps[2].0);
        // The long line has a place between the steps that it passes.
        assert_eq!(layout.lines[4].len(), 4);
        let passing = layout.lines[4][1].0;
        assert!(
            layout
                .steps
                .iter()
                .all(|(x, y)| *y != layout.lines[4][1].1 || (x - passing).abs() > STEP_WIDTH / 2)
        );
    }

    #[test]
    fn a_wide_layer_becomes_rows_and_nothing_overlaps() {
        let layout = layout(40, &[]);
        assert!(layout.width < 1_000, "{}", layout.width);
        for (one, (x, y)) in layout.steps.iter().enumerate() {
            for (other_x, other_y) in &layout.steps[one + 1..] {
                assert!(y != other_y || (x - other_x).abs() >= STEP_WIDTH);
            }
        }
    }

    #[test]
    fn circles_and_nothing_are_laid_out_as_well() {
        assert_eq!(layout(3, &[(0, 1), (1, 2), (2, 1), (1, 1)]).steps.len(), 3);
        assert_eq!(layout(0, &[]).steps.len(), 0);
    }
}
