//! Which todos could run now for one holder, and what is in the way of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::{Holder, Priority, ResumeWhen, TodoClass};
use crate::id::{AgentId, CapabilityId, GateId, GoalId, ResourceId, Seq, TodoId};
use crate::scope::{PathScope, first_overlap};
use crate::state::{Claim, State, Todo, TodoStatus, Uncovered};
use crate::text::Text;
use crate::time::Timestamp;

/// One thing in the way of a todo, for one holder, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// Other todos come first.
    Needs(Vec<TodoId>),
    /// An open gate.
    Gate(GateId),
    /// It requires a decision of a human, which no approval covers now.
    Undecided(Uncovered),
    /// An open gate that holds up this agent.
    AgentGate(GateId),
    /// It was put off.
    Deferred {
        /// Until when; absent means until someone reopens it.
        until: Option<Timestamp>,
    },
    /// It was put off until something happens; then someone decides about it.
    Resumes {
        /// What.
        when: ResumeWhen,
        /// Whether it has happened.
        met: bool,
    },
    /// A monitor is looked at, not claimed.
    Monitor,
    /// A monitor that is not to be looked at yet.
    NotDue {
        /// When it is.
        at: Timestamp,
    },
    /// A monitor that has come to its end.
    MonitorEnded,
    /// Something is in the way, as someone noted.
    Blocked {
        /// What.
        why: Text,
    },
    /// Only a person can do it.
    UserAction,
    /// This agent may not take it.
    Excluded,
    /// Only that agent may take it.
    Bound(AgentId),
    /// It would write where the goal may not, since the goal was narrowed.
    OutsideScope(PathScope),
    /// Another one holds it.
    HeldBy {
        /// Who.
        holder: Holder,
        /// Until when, if by a lease.
        until: Option<Timestamp>,
    },
    /// A held todo writes the same paths.
    Overlap {
        /// Which.
        todo: TodoId,
        /// When its lease expires.
        until: Option<Timestamp>,
    },
    /// Another one uses the same resource.
    Resource {
        /// Which.
        resource: ResourceId,
        /// When its lease expires.
        until: Option<Timestamp>,
    },
    /// This agent lacks a capability.
    Capability(CapabilityId),
    /// This agent lacks a capability that it may build.
    Buildable(CapabilityId),
    /// An owner has not granted this agent a capability.
    NotGranted(CapabilityId),
}

impl Hindrance {
    /// Whether the agent itself can take it out of the way, in a turn on the todo.
    #[must_use]
    pub const fn is_repairable(&self) -> bool {
        matches!(self, Self::Buildable(_) | Self::OutsideScope(_))
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = |until: &Option<Timestamp>| until.map_or_else(String::new, |at| format!(" until {at}"));
        match self {
            Self::Needs(todos) => {
                let names: Vec<String> = todos.iter().map(ToString::to_string).collect();
                write!(f, "needs {}", names.join(", "))
            }
            Self::Gate(gate) => write!(f, "waits for gate {gate}"),
            Self::Undecided(missing) => fmt::Display::fmt(missing, f),
            Self::AgentGate(gate) => write!(f, "gate {gate} holds this agent up"),
            Self::Deferred { until: at } => write!(f, "deferred{}", until(at)),
            Self::Blocked { why } => write!(f, "blocked: {why}"),
            Self::UserAction => f.write_str("only a person can do it"),
            Self::Excluded => f.write_str("excludes this agent"),
            Self::Bound(agent) => write!(f, "only for {agent}"),
            Self::OutsideScope(scope) => write!(f, "{scope} is outside what the goal may write"),
            Self::HeldBy { holder, until: at } => write!(f, "held by {holder}{}", until(at)),
            Self::Overlap { todo, until: at } => write!(f, "writes where {todo} does{}", until(at)),
            Self::Resource { resource, until: at } => write!(f, "{resource} is in use{}", until(at)),
            Self::Capability(capability) => write!(f, "needs capability {capability}"),
            Self::Buildable(capability) => write!(f, "needs capability {capability}, which can be built"),
            Self::NotGranted(capability) => write!(f, "needs {capability}, which an owner grants"),
            Self::Resumes { when, met: false } => write!(f, "deferred until {when} is closed"),
            Self::Resumes { when, met: true } => write!(f, "deferred, and {when} is closed"),
            Self::Monitor => f.write_str("a monitor is polled, not claimed"),
            Self::NotDue { at } => write!(f, "due {at}"),
            Self::MonitorEnded => f.write_str("its time has ended"),
        }
    }
}

