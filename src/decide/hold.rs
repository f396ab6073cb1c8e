//! Giving back, passing on, and leasing.

use super::command::{LeaseAcquire, LeaseRelease, LeaseRenew, TodoDelegate, TodoHandOver, TodoRelease};
use super::frontier::{Hindrance, hindrances};
use super::lease::{Shown, unused as unused_key};
use super::todo::{changeable, check_epoch, touchable, turn_ended};
use super::{Context, Decided, Refusal, bounded, in_range, one};
use crate::event::{
    ClaimDelegated, ClaimHandedOver, ClaimReleased, Delegable, Holder, LeaseGranted, LeaseReleased,
    LeaseRenewed, LeaseTakenOver, LeaseTarget, TurnEnd,
};
use crate::id::{Actor, AgentId, GoalId, ResourceId, TodoId};
use crate::limits::{LEASE_DEFAULT_MS, LEASE_MAX_MS, LEASE_MIN_MS};
use crate::state::{Claim, GoalStatus, Todo};
use crate::time::Timestamp;

/// When a lease taken now expires.
pub(super) fn expiry(context: &Context<'_>, ttl_ms: Option<u64>) -> Result<Timestamp, Refusal> {
    let ttl = in_range("ttl_ms", ttl_ms.unwrap_or(LEASE_DEFAULT_MS), LEASE_MIN_MS, LEASE_MAX_MS)?;
    Ok(context.now.plus_ms(ttl))
}

pub(super) fn release(context: &Context<'_>, command: &TodoRelease) -> Result<Decided, Refusal> {
    let shown = Shown::from(command);
    let (caller, todo) = touchable(context, command.todo, shown, Some(Delegable::Release))?;
    if todo.claim.is_none() {
        return Err(Refusal::NotHeld { on: LeaseTarget::Todo(command.todo) });
    }
    shown.is_enough(context, &caller, command.todo, todo)?;
    let mut draft = context.draft();
    draft.events.extend(turn_ended(context.state, command.todo, TurnEnd::Yielded, &command.why));
    draft.push(ClaimReleased { epoch: todo.epoch, todo: command.todo, why: command.why.clone() });
    draft.by(caller.actor)
}

/// One record: there is no moment at which the work is nobody's.
pub(super) fn hand_over(context: &Context<'_>, command: &TodoHandOver) -> Result<Decided, Refusal> {
    let shown = Shown::from(command);
    let (caller, todo) = changeable(context, command.todo, shown)?;
    let Some(claim) = &todo.claim else {
        return Err(Refusal::NotHeld { on: LeaseTarget::Todo(command.todo) });
    };
    shown.is_enough(context, &caller, command.todo, todo)?;
    unused_key(context, command.todo, command.new_key.as_ref())?;
    present(context, &command.to)?;
    let to = Holder { actor: Actor::Agent(command.to.clone()), session: None };
    if claim.holder == to {
        return Err(Refusal::NothingToChange);
    }
    running(context, &todo.goal)?;
    may_hold(context, &to, command.todo, todo)?;
    let mut draft = context.draft();
    draft.events.extend(turn_ended(context.state, command.todo, TurnEnd::Yielded, &command.why));
    draft.push(ClaimHandedOver {
        epoch: todo.epoch + 1,
        from: claim.holder.clone(),
        key: command.new_key.clone(),
        to,
        todo: command.todo,
        until: Some(expiry(context, command.ttl_ms)?),
        why: command.why.clone(),
    });
    draft.by(caller.actor)
}

fn present(context: &Context<'_>, agent: &AgentId) -> Result<(), Refusal> {
    match context.state.agents.get(agent) {
        None => Err(Refusal::AgentUnknown { agent: agent.clone() }),
        Some(found) if found.retired => Err(Refusal::AgentRetired { agent: agent.clone() }),
        Some(_) => Ok(()),
    }
}

/// Lets a peer act on what the caller, or whoever an owner speaks for, holds.
pub(super) fn delegate(context: &Context<'_>, command: &TodoDelegate) -> Result<Decided, Refusal> {
    let shown = Shown::from(command);
    let (caller, todo) = changeable(context, command.todo, shown)?;
    let Some(claim) = &todo.claim else {
        return Err(Refusal::NotHeld { on: LeaseTarget::Todo(command.todo) });
    };
    shown.is_enough(context, &caller, command.todo, todo)?;
    present(context, &command.to)?;
    bounded("actions", &command.actions)?;
    let known = claim.delegated.get(&command.to);
    let mut actions: Vec<Delegable> = command
        .actions
        .iter()
        .copied()
        .filter(|one| known.is_none_or(|known| !known.contains(one)))
        .collect();
    actions.sort_unstable();
    actions.dedup();
    if actions.is_empty() || claim.holder.actor.agent() == Some(&command.to) {
        return Err(Refusal::NothingToChange);
    }
    let (epoch, to, todo, why) = (todo.epoch, command.to.clone(), command.todo, command.why.clone());
    one(caller.actor, ClaimDelegated { actions, epoch, to, todo, why })
}

/// A lease is granted or prolonged only while turns are given: a pause is not waited out.
fn running(context: &Context<'_>, goal: &GoalId) -> Result<(), Refusal> {
    if let Some(found) = context.state.goals.get(goal).filter(|found| found.status != GoalStatus::Active) {
        return Err(Refusal::GoalNotActive { goal: goal.clone(), status: found.status });
    }
    match context.state.quotas.get(goal) {
        Some(quota) if quota.allowed_slots() == Some(0) => Err(Refusal::QuotaExceeded {
            slots: 1,
            allowed: 0,
            reserved: 0,
            spent: quota.spent_slots(context.now),
            free_at: None,
        }),
        _ => Ok(()),
    }
}

