//! Payloads about evidence: what supports a claim.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::Decimal;
use crate::hash::Hash;
use crate::id::{BadId, EvidenceId, GateId, GoalId, Label, TodoId, TrialId};
use crate::text::Text;
use crate::time::Timestamp;

/// What evidence is about: `T7`, `G1`, `R3`, or `goal/iris`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A todo.
    Todo(TodoId),
    /// A gate.
    Gate(GateId),
    /// A trial.
    Trial(TrialId),
    /// A goal as a whole.
    Goal(GoalId),
}

impl FromStr for Subject {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        if let Some(goal) = text.strip_prefix("goal/") {
            return goal.parse().map(Self::Goal);
        }
        match text.chars().next() {
            Some(GateId::LETTER) => text.parse().map(Self::Gate),
            Some(TrialId::LETTER) => text.parse().map(Self::Trial),
            Some(TodoId::LETTER) => text.parse().map(Self::Todo),
            _ => Err(BadId::new("a subject", text, "a todo T1, a gate G1, a trial R1 or goal/NAME")),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Todo(id) => write!(f, "{id}"),
            Self::Gate(id) => write!(f, "{id}"),
            Self::Trial(id) => write!(f, "{id}"),
            Self::Goal(id) => write!(f, "goal/{id}"),
        }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

/// The form of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A command and its result, as its author states it.
    Command,
    /// The check of a todo, run by this program.
    Check,
    /// A file, by digest.
    File,
    /// A commit.
    Commit,
    /// An address.
    Url,
    /// A measured value.
    Metric,
    /// A statement.
    Note,
}

/// A measured value: what, on what, by which run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricRow {
    /// The version of the data set that it was measured on.
    pub dataset: Label,
    /// The metric, which says its direction and unit.
    pub metric: Label,
    /// How many observations stand behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The spread over folds or seeds, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Decimal>,
    /// The run that produced it.
    pub trial: TrialId,
    /// The value, exact.
    pub value: Decimal,
}

/// `evidence.recorded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceRecorded {
    /// What it is about.
    pub about: Subject,
    /// Size of the content in the blob store, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// BLAKE3 of the content in the blob store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Hash>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The goal.
    pub goal: GoalId,
    /// The id minted for it.
    pub id: EvidenceId,
    /// Its form.
    pub kind: EvidenceKind,
    /// The measured value, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricRow>,
    /// The goal's revision at which it was taken.
    pub revision: u64,
    /// Where it comes from: a command line, a file name, a commit, an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Text>,
    /// What it shows, in a line.
    pub summary: Text,
    /// When it is too old to show anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

/// Why evidence no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidationCause {
    /// Information leaked between splits.
    Leak,
    /// Data were contaminated.
    Contamination,
    /// The evaluator was wrong.
    EvaluatorBug,
    /// Data were corrupted.
    DataCorruption,
    /// Compared with the wrong baseline.
    WrongBaseline,
    /// It cannot be reproduced.
    Unreproducible,
    /// It was made up.
    Fabricated,
    /// It carries the wrong label.
    Mislabelled,
    /// The protocol it followed is retired.
    ProtocolRetired,
    /// Its owner withdrew it.
    OwnerWithdrawn,
}

/// `evidence.invalidated`: criteria that rested on it are open again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceInvalidated {
    /// The kind of fault.
    pub cause: InvalidationCause,
    /// The evidence.
    pub id: EvidenceId,
    /// What happened.
    pub why: Text,
}

/// `evidence.superseded`: newer evidence stands in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceSuperseded {
    /// The newer evidence.
    pub by: EvidenceId,
    /// The older evidence.
    pub id: EvidenceId,
    /// The reason.
    pub why: Text,
}
