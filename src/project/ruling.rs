//! How a gate was decided: who, when, on which evidence, in which record, and what used the decision.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::Piece;
use crate::event::{Event, GateDecided, GateOpened};
use crate::hash::Hash;
use crate::id::{Actor, EvidenceId, GateId, PromotionId, Seq, TodoId};
use crate::ledger::{Ledger, LedgerError};
use crate::state::{Ended, State};
use crate::text::Text;
use crate::time::Timestamp;

/// Everything that the log says about one gate's decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The gate.
    pub gate: GateId,
    /// The question.
    pub opened: GateOpened,
    /// The answers, oldest first; "not now" is one too.
    pub answers: Vec<Answer>,
    /// How it was withdrawn or its approval taken back.
    pub ended: Option<End>,
    /// What was done on the approval, oldest first.
    pub uses: Vec<Use>,
    /// The evidence that was looked at or that the approval rests on.
    pub evidence: BTreeMap<EvidenceId, Piece>,
}

/// One answer of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The record.
    pub seq: Seq,
    /// Ledger time.
    pub ts: Timestamp,
    /// Who.
    pub by: Actor,
    /// What.
    pub decided: GateDecided,
}

/// The end of a gate or of its approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The record.
    pub seq: Seq,
    /// Who.
    pub by: Actor,
    /// Whether an approval was taken back; else the question was withdrawn.
    pub revoked: bool,
    /// Why.
    pub why: Text,
}

/// Something that was done on an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The record.
    pub seq: Seq,
    /// Who.
    pub by: Actor,
    /// What.
    pub what: Used,
}

/// What an approval can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// A todo that required it was completed.
    Todo(TodoId),
    /// A promotion.
    Promotion(PromotionId),
}

/// A piece of evidence as it was when a gate was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Which.
    pub id: EvidenceId,
    /// BLAKE3 of its content, if it has any.
    pub digest: Option<Hash>,
    /// Why it did not count then; none if it did.
    pub ended: Option<Ended>,
}

impl Ruling {
    /// Reads it from the log, up to [`Ledger::head`]; none if no gate of that number was opened.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn read(ledger: &mut Ledger, gate: GateId) -> Result<Option<Self>, LedgerError> {
        let found = ledger.gather(BTreeSet::from([gate.to_string()]), &mut |_| BTreeSet::new())?;
        let mut ruling: Option<Self> = None;
        for past in found.values() {
            let (seq, by) = (past.at.seq, || past.at.actor.clone());
            for event in &past.events {
                match (&mut ruling, event) {
                    (None, Event::GateOpened(e)) if e.id == gate => ruling = Some(Self::of(e)),
                    (Some(ruling), Event::GateDecided(e)) if e.id == gate => {
                        ruling.answers.push(Answer { seq, ts: past.at.ts, by: by(), decided: e.clone() });
                    }
                    (Some(ruling), Event::GateWithdrawn(e)) if e.id == gate => {
                        ruling.ended = Some(End { seq, by: by(), revoked: false, why: e.why.clone() });
                    }
                    (Some(ruling), Event::GateRevoked(e)) if e.id == gate => {
                        ruling.ended = Some(End { seq, by: by(), revoked: true, why: e.why.clone() });
                    }
                    (Some(ruling), Event::TodoCompleted(e)) if e.approvals.contains(&gate) => {
                        ruling.uses.push(Use { seq, by: by(), what: Used::Todo(e.id) });
                    }
                    (Some(ruling), Event::PromotionRecorded(e)) if e.gate == gate => {
                        ruling.uses.push(Use { seq, by: by(), what: Used::Promotion(e.id) });
                    }
                    _ => {}
                }
            }
        }
        let Some(mut ruling) = ruling else { return Ok(None) };
        let rests_on = ruling.answers.iter().flat_map(|answer| &answer.decided.rests_on);
        let named: BTreeSet<EvidenceId> = ruling.opened.evidence.iter().chain(rests_on).copied().collect();
        for id in named {
            if let Some(piece) = Piece::read(ledger, id)? {
                ruling.evidence.insert(id, piece);
            }
        }
        Ok(Some(ruling))
    }

    fn of(opened: &GateOpened) -> Self {
        Self {
            gate: opened.id,
            opened: opened.clone(),
            answers: Vec::new(),
            ended: None,
            uses: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    /// What an answer was given on: what the question showed, and what the approval rests on.
    #[must_use]
    pub fn looked_at(&self, answer: &Answer) -> Vec<Looked> {
        let named: BTreeSet<EvidenceId> =
            self.opened.evidence.iter().chain(&answer.decided.rests_on).copied().collect();
        let pieces = named.into_iter().filter_map(|id| self.evidence.get(&id));
        let looked = |piece: &Piece| Looked {
            id: piece.recorded.id,
            digest: piece.recorded.digest,
            ended: piece.ended_at(answer.seq, answer.ts),
        };
        pieces.map(looked).collect()
    }

    /// What the approval comes to at an instant, in a sentence; none if there is none any more.
    #[must_use]
    pub fn force(&self, state: &State, now: Timestamp) -> Option<String> {
        let approval = state.approvals.get(&self.gate)?;
        if let Some(lapse) = state.lapse(approval, now) {
            return Some(format!("covers nothing any more: it {lapse}"));
        }
        let todos: Vec<String> = approval.todos.iter().map(ToString::to_string).collect();
        match &approval.scope {
            Some(scope) if approval.stands => Some(format!("stands for {scope} until it is revoked")),
            Some(scope) if !todos.is_empty() => Some(format!("covers {scope} for {}", todos.join(", "))),
            Some(_) | None => approval.promotes.then(|| "one promotion may use it".to_owned()),
        }
    }
}
