//! Open gates, and approvals: what they cover, until when, and what uses them up.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{At, Ended, Fold, State, Todo, TodoStatus, entry, mint};
use crate::decision_scope::{DecisionScope, Granularity};
use crate::event::{Blocks, GateDecided, GateOpened, GateOutcome, GateRevoked, GateWithdrawn};
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
    /// The scope in which a decision is asked for.
    pub scope: Option<DecisionScope>,
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
    /// Whether this todo waits for the answer, by name or as part of everything.
    #[must_use]
    pub fn holds_up(&self, id: TodoId, todo: &Todo) -> bool {
        self.blocks.todos.contains(&id) || self.blocks.all && todo.goal == self.goal
    }

    /// Whether an approval would cover this need of this todo.
    fn asks_for(&self, id: TodoId, todo: &Todo, need: &DecisionScope) -> bool {
        let Some(scope) = self.scope.as_ref().filter(|scope| scope.covers(need)) else { return false };
        match self.blocks.todos.as_slice() {
            [] => reaches(scope, &self.goal, todo),
            named => named.contains(&id),
        }
    }
}

/// An approval that still covers what todos need, or that a promotion may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The goal that the question was asked in.
    pub goal: GoalId,
    /// What was looked at.
    pub evidence: Vec<EvidenceId>,
    /// Who decided.
    pub by: Actor,
    /// The record of the decision.
    pub seq: Seq,
    /// The scope that it covers, if the gate had one.
    pub scope: Option<DecisionScope>,
    /// The todos that it is for and that have not been completed on it.
    pub todos: BTreeSet<TodoId>,
    /// Whether it stands for whatever needs a decision in its scope, until it is revoked.
    pub stands: bool,
    /// Whether a promotion may still use it, once.
    pub promotes: bool,
    /// When it ends by itself.
    pub valid_until: Option<Timestamp>,
    /// Evidence that has to stay current for it to cover anything.
    pub rests_on: Vec<EvidenceId>,
}

impl Approval {
    /// Whether this need of this todo is among what was decided.
    fn is_about(&self, id: TodoId, todo: &Todo, need: &DecisionScope) -> bool {
        let Some(scope) = self.scope.as_ref().filter(|scope| scope.covers(need)) else { return false };
        self.todos.contains(&id) || self.stands && reaches(scope, &self.goal, todo)
    }

    /// An approval for the whole project does not end with the goal that it was asked in.
    pub(super) fn outlives_its_goal(&self) -> bool {
        self.stands && self.scope.as_ref().is_some_and(|scope| scope.granularity > Granularity::Goal)
    }

    fn is_used_up(&self) -> bool {
        !self.stands && !self.promotes && self.todos.is_empty()
    }
}

/// Whether a decision of that scope, taken in `goal`, reaches the goal of a todo.
fn reaches(scope: &DecisionScope, goal: &GoalId, todo: &Todo) -> bool {
    scope.granularity > Granularity::Goal || *goal == todo.goal
}

/// Why an approval that was about something does not cover it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lapse {
    /// It was given until then.
    Expired(Timestamp),
    /// Evidence that it rests on no longer counts; none if nothing is known of it any more.
    Evidence(EvidenceId, Option<Ended>),
}

impl fmt::Display for Lapse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(at) => write!(f, "was given until {at}"),
            Self::Evidence(id, Some(ended)) => write!(f, "rests on {id}, which {ended}"),
            Self::Evidence(id, None) => write!(f, "rests on {id}, which is gone"),
        }
    }
}

/// A decision that a todo requires and that no approval covers now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    /// The scope in which it requires one.
    pub scope: DecisionScope,
    /// The open gate that asks for it.
    pub asked: Option<GateId>,
    /// The last approval that was about it, and why it does not cover it any more.
    pub lapsed: Option<(GateId, Lapse)>,
}

