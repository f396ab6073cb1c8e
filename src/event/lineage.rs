//! Payloads of lineage: what was tried, on what, with what result, and what was promoted.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::id::{
    EvidenceId, ExperimentId, GateId, GoalId, HypothesisId, Label, PromotionId, TodoId, TrialId,
};
use crate::text::Text;

/// Which way a metric is better. Nothing else says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Larger is better.
    Maximize,
    /// Smaller is better.
    Minimize,
}

/// `metric.defined`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricDefined {
    /// Which way is better.
    pub direction: Direction,
    /// Its name.
    pub metric: Label,
    /// What it is and how it is computed.
    pub title: Text,
    /// Its unit.
    pub unit: Label,
}

/// What a data set is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Fitting.
    Train,
    /// Choosing.
    Dev,
    /// Judging, rarely.
    Holdout,
    /// In use.
    Serving,
}

/// `dataset.registered`: a version of a data set, by content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetRegistered {
    /// Size of the content in the blob store, in bytes; absent if it is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its name.
    pub dataset: Label,
    /// BLAKE3 of its content.
    pub digest: Hash,
    /// How many rows it has.
    pub rows: u64,
    /// What it is for.
    pub split: Split,
    /// What it is and where it comes from.
    pub title: Text,
}

/// `hypothesis.proposed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HypothesisProposed {
    /// The goal.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: HypothesisId,
    /// Hypotheses that it refines; ideas, not support.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refines: Vec<HypothesisId>,
    /// The claim.
    pub text: Text,
    /// The todo under which it is tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoId>,
}

/// `experiment.registered`: how a hypothesis is tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentRegistered {
    /// Its configuration, in its author's words.
    pub config: Text,
    /// Data sets that it uses.
    pub datasets: Vec<Label>,
    /// The goal.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: ExperimentId,
    /// The promotion that it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_from: Option<PromotionId>,
    /// The hypothesis.
    pub tests: HypothesisId,
}

/// `trial.started`: one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialStarted {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The id minted for it.
    pub id: TrialId,
    /// The seed.
    pub seed: u64,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialEnd {
    /// With a result.
    Ok,
    /// Without one.
    Failed,
    /// Stopped on purpose.
    Stopped,
    /// Its executor vanished.
    Lost,
}

/// `trial.ended`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialEnded {
    /// How it ended.
    pub end: TrialEnd,
    /// The trial.
    pub id: TrialId,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

/// `promotion.recorded`: an approved gate put an artifact into a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromotionRecorded {
    /// BLAKE3 of what was promoted.
    pub artifact: Hash,
    /// Size of the artifact in the blob store, in bytes; absent if it is kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The rows that speak for it.
    pub cites: Vec<EvidenceId>,
    /// The baseline rows that it was compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrast: Vec<EvidenceId>,
    /// The gate whose approval it rests on.
    pub gate: GateId,
    /// The goal.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: PromotionId,
    /// The promotion that held the slot before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<PromotionId>,
    /// The slot.
    pub slot: Label,
    /// What it is.
    pub title: Text,
}
