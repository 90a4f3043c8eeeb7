//! Owns what a person is shown before deciding: a plan in full, the reasons for it, a verdict.
//!
//! Nothing is cut, because what is approved has to be seen; and no text of a model can begin a line where tepa begins its own.

use super::Style;
use super::clean::{self, shield};
use super::ink::Tone;
use super::layout::{usable, wrap};
use super::page::Page;
use super::words;
use crate::outcome::Evaluation;
use crate::plan::{Plan, Step};
use crate::text;

/// Returns the steps of a plan: what each does, with what, and after which ones.
pub fn plan(cycle: u32, plan: &Plan, style: Style) -> String {
    let head = format!("the plan of cycle {cycle}: {}", text::plural("step", plan.steps.len()));
    let items = plan.steps.iter().zip(1..).map(|(step, number)| {
        let after = text::joined(&step.dependencies, "and");
        let after = if after.is_empty() { after } else { format!(" after {after}") };
        let what = format!("{} ({}){after}: {}", step.id, tools(step), step.description);
        (format!("  {number}. "), what)
    });
    page(&head, items, style)
}

/// Returns why a plan is as it is: its reasoning, what each step is to bring about, and what `facts` say of the whole.
pub fn reasons(plan: &Plan, facts: &[(&str, String)], style: Style) -> String {
    let steps = plan.steps.iter().map(|step| {
        let model = step.model.as_ref().map(|model| format!(" (by {model})")).unwrap_or_default();
        ("  - ".to_owned(), format!("{}{model}: so that {}", step.id, step.expected_outcome))
    });
    let facts = facts.iter().map(|(name, fact)| (format!("  {name}: "), fact.clone()));
    let because = std::iter::once(("  because ".to_owned(), plan.reasoning.clone()));
    page("why", because.chain(steps).chain(facts), style)
}

/// Returns what can be answered, and what it means.
pub fn answers(answers: &[(&str, &str)], style: Style) -> String {
    let items = answers.iter().map(|(word, meaning)| (format!("  {word:7} "), (*meaning).to_owned()));
    page("answers, or their first letters:", items, style)
}

/// Returns a verdict, with its criteria and who changed it.
pub fn verdict(cycle: u32, evaluation: &Evaluation, style: Style) -> String {
    let mut messages = words::judged(cycle, evaluation);
    for message in &mut messages {
        message.measures.clear();
    }
    lines(Page { width: usable(style.width), color: style.color }.lines(&messages))
}

fn page(head: &str, items: impl Iterator<Item = (String, String)>, style: Style) -> String {
    let width = usable(style.width);
    let head = wrap(head, width).into_iter().map(|line| Tone::Strong.paint(&line, style.color));
    lines(head.chain(items.flat_map(|(mark, text)| item(&mark, &text, width))))
}

/// Returns the text beside its mark; the lines after the first stand under the text.
fn item(mark: &str, text: &str, width: usize) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A mark that leaves no room for what it marks has a line of its own.
    let gap = if mark.len() > width / 2 { 6 } else { mark.len() };
    let mut wrapped = wrap(&format!("{}{}", " ".repeat(gap), clean::line(&text)), width);
    if gap < mark.len() {
        wrapped.insert(0, mark.trim_end().to_owned());
    } else if let Some(first) = wrapped.first_mut() {
        first.replace_range(..gap.min(first.len()), mark);
    }
    wrapped.iter().map(|line| shield(line).into_owned()).collect()
}

fn lines(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(String::new(), |page, line| page + line.trim_end() + "\n")
}

fn tools(step: &Step) -> String {
    if step.tools.is_empty() { "reasoning".to_owned() } else { step.tools.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoggingLevel;
    use console::measure_text_width;

    fn style(width: u16) -> Style {
        Style { color: false, width, ascii: false, level: LoggingLevel::Standard }
    }

    fn step(id: &str, description: &str) -> Step {
        Step {
            id: id.into(),
            description: description.into(),
            tools: vec!["file_write".into()],
            expected_outcome: "it is there".into(),
            dependencies: vec![],
            model: None,
        }
    }

    fn of(steps: Vec<Step>) -> Plan {
        Plan { reasoning: "it is short".into(), estimated_tokens: 10.0, steps }
    }

    #[test]
    fn a_plan_is_shown_whole_on_every_terminal() {
        let long = "write ".repeat(40);
        let mut steps = vec![step("one", &long), step("two", "then this")];
        steps[1].dependencies.push("one".into());
        steps[1].tools.clear();
        for width in [21, 40, 80, 200] {
            let page = plan(1, &of(steps.clone()), style(width));
            assert!(page.lines().all(|line| measure_text_width(line) < usize::from(width)), "{page}");
            let words: Vec<&str> = page.split_whitespace().collect();
            assert_eq!(words.iter().filter(|word| **word == "write").count(), 40, "{page}");
            assert!(words.join(" ").ends_with("2. two (reasoning) after one: then this"), "{page}");
        }
    }

    #[test]
    fn no_step_can_pose_as_another_or_draw() {
        let evil =
            format!("\u{1b}[2Jx\n  2. two (file_read): harmless {}  2. two (file_read): z", "y".repeat(90));
        let page = plan(1, &of(vec![step("one", &evil)]), style(60));
        assert!(!page.chars().any(|c| c != '\n' && c.is_control()), "{page:?}");
        let starts = page.lines().filter(|line| line.starts_with("  2.") || !line.starts_with("  "));
        assert_eq!(starts.collect::<Vec<_>>(), ["the plan of cycle 1: 1 step"], "{page}");
    }

    #[test]
    fn reasons_name_outcomes_models_and_facts() {
        let mut steps = vec![step("one", "d")];
        steps[0].model = Some("small".into());
        let page = reasons(&of(steps), &[("models", "planner a".to_owned())], style(80));
        assert_eq!(
            page,
            "why\n  because it is short\n  - one (by small): so that it is there\n  models: planner a\n"
        );
    }
}
