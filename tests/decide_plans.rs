//! Rows 6, 7, 8, 10, 11, 12 and 14 of the decision table, and which wins where two apply.

mod kernel;

use kernel::*;
use loopx::decide::{Mode, PlanCause, Verdict};
use loopx::event::Event;
use loopx::id::TodoId;

fn answer(text: &str, row: u8) -> (String, u8) {
    (text.to_owned(), row)
}

fn cause(world: &World, who: &str) -> PlanCause {
    match world.decision(who).verdict {
        Verdict::Plan { cause } => cause,
        other => panic!("{other:?}"),
    }
}

const MONITOR: &str = r#""class":"monitor","watch":"the nightly build","every_ms":900000"#;

fn poll(todo: &str, result: &str) -> String {
    format!(r#"{{"command":"monitor.poll","todo":"{todo}","result":"{result}"}}"#)
}

fn yields(world: &mut World, who: &str) {
    let todo = world.next(who);
    world.by(who, format!(r#"{{"command":"yield","todo":"{todo}","why":"no luck"}}"#));
}

#[test]
fn row_6_what_a_todo_was_put_off_for_has_happened() {
    let mut world = World::with_todos(&["first", "second", "third"]);
    world.by("a", r#"{"command":"todo.defer","todo":"T1","when":"T2","why":"after the second"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    world.next("a");
    world.done("a", "T2");
    assert_eq!(world.answer("a"), answer("PLAN", 6));
    assert_eq!(world.decision("a").mode, Mode::SuccessorReplanRequired);
    assert_eq!(cause(&world, "b"), PlanCause::Resumable { todos: vec![TodoId(1)] });
    world.by("a", r#"{"command":"todo.reopen","todo":"T1","why":"now"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn row_6_gives_way_to_work_of_higher_rank() {
    let mut world = World::with_todos(&["first"]);
    world.by("a", r#"{"command":"gate.open","question":"which way?","blocks":[],"blocks_agents":["c"]}"#);
    world.by("a", r#"{"command":"todo.defer","todo":"T1","when":"G1","why":"which way"}"#);
    assert_eq!(world.answer("a"), answer("ASK", 15));
    world.add("urgent", r#""priority":"P0""#);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"left"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9), "it outranks what was put off");
    world.next("a");
    world.done("a", "T2");
    assert_eq!(world.answer("a"), answer("PLAN", 6));
    world.by("a", r#"{"command":"todo.cancel","todo":"T1","why":"left is done"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
}

#[test]
fn what_a_todo_is_put_off_for_exists_and_is_one_thing() {
    let mut world = World::with_todos(&["first"]);
    for (when, code) in [
        (r#""when":"T9""#, "not_found"),
        (r#""when":"T1""#, "not_found"),
        (r#""when":"G9""#, "gate.not_open"),
        (r#""when":"G9","until":"2027-01-01T00:00:00.000000Z""#, "resume.ambiguous"),
    ] {
        let json = format!(r#"{{"command":"todo.defer","todo":"T1",{when},"why":"w"}}"#);
        assert_eq!(world.refused("a", json).code(), code, "{when}");
    }
}

#[test]
fn row_7_a_due_monitor_comes_first_only_if_it_is_more_urgent() {
    let mut world = World::with_todos(&["work"]);
    world.add("watch", &format!(r#"{MONITOR},"priority":"P2""#));
    assert_eq!(world.answer("a"), answer("RUN T1", 9), "equally urgent");
    let urgent = world.add("watch closely", &format!(r#"{MONITOR},"priority":"P0""#));
    assert_eq!(world.answer("a"), answer(&format!("POLL {urgent}"), 7));
    assert_eq!(world.decision("a").mode, Mode::MonitorPoll);
    assert_eq!(world.quiet("a").verdict, Verdict::Poll { todo: urgent }, "looking takes nothing up");
    world.by("a", poll(&urgent.to_string(), "green"));
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    world.pass(15 * MINUTE);
    assert_eq!(world.answer("b"), answer(&format!("POLL {urgent}"), 7), "anyone may look");
}

#[test]
fn rows_6_and_7_a_plan_comes_before_a_look() {
    let mut world = World::with_todos(&["first", "second", "third"]);
    world.by("a", r#"{"command":"todo.defer","todo":"T1","when":"T2","why":"w"}"#);
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"w"}"#);
    world.add("watch closely", &format!(r#"{MONITOR},"priority":"P0""#));
    assert_eq!(world.answer("a"), answer("PLAN", 6));
}

#[test]
fn row_8_two_turns_that_bring_nothing_ask_for_a_plan_until_something_was_changed() {
    let mut world = World::with_todos(&["hard", "other"]);
    yields(&mut world, "a");
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
    yields(&mut world, "b");
    assert_eq!(world.answer("a"), answer("PLAN", 8));
    assert_eq!(cause(&world, "a"), PlanCause::Fruitless { todo: TodoId(1), times: 2 });
    world.by("a", r#"{"command":"refresh-state","next_action":"thought about it"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 8), "thinking about it is no delta");
    world.add("try another way", "");
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn row_8_counts_neither_progress_nor_a_question_nor_a_turn_that_was_lost() {
    let mut world = World::with_todos(&["hard"]);
    yields(&mut world, "a");
    world.next("a");
    world
        .by("a", r#"{"command":"refresh-state","next_action":"n","turn":"U2","outcome":"outcome_progress"}"#);
    world.by("a", r#"{"command":"quota.spend-slot"}"#);
    assert_eq!(world.state().todos[&TodoId(1)].fruitless.count, 0);
    yields(&mut world, "a");
    world.next("a");
    world.by("a", r#"{"command":"gate.open","question":"how?","blocks":["T1"]}"#);
    world.by("@ana", r#"{"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"so"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9), "a question was what came of it");
    yields(&mut world, "a");
    world.next("a");
    world.pass(HOUR);
    world.next("b");
    let todo = &world.state().todos[&TodoId(1)];
    assert_eq!(todo.fruitless.count, 1, "a turn that was taken over says nothing about the work");
}

#[test]
fn row_8_five_looks_that_see_the_same_ask_for_a_plan() {
    let mut world = World::with_todos(&["work"]);
    let monitor = world.add("watch", &format!(r#"{MONITOR},"priority":"P0""#)).to_string();
    for look in 0..6 {
        assert_eq!(world.answer("a"), answer(&format!("POLL {monitor}"), 7), "look {look}");
        world.by("a", poll(&monitor, "green"));
        world.pass(15 * MINUTE);
    }
    world.by("a", poll(&monitor, "green"));
    assert_eq!(world.answer("a"), answer("PLAN", 8), "the first saw something new, the next five did not");
    world.by("a", poll(&monitor, "red"));
    assert_eq!(world.answer("a"), answer("RUN T3", 9), "something changed: its successor is as urgent");
}

#[test]
fn rows_7_and_8_a_look_that_is_more_urgent_comes_before_a_plan() {
    let mut world = World::with_todos(&["hard"]);
    world.add("watch closely", &format!(r#"{MONITOR},"priority":"P0""#));
    world.by("a", poll("T2", "green"));
    for _ in 0..2 {
        yields(&mut world, "a");
    }
    assert_eq!(world.answer("a"), answer("PLAN", 8));
    world.pass(15 * MINUTE);
    assert_eq!(world.answer("a"), answer("POLL T2", 7));
}

#[test]
fn row_10_what_can_be_built_is_built_in_a_turn_on_the_todo() {
    let mut world = World::new();
    world.add("fuzz it", r#""buildable":["corpus"]"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 10));
    assert_eq!(world.decision("a").mode, Mode::RepairBridge);
    let opened = world.by("a", r#"{"command":"next"}"#);
    assert!(opened.events.iter().any(|event| matches!(event, Event::TurnOpened(turn) if turn.repairs)));
    assert_eq!(world.answer("a"), answer("RUN T1", 4), "the turn stays open while it repairs");
    assert_eq!(world.decision("a").mode, Mode::RepairBridge);
    assert_eq!(world.refused("a", done("T1")).code(), "todo.not_runnable", "it is not done before it can be");
    world.by("a", r#"{"command":"lease.renew","on":"T1"}"#);
    world.by("a", r#"{"command":"agent.update","agent":"a","add":["corpus"],"why":"made one"}"#);
    assert_eq!(world.decision("a").mode, Mode::BoundedDelivery);
    world.done("a", "T1");
}

#[test]
fn row_10_a_write_scope_is_narrowed_in_a_turn_on_the_todo() {
    let mut world = World::new();
    world.add("write", r#""write":["docs","src/a"]"#);
    world.by("@ana", r#"{"command":"goal.change","write":["src"],"reason":"code only"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 10));
    assert_eq!(world.decision("a").mode, Mode::BoundaryProjectionRepair);
    world.next("a");
    assert_eq!(world.refused("a", done("T1")).code(), "todo.not_runnable");
    let wider = r#"{"command":"todo.update","todo":"T1","write":["docs"]}"#;
    assert_eq!(world.refused("a", wider).code(), "scope.outside");
    world.by("a", r#"{"command":"todo.update","todo":"T1","write":["src/a"]}"#);
    assert_eq!(world.decision("a").mode, Mode::BoundedDelivery);
    world.done("a", "T1");
}

#[test]
fn rows_9_and_10_work_comes_before_repairs_and_a_repair_can_be_claimed_by_name() {
    let mut world = World::new();
    world.add("fuzz it", r#""buildable":["corpus"],"priority":"P0""#);
    world.add("plain", "");
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    world.by("b", r#"{"command":"todo.claim","todo":"T1"}"#);
    assert_eq!(world.decision("b").mode, Mode::RepairBridge);
}

#[test]
fn row_11_an_owner_is_asked_for_what_only_an_owner_grants() {
    let mut world = World::new();
    world.add("deploy", r#""granted":["production"],"buildable":["image"]"#);
    assert_eq!(world.answer("a"), answer("ASK", 11));
    let Verdict::Ask { gates, grants, .. } = world.decision("a").verdict else { panic!() };
    assert_eq!((gates.len(), grants), (0, vec![(TodoId(1), "production".parse().unwrap())]));
    let grant = r#"{"command":"agent.grant","agent":"b","capabilities":["production"],"why":"this week"}"#;
    assert_eq!(world.refused("a", grant).code(), "owner.required");
    assert_eq!(world.refused("b", grant).code(), "owner.required");
    let itself = r#"{"command":"agent.update","agent":"b","add":["production"],"why":"I say so"}"#;
    world.by("b", itself);
    assert_eq!(world.answer("b"), answer("ASK", 11), "what an agent says of itself grants nothing");
    world.by("@ana", grant);
    assert_eq!(world.answer("b"), answer("RUN T1", 10), "the image is still to be built");
    assert_eq!(world.answer("a"), answer("WAIT", 16), "it is b's now");
    world.by("@ana", r#"{"command":"agent.revoke","agent":"b","capabilities":["production"],"why":"over"}"#);
    assert_eq!(world.answer("b"), answer("ASK", 11));
}

#[test]
fn rows_10_and_11_a_repair_comes_before_a_question() {
    let mut world = World::new();
    world.add("deploy", r#""granted":["production"],"priority":"P0""#);
    world.add("fuzz it", r#""buildable":["corpus"]"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 10));
}

#[test]
fn row_12_below_the_outcome_floor_only_recovery_runs() {
    let mut world = World::with_todos(&["one", "two", "three", "four"]);
    for todo in ["T1", "T2", "T3"] {
        world.by("a", format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#));
        world.by("a", format!(r#"{{"command":"yield","todo":"{todo}","why":"no luck"}}"#));
    }
    assert_eq!(world.answer("a"), answer("PLAN", 12));
    assert_eq!(cause(&world, "b"), PlanCause::OutcomeFloor { turns: 3 });
    world.add("more of the same", "");
    assert_eq!(world.answer("a"), answer("PLAN", 12), "another todo is no progress");
    let recovery = world.add("find out why", r#""action":"recovery","priority":"P4""#);
    assert_eq!(world.answer("a"), answer(&format!("RUN {recovery}"), 12));
    assert_eq!(world.next("a"), recovery);
    world.done("a", &recovery.to_string());
    assert_eq!(world.answer("a"), answer("RUN T1", 9), "the floor is left behind");
}

#[test]
fn row_12_a_change_of_the_goal_ends_the_row_of_turns() {
    let mut world = World::with_todos(&["one", "two", "three"]);
    for todo in ["T1", "T2", "T3"] {
        world.by("a", format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#));
        world.by("a", format!(r#"{{"command":"yield","todo":"{todo}","why":"no luck"}}"#));
    }
    world.by("@ana", r#"{"command":"goal.change","objective":"something easier","reason":"no luck"}"#);
    assert_eq!(world.answer("a"), answer("RUN T1", 9));
}

#[test]
fn rows_12_and_13_recovery_waits_for_quota_and_a_plan_does_not() {
    let mut world = World::with_todos(&["one", "two", "three", "four"]);
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"w"}"#);
    world.next("a");
    world.done("a", "T1");
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":2},"why":"w"}"#);
    for todo in ["T2", "T3", "T4"] {
        world.by("a", format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#));
        world.by("a", format!(r#"{{"command":"yield","todo":"{todo}","why":"no luck"}}"#));
    }
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"w"}"#);
    assert_eq!(world.answer("a"), answer("PLAN", 12));
    world.add("find out why", r#""action":"recovery""#);
    assert_eq!(world.answer("a"), answer("WAIT", 13));
}

#[test]
fn rows_13_and_14_a_look_that_is_not_more_urgent_waits_with_throttled_work() {
    let mut world = World::with_todos(&["one", "two"]);
    world.by("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"why":"w"}"#);
    world.add("watch", MONITOR);
    world.next("a");
    world.done("a", "T1");
    assert_eq!(world.answer("a"), answer("WAIT", 13));
}

#[test]
fn rows_14_to_17_a_monitor_is_looked_at_when_due_and_waited_for_until_then() {
    let mut world = World::new();
    let monitor = world.add("watch", MONITOR).to_string();
    world.add("gated", "");
    world.by("a", r#"{"command":"gate.open","question":"may I?","blocks":["T2"]}"#);
    assert_eq!(world.answer("a"), answer(&format!("POLL {monitor}"), 14), "before a question is waited for");
    world.by("a", poll(&monitor, "green"));
    world.by("@ana", r#"{"command":"todo.cancel","todo":"T2","why":"no"}"#);
    assert_eq!(world.answer("a"), answer("WAIT", 17));
    let decision = world.decision("a");
    assert_eq!(decision.mode, Mode::MonitorQuietSkip);
    assert_eq!(decision.wake.at, Some(world.now().plus_ms(15 * MINUTE)));
    world.pass(15 * MINUTE);
    assert_eq!(world.answer("a"), answer(&format!("POLL {monitor}"), 14));
}

#[test]
fn a_look_is_one_small_event_and_no_other_before_it_is_due() {
    let mut world = World::new();
    let monitor = world.add("watch", MONITOR).to_string();
    let first = world.by("a", poll(&monitor, "green"));
    assert_eq!(first.events.len(), 1, "what is seen first is what changes are counted from");
    assert_eq!(world.refused("a", poll(&monitor, "green")).code(), "monitor.not_due");
    assert_eq!(world.refused("b", poll(&monitor, "green")).code(), "monitor.not_due");
    world.pass(15 * MINUTE);
    let same = world.by("b", poll(&monitor, "green"));
    assert!(matches!(same.events.as_slice(), [Event::MonitorPolled(poll)] if poll.result.is_none()));
    let changed = world.by("b", poll(&monitor, "red"));
    let [Event::MonitorPolled(polled), Event::TodoAdded(added)] = changed.events.as_slice() else { panic!() };
    assert_eq!(polled.result.as_ref().unwrap().as_str(), "red");
    assert_eq!(added.spec.title.as_str(), "Look into what changed: watch");
    let quiet = poll(&monitor, "green").replace('}', r#","no_follow_up":"it was the proxy"}"#);
    assert_eq!(world.by("a", quiet).events.len(), 1);
    let named = poll(&monitor, "red").replace('}', r#","next":["bisect","roll back"]}"#);
    assert_eq!(world.by("a", named).events.len(), 3);
    assert!(world.state().turns.is_empty() && world.state().quotas.is_empty(), "no turn, no spend");
}

#[test]
fn a_monitor_is_not_claimed_not_needed_not_completed_and_ends_at_its_time() {
    let mut world = World::with_todos(&["work"]);
    let until = world.now().plus_ms(HOUR);
    world.add("watch", &format!(r#"{MONITOR},"until":"{until}""#));
    assert_eq!(world.refused("a", r#"{"command":"todo.claim","todo":"T2"}"#).code(), "todo.not_runnable");
    assert_eq!(world.refused("@ana", r#"{"command":"todo.claim","todo":"T2"}"#).code(), "todo.not_runnable");
    assert_eq!(world.refused("@ana", complete("T2")).code(), "todo.not_runnable");
    assert_eq!(
        world.refused("a", r#"{"command":"todo.add","title":"x","needs":["T2"]}"#).code(),
        "need.is_monitor"
    );
    assert_eq!(world.refused("a", poll("T1", "x")).code(), "monitor.none");
    for bad in [
        r#""class":"monitor""#,
        r#""class":"monitor","watch":"x""#,
        r#""watch":"x","every_ms":60000"#,
        r#""class":"monitor","watch":"x","every_ms":60000,"write":["src"]"#,
    ] {
        let json = format!(r#"{{"command":"todo.add","title":"x",{bad}}}"#);
        assert_eq!(world.refused("a", json).code(), "monitor.unclear", "{bad}");
    }
    let often = r#"{"command":"todo.add","title":"x","class":"monitor","watch":"x","every_ms":1000}"#;
    assert_eq!(world.refused("a", often).code(), "out_of_range");
    world.next("a");
    world.done("a", "T1");
    world.pass(HOUR);
    assert_eq!(world.answer("a"), answer("PLAN", 19));
    assert_eq!(world.refused("a", poll("T2", "x")).code(), "todo.not_runnable");
    world.by("a", r#"{"command":"todo.cancel","todo":"T2","why":"its time has ended"}"#);
}

#[test]
fn a_paused_goal_is_not_looked_at() {
    let mut world = World::new();
    world.add("watch", MONITOR);
    world.by("@ana", r#"{"command":"goal.pause","why":"w"}"#);
    assert_eq!(world.refused("a", poll("T1", "x")).code(), "goal.not_active");
}

fn spend(tokens: u64, cost: u64) -> String {
    done("T1").replace(r#""close""#, &format!(r#""spend":{{"tokens":{tokens},"cost_micro":{cost}}},"close""#))
}

#[test]
fn row_13_a_budget_of_the_goal_or_of_an_agent_is_used_up_once_what_was_spent_reaches_it() {
    for (budget, enough) in [
        (r#""tokens":1000"#, true),
        (r#""tokens":1001"#, false),
        (r#""cost_micro":500"#, true),
        (r#""cost_micro":501"#, false),
        (r#""wall_ms":60000"#, true),
        (r#""wall_ms":60001"#, false),
        (r#""on_agent":"a","tokens":1000"#, true),
        (r#""on_agent":"b","tokens":1000"#, false),
        (r#""tokens":0"#, true),
        ("", false),
    ] {
        let mut world = World::with_todos(&["one", "two"]);
        world.next("a");
        world.pass(MINUTE);
        world.by("a", spend(1_000, 500));
        let comma = if budget.is_empty() { "" } else { "," };
        let set = format!(r#"{{"command":"quota.budget"{comma}{budget},"why":"w"}}"#);
        assert_eq!(world.refused("a", &set).code(), "owner.required");
        world.by("@ana", set);
        if enough {
            assert_eq!(world.answer("a"), answer("WAIT", 13), "{budget}");
            let decision = world.decision("a");
            assert_eq!(
                (decision.wake.at, decision.wake.on[0].as_str()),
                (None, "quota.budgeted"),
                "{budget}"
            );
            let claim = r#"{"command":"todo.claim","todo":"T2"}"#;
            assert_eq!(world.refused("a", claim).code(), "quota.budget_used_up", "{budget}");
            let whole = world.head().0;
            let spent = (1..=whole).rev().find(|seq| {
                let void = format!(r#"{{"command":"quota.void-slot","spend":{seq},"why":"w"}}"#);
                world.submit("@ana", command(&void), None).is_ok()
            });
            assert!(spent.is_some());
            let left = if budget.contains(":0") { answer("WAIT", 13) } else { answer("RUN T2", 9) };
            assert_eq!(world.answer("a"), left, "{budget}: what was taken back may be used again");
        } else {
            assert_eq!(world.answer("a"), answer("RUN T2", 9), "{budget}");
        }
    }
}

#[test]
fn a_budget_that_is_used_up_stops_no_turn_that_is_open_and_counts_all_of_it() {
    let mut world = World::with_todos(&["one", "two"]);
    world.by("@ana", r#"{"command":"quota.budget","tokens":10,"why":"w"}"#);
    world.next("a");
    world.by("a", spend(1_000, 0));
    let quota = world.state().quotas.values().next().unwrap();
    assert_eq!(quota.total.tokens, 1_000, "what was used was used");
    assert_eq!(world.answer("a"), answer("WAIT", 13));
    world.by("@ana", r#"{"command":"quota.budget","tokens":2000,"why":"more"}"#);
    assert_eq!(world.answer("a"), answer("RUN T2", 9));
    let unknown = r#"{"command":"quota.budget","on_agent":"zed","why":"w"}"#;
    assert_eq!(world.refused("@ana", unknown).code(), "agent.unknown");
}
