//! Agents and owners.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, Totals, entry};
use crate::event::{
    AgentChanged, AgentRegistered, AgentRetired, Budget, LedgerCreated, OwnerRegistered, OwnerRevoked,
};
use crate::id::{CapabilityId, Seq};

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What it can always do.
    pub capabilities: Vec<CapabilityId>,
    /// What an owner has granted it.
    pub granted: Vec<CapabilityId>,
    /// What it may use in all.
    pub budget: Budget,
    /// What it has used, since it was registered.
    pub total: Totals,
    /// The record that registered it.
    pub since: Seq,
    /// Whether it has left.
    pub retired: bool,
}

/// A human who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The record that registered it.
    pub since: Seq,
    /// Whether it no longer decides.
    pub revoked: bool,
}

impl State {
    pub(super) fn ledger_created(&mut self, at: &At, event: &LedgerCreated) -> Fold {
        if at.seq != Seq(1) || self.ledger.is_some() {
            return Err("only the first record creates the ledger".to_owned());
        }
        self.ledger = Some(event.ledger);
        Ok(())
    }

    pub(super) fn agent_registered(&mut self, at: &At, event: &AgentRegistered) -> Fold {
        let capabilities = event.capabilities.clone();
        let agent = Agent {
            capabilities,
            granted: Vec::new(),
            budget: Budget::default(),
            total: Totals::default(),
            since: at.seq,
            retired: false,
        };
        match self.agents.insert(event.agent.clone(), agent) {
            Some(before) if !before.retired => Err(format!("{} is registered", event.agent)),
            _ => Ok(()),
        }
    }

    pub(super) fn agent_changed(&mut self, event: &AgentChanged) -> Fold {
        let agent = entry(&mut self.agents, &event.agent, "registered")?;
        agent.capabilities.clone_from(&event.capabilities);
        agent.granted.clone_from(&event.granted);
        Ok(())
    }

    pub(super) fn agent_retired(&mut self, event: &AgentRetired) -> Fold {
        entry(&mut self.agents, &event.agent, "registered")?.retired = true;
        Ok(())
    }

    pub(super) fn owner_registered(&mut self, at: &At, event: &OwnerRegistered) -> Fold {
        match self.owners.insert(event.owner.clone(), Owner { since: at.seq, revoked: false }) {
            Some(before) if !before.revoked => Err(format!("{} is registered", event.owner)),
            _ => Ok(()),
        }
    }

    pub(super) fn owner_revoked(&mut self, event: &OwnerRevoked) -> Fold {
        entry(&mut self.owners, &event.owner, "registered")?.revoked = true;
        Ok(())
    }
}
