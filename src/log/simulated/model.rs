//! What the outside world knows: which records were offered, which were refused, which were acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::world::World;
use crate::id::Seq;
use crate::log::{Cursor, LogError};

/// What was offered, refused, acknowledged.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// Every line that was ever offered to the log, without its line feed.
    pub offered: BTreeSet<Vec<u8>>,
    /// Lines of which a writer was told that they are certainly not stored.
    pub refused: BTreeSet<Vec<u8>>,
    /// The last record that somebody was told is durable.
    pub acknowledged: Option<Cursor>,
    /// Tells requests apart.
    pub requests: u64,
    /// What was not as it should be.
    pub violations: Vec<String>,
    /// How many commands came to which end.
    pub outcomes: BTreeMap<&'static str, u64>,
}

pub(super) type Shared = Arc<Mutex<Model>>;

pub(super) fn model(shared: &Shared) -> MutexGuard<'_, Model> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model {
    pub(super) fn acknowledge(&mut self, cursor: &Cursor) {
        if self.acknowledged.is_none_or(|known| known.seq < cursor.seq) {
            self.acknowledged = Some(*cursor);
        }
    }

    pub(super) fn count(&mut self, outcome: &'static str) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    /// Takes note of an error that a living process was given. Without a fault only patience may run out.
    pub(super) fn fail(&mut self, error: &LogError, world: &World) {
        let faulted = world.faulted;
        // Pages that a failed sync left behind may be dropped; nobody was told that they are durable.
        let known = self.acknowledged.map_or(Seq::ZERO, |cursor| cursor.seq);
        let lost_from = if world.evicted { known } else { Seq(u64::MAX) };
        let (name, fine) = match error {
            LogError::Busy { .. } => ("busy", true),
            LogError::DurabilityUnknown { .. } => ("durability unknown", faulted),
            LogError::Full { .. } => ("full", faulted),
            LogError::Io { .. } => ("i/o", faulted),
            LogError::Damaged(damage) if damage.place.seq > lost_from => ("dropped pages", true),
            _ => ("damage", false),
        };
        self.count(name);
        if !fine {
            self.violations.push(format!("a process was told {error:?}"));
        }
    }
}

/// What a log holds: the cursor after each record, and its line.
pub(super) type Records = Vec<(Cursor, Vec<u8>)>;

/// Holds what was found against what is known.
pub(super) fn hold(model: &Model, records: &Records) -> Result<(), String> {
    if let Some(known) = model.acknowledged {
        let found = records.get(usize::try_from(known.seq.0).unwrap() - 1).map(|(cursor, _)| *cursor);
        if found != Some(known) {
            let have = records.last().map_or(Seq::ZERO, |(cursor, _)| cursor.seq);
            return Err(format!("acknowledged record {} is lost: the log ends at {have}", known.seq));
        }
    }
    for (cursor, line) in records {
        if !model.offered.contains(line) {
            return Err(format!("record {} was never offered", cursor.seq));
        }
        if model.refused.contains(line) {
            return Err(format!("record {} was refused and is stored", cursor.seq));
        }
    }
    Ok(())
}
