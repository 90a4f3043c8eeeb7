//! Owns the drawing of a plan: as SVG that is laid out here, and as text for Mermaid and Graphviz.
//!
//! A plan is drawn as it is: one that goes round in a circle too. Whatever stands in it is a label and nothing else.

#[cfg(test)]
mod fixture;
mod layout;
mod svg;

use std::collections::HashMap;

use super::clean;
use crate::plan::Plan;

pub use svg::svg;
pub(super) use svg::{Mark, drawing};

/// Characters of a label.
const LABEL: usize = 60;

/// The form of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// For Markdown pages.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
}

impl Drawing {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Mermaid, Self::Dot, Self::Svg];

    /// Returns the form's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
            Self::Svg => "svg",
        }
    }

    /// Returns the plan in this form.
    pub fn render(self, plan: &Plan) -> String {
        match self {
            Self::Mermaid => mermaid(plan),
            Self::Dot => dot(plan),
            Self::Svg => svg(plan),
        }
    }
}

/// Returns the plan as a Mermaid flowchart.
pub fn mermaid(plan: &Plan) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (at, step) in plan.steps.iter().enumerate() {
        text += &format!("    s{at}[\"{}\"]\n", entities(&label(&step.id, &step.tools)));
    }
    for (from, to) in edges(plan) {
        text += &format!("    s{from} --> s{to}\n");
    }
    text
}

/// Returns the plan in the language of Graphviz.
pub fn dot(plan: &Plan) -> String {
    let mut text = "digraph plan {\n    node [shape=box];\n".to_owned();
    for (at, step) in plan.steps.iter().enumerate() {
        let label = label(&step.id, &step.tools).replace('\\', "\\\\").replace('"', "\\\"");
        text += &format!("    s{at} [label=\"{label}\"];\n");
    }
    for (from, to) in edges(plan) {
        text += &format!("    s{from} -> s{to};\n");
    }
    text + "}\n"
}

/// Returns who comes before whom, by position in the plan, each pair once.
fn edges(plan: &Plan) -> Vec<(usize, usize)> {
    let index: HashMap<&str, usize> =
        plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    let mut edges = Vec::new();
    for (to, step) in plan.steps.iter().enumerate() {
        for from in step.dependencies.iter().filter_map(|id| index.get(id.as_str())) {
            if !edges.contains(&(*from, to)) {
                edges.push((*from, to));
            }
        }
    }
    edges
}

fn label(id: &str, tools: &[String]) -> String {
    let id = clean::line(id, LABEL);
    if tools.is_empty() { id } else { format!("{id} ({})", clean::line(&tools.join(", "), LABEL)) }
}

/// Returns a label in which Mermaid finds neither an end, nor marks of its own, nor HTML.
fn entities(label: &str) -> String {
    let mut text = String::new();
    for character in label.chars() {
        if character.is_alphanumeric()
            || matches!(character, ' ' | '.' | ',' | '-' | '_' | '/' | '…' | '(' | ')')
        {
            text.push(character);
        } else {
            text += &format!("#{};", u32::from(character));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixture::plan;

    #[test]
    fn a_plan_is_text_for_mermaid_and_graphviz() {
        let plan = plan(&[("a", &[]), ("b", &["a", "a"])]);
        assert_eq!(
            mermaid(&plan),
            "flowchart TD\n    s0[\"a (file_read)\"]\n    s1[\"b (file_read)\"]\n    s0 --> s1\n"
        );
        assert_eq!(
            dot(&plan),
            "digraph plan {\n    node [shape=box];\n    s0 [label=\"a (file_read)\"];\n    s1 [label=\"b (file_read)\"];\n    s0 -> s1;\n}\n"
        );
    }

    #[test]
    fn a_label_is_nothing_but_a_label() {
        let plan = plan(&[("\"]\n click s0 \"javascript:x\" <b>\\", &[])]);
        assert_eq!(mermaid(&plan).lines().count(), 2);
        assert!(!mermaid(&plan).contains('<') && !mermaid(&plan).contains("javascript:"));
        assert!(dot(&plan).contains("[label=\"\\\"] click s0 \\\"javascript:x\\\" <b>\\\\ (file_read)\"];"));
    }
}