impl fmt::Display for Uncovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requires a decision on {}", self.scope)?;
        if let Some((gate, lapse)) = &self.lapsed {
            write!(f, "; the approval of {gate} {lapse}")?;
        }
        match self.asked {
            Some(gate) => write!(f, "; {gate} asks for it"),
            None => f.write_str("; no gate asks for it"),
        }
    }
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
            scope: event.scope.clone(),
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
                let gate = self.lift(event.id)?;
                // A promotion needs an approval that has looked at a measured value. The others would pile up for ever.
                let row = |id: &EvidenceId| self.evidence.get(id).is_some_and(|evidence| evidence.is_row);
                let promotes = event.outcome == GateOutcome::Approve && gate.evidence.iter().any(row);
                let approval = approval(at, event, gate, promotes);
                if !approval.is_used_up() {
                    self.approvals.insert(event.id, approval);
                }
                Ok(())
            }
            GateOutcome::Reject => {
                let waiting = self.gates.get(&event.id).map(|gate| self.waiting(gate, self.now));
                self.lift(event.id)?;
                for id in waiting.into_iter().flatten() {
                    let todo = entry(&mut self.todos, &id, "open")?;
                    todo.status = TodoStatus::Blocked { why: event.why.clone() };
                    todo.claim = None;
                }
                Ok(())
            }
        }
    }

    pub(super) fn gate_withdrawn(&mut self, event: &GateWithdrawn) -> Fold {
        self.lift(event.id).map(|_| ())
    }

    pub(super) fn gate_revoked(&mut self, event: &GateRevoked) -> Fold {
        let approval = self.approvals.remove(&event.id);
        approval.map(|_| ()).ok_or_else(|| format!("{} is not an approval", event.id))
    }

    /// Takes the gate out; nothing waits for it any more.
    fn lift(&mut self, id: GateId) -> Result<Gate, String> {
        let gate = self.gates.remove(&id).ok_or_else(|| format!("{id} is not open"))?;
        for todo in self.todos.values_mut() {
            todo.gates.remove(&id);
        }
        Ok(gate)
    }

    /// The todos that wait for the answer to an open gate: those that it names, all of its goal if it holds up everything,
    /// and those that require a decision which it asks for and no approval covers.
    #[must_use]
    pub fn waiting(&self, gate: &Gate, now: Timestamp) -> Vec<TodoId> {
        let requires = |id: TodoId, todo: &Todo| {
            let mut asked = todo.spec.requires_decision.iter().filter(|need| gate.asks_for(id, todo, need));
            asked.any(|need| self.covering(id, todo, need, now).is_err())
        };
        let waits = |(id, todo): &(&TodoId, &Todo)| gate.holds_up(**id, todo) || requires(**id, todo);
        self.todos.iter().filter(waits).map(|(id, _)| *id).collect()
    }

    /// What waited for a gate goes on waiting in the todo that replaces it.
    pub(super) fn wait_in_its_place(&mut self, old: &Todo, by: TodoId) -> Fold {
        for id in &old.gates {
            entry(&mut self.todos, &by, "open")?.gates.insert(*id);
            entry(&mut self.gates, id, "open")?.blocks.todos.push(by);
        }
        Ok(())
    }

    /// A todo that was completed uses up every approval that was for it, beside the ones that it was completed on.
    pub(super) fn use_up(&mut self, approvals: &[GateId], todo: TodoId) -> Fold {
        for gate in approvals {
            entry(&mut self.approvals, gate, "an approval")?;
        }
        self.approvals.retain(|_, approval| {
            approval.todos.remove(&todo);
            !approval.is_used_up()
        });
        Ok(())
    }

    /// A promotion uses an approval, once.
    pub(super) fn promote_by(&mut self, gate: GateId) -> Fold {
        let approval = self.approvals.get_mut(&gate).filter(|approval| approval.promotes);
        let approval = approval.ok_or_else(|| format!("{gate} is not an unused approval"))?;
        approval.promotes = false;
        if approval.is_used_up() {
            self.approvals.remove(&gate);
        }
        Ok(())
    }

    /// Why an approval covers nothing at this instant; none if it does.
    #[must_use]
    pub fn lapse(&self, approval: &Approval, now: Timestamp) -> Option<Lapse> {
        if let Some(until) = approval.valid_until.filter(|until| *until <= now) {
            return Some(Lapse::Expired(until));
        }
        approval.rests_on.iter().find_map(|id| match self.evidence.get(id) {
            Some(evidence) => evidence.ended(now).map(|ended| Lapse::Evidence(*id, Some(ended))),
            None => Some(Lapse::Evidence(*id, None)),
        })
    }

    /// The approval that covers this need of this todo at this instant, one that is for this todo first; or what is
    /// known of the decision that is missing.
    ///
    /// # Errors
    /// [`Uncovered`]: the todo waits for a human.
    pub fn covering(
        &self,
        id: TodoId,
        todo: &Todo,
        need: &DecisionScope,
        now: Timestamp,
    ) -> Result<GateId, Uncovered> {
        let about = self.approvals.iter().filter(|(_, approval)| approval.is_about(id, todo, need));
        let mut lapsed = None;
        let mut standing = None;
        for (gate, approval) in about {
            match self.lapse(approval, now) {
                None if approval.stands => standing = standing.or(Some(*gate)),
                None => return Ok(*gate),
                Some(lapse) => lapsed = Some((*gate, lapse)),
            }
        }
        standing.ok_or_else(|| {
            let asked = self.gates.iter().find(|(_, gate)| gate.asks_for(id, todo, need));
            Uncovered { scope: need.clone(), asked: asked.map(|(gate, _)| *gate), lapsed }
        })
    }
}

/// What an affirmative answer leaves behind: a grant in the gate's scope, and, if it was a plain yes, the one promotion.
fn approval(at: &At, event: &GateDecided, gate: Gate, promotes: bool) -> Approval {
    let named: BTreeSet<TodoId> = gate.blocks.todos.into_iter().collect();
    let stands = named.is_empty()
        && gate.blocks.agents.is_empty()
        && gate.scope.as_ref().is_some_and(|scope| scope.granularity >= Granularity::Goal);
    Approval {
        goal: gate.goal,
        evidence: gate.evidence,
        by: at.actor.clone(),
        seq: at.seq,
        stands,
        todos: if gate.scope.is_some() { named } else { BTreeSet::new() },
        scope: gate.scope,
        promotes,
        valid_until: event.valid_until,
        rests_on: event.rests_on.clone(),
    }
}
