//! Payloads about holding: claims say who is responsible, leases bound that in time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{Actor, AgentId, BadId, LeaseKey, ResourceId, SessionId, TodoId};
use crate::text::Text;
use crate::time::Timestamp;

/// Who holds: an agent in one of its sessions, or a person. Two sessions of one agent are two holders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// The agent or owner.
    pub actor: Actor,
    /// The session, if its host names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            None => f.write_str(self.actor.name()),
            Some(session) => write!(f, "{} ({session})", self.actor.name()),
        }
    }
}

/// What a lease is on: a todo, written `T7`, or a resource, written `resource/gpu0`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseTarget {
    /// A todo, with the paths that it may write.
    Todo(TodoId),
    /// A named resource.
    Resource(ResourceId),
}

impl FromStr for LeaseTarget {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        match text.strip_prefix("resource/") {
            Some(name) => name.parse().map(Self::Resource),
            None => text.parse().map(Self::Todo),
        }
    }
}

impl fmt::Display for LeaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Todo(todo) => write!(f, "{todo}"),
            Self::Resource(name) => write!(f, "resource/{name}"),
        }
    }
}

impl fmt::Debug for LeaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LeaseTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LeaseTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

/// `claim.taken`: the holder is responsible for the todo, under a fresh epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTaken {
    /// One more than the last epoch of this todo.
    pub epoch: u64,
    /// Who.
    pub holder: Holder,
    /// What.
    pub todo: TodoId,
}

/// `claim.released`: nobody holds the todo; a lease on it ends too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimReleased {
    /// The epoch that ends.
    pub epoch: u64,
    /// What.
    pub todo: TodoId,
    /// The reason.
    pub why: Text,
}

/// `claim.handed_over`: from one holder to the next, with no moment in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimHandedOver {
    /// One more than the last epoch of this todo.
    pub epoch: u64,
    /// Who held it.
    pub from: Holder,
    /// The key that whoever holds it has to show; absent for a lease without one, and for a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LeaseKey>,
    /// Who holds it.
    pub to: Holder,
    /// What.
    pub todo: TodoId,
    /// When the new holder's lease expires; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The reason.
    pub why: Text,
}

/// What a holder may let a peer do to the todo that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delegable {
    /// Change what it says.
    Update,
    /// Complete it. The holder's turn pays.
    Complete,
    /// Give it back.
    Release,
}

/// `claim.delegated`: a peer may do these things to a held todo, for as long as the claim lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimDelegated {
    /// What the peer may do.
    pub actions: Vec<Delegable>,
    /// The epoch of the claim.
    pub epoch: u64,
    /// The peer, in any of its sessions.
    pub to: AgentId,
    /// What it may do it to.
    pub todo: TodoId,
    /// The reason.
    pub why: Text,
}

/// `lease.granted`: exclusive until an instant. The seq of its record is the lease's token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseGranted {
    /// The epoch it belongs to.
    pub epoch: u64,
    /// Who.
    pub holder: Holder,
    /// The key that whoever holds it has to show; absent for a lease without one, and for a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LeaseKey>,
    /// On what.
    pub on: LeaseTarget,
    /// When it expires, at ledger time.
    pub until: Timestamp,
}

/// `lease.renewed`: prolonged by its holder before it was taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRenewed {
    /// The epoch it belongs to.
    pub epoch: u64,
    /// The key that it has from now on, if it gets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LeaseKey>,
    /// On what.
    pub on: LeaseTarget,
    /// When it expires now.
    pub until: Timestamp,
}

/// `lease.released`: a resource was given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseReleased {
    /// The epoch that ends.
    pub epoch: u64,
    /// On what.
    pub on: LeaseTarget,
}

/// `lease.taken_over`: an expired lease passed on, with its claim; the turn that held it is abandoned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseTakenOver {
    /// One more than the last epoch of its target.
    pub epoch: u64,
    /// When the old lease had expired.
    pub expired: Timestamp,
    /// Who held it.
    pub from: Holder,
    /// The key that whoever holds it has to show; absent for a lease without one, and for a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LeaseKey>,
    /// On what.
    pub on: LeaseTarget,
    /// Who holds it.
    pub to: Holder,
    /// When the new lease expires.
    pub until: Timestamp,
}
