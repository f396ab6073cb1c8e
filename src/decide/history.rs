//! What a decision may have to know of finished work. It is looked up before, so that deciding stays pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::{Event, LeaseTarget, QuotaSpent, TodoChange, TodoSpec, goal_end};
use crate::id::{Actor, GoalId, LeaseKey, Seq, TodoId, TurnId};
use crate::scope::PathScope;
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
    /// The last version of its lease.
    pub version: u64,
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

/// The course of one todo, from the records that concern it and no state.
#[derive(Debug)]
pub struct Course {
    id: TodoId,
    open: Option<Open>,
    /// The turn on it that has neither ended nor completed it.
    turn: Option<TurnId>,
    closed: Option<(ClosedTodo, bool)>,
}

/// A todo while it is open.
#[derive(Debug, Clone)]
struct Open {
    goal: GoalId,
    spec: TodoSpec,
    epoch: u64,
    version: u64,
    /// Whether one of its needs was superseded, which may have rewritten what it needs.
    rewritten: bool,
}

impl Course {
    /// A todo that nothing is known of yet.
    #[must_use]
    pub const fn new(id: TodoId) -> Self {
        Self { id, open: None, turn: None, closed: None }
    }

    /// What the records that concern a todo are found by, given those found so far: itself, turns on it, what it needs,
    /// the end of its goal.
    #[must_use]
    pub fn keys<'e>(id: TodoId, events: impl IntoIterator<Item = &'e Event>) -> BTreeSet<String> {
        let mut keys = BTreeSet::from([id.to_string()]);
        let mut told = |goal: &GoalId, spec: &TodoSpec| {
            keys.insert(goal_end(goal));
            keys.extend(spec.needs.iter().map(ToString::to_string));
        };
        let mut linked = Vec::new();
        for event in events {
            match event {
                Event::TodoAdded(e) if e.id == id => told(&e.goal, &e.spec),
                Event::TodoReopened(e) if e.id == id => {
                    e.closed.iter().for_each(|closed| told(&closed.goal, &closed.spec));
                }
                Event::TurnOpened(e) if e.todo == id => linked.push(e.id.to_string()),
                Event::TodoChanged(e) if e.id == id => {
                    for change in &e.changes {
                        if let TodoChange::Needs { new, .. } = change {
                            linked.extend(new.iter().map(ToString::to_string));
                        }
                    }
                }
                _ => {}
            }
        }
        keys.extend(linked);
        keys
    }

    /// Reads the next record that concerns it.
    pub fn record(&mut self, at: &At, events: &[Event]) {
        // What a record closes was as it was before that record.
        let (open, turn) = (self.open.clone(), self.turn);
        let close = |how| {
            let Open { goal, spec, epoch, version, rewritten } = open.clone()?;
            let (by, seq) = (at.actor.clone(), at.seq);
            Some((ClosedTodo { how, by, seq, turn, goal, spec, epoch, version }, rewritten))
        };
        for event in events {
            self.step(event);
            let how = match event {
                Event::TodoCompleted(e) if e.id == self.id => Closing::Completed,
                Event::TodoSuperseded(e) if e.id == self.id => Closing::Superseded(e.by),
                Event::TodoCancelled(e) if e.id == self.id => Closing::Cancelled,
                Event::TodoReopened(e) if e.id == self.id => {
                    self.closed = None;
                    continue;
                }
                other
                    if other
                        .ended_goal()
                        .is_some_and(|goal| open.as_ref().is_some_and(|o| o.goal == *goal)) =>
                {
                    (self.open, self.turn) = (None, None);
                    Closing::GoalEnded
                }
                _ => continue,
            };
            self.closed = close(how).or(self.closed.take());
        }
    }

    /// Where it stands after an event.
    fn step(&mut self, event: &Event) {
        let id = self.id;
        let fresh = |goal: &GoalId, spec: &TodoSpec, epoch, version| {
            Some(Open { goal: goal.clone(), spec: spec.clone(), epoch, version, rewritten: false })
        };
        match event {
            Event::TodoAdded(e) if e.id == id => self.open = fresh(&e.goal, &e.spec, 0, 0),
            Event::TodoReopened(e) if e.id == id => {
                if let Some(closed) = &e.closed {
                    self.open = fresh(&closed.goal, &closed.spec, closed.epoch, closed.version);
                }
            }
            Event::TodoCompleted(e) if e.id == id => (self.open, self.turn) = (None, None),
            Event::TodoSuperseded(e) if e.id == id => self.open = None,
            Event::TodoCancelled(e) if e.id == id => self.open = None,
            Event::TurnOpened(e) if e.todo == id => self.turn = Some(e.id),
            Event::TurnClosed(e) if self.turn == Some(e.id) => self.turn = None,
            _ => {}
        }
        let Some(open) = &mut self.open else { return };
        match event {
            Event::TodoChanged(e) if e.id == id => {
                e.changes.iter().for_each(|change| open.spec.change(change));
            }
            Event::TodoSuperseded(e) if open.spec.needs.contains(&e.id) => open.rewritten = true,
            Event::ClaimTaken(e) if e.todo == id => open.epoch = e.epoch,
            Event::ClaimHandedOver(e) if e.todo == id => {
                open.epoch = e.epoch;
                open.version += u64::from(e.until.is_some());
            }
            Event::LeaseTakenOver(e) if e.on == LeaseTarget::Todo(id) => {
                open.epoch = e.epoch;
                open.version += 1;
            }
            Event::LeaseGranted(e) if e.on == LeaseTarget::Todo(id) => open.version += 1,
            Event::LeaseRenewed(e) if e.on == LeaseTarget::Todo(id) => open.version += 1,
            _ => {}
        }
    }

    /// How it was closed, if it is; and whether what it needed may have been rewritten while it was open, so that its spec
    /// has to be taken from the state before that record.
    #[must_use]
    pub fn end(self) -> Option<(ClosedTodo, bool)> {
        self.closed
    }
}

