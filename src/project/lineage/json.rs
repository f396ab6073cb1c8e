//! The graph as JSON: a header, then one node and one edge a line, in the order of the log.

use std::collections::BTreeMap;

use serde::Serialize;

use super::edge::{Class, Edge, EdgeKind};
use super::graph::{Graph, GraphGoal};
use super::node::{Facts, Kind, Later, Node, NodeId};
use super::standing::{Assessed, Standings};
use crate::event::{EvidenceInvalidated, EvidenceSuperseded, GateDecided, GateWithdrawn, TrialEnded};
use crate::hash::Hash;
use crate::id::{Actor, Seq};
use crate::text::Text;
use crate::time::Timestamp;

/// The name of this form. Changes when a key changes its meaning.
const FORMAT: &str = "loopx.lineage/1";

#[derive(Serialize)]
pub(super) struct Header {
    format: &'static str,
    goals: Vec<GraphGoal>,
    as_of: Seq,
    head: Hash,
    pub(super) counts: Counts,
}

#[derive(Serialize)]
pub(super) struct Counts {
    pub(super) nodes: usize,
    pub(super) edges: usize,
    pub(super) by_kind: BTreeMap<&'static str, usize>,
    pub(super) by_standing: BTreeMap<&'static str, usize>,
}

impl Counts {
    pub(super) fn of(graph: &Graph, standings: &Standings) -> Self {
        let mut counts = Self { nodes: 0, edges: 0, by_kind: BTreeMap::new(), by_standing: BTreeMap::new() };
        for kind in Kind::ALL {
            counts.by_kind.insert(kind.word(), 0);
        }
        for node in graph.nodes() {
            counts.nodes += 1;
            counts.edges += node.links.len();
            *counts.by_kind.entry(node.kind().word()).or_default() += 1;
            *counts.by_standing.entry(standings.of(node).standing.word()).or_default() += 1;
        }
        counts
    }
}

#[derive(Serialize)]
struct NodeLine<'a> {
    id: &'a NodeId,
    kind: Kind,
    seq: Seq,
    ts: Timestamp,
    actor: &'a Actor,
    title: String,
    #[serde(flatten)]
    assessed: Assessed,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo_title: Option<&'a Text>,
    recorded: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a Later<TrialEnded>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalidated: Option<&'a Later<EvidenceInvalidated>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded: Option<&'a Later<EvidenceSuperseded>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<&'a Later<GateDecided>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<&'a Later<GateWithdrawn>>,
}

#[derive(Serialize)]
struct EdgeLine<'a> {
    from: &'a NodeId,
    to: &'a NodeId,
    kind: EdgeKind,
    class: Class,
}

/// The whole graph as one JSON document. The same prefix of the log gives the same bytes.
#[must_use]
pub fn json(graph: &Graph) -> String {
    let standings = graph.standings();
    let header = Header {
        format: FORMAT,
        goals: graph.goals(),
        as_of: graph.as_of(),
        head: graph.head(),
        counts: Counts::of(graph, &standings),
    };
    let nodes: Vec<String> = graph.nodes().map(|node| line(&node_line(graph, &standings, node))).collect();
    let edges: Vec<String> = graph.edges().map(|edge| line(&edge_line(&edge))).collect();
    let header = line(&header);
    let header = header.strip_suffix('}').unwrap_or(&header);
    format!("{header},\n\"nodes\":[{}],\n\"edges\":[{}]}}\n", rows(&nodes), rows(&edges))
}

fn rows(lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join(",\n")) }
}

/// These types have only string keys and plain values: they can always be written.
fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn node_line<'a>(graph: &'a Graph, standings: &Standings, node: &'a Node) -> NodeLine<'a> {
    let mut line = NodeLine {
        id: &node.id,
        kind: node.kind(),
        seq: node.seq,
        ts: node.ts,
        actor: &node.actor,
        title: node.title(),
        assessed: standings.of(node),
        todo_title: None,
        recorded: serde_json::Value::Null,
        ended: None,
        invalidated: None,
        superseded: None,
        decided: None,
        withdrawn: None,
    };
    line.recorded = match &node.facts {
        Facts::Metric(metric) => value(metric),
        Facts::Dataset(dataset) => value(dataset),
        Facts::Hypothesis(hypothesis) => {
            line.todo_title = hypothesis.todo.and_then(|todo| graph.todo(todo));
            value(hypothesis)
        }
        Facts::Experiment(experiment) => value(experiment),
        Facts::Trial(trial) => {
            line.ended = trial.ended.as_ref();
            value(&trial.started)
        }
        Facts::Evidence(evidence) => {
            line.invalidated = evidence.invalidated.as_ref();
            line.superseded = evidence.superseded.as_ref();
            value(&evidence.recorded)
        }
        Facts::Gate(gate) => {
            line.decided = gate.decided.as_ref();
            line.withdrawn = gate.withdrawn.as_ref();
            value(&gate.opened)
        }
        Facts::Promotion(promotion) => value(promotion),
    };
    line
}

fn value(payload: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(payload).unwrap_or_default()
}

const fn edge_line<'a>(edge: &Edge<'a>) -> EdgeLine<'a> {
    EdgeLine { from: &edge.from.id, to: &edge.to.id, kind: edge.kind, class: edge.kind.class() }
}
