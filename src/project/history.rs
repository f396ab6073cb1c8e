//! Who did what, when, and to which things.
//!
//! The history of a thing is a *thread*: the events that name it, and what became of the things that came into being with
//! it: gates that it waits for, turns on it, evidence about it or that it rests on. A thread grows while it is read in
//! order; no state is needed.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, GoalChange};
use crate::hash::Hash;
use crate::id::{Actor, CriterionId, EvidenceId, GateId, GoalId, RequestId, Seq, TodoId, TurnId};
use crate::ledger::{Entry, Ledger, LedgerError, Past};
use crate::time::Timestamp;

/// One record of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The record.
    pub seq: Seq,
    /// Ledger time.
    pub ts: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// The request.
    pub request: RequestId,
    /// Its hash.
    pub hash: Hash,
    /// What happened, as far as it was asked for.
    pub events: Vec<Event>,
}

impl Line {
    /// All events of a record.
    #[must_use]
    pub fn whole(entry: &Entry<'_>) -> Self {
        Self {
            seq: entry.at.seq,
            ts: entry.at.ts,
            actor: entry.at.actor.clone(),
            request: entry.request.clone(),
            hash: entry.hash,
            events: entry.events.clone(),
        }
    }

    /// Some events of a record.
    fn with(past: &Past, events: Vec<Event>) -> Self {
        let Past { at, hash, request, .. } = past;
        Self {
            seq: at.seq,
            ts: at.ts,
            actor: at.actor.clone(),
            request: request.clone(),
            hash: *hash,
            events,
        }
    }
}

impl From<Past> for Line {
    fn from(past: Past) -> Self {
        let Past { at, hash, request, events, .. } = past;
        Self { seq: at.seq, ts: at.ts, actor: at.actor, request, hash, events }
    }
}

/// The history of one thing, up to the record that the ledger was read to.
///
/// # Errors
/// As [`Ledger::open`].
pub fn thread(ledger: &mut Ledger, subject: &str) -> Result<Vec<Line>, LedgerError> {
    let whole = |found: &BTreeMap<Seq, Past>| {
        let mut thread = Thread::new(subject);
        // What the subject stands for is told by what comes later.
        found
            .values()
            .rev()
            .flat_map(|past| past.events.iter().rev())
            .for_each(|event| thread.replace(event));
        let lines: Vec<Line> = found.values().filter_map(|past| thread.read(past)).collect();
        (thread, lines)
    };
    let first = BTreeSet::from([subject.to_owned()]);
    let found = ledger.gather(first, &mut |found| whole(found).0.keys())?;
    Ok(whole(&found).1)
}

/// A subject, and what is linked to it.
#[derive(Debug)]
struct Thread<'s> {
    subject: &'s str,
    /// Todos in whose place the subject stands, directly or by way of others.
    replaced: BTreeSet<TodoId>,
    /// Open gates, and the todos that wait for each.
    gates: BTreeMap<GateId, BTreeSet<TodoId>>,
    /// Turns, and the todo that each was opened on.
    turns: BTreeMap<TurnId, TodoId>,
    /// Evidence, and what it is about.
    about: BTreeMap<EvidenceId, String>,
    /// Criteria that are met, and the evidence that each rests on.
    met: BTreeMap<(GoalId, CriterionId), EvidenceId>,
    /// What else has to be read to know what became of it.
    linked: BTreeSet<String>,
}

impl<'s> Thread<'s> {
    const fn new(subject: &'s str) -> Self {
        Self {
            subject,
            replaced: BTreeSet::new(),
            gates: BTreeMap::new(),
            turns: BTreeMap::new(),
            about: BTreeMap::new(),
            met: BTreeMap::new(),
            linked: BTreeSet::new(),
        }
    }

    fn keys(self) -> BTreeSet<String> {
        self.linked
    }

    /// Reads the next record. Its events that touch the subject, if there are any.
    fn read(&mut self, past: &Past) -> Option<Line> {
        let mut events = Vec::new();
        for event in &past.events {
            if event.names().iter().any(|name| name == self.subject) || self.touches(event) {
                events.push(event.clone());
            }
            self.learn(event);
            self.follow(event);
        }
        (!events.is_empty()).then(|| Line::with(past, events))
    }

    fn is_subject(&self, id: &impl ToString) -> bool {
        id.to_string() == self.subject
    }

    /// Whether an event touches the subject by way of something linked to it.
    fn touches(&self, event: &Event) -> bool {
        let waiting =
            |gate| self.gates.get(gate).is_some_and(|todos| todos.iter().any(|id| self.is_subject(id)));
        match event {
            Event::GateDecided(e) => waiting(&e.id),
            Event::GateWithdrawn(e) => waiting(&e.id),
            Event::TurnClosed(e) => self.turns.get(&e.id).is_some_and(|todo| self.is_subject(todo)),
            Event::EvidenceInvalidated(e) => self.rests_on(e.id),
            Event::EvidenceSuperseded(e) => self.rests_on(e.id),
            _ => false,
        }
    }

    fn rests_on(&self, id: EvidenceId) -> bool {
        let met = || self.met.iter().any(|((goal, _), by)| *by == id && self.is_subject(goal));
        self.about.get(&id).is_some_and(|about| about == self.subject) || met()
    }

    /// Takes note of what an event links, and of what it ends.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::GateOpened(e) => {
                self.gates.insert(e.id, e.blocks.todos.iter().copied().collect());
            }
            Event::GateDecided(e) if e.outcome.is_final() => drop(self.gates.remove(&e.id)),
            Event::GateWithdrawn(e) => drop(self.gates.remove(&e.id)),
            // What waited for a gate goes on waiting in the todo that replaces it.
            Event::TodoSuperseded(e) => {
                for todos in self.gates.values_mut().filter(|todos| todos.contains(&e.id)) {
                    todos.insert(e.by);
                }
            }
            Event::TurnOpened(e) => drop(self.turns.insert(e.id, e.todo)),
            Event::EvidenceRecorded(e) => drop(self.about.insert(e.id, e.about.name())),
            Event::AcceptanceMet(e) => drop(self.met.insert((e.goal.clone(), e.criterion), e.evidence)),
            Event::AcceptanceReopened(e) => drop(self.met.remove(&(e.goal.clone(), e.criterion))),
            Event::GoalStarted(e) => self.met.retain(|(goal, _), _| *goal != e.goal),
            Event::GoalChanged(e) => {
                for change in &e.changes {
                    if let GoalChange::Criterion { id, .. } = change {
                        self.met.remove(&(e.goal.clone(), *id));
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes note of what has to be read to know what becomes of the subject.
    fn follow(&mut self, event: &Event) {
        let linked = match event {
            Event::TodoSuperseded(e) if self.stands_for(e.by) => e.id.to_string(),
            Event::GateOpened(e) if e.blocks.todos.iter().any(|id| self.stands_for(*id)) => e.id.to_string(),
            Event::TurnOpened(e) if self.is_subject(&e.todo) => e.id.to_string(),
            Event::EvidenceRecorded(e) if e.about.name() == self.subject => e.id.to_string(),
            Event::AcceptanceMet(e) if self.is_subject(&e.goal) => e.evidence.to_string(),
            _ => return,
        };
        self.linked.insert(linked);
    }

    fn replace(&mut self, event: &Event) {
        if let Event::TodoSuperseded(e) = event
            && self.stands_for(e.by)
        {
            self.replaced.insert(e.id);
        }
    }

    fn stands_for(&self, id: TodoId) -> bool {
        self.is_subject(&id) || self.replaced.contains(&id)
    }
}
