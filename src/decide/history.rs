//! What a decision may have to know of finished work. It is looked up before, so that deciding stays pure.

use std::collections::BTreeMap;
use std::fmt;

use crate::event::{Event, TodoSpec};
use crate::id::{Actor, GoalId, Seq, TodoId, TurnId};
use crate::state::{At, State};

/// How a todo left the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// On evidence.
    Completed,
    /// By another todo.
    Superseded(TodoId),
    /// Dropped.
    Cancelled,
    /// With its goal.
    GoalEnded,
}

/// A todo that was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedTodo {
    /// How.
    pub how: Closing,
    /// By whom.
    pub by: Actor,
    /// The record.
    pub seq: Seq,
    /// The turn, if it was closed in one.
    pub turn: Option<TurnId>,
    /// The goal it belonged to.
    pub goal: GoalId,
    /// What it was told.
    pub spec: TodoSpec,
    /// Its last epoch.
    pub epoch: u64,
}

impl fmt::Display for ClosedTodo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            Closing::Completed => f.write_str("completed")?,
            Closing::Superseded(by) => write!(f, "superseded by {by}")?,
            Closing::Cancelled => f.write_str("cancelled")?,
            Closing::GoalEnded => f.write_str("closed with its goal")?,
        }
        write!(f, " by {}", self.by.name())?;
        if let Some(turn) = self.turn {
            write!(f, " in turn {turn}")?;
        }
        write!(f, " (#{})", self.seq)
    }
}

/// Finished work that a command names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Closed todos.
    pub todos: BTreeMap<TodoId, ClosedTodo>,
}

impl History {
    /// Notes how todos leave the state: called for each record with the state *before* it.
    pub fn note(&mut self, before: &State, at: &At, events: &[Event], wanted: impl Fn(TodoId) -> bool) {
        for event in events {
            let (id, how) = match event {
                Event::TodoCompleted(e) => (e.id, Closing::Completed),
                Event::TodoSuperseded(e) => (e.id, Closing::Superseded(e.by)),
                Event::TodoCancelled(e) => (e.id, Closing::Cancelled),
                Event::GoalCompleted(e) => {
                    self.note_goal(before, at, &e.goal, &wanted);
                    continue;
                }
                Event::GoalAbandoned(e) => {
                    self.note_goal(before, at, &e.goal, &wanted);
                    continue;
                }
                Event::TodoReopened(e) => {
                    self.todos.remove(&e.id);
                    continue;
                }
                _ => continue,
            };
            if wanted(id) {
                self.note_todo(before, at, id, how);
            }
        }
    }

    fn note_goal(&mut self, before: &State, at: &At, goal: &GoalId, wanted: &impl Fn(TodoId) -> bool) {
        for id in
            before.todos.iter().filter(|(id, todo)| todo.goal == *goal && wanted(**id)).map(|(id, _)| *id)
        {
            self.note_todo(before, at, id, Closing::GoalEnded);
        }
    }

    fn note_todo(&mut self, before: &State, at: &At, id: TodoId, how: Closing) {
        let Some(todo) = before.todos.get(&id) else { return };
        let closed = ClosedTodo {
            how,
            by: at.actor.clone(),
            seq: at.seq,
            turn: before.turn_on(id).map(|(turn, _)| turn),
            goal: todo.goal.clone(),
            spec: todo.spec.clone(),
            epoch: todo.epoch,
        };
        self.todos.insert(id, closed);
    }
}
