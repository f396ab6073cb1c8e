//! What is so: the fold of all events up to some record.
//!
//! The state holds what is open and what open things rest on; finished work is history and is found in the log. Live
//! recording and replay go through the one function [`State::apply`], and nothing else writes a state.
#![deny(clippy::wildcard_enum_match_arm)]

mod clock;
mod evidence;
mod gate;
mod goal;
mod hold;
mod lineage;
mod people;
mod quota;
mod rows;
mod todo;
mod turn;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use clock::Jump;
pub use evidence::{Ended, Evidence, OpenCriterion, Standing};
pub use gate::{Approval, Gate, Lapse, Uncovered};
pub use goal::{Awaited, Criterion, Goal, GoalStatus, RunNote};
pub use hold::{Claim, Lease, ResourceLease};
pub use lineage::{Lineage, Metric};
pub use people::{Agent, Owner};
pub use quota::{DEFAULT_SLOT_MS, DEFAULT_WINDOW_MS, Quota, QuotaSetting, Spends, Totals};
pub use todo::{Fruitless, Todo, TodoStatus, Watch};
pub use turn::Turn;

use crate::event::Event;
use crate::hash::Hash;
use crate::id::{
    Actor, AgentId, EvidenceId, ExperimentId, GateId, GoalId, LedgerId, OwnerId, ResourceId, Seq, TodoId,
    TurnId,
};
use crate::time::Timestamp;

/// Names this reducer. A snapshot taken by another one is not used. Changes whenever [`State`] or a transition does.
pub const REDUCER: &str = "loopx-reducer/13";

/// Where an event stands: the envelope of its record, as far as a transition may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The record.
    pub seq: Seq,
    /// Ledger time.
    pub ts: Timestamp,
    /// Who caused it.
    pub actor: Actor,
}

/// An event that cannot follow what came before. No program of this version writes one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record #{seq}: {event} cannot follow what came before: {what}")]
pub struct Inconsistent {
    /// The record.
    pub seq: Seq,
    /// The kind of the event.
    pub event: &'static str,
    /// What does not fit.
    pub what: String,
}

/// What a transition reports: the thing that does not fit.
type Fold = Result<(), String>;

/// The highest number minted of each short id. They are never reused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minted {
    /// Todos.
    pub todos: u32,
    /// Gates.
    pub gates: u32,
    /// Evidence.
    pub evidence: u32,
    /// Turns.
    pub turns: u32,
    /// Hypotheses.
    pub hypotheses: u32,
    /// Experiments.
    pub experiments: u32,
    /// Trials.
    pub trials: u32,
    /// Promotions.
    pub promotions: u32,
}

/// The folded state. Ordered maps throughout, so that equal states have equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The ledger's identity, once its first record is folded.
    pub ledger: Option<LedgerId>,
    /// The last record folded.
    pub seq: Seq,
    /// Its ledger time; time never runs backwards.
    pub now: Timestamp,
    /// The last jump of the clock.
    pub jump: Option<Jump>,
    /// Numbers minted.
    pub minted: Minted,
    /// Peers, retired ones too.
    pub agents: BTreeMap<AgentId, Agent>,
    /// Owners, revoked ones too.
    pub owners: BTreeMap<OwnerId, Owner>,
    /// Goals, finished ones too.
    pub goals: BTreeMap<GoalId, Goal>,
    /// Open todos.
    #[serde(with = "rows")]
    pub todos: BTreeMap<TodoId, Todo>,
    /// Open gates.
    pub gates: BTreeMap<GateId, Gate>,
    /// Approvals that still cover something, or that a promotion may use.
    pub approvals: BTreeMap<GateId, Approval>,
    /// Leases on resources, released ones too, since their epochs only grow.
    pub resources: BTreeMap<ResourceId, ResourceLease>,
    /// Evidence that open things rest on.
    pub evidence: BTreeMap<EvidenceId, Evidence>,
    /// Open turns.
    pub turns: BTreeMap<TurnId, Turn>,
    /// Quota and spend of each goal.
    pub quotas: BTreeMap<GoalId, Quota>,
    /// What lineage has to refer to.
    pub lineage: Lineage,
}

impl State {
    /// Folds the events of one record.
    ///
    /// # Errors
    /// [`Inconsistent`]: the state is then partly changed and must be thrown away.
    pub fn apply(&mut self, at: &At, events: &[Event]) -> Result<(), Inconsistent> {
        if at.seq != self.seq.next() {
            let what = format!("it follows #{}", self.seq);
            return Err(Inconsistent { seq: at.seq, event: "record", what });
        }
        self.seq = at.seq;
        self.now = self.now.max(at.ts);
        for event in events {
            self.transition(at, event).map_err(|what| Inconsistent {
                seq: at.seq,
                event: event.kind(),
                what,
            })?;
        }
        Ok(())
    }

