//! What an agent reports of its turn, a JSON object a line, and what it is told.

use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What was done, in a word or two: `RUN T3`.
    pub what: String,
    /// What there is to say about it.
    pub text: String,
    /// The record; 0 if nothing was appended.
    pub seq: u64,
    /// What was measured, if anything was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<Measured>,
}

/// What a todo measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The todo.
    pub todo: String,
    /// The hypothesis.
    pub hypothesis: String,
    /// The configuration.
    pub config: String,
    /// The data set.
    pub dataset: String,
    /// Rows answered rightly, by seed.
    pub correct: Vec<u32>,
    /// Rows answered.
    pub total: u32,
    /// The accuracy recorded, by seed.
    pub values: Vec<String>,
    /// The rows of evidence, by seed.
    pub evidence: Vec<String>,
    /// How it stands to what it was compared with.
    pub judgement: String,
}

/// A line of an agent's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Something happened.
    Step(Box<Step>),
    /// The turn is over; the last verdict and its mode.
    End {
        /// `RUN`, `WAIT`, `ASK`, `PLAN` or `DONE`.
        verdict: String,
        /// The situation, such as `quota_throttled`.
        mode: String,
    },
}

/// What an agent is told: take one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Length of the lease to ask for.
    pub ttl: Option<String>,
    /// Hang while the first trial runs, as a program does that will never come back.
    pub hang: bool,
}
