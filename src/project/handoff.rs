//! What the next peer needs beside the state: the questions that were answered lately.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, GateDecided, GateOpened};
use crate::id::{Actor, GateId, GoalId, Seq};
use crate::ledger::{Ledger, LedgerError};
use crate::time::Timestamp;

/// Gates that are looked at for answers, counted from the last one opened.
pub const GATES_LOOKED_AT: u32 = 40;

/// An answered question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The question.
    pub opened: GateOpened,
    /// The answer.
    pub decided: GateDecided,
    /// The record of the answer.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// Who answered.
    pub by: Actor,
}

/// Final answers to a goal's questions among the last [`GATES_LOOKED_AT`] of the ledger, the newest first.
///
/// # Errors
/// As [`Ledger::open`].
pub fn answered(ledger: &mut Ledger, goal: &GoalId) -> Result<Vec<Answered>, LedgerError> {
    let last = ledger.state().minted.gates;
    let first = last.saturating_sub(GATES_LOOKED_AT) + 1;
    let instance = ledger.state().goals.get(goal).map_or(Seq::ZERO, |goal| goal.instance);
    let keys: BTreeSet<String> = (first..=last).map(|number| GateId(number).to_string()).collect();
    let mut opened: BTreeMap<GateId, GateOpened> = BTreeMap::new();
    let mut found = Vec::new();
    for past in ledger.gather(keys, &mut |_| BTreeSet::new())?.into_values() {
        for event in past.events {
            match event {
                Event::GateOpened(e) if e.goal == *goal && past.at.seq > instance => {
                    opened.insert(e.id, e);
                }
                Event::GateDecided(decided) if decided.outcome.is_final() => {
                    let Some(opened) = opened.get(&decided.id).cloned() else { continue };
                    let (seq, ts, by) = (past.at.seq, past.at.ts, past.at.actor.clone());
                    found.push(Answered { opened, decided, seq, ts, by });
                }
                _ => {}
            }
        }
    }
    found.reverse();
    Ok(found)
}
