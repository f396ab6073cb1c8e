//! Payloads about todos.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decision_scope::DecisionScope;
use crate::hash::Hash;
use crate::id::{
    AgentId, BadId, CapabilityId, CriterionId, EvidenceId, GateId, GoalId, Label, ResourceId, TodoId,
};
use crate::scope::PathScope;
use crate::text::Text;
use crate::time::Timestamp;

/// What sort of work a todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoClass {
    /// Moves the goal forward.
    #[default]
    Advancement,
    /// Only a person can do it.
    UserAction,
    /// Looks at something again and again, and changes nothing.
    Monitor,
}

/// What a monitor looks at, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monitoring {
    /// Milliseconds from one look to the next.
    pub every_ms: u64,
    /// What is looked at.
    pub target: Text,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// What a todo that was put off waits for, if not for an instant: the close of a todo, written `T7`, or of a gate, `G1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeWhen {
    /// That todo is closed.
    Todo(TodoId),
    /// That gate is no longer open.
    Gate(GateId),
}

impl std::str::FromStr for ResumeWhen {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        text.parse().map(Self::Gate).or_else(|_| text.parse().map(Self::Todo))
    }
}

impl fmt::Display for ResumeWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Todo(todo) => write!(f, "{todo}"),
            Self::Gate(gate) => write!(f, "{gate}"),
        }
    }
}

impl Serialize for ResumeWhen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ResumeWhen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

/// Urgency, from P0 (first) to P4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Priority {
    /// First.
    P0,
    /// Soon.
    P1,
    /// Normal.
    #[default]
    P2,
    /// Later.
    P3,
    /// Last.
    P4,
}

/// Everything a todo is told when it is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoSpec {
    /// What kind of action it is, such as `edit` or `deploy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Label>,
    /// The only agent that may take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<AgentId>,
    /// Capabilities that whoever takes it may have to build first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buildable: Vec<CapabilityId>,
    /// A command, without a shell, that must succeed before it can be completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<String>,
    /// The sort of work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub class: TodoClass,
    /// What shows that it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<Text>,
    /// Agents that may not take it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<AgentId>,
    /// Capabilities that an owner must have granted to its agent, such as credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<CapabilityId>,
    /// What is looked at, if this is a monitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitoring>,
    /// Todos that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<TodoId>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// Capabilities that its agent must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<CapabilityId>,
    /// Scopes in which a human has to have decided before it is worked on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires_decision: Vec<DecisionScope>,
    /// Named resources that it uses alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceId>,
    /// Criteria of the goal that it serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serves: Vec<CriterionId>,
    /// What it is, in a line.
    pub title: Text,
    /// What it may write; empty means whatever the goal may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathScope>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl TodoSpec {
    /// A todo with this title and every default.
    #[must_use]
    pub fn titled(title: Text) -> Self {
        Self {
            action: None,
            bound: None,
            buildable: Vec::new(),
            check: Vec::new(),
            class: TodoClass::default(),
            done_when: None,
            excluded: Vec::new(),
            granted: Vec::new(),
            monitor: None,
            needs: Vec::new(),
            priority: Priority::default(),
            requires: Vec::new(),
            requires_decision: Vec::new(),
            resources: Vec::new(),
            serves: Vec::new(),
            title,
            write: Vec::new(),
        }
    }

    /// Changes one field.
    pub fn change(&mut self, change: &TodoChange) {
        match change {
            TodoChange::Title { new, .. } => self.title = new.clone(),
            TodoChange::Priority { new, .. } => self.priority = *new,
            TodoChange::DoneWhen { new, .. } => self.done_when = Some(new.clone()),
            TodoChange::Needs { new, .. } => self.needs.clone_from(new),
            TodoChange::Write { new, .. } => self.write.clone_from(new),
        }
    }
}

/// `todo.added`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoAdded {
    /// The goal it belongs to.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: TodoId,
    /// The todo itself.
    pub spec: TodoSpec,
}

/// One changed field of a todo, with both values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "field", rename_all = "snake_case", deny_unknown_fields)]
pub enum TodoChange {
    /// The title.
    Title {
        /// Before.
        old: Text,
        /// After.
        new: Text,
    },
    /// The priority.
    Priority {
        /// Before.
        old: Priority,
        /// After.
        new: Priority,
    },
    /// Todos that come first: some are no longer needed.
    Needs {
        /// Before.
        old: Vec<TodoId>,
        /// After.
        new: Vec<TodoId>,
    },
    /// What it may write.
    Write {
        /// Before.
        old: Vec<PathScope>,
        /// After.
        new: Vec<PathScope>,
    },
    /// What shows that it is done.
    DoneWhen {
        /// Before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old: Option<Text>,
        /// After.
        new: Text,
    },
}

/// `todo.changed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoChanged {
    /// Each changed field.
    pub changes: Vec<TodoChange>,
    /// The todo.
    pub id: TodoId,
}

/// `todo.blocked`: it cannot go on until someone reopens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoBlocked {
    /// The todo.
    pub id: TodoId,
    /// What is in the way.
    pub why: Text,
}

/// `todo.deferred`: put off, until an instant, or until someone reopens it, who may wait for something to happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoDeferred {
    /// The todo.
    pub id: TodoId,
    /// When it becomes runnable again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What has to happen before someone decides about it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<ResumeWhen>,
    /// The reason.
    pub why: Text,
}

/// What follows a completed todo. Silence is not an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "snake_case", deny_unknown_fields)]
pub enum Continuation {
    /// These todos follow.
    Successors {
        /// At least one.
        todos: Vec<TodoId>,
    },
    /// This agent goes on, with this todo.
    HandOver {
        /// Who.
        agent: AgentId,
        /// The todo bound to that agent.
        todo: TodoId,
    },
    /// Another todo, which is open, has to finish first.
    WaitForTodo {
        /// Which.
        todo: TodoId,
    },
    /// A gate, which is open, has to be decided first.
    WaitForGate {
        /// Which.
        gate: GateId,
    },
    /// Nothing before this instant.
    WaitUntil {
        /// When.
        at: Timestamp,
    },
    /// Nothing follows.
    NoFollowUp {
        /// The reason.
        why: Text,
    },
}

/// `todo.completed`: done, on evidence. Its claim and lease end here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoCompleted {
    /// The approvals that covered the decisions it required. One that was for this todo is used up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<GateId>,
    /// What follows.
    pub continuation: Continuation,
    /// The epoch under which it was held; 0 if it was not.
    pub epoch: u64,
    /// What shows that it is done; at least one.
    pub evidence: Vec<EvidenceId>,
    /// The todo.
    pub id: TodoId,
}

/// `todo.superseded`: replaced; what needed it needs the replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoSuperseded {
    /// The replacement.
    pub by: TodoId,
    /// The todo.
    pub id: TodoId,
    /// The reason.
    pub why: Text,
}

/// `todo.cancelled`: dropped. What needed it goes on needing it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoCancelled {
    /// The todo.
    pub id: TodoId,
    /// The reason.
    pub why: Text,
}

/// `monitor.polled`: someone looked. The result is repeated only if it differs from the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorPolled {
    /// BLAKE3 of the result.
    pub digest: Hash,
    /// When it is due again.
    pub due: Timestamp,
    /// The todo.
    pub id: TodoId,
    /// What was seen, if it was not seen the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Text>,
}
