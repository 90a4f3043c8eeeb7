//! Owns the contract of whoever is asked before a plan is executed and when a verdict is fail: the questions and what can be answered.
//!
//! It knows no terminal. Whoever cannot be asked has refused: no answer is ever made up for a person.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::event::Subject;
use crate::outcome::{Estimate, Evaluation};
use crate::plan::Plan;

/// A plan that is about to be executed.
#[derive(Debug, Clone, Copy)]
pub struct PlanQuestion<'a> {
    /// The cycle, from 1.
    pub cycle: u32,
    /// The plan, as it will be executed.
    pub plan: &'a Plan,
    /// What executing it will cost.
    pub estimate: &'a Estimate,
    /// Whether it may be edited.
    pub editable: bool,
    /// Why the edit that was the last answer cannot be executed.
    pub problem: Option<&'a str>,
}

/// What is to become of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanAnswer {
    /// It is executed.
    Approve,
    /// The run ends.
    Refuse {
        /// Why.
        comment: Option<String>,
    },
    /// This is asked about instead, if it is a plan that can be executed.
    Edit(Value),
}

/// A verdict that is fail.
#[derive(Debug, Clone, Copy)]
pub struct VerdictQuestion<'a> {
    /// The cycle, from 1.
    pub cycle: u32,
    /// The verdict with its reasons.
    pub evaluation: &'a Evaluation,
    /// How many cycles may follow; without one, there is nothing to retry with.
    pub cycles_left: u32,
    /// Whether it can be accepted: nobody accepts a changed protected file.
    pub acceptable: bool,
}

/// What is to become of a verdict that is fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictAnswer {
    /// It stands, and the next cycle hears the comment.
    Retry {
        /// What the planner is told beside the feedback.
        comment: Option<String>,
    },
    /// It becomes a pass, if what was judged is still there.
    Accept {
        /// Why.
        comment: Option<String>,
    },
    /// It stands, and the run ends.
    Stop {
        /// Why.
        comment: Option<String>,
    },
}

/// Somebody who decides.
pub trait Approver: Send + Sync {
    /// Returns who decides and where, as the record names them: `ada at the terminal`.
    fn who(&self) -> String;

    /// Says whether there is somebody to ask.
    ///
    /// # Errors
    /// There is nobody: why.
    fn available(&self) -> Result<(), String>;

    /// Asks about a plan; may be dropped when the run ends in between.
    fn plan<'a>(&'a self, question: PlanQuestion<'a>) -> BoxFuture<'a, PlanAnswer>;

    /// Asks about a verdict; may be dropped when the run ends in between.
    fn verdict<'a>(&'a self, question: VerdictQuestion<'a>) -> BoxFuture<'a, VerdictAnswer>;
}

/// Who is asked about what; by default nobody about anything.
#[derive(Clone, Default)]
pub struct Approval {
    /// Who is asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether every plan is asked about.
    pub plans: bool,
    /// Whether every verdict that is fail is asked about.
    pub fails: bool,
}

impl Approval {
    /// Returns whom to ask.
    ///
    /// # Errors
    /// There is nobody: why.
    pub fn somebody(&self) -> Result<&dyn Approver, String> {
        let approver = self.approver.as_deref().ok_or("there is nobody to decide")?;
        approver.available()?;
        Ok(approver)
    }

    /// Returns what is asked about.
    pub fn subjects(&self) -> Vec<Subject> {
        let asked = [(self.plans, Subject::Plan), (self.fails, Subject::Verdict)];
        asked.into_iter().filter(|(asked, _)| *asked).map(|(_, subject)| subject).collect()
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { approver, plans, fails } = self;
        let who = approver.as_ref().map(|approver| approver.who());
        f.debug_struct("Approval")
            .field("approver", &who)
            .field("plans", plans)
            .field("fails", fails)
            .finish()
    }
}
