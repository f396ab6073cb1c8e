//! Decisions of humans: what they cover, for how long, what uses them up. Evidence: what makes it stale, and what then.

mod kernel;

use kernel::*;
use loopx::decide::{Mode, PlanCause, Refusal, Verdict};
use loopx::event::Event;
use loopx::id::{EvidenceId, GateId, TodoId};
use loopx::project::evidence::{Piece, Resting};
use loopx::project::ruling::{Ruling, Used};
use loopx::state::Ended;

const DEPLOY: &str = "production:goal:deploy";

fn answer(text: &str, row: u8) -> (String, u8) {
    (text.to_owned(), row)
}

/// Work that requires a decision on `scope`.
fn requiring(world: &mut World, title: &str, scope: &str) -> TodoId {
    world.add(title, &format!(r#""requires_decision":["{scope}"]"#))
}

/// Opens a gate in a scope; `more` says what it blocks, as further JSON.
fn ask(world: &mut World, scope: &str, more: &str) -> GateId {
    world.by("a iris", format!(r#"{{"command":"gate.open","question":"May we?","scope":"{scope}"{more}}}"#));
    GateId(world.state().minted.gates)
}

fn decide(world: &mut World, gate: &str, outcome: &str, more: &str) {
    world.by(
        "@ana",
        format!(r#"{{"command":"gate.decide","gate":"{gate}","outcome":{outcome},"why":"w"{more}}}"#),
    );
}

fn approve(world: &mut World, gate: &str) {
    decide(world, gate, r#"{"is":"approve"}"#, "");
}

fn note(world: &mut World, about: &str, more: &str) {
    world.by(
        "a iris",
        format!(r#"{{"command":"evidence.add","about":"{about}","kind":"note","summary":"seen"{more}}}"#),
    );
}

/// What is in the way of a todo, as its claim is refused.
fn in_the_way(world: &mut World, who: &str, todo: &str) -> String {
    match world.refused(who, format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#)) {
        Refusal::NotRunnable { hindrance, .. } => hindrance.to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn work_that_requires_a_decision_waits_for_it_and_says_which() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    let decision = world.decision("a");
    assert_eq!(decision.mode, Mode::UserGate);
    assert_eq!(decision.unasked, [(DEPLOY.parse().unwrap(), vec![TodoId(1)])]);
    assert_eq!(decision.verdict, Verdict::Ask { gates: vec![], user_actions: vec![], grants: vec![] });
    assert_eq!(decision.wake.on, [DEPLOY]);
    let want = "requires a decision on production:goal:deploy; no gate asks for it";
    assert_eq!(in_the_way(&mut world, "a", "T1"), want);
    assert_eq!(in_the_way(&mut world, "@ana", "T1"), want, "a person too");
    // Once it is asked, the question is the answer.
    ask(&mut world, DEPLOY, r#","blocks":["T1"]"#);
    let decision = world.decision("a");
    assert_eq!(
        decision.verdict,
        Verdict::Ask { gates: vec![GateId(1)], user_actions: vec![], grants: vec![] }
    );
    assert_eq!(decision.unasked, []);
    assert_eq!(in_the_way(&mut world, "a", "T1"), "waits for gate G1");
    approve(&mut world, "G1");
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn other_work_goes_on_while_a_decision_is_missing() {
    let mut world = World::new();
    world.add("ship", &format!(r#""priority":"P0","requires_decision":["{DEPLOY}"]"#));
    world.add("tidy", "");
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    assert_eq!(world.decision("a").mode, Mode::ScopedUserGateFallback);
    assert_eq!(world.decision("a").unasked.len(), 1, "what has to be asked is shown beside it");
}

#[test]
fn an_approval_that_names_todos_is_for_them_alone_and_used_up_by_completing_them() {
    let mut world = World::new();
    for title in ["one", "two", "three"] {
        requiring(&mut world, title, DEPLOY);
    }
    ask(&mut world, DEPLOY, r#","blocks":["T1","T2"]"#);
    approve(&mut world, "G1");
    assert!(in_the_way(&mut world, "a", "T3").contains("no gate asks for it"));
    world.claim("a", "T1");
    let done = world.done("a", "T1");
    let approvals = done.events.iter().find_map(|event| match event {
        Event::TodoCompleted(e) => Some(e.approvals.clone()),
        _ => None,
    });
    assert_eq!(approvals, Some(vec![GateId(1)]), "the close says on which approval");
    world.by("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"again"}"#);
    assert!(in_the_way(&mut world, "a", "T1").contains("no gate asks for it"), "it was used up");
    world.claim("a", "T2");
    world.done("a", "T2");
    assert!(world.state().approvals.is_empty(), "nothing is left that could use it");
}

#[test]
fn completing_a_todo_uses_up_every_approval_that_was_for_it() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    for gate in ["G1", "G2"] {
        ask(&mut world, DEPLOY, r#","blocks":["T1"],"options":["yes"]"#);
        decide(&mut world, gate, r#"{"is":"choice","option":"yes"}"#, "");
    }
    world.next("a");
    world.done("a", "T1");
    assert!(world.state().approvals.is_empty(), "{:?}", world.state().approvals);
    world.by("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"again"}"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
}

#[test]
fn a_choice_covers_like_a_yes_but_promotes_nothing() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    ask(&mut world, DEPLOY, r#","blocks":["T1"],"options":["eu","us"]"#);
    decide(&mut world, "G1", r#"{"is":"choice","option":"eu"}"#, "");
    assert!(!world.state().approvals[&GateId(1)].promotes);
    assert_eq!(world.next("a"), TodoId(1));
    world.done("a", "T1");
    assert!(world.state().approvals.is_empty());
}

#[test]
fn the_word_no_rejects_on_every_way_in() {
    for word in ["no", "reject"] {
        let mut world = World::new();
        requiring(&mut world, "ship", DEPLOY);
        ask(&mut world, DEPLOY, r#","blocks":["T1"],"options":["yes","no"]"#);
        decide(&mut world, "G1", &format!(r#"{{"is":"choice","option":"{word}"}}"#), "");
        assert!(world.state().approvals.is_empty());
        let stuck = Verdict::Plan { cause: PlanCause::Stuck { todos: vec![TodoId(1)] } };
        assert_eq!(world.decision("a").verdict, stuck);
    }
}

#[test]
fn an_approval_for_the_goal_stands_until_it_is_revoked_by_an_owner() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    requiring(&mut world, "go back", "production:lane:rollback");
    requiring(&mut world, "spend", "resource:goal:gpu0");
    ask(&mut world, "production:goal:*", "");
    assert!(in_the_way(&mut world, "a", "T1").ends_with("G1 asks for it"));
    assert_eq!(world.decision("a").questions, [GateId(1)]);
    approve(&mut world, "G1");
    assert_eq!(world.next("a"), TodoId(1));
    world.done("a", "T1");
    assert_eq!(world.next("a"), TodoId(2), "below its granularity, and for every key");
    assert!(in_the_way(&mut world, "b", "T3").contains("resource:goal:gpu0"), "another kind");
    let revoke = r#"{"command":"gate.revoke","gate":"G1","why":"smoke"}"#;
    assert_eq!(world.refused("a", revoke).code(), "owner.required");
    world.by("@ana", revoke);
    assert_eq!(world.refused("@ana", revoke).code(), "gate.not_approved");
    assert_eq!(world.refused("a", done("T2")).code(), "gate.decision_required", "nor can it be closed");
    let (_, why) = world.decision("a").lost.unwrap();
    assert!(why.starts_with("T2: requires a decision on production:lane:rollback"), "{why}");
    world.by("a", r#"{"command":"next"}"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    assert!(world.state().todos[&TodoId(2)].claim.is_none());
}

#[test]
fn an_approval_for_the_goal_ends_with_it_and_one_for_the_project_does_not() {
    let mut world = World::new();
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#);
    for goal in ["iris", "rose"] {
        world.by(
            &format!("@ana {goal}"),
            r#"{"command":"todo.add","title":"t","requires_decision":["other:goal:x"]}"#,
        );
    }
    ask(&mut world, "other:goal:x", "");
    approve(&mut world, "G1");
    assert_eq!(world.answer("a iris"), answer("RUN T1", 9));
    assert_eq!(world.answer("a rose"), answer("ASK", 15), "it reaches its own goal only");
    ask(&mut world, "other:project:*", "");
    approve(&mut world, "G2");
    assert_eq!(world.answer("a rose"), answer("RUN T2", 9));
    world.by("@ana iris", r#"{"command":"goal.abandon","why":"w"}"#);
    assert_eq!(world.state().approvals.keys().copied().collect::<Vec<_>>(), [GateId(2)]);
    assert_eq!(world.answer("a rose"), answer("RUN T2", 9));
    world.by("@ana", r#"{"command":"goal.start","name":"iris","objective":"another"}"#);
    let digest = loopx::hash::Hash::blob(b"x");
    let promote = format!(
        r#"{{"command":"lineage.promote","slot":"s","gate":"G2","artifact":"{digest}","title":"t","cites":["E1"]}}"#
    );
    assert_eq!(
        world.refused("a iris", promote).code(),
        "gate.not_approved",
        "the goal of its question ended"
    );
}

#[test]
fn a_rejection_blocks_what_requires_the_decision_and_a_withdrawal_decides_nothing() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    requiring(&mut world, "publish", "public_claim:goal:paper");
    ask(&mut world, DEPLOY, "");
    world.by("a", r#"{"command":"gate.withdraw","gate":"G1","why":"too early"}"#);
    assert_eq!(world.decision("a").unasked.len(), 2);
    ask(&mut world, DEPLOY, "");
    decide(&mut world, "G2", r#"{"is":"defer"}"#, "");
    assert_eq!(world.answer("a"), answer("ASK", 15));
    decide(&mut world, "G2", r#"{"is":"reject"}"#, "");
    let asked = world.decision("a").unasked;
    assert_eq!(asked.len(), 1, "what was refused is not asked again: {asked:?}");
    assert!(in_the_way(&mut world, "a", "T1").starts_with("blocked"));
    assert!(in_the_way(&mut world, "a", "T2").contains("paper"), "other decisions are not touched");
}

#[test]
fn a_rejection_leaves_alone_what_another_approval_covers() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    ask(&mut world, DEPLOY, r#","blocks":["T1"]"#);
    approve(&mut world, "G1");
    ask(&mut world, "production:goal:*", "");
    decide(&mut world, "G2", r#"{"is":"reject"}"#, "");
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn an_approval_ends_at_its_instant_and_the_work_is_held_up_again() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    ask(&mut world, DEPLOY, "");
    let until = world.now().plus_ms(HOUR);
    decide(&mut world, "G1", r#"{"is":"approve"}"#, &format!(r#","valid_until":"{until}""#));
    world.ticks.now.set(until.minus_ms(1));
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    world.ticks.now.set(until);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    let why = in_the_way(&mut world, "a", "T1");
    assert_eq!(
        why,
        format!(
            "requires a decision on {DEPLOY}; the approval of G1 was given until {until}; no gate asks for it"
        )
    );
    // A new decision covers again.
    ask(&mut world, DEPLOY, r#","blocks":["T1"]"#);
    approve(&mut world, "G2");
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn an_approval_holds_while_the_evidence_it_rests_on_is_current() {
    for end in [
        r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#,
        r#"{"command":"evidence.supersede","evidence":"E1","by":"E2","why":"w"}"#,
        r#"{"command":"goal.change","objective":"another","reason":"r"}"#,
    ] {
        let mut world = World::new();
        requiring(&mut world, "ship", DEPLOY);
        world.add("measure", "");
        note(&mut world, "T2", "");
        note(&mut world, "goal/iris", "");
        ask(&mut world, DEPLOY, r#","blocks":["T1"],"evidence":["E1"]"#);
        decide(&mut world, "G1", r#"{"is":"approve"}"#, r#","rests_on":["E1"]"#);
        // What it is about may be finished meanwhile.
        world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"w"}"#);
        assert_eq!(world.answer("a"), answer("RUN T1", 9));
        world.next("a");
        world.by("@ana", end);
        let ended = world.state().evidence[&EvidenceId(1)].ended(world.now()).unwrap();
        assert_eq!(
            world.refused("a", done("T1")).to_string(),
            format!(
                "T1 requires a decision on {DEPLOY}; the approval of G1 rests on E1, which {ended}; no gate asks for it"
            )
        );
        assert!(world.decision("a").lost.is_some(), "{end}");
        assert_eq!(
            world.refused("@ana", r#"{"command":"todo.claim","todo":"T1"}"#).code(),
            "todo.not_runnable"
        );
    }
}

#[test]
fn a_gate_whose_yes_would_cover_nothing_is_refused() {
    let mut world = World::with_todos(&["work"]);
    for (scope, more) in [
        ("production:action:deploy", ""),
        ("production:lane:*", r#","blocks_all":true"#),
        ("production:goal:deploy", r#","blocks_agents":["a"]"#),
    ] {
        let json = format!(r#"{{"command":"gate.open","question":"q","scope":"{scope}"{more}}}"#);
        assert_eq!(world.refused("a", json).code(), "gate.scope_needs_todos", "{scope}");
    }
    ask(&mut world, "production:action:deploy", r#","blocks":["T1"],"blocks_agents":["b"]"#);
    let plain = r#"{"command":"gate.open","question":"q"}"#;
    assert_eq!(world.refused("a", plain).code(), "gate.blocks_required");
}

#[test]
fn only_an_approval_in_a_scope_can_be_given_for_a_time_or_rest_on_evidence() {
    let mut world = World::with_todos(&["work"]);
    note(&mut world, "T1", "");
    let until = world.now().plus_ms(HOUR);
    let validities = [format!(r#","valid_until":"{until}""#), r#","rests_on":["E1"]"#.to_owned()];
    let try_it = |world: &mut World, gate: &str, outcome: &str, more: &str| {
        let json = format!(
            r#"{{"command":"gate.decide","gate":"{gate}","outcome":{{"is":"{outcome}"}},"why":"w"{more}}}"#
        );
        world.refused("@ana", json).code()
    };
    world.by("a", r#"{"command":"gate.open","question":"q","blocks":["T1"]}"#);
    ask(&mut world, DEPLOY, "");
    for more in &validities {
        assert_eq!(try_it(&mut world, "G1", "approve", more), "gate.nothing_to_end");
        assert_eq!(try_it(&mut world, "G2", "reject", more), "gate.nothing_to_end");
        assert_eq!(try_it(&mut world, "G2", "defer", more), "gate.nothing_to_end");
    }
    let past = format!(r#","valid_until":"{}""#, world.now());
    assert_eq!(try_it(&mut world, "G2", "approve", &past), "in_past");
    assert_eq!(try_it(&mut world, "G2", "approve", r#","rests_on":["E9"]"#), "not_found");
    world.by("a", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#);
    assert_eq!(try_it(&mut world, "G2", "approve", r#","rests_on":["E1"]"#), "evidence.not_current");
}

#[test]
fn what_waits_for_a_gate_goes_on_waiting_in_its_replacement_and_is_covered_with_it() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    ask(&mut world, DEPLOY, r#","blocks":["T1"]"#);
    requiring(&mut world, "ship better", DEPLOY);
    world.by("@ana", r#"{"command":"todo.supersede","todo":"T1","by":"T2","why":"w"}"#);
    assert_eq!(in_the_way(&mut world, "a", "T2"), "waits for gate G1");
    approve(&mut world, "G1");
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
}

#[test]
fn the_history_of_a_gate_tells_who_decided_what_on_which_evidence_and_what_used_it() {
    let mut world = World::new();
    requiring(&mut world, "ship", DEPLOY);
    requiring(&mut world, "ship again", DEPLOY);
    let digest = loopx::hash::Hash::blob(b"report");
    note(&mut world, "goal/iris", &format!(r#","digest":"{digest}""#));
    note(&mut world, "goal/iris", "");
    ask(&mut world, DEPLOY, r#","blocks":["T1","T2"],"evidence":["E1","E2"]"#);
    world.by("a", r#"{"command":"evidence.invalidate","evidence":"E2","cause":"leak","why":"w"}"#);
    let invalidated = world.head();
    decide(&mut world, "G1", r#"{"is":"defer"}"#, "");
    decide(&mut world, "G1", r#"{"is":"approve"}"#, r#","rests_on":["E1"]"#);
    let decided = world.head();
    world.next("a");
    world.done("a", "T1");
    let closed = world.head();
    world.by("a", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#);
    let ruling = Ruling::read(&mut world.ledger, GateId(1)).unwrap().unwrap();
    let [deferred, yes] = ruling.answers.as_slice() else { panic!("{:?}", ruling.answers) };
    assert!(deferred.seq < yes.seq && yes.seq == decided);
    assert_eq!(yes.by.to_string(), "owner/ana");
    let looked = ruling.looked_at(yes);
    assert_eq!(looked.len(), 2);
    assert_eq!((looked[0].digest, looked[0].ended), (Some(digest), None), "it was current then");
    assert_eq!((looked[1].digest, looked[1].ended), (None, Some(Ended::Invalidated(invalidated))));
    let [used] = ruling.uses.as_slice() else { panic!("{:?}", ruling.uses) };
    assert_eq!((used.seq, used.what), (closed, Used::Todo(TodoId(1))));
    let lapsed = ruling.force(world.state(), world.now()).unwrap();
    assert!(lapsed.contains("rests on E1"), "the other todo still wants it: {lapsed}");
    world.by("@ana", r#"{"command":"gate.revoke","gate":"G1","why":"w"}"#);
    let ruling = Ruling::read(&mut world.ledger, GateId(1)).unwrap().unwrap();
    assert!(ruling.ended.as_ref().is_some_and(|end| end.revoked && end.seq == world.head()));
    assert_eq!(ruling.force(world.state(), world.now()), None);
    assert_eq!(Ruling::read(&mut world.ledger, GateId(9)).unwrap(), None);
}

/// A goal with one criterion, met on E1, about the goal.
fn accepted(more: &str) -> World {
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","name":"iris","objective":"sort","criteria":["shown"]}"#);
    world.by(
        "",
        format!(r#"{{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"seen"{more}}}"#),
    );
    world.by("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    world
}

#[test]
fn evidence_grows_too_old_and_the_criterion_is_open_without_an_event() {
    let mut world = accepted(r#","valid_for_ms":3600000"#);
    let until = world.state().evidence[&EvidenceId(1)].valid_until.unwrap();
    assert_eq!(until, world.now().plus_ms(HOUR));
    world.ticks.now.set(until.minus_ms(1));
    assert_eq!(world.answer(""), answer("PLAN", 18));
    world.ticks.now.set(until);
    assert_eq!(world.answer(""), answer("PLAN", 19));
    let refusal = world.refused("", r#"{"command":"goal.complete","why":"w"}"#);
    assert_eq!(refusal.code(), "goal.not_accepted");
    let refusal = world.refused("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    assert_eq!(refusal.to_string(), format!("E1 is stale: it was good until {until}"));
    world.by("", r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"seen again"}"#);
    world.by("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E2"}"#);
    assert_eq!(world.answer(""), answer("PLAN", 18));
    for out in ["0", "315619200001"] {
        let json = format!(
            r#"{{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"s","valid_for_ms":{out}}}"#
        );
        assert_eq!(world.refused("", json).code(), "out_of_range");
    }
}

#[test]
fn another_objective_makes_evidence_stale_and_opens_criteria_in_the_same_record() {
    let mut world = accepted("");
    let changed = world.by("", r#"{"command":"goal.change","objective":"sort well","reason":"learned"}"#);
    let kinds: Vec<&str> = changed.events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["goal.changed", "acceptance.reopened"]);
    let criterion = world.state().goals.values().next().unwrap().criteria.values().next().unwrap();
    assert_eq!((criterion.met_by, criterion.reopened), (None, Some(world.head())));
    let refusal = world.refused("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    let head = world.head();
    assert_eq!(refusal.to_string(), format!("E1 is stale: what it was taken for changed in #{head}"));
    // What is stale can still be found wrong, and replaced.
    world.by("", r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"seen again"}"#);
    world.by("", r#"{"command":"evidence.supersede","evidence":"E1","by":"E2","why":"newer"}"#);
    let refusal =
        world.refused("", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#);
    assert_eq!(refusal.code(), "evidence.not_current");
}

#[test]
fn criteria_and_scope_may_change_without_touching_evidence() {
    let mut world = accepted("");
    world.by("", r#"{"command":"goal.change","add_criteria":["more"],"write":["src"],"reason":"r"}"#);
    let ended = world.state().evidence[&EvidenceId(1)].ended(world.now());
    assert_eq!(ended, None);
    let goal = world.state().goals.values().next().unwrap();
    assert_eq!(world.state().open_criteria(goal, world.now()).len(), 1, "A2 is new, A1 is shown");
    // A criterion that is dropped with the objective needs no opening.
    world.by("", r#"{"command":"goal.change","objective":"x","drop_criteria":["A1"],"reason":"r"}"#);
}

#[test]
fn stale_evidence_closes_no_todo() {
    let mut world = World::with_todos(&["work", "more"]);
    note(&mut world, "T1", "");
    note(&mut world, "T1", r#","valid_for_ms":1000"#);
    world.next("a");
    let close = |evidence: &str| {
        format!(
            r#"{{"command":"done","todo":"T1","close":{{"evidence":["{evidence}"],"no_follow_up":"n"}}}}"#
        )
    };
    world.by("a", r#"{"command":"todo.update","todo":"T1","title":"better words"}"#);
    world.pass(1000);
    assert!(world.refused("a", close("E2")).to_string().contains("it was good until"));
    world.by("a", r#"{"command":"todo.update","todo":"T1","done_when":"it shines"}"#);
    let refusal = world.refused("a", close("E1"));
    assert_eq!(refusal.code(), "evidence.not_current");
    assert!(refusal.to_string().contains("what it was taken for changed"), "{refusal}");
    note(&mut world, "T1", "");
    world.by("a", close("E3"));
}

#[test]
fn a_reworded_done_when_opens_the_criterion_that_rests_on_what_was_shown_before() {
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","name":"iris","objective":"o","criteria":["x"]}"#);
    world.by("", r#"{"command":"todo.add","title":"t"}"#);
    world.by("", r#"{"command":"evidence.add","about":"T1","kind":"note","summary":"s"}"#);
    world.by("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    let changed = world.by("", r#"{"command":"todo.update","todo":"T1","done_when":"it shines"}"#);
    assert_eq!(changed.events.len(), 2);
    let goal = world.state().goals.values().next().unwrap();
    assert_eq!(world.state().open_criteria(goal, world.now()).len(), 1);
}

#[test]
fn a_measured_value_is_not_outdated_by_words() {
    let mut world = World::with_todos(&["tune"]);
    for json in [
        r#"{"command":"lineage.metric","metric":"acc","direction":"maximize","unit":"ratio","title":"t"}"#.to_owned(),
        format!(
            r#"{{"command":"lineage.dataset","dataset":"d","digest":"{}","rows":1,"split":"dev","title":"t"}}"#,
            loopx::hash::Hash::blob(b"d")
        ),
        r#"{"command":"lineage.hypothesis","text":"h"}"#.to_owned(),
        r#"{"command":"lineage.experiment","tests":"H1","config":"c","datasets":["d"]}"#.to_owned(),
        r#"{"command":"lineage.trial-start","experiment":"X1","seed":1}"#.to_owned(),
        r#"{"command":"evidence.add","about":"R1","kind":"metric","summary":"s","metric":{"trial":"R1","metric":"acc","dataset":"d","value":"0.9"}}"#.to_owned(),
        r#"{"command":"evidence.add","about":"R1","kind":"note","summary":"s"}"#.to_owned(),
    ] {
        world.by("a", json);
    }
    world.by("@ana", r#"{"command":"goal.change","objective":"another","reason":"r"}"#);
    let ended = |world: &mut World, id: u32| {
        let (state, now, seq) = (world.state().clone(), world.now(), world.head());
        let piece = Piece::read(&mut world.ledger, EvidenceId(id)).unwrap().unwrap();
        let told = piece.ended_at(seq, now);
        assert_eq!(told, state.evidence[&EvidenceId(id)].ended(now), "the log and the state agree");
        told
    };
    assert_eq!(ended(&mut world, 1), None);
    assert_eq!(ended(&mut world, 2), Some(Ended::Outdated(world.head())));
}

#[test]
fn a_promotion_needs_a_yes_that_has_not_lapsed() {
    let mut world = World::with_todos(&["tune"]);
    let digest = loopx::hash::Hash::blob(b"d");
    for json in [
        r#"{"command":"lineage.metric","metric":"acc","direction":"maximize","unit":"ratio","title":"t"}"#.to_owned(),
        format!(r#"{{"command":"lineage.dataset","dataset":"d","digest":"{digest}","rows":1,"split":"dev","title":"t"}}"#),
        r#"{"command":"lineage.hypothesis","text":"h"}"#.to_owned(),
        r#"{"command":"lineage.experiment","tests":"H1","config":"c","datasets":["d"]}"#.to_owned(),
        r#"{"command":"lineage.trial-start","experiment":"X1","seed":1}"#.to_owned(),
        r#"{"command":"evidence.add","about":"R1","kind":"metric","summary":"s","metric":{"trial":"R1","metric":"acc","dataset":"d","value":"0.9"}}"#.to_owned(),
    ] {
        world.by("a", json);
    }
    let promote = |gate: &str| {
        format!(
            r#"{{"command":"lineage.promote","slot":"s","gate":"{gate}","artifact":"{digest}","title":"t","cites":["E1"]}}"#
        )
    };
    let more = r#","blocks":["T1"],"evidence":["E1"],"options":["yes"]"#;
    ask(&mut world, DEPLOY, more);
    decide(&mut world, "G1", r#"{"is":"choice","option":"yes"}"#, "");
    assert_eq!(world.refused("a", promote("G1")).code(), "gate.not_approved", "a choice is no plain yes");
    ask(&mut world, DEPLOY, more);
    let until = world.now().plus_ms(HOUR);
    decide(&mut world, "G2", r#"{"is":"approve"}"#, &format!(r#","valid_until":"{until}""#));
    world.ticks.now.set(until);
    let refusal = world.refused("a", promote("G2"));
    assert_eq!(refusal.code(), "gate.lapsed");
    assert_eq!(refusal.to_string(), format!("the approval of G2 was given until {until}"));
    ask(&mut world, DEPLOY, more);
    approve(&mut world, "G3");
    world.by("a", promote("G3"));
    assert!(!world.state().approvals[&GateId(3)].promotes, "it still covers T1, and promotes once");
    assert_eq!(world.refused("a", promote("G3")).code(), "gate.not_approved");
    assert_eq!(world.next("a"), TodoId(1));
}

#[test]
fn a_completed_goal_says_what_it_no_longer_shows() {
    let mut world = accepted(r#","valid_for_ms":3600000"#);
    world.by("", r#"{"command":"goal.complete","why":"shown"}"#);
    assert_eq!(world.answer(""), answer("DONE", 2));
    assert_eq!(world.decision("").findings, []);
    world.pass(HOUR);
    let until = world.state().evidence[&EvidenceId(1)].valid_until.unwrap();
    let told =
        |world: &World| world.decision("").findings.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told(&world), [format!("A1 rests on E1, which is stale: it was good until {until}")]);
    let gone = world.by("", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#);
    assert_eq!(gone.events.len(), 2, "the criterion is opened in the same record");
    assert_eq!(told(&world), [format!("A1 is open again since #{}", gone.at.seq)]);
    assert_eq!(world.answer(""), answer("DONE", 2), "it stays finished, and says so");
}

#[test]
fn what_rests_on_evidence_is_found_by_name() {
    let mut world = World::new();
    world.by("@ana", r#"{"command":"goal.change","add_criteria":["x"],"reason":"r"}"#);
    requiring(&mut world, "ship", DEPLOY);
    world.add("show", "");
    note(&mut world, "T2", "");
    ask(&mut world, DEPLOY, r#","blocks":["T1"],"evidence":["E1"]"#);
    decide(&mut world, "G1", r#"{"is":"approve"}"#, r#","rests_on":["E1"]"#);
    world.claim("a", "T2");
    world.by(
        "a",
        r#"{"command":"done","todo":"T2","close":{"evidence":["E1"],"meets":["A1"],"no_follow_up":"n"}}"#,
    );
    let piece = Piece::read(&mut world.ledger, EvidenceId(1)).unwrap().unwrap();
    let what: Vec<&Resting> = piece.rests.iter().map(|one| &one.what).collect();
    let criterion = Resting::Criterion("iris".parse().unwrap(), "A1".parse().unwrap());
    let want =
        [Resting::Question(GateId(1)), Resting::Approval(GateId(1)), criterion, Resting::Todo(TodoId(2))];
    assert_eq!(what, want.iter().collect::<Vec<_>>());
    let holds: Vec<bool> = piece.rests.iter().map(|one| one.holds(world.state(), EvidenceId(1))).collect();
    assert_eq!(holds, [false, true, true, true]);
    world.by("a", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}"#);
    let holds: Vec<bool> = piece.rests.iter().map(|one| one.holds(world.state(), EvidenceId(1))).collect();
    assert_eq!(holds, [false, true, false, true], "the criterion is open again");
    assert_eq!(Piece::read(&mut world.ledger, EvidenceId(7)).unwrap(), None);
}
