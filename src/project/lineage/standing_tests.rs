use proptest::prelude::*;

use super::*;
use crate::project::lineage::NodeId;
use crate::project::lineage::sample::{Campaign, campaigns, wine};

/// The rules again, word for word, by recursion over one prefix: slow, and without a scan.
fn naive(graph: &Graph, node: &Node) -> Standing {
    let of = |kinds: &[EdgeKind]| -> Vec<Standing> {
        let cited = graph.edges_of(node).filter(|edge| kinds.contains(&edge.kind));
        cited.map(|edge| naive(graph, edge.to)).collect()
    };
    let is_lost = |standing: &Standing| *standing >= Standing::Tainted;
    if let Facts::Evidence(evidence) = &node.facts
        && evidence.invalidated.is_some()
    {
        return Standing::Invalid;
    }
    let (support, contrast) = (of(&[EdgeKind::Cites, EdgeKind::LooksAt]), of(&[EdgeKind::Contrast]));
    let gone = |rows: &[Standing]| !rows.is_empty() && rows.iter().all(is_lost);
    if gone(&support) || gone(&contrast) {
        return Standing::Unsupported;
    }
    let tainted = graph.edges_of(node).any(|edge| {
        let standing = naive(graph, edge.to);
        match edge.kind {
            EdgeKind::Uses
            | EdgeKind::StartsFrom
            | EdgeKind::TrialOf
            | EdgeKind::GeneratedBy
            | EdgeKind::MeasuredOn
            | EdgeKind::Measures
            | EdgeKind::DecidedBy => match edge.to.kind() {
                Kind::Gate => matches!(standing, Standing::Invalid | Standing::Tainted),
                _ => is_lost(&standing),
            },
            EdgeKind::Cites
            | EdgeKind::LooksAt
            | EdgeKind::Contrast
            | EdgeKind::Refines
            | EdgeKind::Tests
            | EdgeKind::About
            | EdgeKind::Replaces => false,
        }
    });
    if tainted {
        Standing::Tainted
    } else if support.iter().chain(&contrast).any(is_lost) {
        Standing::Reduced
    } else {
        Standing::Valid
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_scan_agrees_with_the_rules_at_every_prefix_and_dates_each_standing(c in campaigns(40)) {
        let total = c.events.len();
        let prefixes: Vec<Graph> = (0..=total).map(|count| c.prefix(count)).collect();
        let last = &prefixes[total];
        for graph in &prefixes {
            let standings = graph.standings();
            for node in graph.all() {
                prop_assert_eq!(standings.of(node).standing, naive(graph, node), "{} at {}", node.id, graph.as_of());
            }
        }
        let standings = last.standings();
        for node in last.all() {
            let assessed = standings.of(node);
            let is_so = |graph: &Graph| graph.all().get(node.index).map(|node| naive(graph, node)) == Some(assessed.standing);
            let first = prefixes.iter().rposition(|graph| !is_so(graph)).map_or(0, |place| place + 1);
            prop_assert_eq!(assessed.since.0, first as u64, "{} is {}", node.id, assessed.standing.word());
        }
    }

    #[test]
    fn every_edge_leads_to_a_node_of_the_graph_that_came_before(c in campaigns(60)) {
        let graph = c.graph();
        for edge in graph.edges() {
            prop_assert!(edge.to.index < edge.from.index);
            prop_assert!(graph.node(&edge.to.id).is_some(), "{} is not shown", edge.to.id);
        }
    }
}

fn standing(graph: &Graph, id: &str) -> Standing {
    let node = graph.nodes().find(|node| node.id.to_string() == id).unwrap();
    graph.standings().of(node).standing
}

#[test]
fn a_leaked_baseline_makes_the_promotion_unsupported_and_taints_what_starts_from_it() {
    let sound = wine(false).graph();
    assert_eq!(standing(&sound, "P1"), Standing::Valid);
    assert_eq!(standing(&sound, "X9"), Standing::Valid);
    let graph = wine(true).graph();
    for (id, expected) in [
        ("E1", Standing::Invalid),
        ("R1", Standing::Valid),
        ("X1", Standing::Valid),
        ("G1", Standing::Valid),
        ("P1", Standing::Unsupported),
        ("X9", Standing::Tainted),
        ("R20", Standing::Tainted),
        ("H7", Standing::Valid),
        ("H8", Standing::Valid),
        ("X6", Standing::Valid),
    ] {
        assert_eq!(standing(&graph, id), expected, "{id}");
    }
}

/// A hypothesis, an experiment and three rows.
fn three_rows() -> (Campaign, [u32; 3]) {
    let mut c = Campaign::start();
    let h = c.hypothesis("agent/a1", "claim", &[]);
    let x = c.experiment("agent/a1", h, "k=1", None);
    let rows = [1, 2, 3].map(|seed| c.run("agent/a1", x, seed, "0.9", "0.1"));
    (c, rows)
}

#[test]
fn support_is_lost_row_by_row() {
    let (mut c, [a, b, base]) = three_rows();
    let gate = c.gate("agent/a1", "promote?", &[a]);
    c.promote(gate, &[a, b], &[base], "it");
    c.invalidate(a, "leak");
    let reduced = c.graph();
    assert_eq!(
        (standing(&reduced, "P1"), standing(&reduced, "G1")),
        (Standing::Reduced, Standing::Unsupported)
    );
    c.invalidate(b, "leak");
    assert_eq!(standing(&c.graph(), "P1"), Standing::Unsupported);
}

#[test]
fn a_promotion_that_cites_only_what_comes_from_an_unsupported_one_is_unsupported_too() {
    let (mut c, [a, ..]) = three_rows();
    let gate = c.gate("agent/a1", "promote?", &[]);
    let first = c.promote(gate, &[a], &[], "first");
    let x = c.experiment("agent/a1", 1, "next", Some(first));
    let row = c.run("agent/a1", x, 1, "0.95", "");
    let gate = c.gate("agent/a1", "promote again?", &[]);
    c.promote(gate, &[row], &[], "second");
    assert_eq!(standing(&c.graph(), "P2"), Standing::Valid);
    c.invalidate(a, "leak");
    let graph = c.graph();
    assert_eq!(standing(&graph, &format!("E{row}")), Standing::Tainted);
    assert_eq!(standing(&graph, "P2"), Standing::Unsupported);
}

#[test]
fn superseded_evidence_and_ideas_conduct_nothing() {
    let (mut c, [a, b, _]) = three_rows();
    let gate = c.gate("agent/a1", "promote?", &[]);
    c.promote(gate, &[a], &[], "it");
    c.supersede(a, b);
    assert_eq!(standing(&c.graph(), "P1"), Standing::Valid);
    c.invalidate(a, "leak");
    c.hypothesis("agent/a1", "child", &[1]);
    assert_eq!(standing(&c.graph(), "H2"), Standing::Valid);
}

#[test]
fn other_evidence_is_in_the_graph_once_a_gate_looks_at_it() {
    let mut c = Campaign::start();
    let note = c.note("agent/a1", "the owner's data sheet");
    let id = NodeId::Evidence(crate::id::EvidenceId(note));
    assert!(c.graph().node(&id).is_none());
    c.gate("agent/a1", "may we use it?", &[note]);
    assert!(c.graph().node(&id).is_some());
}
