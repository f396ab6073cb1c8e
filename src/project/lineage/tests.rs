use proptest::prelude::*;

use super::sample::{Campaign, campaigns, text, wine};
use super::*;
use crate::event::{EvidenceInvalidated, ExperimentRegistered, InvalidationCause};
use crate::hash::Hash;
use crate::id::{EvidenceId, ExperimentId, HypothesisId, PromotionId, Seq};
use crate::state::At;
use crate::time::Timestamp;

fn answer(campaign: &Campaign) -> Why {
    why(&campaign.graph(), PromotionId(1)).unwrap()
}

#[test]
fn an_event_that_refers_to_nothing_is_an_error_with_its_place() {
    let at = At { seq: Seq(9), ts: Timestamp::MIN, actor: "agent/a1".parse().unwrap() };
    let dangling = [
        (
            ExperimentRegistered {
                config: text("k=1"),
                datasets: vec![],
                goal: "wine".parse().unwrap(),
                id: ExperimentId(1),
                starts_from: None,
                tests: HypothesisId(4),
            }
            .into(),
            "H4",
        ),
        (
            EvidenceInvalidated { cause: InvalidationCause::Leak, id: EvidenceId(3), why: text("leak") }
                .into(),
            "E3",
        ),
    ];
    for (event, missing) in dangling {
        let error = Graph::default().record(&at, &Hash::ZERO, &[event]).unwrap_err();
        let GraphError::Dangling { seq, target, .. } = &error else { panic!("{error}") };
        assert_eq!((*seq, target.to_string().as_str()), (Seq(9), missing));
    }
}

#[test]
fn the_same_thing_cannot_come_twice() {
    let mut graph = Graph::default();
    let (actor, event) = Campaign::start().events.remove(1);
    let at = At { seq: Seq(1), ts: Timestamp::MIN, actor };
    graph.record(&at, &Hash::ZERO, std::slice::from_ref(&event)).unwrap();
    let error = graph.record(&at, &Hash::ZERO, &[event]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record #1: metric.defined brings metric/accuracy, which is in the log already"
    );
}

#[test]
fn why_says_what_was_decided_on_which_rows_and_how_they_compare() {
    assert!(why(&wine(false).graph(), PromotionId(2)).is_none());
    let why = answer(&wine(false));
    assert_eq!((why.standing, why.since), (Standing::Valid, why.seq));
    assert_eq!(why.decided.as_ref().unwrap().by.name(), "ana");
    assert_eq!(why.cites.len(), 4);
    let [cv, holdout] = &why.comparisons[..] else { panic!() };
    assert_eq!(cv.verdict, Verdict::Better);
    assert_eq!(cv.mean_difference.as_deref(), Some("+0.230583"));
    assert_eq!((holdout.verdict, holdout.contrast.rows), (Verdict::Inconclusive, 0));
    assert_eq!(why.rests_on_it.len(), 1);
    assert_eq!(why.rests_on_it[0].running.len(), 1);
}

#[test]
fn why_names_the_lost_row_its_cause_and_what_to_do() {
    let why = answer(&wine(true));
    assert_eq!((why.standing, why.since), (Standing::Unsupported, why.as_of));
    assert_eq!(why.contrast[0].lost.as_ref().unwrap().cause, Some(InvalidationCause::Leak));
    assert_eq!(why.comparisons[0].verdict, Verdict::Inconclusive);
    assert_eq!(
        why.next,
        ["loopx show E1", "loopx ask \"P1 no longer stands: what should hold slot incumbent?\""]
    );
    let text = render(&why);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("P1  knn k=5 manhattan, standardised  slot incumbent, artifact "), "{first}");
    assert!(first.ends_with("  UNSUPPORTED since #92"), "{first}");
    let because = "because      E1 (0.7500, X1 seed 1) was invalidated at #91 by ana: leak: \"fold 3 leaked";
    assert!(text.contains(because), "{text}");
    assert!(text.contains("rests on it  X9 k=3 metric=manhattan scaling=standard weights=distance: tainted, 2 trials, 1 running"), "{text}");
    assert!(text.contains("accuracy on wine-cv: inconclusive (no contrast row is left)"), "{text}");
}

#[test]
fn a_tainted_row_names_the_promotion_at_which_its_taint_began() {
    let mut c = wine(true);
    let row = c.events.iter().filter(|(_, event)| event.kind() == "evidence.recorded").count();
    let gate = c.gate("agent/a2", "promote the weighted one?", &[]);
    c.promote(gate, &[u32::try_from(row).unwrap()], &[], "weighted");
    let why = why(&c.graph(), PromotionId(2)).unwrap();
    let lost = why.cites[0].lost.as_ref().unwrap();
    assert_eq!(lost.through.as_ref().map(ToString::to_string).as_deref(), Some("P1"));
    assert_eq!(answer(&c).replaced_by.unwrap().promotion, PromotionId(2));
}

#[test]
fn json_has_a_header_and_a_line_for_each_node_and_edge() {
    let graph = wine(true).graph();
    let text = json(&graph);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["format"], "loopx.lineage/1");
    assert_eq!(value["as_of"], 92);
    assert_eq!(value["goals"][0]["goal"], "wine");
    assert_eq!(value["counts"]["nodes"], graph.nodes().count());
    assert_eq!(value["nodes"].as_array().unwrap().len(), graph.nodes().count());
    assert_eq!(value["edges"].as_array().unwrap().len(), graph.edges().count());
    let promotion = value["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "P1").unwrap();
    assert_eq!(
        (promotion["standing"].as_str(), promotion["since"].as_u64()),
        (Some("unsupported"), Some(92))
    );
    assert_eq!(promotion["recorded"]["slot"], "incumbent");
}

#[test]
fn dot_quotes_every_id_and_escapes_every_title() {
    let mut c = Campaign::start();
    c.hypothesis("agent/a1", "\"a\" \\N <b>&amp;\u{1b}[31m\nx", &[]);
    let text = dot(&c.graph());
    assert!(
        text.contains(r#""H1" [label="H1\n\"a\" \\N <b>&amp;amp;\\u{1b}[31m\\nx", shape=note"#),
        "{text}"
    );
    assert!(text.contains("\"dataset/wine-cv\" [label="), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn exports_are_pure_and_carry_no_unsafe_character(c in campaigns(60)) {
        let (graph, again) = (c.graph(), c.graph());
        let value: serde_json::Value = serde_json::from_str(&json(&graph)).unwrap();
        prop_assert_eq!(value["counts"]["edges"].as_u64(), Some(graph.edges().count() as u64));
        prop_assert_eq!(json(&graph), json(&again));
        prop_assert_eq!(dot(&graph), dot(&again));
        for node in graph.nodes() {
            if let NodeId::Promotion(id) = &node.id {
                let text = render(&why(&graph, *id).unwrap());
                prop_assert!(!text.chars().any(|c| c != '\n' && crate::project::escape::is_unsafe(c)));
            }
        }
        let safe = |text: &str| !text.chars().any(|c| c != '\n' && crate::project::escape::is_unsafe(c));
        prop_assert!(safe(&dot(&graph)));
    }
}
