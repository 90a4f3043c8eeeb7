//! Owns what can be asked of the state of a run: how far it is, what it has found, what it has used.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Phase, RunState, Touch, Until};
use crate::event::Role;
use crate::outcome::{Caution, CheckResult, Evaluation, LogEntry, StepResult, UsageReport, Verdict};
use crate::plan::{Plan, Step};
use crate::prompt::Prompt;
use crate::tool::Scratchpad;
use crate::turn::Assembled;

impl RunState {
    /// Returns whether the run cannot or must not go on.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns what the models are given beside the task; nothing where no stage saw to it.
    pub fn context(&self) -> Option<&Arc<Assembled>> {
        self.context.as_ref().map(|(_, context)| context)
    }

    /// Returns what they were given before the first cycle: nothing of it can be the work of this run.
    pub fn first_context(&self) -> Option<&Arc<Assembled>> {
        self.first_context.as_ref()
    }

    /// Returns whether something is done around the cycles.
    pub fn is_turn(&self) -> bool {
        self.bounds.turn
    }

    /// Returns whether the last verdict is a pass that nothing came after.
    pub fn has_passed(&self) -> bool {
        let ended = matches!(self.phase, Phase::Evaluated | Phase::BetweenCycles);
        ended && self.evaluation.as_ref().is_some_and(|last| last.verdict == Verdict::Pass)
    }

    /// Returns whether a cycle has begun and has no plan yet.
    pub fn is_planning(&self) -> bool {
        self.phase == Phase::Planning
    }

    /// Returns the tools that were called.
    pub fn tools_called(&self) -> &BTreeSet<String> {
        &self.tools_called
    }

    /// Returns the cycle from which that counts; 0 for the whole run.
    pub fn context_since(&self) -> u32 {
        self.context.as_ref().map_or(0, |(since, _)| *since)
    }

    /// Returns how far the run goes.
    pub fn goes(&self) -> Until {
        self.bounds.until
    }

    /// Returns the task as it was given.
    pub fn prompt(&self) -> &Arc<Prompt> {
        &self.prompt
    }

    /// Returns the task as the steps of this cycle see it.
    pub fn steps_prompt(&self) -> &Arc<Prompt> {
        self.steps_prompt.as_ref().unwrap_or(&self.prompt)
    }

    /// Returns the cycle, from 1; 0 before the first.
    pub fn cycle(&self) -> u32 {
        self.cycle
    }

    /// Returns the plan of this cycle.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Returns the step at an index of the plan.
    pub fn step(&self, index: usize) -> Option<&Step> {
        self.plan.as_ref()?.steps.get(index)
    }

    /// Returns whether a step may ask a model what is not known before earlier steps have ended.
    pub fn may_ask(&self, step: &str) -> bool {
        self.schedule.rank(step).is_none_or(|rank| self.schedule.may_ask(rank))
    }

    /// Returns whether a step may call a tool that does this.
    pub fn may_call(&self, step: &str, touch: Touch) -> bool {
        self.schedule.rank(step).is_none_or(|rank| self.schedule.may_call(rank, touch))
    }

    /// Returns the place of a step of this plan in the order in which steps run one after the other.
    pub fn rank(&self, index: usize) -> Option<usize> {
        self.schedule.rank(&self.step(index)?.id)
    }

    /// Returns the store that steps share.
    pub fn scratchpad(&self) -> &Scratchpad {
        &self.scratchpad
    }

    /// Returns what the evaluator of the last cycle said to the planner.
    pub fn feedback(&self) -> Option<&str> {
        self.evaluation.as_ref()?.feedback.as_deref()
    }

    /// Returns the tools of a step of this plan.
    pub fn tools_of(&self, step: &str) -> &[String] {
        let step = self.schedule.rank(step).and_then(|rank| self.step(self.schedule.index(rank)?));
        step.map_or(&[], |step| &step.tools)
    }

    /// Returns the outputs of the steps that `step` depends on, in the order in which it lists them.
    pub fn inputs<'a>(&'a self, step: &'a Step) -> Vec<(&'a str, &'a Arc<Value>)> {
        let mut seen = HashSet::new();
        let listed = step.dependencies.iter().filter(|id| seen.insert(id.as_str()));
        listed.filter_map(|id| Some((id.as_str(), &self.results.get(id)?.output))).collect()
    }

    /// Returns the results of this cycle's steps, in the order in which they ran.
    pub fn results(&self) -> Vec<StepResult> {
        if self.phase == Phase::Executing {
            self.in_order().cloned().collect()
        } else {
            self.finished.clone()
        }
    }

    /// Returns the results of this cycle's steps, also when the cycle has ended and no other has begun.
    pub fn last_results(&self) -> Vec<StepResult> {
        let results = self.results();
        if results.is_empty() { self.previous.clone().unwrap_or_default() } else { results }
    }

    /// Returns the results of the cycle before.
    pub fn previous_results(&self) -> Option<&[StepResult]> {
        self.previous.as_deref()
    }

    /// Returns the checks of the last cycle that was evaluated.
    pub fn checks(&self) -> &[CheckResult] {
        &self.checks
    }

    /// Returns the checks of this cycle so far.
    pub fn checks_of_cycle(&self) -> &[CheckResult] {
        if self.checked_in == self.cycle { &self.checks } else { &[] }
    }

    /// Returns what an earlier run that is judged again did to protected files.
    pub fn tampered_before(&self) -> &[CheckResult] {
        &self.tampered
    }

    /// Returns the last evaluation.
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.evaluation.as_ref()
    }

    /// Returns every warning so far.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Returns all log entries.
    pub fn logs(&self) -> &[LogEntry] {
        &self.logs
    }

    /// Returns the log entries of this cycle.
    pub fn cycle_logs(&self) -> &[LogEntry] {
        &self.logs[self.cycle_logs_from..]
    }

    /// Returns the files that tools say they wrote, each with the step, oldest first.
    pub fn written(&self) -> &[(String, String)] {
        &self.written
    }

    /// Returns tokens by role and model.
    pub fn usage(&self) -> &UsageReport {
        &self.usage
    }

    /// Returns the tokens of the run so far.
    pub fn tokens_used(&self) -> u64 {
        self.usage.total.total()
    }

    /// Returns the tokens of one step of this cycle.
    pub fn step_tokens(&self, step: &str) -> u64 {
        self.step_tokens.get(step).copied().unwrap_or(0)
    }

    /// Returns the tokens that a role used in this cycle.
    pub fn role_tokens(&self, role: Role) -> u64 {
        self.role_tokens.get(&role).copied().unwrap_or(0)
    }
}
