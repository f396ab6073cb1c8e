//! Completing and paying: no side door, the turn that was opened is the one closed and charged, once.

mod kernel;

use std::sync::{Arc, Barrier};

use kernel::*;
use loopx::decide::command::{CheckResult, Close};
use loopx::decide::{Command, Refusal};
use loopx::event::{Continuation, Event, TurnEnd};
use loopx::hash::Hash;
use loopx::id::{EvidenceId, Seq, TodoId, TurnId};
use loopx::ledger::{Answer, Ledger, Submission, SubmitError};
use loopx::log::FileLog;
use loopx::state::{At, Quota};
use proptest::prelude::*;

/// The two ways to complete a todo, with this close.
fn both_ways(todo: &str, close: &str) -> [Command; 2] {
    [
        command(&format!(r#"{{"command":"done","todo":"{todo}","close":{close}}}"#)),
        command(&format!(r#"{{"command":"todo.complete","todo":"{todo}","close":{close}}}"#)),
    ]
}

/// Every command that can complete a todo is refused with this code, and nothing is appended.
fn no_way(world: &mut World, who: &str, todo: &str, close: &str, code: &str) {
    for command in both_ways(todo, close) {
        let name = command.name();
        let refusal = world.refused_command(who, command);
        assert_eq!(refusal.code(), code, "{who} {name} {close}: {refusal}");
    }
}

const NOTE: &str = r#""proof":[{"kind":"note","summary":"seen"}]"#;
const END: &str = r#""no_follow_up":"all there is""#;

#[test]
fn only_two_commands_complete_a_todo() {
    // Whoever adds a third has to add it to `both_ways`.
    let source = include_str!("../src/decide/close.rs");
    assert_eq!(source.matches("TodoCompleted {").count(), 1);
    assert_eq!(source.matches("completion(&mut draft, context").count(), 2);
    for file in ["todo", "turn", "hold", "gate", "goal", "quota", "people", "evidence", "lineage"] {
        let path = format!("{}/src/decide/{file}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(!std::fs::read_to_string(path).unwrap().contains("TodoCompleted"), "{file}");
    }
}

#[test]
fn a_close_without_evidence_that_counts_is_refused() {
    let mut world = World::with_todos(&["work", "other"]);
    world.next("a");
    let add = |world: &mut World, about: &str, more: &str| {
        world.by(
            "b",
            format!(r#"{{"command":"evidence.add","about":"{about}","kind":"command","summary":"s"{more}}}"#),
        );
        EvidenceId(world.state().minted.evidence)
    };
    no_way(&mut world, "a", "T1", &format!("{{{END}}}"), "evidence.required");
    let foreign = add(&mut world, "T2", "");
    let citing = |id: EvidenceId| format!(r#"{{"evidence":["{id}"],{END}}}"#);
    no_way(&mut world, "a", "T1", &citing(foreign), "evidence.elsewhere");
    no_way(&mut world, "a", "T1", &citing(EvidenceId(99)), "not_found");
    let old = add(&mut world, "T1", "");
    let new = add(&mut world, "T1", "");
    world.by(
        "b",
        format!(r#"{{"command":"evidence.supersede","evidence":"{old}","by":"{new}","why":"newer"}}"#),
    );
    no_way(&mut world, "a", "T1", &citing(old), "evidence.not_current");
    world.by(
        "b",
        format!(r#"{{"command":"evidence.invalidate","evidence":"{new}","cause":"leak","why":"x"}}"#),
    );
    no_way(&mut world, "a", "T1", &citing(new), "evidence.not_current");
    let failed = add(&mut world, "T1", r#","exit":1"#);
    no_way(&mut world, "a", "T1", &citing(failed), "evidence.failed");
    let failing = format!(r#"{{"proof":[{{"kind":"command","summary":"s","exit":2}}],{END}}}"#);
    no_way(&mut world, "a", "T1", &failing, "check.failed");
    for kind in ["check", "metric"] {
        let forged = format!(r#"{{"proof":[{{"kind":"{kind}","summary":"s"}}],{END}}}"#);
        no_way(&mut world, "a", "T1", &forged, "evidence.kind_reserved");
    }
    assert_eq!(
        world
            .refused("b", r#"{"command":"evidence.add","about":"T1","kind":"check","summary":"ok","exit":0}"#)
            .code(),
        "evidence.kind_reserved"
    );
    let good = add(&mut world, "T1", r#","exit":0"#);
    for command in both_ways("T1", &citing(good)).into_iter().take(1) {
        world.by_command("a", command);
    }
}

#[test]
fn a_close_says_exactly_one_thing_about_what_follows() {
    let mut world = World::with_todos(&["work", "other"]);
    world.next("a");
    let at = world.now();
    let parts = [
        END.to_owned(),
        r#""next":["go on"]"#.to_owned(),
        r#""successors":["T2"]"#.to_owned(),
        format!(r#""wait_for":{{"until":"{at}"}}"#),
        r#""hand_over":"b""#.to_owned(),
    ];
    no_way(&mut world, "a", "T1", &format!("{{{NOTE}}}"), "continuation.required");
    for (index, one) in parts.iter().enumerate() {
        for (other_index, other) in parts.iter().enumerate().skip(index + 1) {
            // New and open successors go together, and a hand-over names its one successor.
            let together = matches!((index, other_index), (1, 2) | (1, 4));
            if !together {
                no_way(&mut world, "a", "T1", &format!("{{{NOTE},{one},{other}}}"), "continuation.ambiguous");
            }
        }
    }
    no_way(
        &mut world,
        "a",
        "T1",
        &format!(r#"{{{NOTE},"hand_over":"b"}}"#),
        "continuation.hand_over_needs_next",
    );
    no_way(
        &mut world,
        "a",
        "T1",
        &format!(r#"{{{NOTE},"next":["x","y"],"hand_over":"b"}}"#),
        "continuation.hand_over_needs_next",
    );
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},"next":["x"],"hand_over":"zed"}}"#), "agent.unknown");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},"successors":["T1"]}}"#), "not_found");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},"successors":["T9"]}}"#), "not_found");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},"wait_for":{{"todo":"T1"}}}}"#), "not_found");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},"wait_for":{{"gate":"G1"}}}}"#), "gate.not_open");
    let [done, _] = both_ways("T1", &format!(r#"{{{NOTE},"next":["go on"],"hand_over":"b"}}"#));
    let committed = world.by_command("a", done);
    let completed = committed.events.iter().find_map(|event| match event {
        Event::TodoCompleted(completed) => Some(&completed.continuation),
        _ => None,
    });
    assert_eq!(completed, Some(&Continuation::HandOver { agent: "b".parse().unwrap(), todo: TodoId(3) }));
    assert_eq!(world.answer("b"), ("RUN T3".to_owned(), 9));
}

#[test]
fn a_check_is_run_by_the_program_and_has_to_pass() {
    let mut world = World::new();
    world.add("checked", r#""check":["make","test"]"#);
    world.next("a");
    let close = format!("{{{NOTE},{END}}}");
    no_way(&mut world, "a", "T1", &close, "check.required");
    let json = close.replace('}', "") + r#","check":{"argv":["make","test"],"exit":0}}"#;
    assert!(serde_json::from_str::<Close>(&json).is_err(), "a result cannot be sent in");
    let with = |argv: &[&str], exit: Option<i32>| {
        let result = CheckResult {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            exit,
            digest: Hash::blob(b"output"),
            bytes: 6,
            tail: "output".to_owned(),
        };
        both_ways("T1", &close).map(|mut command| {
            command.close_mut().unwrap().check = Some(result.clone());
            command
        })
    };
    for (argv, exit, code) in [
        (&["make", "test"][..], Some(1), "check.failed"),
        (&["make", "test"], None, "check.failed"),
        (&["true"], Some(0), "check.required"),
        (&["make test"], Some(0), "check.required"),
    ] {
        for command in with(argv, exit) {
            assert_eq!(world.refused_command("a", command).code(), code, "{argv:?} {exit:?}");
        }
    }
    let [done, _] = with(&["make", "test"], Some(0));
    let committed = world.by_command("a", done);
    let kinds: Vec<String> = committed
        .events
        .iter()
        .filter_map(|event| match event {
            Event::EvidenceRecorded(evidence) => Some(format!("{:?}", evidence.kind)),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["Note", "Check"]);
}

#[test]
fn a_check_that_is_accepted_can_be_passed() {
    let mut world = World::new();
    for bad in [vec![""], vec![" "], vec!["x"; 65]] {
        let json = serde_json::json!({"command":"todo.add","title":"t","check":bad}).to_string();
        assert_eq!(world.refused("a", json).code(), "out_of_range");
    }
    let words = vec!["x".repeat(126); 65];
    let json = serde_json::json!({"command":"todo.add","title":"t","check":&words[..64]}).to_string();
    assert_eq!(command(&json).name(), "todo.add");
    let fits = vec!["x".repeat(127); 64];
    let json = serde_json::json!({"command":"todo.add","title":"t","check":fits}).to_string();
    world.by("a", json);
    world.next("a");
    let mut done = command(&done("T1"));
    done.close_mut().unwrap().check = Some(CheckResult {
        argv: vec!["x".repeat(127); 64],
        exit: Some(0),
        digest: Hash::blob(b""),
        bytes: 0,
        tail: String::new(),
    });
    world.by_command("a", done);
}

#[test]
fn a_stale_epoch_a_stranger_and_an_open_gate_are_refused() {
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    let close = format!("{{{NOTE},{END}}}");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},{END},"epoch":0}}"#), "epoch.stale");
    no_way(&mut world, "a", "T1", &format!(r#"{{{NOTE},{END},"epoch":2}}"#), "epoch.stale");
    no_way(&mut world, "b", "T1", &close, "held_by_other");
    no_way(&mut world, "a+other", "T1", &close, "held_by_other");
    let refusal = world.refused("@ana", complete("T1"));
    assert_eq!(refusal.code(), "held_by_other", "not even an owner completes what another one holds");
    world.by("b", r#"{"command":"gate.open","question":"Sure?","blocks":["T1"]}"#);
    no_way(&mut world, "a", "T1", &close, "gate.not_answered");
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"defer"},"why":"later"}"#);
    no_way(&mut world, "a", "T1", &close, "gate.not_answered");
    world.by("a", r#"{"command":"yield","todo":"T1","why":"waiting"}"#);
    let refusal = world.refused("@ana", complete("T1"));
    assert_eq!(refusal.code(), "gate.not_answered", "an owner answers the gate first");
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"yes"}"#);
    for command in both_ways("T1", &close) {
        assert_eq!(
            world.refused_command("a", command).code(),
            "turn.none",
            "nobody completes without a turn"
        );
    }
    world.by("@ana", complete("T1"));
}

#[test]
fn what_was_handed_over_is_completed_in_a_turn_like_everything_else() {
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    world.by("a", r#"{"command":"todo.hand_over","todo":"T1","to":"b","why":"yours"}"#);
    for command in both_ways("T1", &format!("{{{NOTE},{END}}}")) {
        assert_eq!(world.refused_command("b", command).code(), "turn.none");
    }
    world.claim("b", "T1");
    let committed = world.done("b", "T1");
    assert!(committed.events.iter().any(|event| matches!(event, Event::QuotaSpent(_))), "and paid for");
}

#[test]
fn what_only_a_person_can_do_is_not_handed_to_an_agent() {
    let mut world = World::new();
    world.add("sign", r#""class":"user_action""#);
    world.add("not by a", r#""excluded":["a"]"#);
    world.add("writes", r#""write":["src"]"#);
    world.add("writes too", r#""write":["src/x"]"#);
    for todo in ["T1", "T2", "T3", "T4"] {
        world.claim("@ana", todo);
    }
    for todo in ["T1", "T2"] {
        let refusal = world
            .refused("@ana", format!(r#"{{"command":"todo.hand_over","todo":"{todo}","to":"a","why":"x"}}"#));
        assert_eq!(refusal.code(), "todo.not_runnable");
    }
    let refusal = world.refused("@ana", r#"{"command":"todo.hand_over","todo":"T4","to":"a","why":"x"}"#);
    assert_eq!(refusal.to_string(), "T4 cannot be taken: writes where T3 does");
}

#[test]
fn evidence_of_another_goal_or_of_a_failure_meets_no_criterion() {
    let mut world = World::new();
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"o","criteria":["c"]}"#);
    let add = |world: &mut World, json: &str| {
        world.by("a", json);
        EvidenceId(world.state().minted.evidence)
    };
    let accept =
        |id: EvidenceId| format!(r#"{{"command":"goal.accept","criterion":"A1","evidence":"{id}"}}"#);
    let foreign =
        add(&mut world, r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"s"}"#);
    assert_eq!(world.refused("a rose", accept(foreign)).code(), "evidence.elsewhere");
    let failed = add(
        &mut world,
        r#"{"command":"evidence.add","about":"goal/rose","kind":"command","summary":"s","exit":3}"#,
    );
    assert_eq!(world.refused("a rose", accept(failed)).code(), "evidence.failed");
    let good =
        add(&mut world, r#"{"command":"evidence.add","about":"goal/rose","kind":"note","summary":"s"}"#);
    world.by("a rose", accept(good));
    world.by("a rose", r#"{"command":"goal.complete","why":"reached"}"#);
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"again","criteria":["c"]}"#);
    let refusal = world.refused("a rose", accept(good));
    assert_eq!(refusal.code(), "not_found", "what an earlier goal of the name rested on is not of this one");
}

#[test]
fn a_measured_value_of_an_earlier_goal_of_the_name_meets_no_criterion() {
    let mut world = World::new();
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#);
    world.by(
        "a",
        r#"{"command":"lineage.metric","metric":"acc","direction":"maximize","unit":"ratio","title":"accuracy"}"#,
    );
    let digest = Hash::blob(b"data");
    for json in [
        format!(
            r#"{{"command":"lineage.dataset","dataset":"d","digest":"{digest}","rows":1,"split":"dev","title":"t"}}"#
        ),
        r#"{"command":"lineage.hypothesis","text":"h"}"#.to_owned(),
        r#"{"command":"lineage.experiment","tests":"H1","config":"c","datasets":["d"]}"#.to_owned(),
        r#"{"command":"lineage.trial-start","experiment":"X1","seed":1}"#.to_owned(),
        r#"{"command":"evidence.add","about":"goal/rose","kind":"metric","summary":"s","metric":{"trial":"R1","metric":"acc","dataset":"d","value":"1"}}"#.to_owned(),
    ] {
        world.by("a rose", json);
    }
    world.by("@ana rose", r#"{"command":"goal.abandon","why":"w"}"#);
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"again","criteria":["c"]}"#);
    assert!(world.state().evidence.contains_key(&EvidenceId(1)), "a row stays, since lineage cites it");
    let refusal = world.refused("a rose", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    assert_eq!(refusal.code(), "evidence.elsewhere");
}

#[test]
fn a_record_that_would_void_or_pay_twice_does_not_fold() {
    let mut world = World::with_todos(&["one"]);
    world.next("a");
    let paid = world.done("a", "T1");
    let void = format!(r#"{{"command":"quota.void-slot","spend":{},"why":"w"}}"#, paid.at.seq);
    let voided = world.by("@ana", void);
    for mut again in [voided, paid] {
        again.events.retain(|event| matches!(event, Event::QuotaVoided(_) | Event::QuotaSpent(_)));
        assert_eq!(again.events.len(), 1);
        let mut state = world.state().clone();
        let at = At { seq: world.head().next(), ..again.at };
        assert!(state.apply(&at, &again.events).is_err(), "{:?}", again.events);
    }
}

#[test]
fn a_goal_started_again_under_its_name_inherits_nothing() {
    let mut world = World::with_todos(&["old"]);
    measured_values(&mut world);
    slots(&mut world, r#"{"kind":"slots","slots":0}"#);
    world.by("@ana", r#"{"command":"gate.open","question":"Promote?","blocks":["T1"],"evidence":["E1"]}"#);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"yes"}"#);
    assert_eq!(world.state().approvals.len(), 1);
    world.by("@ana", r#"{"command":"goal.abandon","why":"enough"}"#);
    let refusal = world.refused("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"again"}"#);
    assert_eq!(refusal.code(), "todo.not_open");
    world.by("@ana", r#"{"command":"goal.start","name":"iris","objective":"another"}"#);
    let state = world.state();
    assert!(
        state.todos.is_empty()
            && state.gates.is_empty()
            && state.approvals.is_empty()
            && state.quotas.is_empty()
    );
    let refusal = world.refused("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"again"}"#);
    assert_eq!(refusal.code(), "todo.not_open", "it belongs to the goal before");
}

/// Three measured values, E1 to E3, of one trial.
fn measured_values(world: &mut World) {
    world.by("a", r#"{"command":"lineage.metric","metric":"acc","direction":"maximize","unit":"ratio","title":"accuracy"}"#);
    let digest = Hash::blob(b"data");
    world.by("a", format!(r#"{{"command":"lineage.dataset","dataset":"iris-v1","digest":"{digest}","rows":150,"split":"dev","title":"flowers"}}"#));
    world.by("a", r#"{"command":"lineage.hypothesis","text":"k=5 is better"}"#);
    world.by("a", r#"{"command":"lineage.experiment","tests":"H1","config":"k=5","datasets":["iris-v1"]}"#);
    world.by("a", r#"{"command":"lineage.trial-start","experiment":"X1","seed":1}"#);
    let row = r#"{"command":"evidence.add","about":"R1","kind":"metric","summary":"0.95","metric":{"trial":"R1","metric":"acc","dataset":"iris-v1","value":"0.95"}}"#;
    for _ in 0..3 {
        world.by("a", row);
    }
}

#[test]
fn an_approval_that_no_promotion_can_use_leaves_nothing_in_the_state() {
    let mut world = World::with_todos(&["tune"]);
    let mut size = None;
    for gate in 1..=9 {
        world.by("a", r#"{"command":"gate.open","question":"Go on?","blocks":["T1"]}"#);
        world.by(
            "@ana",
            format!(r#"{{"command":"gate.decide","gate":"G{gate}","outcome":{{"is":"approve"}},"why":"w"}}"#),
        );
        assert!(world.state().approvals.is_empty(), "it was shown no measured value");
        let open = serde_json::to_value(world.state()).unwrap();
        let length = ["gates", "approvals", "todos"].map(|section| open[section].to_string().len());
        assert_eq!(*size.get_or_insert(length), length);
    }
}

#[test]
fn a_promotion_rests_on_a_yes_of_its_own_goal_and_on_rows_that_count() {
    let mut world = World::with_todos(&["tune"]);
    measured_values(&mut world);
    let digest = Hash::blob(b"model");
    let gate = |world: &mut World, options: &str, outcome: &str| {
        world.by(
            "a",
            format!(
                r#"{{"command":"gate.open","question":"Promote?","blocks":["T1"],"options":[{options}],"evidence":["E1","E2"]}}"#
            ),
        );
        let gate = world.state().minted.gates;
        world.by(
            "@ana",
            format!(r#"{{"command":"gate.decide","gate":"G{gate}","outcome":{outcome},"why":"w"}}"#),
        );
        gate
    };
    let promote = |gate: u32, cites: &str| {
        format!(
            r#"{{"command":"lineage.promote","slot":"best","gate":"G{gate}","artifact":"{digest}","title":"k=5","cites":["{cites}"]}}"#
        )
    };
    let chosen = gate(&mut world, r#""hold","ship""#, r#"{"is":"choice","option":"hold"}"#);
    assert_eq!(
        world.refused("a", promote(chosen, "E1")).code(),
        "gate.not_approved",
        "a choice is not a yes"
    );
    let approved = gate(&mut world, "", r#"{"is":"approve"}"#);
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#);
    assert_eq!(world.state().approvals.len(), 1, "it was shown measured values");
    assert_eq!(world.refused("a rose", promote(approved, "E1")).code(), "gate.not_approved");
    world.by("a", r#"{"command":"evidence.supersede","evidence":"E1","by":"E2","why":"measured again"}"#);
    assert_eq!(world.refused("a iris", promote(approved, "E1")).code(), "evidence.not_current");
    assert_eq!(world.refused("a iris", promote(approved, "E3")).code(), "gate.rows_not_shown");
    let against_itself = promote(approved, "E2").replace("}", r#","contrast":["E2"]}"#);
    assert_eq!(world.refused("a iris", against_itself).code(), "promotion.own_baseline");
    world.by("a iris", promote(approved, "E2"));
    let refusal = world.refused("a iris", promote(approved, "E2"));
    assert_eq!(refusal.code(), "gate.not_approved", "an approval is used once");
    let refusal =
        world.refused("a", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"x"}"#);
    assert_eq!(refusal.code(), "evidence.not_current", "twice is refused");
}

/// Whatever others may do between a turn's opening and its close.
fn commotion() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let who = prop_oneof![Just("b"), Just("c"), Just("b+s"), Just("@ana")];
    let what = prop_oneof![
        Just(r#"{"command":"todo.add","title":"urgent","priority":"P0"}"#.to_owned()),
        Just(r#"{"command":"next"}"#.to_owned()),
        (1..6u32).prop_map(|n| format!(r#"{{"command":"todo.claim","todo":"T{n}"}}"#)),
        (1..6u32).prop_map(|n| done(&format!("T{n}"))),
        (1..6u32).prop_map(|n| complete(&format!("T{n}"))),
        (1..6u32).prop_map(|n| format!(r#"{{"command":"yield","todo":"T{n}","why":"w"}}"#)),
        (2..6u32).prop_map(|n| format!(r#"{{"command":"todo.cancel","todo":"T{n}","why":"w"}}"#)),
        (2..6u32).prop_map(|n| format!(r#"{{"command":"todo.reopen","todo":"T{n}","why":"w"}}"#)),
        Just(r#"{"command":"gate.open","question":"q","blocks_all":true}"#.to_owned()),
        Just(r#"{"command":"goal.pause","why":"w"}"#.to_owned()),
        Just(r#"{"command":"quota.spend-slot"}"#.to_owned()),
        Just(r#"{"command":"quota.spend-slot","turn":"U1"}"#.to_owned()),
        Just(
            r#"{"command":"refresh-state","next_action":"n","turn":"U1","outcome":"surface_only"}"#
                .to_owned()
        ),
    ];
    prop::collection::vec((who, what), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_todo_that_was_opened_is_the_one_closed_and_charged(others in commotion(), in_steps: bool) {
        let mut world = World::with_todos(&["mine", "two", "three"]);
        world.next("a");
        for (who, json) in others {
            let _ = world.submit(who, command(&json), None);
        }
        // Whatever happened, it is either still this todo that is closed and charged, or it is said that it cannot be.
        let (before, spent) = (world.state().turns.get(&TurnId(1)).cloned(), "quota.spent");
        prop_assert!(before.is_some(), "nobody but a and an owner ends a's turn here");
        let last = if in_steps {
            world.by("a", complete("T1"));
            world.by("a", r#"{"command":"quota.spend-slot"}"#)
        } else {
            world.done("a", "T1")
        };
        let charged: Vec<_> = last.events.iter().filter_map(|event| match event {
            Event::QuotaSpent(spend) => Some((spend.turn, spend.todo, spend.slots)),
            _ => None,
        }).collect();
        prop_assert_eq!(&charged, &vec![(TurnId(1), TodoId(1), 1)], "{}", spent);
        prop_assert!(!world.state().todos.contains_key(&TodoId(1)) && !world.state().turns.contains_key(&TurnId(1)));
        let paid = world.state().quotas.values().flat_map(|quota| &quota.groups).filter(|s| s.turn == TurnId(1)).map(|s| s.spends).sum::<u64>();
        prop_assert_eq!(paid, 1);
    }
}

#[test]
fn the_same_request_is_the_same_receipt_late_and_after_other_work() {
    let mut world = World::with_todos(&["one", "two"]);
    let land =
        |world: &mut World, who: &str, json: &str, id: &str| match world.submit(who, command(json), Some(id))
        {
            Ok(Answer::Committed(committed)) => committed.receipt,
            other => panic!("{other:?}"),
        };
    let requests = [
        ("a", r#"{"command":"next"}"#.to_owned(), "r1"),
        ("a", done("T1"), "r2"),
        ("b", r#"{"command":"next"}"#.to_owned(), "r3"),
        ("b", complete("T2"), "r4"),
        ("b", r#"{"command":"quota.spend-slot"}"#.to_owned(), "r5"),
        ("@ana", r#"{"command":"quota.void-slot","spend":15,"why":"w"}"#.to_owned(), "r6"),
    ];
    let mut receipts = Vec::new();
    for (who, json, id) in &requests[..5] {
        receipts.push(land(&mut world, who, json, id));
        world.pass(7 * HOUR);
    }
    for (index, (who, json, id)) in requests[..5].iter().enumerate() {
        let again = land(&mut world, who, json, id);
        assert_eq!(
            (again.seq, again.hash, again.duplicate),
            (receipts[index].seq, receipts[index].hash, true)
        );
    }
    // From another program, over the same log.
    let mut elsewhere = Ledger::start(Box::new(world.log.clone()), None).unwrap();
    let submission = Submission {
        caller: caller("a"),
        command: command(&requests[1].1),
        request: Some("r2".parse().unwrap()),
    };
    let answer = world.ticks.with(|env| elsewhere.submit(env, &WAIT, &submission)).unwrap();
    let Answer::Committed(committed) = answer else { panic!() };
    assert_eq!((committed.receipt.seq, committed.receipt.hash), (receipts[1].seq, receipts[1].hash));
    // The same id for anything else is refused, whoever asks and whatever it is.
    let head = world.head();
    for (who, json) in [
        ("a", r#"{"command":"todo.add","title":"x"}"#.to_owned()),
        ("b", requests[1].1.clone()),
        ("a", done("T2")),
        ("a iris", requests[1].1.clone()),
    ] {
        let error = world.submit(who, command(&json), Some("r2")).unwrap_err();
        assert!(matches!(error, SubmitError::RequestReused { seq, .. } if seq == receipts[1].seq), "{error}");
        assert_eq!(world.head(), head);
    }
}

#[test]
fn a_refused_request_id_is_free_again() {
    let mut world = World::with_todos(&["one"]);
    let error = world.submit("a", command(&done("T1")), Some("r1")).unwrap_err();
    assert!(matches!(error, SubmitError::Refused(_)));
    world.next("a");
    assert!(world.submit("a", command(&done("T1")), Some("r1")).is_ok());
}

#[test]
fn a_turn_is_paid_for_once_and_the_spend_is_voided_once() {
    let mut world = World::with_todos(&["one", "two"]);
    world.next("a");
    world.by("a", complete("T1"));
    let paid = world.by("a", r#"{"command":"quota.spend-slot","turn":"U1"}"#).receipt;
    for _ in 0..3 {
        let again = world.by("a", r#"{"command":"quota.spend-slot","turn":"U1"}"#).receipt;
        assert_eq!((again.seq, again.hash, again.duplicate), (paid.seq, paid.hash, true));
    }
    assert_eq!(world.refused("a", r#"{"command":"quota.spend-slot"}"#).code(), "turn.none");
    let spent = |world: &World| {
        world.state().quotas.values().map(|quota| quota.spent_slots(world.now())).sum::<u64>()
    };
    assert_eq!(spent(&world), 1);
    let void = format!(r#"{{"command":"quota.void-slot","spend":{},"why":"mistake"}}"#, paid.seq);
    assert_eq!(world.refused("a", &void).code(), "owner.required");
    world.by("@ana", &void);
    assert_eq!(spent(&world), 0);
    assert_eq!(world.refused("@ana", &void).code(), "quota.no_such_spend");
    let again = world.by("a", r#"{"command":"quota.spend-slot","turn":"U1"}"#).receipt;
    assert_eq!(again.seq, paid.seq, "a voided spend does not make room for another of the same turn");
    assert_eq!(spent(&world), 0);
}

#[test]
fn only_a_turn_that_brought_something_may_spend() {
    let mut world = World::with_todos(&["one", "two"]);
    world.next("a");
    assert_eq!(world.refused("a", r#"{"command":"quota.spend-slot"}"#).code(), "turn.not_accountable");
    for outcome in ["surface_only", "outcome_gap"] {
        world.by(
            "a",
            format!(r#"{{"command":"refresh-state","next_action":"n","turn":"U1","outcome":"{outcome}"}}"#),
        );
        assert_eq!(world.refused("a", r#"{"command":"quota.spend-slot"}"#).code(), "turn.not_accountable");
        let json = done("T1")
            .replace(r#""close""#, &format!(r#""outcome":"{outcome}","spend":{{"slots":1}},"close""#));
        assert_eq!(world.refused("a", json).code(), "turn.not_accountable");
    }
    world
        .by("a", r#"{"command":"refresh-state","next_action":"n","turn":"U1","outcome":"outcome_progress"}"#);
    world.by("a", r#"{"command":"refresh-state","next_action":"and then","turn":"U1"}"#);
    let committed = world.by("a", r#"{"command":"quota.spend-slot"}"#);
    assert!(matches!(&committed.events[1], Event::TurnClosed(closed) if closed.end == TurnEnd::Yielded));
    assert!(world.state().todos[&TodoId(1)].claim.is_none(), "the todo goes on, with whoever takes it");
}

#[test]
fn a_note_on_a_turn_lands_in_the_goal_of_that_turn() {
    let mut world = World::with_todos(&["one"]);
    world.next("a");
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#);
    world.by("a rose", r#"{"command":"refresh-state","next_action":"n","turn":"U1"}"#);
    let notes: Vec<bool> = world.state().goals.values().map(|goal| goal.note.is_some()).collect();
    assert_eq!(notes, [true, false], "iris, not rose");
}

#[test]
fn absent_zero_and_unlimited_quota_are_three_things() {
    let allowance = |world: &World| world.state().quotas.values().next().and_then(Quota::allowed_slots);
    let mut world = World::with_todos(&["one", "two"]);
    assert!(world.state().quotas.is_empty());
    assert_eq!(world.answer("a"), ("RUN T1".to_owned(), 9));
    slots(&mut world, r#"{"kind":"unlimited"}"#);
    assert_eq!((allowance(&world), world.answer("a").1), (None, 9));
    slots(&mut world, r#"{"kind":"slots","slots":0}"#);
    assert_eq!((allowance(&world), world.answer("a")), (Some(0), ("WAIT".to_owned(), 3)));
    slots(&mut world, r#"{"kind":"share","milli":1000}"#);
    assert_eq!((allowance(&world), world.answer("a").1), (Some(1_440), 9));
    for bad in [r#"{"kind":"share","milli":1001}"#, r#"{"kind":"slots","slots":1000000000001}"#] {
        let json = format!(r#"{{"command":"quota.set","allowance":{bad},"why":"w"}}"#);
        assert_eq!(world.refused("@ana", json).code(), "out_of_range");
    }
    assert_eq!(
        world.refused("a", r#"{"command":"quota.set","allowance":{"kind":"unlimited"},"why":"w"}"#).code(),
        "owner.required"
    );
}

#[test]
fn the_window_slides_and_says_exactly_when_a_slot_is_free() {
    let mut world = World::with_todos(&["one", "two", "three", "four"]);
    slots(&mut world, r#"{"kind":"slots","slots":2}"#);
    let mut spends = Vec::new();
    for _ in 0..2 {
        let todo = world.next("a");
        world.done("a", &todo.to_string());
        spends.push(world.now());
        world.pass(HOUR);
    }
    let Refusal::QuotaExceeded { slots, allowed, spent, free_at, .. } =
        world.refused("a", r#"{"command":"todo.claim","todo":"T3"}"#)
    else {
        panic!()
    };
    assert_eq!((slots, allowed, spent, free_at), (1, 2, 2, Some(spends[0].plus_ms(24 * HOUR))));
    world.ticks.now.set(spends[0].plus_ms(24 * HOUR - 1));
    assert_eq!(world.answer("a").1, 13);
    world.ticks.now.set(spends[0].plus_ms(24 * HOUR));
    assert_eq!(world.next("a"), TodoId(3));
    let json = done("T3").replace(r#""close""#, r#""spend":{"slots":2},"close""#);
    let Refusal::QuotaExceeded { free_at, .. } = world.refused("a", json) else { panic!() };
    assert_eq!(free_at, Some(spends[1].plus_ms(24 * HOUR)));
    let json = done("T3").replace(r#""close""#, r#""spend":{"slots":3},"close""#);
    let Refusal::QuotaExceeded { free_at, .. } = world.refused("a", json) else { panic!() };
    assert_eq!(free_at, None, "more than the whole allowance never fits");
    world.done("a", "T3");
    assert_eq!(world.decision("a").wake.at, Some(spends[1].plus_ms(24 * HOUR)));
}

#[test]
fn a_clock_set_back_gives_no_budget_back_and_no_lease_more_time() {
    let mut world = World::with_todos(&["one", "two"]);
    slots(&mut world, r#"{"kind":"slots","slots":1}"#);
    world.next("a");
    world.done("a", "T1");
    let spent = world.now();
    world.ticks.now.set(spent.minus_ms(48 * HOUR));
    assert_eq!(world.answer("a"), ("WAIT".to_owned(), 13));
    world.by(
        "@ana",
        r#"{"command":"quota.void-slot","spend":12,"why":"w"}"#.replace("12", &world.head().to_string()),
    );
    world.next("a");
    let until = world.state().todos[&TodoId(2)].claim.as_ref().unwrap().lease.as_ref().unwrap().until;
    assert_eq!(until, spent.plus_ms(45 * MINUTE), "ledger time does not run backwards");
    world.done("a", "T2");
    assert!(world.state().quotas.values().all(|quota| quota.groups.iter().all(|spend| spend.ts == spent)));
}

/// Twenty threads, each with its own ledger over the same log, race for one slot.
fn race(open: impl Fn(usize) -> Ledger + Sync) -> (usize, Vec<String>) {
    let barrier = Arc::new(Barrier::new(20));
    let outcomes: Vec<Result<Answer, SubmitError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|number| {
                let (barrier, open) = (Arc::clone(&barrier), &open);
                scope.spawn(move || {
                    let mut ledger = open(number);
                    let ticks = Ticks::new(1_000_000 * (number as u128 + 2));
                    let who = format!("a+s{number}");
                    let submission = Submission {
                        caller: caller(&who),
                        command: command(r#"{"command":"next"}"#),
                        request: None,
                    };
                    barrier.wait();
                    ticks.with(|env| ledger.submit(env, &WAIT, &submission))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Answer::Committed(_)))).count();
    let lost = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Ok(Answer::Committed(_)) => None,
            Ok(Answer::Quiet(decision)) => Some(format!("{:?}", decision.mode)),
            Err(error) => Some(error.to_string()),
        })
        .collect();
    (won, lost)
}

fn prepare(mut submit: impl FnMut(&str, &str)) {
    submit("", r#"{"command":"owner.register","owner":"ana"}"#);
    submit("@ana", r#"{"command":"goal.start","objective":"o"}"#);
    submit("@ana", r#"{"command":"agent.register","agent":"a"}"#);
    submit("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"w"}"#);
    for _ in 0..20 {
        submit("@ana", r#"{"command":"todo.add","title":"t"}"#);
    }
}

#[test]
fn of_twenty_who_race_for_the_last_slot_in_memory_one_wins() {
    let mut world = World::empty();
    prepare(|who, json| {
        world.by(who, json);
    });
    let log = world.log.clone();
    let (won, lost) = race(|_| Ledger::start(Box::new(log.clone()), None).unwrap());
    assert_eq!(won, 1, "{lost:?}");
    assert!(lost.iter().all(|answer| answer == "QuotaThrottled"), "{lost:?}");
}

#[test]
fn of_twenty_who_race_for_the_last_slot_in_files_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    let ticks = Ticks::new(1_000);
    let mut ledger = in_files(&root, &ticks);
    prepare(|who, json| {
        let submission = Submission { caller: caller(who), command: command(json), request: None };
        ticks.with(|env| ledger.submit(env, &WAIT, &submission)).unwrap();
    });
    let (won, lost) =
        race(|_| Ledger::start(Box::new(FileLog::open(&root).unwrap()), Some(root.clone())).unwrap());
    assert_eq!(won, 1, "{lost:?}");
    assert!(lost.iter().all(|answer| answer == "QuotaThrottled"), "{lost:?}");
    ledger.refresh().unwrap();
    assert_eq!(ledger.head().seq, Seq(26));
    assert_eq!(ledger.state().turns.len(), 1);
}

#[test]
fn a_number_that_no_reader_would_take_is_never_written() {
    let mut world = World::with_todos(&["one"]);
    let json =
        r#"{"command":"evidence.add","about":"T1","kind":"file","summary":"s","bytes":9007199254740992}"#;
    assert_eq!(world.refused("a", json).code(), "out_of_range");
    world.next("a");
    for json in [
        done("T1").replace(r#""summary""#, r#""bytes":18446744073709551615,"summary""#),
        done("T1").replace(r#""close""#, r#""spend":{"tokens":9007199254740992},"close""#),
    ] {
        assert_eq!(world.refused("a", json).code(), "out_of_range");
    }
    world.ledger.refresh().unwrap();
}

#[test]
fn a_criterion_dropped_twice_in_one_change_is_dropped_once() {
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"o","criteria":["one","two"]}"#);
    world.by(
        "",
        r#"{"command":"goal.change","drop_criteria":["A1","A1"],"add_criteria":["three"],"reason":"r"}"#,
    );
    let ids: Vec<String> =
        world.state().goals.values().flat_map(|g| g.criteria.keys()).map(ToString::to_string).collect();
    assert_eq!(ids, ["A2", "A3"]);
}

#[test]
fn a_reopened_todo_is_not_counted_twice() {
    let mut world = World::with_todos(&["one"]);
    for _ in 0..2 {
        world.next("a");
        world.done("a", "T1");
        assert_eq!(world.state().goals.values().next().unwrap().completed_todos, 1);
        world.by("a", r#"{"command":"todo.reopen","todo":"T1","why":"not done"}"#);
        assert_eq!(world.state().goals.values().next().unwrap().completed_todos, 0);
    }
    assert_eq!(world.state().todos[&TodoId(1)].epoch, 2, "its epoch goes on growing");
}

fn slots(world: &mut World, allowance: &str) {
    world.by("@ana", format!(r#"{{"command":"quota.set","allowance":{allowance},"why":"set"}}"#));
}

#[test]
fn a_late_payer_gets_no_slot_that_someone_else_was_given() {
    let mut world = World::with_todos(&["one", "two"]);
    slots(&mut world, r#"{"kind":"slots","slots":1}"#);
    world.next("a");
    world.pass(HOUR);
    world.claim("b", "T2");
    let refusal = world.refused("a", done("T1"));
    assert_eq!(refusal.code(), "quota.exceeded", "its slot was kept for as long as its lease");
    world.by("a", complete("T1"));
    assert_eq!(world.refused("a", r#"{"command":"quota.spend-slot"}"#).code(), "quota.exceeded");
    world.done("b", "T2");
    world.pass(24 * HOUR);
    world.by("a", r#"{"command":"quota.spend-slot"}"#);
    assert!(world.state().turns.is_empty());
}

#[test]
fn no_change_of_the_window_gives_budget_back() {
    let mut world = World::with_todos(&["one", "two", "three"]);
    let window = |world: &mut World, days: u64| {
        let ms = days * 24 * HOUR;
        world.by(
            "@ana",
            format!(r#"{{"command":"quota.set","allowance":{{"kind":"slots","slots":2}},"window_ms":{ms},"why":"w"}}"#),
        );
    };
    window(&mut world, 30);
    world.next("a");
    world.done("a", "T1");
    world.pass(48 * HOUR);
    window(&mut world, 1);
    world.next("a");
    world.done("a", "T2");
    window(&mut world, 30);
    assert_eq!(world.answer("a"), ("WAIT".to_owned(), 13));
    assert_eq!(world.state().quotas.values().next().unwrap().spent_slots(world.now()), 2);
}

#[test]
fn what_a_close_waits_for_is_waited_for() {
    let mut world = World::with_todos(&["one", "two"]);
    world.by("a", r#"{"command":"gate.open","question":"Ship it?","blocks":["T2"]}"#);
    world.by("a", r#"{"command":"next"}"#);
    let past = r#"{"command":"done","todo":"T1","close":{"proof":[{"kind":"note","summary":"s"}],"wait_for":{"until":"2001-01-01T00:00:00.000000Z"}}}"#;
    assert_eq!(world.refused("a", past).code(), "in_past");
    let later = past.replace("2001", "2101");
    world.by("a", later);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"reject"},"why":"no"}"#);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"no"}"#);
    let decision = world.decision("a");
    assert_eq!(spell(&decision.verdict), "WAIT");
    assert_eq!(decision.wake.at.unwrap().to_string(), "2101-01-01T00:00:00.000000Z");
}

#[test]
fn completed_work_is_paid_for_even_if_its_agent_does_not_come_back_to_pay() {
    let mut world = World::with_todos(&["one", "two"]);
    slots(&mut world, r#"{"kind":"slots","slots":1}"#);
    world.by("a", r#"{"command":"next"}"#);
    let free = r#"{"command":"done","todo":"T1","close":{"proof":[{"kind":"note","summary":"s"}],"no_follow_up":"w"},"spend":{"slots":0}}"#;
    assert_eq!(world.refused("a", free).code(), "out_of_range");
    world.by("a", complete("T1"));
    world.by("a", r#"{"command":"next"}"#);
    let goal = "iris".parse().unwrap();
    assert_eq!(world.state().quotas[&goal].total.slots, 1);
    let decision = world.decision("a");
    assert_eq!(decision.mode.word(), "quota_throttled");
}

#[test]
fn what_needs_cancelled_work_waits_until_it_is_reopened_or_no_longer_needed() {
    let mut world = World::with_todos(&["one"]);
    world.by("a", r#"{"command":"todo.add","title":"two","needs":["T1"]}"#);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T1","why":"no"}"#);
    assert_eq!(spell(&world.decision("a").verdict), "PLAN");
    world.by("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"yes"}"#);
    assert_eq!(spell(&world.decision("a").verdict), "RUN T1");
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T1","why":"no"}"#);
    world.by("a", r#"{"command":"todo.update","todo":"T2","drop_needs":["T1"]}"#);
    assert_eq!(spell(&world.decision("a").verdict), "RUN T2");
}

#[test]
fn criteria_that_rest_on_withdrawn_evidence_are_reopened_by_an_event_of_their_own() {
    let mut world = World::with_todos(&["one"]);
    world.by("@ana", r#"{"command":"goal.change","add_criteria":["it works"],"reason":"r"}"#);
    world.by("a", r#"{"command":"next"}"#);
    let criterion =
        world.state().goals.values().next().unwrap().criteria.keys().next_back().unwrap().to_string();
    let close = r#"{"command":"done","todo":"T1","close":{"proof":[{"kind":"note","summary":"s"}],"meets":["@"],"no_follow_up":"w"}}"#;
    world.by("a", close.replace('@', &criterion));
    let answer =
        world.by("a", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"x"}"#);
    let kinds: Vec<_> = answer.events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["evidence.invalidated", "acceptance.reopened"]);
}
