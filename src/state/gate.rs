//! Open gates, and approvals that a promotion may use.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, TodoStatus, entry, mint};
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

impl State {
    pub(super) fn gate_opened(&mut self, at: &At, event: &GateOpened) -> Fold {
        mint(&mut self.minted.gates, event.id.0, GateId::LETTER)?;
        entry(&mut self.goals, &event.goal, "a goal")?;
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
            GateOutcome::Approve | GateOutcome::Choice { .. } => {
                self.lift(event.id, |_| {})?;
                self.approvals.insert(event.id);
                Ok(())
            }
            GateOutcome::Reject => self.lift(event.id, |status| {
                *status = TodoStatus::Blocked { why: event.why.clone() };
            }),
        }
    }

    pub(super) fn gate_withdrawn(&mut self, event: &GateWithdrawn) -> Fold {
        self.lift(event.id, |_| {})
    }

    /// Takes the gate out, and lets `change` see the status of each todo that waited for it.
    fn lift(&mut self, id: GateId, change: impl Fn(&mut TodoStatus)) -> Fold {
        let gate = self.gates.remove(&id).ok_or_else(|| format!("{id} is not open"))?;
        let waiting = |todo: &TodoId| gate.blocks.todos.contains(todo);
        for (_, todo) in self.todos.iter_mut().filter(|(todo, _)| waiting(todo)) {
            todo.gates.remove(&id);
            change(&mut todo.status);
        }
        Ok(())
    }
}
