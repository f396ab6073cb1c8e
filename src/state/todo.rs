//! Open todos. A closed one leaves the state: it is history.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{At, Awaited, Claim, Fold, State, entry, mint};
use crate::event::{
    Continuation, MonitorPolled, ResumeWhen, Subject, TodoAdded, TodoBlocked, TodoCancelled, TodoChange,
    TodoChanged, TodoCompleted, TodoDeferred, TodoReopened, TodoSpec, TodoSuperseded,
};
use crate::hash::Hash;
use crate::id::{GateId, GoalId, Seq, TodoId};
use crate::text::Text;
use crate::time::Timestamp;

/// Where an open todo is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// It may be done.
    Open,
    /// Something is in the way.
    Blocked {
        /// What.
        why: Text,
    },
    /// Put off.
    Deferred {
        /// Until when; absent means until someone reopens it.
        until: Option<Timestamp>,
        /// What has to happen before someone decides about it again.
        when: Option<ResumeWhen>,
    },
}

/// Where a monitor stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// When it is to be looked at.
    pub due: Timestamp,
    /// The last record of a look.
    pub polled: Option<Seq>,
    /// BLAKE3 of what was seen then.
    pub digest: Option<Hash>,
    /// Looks in a row that saw the same.
    pub unchanged: Fruitless,
}

/// Attempts in a row that brought nothing, and the record of the last. A typed delta recorded later ends the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fruitless {
    /// How many.
    pub count: u32,
    /// The last.
    pub last: Seq,
}

impl Fruitless {
    /// How many count, given the last delta.
    #[must_use]
    pub const fn since(self, delta: Seq) -> u32 {
        if self.last.0 > delta.0 { self.count } else { 0 }
    }

    /// One more.
    pub(super) fn add(&mut self, seq: Seq, delta: Seq) {
        *self = Self { count: self.since(delta) + 1, last: seq };
    }
}

/// One bounded piece of open work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// The goal it belongs to.
    pub goal: GoalId,
    /// What it was told, with the replacements of needs that were superseded; [`Todo::unmet`] are those that still
    /// count. Boxed: it is most of a todo, and a state is built by moving todos.
    pub spec: Box<TodoSpec>,
    /// The record that added it; planner order.
    pub added: Seq,
    /// Where it is in its life.
    pub status: TodoStatus,
    /// Todos that must be completed first and are not.
    pub unmet: BTreeSet<TodoId>,
    /// Open gates that it waits for.
    pub gates: BTreeSet<GateId>,
    /// Who holds it.
    pub claim: Option<Claim>,
    /// The last epoch; 0 if it was never held. It only grows.
    pub epoch: u64,
    /// How often its lease was taken, prolonged or passed on. It only grows.
    pub version: u64,
    /// Turns on it in a row that ended without progress.
    pub fruitless: Fruitless,
    /// Where it stands, if it is a monitor.
    pub watch: Option<Watch>,
}

impl State {
    pub(super) fn todo_added(&mut self, at: &At, event: &TodoAdded) -> Fold {
        mint(&mut self.minted.todos, event.id.0, TodoId::LETTER)?;
        entry(&mut self.goals, &event.goal, "a goal")?.delta = at.seq;
        self.insert_todo(at, event.id, &event.goal, &event.spec, (0, 0));
        Ok(())
    }

    /// A need that is not open counts as met: decisions refuse a need that was closed without being completed.
    fn insert_todo(
        &mut self,
        at: &At,
        id: TodoId,
        goal: &GoalId,
        spec: &TodoSpec,
        (epoch, version): (u64, u64),
    ) {
        let unmet = spec.needs.iter().copied().filter(|need| self.todos.contains_key(need)).collect();
        let gates = self
            .gates
            .iter()
            .filter(|(_, gate)| gate.blocks.todos.contains(&id))
            .map(|(gate, _)| *gate)
            .collect();
        let todo = Todo {
            goal: goal.clone(),
            spec: Box::new(spec.clone()),
            added: at.seq,
            status: TodoStatus::Open,
            unmet,
            gates,
            claim: None,
            epoch,
            version,
            fruitless: Fruitless::default(),
            watch: spec.monitor.as_ref().map(|_| Watch {
                due: at.ts,
                polled: None,
                digest: None,
                unchanged: Fruitless::default(),
            }),
        };
        self.todos.insert(id, todo);
    }

    pub(super) fn todo_changed(&mut self, at: &At, event: &TodoChanged) -> Fold {
        let todo = entry(&mut self.todos, &event.id, "open")?;
        event.changes.iter().for_each(|change| todo.spec.change(change));
        todo.unmet.retain(|need| todo.spec.needs.contains(need));
        // What was shown of it was shown of something else.
        if event.changes.iter().any(|change| matches!(change, TodoChange::DoneWhen { .. })) {
            self.outdate(at, &Subject::Todo(event.id));
        }
        Ok(())
    }

