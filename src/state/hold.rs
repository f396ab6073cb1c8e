//! Claims and leases: who holds what, under which epoch, until when.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, Todo, TodoStatus, entry};
use crate::event::{
    ClaimDelegated, ClaimHandedOver, ClaimReleased, ClaimTaken, Delegable, Holder, LeaseGranted,
    LeaseReleased, LeaseRenewed, LeaseTakenOver, LeaseTarget,
};
use crate::id::{AgentId, LeaseKey, Seq, TodoId};
use crate::time::Timestamp;

/// A right that ends at an instant of ledger time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The record that granted it.
    pub token: Seq,
    /// When it expires.
    pub until: Timestamp,
    /// The key that its holder has to show, if it was taken under one.
    pub key: Option<LeaseKey>,
}

/// Responsibility for a todo. A person's claim has no lease; an agent's always has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Who.
    pub holder: Holder,
    /// The record that began it.
    pub since: Seq,
    /// The bound in time.
    pub lease: Option<Lease>,
    /// What its holder lets peers do, for as long as it lasts.
    pub delegated: BTreeMap<AgentId, BTreeSet<Delegable>>,
}

impl Claim {
    const fn new(holder: Holder, since: Seq, lease: Option<Lease>) -> Self {
        Self { holder, since, lease, delegated: BTreeMap::new() }
    }

    /// Whether its holder lets this one do it.
    #[must_use]
    pub fn lets(&self, other: &Holder, action: Delegable) -> bool {
        let named = other.actor.agent().and_then(|agent| self.delegated.get(agent));
        named.is_some_and(|actions| actions.contains(&action))
    }

    /// The key of its lease, while the lease lasts.
    #[must_use]
    pub fn live_key(&self, now: Timestamp) -> Option<&LeaseKey> {
        self.lease.as_ref().filter(|lease| lease.until > now)?.key.as_ref()
    }

    /// Whether its time has run out, so that a peer may take over.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until <= now)
    }
}

/// The lease on a named resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLease {
    /// The last epoch. It only grows.
    pub epoch: u64,
    /// Who holds it, if anyone does.
    pub held: Option<Claim>,
}

impl State {
    /// Whether the todo was handed to this holder's agent, which no session of it has taken up yet.
    #[must_use]
    pub fn is_addressed_to(&self, id: TodoId, holder: &Holder) -> bool {
        let claim = self.todos.get(&id).and_then(|todo| todo.claim.as_ref());
        let agent = holder.actor.agent();
        let same =
            claim.is_some_and(|claim| claim.holder.session.is_none() && claim.holder.actor.agent() == agent);
        agent.is_some() && same && self.turn_on(id).is_none()
    }

    fn held_todo(&mut self, id: TodoId, epoch: u64) -> Result<&mut Todo, String> {
        let todo = entry(&mut self.todos, &id, "open")?;
        if todo.epoch != epoch || todo.claim.is_none() {
            return Err(format!("{id} is not held under epoch {epoch}"));
        }
        Ok(todo)
    }

    /// Puts a new holder in place; the epoch must be the next one.
    fn hold(todo: &mut Todo, epoch: u64, claim: Claim) -> Fold {
        if epoch != todo.epoch + 1 {
            return Err(format!("epoch {epoch} does not follow {}", todo.epoch));
        }
        todo.epoch = epoch;
        todo.claim = Some(claim);
        // It could be taken, so whatever it had been deferred to has come.
        todo.status = TodoStatus::Open;
        Ok(())
    }

    pub(super) fn claim_taken(&mut self, at: &At, event: &ClaimTaken) -> Fold {
        let todo = entry(&mut self.todos, &event.todo, "open")?;
        if let Some(claim) = &todo.claim {
            return Err(format!("{} is held by {}", event.todo, claim.holder));
        }
        Self::hold(todo, event.epoch, Claim::new(event.holder.clone(), at.seq, None))
    }

    pub(super) fn claim_released(&mut self, event: &ClaimReleased) -> Fold {
        self.held_todo(event.todo, event.epoch)?.claim = None;
        Ok(())
    }

