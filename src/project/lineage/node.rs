//! Nodes: what the log says about one thing.

use std::fmt;

use serde::{Serialize, Serializer};

use super::edge::Link;
use crate::event::{
    DatasetRegistered, EvidenceInvalidated, EvidenceRecorded, EvidenceSuperseded, ExperimentRegistered,
    GateDecided, GateOpened, GateWithdrawn, HypothesisProposed, MetricDefined, PromotionRecorded, TrialEnded,
    TrialStarted,
};
use crate::id::{
    Actor, EvidenceId, ExperimentId, GateId, GoalId, HypothesisId, Label, PromotionId, Seq, TrialId,
};
use crate::text::Text;
use crate::time::Timestamp;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What is measured.
    Metric,
    /// A version of a data set.
    Dataset,
    /// A claim to be tested.
    Hypothesis,
    /// A way of testing it.
    Experiment,
    /// One run.
    Trial,
    /// A measured value, or other evidence that a gate or a promotion looks at.
    Evidence,
    /// A question to a human.
    Gate,
    /// An artifact in a slot.
    Promotion,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Metric,
        Self::Dataset,
        Self::Hypothesis,
        Self::Experiment,
        Self::Trial,
        Self::Evidence,
        Self::Gate,
        Self::Promotion,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Metric => "metric",
            Self::Dataset => "dataset",
            Self::Hypothesis => "hypothesis",
            Self::Experiment => "experiment",
            Self::Trial => "trial",
            Self::Evidence => "evidence",
            Self::Gate => "gate",
            Self::Promotion => "promotion",
        }
    }
}

/// Names a node. Metrics and data sets have names that people chose, so they are written with their kind in front:
/// `dataset/H1` is no hypothesis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// `metric/accuracy`.
    Metric(Label),
    /// `dataset/wine`.
    Dataset(Label),
    /// `H1`.
    Hypothesis(HypothesisId),
    /// `X1`.
    Experiment(ExperimentId),
    /// `R1`.
    Trial(TrialId),
    /// `E1`.
    Evidence(EvidenceId),
    /// `G1`.
    Gate(GateId),
    /// `P1`.
    Promotion(PromotionId),
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric(name) => write!(f, "metric/{name}"),
            Self::Dataset(name) => write!(f, "dataset/{name}"),
            Self::Hypothesis(id) => fmt::Display::fmt(id, f),
            Self::Experiment(id) => fmt::Display::fmt(id, f),
            Self::Trial(id) => fmt::Display::fmt(id, f),
            Self::Evidence(id) => fmt::Display::fmt(id, f),
            Self::Gate(id) => fmt::Display::fmt(id, f),
            Self::Promotion(id) => fmt::Display::fmt(id, f),
        }
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Something that happened to a node after it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Later<T> {
    /// The record.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// What.
    pub event: T,
}

/// A trial and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialFacts {
    /// How it started.
    pub started: TrialStarted,
    /// How it ended, once it has.
    pub ended: Option<Later<TrialEnded>>,
}

/// Evidence and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFacts {
    /// What it is.
    pub recorded: EvidenceRecorded,
    /// That it was found wrong.
    pub invalidated: Option<Later<EvidenceInvalidated>>,
    /// That newer evidence stands in its place. It is shown, and is not wrong for that.
    pub superseded: Option<Later<EvidenceSuperseded>>,
    /// Whether a gate or a promotion refers to it.
    pub cited: bool,
}

/// A gate and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFacts {
    /// The question.
    pub opened: GateOpened,
    /// The last answer. "Not now" is one, and leaves the gate open.
    pub decided: Option<Later<GateDecided>>,
    /// That it is no longer asked.
    pub withdrawn: Option<Later<GateWithdrawn>>,
}

/// What is known about a node, in the words of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facts {
    /// A metric.
    Metric(MetricDefined),
    /// A version of a data set.
    Dataset(DatasetRegistered),
    /// A hypothesis.
    Hypothesis(HypothesisProposed),
    /// An experiment.
    Experiment(ExperimentRegistered),
    /// A trial.
    Trial(Box<TrialFacts>),
    /// Evidence.
    Evidence(Box<EvidenceFacts>),
    /// A gate.
    Gate(Box<GateFacts>),
    /// A promotion.
    Promotion(Box<PromotionRecorded>),
}

/// One thing in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub id: NodeId,
    /// The record that it came with.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// Who recorded it.
    pub actor: Actor,
    /// What is known about it.
    pub facts: Facts,
    /// Place in the order of the log.
    pub(super) index: usize,
    /// What it refers to, all of it earlier.
    pub(super) links: Vec<Link>,
}

impl Node {
    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.facts {
            Facts::Metric(_) => Kind::Metric,
            Facts::Dataset(_) => Kind::Dataset,
            Facts::Hypothesis(_) => Kind::Hypothesis,
            Facts::Experiment(_) => Kind::Experiment,
            Facts::Trial(_) => Kind::Trial,
            Facts::Evidence(_) => Kind::Evidence,
            Facts::Gate(_) => Kind::Gate,
            Facts::Promotion(_) => Kind::Promotion,
        }
    }

    /// What it says, as its author wrote it: not escaped.
    #[must_use]
    pub fn title(&self) -> String {
        let text: &Text = match &self.facts {
            Facts::Metric(metric) => &metric.title,
            Facts::Dataset(dataset) => &dataset.title,
            Facts::Hypothesis(hypothesis) => &hypothesis.text,
            Facts::Experiment(experiment) => &experiment.config,
            Facts::Trial(trial) => return format!("seed {}", trial.started.seed),
            Facts::Evidence(evidence) => &evidence.recorded.summary,
            Facts::Gate(gate) => &gate.opened.question,
            Facts::Promotion(promotion) => &promotion.title,
        };
        text.as_str().to_owned()
    }

    /// The goal, for those that have one: metrics and data sets serve all, a trial follows its experiment.
    #[must_use]
    pub const fn goal(&self) -> Option<&GoalId> {
        match &self.facts {
            Facts::Hypothesis(hypothesis) => Some(&hypothesis.goal),
            Facts::Experiment(experiment) => Some(&experiment.goal),
            Facts::Evidence(evidence) => Some(&evidence.recorded.goal),
            Facts::Gate(gate) => Some(&gate.opened.goal),
            Facts::Promotion(promotion) => Some(&promotion.goal),
            Facts::Metric(_) | Facts::Dataset(_) | Facts::Trial(_) => None,
        }
    }

    /// Whether it is part of the graph: measured values always, other evidence once something rests on it.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        match &self.facts {
            Facts::Evidence(evidence) => evidence.recorded.metric.is_some() || evidence.cited,
            Facts::Metric(_)
            | Facts::Dataset(_)
            | Facts::Hypothesis(_)
            | Facts::Experiment(_)
            | Facts::Trial(_)
            | Facts::Gate(_)
            | Facts::Promotion(_) => true,
        }
    }
}
