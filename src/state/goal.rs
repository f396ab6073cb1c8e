//! Goals, their criteria, and the last run note.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, entry};
use crate::event::{
    AcceptanceMet, AcceptanceReopened, DeliveryOutcome, GoalChange, GoalChanged, GoalStarted, StateRefreshed,
    Subject,
};
use crate::id::{Actor, CriterionId, EvidenceId, GateId, GoalId, Label, Seq, TodoId};
use crate::scope::PathScope;
use crate::text::Text;
use crate::time::Timestamp;

/// Where a goal is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// Turns are given.
    Active,
    /// No turns until it is resumed.
    Paused,
    /// Reached.
    Completed,
    /// Given up.
    Abandoned,
}

impl GoalStatus {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    /// Whether nothing more will happen in it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Abandoned => true,
            Self::Active | Self::Paused => false,
        }
    }
}

/// One acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// What must be so.
    pub text: Text,
    /// The evidence that it rests on, while it is met.
    pub met_by: Option<EvidenceId>,
    /// The record that opened it again, if it was met before and is not now.
    pub reopened: Option<Seq>,
}

impl Criterion {
    /// A criterion that nothing has shown yet.
    fn open(text: &Text) -> Self {
        Self { text: text.clone(), met_by: None, reopened: None }
    }
}

/// What the last turn left for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunNote {
    /// The record.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// Who wrote it.
    pub by: Actor,
    /// What kind of turn it was.
    pub classification: Option<Label>,
    /// What it brought.
    pub outcome: Option<DeliveryOutcome>,
    /// What should happen next.
    pub next_action: Text,
    /// The todo it is about.
    pub todo: Option<TodoId>,
}

/// An objective with everything that bounds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The record that started it, which is its instance.
    pub instance: Seq,
    /// When it started.
    pub started: Timestamp,
    /// What is to be reached.
    pub objective: Text,
    /// Criteria; a dropped one is gone, its number is not given again.
    pub criteria: BTreeMap<CriterionId, Criterion>,
    /// The highest criterion number given.
    pub criteria_minted: u32,
    /// What may be written; empty means everything.
    pub write: Vec<PathScope>,
    /// What may be read; empty means everything.
    pub read: Vec<PathScope>,
    /// Where it is in its life.
    pub status: GoalStatus,
    /// From 1; grows with every change. Evidence says at which revision it was taken.
    pub revision: u64,
    /// How many of its todos were completed.
    pub completed_todos: u64,
    /// What closed work said has to happen before anything follows.
    pub awaited: Vec<Awaited>,
    /// The last run note.
    pub note: Option<RunNote>,
    /// The last typed delta of the plan: a todo added, superseded or blocked, a question, a hypothesis, a criterion met, a
    /// change of the goal itself.
    pub delta: Seq,
    /// Turns in a row that ended without progress.
    pub fruitless: u32,
}

/// What a close waits for. An open todo needs no entry: it is work itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// A gate, until it is decided.
    Gate(GateId),
    /// An instant.
    Until(Timestamp),
}

impl Goal {
    /// Whether work in it may write there.
    #[must_use]
    pub fn may_write(&self, scope: &PathScope) -> bool {
        self.write.is_empty() || self.write.iter().any(|allowed| allowed.covers(scope))
    }
}

impl State {
    pub(super) fn goal_started(&mut self, at: &At, event: &GoalStarted) -> Fold {
        if self.goals.get(&event.goal).is_some_and(|goal| !goal.status.is_final()) {
            return Err(format!("goal {} is not finished", event.goal));
        }
        let minted = u32::try_from(event.criteria.len()).map_err(|_| "too many criteria".to_owned())?;
        let criteria = (1..=minted)
            .zip(&event.criteria)
            .map(|(number, text)| (CriterionId(number), Criterion::open(text)))
            .collect();
        let goal = Goal {
            instance: at.seq,
            started: at.ts,
            objective: event.objective.clone(),
            criteria,
            criteria_minted: minted,
            write: event.write.clone(),
            read: event.read.clone(),
            status: GoalStatus::Active,
            revision: 1,
            completed_todos: 0,
            awaited: Vec::new(),
            note: None,
            delta: at.seq,
            fruitless: 0,
        };
        self.goals.insert(event.goal.clone(), goal);
        self.quotas.remove(&event.goal);
        // Another goal of this name may have rested on it; this one does not.
        let kept = self.rested_on();
        self.evidence.retain(|id, found| found.goal != event.goal || found.is_row || kept.contains(id));
        Ok(())
    }

