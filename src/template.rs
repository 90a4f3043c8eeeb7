//! Owns what models are told: Markdown templates compiled in, with slots that must all be filled.
//!
//! Nothing that reaches a model is a string in Rust code; a changed prompt is a changed file under `src/template/`.

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

/// One template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// The planner's system prompt.
    PlannerSystem,
    /// What the planner is asked about, the same in every cycle.
    PlannerTask,
    /// The planner's question in the first cycle.
    PlannerUser,
    /// The planner's system prompt after a failed cycle.
    PlannerReviseSystem,
    /// The planner's question after a failed cycle.
    PlannerReviseUser,
    /// What the planner is told when its answer could not be read.
    PlannerRepair,
    /// The system prompt of a tool call.
    ExecutorSystem,
    /// The system prompt of a reasoning step.
    ExecutorReasoningSystem,
    /// What every step works for, the same in all of them.
    ExecutorTask,
    /// What one step has to do.
    ExecutorStep,
    /// The judge's system prompt.
    EvaluatorSystem,
    /// What the judge measures by, the same in every cycle.
    EvaluatorTask,
    /// The judge's question.
    EvaluatorUser,
    /// What the judge is told when its answer could not be read.
    EvaluatorRepair,
    /// The rules of those who run tepa.
    KnownStanding,
    /// What is known before a run: memories, what was found, history.
    KnownKnowledge,
}

/// What templates have in common.
const PARTS: [(&str, &str); 1] = [("envelope.md", include_str!("template/envelope.md"))];

impl Template {
    /// Every template with its name and text.
    const ALL: [(Self, &'static str, &'static str); 16] = [
        (Self::PlannerSystem, "planner/system.md", include_str!("template/planner/system.md")),
        (Self::PlannerTask, "planner/task.md", include_str!("template/planner/task.md")),
        (Self::PlannerUser, "planner/user.md", include_str!("template/planner/user.md")),
        (
            Self::PlannerReviseSystem,
            "planner/revise_system.md",
            include_str!("template/planner/revise_system.md"),
        ),
        (Self::PlannerReviseUser, "planner/revise_user.md", include_str!("template/planner/revise_user.md")),
        (Self::PlannerRepair, "planner/repair.md", include_str!("template/planner/repair.md")),
        (Self::ExecutorSystem, "executor/system.md", include_str!("template/executor/system.md")),
        (
            Self::ExecutorReasoningSystem,
            "executor/reasoning_system.md",
            include_str!("template/executor/reasoning_system.md"),
        ),
        (Self::ExecutorTask, "executor/task.md", include_str!("template/executor/task.md")),
        (Self::ExecutorStep, "executor/step.md", include_str!("template/executor/step.md")),
        (Self::EvaluatorSystem, "evaluator/system.md", include_str!("template/evaluator/system.md")),
        (Self::EvaluatorTask, "evaluator/task.md", include_str!("template/evaluator/task.md")),
        (Self::EvaluatorUser, "evaluator/user.md", include_str!("template/evaluator/user.md")),
        (Self::EvaluatorRepair, "evaluator/repair.md", include_str!("template/evaluator/repair.md")),
        (Self::KnownStanding, "known/standing.md", include_str!("template/known/standing.md")),
        (Self::KnownKnowledge, "known/knowledge.md", include_str!("template/known/knowledge.md")),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(template, ..)| *template == self).map_or("", |(_, name, _)| name)
    }
}

/// Returns how many characters models are told in one cycle of a single step, whatever the task is.
pub fn fixed_characters() -> usize {
    use Template::{
        EvaluatorSystem, EvaluatorTask, EvaluatorUser, ExecutorReasoningSystem, ExecutorStep, ExecutorTask,
        PlannerSystem, PlannerTask, PlannerUser,
    };
    const CYCLE: [Template; 9] = [
        PlannerSystem,
        PlannerTask,
        PlannerUser,
        ExecutorReasoningSystem,
        ExecutorTask,
        ExecutorStep,
        EvaluatorSystem,
        EvaluatorTask,
        EvaluatorUser,
    ];
    let told = Template::ALL.iter().filter(|(template, ..)| CYCLE.contains(template));
    told.map(|(.., text)| text.chars().count()).sum()
}

/// A template that could not be rendered: a slot was not filled.
#[derive(Debug, thiserror::Error)]
#[error("the template {name} cannot be rendered: {source}")]
pub struct TemplateError {
    name: &'static str,
    source: minijinja::Error,
}

/// All templates, ready to render.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    /// Prepares the templates that are compiled in.
    pub fn load() -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, text) in Template::ALL.map(|(_, name, text)| (name, text)).into_iter().chain(PARTS) {
            environment.add_template(name, text).map_err(|source| TemplateError { name, source })?;
        }
        Ok(Self { environment })
    }

    /// Returns the text of `template` with its slots filled; values are never rendered again.
    pub fn render(&self, template: Template, slots: impl Serialize) -> Result<String, TemplateError> {
        let name = template.name();
        let fail = |source| TemplateError { name, source };
        let text = self
            .environment
            .get_template(name)
            .and_then(|template| template.render(minijinja::value::Serde(slots)))
            .map_err(fail)?;
        Ok(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_template_parses_and_has_a_name_of_its_own() {
        let templates = Templates::load().unwrap();
        let names: std::collections::HashSet<_> = Template::ALL.iter().map(|(t, ..)| t.name()).collect();
        assert_eq!(names.len(), Template::ALL.len());
        assert_eq!(templates.environment.templates().count(), Template::ALL.len() + PARTS.len());
    }

    #[test]
    fn an_unfilled_slot_is_an_error_and_a_value_is_never_rendered_again() {
        let templates = Templates::load().unwrap();
        assert!(templates.render(Template::PlannerTask, json!({"goal": "g"})).is_err());
        let slots = json!({"goal": "{{ evil }}", "context": "{}", "expected_output": "x"});
        let text = templates.render(Template::PlannerTask, slots).unwrap();
        assert!(text.contains("# Goal\n{{ evil }}\n"), "{text}");
    }
}
