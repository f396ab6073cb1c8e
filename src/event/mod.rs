//! What can happen: the closed set of events, one struct per payload.
//!
//! An event is a fact, not a wish: by the time it is written every rule has been passed. This floor knows nothing of
//! records; [`codec`] turns events into canonical bytes and back.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod codec;
mod evidence;
mod gate;
mod goal;
mod hold;
mod ledger;
mod lineage;
mod names;
mod quota;
mod reopen;
mod todo;
mod turn;

pub use evidence::*;
pub use gate::*;
pub use goal::*;
pub use hold::*;
pub use ledger::*;
pub use lineage::*;
pub use names::{goal_end, goal_moved, lease_key};
pub use quota::*;
pub use reopen::*;
pub use todo::*;
pub use turn::*;

/// Declares the closed set: the enum, each event's kind, and the typed decoder, from one table.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:literal => $name:ident,)*) => {
        /// One event of the closed set, version 1.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Event {
            $($(#[$doc])* $name($name),)*
        }

        impl Event {
            /// Every kind, in the order of the table in ledger-format.md.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The kind as it is written.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind,)* }
            }

            fn body(&self) -> serde_json::Result<serde_json::Value> {
                match self { $(Self::$name(payload) => serde_json::to_value(payload),)* }
            }

            fn from_body(kind: &str, body: &str) -> Option<serde_json::Result<Self>> {
                match kind {
                    $($kind => Some(serde_json::from_str(body).map(Self::$name)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$name> for Event {
            fn from(payload: $name) -> Self { Self::$name(payload) }
        })*
    };
}

events! {
    /// The first event of every ledger.
    "ledger.created" => LedgerCreated,
    /// A torn tail was moved aside.
    "ledger.recovered" => LedgerRecovered,
    /// The clock was set back, or far ahead.
    "ledger.clock_jumped" => ClockJumped,
    /// The last event of a segment.
    "ledger.sealed" => LedgerSealed,
    /// What looks like a secret was recorded on purpose.
    "secret.allowed" => SecretAllowed,
    /// A peer joined.
    "agent.registered" => AgentRegistered,
    /// What a peer can do changed.
    "agent.changed" => AgentChanged,
    /// A peer left.
    "agent.retired" => AgentRetired,
    /// A human who decides was named.
    "owner.registered" => OwnerRegistered,
    /// An owner no longer decides.
    "owner.revoked" => OwnerRevoked,
    /// A goal was set.
    "goal.started" => GoalStarted,
    /// A goal changed, field by field, with its reason.
    "goal.changed" => GoalChanged,
    /// A goal was paused.
    "goal.paused" => GoalPaused,
    /// A paused goal was resumed.
    "goal.resumed" => GoalResumed,
    /// A goal was reached.
    "goal.completed" => GoalCompleted,
    /// A goal was given up.
    "goal.abandoned" => GoalAbandoned,
    /// A todo was added.
    "todo.added" => TodoAdded,
    /// A todo changed, field by field.
    "todo.changed" => TodoChanged,
    /// A todo cannot go on.
    "todo.blocked" => TodoBlocked,
    /// A todo was put off.
    "todo.deferred" => TodoDeferred,
    /// A blocked, deferred or closed todo was opened again.
    "todo.reopened" => TodoReopened,
    /// A todo was completed, on evidence.
    "todo.completed" => TodoCompleted,
    /// A todo was replaced by another.
    "todo.superseded" => TodoSuperseded,
    /// A todo was dropped.
    "todo.cancelled" => TodoCancelled,
    /// A question was put to a human.
    "gate.opened" => GateOpened,
    /// A human decided.
    "gate.decided" => GateDecided,
    /// The question is no longer asked.
    "gate.withdrawn" => GateWithdrawn,
    /// An approval was taken back.
    "gate.revoked" => GateRevoked,
    /// Someone became responsible for a todo.
    "claim.taken" => ClaimTaken,
    /// Someone let go of a todo.
    "claim.released" => ClaimReleased,
    /// A todo passed from one holder to another in one step.
    "claim.handed_over" => ClaimHandedOver,
    /// A holder let a peer act on what it holds.
    "claim.delegated" => ClaimDelegated,
    /// An exclusive right, bounded in time, was granted.
    "lease.granted" => LeaseGranted,
    /// A lease was prolonged.
    "lease.renewed" => LeaseRenewed,
    /// A lease on a resource was given back.
    "lease.released" => LeaseReleased,
    /// An expired lease was taken over, with its claim.
    "lease.taken_over" => LeaseTakenOver,
    /// Something that supports a claim was recorded.
    "evidence.recorded" => EvidenceRecorded,
    /// Evidence no longer counts.
    "evidence.invalidated" => EvidenceInvalidated,
    /// Evidence was replaced by newer evidence.
    "evidence.superseded" => EvidenceSuperseded,
    /// A criterion is met, on evidence.
    "acceptance.met" => AcceptanceMet,
    /// A criterion is open again.
    "acceptance.reopened" => AcceptanceReopened,
    /// A bounded turn began.
    "turn.opened" => TurnOpened,
    /// A turn ended.
    "turn.closed" => TurnClosed,
    /// A goal's quota was set.
    "quota.set" => QuotaSet,
    /// What a goal or an agent may use in all was set.
    "quota.budgeted" => QuotaBudgeted,
    /// A turn was paid for.
    "quota.spent" => QuotaSpent,
    /// A spend was taken back.
    "quota.voided" => QuotaVoided,
    /// Someone looked at what a monitor watches.
    "monitor.polled" => MonitorPolled,
    /// What the next turn must see.
    "state.refreshed" => StateRefreshed,
    /// A metric was defined.
    "metric.defined" => MetricDefined,
    /// A version of a data set was registered.
    "dataset.registered" => DatasetRegistered,
    /// A hypothesis was proposed.
    "hypothesis.proposed" => HypothesisProposed,
    /// An experiment was registered.
    "experiment.registered" => ExperimentRegistered,
    /// A trial began.
    "trial.started" => TrialStarted,
    /// A trial ended.
    "trial.ended" => TrialEnded,
    /// An artifact took a slot, by an owner's decision.
    "promotion.recorded" => PromotionRecorded,
}