    pub(super) fn todo_blocked(&mut self, at: &At, event: &TodoBlocked) -> Fold {
        let todo = entry(&mut self.todos, &event.id, "open")?;
        todo.status = TodoStatus::Blocked { why: event.why.clone() };
        todo.claim = None;
        entry(&mut self.goals, &todo.goal, "a goal")?.delta = at.seq;
        Ok(())
    }

    pub(super) fn monitor_polled(&mut self, at: &At, event: &MonitorPolled) -> Fold {
        let todo = entry(&mut self.todos, &event.id, "open")?;
        let delta = entry(&mut self.goals, &todo.goal, "a goal")?.delta;
        let watch = todo.watch.as_mut().ok_or_else(|| format!("{} is not a monitor", event.id))?;
        if watch.digest == Some(event.digest) {
            watch.unchanged.add(at.seq, delta);
        } else {
            watch.unchanged = Fruitless::default();
        }
        (watch.due, watch.polled, watch.digest) = (event.due, Some(at.seq), Some(event.digest));
        Ok(())
    }

    pub(super) fn todo_deferred(&mut self, event: &TodoDeferred) -> Fold {
        let todo = entry(&mut self.todos, &event.id, "open")?;
        todo.status = TodoStatus::Deferred { until: event.until, when: event.when };
        todo.claim = None;
        Ok(())
    }

    pub(super) fn todo_reopened(&mut self, at: &At, event: &TodoReopened) -> Fold {
        match &event.closed {
            None => {
                entry(&mut self.todos, &event.id, "open")?.status = TodoStatus::Open;
                Ok(())
            }
            Some(_) if self.todos.contains_key(&event.id) || event.id.0 > self.minted.todos => {
                Err(format!("{} was not closed", event.id))
            }
            Some(closed) => {
                let counts = (closed.epoch, closed.version);
                self.insert_todo(at, event.id, &closed.goal, &closed.spec, counts);
                for other in self.todos.values_mut() {
                    if other.spec.needs.contains(&event.id) {
                        other.unmet.insert(event.id);
                    }
                }
                if closed.completed {
                    let goal = entry(&mut self.goals, &closed.goal, "a goal")?;
                    goal.completed_todos = goal.completed_todos.saturating_sub(1);
                }
                Ok(())
            }
        }
    }

    pub(super) fn todo_completed(&mut self, event: &TodoCompleted) -> Fold {
        let todo = self.close_todo(event.id)?;
        self.use_up(&event.approvals, event.id)?;
        for other in self.todos.values_mut() {
            other.unmet.remove(&event.id);
        }
        if let Some((turn, _)) = self.turn_on(event.id) {
            let turn = entry(&mut self.turns, &turn, "open")?;
            turn.completed = true;
            turn.pay_by = todo.claim.and_then(|claim| claim.lease).map(|lease| lease.until);
        }
        let (gates, now) = (&self.gates, self.now);
        let goal = entry(&mut self.goals, &todo.goal, "a goal")?;
        goal.completed_todos += 1;
        goal.awaited.retain(|awaited| match awaited {
            Awaited::Gate(gate) => gates.contains_key(gate),
            Awaited::Until(at) => *at > now,
        });
        goal.awaited.extend(match &event.continuation {
            Continuation::WaitForGate { gate } => Some(Awaited::Gate(*gate)),
            Continuation::WaitUntil { at } => Some(Awaited::Until(*at)),
            Continuation::Successors { .. }
            | Continuation::HandOver { .. }
            | Continuation::WaitForTodo { .. }
            | Continuation::NoFollowUp { .. } => None,
        });
        Ok(())
    }

    pub(super) fn todo_superseded(&mut self, at: &At, event: &TodoSuperseded) -> Fold {
        let todo = self.close_todo(event.id)?;
        entry(&mut self.goals, &todo.goal, "a goal")?.delta = at.seq;
        entry(&mut self.todos, &event.by, "open")?;
        for (id, other) in &mut self.todos {
            if other.unmet.remove(&event.id) {
                other.spec.needs.retain(|need| *need != event.id && *need != event.by);
                if *id != event.by {
                    other.unmet.insert(event.by);
                    other.spec.needs.push(event.by);
                }
            }
        }
        self.wait_in_its_place(&todo, event.by)
    }

    pub(super) fn todo_cancelled(&mut self, event: &TodoCancelled) -> Fold {
        // What needed it goes on needing it: until it is reopened, or the need is dropped.
        self.close_todo(event.id).map(|_| ())
    }

    /// Takes a todo out, with its claim, and the evidence about it that no criterion and no lineage rests on.
    fn close_todo(&mut self, id: TodoId) -> Result<Todo, String> {
        let todo = self.todos.remove(&id).ok_or_else(|| format!("{id} is not open"))?;
        self.forget_evidence_about(id);
        Ok(todo)
    }
}
