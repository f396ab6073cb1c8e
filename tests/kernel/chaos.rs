//! Random histories: anyone may ask for anything at any time, with a clock that also runs backwards.

use loopx::decide::Command;
use loopx::ledger::SubmitError;
use proptest::prelude::*;

use super::{HOUR, MINUTE, World, caller, command, complete, done};

/// One thing that happens.
#[derive(Debug, Clone)]
pub enum Step {
    Pass(u64),
    Back(u64),
    Ask(&'static str, String),
}

/// Whoever may ask for a turn.
pub const LANES: [&str; 4] = ["a", "a+s", "b", "c"];
pub const GOALS: [&str; 2] = ["iris", "rose"];

/// Two goals, three agents of which c has a gpu, an owner, and some todos.
pub fn world() -> World {
    let mut world = World::empty();
    world.by("", r#"{"command":"owner.register","owner":"ana"}"#);
    for goal in GOALS {
        world.by(
            "@ana",
            format!(r#"{{"command":"goal.start","name":"{goal}","objective":"o","criteria":["x"]}}"#),
        );
    }
    world.by("@ana", r#"{"command":"agent.register","agent":"a"}"#);
    world.by("@ana", r#"{"command":"agent.register","agent":"b"}"#);
    world.by("@ana", r#"{"command":"agent.register","agent":"c","capabilities":["gpu"]}"#);
    for title in ["one", "two"] {
        world.by("@ana iris", format!(r#"{{"command":"todo.add","title":"{title}"}}"#));
    }
    world
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..most)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![Just(1), Just(MINUTE), Just(20 * MINUTE), Just(HOUR), Just(25 * HOUR)].prop_map(Step::Pass),
        1 => prop_oneof![Just(1), Just(HOUR), Just(1_000 * HOUR)].prop_map(Step::Back),
        30 => (who(), ask()).prop_map(|(who, json)| Step::Ask(who, json)),
        4 => (prop::sample::select(vec!["@ana iris", "@ana rose", "@ana"]), owners_ask())
            .prop_map(|(who, json)| Step::Ask(who, json)),
    ]
}

fn who() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "a iris",
        "a+s",
        "a+s iris",
        "b",
        "b iris",
        "b rose",
        "c iris",
        "c",
        "@ana iris",
        "@ana",
        "@ana rose",
        "@bob",
        "",
        "a",
        "b",
    ])
}

fn todo() -> impl Strategy<Value = String> {
    (1..7u32).prop_map(|number| format!("T{number}"))
}

/// What only an owner may ask for.
fn owners_ask() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"reject"},"why":"w"}"#,
            r#"{"command":"gate.withdraw","gate":"G@","why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"choice","option":"yes"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"rests_on":["E@"],"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"valid_until":"2026-12-01T14:00:00.000000Z","why":"w"}"#,
            r#"{"command":"gate.revoke","gate":"G@","why":"w"}"#,
            r#"{"command":"goal.resume","why":"w"}"#,
            r#"{"command":"quota.set","allowance":{"kind":"slots","slots":@},"why":"w"}"#,
            r#"{"command":"todo.release","todo":"T@","why":"w"}"#,
            r#"{"command":"todo.hand_over","todo":"T@","to":"a","why":"w"}"#,
        ]),
        1..5u32,
    )
        .prop_map(|(json, number)| json.replace('@', &number.to_string()))
}

