//! Payloads about the ledger and the people and peers in it.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, CapabilityId, LedgerId, OwnerId, Seq};
use crate::text::Text;
use crate::time::Timestamp;

/// `ledger.created`: genesis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerCreated {
    /// The identity of the ledger, equal to the one in `FORMAT`.
    pub ledger: LedgerId,
    /// A random ULID, so that two ledgers never share a first hash.
    pub nonce: LedgerId,
    /// The program that created it, as `loopx 0.1.0`.
    pub program: Text,
}

/// `ledger.recovered`: a torn tail was copied to quarantine and cut. What was cut had never been acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerRecovered {
    /// How many bytes were cut.
    pub cut_bytes: u64,
    /// Where they began, in bytes from the start of the segment.
    pub offset_bytes: u64,
    /// The file in `.loopx/quarantine` that holds them.
    pub quarantine: Text,
    /// First seq of the segment.
    pub segment: Seq,
}

/// `ledger.sealed`: the segment ends here; the next record opens a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerSealed {
    /// First seq of the segment that ends.
    pub segment: Seq,
}

/// Which way the clock jumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockDirection {
    /// Further on than time can have passed since the last record.
    Ahead,
    /// To before the last record.
    Back,
}

/// `ledger.clock_jumped`: what the clock says cannot follow the last record. Said once for each jump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockJumped {
    /// How far, in milliseconds: to before the last record, or further on than time has passed.
    pub by_ms: u64,
    /// What the clock said.
    pub clock: Timestamp,
    /// Which way.
    pub direction: ClockDirection,
}

/// `agent.registered`: a peer joined, or came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRegistered {
    /// The peer.
    pub agent: AgentId,
    /// What it can always do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityId>,
}

/// `secret.allowed`: something that looks like a secret is recorded in this record on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretAllowed {
    /// What it looks like.
    pub kind: String,
    /// Where it stands in the request.
    pub place: String,
    /// Why it may be recorded.
    pub why: Text,
}

/// `agent.changed`: what a peer can do, as it is from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentChanged {
    /// The peer.
    pub agent: AgentId,
    /// What it can always do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityId>,
    /// What an owner has granted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<CapabilityId>,
    /// The reason.
    pub why: Text,
}

/// `agent.retired`: a peer left; it is refused from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRetired {
    /// The peer.
    pub agent: AgentId,
    /// The reason.
    pub why: Text,
}

/// `owner.registered`: a human who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerRegistered {
    /// The owner.
    pub owner: OwnerId,
}

/// `owner.revoked`: the owner no longer decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerRevoked {
    /// The owner.
    pub owner: OwnerId,
    /// The reason.
    pub why: Text,
}
