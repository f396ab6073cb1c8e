//! What lineage has to refer to. The graph itself is a projection of the log.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, entry, mint};
use crate::event::{
    DatasetRegistered, Direction, HypothesisProposed, MetricDefined, PromotionRecorded, TrialEnded,
    TrialStarted,
};
use crate::id::{HypothesisId, Label, PromotionId, TrialId};

/// A defined metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Which way is better.
    pub direction: Direction,
    /// Its unit.
    pub unit: Label,
}

/// Names in use, running trials, and who holds each slot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lineage {
    /// Defined metrics.
    pub metrics: BTreeMap<Label, Metric>,
    /// Registered data set versions.
    pub datasets: BTreeSet<Label>,
    /// Trials that have not ended.
    pub running: BTreeSet<TrialId>,
    /// The promotion in each slot.
    pub slots: BTreeMap<Label, PromotionId>,
}

impl State {
    pub(super) fn metric_defined(&mut self, event: &MetricDefined) -> Fold {
        let metric = Metric { direction: event.direction, unit: event.unit.clone() };
        match self.lineage.metrics.insert(event.metric.clone(), metric) {
            Some(_) => Err(format!("metric {} is defined", event.metric)),
            None => Ok(()),
        }
    }

    pub(super) fn dataset_registered(&mut self, event: &DatasetRegistered) -> Fold {
        if self.lineage.datasets.insert(event.dataset.clone()) {
            Ok(())
        } else {
            Err(format!("data set {} is registered", event.dataset))
        }
    }

    pub(super) fn hypothesis_proposed(&mut self, at: &At, event: &HypothesisProposed) -> Fold {
        mint(&mut self.minted.hypotheses, event.id.0, HypothesisId::LETTER)?;
        entry(&mut self.goals, &event.goal, "a goal")?.delta = at.seq;
        Ok(())
    }

    pub(super) fn trial_started(&mut self, event: &TrialStarted) -> Fold {
        mint(&mut self.minted.trials, event.id.0, TrialId::LETTER)?;
        self.lineage.running.insert(event.id);
        Ok(())
    }

    pub(super) fn trial_ended(&mut self, event: &TrialEnded) -> Fold {
        if self.lineage.running.remove(&event.id) {
            Ok(())
        } else {
            Err(format!("{} is not running", event.id))
        }
    }

    pub(super) fn promotion_recorded(&mut self, event: &PromotionRecorded) -> Fold {
        mint(&mut self.minted.promotions, event.id.0, PromotionId::LETTER)?;
        self.promote_by(event.gate)?;
        if self.lineage.slots.insert(event.slot.clone(), event.id) != event.replaces {
            return Err(format!("slot {} is held by another promotion", event.slot));
        }
        Ok(())
    }
}
