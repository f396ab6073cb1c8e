//! Payloads about gates: concrete questions to a human.

use serde::{Deserialize, Serialize};

use crate::decision_scope::DecisionScope;
use crate::id::{AgentId, EvidenceId, GateId, GoalId, Label, TodoId};
use crate::text::Text;
use crate::time::Timestamp;

/// What waits for the answer. Nothing that is not named is held up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// These agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    /// Everything in the goal, said explicitly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// These todos.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<TodoId>,
}

/// `gate.opened`: a question, its options, and what waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateOpened {
    /// What waits.
    pub blocks: Blocks,
    /// What to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// The goal.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: GateId,
    /// Possible answers; empty means approve or reject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Label>,
    /// The exact question.
    pub question: Text,
    /// The scope in which a decision is asked for. An approval then covers what todos need in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<DecisionScope>,
}

/// As [`GateOutcome`] is written. serde lets a variant without braces have unknown fields.
#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
enum WrittenOutcome {
    Approve {},
    Reject {},
    Defer {},
    Choice { option: Label },
}

impl From<WrittenOutcome> for GateOutcome {
    fn from(written: WrittenOutcome) -> Self {
        match written {
            WrittenOutcome::Approve {} => Self::Approve,
            WrittenOutcome::Reject {} => Self::Reject,
            WrittenOutcome::Defer {} => Self::Defer,
            WrittenOutcome::Choice { option } => Self::Choice { option },
        }
    }
}

/// What a human decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", from = "WrittenOutcome")]
pub enum GateOutcome {
    /// Yes: what waited may go on.
    Approve,
    /// No: the todos that waited, if it held up everything then all of them, become blocked, and someone has to plan anew.
    Reject,
    /// Not now: the gate stays open.
    Defer,
    /// One of the options: what waited may go on, knowing which.
    Choice {
        /// The option chosen.
        option: Label,
    },
}

impl GateOutcome {
    /// Whether the question is answered; "not now" is not an answer.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Approve | Self::Reject | Self::Choice { .. } => true,
            Self::Defer => false,
        }
    }
}

/// `gate.decided`: by an owner, with a reason. Its record's actor is who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateDecided {
    /// The gate.
    pub id: GateId,
    /// The decision.
    pub outcome: GateOutcome,
    /// Evidence that has to stay current for the approval to cover anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<EvidenceId>,
    /// When the approval ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// The rationale.
    pub why: Text,
}

/// `gate.withdrawn`: no longer asked; what waited goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateWithdrawn {
    /// The gate.
    pub id: GateId,
    /// The reason.
    pub why: Text,
}

/// `gate.revoked`: an owner took an approval back; what it covered is held up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRevoked {
    /// The gate.
    pub id: GateId,
    /// The reason.
    pub why: Text,
}
