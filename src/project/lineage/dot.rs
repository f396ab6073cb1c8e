//! The graph for Graphviz.

use std::fmt::Write;

use super::edge::{Class, Edge};
use super::graph::Graph;
use super::json::Counts;
use super::node::{Facts, Kind, Node, NodeId};
use super::standing::{Standing, Standings};
use crate::project::escape;

/// Longest label of a node, in characters, so that one title does not stretch the drawing.
const LABEL_CHARS: usize = 60;

/// The whole graph in DOT, laid out so that influence runs left to right. An edge points from the node that refers to
/// the one referred to, as in JSON; its arrow is drawn at the other end.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let standings = graph.standings();
    let counts = Counts::of(graph, &standings);
    let goals: Vec<String> = graph.goals().iter().map(|goal| goal.goal.to_string()).collect();
    let mut out = String::new();
    let header = format!(
        "lineage of {} as of #{}, head {}, {} nodes, {} edges",
        if goals.is_empty() { "no goal".to_owned() } else { goals.join(", ") },
        graph.as_of(),
        graph.head(),
        counts.nodes,
        counts.edges
    );
    let _ = writeln!(out, "digraph \"lineage\" {{");
    let _ =
        writeln!(out, "  graph [rankdir=RL, label=\"{}\", fontname=\"Helvetica\"];", escape::dot(&header));
    out.push_str("  node [fontname=\"Helvetica\", fontsize=10];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=8, dir=back];\n");
    for node in graph.nodes() {
        write_node(&mut out, &standings, node);
    }
    for edge in graph.edges() {
        write_edge(&mut out, &edge);
    }
    out.push_str("}\n");
    out
}

fn quoted(id: &NodeId) -> String {
    format!("\"{}\"", escape::dot(&id.to_string()))
}

fn write_node(out: &mut String, standings: &Standings, node: &Node) {
    let standing = standings.of(node).standing;
    let mut label = format!("{}\\n{}", escape::dot(&node.id.to_string()), escape::dot(&shortened(node)));
    if let Facts::Evidence(evidence) = &node.facts
        && let Some(row) = &evidence.recorded.metric
    {
        label = format!("{}\\n{} {}", escape::dot(&node.id.to_string()), row.metric, row.value);
    }
    if standing != Standing::Valid {
        label.push_str("\\n");
        label.push_str(standing.word());
    }
    let style = match standing {
        Standing::Valid => "solid",
        Standing::Reduced => "dotted",
        Standing::Tainted | Standing::Unsupported => "dashed",
        Standing::Invalid => "dashed,diagonals",
    };
    let (shape, peripheries) = match node.kind() {
        Kind::Metric => ("plaintext", 0),
        Kind::Dataset => ("cylinder", 1),
        Kind::Hypothesis => ("note", 1),
        Kind::Experiment | Kind::Trial => ("box", 1),
        Kind::Evidence => ("ellipse", 1),
        Kind::Gate => ("diamond", 1),
        Kind::Promotion => ("box", 2),
    };
    let _ = writeln!(
        out,
        "  {} [label=\"{label}\", shape={shape}, peripheries={peripheries}, style=\"{style}\"];",
        quoted(&node.id)
    );
}

fn shortened(node: &Node) -> String {
    let title = node.title();
    let mut short: String = title.chars().take(LABEL_CHARS).collect();
    if title.chars().nth(LABEL_CHARS).is_some() {
        short.push('…');
    }
    short
}

fn write_edge(out: &mut String, edge: &Edge<'_>) {
    let style = match edge.kind.class() {
        Class::Hard => "solid",
        Class::Support => "bold",
        Class::Contrast => "dashed",
        Class::Idea | Class::Advisory | Class::None => "dotted",
    };
    let _ = writeln!(
        out,
        "  {} -> {} [label=\"{}\", style={style}];",
        quoted(&edge.from.id),
        quoted(&edge.to.id),
        edge.kind.words()
    );
}