/// For whom, and when.
#[derive(Debug, Clone, Copy)]
pub struct Lane<'a> {
    /// The goal.
    pub goal: &'a GoalId,
    /// Who would do it.
    pub holder: &'a Holder,
    /// What that one can do, registered and present.
    pub capabilities: &'a BTreeSet<CapabilityId>,
    /// What an owner has granted it.
    pub granted: &'a [CapabilityId],
    /// Ledger time.
    pub now: Timestamp,
}

impl Lane<'_> {
    fn holds(&self, state: &State, id: TodoId, claim: &Claim) -> bool {
        claim.holder == *self.holder || state.is_addressed_to(id, self.holder)
    }

    /// The claim of another one on a todo that still stands.
    fn others<'s>(&self, state: &State, id: TodoId, todo: &'s Todo) -> Option<&'s Claim> {
        todo.claim.as_ref().filter(|claim| !self.holds(state, id, claim) && !claim.is_expired(self.now))
    }
}

/// Everything in the way of one todo; empty means it could run now.
#[must_use]
pub fn hindrances(state: &State, lane: &Lane<'_>, id: TodoId, todo: &Todo) -> Vec<Hindrance> {
    hindrances_among(state, lane, &held_by_others(state, lane), id, todo)
}

/// Todos held by others, of any goal, with the end of their leases.
fn held_by_others<'a>(state: &'a State, lane: &Lane<'_>) -> Vec<(TodoId, &'a Todo, Option<Timestamp>)> {
    let held = state.todos.iter().filter_map(|(id, todo)| {
        let claim = lane.others(state, *id, todo)?;
        Some((*id, todo, claim.lease.as_ref().map(|lease| lease.until)))
    });
    held.collect()
}

fn hindrances_among(
    state: &State,
    lane: &Lane<'_>,
    held: &[(TodoId, &Todo, Option<Timestamp>)],
    id: TodoId,
    todo: &Todo,
) -> Vec<Hindrance> {
    let mut found = Vec::new();
    if let TodoStatus::Deferred { when: Some(when), .. } = todo.status {
        found.push(Hindrance::Resumes { when, met: has_happened(state, when) });
    }
    let under_way = todo.claim.as_ref().is_some_and(|claim| lane.holds(state, id, claim));
    found.extend(own_hindrances(lane, todo, under_way));
    if let Some(goal) = state.goals.get(&todo.goal) {
        let outside = todo.spec.write.iter().find(|scope| !goal.may_write(scope));
        found.extend(outside.cloned().map(Hindrance::OutsideScope));
    }
    found.extend(todo.gates.iter().map(|gate| Hindrance::Gate(*gate)));
    found.extend(undecided(state, id, todo, lane.now).map(Hindrance::Undecided));
    if let Some(claim) = lane.others(state, id, todo) {
        let until = claim.lease.as_ref().map(|lease| lease.until);
        found.push(Hindrance::HeldBy { holder: claim.holder.clone(), until });
    }
    for (other, held, until) in held.iter().filter(|(other, ..)| *other != id) {
        if first_overlap(&todo.spec.write, &held.spec.write).is_some() {
            found.push(Hindrance::Overlap { todo: *other, until: *until });
        }
        if let Some(resource) = todo.spec.resources.iter().find(|name| held.spec.resources.contains(name)) {
            found.push(Hindrance::Resource { resource: resource.clone(), until: *until });
        }
    }
    for resource in &todo.spec.resources {
        let claim = state.resources.get(resource).and_then(|slot| slot.held.as_ref());
        if let Some(claim) = claim.filter(|claim| claim.holder != *lane.holder && !claim.is_expired(lane.now))
        {
            let until = claim.lease.as_ref().map(|lease| lease.until);
            found.push(Hindrance::Resource { resource: resource.clone(), until });
        }
    }
    found
}

/// Decisions that a todo requires, that no approval covers, and that no gate on it asks for: such a gate is in the way
/// itself.
pub(super) fn undecided(
    state: &State,
    id: TodoId,
    todo: &Todo,
    now: Timestamp,
) -> impl Iterator<Item = Uncovered> {
    let needs = todo.spec.requires_decision.iter();
    let missing = needs.filter_map(move |need| state.covering(id, todo, need, now).err());
    missing.filter(|missing| !missing.asked.is_some_and(|gate| todo.gates.contains(&gate)))
}

