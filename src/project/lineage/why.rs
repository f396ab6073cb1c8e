//! Why a promotion was made, and whether the reasons still hold.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compare::{Comparison, compare};
use super::edge::EdgeKind;
use super::graph::Graph;
use super::node::{Facts, Kind, Node, NodeId};
use super::standing::{Standing, Standings};
use crate::decimal::Decimal;
use crate::event::{Direction, GateOutcome, InvalidationCause, PromotionRecorded, Split};
use crate::hash::Hash;
use crate::id::{Actor, EvidenceId, ExperimentId, GateId, HypothesisId, Label, PromotionId, Seq, TrialId};
use crate::text::Text;
use crate::time::Timestamp;

/// The answer to "why this promotion, and does it still stand?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The promotion.
    pub promotion: PromotionId,
    /// The slot that it took.
    pub slot: Label,
    /// BLAKE3 of what was promoted.
    pub artifact: Hash,
    /// What it is.
    pub title: Text,
    /// The record.
    pub seq: Seq,
    /// When it was recorded.
    pub ts: Timestamp,
    /// Who recorded it.
    pub actor: Actor,
    /// Whether it still stands.
    pub standing: Standing,
    /// The record since which.
    pub since: Seq,
    /// The prefix that this is about.
    pub as_of: Seq,
    /// The decision that it rests on.
    pub decided: Option<Decided>,
    /// The rows that speak for it.
    pub cites: Vec<Row>,
    /// The rows that it was compared with.
    pub contrast: Vec<Row>,
    /// Both sides by metric and data set, on the rows that still count.
    pub comparisons: Vec<Comparison>,
    /// The promotion that held the slot before.
    pub replaces: Option<PromotionId>,
    /// The promotion that took the slot since.
    pub replaced_by: Option<Replaced>,
    /// Experiments that start from it.
    pub rests_on_it: Vec<Resting>,
    /// Commands that lead on.
    pub next: Vec<String>,
}

/// What a human decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decided {
    /// The gate.
    pub gate: GateId,
    /// What was asked.
    pub question: Text,
    /// By whom.
    pub by: Actor,
    /// The record.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// The answer.
    pub outcome: GateOutcome,
    /// The rationale.
    pub why: Text,
    /// Whether a signature proves who it was.
    pub signed: bool,
}

/// The promotion that came after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// Which.
    pub promotion: PromotionId,
    /// The record.
    pub seq: Seq,
}

/// A row, with where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The evidence.
    pub evidence: EvidenceId,
    /// The record.
    pub seq: Seq,
    /// The metric.
    pub metric: Label,
    /// Which way is better.
    pub direction: Direction,
    /// The version of the data set.
    pub dataset: Label,
    /// What that is for.
    pub split: Split,
    /// The value.
    pub value: Decimal,
    /// Its spread.
    pub spread: Option<Decimal>,
    /// Observations behind it.
    pub n: Option<u64>,
    /// The run.
    pub trial: TrialId,
    /// Its seed.
    pub seed: u64,
    /// The experiment.
    pub experiment: ExperimentId,
    /// Its configuration.
    pub config: Text,
    /// The hypothesis.
    pub hypothesis: HypothesisId,
    /// The claim.
    pub claim: Text,
    /// Whether the row still stands.
    pub standing: Standing,
    /// How it was lost, if it was.
    pub lost: Option<Lost>,
    /// Newer evidence in its place.
    pub superseded_by: Option<EvidenceId>,
}

/// How a row stopped counting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lost {
    /// The record since which.
    pub seq: Seq,
    /// The kind of fault, if the row itself was found wrong.
    pub cause: Option<InvalidationCause>,
    /// By whom.
    pub by: Option<Actor>,
    /// What happened, in their words.
    pub why: Option<Text>,
    /// What it comes from that no longer stands, if it is tainted.
    pub through: Option<NodeId>,
}

