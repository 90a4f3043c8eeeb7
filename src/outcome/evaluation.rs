//! Owns the verdict and what it stands on: evidence, criteria, votes, and who overruled whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the judge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The goal is achieved.
    Pass,
    /// Something is missing or wrong.
    Fail,
}

impl Verdict {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// The seeds' `EvaluationResult`, with who overruled the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The verdict on the work of a cycle, with the reasons.")]
pub struct Evaluation {
    /// The verdict that stands.
    pub verdict: Verdict,
    /// From 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// On fail: what the planner is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// On pass: what was accomplished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Tokens of the evaluator's calls.
    #[serde(default)]
    pub tokens_used: u64,
    /// What the judge said of each criterion, and whether tepa found the proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionResult>,
    /// The answers of the judge in the order in which they were given, when more than one was asked for; the majority of them stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// Who changed the verdict of the judge, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overruled: Vec<Overruling>,
}

impl Evaluation {
    /// Returns an evaluation of which nothing but the verdict is known.
    pub fn new(verdict: Verdict, confidence: f64) -> Self {
        Self {
            verdict,
            confidence,
            feedback: None,
            summary: None,
            tokens_used: 0,
            criteria: Vec::new(),
            votes: Vec::new(),
            overruled: Vec::new(),
        }
    }
}

/// One of several answers of the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vote {
    /// The verdict; a pass whose criteria are not all proven is a fail.
    pub verdict: Verdict,
    /// From 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// Its feedback or its summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What came of one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CriterionResult {
    /// `C1` for the first criterion of the prompt, and so on.
    pub id: String,
    /// The path of the expected output that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The criterion, as the prompt has it.
    pub criterion: String,
    /// Whether it is met.
    pub verdict: CriterionVerdict,
    /// Why.
    pub reason: String,
    /// The evidence that is quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// What is quoted from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// Whether a criterion is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CriterionVerdict {
    /// It is met, and what was quoted for it is in the evidence.
    Pass,
    /// It is not met.
    Fail,
    /// It is said to be met, and there is no proof.
    Unproven,
}

/// One change of a verdict after the judge spoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overruling {
    /// `checks`, `criteria`, the hook with its name, or the person who was asked.
    pub by: String,
    /// The verdict before.
    pub from: Verdict,
    /// The verdict after.
    pub to: Verdict,
    /// Why.
    pub reason: String,
}

/// What a judge was shown of one expected output: gathered by tepa, with the words of nobody else in it but the file's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// `E1` for the first expected output, and so on.
    pub id: String,
    /// The path, as the prompt names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One line: existence, size, kind, hash.
    pub summary: String,
    /// Its columns and rows, or whether it can be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// What is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// From the file: not to be trusted.
    Material(String),
    /// From tepa.
    Note(String),
}