    pub(super) fn goal_changed(&mut self, at: &At, event: &GoalChanged) -> Fold {
        let goal = entry(&mut self.goals, &event.goal, "a goal")?;
        for change in &event.changes {
            match change {
                GoalChange::Objective { new, .. } => goal.objective = new.clone(),
                GoalChange::Write { new, .. } => goal.write.clone_from(new),
                GoalChange::Criterion { id, new: Some(text), .. } => {
                    goal.criteria_minted = goal.criteria_minted.max(id.0);
                    goal.criteria.insert(*id, Criterion::open(text));
                }
                GoalChange::Criterion { id, new: None, .. } => {
                    goal.criteria.remove(id).ok_or_else(|| format!("{id} is not a criterion"))?;
                }
            }
        }
        goal.revision += 1;
        (goal.delta, goal.fruitless) = (at.seq, 0);
        // What was shown was shown of another objective.
        if event.moves() {
            self.outdate(at, &Subject::Goal(event.goal.clone()));
        }
        Ok(())
    }

    pub(super) fn goal_set_status(&mut self, name: &GoalId, status: GoalStatus) -> Fold {
        let goal = entry(&mut self.goals, name, "a goal")?;
        if goal.status.is_final() {
            return Err(format!("goal {name} is {}", goal.status.word()));
        }
        goal.status = status;
        Ok(())
    }

    /// A finished goal keeps its criteria and what they rest on; everything else that was open in it is gone.
    pub(super) fn goal_closed(&mut self, name: &GoalId, status: GoalStatus) -> Fold {
        self.goal_set_status(name, status)?;
        self.todos.retain(|_, todo| todo.goal != *name);
        self.gates.retain(|_, gate| gate.goal != *name);
        self.approvals.retain(|_, approval| approval.goal != *name || approval.outlives_its_goal());
        self.approvals
            .values_mut()
            .filter(|approval| approval.goal == *name)
            .for_each(|approval| approval.promotes = false);
        self.turns.retain(|_, turn| turn.goal != *name);
        let kept = self.rested_on();
        self.evidence.retain(|id, evidence| evidence.goal != *name || evidence.is_row || kept.contains(id));
        Ok(())
    }

    pub(super) fn acceptance_met(&mut self, at: &At, event: &AcceptanceMet) -> Fold {
        let goal = entry(&mut self.goals, &event.goal, "a goal")?;
        goal.delta = at.seq;
        let criterion = entry(&mut goal.criteria, &event.criterion, "a criterion")?;
        criterion.met_by = Some(event.evidence);
        criterion.reopened = None;
        Ok(())
    }

    pub(super) fn acceptance_reopened(&mut self, at: &At, event: &AcceptanceReopened) -> Fold {
        let goal = entry(&mut self.goals, &event.goal, "a goal")?;
        let criterion = entry(&mut goal.criteria, &event.criterion, "a criterion")?;
        criterion.met_by = None;
        criterion.reopened = Some(at.seq);
        Ok(())
    }

    pub(super) fn state_refreshed(&mut self, at: &At, event: &StateRefreshed) -> Fold {
        let goal = entry(&mut self.goals, &event.goal, "a goal")?;
        goal.note = Some(RunNote {
            seq: at.seq,
            ts: at.ts,
            by: at.actor.clone(),
            classification: event.classification.clone(),
            outcome: event.outcome,
            next_action: event.next_action.clone(),
            todo: event.todo,
        });
        if let Some(id) = &event.turn {
            let turn = entry(&mut self.turns, id, "open")?;
            turn.outcome = event.outcome.or(turn.outcome);
        }
        Ok(())
    }
}
