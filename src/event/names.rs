//! The things that an event names: what people look for, and what the index keeps.

use super::{Event, LeaseTarget, Subject};
use crate::id::{GoalId, LeaseKey, TodoId};

/// The key under which the end of a goal is found. It ends todos, gates and turns that it does not name.
#[must_use]
pub fn goal_end(goal: &GoalId) -> String {
    format!("ended/{goal}")
}

/// The key under which the changes of a goal's objective are found. Evidence taken before one is stale.
#[must_use]
pub fn goal_moved(goal: &GoalId) -> String {
    format!("moved/{goal}")
}

/// The key under which the lease of a todo that a lease key opened is found.
#[must_use]
pub fn lease_key(todo: TodoId, key: &LeaseKey) -> String {
    format!("lease/{todo}/{key}")
}

#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn one(&mut self, id: &impl ToString) {
        self.0.push(id.to_string());
    }

    fn two(&mut self, first: &impl ToString, second: &impl ToString) {
        self.one(first);
        self.one(second);
    }

    fn three(&mut self, first: &impl ToString, second: &impl ToString, third: &impl ToString) {
        self.two(first, second);
        self.one(third);
    }

    fn all<T: ToString>(&mut self, ids: impl IntoIterator<Item = T>) {
        self.0.extend(ids.into_iter().map(|id| id.to_string()));
    }
}

