//! A todo that was closed comes back, and brings along what the state has forgotten of it.

use serde::{Deserialize, Serialize};

use super::TodoSpec;
use crate::id::{GoalId, TodoId};
use crate::text::Text;

/// `todo.reopened`: open again. A todo that had been closed comes back whole, with an epoch that goes on growing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoReopened {
    /// Present if it had been closed: the todo as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<ReopenedTodo>,
    /// The todo.
    pub id: TodoId,
    /// The reason.
    pub why: Text,
}

/// What a closed todo was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReopenedTodo {
    /// Whether it had been completed.
    pub completed: bool,
    /// The last epoch under which it was held; 0 if never.
    pub epoch: u64,
    /// The goal it belongs to.
    pub goal: GoalId,
    /// The todo itself.
    pub spec: TodoSpec,
    /// The last version of its lease; 0 if it never had one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(version: &u64) -> bool {
    *version == 0
}