    fn transition(&mut self, at: &At, event: &Event) -> Fold {
        match event {
            Event::LedgerCreated(e) => self.ledger_created(at, e),
            Event::LedgerRecovered(_) | Event::LedgerSealed(_) | Event::SecretAllowed(_) => Ok(()),
            Event::ClockJumped(e) => self.clock_jumped(at, e),
            Event::AgentRegistered(e) => self.agent_registered(at, e),
            Event::AgentChanged(e) => self.agent_changed(e),
            Event::AgentRetired(e) => self.agent_retired(e),
            Event::OwnerRegistered(e) => self.owner_registered(at, e),
            Event::OwnerRevoked(e) => self.owner_revoked(e),
            Event::GoalStarted(e) => self.goal_started(at, e),
            Event::GoalChanged(e) => self.goal_changed(at, e),
            Event::GoalPaused(e) => self.goal_set_status(&e.goal, GoalStatus::Paused),
            Event::GoalResumed(e) => self.goal_set_status(&e.goal, GoalStatus::Active),
            Event::GoalCompleted(e) => self.goal_closed(&e.goal, GoalStatus::Completed),
            Event::GoalAbandoned(e) => self.goal_closed(&e.goal, GoalStatus::Abandoned),
            Event::AcceptanceMet(e) => self.acceptance_met(at, e),
            Event::AcceptanceReopened(e) => self.acceptance_reopened(at, e),
            Event::MonitorPolled(e) => self.monitor_polled(at, e),
            Event::StateRefreshed(e) => self.state_refreshed(at, e),
            Event::TodoAdded(e) => self.todo_added(at, e),
            Event::TodoChanged(e) => self.todo_changed(at, e),
            Event::TodoBlocked(e) => self.todo_blocked(at, e),
            Event::TodoDeferred(e) => self.todo_deferred(e),
            Event::TodoReopened(e) => self.todo_reopened(at, e),
            Event::TodoCompleted(e) => self.todo_completed(e),
            Event::TodoSuperseded(e) => self.todo_superseded(at, e),
            Event::TodoCancelled(e) => self.todo_cancelled(e),
            Event::GateOpened(e) => self.gate_opened(at, e),
            Event::GateDecided(e) => self.gate_decided(at, e),
            Event::GateWithdrawn(e) => self.gate_withdrawn(e),
            Event::GateRevoked(e) => self.gate_revoked(e),
            Event::ClaimTaken(e) => self.claim_taken(at, e),
            Event::ClaimReleased(e) => self.claim_released(e),
            Event::ClaimHandedOver(e) => self.claim_handed_over(at, e),
            Event::ClaimDelegated(e) => self.claim_delegated(e),
            Event::LeaseGranted(e) => self.lease_granted(at, e),
            Event::LeaseRenewed(e) => self.lease_renewed(at, e),
            Event::LeaseReleased(e) => self.lease_released(e),
            Event::LeaseTakenOver(e) => self.lease_taken_over(at, e),
            Event::EvidenceRecorded(e) => self.evidence_recorded(at, e),
            Event::EvidenceInvalidated(e) => self.evidence_invalidated(at, e),
            Event::EvidenceSuperseded(e) => self.evidence_superseded(at, e),
            Event::TurnOpened(e) => self.turn_opened(at, e),
            Event::TurnClosed(e) => self.turn_closed(at, e),
            Event::QuotaSet(e) => self.quota_set(at, e),
            Event::QuotaBudgeted(e) => self.quota_budgeted(e),
            Event::QuotaSpent(e) => self.quota_spent(at, e),
            Event::QuotaVoided(e) => self.quota_voided(e),
            Event::MetricDefined(e) => self.metric_defined(e),
            Event::DatasetRegistered(e) => self.dataset_registered(e),
            Event::HypothesisProposed(e) => self.hypothesis_proposed(at, e),
            Event::ExperimentRegistered(e) => {
                mint(&mut self.minted.experiments, e.id.0, ExperimentId::LETTER)
            }
            Event::TrialStarted(e) => self.trial_started(e),
            Event::TrialEnded(e) => self.trial_ended(e),
            Event::PromotionRecorded(e) => self.promotion_recorded(e),
        }
    }

    /// The digest of this state: BLAKE3 over its canonical JSON. Equal states have equal digests, on any machine.
    ///
    /// # Errors
    /// Only if the state cannot be written as JSON, which its types rule out.
    pub fn digest(&self) -> serde_json::Result<Hash> {
        Ok(Hash::state(&serde_json::to_vec(self)?))
    }
}

/// Counts a minted id, which must be the next one.
fn mint(counter: &mut u32, number: u32, letter: char) -> Fold {
    if number == *counter + 1 {
        *counter = number;
        Ok(())
    } else {
        Err(format!("{letter}{number} is not the next of its kind, {letter}{}", *counter + 1))
    }
}

/// A map entry that an event relies on.
fn entry<'a, K: Ord + std::fmt::Display, V>(
    map: &'a mut BTreeMap<K, V>,
    key: &K,
    what: &str,
) -> Result<&'a mut V, String> {
    map.get_mut(key).ok_or_else(|| format!("{key} is not {what}"))
}
