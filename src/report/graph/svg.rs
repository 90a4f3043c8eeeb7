//! Owns the picture of a plan: a box per step, a line per dependency, readable in light and in the dark.
//!
//! It has no links, no script and nothing from elsewhere; its colours come from classes, so that a page decides on them.

use super::layout::{STEP_HEIGHT, STEP_WIDTH, layout};
use super::{clean, edges};
use crate::plan::Plan;

/// Characters that fit into a box.
const FITS: usize = 17;

/// Characters of what is said about a step when somebody points at it.
const TOLD: usize = 500;

/// What is said of a step beside its name.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Mark {
    /// A class of its box.
    pub(in crate::report) class: &'static str,
    /// What stands before its name.
    pub(in crate::report) sign: &'static str,
}

/// Colours of a picture that stands alone.
const STYLE: &str = "<style>
.step rect{fill:#fff;stroke:#59636e}.step text{fill:#1f2328}.line{stroke:#59636e}.step .small{fill:#59636e}
@media (prefers-color-scheme:dark){.step rect{fill:#161b22;stroke:#9198a1}.step text{fill:#f0f6fc}.line{stroke:#9198a1}.step .small{fill:#9198a1}}
</style>";

/// Returns the picture of a plan as a file of its own.
pub fn svg(plan: &Plan) -> String {
    let marks = vec![Mark { class: "", sign: "" }; plan.steps.len()];
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", picture(plan, &marks, "plan", STYLE))
}

/// Returns the picture of a plan for a page that brings the colours; `name` is unique in the page.
pub(in crate::report) fn drawing(plan: &Plan, marks: &[Mark], name: &str) -> String {
    picture(plan, marks, name, "")
}

fn picture(plan: &Plan, marks: &[Mark], name: &str, style: &str) -> String {
    let edges = edges(plan);
    let layout = layout(plan.steps.len(), &edges);
    let (width, height) = (layout.width, layout.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"{name}-t {name}-d\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<title id=\"{name}-t\">The plan as a graph</title>\n<desc id=\"{name}-d\">{}</desc>\n{style}\
         <defs><marker id=\"{name}-a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"line\" d=\"M1 1L7 4L1 7\" fill=\"none\"/></marker></defs>\n",
        escape(&told(plan))
    );
    for points in &layout.lines {
        svg += &format!(
            "<path class=\"line\" fill=\"none\" stroke-width=\"1.5\" marker-end=\"url(#{name}-a)\" d=\"{}\"/>\n",
            curve(points)
        );
    }
    for ((step, mark), (x, y)) in plan.steps.iter().zip(marks).zip(&layout.steps) {
        let title = clean::line(&format!("{}: {}", step.id, step.description), TOLD);
        let space = if mark.sign.is_empty() { "" } else { " " };
        let id = clean::line(&step.id, FITS);
        let tools = if step.tools.is_empty() { "reasoning".to_owned() } else { step.tools.join(", ") };
        svg += &format!(
            "<g class=\"step {}\"><title>{}</title><rect x=\"{}\" y=\"{y}\" width=\"{STEP_WIDTH}\" height=\"{STEP_HEIGHT}\" rx=\"6\" stroke-width=\"1.5\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-family=\"system-ui, sans-serif\" font-size=\"14\" font-weight=\"600\">{}{space}{}</text>\
             <text class=\"small\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-family=\"system-ui, sans-serif\" font-size=\"12\">{}</text></g>\n",
            mark.class,
            escape(&title),
            x - STEP_WIDTH / 2,
            y + 20,
            mark.sign,
            escape(&id),
            y + 38,
            escape(&clean::line(&tools, FITS + 5)),
        );
    }
    svg + "</svg>\n"
}

/// Returns the graph in words, for those who do not see it.
fn told(plan: &Plan) -> String {
    let step = |step: &crate::plan::Step| {
        let id = clean::line(&step.id, TOLD);
        if step.dependencies.is_empty() {
            return id;
        }
        format!("{id} after {}", clean::line(&step.dependencies.join(", "), TOLD))
    };
    plan.steps.iter().map(step).collect::<Vec<_>>().join("; ")
}

/// Returns a smooth path through the points, which leaves and arrives straight down.
fn curve(points: &[(i32, i32)]) -> String {
    let Some(((x, y), rest)) = points.split_first() else { return String::new() };
    let mut path = format!("M{x} {y}");
    let (mut last_x, mut last_y) = (*x, *y);
    for (x, y) in rest {
        let half = (y - last_y) / 2;
        path += &if last_x == *x {
            format!("L{x} {y}")
        } else {
            format!("C{last_x} {},{x} {},{x} {y}", last_y + half, y - half)
        };
        (last_x, last_y) = (*x, *y);
    }
    path
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture::plan;

    #[test]
    fn a_picture_has_a_box_per_step_a_line_per_dependency_and_says_so_in_words() {
        let svg = svg(&plan(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]));
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("marker-end").count(), 3);
        assert!(svg.contains(">a; b after a; c after a, b</desc>"), "{svg}");
    }

    #[test]
    fn names_are_text() {
        let svg = svg(&plan(&[("</title><script>x</script>\"\u{1b}", &[])]));
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
    }
}
