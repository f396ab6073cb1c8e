//! The decision function over many open todos, as ratios to hashing what it reads.
//!
//! `cargo bench --bench decide -- --todos 10000 --rounds 21` prints one table: milliseconds of a decision, and the ratio to
//! BLAKE3 over the state's own bytes, both medians of interleaved rounds in one process.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use loopx::decide::{self, Caller, Context, History};
use loopx::event::{Event, TodoAdded, TodoSpec};
use loopx::id::{Actor, OwnerId, Seq, TodoId};
use loopx::state::{At, State};
use loopx::time::Timestamp;

/// What is in the way of the todos of a case.
type Shape = fn(&mut TodoSpec, u32);

/// Name, and how each todo differs from a plain one.
const CASES: &[(&str, Shape)] = &[
    ("all runnable", |_, _| {}),
    ("each needs the one before", |spec, number| {
        spec.needs = if number > 1 { vec![TodoId(number - 1)] } else { Vec::new() };
    }),
    ("all lack a capability", |spec, _| spec.requires = vec!["gpu".parse().expect("a capability")]),
    ("each writes a path of its own", |spec, number| {
        spec.write = vec![format!("src/{number}").parse().expect("a path")];
    }),
];

fn argument(name: &str, default: u32) -> u32 {
    let mut arguments = std::env::args();
    let found = arguments.find(|argument| argument == name).and_then(|_| arguments.next());
    found.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} takes a number")))
}

/// A goal with so many open todos, folded as any log is.
fn state(todos: u32, shape: Shape) -> State {
    let mut state = State::default();
    let actor = Actor::Owner(OwnerId::local());
    let mut at = At { seq: Seq(0), ts: Timestamp::from_micros(1_796_128_496_000_000), actor };
    let mut record = |events: Vec<Event>| {
        at.seq = at.seq.next();
        state.apply(&at, &events).expect("it follows");
    };
    let event = |json: String| loopx::event::codec::decode(json.as_bytes()).expect("events");
    record(event(
        r#"{"k":"ledger.created","kv":1,"b":{"ledger":"01J5ZK0000000000000000000A","nonce":"01J5ZK0000000000000000000B","program":"bench"}}"#.to_owned(),
    ));
    record(event(r#"{"k":"goal.started","kv":1,"b":{"goal":"g","objective":"measure"}}"#.to_owned()));
    for number in 1..=todos {
        let mut spec = TodoSpec::titled(format!("todo {number}").parse().expect("a title"));
        shape(&mut spec, number);
        record(vec![TodoAdded { goal: "g".parse().expect("a goal"), id: TodoId(number), spec }.into()]);
    }
    state
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

fn main() {
    let (todos, rounds) = (argument("--todos", 10_000), argument("--rounds", 21));
    println!("decisions over {todos} open todos, {rounds} rounds");
    println!("{:<32} {:>10} {:>16}", "case", "ms", "decision / BLAKE3");
    let mut spent: BTreeMap<usize, (Vec<Duration>, Vec<Duration>)> = BTreeMap::new();
    let cases: Vec<(State, Vec<u8>)> = CASES
        .iter()
        .map(|(_, shape)| {
            let state = state(todos, *shape);
            let bytes = serde_json::to_vec(&state).expect("a state");
            (state, bytes)
        })
        .collect();
    for _ in 0..rounds {
        for (case, (state, bytes)) in cases.iter().enumerate() {
            let (history, caller) = (History::default(), Caller::default());
            let context = Context { state, history: &history, caller: &caller, now: state.now };
            let times = spent.entry(case).or_default();
            times.0.push(timed(|| drop(black_box(decide::should_run(&context)))));
            times.1.push(timed(|| {
                black_box(blake3::hash(bytes));
            }));
        }
    }
    for ((name, _), (decision, hash)) in CASES.iter().zip(spent.into_values()) {
        let (decision, hash) = (median(decision), median(hash));
        println!("{name:<32} {:>10.2} {:>16.2}", decision * 1_000.0, decision / hash);
    }
}
