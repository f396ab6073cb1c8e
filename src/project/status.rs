//! What is so in one goal, for the person who asks: what needs me, what runs, what waits until when, what it cost.

use std::collections::BTreeSet;

use crate::decide::Hindrance;
use crate::decide::frontier::{Lane, frontier};
use crate::event::{Holder, TodoClass};
use crate::id::{Actor, GateId, GoalId, TodoId, TurnId};
use crate::state::{Gate, Goal, OpenCriterion, Quota, State, Todo};
use crate::time::Timestamp;

/// A todo that someone works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running<'a> {
    /// The todo.
    pub id: TodoId,
    /// What it is.
    pub todo: &'a Todo,
    /// Who.
    pub holder: &'a Holder,
    /// The open turn, if it is an agent's.
    pub turn: Option<TurnId>,
    /// When the lease expires; absent for a person.
    pub until: Option<Timestamp>,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// One goal, read whole: every list is complete, the renderer shortens and says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status<'a> {
    /// The goal's name.
    pub id: &'a GoalId,
    /// The goal.
    pub goal: &'a Goal,
    /// Open gates, oldest first.
    pub gates: Vec<(GateId, &'a Gate)>,
    /// Todos that only a person can do and that nothing else holds up.
    pub user_actions: Vec<(TodoId, &'a Todo)>,
    /// What runs.
    pub running: Vec<Running<'a>>,
    /// What could run, best first; then monitors that are due.
    pub ready: Vec<(TodoId, &'a Todo)>,
    /// What cannot run, and why: what is due at a known instant first.
    pub waiting: Vec<(TodoId, &'a Todo, Vec<Hindrance>)>,
    /// Criteria that no current evidence shows.
    pub open_criteria: Vec<OpenCriterion>,
    /// What the goal no longer shows, if it is completed.
    pub findings: Vec<OpenCriterion>,
    /// Quota and spend.
    pub quota: Option<&'a Quota>,
}

/// Reads one goal as its owner sees it.
#[must_use]
pub fn status<'a>(state: &'a State, id: &'a GoalId, goal: &'a Goal, now: Timestamp) -> Status<'a> {
    // A reader that holds nothing and can do everything an agent can: what hinders it hinders everyone.
    let reader = Holder { actor: Actor::System, session: None };
    let capabilities: BTreeSet<_> = state
        .todos
        .values()
        .flat_map(|todo| todo.spec.requires.iter().chain(&todo.spec.buildable).cloned())
        .collect();
    let granted: Vec<_> = state.agents.values().flat_map(|agent| agent.granted.iter().cloned()).collect();
    let lane = Lane { goal: id, holder: &reader, capabilities: &capabilities, granted: &granted, now };
    let frontier = frontier(state, &lane);
    let person = |todo: &Todo| todo.spec.class == TodoClass::UserAction;
    let todo = |id: &TodoId| state.todos.get(id).map(|todo| (*id, todo));
    let can_run = frontier.runnable.iter().chain(&frontier.due);
    let (user_actions, mut ready): (Vec<_>, Vec<_>) =
        can_run.filter_map(todo).partition(|(_, todo)| person(todo));
    let mut running = Vec::new();
    let mut waiting = Vec::new();
    for (id, found) in frontier.waiting {
        let Some(todo) = state.todos.get(&id) else { continue };
        match &todo.claim {
            Some(claim) if !claim.is_expired(now) => {
                let turn = state.turn_on(id);
                running.push(Running {
                    id,
                    todo,
                    holder: &claim.holder,
                    turn: turn.map(|(turn, _)| turn),
                    until: claim.lease.as_ref().map(|lease| lease.until),
                    since: turn.map(|(_, turn)| turn.since),
                });
            }
            _ => waiting.push((id, todo, found)),
        }
    }
    // Work for an agent that has left is nobody's until it is given to another.
    let left = |todo: &Todo| {
        let agent = todo.spec.bound.as_ref().and_then(|agent| state.agents.get(agent));
        todo.spec.bound.clone().filter(|_| agent.is_some_and(|agent| agent.retired))
    };
    ready.retain(|(id, todo)| match left(todo) {
        None => true,
        Some(agent) => {
            waiting.push((*id, *todo, vec![Hindrance::Bound(agent)]));
            false
        }
    });
    waiting.sort_by_key(|(_, todo, found)| {
        (due(found).unwrap_or(Timestamp::MAX), todo.spec.priority, todo.added)
    });
    Status {
        id,
        goal,
        gates: state
            .gates
            .iter()
            .filter(|(_, gate)| gate.goal == *id)
            .map(|(id, gate)| (*id, gate))
            .collect(),
        user_actions,
        running,
        ready,
        waiting,
        open_criteria: state.open_criteria(goal, now),
        findings: state.findings(goal, now),
        quota: state.quotas.get(id),
    }
}

/// When a todo may run, if that is known for everything in its way.
#[must_use]
pub fn due(found: &[Hindrance]) -> Option<Timestamp> {
    let instant = |one: &Hindrance| match one {
        Hindrance::NotDue { at } => Some(*at),
        Hindrance::Deferred { until }
        | Hindrance::HeldBy { until, .. }
        | Hindrance::Overlap { until, .. }
        | Hindrance::Resource { until, .. } => *until,
        _ => None,
    };
    let instants: Option<Vec<Timestamp>> = found.iter().map(instant).collect();
    instants?.into_iter().max()
}
