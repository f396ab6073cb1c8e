//! A piece of evidence as the log has it: what was recorded, whether it counted at some record, and what rests on it.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, EvidenceRecorded, Subject, TodoChange, goal_moved};
use crate::id::{CriterionId, EvidenceId, GateId, GoalId, PromotionId, Seq, TodoId};
use crate::ledger::{Ledger, LedgerError, Past};
use crate::state::{Ended, State};
use crate::time::Timestamp;

/// A piece of evidence, and the records that say something about whether it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What was recorded.
    pub recorded: EvidenceRecorded,
    /// The record.
    pub seq: Seq,
    /// What became of it, oldest first.
    ends: Vec<(Seq, Ended)>,
    /// What was made to rest on it, oldest first.
    pub rests: Vec<Rests>,
}

/// Something that was made to rest on a piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rests {
    /// The record.
    pub seq: Seq,
    /// What.
    pub what: Resting,
}

/// What can rest on evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resting {
    /// A criterion that it meets.
    Criterion(GoalId, CriterionId),
    /// A question that was put with it.
    Question(GateId),
    /// An approval that holds while it is current.
    Approval(GateId),
    /// A todo that was completed on it.
    Todo(TodoId),
    /// A promotion that cites it.
    Cited(PromotionId),
    /// A promotion for which it is the baseline.
    Baseline(PromotionId),
}

impl Piece {
    /// Reads it from the log, up to [`Ledger::head`]; none if nothing of that number was recorded.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn read(ledger: &mut Ledger, id: EvidenceId) -> Result<Option<Self>, LedgerError> {
        let more = |found: &BTreeMap<Seq, Past>| {
            let mut keys = BTreeSet::new();
            for event in found.values().flat_map(|past| &past.events) {
                if let Event::EvidenceRecorded(e) = event
                    && e.id == id
                {
                    keys.insert(goal_moved(&e.goal));
                    keys.insert(e.about.name());
                }
            }
            keys
        };
        let found = ledger.gather(BTreeSet::from([id.to_string()]), &mut |found| more(found))?;
        let mut piece = None;
        for past in found.values() {
            for event in &past.events {
                match (&mut piece, event) {
                    (None, Event::EvidenceRecorded(e)) if e.id == id => {
                        let (recorded, seq) = (e.clone(), past.at.seq);
                        piece = Some(Self { recorded, seq, ends: Vec::new(), rests: Vec::new() });
                    }
                    (Some(piece), event) => piece.learn(past.at.seq, event),
                    (None, _) => {}
                }
            }
        }
        Ok(piece)
    }

    fn learn(&mut self, seq: Seq, event: &Event) {
        let (id, recorded) = (self.recorded.id, &self.recorded);
        let current = self.ends.is_empty() && recorded.metric.is_none();
        let ended = match event {
            Event::EvidenceInvalidated(e) if e.id == id => Ended::Invalidated(seq),
            Event::EvidenceSuperseded(e) if e.id == id => Ended::Superseded(seq),
            Event::GoalChanged(e) if current && e.goal == recorded.goal && e.moves() => Ended::Outdated(seq),
            Event::TodoChanged(e) if current && recorded.about == Subject::Todo(e.id) => {
                let reworded = |change: &TodoChange| matches!(change, TodoChange::DoneWhen { .. });
                if !e.changes.iter().any(reworded) {
                    return;
                }
                Ended::Outdated(seq)
            }
            other => {
                self.rests.extend(resting(other, id).into_iter().map(|what| Rests { seq, what }));
                return;
            }
        };
        self.ends.push((seq, ended));
    }

    /// Why it did not count at a record and its time; none if it did.
    #[must_use]
    pub fn ended_at(&self, seq: Seq, now: Timestamp) -> Option<Ended> {
        let recorded = self.ends.iter().rev().find(|(at, _)| *at <= seq).map(|(_, ended)| *ended);
        recorded.or_else(|| self.recorded.valid_until.filter(|until| *until <= now).map(Ended::Expired))
    }
}

/// What an event makes rest on a piece of evidence.
fn resting(event: &Event, id: EvidenceId) -> Vec<Resting> {
    let mut found = Vec::new();
    match event {
        Event::AcceptanceMet(e) if e.evidence == id => {
            found.push(Resting::Criterion(e.goal.clone(), e.criterion));
        }
        Event::GateOpened(e) if e.evidence.contains(&id) => found.push(Resting::Question(e.id)),
        Event::GateDecided(e) if e.rests_on.contains(&id) => found.push(Resting::Approval(e.id)),
        Event::TodoCompleted(e) if e.evidence.contains(&id) => found.push(Resting::Todo(e.id)),
        Event::PromotionRecorded(e) => {
            found.extend(e.cites.contains(&id).then_some(Resting::Cited(e.id)));
            found.extend(e.contrast.contains(&id).then_some(Resting::Baseline(e.id)));
        }
        _ => {}
    }
    found
}

impl Rests {
    /// Whether it still rests on this evidence in a state; a todo that was completed and a promotion always do.
    #[must_use]
    pub fn holds(&self, state: &State, id: EvidenceId) -> bool {
        match &self.what {
            Resting::Criterion(goal, criterion) => state.goals.get(goal).is_some_and(|goal| {
                let met = goal.criteria.get(criterion).and_then(|criterion| criterion.met_by);
                goal.instance <= self.seq && met == Some(id)
            }),
            Resting::Question(gate) => state.gates.contains_key(gate),
            Resting::Approval(gate) => state.approvals.contains_key(gate),
            Resting::Todo(_) | Resting::Cited(_) | Resting::Baseline(_) => true,
        }
    }
}