    pub(super) fn claim_handed_over(&mut self, at: &At, event: &ClaimHandedOver) -> Fold {
        let todo = entry(&mut self.todos, &event.todo, "open")?;
        let lease = event.until.map(|until| Lease { token: at.seq, until, key: event.key.clone() });
        todo.version += u64::from(lease.is_some());
        Self::hold(todo, event.epoch, Claim::new(event.to.clone(), at.seq, lease))
    }

    pub(super) fn lease_granted(&mut self, at: &At, event: &LeaseGranted) -> Fold {
        let lease = Lease { token: at.seq, until: event.until, key: event.key.clone() };
        match &event.on {
            LeaseTarget::Todo(id) => {
                let todo = self.held_todo(*id, event.epoch)?;
                let claim = todo.claim.as_mut().filter(|claim| claim.holder == event.holder);
                claim.ok_or("another one holds it")?.lease = Some(lease);
                todo.version += 1;
            }
            LeaseTarget::Resource(name) => {
                let slot =
                    self.resources.entry(name.clone()).or_insert(ResourceLease { epoch: 0, held: None });
                if slot.held.is_some() || event.epoch != slot.epoch + 1 {
                    return Err(format!("{name} is not free under epoch {}", event.epoch));
                }
                slot.epoch = event.epoch;
                slot.held = Some(Claim::new(event.holder.clone(), at.seq, Some(lease)));
            }
        }
        Ok(())
    }

    /// A key lasts no longer than its lease: what is prolonged after its time goes on without one.
    pub(super) fn lease_renewed(&mut self, at: &At, event: &LeaseRenewed) -> Fold {
        let claim = match &event.on {
            LeaseTarget::Todo(id) => {
                let todo = self.held_todo(*id, event.epoch)?;
                todo.version += 1;
                todo.claim.as_mut()
            }
            LeaseTarget::Resource(name) => {
                let slot = entry(&mut self.resources, name, "leased")?;
                slot.held.as_mut().filter(|_| slot.epoch == event.epoch)
            }
        };
        let lease = claim.and_then(|claim| claim.lease.as_mut());
        let lease = lease.ok_or_else(|| format!("{} has no lease under epoch {}", event.on, event.epoch))?;
        let kept = lease.key.take().filter(|_| lease.until > at.ts);
        (lease.until, lease.key) = (event.until, event.key.clone().or(kept));
        Ok(())
    }

    pub(super) fn claim_delegated(&mut self, event: &ClaimDelegated) -> Fold {
        let todo = self.held_todo(event.todo, event.epoch)?;
        let claim = todo.claim.as_mut().ok_or("nobody holds it")?;
        claim.delegated.entry(event.to.clone()).or_default().extend(&event.actions);
        Ok(())
    }

    pub(super) fn lease_released(&mut self, event: &LeaseReleased) -> Fold {
        let LeaseTarget::Resource(name) = &event.on else {
            return Err("a todo's lease ends with its claim".to_owned());
        };
        let slot = entry(&mut self.resources, name, "leased")?;
        if slot.epoch != event.epoch || slot.held.take().is_none() {
            return Err(format!("{name} is not leased under epoch {}", event.epoch));
        }
        Ok(())
    }

    pub(super) fn lease_taken_over(&mut self, at: &At, event: &LeaseTakenOver) -> Fold {
        let lease = Lease { token: at.seq, until: event.until, key: event.key.clone() };
        let claim = Claim::new(event.to.clone(), at.seq, Some(lease));
        match &event.on {
            LeaseTarget::Todo(id) => {
                let todo = entry(&mut self.todos, id, "open")?;
                todo.version += 1;
                Self::hold(todo, event.epoch, claim)
            }
            LeaseTarget::Resource(name) => {
                let slot = entry(&mut self.resources, name, "leased")?;
                if event.epoch != slot.epoch + 1 {
                    return Err(format!("epoch {} does not follow {}", event.epoch, slot.epoch));
                }
                *slot = ResourceLease { epoch: event.epoch, held: Some(claim) };
                Ok(())
            }
        }
    }
}
