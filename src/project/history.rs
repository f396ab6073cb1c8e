//! Who did what, when, and to which things.

use std::collections::BTreeSet;

use crate::event::{Event, LeaseTarget, Subject};
use crate::hash::Hash;
use crate::id::{Actor, RequestId, Seq};
use crate::ledger::Entry;
use crate::state::State;
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
        Self::with(entry, entry.events.clone())
    }

    /// The events of a record that touch the thing named, given the state before it; `None` if none does.
    #[must_use]
    pub fn about(before: &State, entry: &Entry<'_>, id: &str) -> Option<Self> {
        let touching = entry.events.iter().filter(|event| touches(before, event).contains(id));
        let events: Vec<Event> = touching.cloned().collect();
        (!events.is_empty()).then(|| Self::with(entry, events))
    }

    fn with(entry: &Entry<'_>, events: Vec<Event>) -> Self {
        Self {
            seq: entry.at.seq,
            ts: entry.at.ts,
            actor: entry.at.actor.clone(),
            request: entry.request.clone(),
            hash: entry.hash,
            events,
        }
    }
}

/// The things that an event is about, refers to, or changes, by the names that people use for them. What it names only
/// by way of something else, as a gate's answer does with the todos that waited, is looked up in the state before it.
/// Text is never looked at.
#[must_use]
pub fn touches(before: &State, event: &Event) -> BTreeSet<String> {
    let mut found = Touched(BTreeSet::new());
    found.work(event);
    found.rest(event);
    found.indirect(before, event);
    found.0
}

struct Touched(BTreeSet<String>);

impl Touched {
    fn add<T: ToString>(&mut self, ids: impl IntoIterator<Item = T>) {
        self.0.extend(ids.into_iter().map(|id| id.to_string()));
    }

    fn one(&mut self, id: &impl ToString) {
        self.0.insert(id.to_string());
    }

    fn subject(&mut self, about: &Subject) {
        match about {
            Subject::Goal(goal) => self.one(goal),
            Subject::Todo(id) => self.one(id),
            Subject::Gate(id) => self.one(id),
            Subject::Trial(id) => self.one(id),
        }
    }

    fn target(&mut self, on: &LeaseTarget) {
        match on {
            LeaseTarget::Todo(id) => self.one(id),
            LeaseTarget::Resource(name) => self.one(name),
        }
    }

    fn indirect(&mut self, before: &State, event: &Event) {
        let gate = match event {
            Event::GateDecided(e) => before.gates.get(&e.id),
            Event::GateWithdrawn(e) => before.gates.get(&e.id),
            _ => None,
        };
        self.add(gate.into_iter().flat_map(|gate| &gate.blocks.todos));
        if let Event::TurnClosed(e) = event {
            self.add(before.turns.get(&e.id).map(|turn| turn.todo));
        }
        if let Event::EvidenceInvalidated(e) = event {
            let goals = before.goals.iter();
            let resting = goals.filter(|(_, goal)| goal.criteria.values().any(|c| c.met_by == Some(e.id)));
            self.add(resting.map(|(name, _)| name));
        }
    }

    /// Todos, gates, claims, leases and turns.
    fn work(&mut self, event: &Event) {
        match event {
            Event::TodoAdded(e) => {
                self.one(&e.id);
                self.one(&e.goal);
                self.add(&e.spec.needs);
            }
            Event::TodoChanged(e) => self.one(&e.id),
            Event::TodoBlocked(e) => self.one(&e.id),
            Event::TodoDeferred(e) => self.one(&e.id),
            Event::TodoReopened(e) => self.one(&e.id),
            Event::TodoCompleted(e) => {
                self.one(&e.id);
                self.add(&e.evidence);
            }
            Event::TodoSuperseded(e) => self.add([e.id, e.by]),
            Event::TodoCancelled(e) => self.one(&e.id),
            Event::GateOpened(e) => {
                self.one(&e.id);
                self.one(&e.goal);
                self.add(&e.blocks.todos);
                self.add(&e.blocks.agents);
                self.add(&e.evidence);
            }
            Event::GateDecided(e) => self.one(&e.id),
            Event::GateWithdrawn(e) => self.one(&e.id),
            Event::ClaimTaken(e) => self.add([e.todo.to_string(), e.holder.actor.name().to_owned()]),
            Event::ClaimReleased(e) => self.one(&e.todo),
            Event::ClaimHandedOver(e) => {
                self.one(&e.todo);
                self.add([e.from.actor.name(), e.to.actor.name()]);
            }
            Event::LeaseGranted(e) => self.target(&e.on),
            Event::LeaseRenewed(e) => self.target(&e.on),
            Event::LeaseReleased(e) => self.target(&e.on),
            Event::LeaseTakenOver(e) => {
                self.target(&e.on);
                self.add([e.from.actor.name(), e.to.actor.name()]);
            }
            Event::TurnOpened(e) => {
                self.add([e.id.to_string(), e.todo.to_string(), e.holder.actor.name().to_owned()])
            }
            Event::TurnClosed(e) => self.one(&e.id),
            _ => {}
        }
    }

    /// Everything else.
    fn rest(&mut self, event: &Event) {
        match event {
            Event::AgentRegistered(e) => self.one(&e.agent),
            Event::AgentRetired(e) => self.one(&e.agent),
            Event::OwnerRegistered(e) => self.one(&e.owner),
            Event::OwnerRevoked(e) => self.one(&e.owner),
            Event::GoalStarted(e) => self.one(&e.goal),
            Event::GoalChanged(e) => self.one(&e.goal),
            Event::GoalPaused(e) => self.one(&e.goal),
            Event::GoalResumed(e) => self.one(&e.goal),
            Event::GoalCompleted(e) => self.one(&e.goal),
            Event::GoalAbandoned(e) => self.one(&e.goal),
            Event::AcceptanceMet(e) => {
                self.add([e.goal.to_string(), e.criterion.to_string(), e.evidence.to_string()])
            }
            Event::AcceptanceReopened(e) => self.add([e.goal.to_string(), e.criterion.to_string()]),
            Event::EvidenceRecorded(e) => {
                self.one(&e.id);
                self.subject(&e.about);
                self.add(e.metric.iter().map(|row| row.trial));
            }
            Event::EvidenceInvalidated(e) => self.one(&e.id),
            Event::EvidenceSuperseded(e) => self.add([e.id, e.by]),
            Event::QuotaSet(e) => self.one(&e.goal),
            Event::QuotaSpent(e) => self.add([e.turn.to_string(), e.todo.to_string()]),
            Event::QuotaVoided(e) => self.add([e.goal.to_string(), format!("#{}", e.spend)]),
            Event::StateRefreshed(e) => {
                self.one(&e.goal);
                self.add(e.todo);
                self.add(e.turn);
            }
            Event::MetricDefined(e) => self.one(&e.metric),
            Event::DatasetRegistered(e) => self.one(&e.dataset),
            Event::HypothesisProposed(e) => {
                self.one(&e.id);
                self.add(&e.refines);
                self.add(e.todo);
            }
            Event::ExperimentRegistered(e) => self.add([e.id.to_string(), e.tests.to_string()]),
            Event::TrialStarted(e) => self.add([e.id.to_string(), e.experiment.to_string()]),
            Event::TrialEnded(e) => self.one(&e.id),
            Event::PromotionRecorded(e) => {
                self.one(&e.id);
                self.one(&e.gate);
                self.one(&e.slot);
                self.add(e.cites.iter().chain(&e.contrast));
                self.add(e.replaces);
            }
            _ => {}
        }
    }
}
