//! Finished work is found by name. What is found is what a fold of the whole log says, with an index of any length.

mod kernel;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use kernel::chaos::{Step, steps, take, world};
use kernel::*;
use loopx::decide::{History, PastSpend, SpendName};
use loopx::event::Event;
use loopx::id::{LedgerId, RequestId, Seq, TodoId, TurnId};
use loopx::ledger::Ledger;
use loopx::log::{Cursor, FileLog, Log};
use loopx::project::history::{Line, thread};
use loopx::state::State;
use proptest::prelude::*;
use ulid::Ulid;

/// Copies records up to `to` into a ledger in files, and indexes those up to each of `cuts` on the way.
fn in_a_directory(world: &World, root: &Path, cuts: &[u64]) -> Ledger {
    let mut lines = Vec::new();
    world
        .log
        .read(&Cursor::START, &mut |record, _| {
            lines.push([record.line(), b"\n"].concat());
            ControlFlow::Continue(())
        })
        .unwrap();
    let log = FileLog::create(root, LedgerId(Ulid(7)), &lines[0], false).unwrap();
    for (number, line) in (2..).zip(&lines[1..]) {
        let mut transaction = log.transaction(&WAIT).unwrap();
        let head = transaction.head();
        transaction.append(&head, line).unwrap();
        drop(transaction);
        if cuts.contains(&number) {
            Ledger::open(root).unwrap().build_index();
        }
    }
    Ledger::open(root).unwrap()
}

/// How every todo was closed, by folding everything.
fn folded(ledger: &Ledger) -> History {
    let mut history = History::default();
    let note = &mut |before: &State, entry: &loopx::ledger::Entry<'_>| {
        history.note(before, &entry.at, &entry.events, |_| true);
    };
    ledger.replay(ledger.head().seq, note).unwrap();
    history
}

/// Every spend by both of its names, and two names that mean none, by folding everything.
fn spends(ledger: &Ledger) -> Vec<(SpendName, Option<PastSpend>)> {
    let head = ledger.head().seq;
    let turns = (1..=ledger.state().minted.turns + 1).map(|turn| SpendName::Turn(TurnId(turn)));
    let records = (0..=head.0 + 1).map(|seq| SpendName::Record(Seq(seq)));
    let mut past: Vec<(Seq, Vec<Event>)> = Vec::new();
    ledger.replay(head, &mut |_, entry| past.push((entry.at.seq, entry.events.clone()))).unwrap();
    let told = |meant: SpendName| {
        let mut history = History::default();
        past.iter().for_each(|(seq, events)| history.note_spend(*seq, events, meant));
        (meant, history.spend)
    };
    turns.chain(records).map(told).collect()
}

/// What an event touches by way of something else, told by the state before its record.
fn by_way_of(before: &State, event: &Event, name: &str) -> bool {
    let gate = match event {
        Event::GateDecided(e) => before.gates.get(&e.id),
        Event::GateWithdrawn(e) => before.gates.get(&e.id),
        _ => None,
    };
    let waiting = gate.is_some_and(|gate| gate.blocks.todos.iter().any(|todo| todo.to_string() == name));
    let worked_on = match event {
        Event::TurnClosed(e) => before.turns.get(&e.id).is_some_and(|turn| turn.todo.to_string() == name),
        _ => false,
    };
    waiting || worked_on
}

/// The records and events that touch a thing, by folding everything.
fn touching(ledger: &Ledger, name: &str) -> BTreeSet<(Seq, String)> {
    let mut found = BTreeSet::new();
    let visit = &mut |before: &State, entry: &loopx::ledger::Entry<'_>| {
        for event in &entry.events {
            if event.names().iter().any(|n| n == name) || by_way_of(before, event, name) {
                found.insert((entry.at.seq, format!("{event:?}")));
            }
        }
    };
    ledger.replay(ledger.head().seq, visit).unwrap();
    found
}

fn events(lines: &[Line]) -> BTreeSet<(Seq, String)> {
    lines.iter().flat_map(|line| line.events.iter().map(|event| (line.seq, format!("{event:?}")))).collect()
}

