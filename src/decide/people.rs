//! Agents and owners.

use super::command::{AgentRegister, AgentRetire, OwnerRegister, OwnerRevoke};
use super::{Context, Decided, Refusal, bounded, one};
use crate::event::{AgentRegistered, AgentRetired, OwnerRegistered, OwnerRevoked};
use crate::id::{Actor, LOCAL};

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
    one(actor, AgentRegistered { agent: command.agent.clone(), capabilities: command.capabilities.clone() })
}

pub(super) fn agent_retire(context: &Context<'_>, command: &AgentRetire) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("retire an agent")?);
    match context.state.agents.get(&command.agent) {
        None => Err(Refusal::AgentUnknown { agent: command.agent.clone() }),
        Some(agent) if agent.retired => Err(Refusal::AgentRetired { agent: command.agent.clone() }),
        Some(_) => one(actor, AgentRetired { agent: command.agent.clone(), why: command.why.clone() }),
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
    one(Actor::Owner(actor), OwnerRegistered { owner: command.owner.clone() })
}

pub(super) fn owner_revoke(context: &Context<'_>, command: &OwnerRevoke) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("revoke an owner")?);
    let known = context.state.owners.get(&command.owner).is_some_and(|owner| !owner.revoked);
    if !known {
        return Err(Refusal::OwnerUnknown { owner: command.owner.clone() });
    }
    one(actor, OwnerRevoked { owner: command.owner.clone(), why: command.why.clone() })
}
