//! The contract of a lease with a key: whoever acts on the todo shows the key, and a key opens one lease, once.

use super::command::{Close, LeaseRenew, TodoClaim, TodoDelegate, TodoHandOver, TodoRelease, TodoUpdate};
use super::todo::check_epoch;
use super::{Context, Decided, Refusal, bounded};
use crate::event::{Holder, LeaseTarget, TodoChange};
use crate::id::{LeaseKey, TodoId};
use crate::state::Todo;

/// What a command shows of the lease under which it acts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shown<'a> {
    /// The epoch.
    pub epoch: Option<u64>,
    /// The key.
    pub key: Option<&'a LeaseKey>,
    /// The version.
    pub version: Option<u64>,
}

macro_rules! shows {
    ($($command:ty),*) => {$(
        impl<'a> From<&'a $command> for Shown<'a> {
            fn from(command: &'a $command) -> Self {
                Self { epoch: command.epoch, key: command.key.as_ref(), version: command.version }
            }
        }
    )*};
}

shows!(Close, LeaseRenew, TodoDelegate, TodoHandOver, TodoRelease, TodoUpdate);

impl Shown<'_> {
    /// Refuses what shows a part of another lease than the one that stands.
    pub(super) fn matches(self, context: &Context<'_>, id: TodoId, todo: &Todo) -> Result<(), Refusal> {
        check_epoch(LeaseTarget::Todo(id), self.epoch, todo.epoch)?;
        if let Some(key) = self.key {
            let claim = todo.claim.as_ref().filter(|claim| !claim.is_expired(context.now));
            let Some(lease) = claim.and_then(|claim| claim.lease.as_ref()) else {
                return Err(Refusal::LeaseNotActive { todo: id, key: key.clone() });
            };
            if lease.key.as_ref() != Some(key) {
                return Err(Refusal::KeyMismatch { todo: id, key: key.clone() });
            }
        }
        version(id, todo, self.version)
    }

    /// Refuses the holder of a lease with a key if neither the key nor the epoch is shown.
    pub(super) fn is_enough(
        self,
        context: &Context<'_>,
        holder: &Holder,
        id: TodoId,
        todo: &Todo,
    ) -> Result<(), Refusal> {
        let mine = todo.claim.as_ref().filter(|claim| claim.holder == *holder);
        let keyed = mine.and_then(|claim| claim.live_key(context.now)).is_some();
        if keyed && self.key.is_none() && self.epoch.is_none() {
            return Err(Refusal::KeyRequired { todo: id, epoch: todo.epoch });
        }
        Ok(())
    }
}

fn version(id: TodoId, todo: &Todo, given: Option<u64>) -> Result<(), Refusal> {
    match given {
        Some(given) if given != todo.version => {
            Err(Refusal::StaleVersion { todo: id, given, current: todo.version })
        }
        _ => Ok(()),
    }
}

/// Refuses a key that opened a lease on this todo before.
pub(super) fn unused(context: &Context<'_>, todo: TodoId, key: Option<&LeaseKey>) -> Result<(), Refusal> {
    match (key, &context.history.lease) {
        (Some(key), Some(past)) => Err(Refusal::KeyReused { key: key.clone(), todo, seq: past.seq }),
        _ => Ok(()),
    }
}

/// Whether a claim may open a lease with its key. The same request again is answered with the record of that lease; if
/// the lease still lasts and no turn is open on the todo, the claim goes on and opens one.
pub(super) fn opening(
    context: &Context<'_>,
    holder: &Holder,
    command: &TodoClaim,
    todo: &Todo,
) -> Result<Option<Decided>, Refusal> {
    let id = command.todo;
    let Some(key) = &command.key else { return version(id, todo, command.version).map(|()| None) };
    if holder.actor.agent().is_none() {
        return Err(Refusal::KeyForAgents { todo: id });
    }
    let mine = todo.claim.as_ref().filter(|claim| claim.holder == *holder && !claim.is_expired(context.now));
    let live = mine.and_then(|claim| claim.lease.as_ref());
    let Some(past) = &context.history.lease else {
        return match live.filter(|lease| lease.key.is_some()) {
            Some(lease) => Err(Refusal::HeldAlready { on: LeaseTarget::Todo(id), until: lease.until }),
            None => version(id, todo, command.version).map(|()| None),
        };
    };
    let wrote = past.write.as_ref().unwrap_or(&todo.spec.write);
    let same = command.ttl_ms.is_none_or(|ttl| ttl == past.ttl_ms)
        && command.write.as_ref().is_none_or(|write| write == wrote);
    if live.is_none_or(|lease| lease.key.as_ref() != Some(key)) || !same {
        return Err(Refusal::KeyReused { key: key.clone(), todo: id, seq: past.seq });
    }
    let in_turn = context.state.turn_on(id).is_some_and(|(_, turn)| turn.holder == *holder);
    Ok(in_turn.then_some(Decided::Already(past.seq)))
}

/// The change to what a todo may write, if it is one; inside what its goal may write.
pub(super) fn rescoped(
    context: &Context<'_>,
    todo: &Todo,
    write: Option<&Vec<crate::scope::PathScope>>,
) -> Result<Option<TodoChange>, Refusal> {
    let Some(new) = write.filter(|new| **new != todo.spec.write) else { return Ok(None) };
    bounded("write", new)?;
    if let Some(goal) = context.state.goals.get(&todo.goal)
        && let Some(scope) = new.iter().find(|scope| !goal.may_write(scope))
    {
        let (scope, allowed) = (scope.clone(), goal.write.clone());
        return Err(Refusal::OutsideScope { scope, goal: todo.goal.clone(), allowed });
    }
    Ok(Some(TodoChange::Write { old: todo.spec.write.clone(), new: new.clone() }))
}
