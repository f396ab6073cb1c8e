//! Payloads about turns and run notes.

use serde::{Deserialize, Serialize};

use super::Holder;
use crate::id::{CapabilityId, GoalId, Label, Seq, TodoId, TurnId};
use crate::text::Text;

/// `turn.opened`: one bounded turn of one agent on one todo. What is opened here is what is closed and charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnOpened {
    /// Whether the todo was chosen by name, not by the decision.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_name: bool,
    /// Capabilities that its agent said to have, beside those it was registered with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityId>,
    /// The head that the decision was made at.
    pub decided_at: Seq,
    /// The epoch of the todo.
    pub epoch: u64,
    /// The goal.
    pub goal: GoalId,
    /// Who.
    pub holder: Holder,
    /// The id minted for it.
    pub id: TurnId,
    /// Whether it first has to repair what is in the way of the todo.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repairs: bool,
    /// The todo.
    pub todo: TodoId,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What a turn brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// Only the surface changed.
    SurfaceOnly,
    /// Work was done, the outcome is still missing.
    OutcomeGap,
    /// The outcome came closer.
    OutcomeProgress,
    /// The goal's own outcome.
    PrimaryGoalOutcome,
}

impl DeliveryOutcome {
    /// Whether a turn with this outcome may spend.
    #[must_use]
    pub const fn is_accountable(self) -> bool {
        match self {
            Self::OutcomeProgress | Self::PrimaryGoalOutcome => true,
            Self::SurfaceOnly | Self::OutcomeGap => false,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// Its todo was completed.
    Done,
    /// It gave the todo back.
    Yielded,
    /// It found the todo blocked.
    Blocked,
    /// It was given up: by its holder, by a takeover, or because its todo was closed by someone else.
    Abandoned,
}

/// `turn.closed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnClosed {
    /// How it ended.
    pub end: TurnEnd,
    /// The turn.
    pub id: TurnId,
    /// What it brought, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<DeliveryOutcome>,
    /// The reason, if it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

/// `state.refreshed`: a note for the next turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRefreshed {
    /// What kind of turn it was, in the author's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<Label>,
    /// The goal.
    pub goal: GoalId,
    /// What should happen next.
    pub next_action: Text,
    /// What the turn brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<DeliveryOutcome>,
    /// The todo it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoId>,
    /// The turn it reports on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}
