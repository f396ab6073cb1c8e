//! Completing and paying: no side door, the turn that was opened is the one closed and charged, once.

mod kernel;

use kernel::*;
use loopx::event::{Event, TurnEnd};
use loopx::id::{Seq, TodoId, TurnId};

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
