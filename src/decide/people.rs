//! Agents and owners.

use super::command::{AgentRegister, AgentRetire, OwnerRegister, OwnerRevoke};
use super::{Context, Decided, Draft, Refusal, bounded};
use crate::event::{
    AgentRegistered, AgentRetired, ClaimReleased, LeaseReleased, LeaseTarget, OwnerRegistered, OwnerRevoked,
    TurnClosed, TurnEnd,
};
use crate::id::{Actor, AgentId, LOCAL, OwnerId};
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

pub(super) fn agent_retire(context: &Context<'_>, command: &AgentRetire) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("retire an agent")?);
    match context.state.agents.get(&command.agent) {
        None => Err(Refusal::AgentUnknown { agent: command.agent.clone() }),
        Some(agent) if agent.retired => Err(Refusal::AgentRetired { agent: command.agent.clone() }),
        Some(_) => {
            let mut draft = context.draft();
            let_go(&mut draft, &Actor::Agent(command.agent.clone()), &command.why);
            draft.push(AgentRetired { agent: command.agent.clone(), why: command.why.clone() });
            draft.by(actor)
        }
    }
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