/// A lease that is passed on or prolonged meets what a fresh one would have to, apart from what its holder brings along
/// at the time: others may have taken the paths or the resource since it expired.
fn may_hold(context: &Context<'_>, holder: &Holder, id: TodoId, todo: &Todo) -> Result<(), Refusal> {
    let capabilities = context.capabilities(holder);
    let lane = context.lane(&todo.goal, holder, &capabilities);
    let found = hindrances(context.state, &lane, id, todo).into_iter();
    let repairs = context.state.turn_on(id).is_some_and(|(_, turn)| turn.repairs);
    let brings = |one: &Hindrance| {
        matches!(one, Hindrance::HeldBy { .. } | Hindrance::Capability(_) | Hindrance::Buildable(_))
            || repairs && one.is_repairable()
    };
    let mut found = found.filter(|one| !brings(one));
    found.next().map_or(Ok(()), |hindrance| Err(Refusal::NotRunnable { todo: id, hindrance }))
}

/// Refuses if a todo that another one holds uses the resource.
fn unused(context: &Context<'_>, caller: &Holder, resource: &ResourceId) -> Result<(), Refusal> {
    for (id, todo) in &context.state.todos {
        let claim = todo.claim.as_ref().filter(|claim| !claim.is_expired(context.now));
        if let Some(claim) =
            claim.filter(|claim| claim.holder != *caller && todo.spec.resources.contains(resource))
        {
            return Err(held_by(LeaseTarget::Todo(*id), claim, todo.epoch));
        }
    }
    Ok(())
}

/// Takes a free resource, or one whose lease has expired.
pub(super) fn acquire(context: &Context<'_>, command: &LeaseAcquire) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let until = expiry(context, command.ttl_ms)?;
    unused(context, &caller, &command.resource)?;
    let on = LeaseTarget::Resource(command.resource.clone());
    let slot = context.state.resources.get(&command.resource);
    let epoch = slot.map_or(0, |slot| slot.epoch) + 1;
    match slot.and_then(|slot| slot.held.as_ref()) {
        None => one(caller.actor.clone(), LeaseGranted { epoch, holder: caller, key: None, on, until }),
        Some(claim) if claim.is_expired(context.now) => {
            let expired = claim.lease.as_ref().map_or(context.now, |lease| lease.until);
            let from = claim.holder.clone();
            one(
                caller.actor.clone(),
                LeaseTakenOver { epoch, expired, from, key: None, on, to: caller, until },
            )
        }
        Some(Claim { holder, lease: Some(lease), .. }) if *holder == caller => {
            Err(Refusal::HeldAlready { on, until: lease.until })
        }
        Some(claim) => Err(held_by(on, claim, epoch - 1)),
    }
}

fn held_by(on: LeaseTarget, claim: &Claim, epoch: u64) -> Refusal {
    let until = claim.lease.as_ref().map(|lease| lease.until);
    Refusal::HeldBy { on, holder: claim.holder.clone(), since: claim.since, epoch, until }
}

/// The claim and epoch on a resource, if the caller holds it.
fn held_resource<'a>(
    context: &Context<'a>,
    caller: &Holder,
    resource: &ResourceId,
    given: Option<u64>,
) -> Result<(&'a Claim, u64), Refusal> {
    let on = LeaseTarget::Resource(resource.clone());
    let Some(slot) = context.state.resources.get(resource) else {
        return Err(Refusal::NotLeased { resource: resource.clone() });
    };
    check_epoch(on.clone(), given, slot.epoch)?;
    match &slot.held {
        None => Err(Refusal::NotLeased { resource: resource.clone() }),
        Some(claim) if claim.holder != *caller => Err(held_by(on, claim, slot.epoch)),
        Some(claim) => Ok((claim, slot.epoch)),
    }
}

/// Prolongs from now.
pub(super) fn renew(context: &Context<'_>, command: &LeaseRenew) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let until = expiry(context, command.ttl_ms)?;
    let epoch = match &command.on {
        LeaseTarget::Resource(resource) => {
            let (_, epoch) = held_resource(context, &caller, resource, command.epoch)?;
            unused(context, &caller, resource)?;
            epoch
        }
        LeaseTarget::Todo(id) => {
            let shown = Shown::from(command);
            let (_, todo) = changeable(context, *id, shown)?;
            shown.is_enough(context, &caller, *id, todo)?;
            let mine = todo.claim.as_ref().filter(|claim| claim.holder == caller && claim.lease.is_some());
            mine.ok_or_else(|| Refusal::NotHeld { on: command.on.clone() })?;
            running(context, &todo.goal)?;
            may_hold(context, &caller, *id, todo)?;
            todo.epoch
        }
    };
    one(caller.actor, LeaseRenewed { epoch, key: None, on: command.on.clone(), until })
}

pub(super) fn release_resource(context: &Context<'_>, command: &LeaseRelease) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let (_, epoch) = held_resource(context, &caller, &command.resource, command.epoch)?;
    one(caller.actor, LeaseReleased { epoch, on: LeaseTarget::Resource(command.resource.clone()) })
}
