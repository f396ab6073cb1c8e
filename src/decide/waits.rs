//! What the work that cannot run waits for in the end: a person, others, a time, or nothing that will ever come.

use std::collections::{BTreeMap, BTreeSet};

use super::frontier::{Frontier, Hindrance, Lane};
use crate::event::ResumeWhen;
use crate::id::{CapabilityId, GateId, TodoId};
use crate::state::{Agent, State, Todo};
use crate::time::Timestamp;

/// What the work that cannot run waits for, each todo in exactly one place.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pub stuck: Vec<TodoId>,
    pub human: Vec<TodoId>,
    pub others: Vec<TodoId>,
    pub later: Vec<TodoId>,
    pub gates: BTreeSet<GateId>,
    pub grants: BTreeSet<(TodoId, CapabilityId)>,
    pub earliest: Option<Timestamp>,
}

/// What a todo waits for in the end, weakest first: the strongest of what is in its way and of what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WaitsFor {
    Later,
    Others,
    Human,
    Stuck,
}

impl Waits {
    pub fn of(state: &State, lane: &Lane<'_>, work: &Frontier) -> Self {
        let mut waits = Self::default();
        let mut settled = BTreeMap::new();
        loop {
            let before = settled.len();
            for (id, found) in &work.waiting {
                let what = match settled.get(id) {
                    None => waits.settle(state, lane, *id, found, &settled),
                    Some(_) => None,
                };
                settled.extend(what.map(|what| (*id, what)));
            }
            if settled.len() == before {
                break;
            }
        }
        for id in work.waiting.keys() {
            // What cannot be settled needs itself by way of others.
            match settled.get(id).copied().unwrap_or(WaitsFor::Stuck) {
                WaitsFor::Stuck => waits.stuck.push(*id),
                WaitsFor::Human => waits.human.push(*id),
                WaitsFor::Others => waits.others.push(*id),
                WaitsFor::Later => waits.later.push(*id),
            }
        }
        waits
    }

    /// What one todo waits for; none while something that it needs is not settled.
    fn settle(
        &mut self,
        state: &State,
        lane: &Lane<'_>,
        id: TodoId,
        found: &[Hindrance],
        settled: &BTreeMap<TodoId, WaitsFor>,
    ) -> Option<WaitsFor> {
        let todo = state.todos.get(&id)?;
        let mut strongest = WaitsFor::Later;
        let mut ends = None;
        for one in found {
            let (what, end) = match one {
                Hindrance::Needs(needs) => {
                    let below: Option<Vec<WaitsFor>> =
                        needs.iter().map(|need| settled.get(need).copied()).collect();
                    (below?.into_iter().max().unwrap_or(WaitsFor::Stuck), None)
                }
                Hindrance::Gate(gate) | Hindrance::AgentGate(gate) => {
                    self.gates.insert(*gate);
                    (WaitsFor::Human, None)
                }
                Hindrance::Undecided(missing) => {
                    self.gates.extend(missing.asked);
                    (WaitsFor::Human, None)
                }
                // A person is asked for only what a person could do now.
                Hindrance::UserAction if found.len() == 1 => (WaitsFor::Human, None),
                Hindrance::UserAction | Hindrance::Buildable(_) => (WaitsFor::Later, None),
                Hindrance::Resumes { when: ResumeWhen::Todo(todo), met: false } => {
                    (*settled.get(todo).or_else(|| elsewhere(state, lane, *todo))?, None)
                }
                Hindrance::Resumes { when: ResumeWhen::Gate(gate), met: false } => {
                    self.gates.insert(*gate);
                    (WaitsFor::Human, None)
                }
                Hindrance::NotGranted(capability) => {
                    let peer = peer_may(state, lane, todo, |peer| peer.granted.contains(capability));
                    if !peer {
                        self.grants.insert((id, capability.clone()));
                    }
                    (if peer { WaitsFor::Others } else { WaitsFor::Human }, None)
                }
                Hindrance::Blocked { .. }
                | Hindrance::Deferred { until: None }
                | Hindrance::Resumes { met: true, .. }
                | Hindrance::MonitorEnded
                | Hindrance::Monitor
                | Hindrance::OutsideScope(_) => (WaitsFor::Stuck, None),
                Hindrance::NotDue { at } => (WaitsFor::Later, Some(*at)),
                Hindrance::Deferred { until } => (WaitsFor::Later, *until),
                Hindrance::HeldBy { until, .. }
                | Hindrance::Overlap { until, .. }
                | Hindrance::Resource { until, .. } => (WaitsFor::Others, *until),
                Hindrance::Excluded | Hindrance::Bound(_) => (others_may(state, lane, todo, None), None),
                Hindrance::Capability(needed) => (others_may(state, lane, todo, Some(needed)), None),
            };
            strongest = strongest.max(what);
            ends = [ends, end].into_iter().flatten().min();
        }
        if strongest <= WaitsFor::Others {
            self.earliest = [self.earliest, ends].into_iter().flatten().min();
        }
        Some(strongest)
    }
}

/// A todo that is runnable, or of another goal, will be somebody's.
fn elsewhere(state: &State, lane: &Lane<'_>, todo: TodoId) -> Option<&'static WaitsFor> {
    let other = state.todos.get(&todo)?;
    (other.goal != *lane.goal).then_some(&WaitsFor::Others)
}

/// Work that a peer may take is that peer's; work that no peer may take, or has the capability for, is stuck.
fn others_may(state: &State, lane: &Lane<'_>, todo: &Todo, needed: Option<&CapabilityId>) -> WaitsFor {
    let can = |peer: &Agent| needed.is_none_or(|needed| peer.capabilities.contains(needed));
    if peer_may(state, lane, todo, can) { WaitsFor::Others } else { WaitsFor::Stuck }
}

/// Whether a peer that can do it may take a todo.
fn peer_may(state: &State, lane: &Lane<'_>, todo: &Todo, can: impl Fn(&Agent) -> bool) -> bool {
    let me = lane.holder.actor.agent();
    state.agents.iter().any(|(name, agent)| {
        Some(name) != me
            && !agent.retired
            && !todo.spec.excluded.contains(name)
            && todo.spec.bound.as_ref().is_none_or(|bound| bound == name)
            && can(agent)
    })
}