/// How a command names a spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendName {
    /// By the turn that it paid for.
    Turn(TurnId),
    /// By its record.
    Record(Seq),
}

impl SpendName {
    /// Whether it means this spend.
    #[must_use]
    pub fn means(self, seq: Seq, spent: &QuotaSpent) -> bool {
        match self {
            Self::Turn(turn) => spent.turn == turn,
            Self::Record(record) => seq == record,
        }
    }
}

/// A spend that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSpend {
    /// The record.
    pub seq: Seq,
    /// What was spent.
    pub spent: QuotaSpent,
    /// Whether it was taken back.
    pub voided: bool,
}

/// A lease that was opened with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastLease {
    /// The record.
    pub seq: Seq,
    /// How long it was to last.
    pub ttl_ms: u64,
    /// What the todo may write, if that record said so.
    pub write: Option<Vec<PathScope>>,
}

/// Finished work that a command names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Closed todos.
    pub todos: BTreeMap<TodoId, ClosedTodo>,
    /// A spend.
    pub spend: Option<PastSpend>,
    /// The lease that the key of the command opened before.
    pub lease: Option<PastLease>,
}

impl History {
    /// Notes the lease that a key opened, if it is this record: called for each record, in order. The first counts.
    pub fn note_lease(&mut self, at: &At, events: &[Event], (todo, key): (TodoId, &LeaseKey)) {
        let opens = |event: &&Event| event.opened_lease() == Some((todo, key));
        let Some(event) = events.iter().find(opens).filter(|_| self.lease.is_none()) else { return };
        let until = match event {
            Event::LeaseGranted(e) => Some(e.until),
            Event::LeaseRenewed(e) => Some(e.until),
            Event::LeaseTakenOver(e) => Some(e.until),
            Event::ClaimHandedOver(e) => e.until,
            _ => None,
        };
        let write = events.iter().find_map(|event| match event {
            Event::TodoChanged(e) if e.id == todo => e.changes.iter().find_map(|change| match change {
                TodoChange::Write { new, .. } => Some(new.clone()),
                _ => None,
            }),
            _ => None,
        });
        let ttl_ms = until.map_or(0, |until| until.ms_since(at.ts));
        self.lease = Some(PastLease { seq: at.seq, ttl_ms, write });
    }

    /// Notes the spend that is meant, and its void: called for each record, in order.
    pub fn note_spend(&mut self, seq: Seq, events: &[Event], meant: SpendName) {
        for event in events {
            match event {
                Event::QuotaSpent(e) if meant.means(seq, e) => {
                    self.spend = Some(PastSpend { seq, spent: e.clone(), voided: false });
                }
                Event::QuotaVoided(e) => {
                    self.spend
                        .iter_mut()
                        .filter(|spend| spend.seq == e.spend)
                        .for_each(|spend| spend.voided = true);
                }
                _ => {}
            }
        }
    }

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
            spec: (*todo.spec).clone(),
            epoch: todo.epoch,
            version: todo.version,
        };
        self.todos.insert(id, closed);
    }
}