impl Event {
    /// The things that this event is about, refers to, or changes, by the names that people use for them. What it
    /// names only by way of something else is not among them, and text is never looked at. A name may come twice.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Names::default();
        match self {
            Self::LedgerCreated(_)
            | Self::LedgerRecovered(_)
            | Self::ClockJumped(_)
            | Self::LedgerSealed(_)
            | Self::SecretAllowed(_) => {}
            Self::AgentRegistered(e) => names.one(&e.agent),
            Self::AgentChanged(e) => names.one(&e.agent),
            Self::AgentRetired(e) => names.one(&e.agent),
            Self::OwnerRegistered(e) => names.one(&e.owner),
            Self::OwnerRevoked(e) => names.one(&e.owner),
            Self::GoalStarted(e) => names.one(&e.goal),
            Self::GoalChanged(e) => names.one(&e.goal),
            Self::GoalPaused(e) => names.one(&e.goal),
            Self::GoalResumed(e) => names.one(&e.goal),
            Self::GoalCompleted(e) => names.one(&e.goal),
            Self::GoalAbandoned(e) => names.one(&e.goal),
            Self::AcceptanceMet(e) => names.three(&e.goal, &e.criterion, &e.evidence),
            Self::AcceptanceReopened(e) => names.two(&e.goal, &e.criterion),
            Self::TodoAdded(e) => {
                names.two(&e.id, &e.goal);
                names.all(&e.spec.needs);
            }
            Self::TodoChanged(e) => names.one(&e.id),
            Self::TodoBlocked(e) => names.one(&e.id),
            Self::TodoDeferred(e) => names.one(&e.id),
            Self::TodoReopened(e) => names.one(&e.id),
            Self::TodoCompleted(e) => {
                names.one(&e.id);
                names.all(&e.evidence);
                names.all(&e.approvals);
            }
            Self::TodoSuperseded(e) => names.two(&e.id, &e.by),
            Self::TodoCancelled(e) => names.one(&e.id),
            Self::GateOpened(e) => {
                names.two(&e.id, &e.goal);
                names.all(&e.blocks.todos);
                names.all(&e.blocks.agents);
                names.all(&e.evidence);
            }
            Self::GateDecided(e) => {
                names.one(&e.id);
                names.all(&e.rests_on);
            }
            Self::GateWithdrawn(e) => names.one(&e.id),
            Self::GateRevoked(e) => names.one(&e.id),
            Self::ClaimTaken(e) => names.two(&e.todo, &e.holder.actor.name()),
            Self::ClaimReleased(e) => names.one(&e.todo),
            Self::ClaimHandedOver(e) => names.three(&e.todo, &e.from.actor.name(), &e.to.actor.name()),
            Self::ClaimDelegated(e) => names.two(&e.todo, &e.to),
            Self::LeaseGranted(e) => names.one(&target(&e.on)),
            Self::LeaseRenewed(e) => names.one(&target(&e.on)),
            Self::LeaseReleased(e) => names.one(&target(&e.on)),
            Self::LeaseTakenOver(e) => names.three(&target(&e.on), &e.from.actor.name(), &e.to.actor.name()),
            Self::EvidenceRecorded(e) => {
                names.two(&e.id, &e.about.name());
                names.all(e.metric.iter().map(|row| row.trial));
            }
            Self::EvidenceInvalidated(e) => names.one(&e.id),
            Self::EvidenceSuperseded(e) => names.two(&e.id, &e.by),
            Self::TurnOpened(e) => names.three(&e.id, &e.todo, &e.holder.actor.name()),
            Self::TurnClosed(e) => names.one(&e.id),
            Self::QuotaSet(e) => names.one(&e.goal),
            Self::QuotaBudgeted(e) => {
                names.all(e.goal.iter().map(GoalId::to_string).chain(e.agent.iter().map(ToString::to_string)))
            }
            Self::QuotaSpent(e) => names.two(&e.turn, &e.todo),
            Self::QuotaVoided(e) => names.three(&e.goal, &e.turn, &format!("#{}", e.spend)),
            Self::MonitorPolled(e) => names.one(&e.id),
            Self::StateRefreshed(e) => {
                names.one(&e.goal);
                names.all(e.todo);
                names.all(e.turn);
            }
            Self::MetricDefined(e) => names.one(&e.metric),
            Self::DatasetRegistered(e) => names.one(&e.dataset),
            Self::HypothesisProposed(e) => {
                names.one(&e.id);
                names.all(&e.refines);
                names.all(e.todo);
            }
            Self::ExperimentRegistered(e) => names.two(&e.id, &e.tests),
            Self::TrialStarted(e) => names.two(&e.id, &e.experiment),
            Self::TrialEnded(e) => names.one(&e.id),
            Self::PromotionRecorded(e) => {
                names.two(&e.id, &e.gate);
                names.one(&e.slot);
                names.all(e.cites.iter().chain(&e.contrast));
                names.all(e.replaces);
            }
        }
        names.0
    }

    /// The todo and the key of a lease that begins with this event.
    #[must_use]
    pub fn opened_lease(&self) -> Option<(TodoId, &LeaseKey)> {
        if let Self::ClaimHandedOver(e) = self {
            return e.key.as_ref().map(|key| (e.todo, key));
        }
        let (on, key) = if let Self::LeaseGranted(e) = self {
            (&e.on, &e.key)
        } else if let Self::LeaseRenewed(e) = self {
            (&e.on, &e.key)
        } else if let Self::LeaseTakenOver(e) = self {
            (&e.on, &e.key)
        } else {
            return None;
        };
        match on {
            LeaseTarget::Todo(todo) => key.as_ref().map(|key| (*todo, key)),
            LeaseTarget::Resource(_) => None,
        }
    }

    /// What this event is found by: its names, and keys of their own for the end of a goal, for another objective and
    /// for a lease with a key.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut keys = self.names();
        keys.extend(self.opened_lease().map(|(todo, key)| lease_key(todo, key)));
        if let Some(goal) = self.ended_goal() {
            keys.push(goal_end(goal));
        }
        if let Some(goal) = self.moved_goal() {
            keys.push(goal_moved(goal));
        }
        keys
    }

    /// The goal that this event ends.
    #[must_use]
    pub fn ended_goal(&self) -> Option<&GoalId> {
        if let Self::GoalCompleted(e) = self {
            return Some(&e.goal);
        }
        if let Self::GoalAbandoned(e) = self { Some(&e.goal) } else { None }
    }
}

impl Event {
    /// The goal whose objective this event changes.
    #[must_use]
    pub fn moved_goal(&self) -> Option<&GoalId> {
        if let Self::GoalChanged(e) = self { e.moves().then_some(&e.goal) } else { None }
    }
}

impl Subject {
    /// Its name, without what kind of thing it is.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Goal(goal) => goal.to_string(),
            Self::Todo(id) => id.to_string(),
            Self::Gate(id) => id.to_string(),
            Self::Trial(id) => id.to_string(),
        }
    }
}

/// What a lease is on, by its name.
fn target(on: &LeaseTarget) -> String {
    match on {
        LeaseTarget::Todo(id) => id.to_string(),
        LeaseTarget::Resource(name) => name.to_string(),
    }
}