/// Work that starts from a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Resting {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The record.
    pub seq: Seq,
    /// Its configuration.
    pub config: Text,
    /// Whether it still stands.
    pub standing: Standing,
    /// Its trials.
    pub trials: Vec<TrialId>,
    /// Those of them that have not ended.
    pub running: Vec<TrialId>,
}

/// Why a promotion was made and whether it still stands; none if there is no such promotion.
#[must_use]
pub fn why(graph: &Graph, id: PromotionId) -> Option<Why> {
    let node = graph.node(&NodeId::Promotion(id))?;
    let Facts::Promotion(event) = &node.facts else { return None };
    let standings = graph.standings();
    let assessed = standings.of(node);
    let (cites, contrast) =
        (rows(graph, &standings, node, EdgeKind::Cites), rows(graph, &standings, node, EdgeKind::Contrast));
    let comparisons = comparisons(&cites, &contrast);
    let next = next(event, assessed.standing, &cites, &contrast);
    Some(Why {
        promotion: id,
        slot: event.slot.clone(),
        artifact: event.artifact,
        title: event.title.clone(),
        seq: node.seq,
        ts: node.ts,
        actor: node.actor.clone(),
        standing: assessed.standing,
        since: assessed.since,
        as_of: graph.as_of(),
        decided: decided(graph, node),
        cites,
        contrast,
        comparisons,
        replaces: event.replaces,
        replaced_by: replaced_by(graph, id),
        rests_on_it: resting(graph, &standings, node),
        next,
    })
}

fn decided(graph: &Graph, node: &Node) -> Option<Decided> {
    let Facts::Gate(gate) = &graph.target(node, EdgeKind::DecidedBy)?.facts else { return None };
    let answer = gate.decided.as_ref()?;
    Some(Decided {
        gate: gate.opened.id,
        question: gate.opened.question.clone(),
        by: answer.actor.clone(),
        seq: answer.seq,
        ts: answer.ts,
        outcome: answer.event.outcome.clone(),
        why: answer.event.why.clone(),
        signed: false,
    })
}

fn rows(graph: &Graph, standings: &Standings, node: &Node, kind: EdgeKind) -> Vec<Row> {
    let cited = graph.edges_of(node).filter(|edge| edge.kind == kind);
    cited.filter_map(|edge| row(graph, standings, edge.to)).collect()
}

/// A row with everything that it comes from. Rule L0 makes sure that it is there.
fn row(graph: &Graph, standings: &Standings, node: &Node) -> Option<Row> {
    let Facts::Evidence(evidence) = &node.facts else { return None };
    let row = evidence.recorded.metric.as_ref()?;
    let Facts::Metric(metric) = &graph.target(node, EdgeKind::Measures)?.facts else { return None };
    let Facts::Dataset(dataset) = &graph.target(node, EdgeKind::MeasuredOn)?.facts else { return None };
    let Facts::Trial(trial) = &graph.target(node, EdgeKind::GeneratedBy)?.facts else { return None };
    let experiment_node = graph.experiment_of(node)?;
    let Facts::Experiment(experiment) = &experiment_node.facts else { return None };
    let Facts::Hypothesis(claim) = &graph.target(experiment_node, EdgeKind::Tests)?.facts else {
        return None;
    };
    Some(Row {
        evidence: evidence.recorded.id,
        seq: node.seq,
        metric: row.metric.clone(),
        direction: metric.direction,
        dataset: row.dataset.clone(),
        split: dataset.split,
        value: row.value.clone(),
        spread: row.spread.clone(),
        n: row.n,
        trial: row.trial,
        seed: trial.started.seed,
        experiment: experiment.id,
        config: experiment.config.clone(),
        hypothesis: claim.id,
        claim: claim.text.clone(),
        standing: standings.of(node).standing,
        lost: lost(graph, standings, node),
        superseded_by: evidence.superseded.as_ref().map(|later| later.event.by),
    })
}

