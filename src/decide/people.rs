//! Agents and owners.

use std::collections::BTreeSet;

use super::command::{
    AgentGrant, AgentRegister, AgentRetire, AgentRevoke, AgentUpdate, OwnerRegister, OwnerRevoke,
};
use super::{Context, Decided, Draft, Refusal, bounded, one};
use crate::event::{
    AgentChanged, AgentRegistered, AgentRetired, ClaimReleased, LeaseReleased, LeaseTarget, OwnerRegistered,
    OwnerRevoked, TurnClosed, TurnEnd,
};
use crate::id::{Actor, AgentId, CapabilityId, LOCAL, OwnerId};
use crate::state::Agent;
use crate::text::Text;

/// What ends when someone leaves: their turns, claims and leases. Nobody else could end a turn of theirs, and a person's
/// claim would never expire.
fn let_go(draft: &mut Draft<'_>, actor: &Actor, why: &Text) {
    let state = draft.state;
    for (id, turn) in state.turns.iter().filter(|(_, turn)| turn.holder.actor == *actor) {
        let end = if turn.completed { TurnEnd::Done } else { TurnEnd::Abandoned };
        draft.push(TurnClosed { end, id: *id, outcome: turn.outcome, why: Some(why.clone()) });
    }
    for (id, todo) in &state.todos {
        if todo.claim.as_ref().is_some_and(|claim| claim.holder.actor == *actor) {
            draft.push(ClaimReleased { epoch: todo.epoch, todo: *id, why: why.clone() });
        }
    }
    for (name, slot) in &state.resources {
        if slot.held.as_ref().is_some_and(|claim| claim.holder.actor == *actor) {
            draft.push(LeaseReleased { epoch: slot.epoch, on: LeaseTarget::Resource(name.clone()) });
        }
    }
}

/// The built-in agent or owner leaves when the first of its kind is registered.
fn local_leaves(draft: &mut Draft<'_>, local: &Actor) {
    let_go(draft, local, &Text::own("others are registered now"));
}

/// An agent may register itself: a registration names a peer, it grants nothing.
pub(super) fn agent_register(context: &Context<'_>, command: &AgentRegister) -> Result<Decided, Refusal> {
    bounded("capabilities", &command.capabilities)?;
    let known = context.state.agents.get(&command.agent).is_some_and(|agent| !agent.retired);
    if known || command.agent.as_str() == LOCAL {
        return Err(Refusal::Exists { what: "agent", name: command.agent.to_string() });
    }
    let actor = match (&context.caller.owner, &context.caller.agent) {
        (None, Some(agent)) if *agent == command.agent => Actor::Agent(agent.clone()),
        _ => context.founder()?,
    };
    let mut draft = context.draft();
    if context.state.agents.is_empty() {
        local_leaves(&mut draft, &Actor::Agent(AgentId::local()));
    }
    draft.push(AgentRegistered { agent: command.agent.clone(), capabilities: command.capabilities.clone() });
    draft.by(actor)
}

pub(super) fn known<'a>(context: &Context<'a>, agent: &AgentId) -> Result<&'a Agent, Refusal> {
    match context.state.agents.get(agent) {
        None => Err(Refusal::AgentUnknown { agent: agent.clone() }),
        Some(found) if found.retired => Err(Refusal::AgentRetired { agent: agent.clone() }),
        Some(found) => Ok(found),
    }
}

/// One list with more and less in it, each once.
fn changed(list: &[CapabilityId], more: &[CapabilityId], less: &[CapabilityId]) -> Vec<CapabilityId> {
    let all: BTreeSet<&CapabilityId> = list.iter().chain(more).collect();
    all.into_iter().filter(|one| !less.contains(one)).cloned().collect()
}

/// What a peer can do, as it says itself, or an owner does. It grants nothing.
pub(super) fn agent_update(context: &Context<'_>, command: &AgentUpdate) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let AgentUpdate { agent, add, drop, why } = command;
    let found = known(context, agent)?;
    if actor.agent().is_some_and(|me| me != agent) {
        return Err(Refusal::OwnerOnly { what: "say what another agent can do" });
    }
    let capabilities = changed(&found.capabilities, add, drop);
    change(actor, agent, found, capabilities, found.granted.clone(), why)
}

pub(super) fn agent_grant(context: &Context<'_>, command: &AgentGrant) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("grant a capability")?);
    let found = known(context, &command.agent)?;
    let granted = changed(&found.granted, &command.capabilities, &[]);
    change(actor, &command.agent, found, found.capabilities.clone(), granted, &command.why)
}

pub(super) fn agent_revoke(context: &Context<'_>, command: &AgentRevoke) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("take a grant back")?);
    let found = known(context, &command.agent)?;
    let granted = changed(&found.granted, &[], &command.capabilities);
    change(actor, &command.agent, found, found.capabilities.clone(), granted, &command.why)
}

fn change(
    actor: Actor,
    agent: &AgentId,
    found: &Agent,
    capabilities: Vec<CapabilityId>,
    granted: Vec<CapabilityId>,
    why: &Text,
) -> Result<Decided, Refusal> {
    bounded("capabilities", &capabilities)?;
    bounded("granted", &granted)?;
    if capabilities == found.capabilities && granted == found.granted {
        return Err(Refusal::NothingToChange);
    }
    one(actor, AgentChanged { agent: agent.clone(), capabilities, granted, why: why.clone() })
}

pub(super) fn agent_retire(context: &Context<'_>, command: &AgentRetire) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("retire an agent")?);
    known(context, &command.agent)?;
    let mut draft = context.draft();
    let_go(&mut draft, &Actor::Agent(command.agent.clone()), &command.why);
    draft.push(AgentRetired { agent: command.agent.clone(), why: command.why.clone() });
    draft.by(actor)
}

/// The first owner registers itself; later ones are named by an owner.
pub(super) fn owner_register(context: &Context<'_>, command: &OwnerRegister) -> Result<Decided, Refusal> {
    let known = context.state.owners.get(&command.owner).is_some_and(|owner| !owner.revoked);
    if known || command.owner.as_str() == LOCAL {
        return Err(Refusal::Exists { what: "owner", name: command.owner.to_string() });
    }
    let first = context.state.owners.is_empty() && context.caller.agent.is_none();
    let actor = if first { command.owner.clone() } else { context.owner("register an owner")? };
    let mut draft = context.draft();
    if context.state.owners.is_empty() {
        local_leaves(&mut draft, &Actor::Owner(OwnerId::local()));
    }
    draft.push(OwnerRegistered { owner: command.owner.clone() });
    draft.by(Actor::Owner(actor))
}

pub(super) fn owner_revoke(context: &Context<'_>, command: &OwnerRevoke) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("revoke an owner")?);
    let known = context.state.owners.get(&command.owner).is_some_and(|owner| !owner.revoked);
    if !known {
        return Err(Refusal::OwnerUnknown { owner: command.owner.clone() });
    }
    if context.state.owners.values().filter(|owner| !owner.revoked).count() == 1 {
        return Err(Refusal::LastOwner { owner: command.owner.clone() });
    }
    let mut draft = context.draft();
    let_go(&mut draft, &Actor::Owner(command.owner.clone()), &command.why);
    draft.push(OwnerRevoked { owner: command.owner.clone(), why: command.why.clone() });
    draft.by(actor)
}
