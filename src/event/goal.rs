//! Payloads about goals and their acceptance criteria.

use serde::{Deserialize, Serialize};

use crate::id::{CriterionId, EvidenceId, GoalId};
use crate::scope::PathScope;
use crate::text::Text;

/// `goal.started`: an objective, what would show it reached, and where work may happen. The seq of this event is the
/// goal's instance: a goal of the same name started later is another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalStarted {
    /// Acceptance criteria, numbered from A1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Text>,
    /// The name.
    pub goal: GoalId,
    /// What is to be reached.
    pub objective: Text,
    /// What may be read; empty means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathScope>,
    /// What may be written; empty means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathScope>,
}

/// One changed field of a goal, with both values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "field", rename_all = "snake_case", deny_unknown_fields)]
pub enum GoalChange {
    /// The objective.
    Objective {
        /// Before.
        old: Text,
        /// After.
        new: Text,
    },
    /// A criterion: added (no old), dropped (no new), or reworded, which re-opens it.
    Criterion {
        /// Which one.
        id: CriterionId,
        /// Before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old: Option<Text>,
        /// After.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new: Option<Text>,
    },
    /// What may be written.
    Write {
        /// Before.
        old: Vec<PathScope>,
        /// After.
        new: Vec<PathScope>,
    },
}

/// `goal.changed`: the objective may move, but never silently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalChanged {
    /// Each changed field.
    pub changes: Vec<GoalChange>,
    /// The goal.
    pub goal: GoalId,
    /// Why it moved.
    pub reason: Text,
}

impl GoalChanged {
    /// Whether the objective is another one now. What was taken for the old one is stale.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.changes.iter().any(|change| match change {
            GoalChange::Objective { .. } => true,
            GoalChange::Criterion { .. } | GoalChange::Write { .. } => false,
        })
    }
}

macro_rules! goal_with_reason {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The goal.
            pub goal: GoalId,
            /// The reason.
            pub why: Text,
        }
    )*};
}

goal_with_reason! {
    /// `goal.paused`: no turn is given until it is resumed, and no lease is renewed.
    GoalPaused,
    /// `goal.resumed`: turns are given again.
    GoalResumed,
    /// `goal.completed`: every criterion is met on current evidence and nothing is open.
    GoalCompleted,
    /// `goal.abandoned`: an owner gave it up; its open work is dropped.
    GoalAbandoned,
}

/// `acceptance.met`: a criterion is met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptanceMet {
    /// The criterion.
    pub criterion: CriterionId,
    /// What shows it.
    pub evidence: EvidenceId,
    /// The goal.
    pub goal: GoalId,
}

/// `acceptance.reopened`: a criterion is open again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptanceReopened {
    /// The criterion.
    pub criterion: CriterionId,
    /// The goal.
    pub goal: GoalId,
    /// The reason.
    pub why: Text,
}
