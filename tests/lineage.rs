//! Lineage over a real ledger: commands in, replay out, and what a reader is told.

use std::cell::Cell;

use loopx::decide::{Caller, Command};
use loopx::id::{PromotionId, Seq};
use loopx::ledger::{Env, Ledger, Submission};
use loopx::log::Wait;
use loopx::project::lineage::{Graph, Kind, Standing, Verdict, dot, json as export_json, render, svg, why};
use loopx::time::Timestamp;
use serde_json::Value;
use serde_json::json;

const WAIT: Wait<'_> = Wait { holder: "test", wait_ms: 5_000 };

/// A ledger with the campaign of `commands`, each by an agent or by the owner.
fn ledger(root: &std::path::Path, commands: &[(bool, Value)]) -> Ledger {
    let ticks = Cell::new(0_i64);
    let now = || {
        ticks.set(ticks.get() + 1);
        Timestamp::from_micros(1_796_128_496_000_000 + 1_000_000 * ticks.get())
    };
    let ulid = || {
        ticks.set(ticks.get() + 1);
        ulid::Ulid::from(u128::try_from(ticks.get()).unwrap())
    };
    let env = Env { now: &now, ulid: &ulid };
    let mut ledger = Ledger::create(root, &env, false).unwrap();
    for (by_owner, command) in commands {
        let command: Command = serde_json::from_value(command.clone()).unwrap();
        let agent = (!by_owner).then(|| "a1".parse().unwrap());
        let owner = by_owner.then(|| "ana".parse().unwrap());
        let submission =
            Submission { caller: Caller { agent, owner, ..Caller::default() }, command, request: None };
        ledger.append(&env, &WAIT, &submission).unwrap_or_else(|error| panic!("{submission:?}: {error}"));
    }
    ledger
}

fn row(trial: &str, value: &str) -> (bool, Value) {
    let metric =
        json!({"trial": trial, "metric": "accuracy", "dataset": "wine-cv", "value": value, "n": 120});
    (
        false,
        json!({"command": "evidence.add", "about": trial, "kind": "metric", "summary": value, "metric": metric}),
    )
}

/// A baseline, an experiment, a gate, a promotion, and work that starts from it.
fn campaign() -> Vec<(bool, Value)> {
    let digest = "ab".repeat(32);
    let mut commands = vec![
        (true, json!({"command": "owner.register", "owner": "ana"})),
        (false, json!({"command": "agent.register", "agent": "a1"})),
        (true, json!({"command": "goal.start", "objective": "classify wines"})),
        (
            true,
            json!({"command": "lineage.metric", "metric": "accuracy", "direction": "maximize",
                   "unit": "fraction", "title": "rows classified rightly"}),
        ),
        (
            true,
            json!({"command": "lineage.dataset", "dataset": "wine-cv", "digest": digest, "rows": 120,
                   "split": "dev", "title": "UCI Wine"}),
        ),
        (false, json!({"command": "lineage.hypothesis", "text": "one neighbour is a fair baseline"})),
        (false, json!({"command": "lineage.hypothesis", "text": "scale the features", "refines": ["H1"]})),
    ];
    for (hypothesis, config) in [("H1", "k=1 scaling=none"), ("H2", "k=1 scaling=standard")] {
        commands.push((
            false,
            json!({"command": "lineage.experiment", "tests": hypothesis, "config": config, "datasets": ["wine-cv"]}),
        ));
    }
    for (trial, experiment, value) in [("R1", "X1", "0.7500"), ("R2", "X2", "0.9417")] {
        commands
            .push((false, json!({"command": "lineage.trial-start", "experiment": experiment, "seed": 1})));
        commands.push(row(trial, value));
        commands.push((false, json!({"command": "lineage.trial-end", "trial": trial, "end": "ok"})));
    }
    commands.push((
        false,
        json!({"command": "gate.open", "question": "promote X2?\u{1b}[31m", "evidence": ["E2"]}),
    ));
    commands.push((
        true,
        json!({"command": "gate.decide", "gate": "G1", "outcome": {"is": "approve"}, "why": "clear"}),
    ));
    commands.push((
        false,
        json!({"command": "lineage.promote", "slot": "incumbent", "gate": "G1", "artifact": digest,
               "title": "knn, scaled", "cites": ["E2"], "contrast": ["E1"]}),
    ));
    commands.push((
        false,
        json!({"command": "lineage.experiment", "tests": "H2", "config": "k=3 scaling=standard",
               "datasets": ["wine-cv"], "starts_from": "P1"}),
    ));
    commands.push((
        true,
        json!({"command": "evidence.invalidate", "evidence": "E1", "cause": "leak", "why": "test rows in training"}),
    ));
    commands
}

fn graph(ledger: &Ledger, to: Seq) -> Graph {
    let mut graph = Graph::default();
    let mut failure = None;
    ledger
        .replay(to, &mut |_, entry| {
            failure = failure.take().or(graph.record(&entry.at, &entry.hash, &entry.events).err());
        })
        .unwrap();
    assert_eq!(failure, None);
    graph
}

#[test]
fn a_promotion_is_supported_until_its_baseline_is_found_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir.path().join(".loopx"), &campaign());
    let head = ledger.head().seq;
    let before = why(&graph(&ledger, Seq(head.0 - 1)), PromotionId(1)).unwrap();
    assert_eq!(before.standing, Standing::Valid);
    assert_eq!(before.comparisons[0].mean_difference.as_deref(), Some("+0.191700"));
    assert_eq!(before.comparisons[0].verdict, Verdict::Better);

    let now = graph(&ledger, head);
    let after = why(&now, PromotionId(1)).unwrap();
    assert_eq!((after.standing, after.since), (Standing::Unsupported, head));
    assert_eq!(after.comparisons[0].verdict, Verdict::Inconclusive);
    assert_eq!(after.rests_on_it[0].standing, Standing::Tainted);
    let text = render(&after);
    assert!(text.contains("UNSUPPORTED") && text.contains("promote X2?\\u{1b}[31m"), "{text}");
    let value = serde_json::to_value(&after).unwrap();
    assert_eq!(value["standing"], "unsupported");
    assert_eq!(value["decided"]["outcome"]["is"], "approve");
    assert_eq!(value["contrast"][0]["lost"]["cause"], "leak");
}

#[test]
fn the_same_prefix_gives_the_same_bytes_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir.path().join(".loopx"), &campaign());
    let head = ledger.head();
    let (one, two) = (graph(&ledger, head.seq), graph(&ledger, head.seq));
    assert_eq!(one.head(), head.hash);
    for export in [export_json, dot, svg] {
        assert_eq!(export(&one), export(&two));
        assert!(!export(&one).contains('\u{1b}'));
    }
    let value: Value = serde_json::from_str(&export_json(&one)).unwrap();
    assert_eq!(value["head"], head.hash.to_string());
    let kinds = Kind::ALL.map(|kind| value["counts"]["by_kind"][kind.word()].as_u64().unwrap());
    assert_eq!(kinds, [1, 1, 2, 3, 2, 2, 1, 1]);
}