fn lost(graph: &Graph, standings: &Standings, node: &Node) -> Option<Lost> {
    let assessed = standings.of(node);
    if let Facts::Evidence(evidence) = &node.facts
        && let Some(later) = &evidence.invalidated
    {
        return Some(Lost {
            seq: later.seq,
            cause: Some(later.event.cause),
            by: Some(later.actor.clone()),
            why: Some(later.event.why.clone()),
            through: None,
        });
    }
    let seq = assessed.lost?;
    Some(Lost { seq, cause: None, by: None, why: None, through: root(graph, standings, node) })
}

/// The node at which the taint of this one began.
fn root(graph: &Graph, standings: &Standings, node: &Node) -> Option<NodeId> {
    let mut place = standings.of(node).through.and_then(|index| graph.all().get(index))?;
    // Each step goes to an earlier node.
    while let Some(parent) = standings.of(place).through.and_then(|index| graph.all().get(index)) {
        place = parent;
    }
    Some(place.id.clone())
}

/// The values that are left on both sides.
#[derive(Default)]
struct Sides<'a> {
    cited: Vec<&'a Decimal>,
    contrast: Vec<&'a Decimal>,
}

/// Groups what is left of both sides by metric and data set, in the order in which they appear.
fn comparisons(cites: &[Row], contrast: &[Row]) -> Vec<Comparison> {
    let mut order: Vec<(&Label, &Label, Direction)> = Vec::new();
    let mut sides: BTreeMap<(&Label, &Label), Sides<'_>> = BTreeMap::new();
    let both = cites.iter().map(|row| (row, true)).chain(contrast.iter().map(|row| (row, false)));
    for (row, is_cited) in both {
        let side = sides.entry((&row.metric, &row.dataset)).or_insert_with(|| {
            order.push((&row.metric, &row.dataset, row.direction));
            Sides::default()
        });
        if row.standing.survives() {
            if is_cited { side.cited.push(&row.value) } else { side.contrast.push(&row.value) }
        }
    }
    order
        .into_iter()
        .map(|(metric, dataset, direction)| {
            let Sides { cited, contrast } = sides.remove(&(metric, dataset)).unwrap_or_default();
            compare((metric, dataset), direction, &cited, &contrast)
        })
        .collect()
}

fn replaced_by(graph: &Graph, id: PromotionId) -> Option<Replaced> {
    graph.nodes().find_map(|node| match &node.facts {
        Facts::Promotion(later) if later.replaces == Some(id) => {
            Some(Replaced { promotion: later.id, seq: node.seq })
        }
        _ => None,
    })
}

fn resting(graph: &Graph, standings: &Standings, promotion: &Node) -> Vec<Resting> {
    let mut resting: BTreeMap<usize, Resting> = BTreeMap::new();
    for edge in graph.edges() {
        match (&edge.from.facts, edge.kind) {
            (Facts::Experiment(experiment), EdgeKind::StartsFrom) if edge.to.id == promotion.id => {
                let one = Resting {
                    experiment: experiment.id,
                    seq: edge.from.seq,
                    config: experiment.config.clone(),
                    standing: standings.of(edge.from).standing,
                    trials: Vec::new(),
                    running: Vec::new(),
                };
                resting.insert(edge.from.index, one);
            }
            (Facts::Trial(trial), EdgeKind::TrialOf) if edge.to.kind() == Kind::Experiment => {
                if let Some(one) = resting.get_mut(&edge.to.index) {
                    one.trials.push(trial.started.id);
                    if trial.ended.is_none() {
                        one.running.push(trial.started.id);
                    }
                }
            }
            _ => {}
        }
    }
    resting.into_values().collect()
}

/// What to look at: the first lost row if there is one, else the decision; and what to ask once support is gone.
fn next(event: &PromotionRecorded, standing: Standing, cites: &[Row], contrast: &[Row]) -> Vec<String> {
    let lost = cites.iter().chain(contrast).find(|row| row.lost.is_some());
    let mut next = match lost {
        Some(row) => vec![format!("loopx show {}", row.evidence)],
        None => vec![format!("loopx show {}", event.gate)],
    };
    if !standing.survives() {
        next.push(format!(
            "loopx ask \"{} no longer stands: what should hold slot {}?\"",
            event.id, event.slot
        ));
    }
    next
}