/// One of each command, some of them often.
fn ask() -> impl Strategy<Value = String> {
    let add = (
        prop_oneof![Just(String::new()), todo().prop_map(|t| format!(r#","needs":["{t}"]"#))],
        prop::sample::select(vec![
            "",
            "",
            r#","write":["src/a"]"#,
            r#","write":["src/ab"]"#,
            r#","write":["src"]"#,
            r#","write":["docs"]"#,
            r#","resources":["gpu0"]"#,
        ]),
        prop::sample::select(vec![
            "",
            "",
            r#","bound":"a""#,
            r#","excluded":["a"]"#,
            r#","excluded":["a","b","c"]"#,
            r#","requires":["gpu"]"#,
            r#","requires":["magic"]"#,
            r#","class":"user_action""#,
            r#","class":"monitor","watch":"ci","every_ms":60000"#,
            r#","class":"monitor","watch":"ci","every_ms":3600000,"priority":"P0""#,
            r#","buildable":["kit"]"#,
            r#","granted":["prod"]"#,
            r#","action":"recovery""#,
            r#","priority":"P0""#,
        ]),
        prop::sample::select(vec![
            "",
            "",
            "",
            r#","requires_decision":["production:goal:deploy"]"#,
            r#","requires_decision":["production:lane:*"]"#,
            r#","requires_decision":["other:action:x","production:goal:deploy"]"#,
        ]),
    )
        .prop_map(|(needs, write, who, decision)| {
            format!(r#"{{"command":"todo.add","title":"t"{needs}{write}{who}{decision}}}"#)
        });
    let on_todo = (
        prop::sample::select(vec![
            r#"{"command":"todo.claim","todo":"@"}"#,
            r#"{"command":"todo.claim","todo":"@","ttl_ms":60000}"#,
            r#"{"command":"todo.release","todo":"@","why":"w"}"#,
            r#"{"command":"todo.hand_over","todo":"@","to":"a","why":"w"}"#,
            r#"{"command":"todo.hand_over","todo":"@","to":"b","why":"w"}"#,
            r#"{"command":"todo.update","todo":"@","priority":"P1"}"#,
            r#"{"command":"todo.block","todo":"@","why":"w"}"#,
            r#"{"command":"todo.defer","todo":"@","why":"w"}"#,
            r#"{"command":"todo.defer","todo":"@","until":"2026-12-01T14:00:00.000000Z","why":"w"}"#,
            r#"{"command":"todo.defer","todo":"@","when":"T1","why":"w"}"#,
            r#"{"command":"todo.defer","todo":"@","when":"G1","why":"w"}"#,
            r#"{"command":"todo.update","todo":"@","write":["src/a"]}"#,
            r#"{"command":"monitor.poll","todo":"@","result":"red"}"#,
            r#"{"command":"monitor.poll","todo":"@","result":"green"}"#,
            r#"{"command":"monitor.poll","todo":"@","result":"green","no_follow_up":"w"}"#,
            r#"{"command":"todo.reopen","todo":"@","why":"w"}"#,
            r#"{"command":"todo.reopen","todo":"@","why":"w"}"#,
            r#"{"command":"todo.cancel","todo":"@","why":"w"}"#,
            r#"{"command":"gate.open","question":"q","blocks":["@"]}"#,
            r#"{"command":"gate.open","question":"q","blocks":["@"],"scope":"production:goal:deploy","options":["yes","no"]}"#,
            r#"{"command":"gate.open","question":"q","blocks":["@"],"scope":"other:action:*"}"#,
            r#"{"command":"todo.update","todo":"@","done_when":"d"}"#,
            r#"{"command":"evidence.add","about":"@","kind":"note","summary":"s","valid_for_ms":3600000}"#,
            r#"{"command":"lease.renew","on":"@"}"#,
            r#"{"command":"evidence.add","about":"@","kind":"note","summary":"s"}"#,
            r#"{"command":"yield","todo":"@","why":"w"}"#,
            r#"{"command":"block","todo":"@","why":"w"}"#,
            r#"{"command":"quota.spend-slot","todo":"@"}"#,
            r#"{"command":"lineage.hypothesis","text":"h","todo":"@"}"#,
        ]),
        todo(),
    )
        .prop_map(|(json, todo)| json.replace('@', &todo));
    let two = (todo(), todo()).prop_map(|(todo, by)| {
        format!(r#"{{"command":"todo.supersede","todo":"{todo}","by":"{by}","why":"w"}}"#)
    });
    let close = (
        todo(),
        any::<bool>(),
        prop::sample::select(vec![
            r#""no_follow_up":"n""#,
            r#""next":["more"]"#,
            r#""next":["more"],"hand_over":"b""#,
            r#""meets":["A1"],"no_follow_up":"n""#,
        ]),
    )
        .prop_map(|(todo, whole, then)| {
            let json = if whole { done(&todo) } else { complete(&todo) };
            json.replace(r#""no_follow_up":"all there is""#, then)
        });
    let numbered = (
        prop::sample::select(vec![
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"reject"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"defer"},"why":"w"}"#,
            r#"{"command":"gate.withdraw","gate":"G@","why":"w"}"#,
            r#"{"command":"gate.revoke","gate":"G@","why":"w"}"#,
            r#"{"command":"gate.open","question":"q","scope":"production:goal:deploy","evidence":["E@"]}"#,
            r#"{"command":"evidence.invalidate","evidence":"E@","cause":"leak","why":"w"}"#,
            r#"{"command":"evidence.supersede","evidence":"E@","by":"E1","why":"w"}"#,
            r#"{"command":"goal.accept","criterion":"A1","evidence":"E@"}"#,
            r#"{"command":"refresh-state","next_action":"n","turn":"U@","outcome":"surface_only"}"#,
            r#"{"command":"refresh-state","next_action":"n","turn":"U@","outcome":"outcome_progress"}"#,
            r#"{"command":"quota.spend-slot","turn":"U@"}"#,
            r#"{"command":"quota.void-slot","spend":@,"why":"w"}"#,
        ]),
        1..8u32,
    )
        .prop_map(|(json, number)| json.replace('@', &number.to_string()));
    let plain = prop::sample::select(vec![
        r#"{"command":"agent.register","agent":"c","capabilities":["gpu"]}"#,
        r#"{"command":"agent.update","agent":"a","add":["kit"],"why":"w"}"#,
        r#"{"command":"agent.update","agent":"c","drop":["gpu"],"why":"w"}"#,
        r#"{"command":"agent.grant","agent":"a","capabilities":["prod"],"why":"w"}"#,
        r#"{"command":"agent.revoke","agent":"a","capabilities":["prod"],"why":"w"}"#,
        r#"{"command":"agent.retire","agent":"b","why":"w"}"#,
        r#"{"command":"agent.register","agent":"b"}"#,
        r#"{"command":"agent.retire","agent":"c","why":"w"}"#,
        r#"{"command":"owner.register","owner":"bob"}"#,
        r#"{"command":"owner.revoke","owner":"bob","why":"w"}"#,
        r#"{"command":"owner.revoke","owner":"ana","why":"w"}"#,
        r#"{"command":"goal.start","name":"rose","objective":"o"}"#,
        r#"{"command":"goal.start","name":"iris","objective":"o"}"#,
        r#"{"command":"goal.change","write":["src"],"reason":"r"}"#,
        r#"{"command":"goal.change","write":[],"add_criteria":["more"],"reason":"r"}"#,
        r#"{"command":"goal.change","drop_criteria":["A1"],"reason":"r"}"#,
        r#"{"command":"goal.pause","why":"w"}"#,
        r#"{"command":"goal.resume","why":"w"}"#,
        r#"{"command":"goal.complete","why":"w"}"#,
        r#"{"command":"goal.abandon","why":"w"}"#,
        r#"{"command":"goal.reject","criterion":"A1","why":"w"}"#,
        r#"{"command":"goal.change","objective":"another","reason":"r"}"#,
        r#"{"command":"goal.change","objective":"o","reason":"r"}"#,
        r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"s"}"#,
        r#"{"command":"gate.open","question":"q","scope":"production:goal:*"}"#,
        r#"{"command":"gate.open","question":"q","scope":"other:project:x"}"#,
        r#"{"command":"gate.open","question":"q","blocks_all":true}"#,
        r#"{"command":"gate.open","question":"q","blocks_agents":["a"]}"#,
        r#"{"command":"lease.acquire","resource":"gpu0","ttl_ms":60000}"#,
        r#"{"command":"lease.acquire","resource":"gpu0"}"#,
        r#"{"command":"lease.renew","on":"resource/gpu0"}"#,
        r#"{"command":"lease.release","resource":"gpu0"}"#,
        r#"{"command":"quota.spend-slot"}"#,
        r#"{"command":"quota.set","allowance":{"kind":"slots","slots":2},"why":"w"}"#,
        r#"{"command":"quota.set","allowance":{"kind":"slots","slots":1},"window_ms":3600000,"why":"w"}"#,
        r#"{"command":"quota.set","allowance":{"kind":"slots","slots":0},"why":"w"}"#,
        r#"{"command":"quota.set","allowance":{"kind":"unlimited"},"why":"w"}"#,
        r#"{"command":"refresh-state","next_action":"n"}"#,
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        4 => add,
        6 => Just(r#"{"command":"next"}"#.to_owned()),
        10 => on_todo,
        1 => two,
        5 => close,
        4 => numbered,
        4 => plain,
    ]
}

/// Lets it happen. A rule may say no; nothing else may fail.
pub fn take(world: &mut World, step: &Step) -> Result<(), TestCaseError> {
    match step {
        Step::Pass(ms) => world.pass(*ms),
        Step::Back(ms) => world.ticks.now.set(world.ticks.now.get().minus_ms(*ms)),
        Step::Ask(who, json) => {
            let command: Command = command(json);
            match world.submit_as(caller(who), command, None) {
                Ok(_) | Err(SubmitError::Refused(_)) => {}
                Err(error) => return Err(TestCaseError::fail(format!("{who} {json}: {error}"))),
            }
        }
    }
    Ok(())
}

/// Histories that are mostly about decisions and evidence: two todos that require decisions come first, owners answer
/// much, time passes a little.
pub fn judgments(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let small = || (1..5u32).prop_map(|number| number.to_string());
    let by = |who: &'static str, asks: Vec<&'static str>| {
        (prop::sample::select(asks), small())
            .prop_map(move |(json, number)| Step::Ask(who, json.replace('@', &number)))
    };
    let step = prop_oneof![
        2 => prop_oneof![Just(MINUTE), Just(30 * MINUTE), Just(HOUR)].prop_map(Step::Pass),
        3 => by("a iris", vec![
            r#"{"command":"todo.add","title":"t","requires_decision":["production:goal:deploy"]}"#,
            r#"{"command":"todo.add","title":"t","requires_decision":["other:action:x"]}"#,
            r#"{"command":"todo.supersede","todo":"T@","by":"T4","why":"w"}"#,
            r#"{"command":"todo.cancel","todo":"T@","why":"w"}"#,
        ]),
        6 => by("b iris", vec![
            r#"{"command":"gate.open","question":"q","scope":"production:goal:deploy","evidence":["E@"]}"#,
            r#"{"command":"gate.open","question":"q","scope":"production:project:*"}"#,
            r#"{"command":"gate.open","question":"q","scope":"production:goal:*","blocks":["T@"]}"#,
            r#"{"command":"gate.open","question":"q","scope":"other:lane:x","blocks":["T@"],"options":["yes"]}"#,
        ]),
        8 => by("@ana iris", vec![
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"choice","option":"yes"},"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"rests_on":["E@"],"why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"approve"},"valid_until":"2026-12-01T14:00:00.000000Z","why":"w"}"#,
            r#"{"command":"gate.decide","gate":"G@","outcome":{"is":"reject"},"why":"w"}"#,
            r#"{"command":"gate.withdraw","gate":"G@","why":"w"}"#,
            r#"{"command":"gate.revoke","gate":"G@","why":"w"}"#,
            r#"{"command":"todo.reopen","todo":"T@","why":"w"}"#,
        ]),
        6 => by("a iris", vec![
            r#"{"command":"evidence.add","about":"T@","kind":"note","summary":"s"}"#,
            r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"s"}"#,
            r#"{"command":"evidence.add","about":"goal/iris","kind":"note","summary":"s","valid_for_ms":3600000}"#,
            r#"{"command":"goal.accept","criterion":"A1","evidence":"E@"}"#,
            r#"{"command":"goal.accept","criterion":"A1","evidence":"E@"}"#,
            r#"{"command":"evidence.supersede","evidence":"E1","by":"E@","why":"w"}"#,
            r#"{"command":"evidence.invalidate","evidence":"E@","cause":"leak","why":"w"}"#,
            r#"{"command":"todo.update","todo":"T@","done_when":"d"}"#,
        ]),
        6 => by("a iris", vec![
            r#"{"command":"next"}"#,
            r#"{"command":"next"}"#,
            r#"{"command":"done","todo":"T@","close":{"proof":[{"kind":"note","summary":"s"}],"no_follow_up":"n"}}"#,
            r#"{"command":"done","todo":"T@","close":{"proof":[{"kind":"note","summary":"s"}],"meets":["A1"],"no_follow_up":"n"}}"#,
            r#"{"command":"done","todo":"T@","close":{"evidence":["E1"],"meets":["A1"],"no_follow_up":"n"}}"#,
        ]),
        1 => by("@ana iris", vec![
            r#"{"command":"goal.change","objective":"another","reason":"r"}"#,
            r#"{"command":"goal.change","objective":"o","reason":"r"}"#,
            r#"{"command":"goal.complete","why":"w"}"#,
            r#"{"command":"goal.start","name":"iris","objective":"o","criteria":["x"]}"#,
        ]),
    ];
    let first = [
        r#"{"command":"todo.cancel","todo":"T1","why":"w"}"#,
        r#"{"command":"todo.cancel","todo":"T2","why":"w"}"#,
        r#"{"command":"todo.add","title":"t","requires_decision":["production:goal:deploy"]}"#,
    ];
    prop::collection::vec(step, 1..most).prop_map(move |steps| {
        first.iter().map(|json| Step::Ask("@ana iris", (*json).to_owned())).chain(steps).collect()
    })
}