/// What is in the way without looking at other work.
fn own_hindrances(lane: &Lane<'_>, todo: &Todo, under_way: bool) -> Vec<Hindrance> {
    let mut found = Vec::new();
    match &todo.status {
        TodoStatus::Open => {}
        TodoStatus::Blocked { why } => found.push(Hindrance::Blocked { why: why.clone() }),
        TodoStatus::Deferred { when: Some(_), .. } => {}
        TodoStatus::Deferred { until: Some(at), .. } if *at <= lane.now => {}
        TodoStatus::Deferred { until, .. } => found.push(Hindrance::Deferred { until: *until }),
    }
    if let (Some(watch), Some(monitor)) = (&todo.watch, &todo.spec.monitor) {
        if monitor.until.is_some_and(|until| until <= lane.now) {
            found.push(Hindrance::MonitorEnded);
        } else if watch.due > lane.now {
            found.push(Hindrance::NotDue { at: watch.due });
        }
    }
    // A need that was reopened does not stop what is under way.
    if !todo.unmet.is_empty() && !under_way {
        found.push(Hindrance::Needs(todo.unmet.iter().copied().collect()));
    }
    // What agents may and can do says nothing about a person.
    let Some(agent) = lane.holder.actor.agent() else { return found };
    if todo.spec.class == TodoClass::UserAction {
        found.push(Hindrance::UserAction);
    } else {
        if todo.spec.excluded.contains(agent) {
            found.push(Hindrance::Excluded);
        }
        if let Some(bound) = todo.spec.bound.as_ref().filter(|bound| *bound != agent) {
            found.push(Hindrance::Bound(bound.clone()));
        }
        let lacking = todo.spec.requires.iter().filter(|capability| !lane.capabilities.contains(*capability));
        found.extend(lacking.map(|capability| Hindrance::Capability(capability.clone())));
        let lacking =
            todo.spec.buildable.iter().filter(|capability| !lane.capabilities.contains(*capability));
        found.extend(lacking.map(|capability| Hindrance::Buildable(capability.clone())));
        let lacking = todo.spec.granted.iter().filter(|capability| !lane.granted.contains(capability));
        found.extend(lacking.map(|capability| Hindrance::NotGranted(capability.clone())));
    }
    found
}

/// Whether what a deferred todo waits for is no longer open.
fn has_happened(state: &State, when: ResumeWhen) -> bool {
    match when {
        ResumeWhen::Todo(todo) => !state.todos.contains_key(&todo),
        ResumeWhen::Gate(gate) => !state.gates.contains_key(&gate),
    }
}

/// The open work of a goal as one holder sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontier {
    /// What could run now, best first.
    pub runnable: Vec<TodoId>,
    /// Monitors that are to be looked at now, best first.
    pub due: Vec<TodoId>,
    /// What cannot, and everything in the way of it.
    pub waiting: BTreeMap<TodoId, Vec<Hindrance>>,
}

/// Sorts the open work of a goal: mine before unclaimed, then priority, then the order in which it was planned.
#[must_use]
pub fn frontier(state: &State, lane: &Lane<'_>) -> Frontier {
    let (mut runnable, mut due) = (Vec::new(), Vec::new());
    let mut waiting = BTreeMap::new();
    let held = held_by_others(state, lane);
    for (id, todo) in state.todos.iter().filter(|(_, todo)| todo.goal == *lane.goal) {
        let found = hindrances_among(state, lane, &held, *id, todo);
        if found.is_empty() {
            let mine = todo.claim.as_ref().is_some_and(|claim| lane.holds(state, *id, claim))
                || todo.spec.bound.is_some();
            let list = if todo.watch.is_some() { &mut due } else { &mut runnable };
            list.push((!mine, todo.spec.priority, todo.added, *id));
        } else {
            waiting.insert(*id, found);
        }
    }
    let sorted = |mut list: Vec<(bool, Priority, Seq, TodoId)>| {
        list.sort_unstable();
        list.into_iter().map(|(.., id)| id).collect()
    };
    Frontier { runnable: sorted(runnable), due: sorted(due), waiting }
}
