//! The decision table, row by row, and which row wins where two apply.

mod kernel;

use kernel::*;
use loopx::decide::{Mode, PlanCause, Refusal, Verdict};
use loopx::id::{GateId, TodoId};

fn answer(text: &str, row: u8) -> (String, u8) {
    (text.to_owned(), row)
}

#[test]
fn the_first_answer_to_a_fresh_goal_with_one_todo_is_run() {
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"reach it"}"#);
    world.by("", r#"{"command":"todo.add","title":"begin"}"#);
    assert_eq!(world.answer(""), answer("RUN T1", 9));
    assert_eq!(world.next(""), TodoId(1));
}

#[test]
fn row_1_an_unknown_a_retired_and_a_nameless_agent_are_refused() {
    let mut world = World::with_todos(&["work"]);
    world.by("@ana", r#"{"command":"agent.retire","agent":"c","why":"gone"}"#);
    for (who, code) in [("zed", "agent.unknown"), ("c", "agent.retired"), ("", "agent.unnamed")] {
        assert_eq!(world.should_run(who).unwrap_err().code(), code, "{who}");
        assert_eq!(world.refused(who, r#"{"command":"next"}"#).code(), code, "{who}");
        assert_eq!(world.refused(who, r#"{"command":"todo.claim","todo":"T1"}"#).code(), code, "{who}");
    }
    assert_eq!(world.should_run("local").unwrap_err().code(), "agent.unknown");
}

#[test]
fn row_2_a_finished_goal_is_done_whatever_was_left_in_it() {
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    world.by("@ana", r#"{"command":"goal.abandon","why":"no longer wanted"}"#);
    assert_eq!(world.answer("a"), answer("DONE", 2));
    assert_eq!(world.decision("a").mode, Mode::TerminalNoFollowup);
    assert!(world.state().turns.is_empty() && world.state().todos.is_empty());
    assert_eq!(world.quiet("a").verdict, Verdict::Done);
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"reach it","criteria":["shown"]}"#);
    world.by("", r#"{"command":"evidence.add","about":"goal/goal","kind":"note","summary":"here it is"}"#);
    world.by("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    world.by("", r#"{"command":"goal.complete","why":"shown"}"#);
    assert_eq!(world.answer(""), answer("DONE", 2));
}

#[test]
fn row_3_a_pause_beats_an_open_turn_and_refuses_claims_and_renewals() {
    let mut world = World::with_todos(&["work", "more"]);
    assert_eq!(world.next("a"), TodoId(1));
    world.by("b", r#"{"command":"goal.pause","why":"smoke"}"#);
    for who in ["a", "b"] {
        assert_eq!(world.answer(who), answer("WAIT", 3));
        let decision = world.quiet(who);
        assert_eq!((decision.mode, decision.wake.on), (Mode::Paused, vec!["goal.resumed".to_owned()]));
    }
    for (who, json) in [
        ("b", r#"{"command":"todo.claim","todo":"T2"}"#),
        ("@ana", r#"{"command":"todo.claim","todo":"T2"}"#),
        ("a", r#"{"command":"lease.renew","on":"T1"}"#),
        ("a", r#"{"command":"todo.hand_over","todo":"T1","to":"b","why":"to get a fresh lease"}"#),
    ] {
        assert_eq!(world.refused(who, json).code(), "goal.not_active", "{json}");
    }
    assert_eq!(world.refused("a", r#"{"command":"goal.resume","why":"me"}"#).code(), "owner.required");
    world.by("@ana", r#"{"command":"goal.resume","why":"out"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 4));
}

#[test]
fn row_3_a_quota_of_nothing_is_a_pause() {
    for allowance in [r#"{"kind":"slots","slots":0}"#, r#"{"kind":"share","milli":0}"#] {
        let mut world = World::with_todos(&["work", "more"]);
        world.next("a");
        world.by("@ana", format!(r#"{{"command":"quota.set","allowance":{allowance},"why":"stop"}}"#));
        for who in ["a", "b"] {
            assert_eq!(world.answer(who), answer("WAIT", 3));
            assert_eq!(world.decision(who).wake.on, ["quota.set"]);
        }
        assert_eq!(world.refused("a", r#"{"command":"lease.renew","on":"T1"}"#).code(), "quota.exceeded");
        assert_eq!(world.refused("b", r#"{"command":"todo.claim","todo":"T2"}"#).code(), "quota.exceeded");
        world.by("a", r#"{"command":"yield","todo":"T1","why":"stopped"}"#);
    }
}

#[test]
fn row_4_an_open_turn_goes_on_with_the_same_todo_and_epoch() {
    let mut world = World::with_todos(&["work", "more"]);
    assert_eq!(world.next("a"), TodoId(1));
    world.by("@ana", r#"{"command":"todo.update","todo":"T2","priority":"P0"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 4), "nothing is chosen anew while a turn is open");
    let before = world.head();
    let Verdict::Run { todo, turn, takes_over, repair: None } = world.quiet("a").verdict else { panic!() };
    assert_eq!((todo, turn.unwrap().0, takes_over), (TodoId(1), 1, None));
    assert_eq!(world.head(), before, "asking again costs nothing while the lease is long");
    world.pass(30 * MINUTE);
    world.by("a", r#"{"command":"next"}"#);
    assert_eq!(world.state().todos[&TodoId(1)].epoch, 1);
    assert_eq!(world.state().turns.len(), 1);
}

#[test]
fn row_4_an_open_turn_beats_a_gate_on_everything() {
    let mut world = World::with_todos(&["work", "more"]);
    world.next("a");
    world.by("b", r#"{"command":"gate.open","question":"Stop?","blocks_all":true}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 4));
    assert_eq!(world.answer("b"), answer("ASK", 5));
    for who in ["a", "b"] {
        assert_eq!(world.decision(who).questions, [GateId(1)], "the question is shown to everyone");
    }
}

#[test]
fn row_4_a_turn_that_lost_its_todo_is_named_and_closed() {
    let mut world = World::with_todos(&["work", "more"]);
    world.next("a");
    world.pass(HOUR);
    world.claim("b", "T1");
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"no"}"#);
    assert!(world.state().turns.values().all(|turn| turn.holder.actor.name() == "b"));
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    world.by("@ana", r#"{"command":"gate.open","question":"Sure?","blocks":["T1"]}"#);
    let decision = world.decision("a");
    let (turn, why) = decision.lost.unwrap();
    assert_eq!((turn.0, why.as_str()), (1, "T1: waits for gate G1"));
    assert_eq!(world.answer("a"), answer("ASK", 15));
    world.by("a", r#"{"command":"next"}"#);
    assert!(world.state().turns.is_empty() && world.state().todos[&TodoId(1)].claim.is_none());
}

#[test]
fn row_5_a_gate_on_an_agent_stops_that_agent_only() {
    let mut world = World::with_todos(&["work", "more"]);
    world.by("@ana", r#"{"command":"gate.open","question":"May a go on?","blocks_agents":["a"]}"#);
    assert_eq!(world.answer("a"), answer("ASK", 5));
    assert_eq!(world.decision("a").questions, [GateId(1)]);
    assert_eq!(world.refused("a", r#"{"command":"todo.claim","todo":"T1"}"#).code(), "gate.not_answered");
    assert_eq!(world.answer("b"), answer("RUN T1", 9));
    assert_eq!(world.decision("b").questions, []);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"defer"},"why":"later"}"#);
    assert_eq!(world.answer("a"), answer("ASK", 5), "not now is not yes");
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"yes"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn row_9_a_gate_on_one_todo_does_not_stop_another() {
    let mut world = World::with_todos(&["ship", "tidy"]);
    world.by("@ana", r#"{"command":"gate.open","question":"Ship?","blocks":["T1"]}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    let decision = world.decision("a");
    assert_eq!(decision.mode, Mode::ScopedUserGateFallback, "something of higher rank waits");
    assert_eq!(decision.questions, [GateId(1)]);
    let Refusal::NotRunnable { hindrance, .. } =
        world.refused("a", r#"{"command":"todo.claim","todo":"T1"}"#)
    else {
        panic!()
    };
    assert_eq!(hindrance.to_string(), "waits for gate G1");
}

#[test]
fn row_9_mine_comes_before_unclaimed_then_priority_then_planner_order() {
    let mut world = World::with_todos(&["first", "second"]);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    world.add("urgent", r#""priority":"P0""#);
    assert_eq!(world.answer("a"), answer("RUN T3", 9));
    world.add("for a alone", r#""priority":"P4","bound":"a""#);
    assert_eq!(world.answer("a"), answer("RUN T4", 9));
    assert_eq!(world.answer("b"), answer("RUN T3", 9));
    world.claim("b", "T2");
    world.by("b", r#"{"command":"todo.hand_over","todo":"T2","to":"a","why":"yours"}"#);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T4","why":"no"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9), "what was handed over is mine");
}

#[test]
fn row_9_what_is_in_the_way_is_told_and_stops_only_whom_it_should() {
    let mut world = World::new();
    world.add("not by a", r#""excluded":["a"]"#);
    world.add("only b", r#""bound":"b""#);
    world.add("needs a gpu", r#""requires":["gpu"]"#);
    world.add("after T1", r#""needs":["T1"]"#);
    world.add("a person", r#""class":"user_action""#);
    let claim = |world: &mut World, who: &str, todo: &str| {
        let refusal = world.refused(who, format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#));
        match refusal {
            Refusal::NotRunnable { hindrance, .. } => hindrance.to_string(),
            other => panic!("{other}"),
        }
    };
    assert_eq!(claim(&mut world, "a", "T1"), "excludes this agent");
    assert_eq!(claim(&mut world, "a", "T2"), "only for b");
    assert_eq!(claim(&mut world, "a", "T3"), "needs capability gpu");
    assert_eq!(claim(&mut world, "a", "T4"), "needs T1");
    assert_eq!(claim(&mut world, "a", "T5"), "only a person can do it");
    assert_eq!(world.answer("b"), answer("RUN T2", 9));
    assert_eq!(world.answer("c"), answer("RUN T1", 9));
    let mut with_gpu = caller("a");
    with_gpu.capabilities = vec!["gpu".parse().unwrap()];
    assert_eq!(spell(&world.should_run_as(&with_gpu).unwrap().verdict), "RUN T3");
    assert_eq!(world.decision("a").user_actions, [TodoId(5)]);
}

#[test]
fn row_9_write_scopes_overlap_by_components() {
    let mut world = World::new();
    world.add("a", r#""write":["src/a"]"#);
    world.add("below a", r#""write":["src/a/deep.rs"]"#);
    world.add("ab", r#""write":["src/ab"]"#);
    assert_eq!(world.next("a"), TodoId(1));
    assert_eq!(world.answer("b"), answer("RUN T3", 9));
    assert_eq!(world.next("b"), TodoId(3));
    assert_eq!(world.answer("c"), answer("WAIT", 16));
    let decision = world.decision("c");
    assert_eq!(decision.mode, Mode::AgentScopeWait);
    assert_eq!(decision.wake.at, Some(world.now().plus_ms(45 * MINUTE)));
}

#[test]
fn row_9_a_resource_is_used_by_one_at_a_time_however_it_was_taken() {
    let mut world = World::new();
    world.add("train", r#""resources":["gpu0"]"#);
    world.add("train more", r#""resources":["gpu0"]"#);
    world.by("c", r#"{"command":"lease.acquire","resource":"gpu0","ttl_ms":60000}"#);
    assert_eq!(world.answer("a"), answer("WAIT", 16));
    assert_eq!(world.decision("a").wake.at, Some(world.now().plus_ms(MINUTE)));
    world.pass(MINUTE);
    assert_eq!(world.next("a"), TodoId(1));
    assert_eq!(world.answer("b"), answer("WAIT", 16));
    let refusal = world.refused("b", r#"{"command":"lease.acquire","resource":"gpu0"}"#);
    assert_eq!(refusal.code(), "held_by_other", "{refusal}");
    let refusal = world.refused("c", r#"{"command":"lease.renew","on":"resource/gpu0"}"#);
    assert_eq!(refusal.code(), "held_by_other", "an expired lease is not renewed over another's: {refusal}");
    world.by("a", r#"{"command":"lease.acquire","resource":"gpu0"}"#);
}

#[test]
fn row_9_a_todo_outside_a_narrowed_goal_does_not_run() {
    let mut world = World::new();
    world.add("inside", r#""write":["src/a"],"priority":"P3""#);
    world.add("outside", r#""write":["docs"]"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    world.by("@ana", r#"{"command":"goal.change","write":["src"],"reason":"code only"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    let refusal = world.refused("@ana", r#"{"command":"todo.claim","todo":"T2"}"#);
    assert_eq!(refusal.to_string(), "T2 cannot be taken: docs is outside what the goal may write");
    world.next("a");
    world.done("a", "T1");
    assert_eq!(world.answer("b"), answer("RUN T2", 10));
}

#[test]
fn row_9_an_expired_lease_is_taken_over_with_its_holder_and_epoch_named() {
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    world.pass(45 * MINUTE - 1);
    assert_eq!(world.answer("b"), answer("WAIT", 16));
    world.pass(1);
    let Verdict::Run { takes_over: Some(from), .. } = world.decision("b").verdict else { panic!() };
    assert_eq!(from.to_string(), "a");
    let committed = world.by("b", r#"{"command":"next"}"#);
    let kinds: Vec<&str> = committed.events.iter().map(loopx::event::Event::kind).collect();
    assert_eq!(kinds, ["turn.closed", "lease.taken_over", "turn.opened"]);
    let loopx::event::Event::LeaseTakenOver(taken) = &committed.events[1] else { panic!() };
    assert_eq!((taken.from.to_string().as_str(), taken.to.to_string().as_str(), taken.epoch), ("a", "b", 2));
    assert_eq!(world.answer("a"), answer("WAIT", 16));
}

#[test]
fn row_9_two_sessions_of_one_agent_are_two_holders() {
    let mut world = World::with_todos(&["work", "more"]);
    assert_eq!(world.next("a+s1"), TodoId(1));
    assert_eq!(world.answer("a+s1"), answer("RUN T1", 4));
    assert_eq!(world.next("a+s2"), TodoId(2));
    assert_eq!(world.answer("a"), answer("WAIT", 16), "no session is a third holder");
    for who in ["a+s2", "a"] {
        assert_eq!(
            world.refused(who, r#"{"command":"todo.release","todo":"T1","why":"x"}"#).code(),
            "held_by_other"
        );
    }
}

#[test]
fn row_9_what_is_handed_to_an_agent_is_taken_up_by_any_of_its_sessions_once() {
    let mut world = World::with_todos(&["work"]);
    world.next("b");
    world.by("b", r#"{"command":"todo.hand_over","todo":"T1","to":"a","why":"yours"}"#);
    assert_eq!(world.answer("a+s1"), answer("RUN T1", 9));
    assert_eq!(world.answer("b"), answer("WAIT", 16));
    assert_eq!(world.next("a+s1"), TodoId(1));
    assert_eq!(world.answer("a+s2"), answer("WAIT", 16));
    assert_eq!(world.answer("a"), answer("WAIT", 16));
    world.done("a+s1", "T1");
}

#[test]
fn row_13_quota_comes_after_gates_and_says_when() {
    let mut world = World::with_todos(&["one", "two", "three"]);
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"slowly"}"#);
    world.next("a");
    world.done("a", "T1");
    let spent = world.now();
    world.pass(HOUR);
    assert_eq!(world.answer("a"), answer("WAIT", 13));
    let decision = world.decision("a");
    assert_eq!(decision.mode, Mode::QuotaThrottled);
    assert_eq!(decision.wake.at, Some(spent.plus_ms(24 * HOUR)));
    world.by("@ana", r#"{"command":"gate.open","question":"Go on?","blocks_all":true}"#);
    assert_eq!(world.answer("a"), answer("ASK", 5), "quota hides no question");
    world.by("@ana", r#"{"command":"gate.withdraw","gate":"G1","why":"never mind"}"#);
    world.by("@ana", r#"{"command":"gate.open","question":"These?","blocks":["T2","T3"]}"#);
    assert_eq!(world.answer("a"), answer("ASK", 15), "what waits for a human is not called throttled");
    world.by(
        "@ana",
        r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"ok"}"#.replace("G1", "G2"),
    );
    world.ticks.now.set(spent.plus_ms(24 * HOUR - 1));
    assert_eq!(world.answer("a"), answer("WAIT", 13));
    world.ticks.now.set(spent.plus_ms(24 * HOUR));
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
}

#[test]
fn row_13_a_dead_agents_reservation_ends_with_its_lease() {
    let mut world = World::with_todos(&["one"]);
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"slowly"}"#);
    world.next("a");
    let expiry = world.now().plus_ms(45 * MINUTE);
    world.add("two", "");
    assert_eq!(world.answer("b"), answer("WAIT", 13));
    assert_eq!(world.decision("b").wake.at, Some(expiry), "the slot is free when the lease ends");
    world.ticks.now.set(expiry);
    assert_eq!(world.answer("b"), answer("RUN T1", 9));
    world.next("b");
    world.done("b", "T1");
    // A turn that was completed and never paid for holds its slot no longer than its lease would have lasted.
    let mut world = World::with_todos(&["one", "two"]);
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"slowly"}"#);
    world.next("a");
    world.by("a", complete("T1"));
    assert_eq!(world.answer("b"), answer("WAIT", 13));
    assert_eq!(world.decision("b").wake.at, Some(expiry));
    world.ticks.now.set(expiry);
    assert_eq!(world.answer("b"), answer("RUN T2", 9));
}

#[test]
fn row_15_everything_left_waits_for_a_human() {
    let mut world = World::with_todos(&["ship", "announce"]);
    world.by("@ana", r#"{"command":"gate.open","question":"Ship?","blocks":["T1"]}"#);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"no"}"#);
    world.add("after shipping", r#""needs":["T1"]"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    let Verdict::Ask { gates, user_actions, .. } = world.decision("a").verdict else { panic!() };
    assert_eq!((gates, user_actions), (vec![GateId(1)], vec![]));
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"go"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn row_15_a_question_is_never_empty() {
    let mut world = World::new();
    world.add("sign", r#""class":"user_action","excluded":["a"],"requires":["pen"],"write":["src"]"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    assert_eq!(world.decision("a").mode, Mode::UserActionRequired);
    assert_eq!(world.decision("a").wake.on, ["T1"]);
    let tomorrow = world.now().plus_ms(24 * HOUR);
    world.by(
        "@ana",
        format!(r#"{{"command":"todo.defer","todo":"T1","until":"{tomorrow}","why":"notary is closed"}}"#),
    );
    assert_eq!(world.answer("a"), answer("WAIT", 17));
    assert_eq!(world.decision("a").wake.at, Some(tomorrow));
    world.by("@ana", r#"{"command":"todo.reopen","todo":"T1","why":"open after all"}"#);
    world.claim("@ana", "T1");
    assert_eq!(world.answer("a"), answer("WAIT", 16), "a person is on it");
    assert_eq!(world.decision("a").wake.on, ["T1"]);
    world.by("@ana", complete("T1"));
    world.add("write", r#""write":["src"]"#);
    world.add("sign", r#""class":"user_action","write":["src/a"]"#);
    world.next("b");
    assert_eq!(world.answer("a"), answer("WAIT", 16), "nobody can sign while b writes there");
}

#[test]
fn row_16_work_of_others_is_waited_for_until_the_earliest_expiry() {
    let mut world = World::with_todos(&["one", "two"]);
    world.by("a", r#"{"command":"next","ttl_ms":60000}"#);
    world.by("b", r#"{"command":"next"}"#);
    assert_eq!(world.answer("c"), answer("WAIT", 16));
    assert_eq!(world.decision("c").wake.at, Some(world.now().plus_ms(MINUTE)));
    assert_eq!(world.decision("c").mode, Mode::AgentScopeWait);
    let mut world = World::new();
    world.add("for b", r#""bound":"b""#);
    assert_eq!(world.answer("a"), answer("WAIT", 16));
    assert_eq!(world.decision("a").mode, Mode::ReassignmentRequired);
}

#[test]
fn row_16_work_that_no_peer_may_take_is_planned_anew_not_waited_for() {
    let mut world = World::new();
    world.add("for b", r#""bound":"b""#);
    world.by("@ana", r#"{"command":"agent.retire","agent":"b","why":"gone"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    let mut world = World::new();
    world.add("for nobody", r#""excluded":["a","b","c"]"#);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    let mut world = World::new();
    world.add("for b, with what only c has", r#""bound":"b","requires":["gpu"]"#);
    world.by("@ana", r#"{"command":"agent.retire","agent":"c","why":"again"}"#);
    world.by("@ana", r#"{"command":"agent.register","agent":"c","capabilities":["gpu"]}"#);
    assert_eq!(world.answer("c"), answer("WAIT", 16));
    assert_eq!(world.answer("b"), answer("PLAN", 19), "c has the capability and may not take it");
}

#[test]
fn row_17_a_time_is_waited_for_and_then_run_by_itself() {
    let mut world = World::with_todos(&["later"]);
    let at = world.now().plus_ms(2 * HOUR);
    world.by("@ana", format!(r#"{{"command":"todo.defer","todo":"T1","until":"{at}","why":"not yet"}}"#));
    assert_eq!(world.answer("a"), answer("WAIT", 17));
    assert_eq!(world.decision("a").wake.at, Some(at));
    world.ticks.now.set(at);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    world.next("a");
    assert_eq!(world.state().todos[&TodoId(1)].status, loopx::state::TodoStatus::Open, "held means open");
}

#[test]
fn row_18_a_goal_that_is_accepted_and_has_nothing_open_is_to_be_closed() {
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"reach it","criteria":["shown"]}"#);
    world.by("", r#"{"command":"todo.add","title":"show it","serves":["A1"]}"#);
    world.next("");
    assert_eq!(world.refused("", r#"{"command":"goal.complete","why":"x"}"#).code(), "goal.not_accepted");
    world.by("", done("T1").replace(r#""no_follow_up""#, r#""meets":["A1"],"no_follow_up""#));
    assert_eq!(world.answer(""), answer("PLAN", 18));
    assert_eq!(world.decision("").mode, Mode::Closing);
    world.by("", r#"{"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"test data"}"#);
    assert_eq!(world.answer(""), answer("PLAN", 19), "what it rested on is gone");
}

#[test]
fn row_19_nothing_open_a_rejected_gate_and_a_blocked_todo_are_plans_and_never_run() {
    let mut world = World::new();
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    assert_eq!(world.decision("a").verdict, Verdict::Plan { cause: PlanCause::Empty { unmet: vec![] } });
    world.add("ship", "");
    world.by("@ana", r#"{"command":"gate.open","question":"Ship?","blocks":["T1"]}"#);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"reject"},"why":"not good"}"#);
    let stuck = Verdict::Plan { cause: PlanCause::Stuck { todos: vec![TodoId(1)] } };
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    assert_eq!(world.decision("a").verdict, stuck);
    world.by("a", r#"{"command":"todo.reopen","todo":"T1","why":"made better"}"#);
    world.by("a", r#"{"command":"todo.block","todo":"T1","why":"no data"}"#);
    assert_eq!(world.decision("a").verdict, stuck);
    assert_eq!(world.quiet("a").verdict, stuck);
}

#[test]
fn row_19_a_no_to_a_gate_on_everything_blocks_everything_that_waited() {
    let mut world = World::with_todos(&["one", "two"]);
    world.next("b");
    world.by("a", r#"{"command":"gate.open","question":"Is this the way?","blocks_all":true}"#);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"reject"},"why":"no"}"#);
    for who in ["a", "b"] {
        assert_eq!(world.answer(who), answer("PLAN", 19), "{who}");
    }
    assert!(world.state().turns.is_empty());
    assert!(world.state().todos.values().all(|todo| todo.claim.is_none()));
}

#[test]
fn needs_in_a_circle_are_planned_anew() {
    let mut world = World::with_todos(&["one"]);
    world.add("two", r#""needs":["T1"]"#);
    world.add("three", r#""needs":["T2"]"#);
    world.by("@ana", r#"{"command":"todo.supersede","todo":"T1","by":"T3","why":"better"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    let Verdict::Plan { cause: PlanCause::Stuck { todos } } = world.decision("a").verdict else { panic!() };
    assert_eq!(todos, [TodoId(2), TodoId(3)]);
}

#[test]
fn a_long_chain_of_needs_is_followed_without_running_out_of_stack() {
    let mut world = World::with_todos(&["first"]);
    for number in 1..400 {
        world.add("next", &format!(r#""needs":["T{number}"]"#));
    }
    world.by("@ana", r#"{"command":"todo.block","todo":"T1","why":"stuck"}"#);
    let Verdict::Plan { cause: PlanCause::Stuck { todos } } = world.decision("a").verdict else { panic!() };
    assert_eq!(todos.len(), 400);
}

#[test]
fn mixed_cases_go_to_the_row_that_comes_first() {
    // Others' work and a blocked todo: wait, since their work may change things.
    let mut world = World::with_todos(&["one", "stuck"]);
    world.by("@ana", r#"{"command":"todo.block","todo":"T2","why":"no data"}"#);
    world.next("a");
    assert_eq!(world.answer("b"), answer("WAIT", 16));
    // A gate and others' work: wait, and show the question beside it.
    let mut world = World::with_todos(&["one", "two"]);
    world.by("@ana", r#"{"command":"gate.open","question":"Two?","blocks":["T2"]}"#);
    world.next("a");
    assert_eq!(world.answer("b"), answer("WAIT", 16));
    assert_eq!(world.decision("b").questions, [GateId(1)]);
    // A gate and a time: wait for the time.
    let mut world = World::with_todos(&["one", "two"]);
    let at = world.now().plus_ms(HOUR);
    world.by("@ana", format!(r#"{{"command":"todo.defer","todo":"T1","until":"{at}","why":"x"}}"#));
    world.by("@ana", r#"{"command":"gate.open","question":"Two?","blocks":["T2"]}"#);
    assert_eq!(world.answer("b"), answer("WAIT", 17));
    assert_eq!(world.decision("b").wake.at, Some(at));
    // A gate and a blocked todo: ask.
    let mut world = World::with_todos(&["one", "two"]);
    world.by("@ana", r#"{"command":"todo.block","todo":"T1","why":"no data"}"#);
    world.by("@ana", r#"{"command":"gate.open","question":"Two?","blocks":["T2"]}"#);
    assert_eq!(world.answer("b"), answer("ASK", 15));
    // Accepted, with a blocked todo left over: plan what to do with it.
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"reach it","criteria":["shown"]}"#);
    world.by("", r#"{"command":"todo.add","title":"left over"}"#);
    world.by("", r#"{"command":"todo.block","todo":"T1","why":"x"}"#);
    world.by("", r#"{"command":"evidence.add","about":"goal/goal","kind":"note","summary":"y"}"#);
    world.by("", r#"{"command":"goal.accept","criterion":"A1","evidence":"E1"}"#);
    assert_eq!(world.answer(""), answer("PLAN", 19));
}

#[test]
fn asking_appends_nothing_a_thousand_times_over() {
    let mut world = World::with_todos(&["work"]);
    world.next("a");
    let (head, first) = (world.head(), world.decision("b"));
    for _ in 0..1_000 {
        assert_eq!(world.decision("b"), first);
    }
    for _ in 0..50 {
        assert_eq!(world.quiet("b"), first);
    }
    assert_eq!(world.head(), head);
}

#[test]
fn a_turn_in_one_goal_is_not_thrown_away_by_asking_about_another() {
    let mut world = World::with_todos(&["work"]);
    world.by("@ana", r#"{"command":"goal.start","name":"rose","objective":"water it"}"#);
    world.by("@ana rose", r#"{"command":"todo.add","title":"fetch water"}"#);
    world.by("a iris", r#"{"command":"next"}"#);
    assert_eq!(world.should_run("a rose").unwrap_err().code(), "turn.open");
    assert_eq!(world.refused("a rose", r#"{"command":"next"}"#).code(), "turn.open");
    assert_eq!(world.decision("a iris").verdict.word(), "RUN");
    world.by("a", r#"{"command":"yield","todo":"T1","why":"roses first"}"#);
    assert_eq!(spell(&world.decision("a rose").verdict), "RUN T2");
}

#[test]
fn a_gate_whose_todos_are_all_closed_is_still_shown() {
    let mut world = World::new();
    world.add("for b", r#""bound":"b""#);
    world.by("@ana", r#"{"command":"gate.open","question":"Sure?","blocks":["T1"]}"#);
    assert_eq!(world.decision("a").questions, []);
    assert_eq!(world.decision("b").questions, [GateId(1)]);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T1","why":"x"}"#);
    assert_eq!(world.decision("a").questions, [GateId(1)]);
}

#[test]
fn what_replaces_a_gated_todo_waits_for_the_same_gate() {
    let mut world = World::with_todos(&["ship", "ship differently"]);
    world.by("@ana", r#"{"command":"gate.open","question":"Ship?","blocks":["T1"]}"#);
    world.by("a", r#"{"command":"todo.supersede","todo":"T1","by":"T2","why":"better"}"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"reject"},"why":"no"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
}

#[test]
fn what_needed_a_reopened_todo_needs_it_again() {
    let mut world = World::with_todos(&["one"]);
    world.add("two", r#""needs":["T1"]"#);
    world.next("a");
    world.done("a", "T1");
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    world.by("a", r#"{"command":"todo.reopen","todo":"T1","why":"it was not done"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    assert_eq!(world.refused("b", r#"{"command":"todo.claim","todo":"T2"}"#).code(), "todo.not_runnable");
    // The replacement is needed in the place of what it replaces, closed and reopened or not.
    world.add("three", "");
    world.by("a", r#"{"command":"todo.supersede","todo":"T1","by":"T3","why":"better"}"#);
    world.next("a");
    world.done("a", "T3");
    world.by("a", r#"{"command":"todo.reopen","todo":"T3","why":"it was not done"}"#);
    assert_eq!(world.answer("a"), answer("RUN T3", 9));
}

#[test]
fn what_is_under_way_goes_on_when_a_need_of_it_is_reopened() {
    let mut world = World::with_todos(&["one"]);
    world.add("two", r#""needs":["T1"]"#);
    world.next("a");
    world.done("a", "T1");
    world.next("a");
    world.by("b", r#"{"command":"todo.reopen","todo":"T1","why":"it was not done"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 4));
    world.by("a", r#"{"command":"lease.renew","on":"T2"}"#);
    world.by("b", r#"{"command":"todo.cancel","todo":"T1","why":"not wanted"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 4));
    world.by("b", r#"{"command":"todo.reopen","todo":"T1","why":"wanted"}"#);
    world.by("a", r#"{"command":"yield","todo":"T2","why":"later"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    assert_eq!(world.refused("a", r#"{"command":"todo.claim","todo":"T2"}"#).code(), "todo.not_runnable");
}
