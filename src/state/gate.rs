//! Open gates, and approvals that a promotion may use.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, Todo, TodoStatus, entry, mint};
use crate::event::{Blocks, GateDecided, GateOpened, GateOutcome, GateWithdrawn};
use crate::id::{Actor, EvidenceId, GateId, GoalId, Label, Seq, TodoId};
use crate::text::Text;
use crate::time::Timestamp;

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The goal.
    pub goal: GoalId,
    /// The exact question.
    pub question: Text,
    /// Possible answers; empty means approve or reject.
    pub options: Vec<Label>,
    /// What waits.
    pub blocks: Blocks,
    /// What to look at.
    pub evidence: Vec<EvidenceId>,
    /// Who asked.
    pub by: Actor,
    /// The record.
    pub seq: Seq,
    /// When.
    pub asked: Timestamp,
    /// The record of the last answer "not now".
    pub deferred: Option<Seq>,
}

impl Gate {
    /// Whether this todo waits for the answer.
    #[must_use]
    pub fn holds_up(&self, id: TodoId, todo: &Todo) -> bool {
        self.blocks.todos.contains(&id) || self.blocks.all && todo.goal == self.goal
    }
}

/// An approval that a promotion may use, once: one that has looked at a measured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The goal that the question was asked in.
    pub goal: GoalId,
    /// What was looked at.
    pub evidence: Vec<EvidenceId>,
}

impl State {
    pub(super) fn gate_opened(&mut self, at: &At, event: &GateOpened) -> Fold {
        mint(&mut self.minted.gates, event.id.0, GateId::LETTER)?;
        entry(&mut self.goals, &event.goal, "a goal")?.delta = at.seq;
        for todo in &event.blocks.todos {
            entry(&mut self.todos, todo, "open")?.gates.insert(event.id);
        }
        let gate = Gate {
            goal: event.goal.clone(),
            question: event.question.clone(),
            options: event.options.clone(),
            blocks: event.blocks.clone(),
            evidence: event.evidence.clone(),
            by: at.actor.clone(),
            seq: at.seq,
            asked: at.ts,
            deferred: None,
        };
        self.gates.insert(event.id, gate);
        Ok(())
    }

    pub(super) fn gate_decided(&mut self, at: &At, event: &GateDecided) -> Fold {
        match &event.outcome {
            GateOutcome::Defer => {
                entry(&mut self.gates, &event.id, "open")?.deferred = Some(at.seq);
                Ok(())
            }
            GateOutcome::Approve => {
                let evidence = entry(&mut self.gates, &event.id, "open")?.evidence.clone();
                let goal = self.lift(event.id, |_| {})?;
                // A promotion needs an approval that has looked at a measured value. The others would pile up for ever.
                if evidence.iter().any(|id| self.evidence.get(id).is_some_and(|evidence| evidence.is_row)) {
                    self.approvals.insert(event.id, Approval { goal, evidence });
                }
                Ok(())
            }
            GateOutcome::Choice { .. } => self.lift(event.id, |_| {}).map(|_| ()),
            GateOutcome::Reject => self
                .lift(event.id, |todo| {
                    todo.status = TodoStatus::Blocked { why: event.why.clone() };
                    todo.claim = None;
                })
                .map(|_| ()),
        }
    }

    pub(super) fn gate_withdrawn(&mut self, event: &GateWithdrawn) -> Fold {
        self.lift(event.id, |_| {}).map(|_| ())
    }

    /// Takes the gate out, and lets `change` see each todo that waited for it. Returns its goal.
    fn lift(&mut self, id: GateId, change: impl Fn(&mut Todo)) -> Result<GoalId, String> {
        let gate = self.gates.remove(&id).ok_or_else(|| format!("{id} is not open"))?;
        for (_, todo) in self.todos.iter_mut().filter(|(todo_id, todo)| gate.holds_up(**todo_id, todo)) {
            todo.gates.remove(&id);
            change(todo);
        }
        Ok(gate.goal)
    }

    /// What waited for a gate goes on waiting in the todo that replaces it.
    pub(super) fn wait_in_its_place(&mut self, old: &Todo, by: TodoId) -> Fold {
        for id in &old.gates {
            entry(&mut self.todos, &by, "open")?.gates.insert(*id);
            entry(&mut self.gates, id, "open")?.blocks.todos.push(by);
        }
        Ok(())
    }
}