fn check(world: &World, cuts: &[u64]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = in_a_directory(world, &dir.path().join(".loopx"), cuts);
    prop_assert_eq!(ledger.state(), world.state());
    let todos: Vec<TodoId> = (1..=world.state().minted.todos + 2).map(TodoId).collect();
    let want = folded(&ledger);
    prop_assert_eq!(&ledger.history_of(&todos).unwrap(), &want);

    for (meant, want) in spends(&ledger) {
        prop_assert_eq!(ledger.spend_of(meant).unwrap(), want, "{:?}", meant);
    }

    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut requests: Vec<(RequestId, Seq)> = Vec::new();
    let visit = &mut |_: &State, entry: &loopx::ledger::Entry<'_>| {
        names.extend(entry.events.iter().flat_map(Event::names));
        requests.push((entry.request.clone(), entry.at.seq));
    };
    ledger.replay(ledger.head().seq, visit).unwrap();
    for name in names {
        let (found, want) = (events(&thread(&mut ledger, &name).unwrap()), touching(&ledger, &name));
        prop_assert!(want.is_subset(&found), "{}: {:?}", name, want.difference(&found));
        // What a thing rests on is part of its history as well.
        let mut more = found.difference(&want);
        prop_assert!(more.all(|(_, event)| event.starts_with("Evidence")), "{}: {:?}", name, more);
    }
    for (request, seq) in requests {
        let found = ledger.find_request(&request).unwrap();
        prop_assert_eq!(found.map(|(seq, _)| seq), Some(seq));
        let past = ledger.record(seq).unwrap().unwrap();
        prop_assert_eq!((past.at.seq, past.request), (seq, request));
    }
    prop_assert_eq!(ledger.find_request(&"never".parse().unwrap()).unwrap(), None);
    prop_assert_eq!(ledger.record(ledger.head().seq.next()).unwrap(), None);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn after_any_history_what_is_found_by_name_is_what_a_fold_says(
        steps in steps(150),
        cuts in prop::collection::vec(2u64..160, 0..5),
    ) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
        }
        check(&world, &cuts)?;
    }
}

/// Histories in which needs are superseded, and todos reopened, much more often than by chance.
fn needy() -> impl Strategy<Value = Vec<Step>> {
    let todo = || (1..7u32).prop_map(|number| format!("T{number}"));
    let by = |who: &'static str, json: String| Step::Ask(who, json);
    let step = prop_oneof![
        3 => todo().prop_map(move |t| by("@ana iris", format!(r#"{{"command":"todo.add","title":"t","needs":["{t}"]}}"#))),
        4 => (todo(), todo()).prop_map(move |(t, b)| {
            by("@ana iris", format!(r#"{{"command":"todo.supersede","todo":"{t}","by":"{b}","why":"w"}}"#))
        }),
        3 => todo().prop_map(move |t| by("@ana iris", format!(r#"{{"command":"todo.reopen","todo":"{t}","why":"w"}}"#))),
        2 => todo().prop_map(move |t| by("@ana iris", format!(r#"{{"command":"todo.cancel","todo":"{t}","why":"w"}}"#))),
        2 => todo().prop_map(move |t| {
            by("@ana iris", format!(r#"{{"command":"gate.open","question":"q","blocks":["{t}"]}}"#))
        }),
        2 => (1..7u32).prop_map(move |g| {
            by("@ana iris", format!(r#"{{"command":"gate.decide","gate":"G{g}","outcome":{{"is":"reject"}},"why":"w"}}"#))
        }),
        2 => todo().prop_map(move |t| by("a iris", format!(r#"{{"command":"todo.claim","todo":"{t}"}}"#))),
        2 => todo().prop_map(move |t| by("a iris", done(&t))),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn needs_that_were_rewritten_are_told_as_they_were(steps in needy(), cuts in prop::collection::vec(2u64..60, 0..3)) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
        }
        check(&world, &cuts)?;
    }
}
