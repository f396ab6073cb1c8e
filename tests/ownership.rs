//! Holding, against a plain model: one holder at a time, epochs that only grow, and nothing for whoever was taken over.

mod kernel;

use std::collections::{BTreeMap, BTreeSet};

use kernel::*;
use loopx::event::Event;
use loopx::id::TodoId;
use loopx::ledger::Answer;
use proptest::prelude::*;

const AGENTS: [&str; 3] = ["a", "b", "c"];

/// What the model knows of one todo: who holds it, until when in milliseconds, whether in a turn.
#[derive(Debug, Clone, Default, PartialEq)]
struct Held {
    by: Option<(String, Option<u64>)>,
    epoch: u64,
    version: u64,
    /// The key of the lease, until a lease that has ended is prolonged or given up.
    key: Option<u32>,
    /// Every key that ever opened a lease on it.
    used: BTreeSet<u32>,
    /// Peers that its holder lets give it back.
    lets: BTreeSet<&'static str>,
    turn: bool,
    closed: bool,
}

/// The rules of holding, written down once more.
#[derive(Debug, Default)]
struct Model {
    /// Ledger time in milliseconds: the latest clock at which a record was made, or the clock if that is later.
    last: u64,
    clock: u64,
    todos: BTreeMap<u32, Held>,
    /// How long the lease that a key opened was to last.
    ttls: BTreeMap<(u32, u32), u64>,
    /// Whether the last act was answered with what it had come to before.
    repeated: bool,
    /// The epoch of the todo before the act.
    epoch_before: u64,
}

#[derive(Debug, Clone)]
enum Act {
    Pass(u64),
    Back(u64),
    Claim(&'static str, u32, u64),
    Next(&'static str),
    Release(&'static str, u32),
    HandOver(&'static str, u32, &'static str),
    Renew(&'static str, u32, u64),
    /// Takes it under a key: who, what, for how long, which key, and how much is added to the version that is expected.
    Acquire(&'static str, u32, u64, u32, Option<u64>),
    /// Prolongs, showing a key.
    RenewKeyed(&'static str, u32, u64, u32, Option<u64>),
    /// Passes it on: whose key, to whom, under which new one.
    Transfer(&'static str, u32, u32, &'static str, u32),
    /// Gives it back, showing a key.
    ReleaseKeyed(&'static str, u32, u32),
    /// Lets a peer give it back.
    Delegate(&'static str, u32, &'static str),
    Yield(&'static str, u32),
    Done(&'static str, u32),
    /// An owner claims.
    Person(u32),
    /// An owner takes it out of whatever hands it is in.
    Free(u32),
}

impl Model {
    fn now(&self) -> u64 {
        self.clock.max(self.last)
    }

    fn live(&self, held: &Held) -> bool {
        held.by.as_ref().is_some_and(|(_, until)| until.is_none_or(|until| until > self.now()))
    }

    fn holds(held: &Held, who: &str) -> bool {
        held.by.as_ref().is_some_and(|(holder, _)| holder == who)
    }

    fn in_turn(&self, who: &str) -> bool {
        self.todos.values().any(|held| held.turn && Self::holds(held, who))
    }

    fn free_for(&self, held: &Held, who: &str) -> bool {
        !held.closed && (!self.live(held) || Self::holds(held, who))
    }

    /// What `next` would take: mine before others, then in order.
    fn choice(&self, who: &str) -> Option<u32> {
        let mut free: Vec<(bool, u32)> = self
            .todos
            .iter()
            .filter(|(_, held)| self.free_for(held, who))
            .map(|(id, held)| (!Self::holds(held, who), *id))
            .collect();
        free.sort_unstable();
        free.first().map(|(_, id)| *id)
    }

    fn take(&mut self, who: &str, id: u32, ttl: u64) {
        let (until, live) = (self.now() + ttl, self.live(&self.todos[&id]));
        let held = self.todos.get_mut(&id).unwrap();
        if !Self::holds(held, who) {
            held.epoch += 1;
            held.lets.clear();
        }
        if !Self::holds(held, who) || !live {
            held.key = None;
        }
        held.by = Some((who.to_owned(), Some(until)));
        held.version += 1;
        held.turn = true;
    }

    /// Whether what is shown is of the lease that lasts.
    fn shows(&self, held: &Held, who: &str, key: u32, version: Option<u64>) -> bool {
        !held.closed
            && Self::holds(held, who)
            && self.live(held)
            && held.key == Some(key)
            && version.is_none_or(|more| more == 0)
    }

    /// Whether the holder has to show a key.
    fn fenced(&self, held: &Held) -> bool {
        self.live(held) && held.key.is_some()
    }

    /// As [`Self::take`], under a key. What one holds already and has no key gets this one; what has expired begins anew.
    fn acquire(&mut self, who: &str, id: u32, ttl: u64, key: u32, version: Option<u64>) -> bool {
        let held = self.todos[&id].clone();
        let live = self.live(&held);
        let mine = Self::holds(&held, who) && live;
        if held.closed || !self.free_for(&held, who) {
            return false;
        }
        if held.used.contains(&key) {
            // The same request again: the receipt it got, or a turn if there is none yet.
            let same = mine && held.key == Some(key) && self.ttls.get(&(id, key)) == Some(&ttl);
            if same && !held.turn && !self.in_turn(who) {
                self.take(who, id, ttl);
                return true;
            }
            self.repeated = same && held.turn;
            return self.repeated;
        }
        let elsewhere = self.in_turn(who) && !(held.turn && Self::holds(&held, who));
        if mine && held.key.is_some() || version.is_some_and(|more| more != 0) || elsewhere {
            return false;
        }
        self.take(who, id, ttl);
        self.ttls.insert((id, key), ttl);
        let held = self.todos.get_mut(&id).unwrap();
        if !live && held.epoch == self.epoch_before {
            held.epoch += 1;
            held.lets.clear();
        }
        held.key = Some(key);
        held.used.insert(key);
        true
    }

    /// Whether it lands, and what it changes then.
    fn act(&mut self, act: &Act) -> bool {
        let lands = match act {
            Act::Pass(ms) => {
                self.clock += ms;
                return true;
            }
            Act::Back(ms) => {
                self.clock = self.clock.saturating_sub(*ms);
                return true;
            }
            Act::Claim(who, id, ttl) => {
                let lands = self.free_for(&self.todos[id], who) && !self.in_turn(who);
                if lands {
                    self.take(who, *id, *ttl);
                }
                lands
            }
            Act::Next(who) => return self.next(who),
            Act::Release(who, id) => {
                let held = &self.todos[id];
                let lets = held.by.is_some() && held.lets.contains(who);
                let lands = !held.closed && (Self::holds(held, who) && !self.fenced(held) || lets);
                self.drop_if(lands, *id)
            }
            Act::ReleaseKeyed(who, id, key) => {
                let held = &self.todos[id];
                let lets = !held.closed && held.by.is_some() && held.lets.contains(who);
                let lands = lets && !Self::holds(held, who) || self.shows(held, who, *key, None);
                self.drop_if(lands, *id)
            }
            Act::Acquire(who, id, ttl, key, version) => {
                self.epoch_before = self.todos[id].epoch;
                let lands = self.acquire(who, *id, *ttl, *key, *version);
                if self.repeated {
                    return true;
                }
                lands
            }
            Act::RenewKeyed(who, id, ttl, key, version) => {
                let lands = self.shows(&self.todos[id], who, *key, *version);
                let until = self.now() + ttl;
                let held = self.todos.get_mut(id).unwrap();
                if lands {
                    held.by.as_mut().unwrap().1 = Some(until);
                    held.version += 1;
                }
                lands
            }
            Act::Transfer(who, id, key, to, new) => {
                let held = &self.todos[id];
                let lands = self.shows(held, who, *key, None) && who != to && !held.used.contains(new);
                let until = self.now() + 45 * MINUTE;
                if lands {
                    self.ttls.insert((*id, *new), 45 * MINUTE);
                    let held = self.todos.get_mut(id).unwrap();
                    held.by = Some(((*to).to_owned(), Some(until)));
                    (held.epoch, held.version) = (held.epoch + 1, held.version + 1);
                    (held.key, held.turn) = (Some(*new), false);
                    held.used.insert(*new);
                    held.lets.clear();
                }
                lands
            }
            Act::Delegate(who, id, to) => {
                let held = &self.todos[id];
                let lands = !held.closed
                    && Self::holds(held, who)
                    && !self.fenced(held)
                    && who != to
                    && !held.lets.contains(to);
                if lands {
                    self.todos.get_mut(id).unwrap().lets.insert(to);
                }
                lands
            }
            Act::HandOver(who, id, to) => {
                let until = self.now() + 45 * MINUTE;
                let fenced = self.fenced(&self.todos[id]);
                let held = self.todos.get_mut(id).unwrap();
                let lands = !held.closed && Self::holds(held, who) && who != to && !fenced;
                if lands {
                    held.by = Some(((*to).to_owned(), Some(until)));
                    held.epoch += 1;
                    held.version += 1;
                    (held.turn, held.key) = (false, None);
                    held.lets.clear();
                }
                lands
            }
            Act::Renew(who, id, ttl) => {
                let until = self.now() + ttl;
                let (fenced, live) = (self.fenced(&self.todos[id]), self.live(&self.todos[id]));
                let held = self.todos.get_mut(id).unwrap();
                let lands = !held.closed && Self::holds(held, who) && !fenced;
                if lands {
                    held.by.as_mut().unwrap().1 = Some(until);
                    held.version += 1;
                    held.key = held.key.filter(|_| live);
                }
                lands
            }
            Act::Yield(who, id) => {
                let held = &self.todos[id];
                let lands = !held.closed && Self::holds(held, who) && held.turn;
                self.drop_if(lands, *id)
            }
            Act::Done(who, id) => {
                let held = &self.todos[id];
                let lands = !held.closed && Self::holds(held, who) && held.turn && !self.fenced(held);
                if self.drop_if(lands, *id) {
                    self.todos.get_mut(id).unwrap().closed = true;
                }
                lands
            }
            Act::Person(id) => {
                let held = self.todos[id].clone();
                let lands = !held.closed && !self.live(&held);
                if lands {
                    let held = self.todos.get_mut(id).unwrap();
                    held.by = Some(("@ana".to_owned(), None));
                    held.epoch += 1;
                    (held.turn, held.key) = (false, None);
                    held.lets.clear();
                }
                lands
            }
            Act::Free(id) => {
                let held = &self.todos[id];
                let lands = !held.closed && held.by.is_some();
                self.drop_if(lands, *id)
            }
        };
        if lands {
            self.last = self.now();
        }
        lands
    }

    fn drop_if(&mut self, lands: bool, id: u32) -> bool {
        if lands {
            let held = self.todos.get_mut(&id).unwrap();
            held.by = None;
            (held.turn, held.key) = (false, None);
            held.lets.clear();
        }
        lands
    }

    /// True if a record is made: a todo is taken, or the lease of the open turn is prolonged past its half.
    fn next(&mut self, who: &str) -> bool {
        const LEASE: u64 = 45 * MINUTE;
        let now = self.now();
        if self.in_turn(who) {
            let held = self.todos.values_mut().find(|held| held.turn && Self::holds(held, who)).unwrap();
            let until = held.by.as_mut().unwrap().1.as_mut().unwrap();
            let short = *until < now + LEASE / 2;
            if short {
                held.key = held.key.filter(|_| *until > now);
                *until = now + LEASE;
                held.version += 1;
                self.last = now;
            }
            return short;
        }
        let Some(id) = self.choice(who) else { return false };
        self.take(who, id, LEASE);
        self.last = now;
        true
    }
}

fn act() -> impl Strategy<Value = Act> {
    let who = || prop::sample::select(AGENTS.to_vec());
    let todo = || 1..4u32;
    let ttl = || prop::sample::select(vec![1_000, MINUTE, 45 * MINUTE, 24 * HOUR]);
    let key = || 1..5u32;
    let version = || prop::sample::select(vec![None, None, Some(0), Some(1)]);
    prop_oneof![
        4 => prop::sample::select(vec![1, 999, 1_000, MINUTE, 23 * MINUTE, HOUR]).prop_map(Act::Pass),
        1 => prop::sample::select(vec![1, MINUTE, 30 * HOUR]).prop_map(Act::Back),
        4 => (who(), todo(), ttl()).prop_map(|(who, todo, ttl)| Act::Claim(who, todo, ttl)),
        4 => who().prop_map(Act::Next),
        2 => (who(), todo()).prop_map(|(who, todo)| Act::Release(who, todo)),
        4 => (who(), todo(), who()).prop_map(|(who, todo, to)| Act::HandOver(who, todo, to)),
        2 => (who(), todo(), ttl()).prop_map(|(who, todo, ttl)| Act::Renew(who, todo, ttl)),
        2 => (who(), todo()).prop_map(|(who, todo)| Act::Yield(who, todo)),
        1 => (who(), todo()).prop_map(|(who, todo)| Act::Done(who, todo)),
        6 => (who(), todo(), ttl(), key(), version()).prop_map(|(w, t, l, k, v)| Act::Acquire(w, t, l, k, v)),
        4 => (who(), todo(), ttl(), key(), version()).prop_map(|(w, t, l, k, v)| Act::RenewKeyed(w, t, l, k, v)),
        4 => (who(), todo(), key(), who(), key()).prop_map(|(w, t, k, to, n)| Act::Transfer(w, t, k, to, n)),
        2 => (who(), todo(), key()).prop_map(|(who, todo, key)| Act::ReleaseKeyed(who, todo, key)),
        2 => (who(), todo(), who()).prop_map(|(who, todo, to)| Act::Delegate(who, todo, to)),
        1 => todo().prop_map(Act::Person),
        1 => todo().prop_map(Act::Free),
    ]
}

fn ask(act: &Act, world: &World) -> (&'static str, String) {
    // What is expected is given as the distance from what is so.
    let expected = |id: &u32, more: &Option<u64>| {
        let version = world.state().todos.get(&TodoId(*id)).map_or(0, |todo| todo.version);
        more.map_or_else(|| "null".to_owned(), |more| (version + more).to_string())
    };
    match act {
        Act::Acquire(who, id, ttl, key, more) => {
            let version = expected(id, more);
            let json = format!(
                r#"{{"command":"todo.claim","todo":"T{id}","ttl_ms":{ttl},"key":"k{key}","version":{version}}}"#
            );
            (*who, json)
        }
        Act::RenewKeyed(who, id, ttl, key, more) => {
            let version = expected(id, more);
            let json = format!(
                r#"{{"command":"lease.renew","on":"T{id}","ttl_ms":{ttl},"key":"k{key}","version":{version}}}"#
            );
            (*who, json)
        }
        Act::Transfer(who, id, key, to, new) => {
            let json = format!(
                r#"{{"command":"todo.hand_over","todo":"T{id}","to":"{to}","key":"k{key}","new_key":"k{new}","why":"w"}}"#
            );
            (*who, json)
        }
        Act::ReleaseKeyed(who, id, key) => {
            (*who, format!(r#"{{"command":"todo.release","todo":"T{id}","key":"k{key}","why":"w"}}"#))
        }
        Act::Delegate(who, id, to) => {
            let json = format!(
                r#"{{"command":"todo.delegate","todo":"T{id}","to":"{to}","actions":["release"],"why":"w"}}"#
            );
            (*who, json)
        }
        Act::Claim(who, id, ttl) => {
            (*who, format!(r#"{{"command":"todo.claim","todo":"T{id}","ttl_ms":{ttl}}}"#))
        }
        Act::Next(who) => (*who, r#"{"command":"next"}"#.to_owned()),
        Act::Release(who, id) => (*who, format!(r#"{{"command":"todo.release","todo":"T{id}","why":"w"}}"#)),
        Act::HandOver(who, id, to) => {
            (*who, format!(r#"{{"command":"todo.hand_over","todo":"T{id}","to":"{to}","why":"w"}}"#))
        }
        Act::Renew(who, id, ttl) => {
            (*who, format!(r#"{{"command":"lease.renew","on":"T{id}","ttl_ms":{ttl}}}"#))
        }
        Act::Yield(who, id) => (*who, format!(r#"{{"command":"yield","todo":"T{id}","why":"w"}}"#)),
        Act::Done(who, id) => (*who, done(&format!("T{id}"))),
        Act::Person(id) => ("@ana", format!(r#"{{"command":"todo.claim","todo":"T{id}"}}"#)),
        Act::Free(id) => ("@ana", format!(r#"{{"command":"todo.release","todo":"T{id}","why":"w"}}"#)),
        Act::Pass(_) | Act::Back(_) => unreachable!("nobody is asked"),
    }
}

/// The ledger's own view of one todo, in the model's terms.
fn seen(world: &World, id: u32, model: &Held) -> Held {
    let state = world.state();
    let Some(todo) = state.todos.get(&TodoId(id)) else { return Held { closed: true, ..Held::default() } };
    let by = todo.claim.as_ref().map(|claim| {
        let until = claim
            .lease
            .as_ref()
            .map(|lease| u64::try_from((lease.until.as_micros() - START) / 1_000).unwrap());
        let owner = claim.holder.actor.agent().is_none();
        (format!("{}{}", if owner { "@" } else { "" }, claim.holder.actor.name()), until)
    });
    let claim = todo.claim.as_ref();
    let lease = claim.and_then(|claim| claim.lease.as_ref());
    let lets = claim.map(|claim| claim.delegated.keys().map(|agent| agent.as_str().to_owned()).collect());
    let lets: BTreeSet<String> = lets.unwrap_or_default();
    Held {
        by,
        epoch: todo.epoch,
        version: todo.version,
        key: lease.and_then(|lease| lease.key.as_ref()?.as_str().strip_prefix('k')?.parse().ok()),
        used: model.used.clone(),
        lets: AGENTS.into_iter().filter(|agent| lets.contains(*agent)).collect(),
        turn: state.turn_on(TodoId(id)).is_some(),
        closed: false,
    }
}

/// Reads the log again, record by record, and checks what must hold at each.
fn at_every_record(world: &World) -> Result<(), TestCaseError> {
    let mut epochs: BTreeMap<TodoId, u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut opened: BTreeSet<(TodoId, String)> = BTreeSet::new();
    let mut fences: BTreeMap<TodoId, (u64, u64)> = BTreeMap::new();
    let mut check = |state: &loopx::state::State, events: &[Event]| {
        for (id, todo) in &state.todos {
            let last = epochs.entry(*id).or_default();
            if todo.epoch < *last {
                wrong.push(format!("{id}: epoch {} after {last}", todo.epoch));
            }
            *last = todo.epoch;
            let fence = fences.insert(*id, (todo.epoch, todo.version)).unwrap_or_default();
            if (todo.epoch, todo.version) < fence || todo.version < fence.1 {
                wrong.push(format!("{id}: fence {:?} after {fence:?}", (todo.epoch, todo.version)));
            }
            if todo.claim.is_some() && todo.status != loopx::state::TodoStatus::Open {
                wrong.push(format!("{id} is held and not open"));
            }
        }
        for event in events {
            if let Some((todo, key)) = event.opened_lease()
                && !opened.insert((todo, key.to_string()))
            {
                wrong.push(format!("key {key} opened a second lease on {todo} at {}", state.seq));
            }
            if let Event::ClaimHandedOver(passed) = event
                && state.todos.get(&passed.todo).is_none_or(|todo| todo.claim.is_none())
            {
                wrong.push(format!("{} was handed over to nobody at {}", passed.todo, state.seq));
            }
        }
    };
    let mut last: Vec<Event> = Vec::new();
    let end = world.ledger.replay(world.head(), &mut |before, entry| {
        check(before, &last);
        last = entry.events.clone();
    });
    check(&end.unwrap(), &last);
    prop_assert!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

proptest! {
    #[test]
    fn holding_follows_the_model(acts in prop::collection::vec(act(), 1..60)) {
        let mut world = World::with_todos(&["one", "two", "three"]);
        let mut model = Model { todos: (1..4).map(|id| (id, Held::default())).collect(), ..Model::default() };
        for act in &acts {
            if !matches!(act, Act::Pass(_) | Act::Back(_)) {
                // Holding is what is modelled here, not what comes of it: the goal moves, and no turn is one too many.
                let reason = format!("step {}", world.head());
                world.by("@ana", format!(r#"{{"command":"goal.change","objective":"{reason}","reason":"r"}}"#));
                model.last = model.now();
            }
            model.repeated = false;
            let expected = model.act(act);
            match act {
                Act::Pass(ms) => world.pass(*ms),
                Act::Back(ms) => {
                    let back = world.ticks.now.get().minus_ms(*ms);
                    let start = loopx::time::Timestamp::from_micros(START);
                    world.ticks.now.set(back.max(start));
                }
                other => {
                    let (who, json) = ask(other, &world);
                    let answer = world.submit(who, command(&json), None);
                    let landed = matches!(&answer, Ok(Answer::Committed(_)));
                    prop_assert_eq!(landed, expected, "{} {}: {:?}", who, json, answer.err());
                    if let Ok(Answer::Committed(committed)) = answer {
                        prop_assert_eq!(committed.receipt.duplicate, model.repeated, "{}", json);
                    }
                }
            }
            for (id, held) in &model.todos {
                let seen = seen(&world, *id, held);
                if held.closed {
                    prop_assert!(seen.closed);
                } else {
                    prop_assert_eq!(&seen, held, "T{} after {:?}", id, act);
                }
            }
        }
        at_every_record(&world)?;
    }
}

/// Every command that touches a todo, as its old holder might still send it.
fn touching(todo: &str, turn: &str) -> Vec<String> {
    let mut all = vec![done(todo), complete(todo)];
    for json in [
        r#"{"command":"todo.claim","todo":"@"}"#,
        r#"{"command":"todo.release","todo":"@","why":"w"}"#,
        r#"{"command":"todo.release","todo":"@","epoch":1,"why":"w"}"#,
        r#"{"command":"todo.hand_over","todo":"@","to":"c","why":"w"}"#,
        r#"{"command":"todo.hand_over","todo":"@","to":"a","why":"w"}"#,
        r#"{"command":"todo.update","todo":"@","title":"mine"}"#,
        r#"{"command":"todo.update","todo":"@","title":"mine","epoch":1}"#,
        r#"{"command":"todo.update","todo":"@","title":"mine","epoch":2}"#,
        r#"{"command":"todo.block","todo":"@","why":"w"}"#,
        r#"{"command":"todo.defer","todo":"@","why":"w"}"#,
        r#"{"command":"todo.reopen","todo":"@","why":"w"}"#,
        r#"{"command":"todo.supersede","todo":"@","by":"T2","why":"w"}"#,
        r#"{"command":"todo.cancel","todo":"@","why":"w"}"#,
        r#"{"command":"lease.renew","on":"@"}"#,
        r#"{"command":"lease.renew","on":"@","epoch":1}"#,
        r#"{"command":"lease.renew","on":"@","epoch":2}"#,
        r#"{"command":"yield","todo":"@","why":"w"}"#,
        r#"{"command":"block","todo":"@","why":"w"}"#,
        r#"{"command":"quota.spend-slot","todo":"@"}"#,
        r#"{"command":"quota.spend-slot"}"#,
    ] {
        all.push(json.replace('@', todo));
    }
    all.push(format!(r#"{{"command":"quota.spend-slot","turn":"{turn}"}}"#));
    all.push(format!(
        r#"{{"command":"refresh-state","next_action":"n","turn":"{turn}","outcome":"outcome_progress"}}"#
    ));
    all
}

#[test]
fn whoever_was_taken_over_can_touch_the_todo_no_more() {
    for way in ["next", "claim", "session", "person", "hand_over", "owner frees it", "retired"] {
        let mut world = World::with_todos(&["work"]);
        world.next("a");
        world.add("other", r#""bound":"c""#);
        world.pass(HOUR);
        match way {
            "next" => {
                world.next("b");
            }
            "claim" => {
                world.claim("b", "T1");
            }
            "session" => {
                world.next("a+later");
            }
            "person" => {
                world.claim("@ana", "T1");
            }
            "hand_over" => {
                world.by("a", r#"{"command":"todo.hand_over","todo":"T1","to":"b","why":"yours"}"#);
            }
            "owner frees it" => {
                world.by("@ana", r#"{"command":"todo.release","todo":"T1","why":"mine to give"}"#);
                world.next("b");
            }
            _ => {
                world.by("@ana", r#"{"command":"agent.retire","agent":"a","why":"gone"}"#);
                world.by("@ana", r#"{"command":"agent.register","agent":"a"}"#);
                world.next("b");
            }
        }
        let held = world.state().todos[&TodoId(1)].clone();
        for json in touching("T1", "U1") {
            let refusal = world.refused("a", &json);
            assert_eq!(world.state().todos[&TodoId(1)], held, "{way}: {json}: {refusal}");
        }
    }
}

#[test]
fn whoever_completed_a_todo_can_touch_it_no_more_once_it_is_reopened() {
    let mut world = World::with_todos(&["work", "other"]);
    world.next("a");
    world.by("a", complete("T1"));
    world.by("c", r#"{"command":"todo.reopen","todo":"T1","why":"not done"}"#);
    world.claim("b", "T1");
    let (held, turn) = (world.state().todos[&TodoId(1)].clone(), world.state().turn_on(TodoId(1)).unwrap().0);
    for json in touching("T1", &turn.to_string()) {
        // Its own turn, on what the todo was before, may still be paid for and closed.
        if !json.contains("quota.spend-slot") && !json.contains(r#""yield""#) {
            world.refused("a", &json);
        }
    }
    world.by("a", r#"{"command":"quota.spend-slot","todo":"T1"}"#);
    assert_eq!(world.state().todos[&TodoId(1)], held);
    assert!(world.state().turns.contains_key(&turn));
    world.done("b", "T1");
}

#[test]
fn a_resource_follows_the_same_rules() {
    let mut world = World::new();
    world.by("a", r#"{"command":"lease.acquire","resource":"gpu0","ttl_ms":60000}"#);
    assert_eq!(
        world.refused("b", r#"{"command":"lease.acquire","resource":"gpu0"}"#).code(),
        "held_by_other"
    );
    world.pass(MINUTE);
    world.by("a", r#"{"command":"lease.renew","on":"resource/gpu0","ttl_ms":60000}"#);
    world.pass(MINUTE);
    let taken = world.by("b", r#"{"command":"lease.acquire","resource":"gpu0"}"#);
    assert!(
        matches!(&taken.events[0], Event::LeaseTakenOver(over) if over.epoch == 2 && over.from.to_string() == "a")
    );
    for json in [
        r#"{"command":"lease.renew","on":"resource/gpu0"}"#,
        r#"{"command":"lease.renew","on":"resource/gpu0","epoch":1}"#,
        r#"{"command":"lease.renew","on":"resource/gpu0","epoch":2}"#,
        r#"{"command":"lease.release","resource":"gpu0"}"#,
        r#"{"command":"lease.release","resource":"gpu0","epoch":1}"#,
        r#"{"command":"lease.acquire","resource":"gpu0"}"#,
    ] {
        world.refused("a", json);
    }
    world.by("b", r#"{"command":"lease.release","resource":"gpu0","epoch":2}"#);
    assert_eq!(
        world.refused("b", r#"{"command":"lease.release","resource":"gpu0","epoch":2}"#).code(),
        "lease.none"
    );
    world.by("a", r#"{"command":"lease.acquire","resource":"gpu0"}"#);
    let epoch = world.state().resources.values().next().unwrap().epoch;
    assert_eq!(epoch, 3, "epochs grow through release");
}

#[test]
fn an_expired_lease_is_not_renewed_over_what_others_took_since() {
    let mut world = World::new();
    world.add("one", r#""write":["src/a"]"#);
    world.add("two", r#""write":["src"]"#);
    world.next("a");
    world.pass(HOUR);
    world.claim("b", "T2");
    let refusal = world.refused("a", r#"{"command":"lease.renew","on":"T1"}"#);
    assert_eq!(refusal.to_string().split(" until").next(), Some("T1 cannot be taken: writes where T2 does"));
    let refusal = world.refused("a", r#"{"command":"todo.hand_over","todo":"T1","to":"c","why":"w"}"#);
    assert_eq!(refusal.code(), "todo.not_runnable");
    assert!(world.decision("a").lost.is_some());
}

#[test]
fn whoever_leaves_lets_go_of_everything() {
    let mut world = World::with_todos(&["one", "two", "three"]);
    world.next("a");
    world.next("a+s");
    world.by("a+s", complete("T2"));
    world.next("b");
    world.by("b", r#"{"command":"todo.hand_over","todo":"T3","to":"a","why":"yours"}"#);
    world.by("a", r#"{"command":"lease.acquire","resource":"gpu0"}"#);
    world.by("@ana", r#"{"command":"agent.retire","agent":"a","why":"gone"}"#);
    let state = world.state();
    assert!(state.turns.is_empty());
    assert!(state.todos.values().all(|todo| todo.claim.is_none()));
    assert!(state.resources.values().all(|slot| slot.held.is_none()));
    assert_eq!(world.answer("b"), ("RUN T1".to_owned(), 9));
    // A person's claim would never expire.
    world.by("@ana", r#"{"command":"owner.register","owner":"bob"}"#);
    world.claim("@bob", "T1");
    world.by("@ana", r#"{"command":"owner.revoke","owner":"bob","why":"gone"}"#);
    assert_eq!(world.answer("b"), ("RUN T1".to_owned(), 9));
    let refusal = world.refused("@ana", r#"{"command":"owner.revoke","owner":"ana","why":"gone"}"#);
    assert_eq!(refusal.code(), "owner.last");
    // The built-in agent is gone once another one is registered, and could not close its turn.
    let mut world = World::empty();
    world.by("", r#"{"command":"goal.start","objective":"o"}"#);
    world.by("", r#"{"command":"todo.add","title":"one"}"#);
    world.next("");
    world.by("", r#"{"command":"agent.register","agent":"a"}"#);
    assert_eq!(world.answer("a"), ("RUN T1".to_owned(), 9));
    assert!(world.state().turns.is_empty());
}

#[test]
fn an_open_turn_can_be_closed_in_every_state_that_it_can_get_into() {
    let after: [&[(&str, &str)]; 9] = [
        &[],
        &[("@ana", r#"{"command":"goal.pause","why":"w"}"#)],
        &[("@ana", r#"{"command":"quota.set","allowance":{"kind":"slots","slots":0},"why":"w"}"#)],
        &[("@ana", r#"{"command":"gate.open","question":"q","blocks":["T1"]}"#)],
        &[("b", r#"{"command":"gate.open","question":"q","blocks_agents":["a"]}"#)],
        &[("@ana", r#"{"command":"goal.change","write":["docs"],"reason":"r"}"#)],
        &[("a", r#"{"command":"refresh-state","next_action":"n","turn":"U1","outcome":"surface_only"}"#)],
        &[("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#)],
        &[
            ("@ana", r#"{"command":"goal.start","name":"rose","objective":"o"}"#),
            ("@ana iris", r#"{"command":"goal.pause","why":"w"}"#),
        ],
    ];
    for completed in [false, true] {
        for (case, happenings) in after.iter().enumerate() {
            for reopened in [false, true] {
                let mut world = World::new();
                world.add("one", r#""write":["src"]"#);
                world.next("a");
                if completed {
                    world.by("a", complete("T1"));
                }
                if completed && reopened {
                    world.by("b", r#"{"command":"todo.reopen","todo":"T1","why":"w"}"#);
                    world.next("b");
                }
                for (who, json) in *happenings {
                    let _ = world.submit(who, command(json), None);
                }
                assert!(world.state().turns.contains_key(&loopx::id::TurnId(1)), "case {case}");
                world.by("a", r#"{"command":"yield","todo":"T1","why":"enough"}"#);
                assert!(!world.state().turns.contains_key(&loopx::id::TurnId(1)), "case {case}");
                if completed && reopened {
                    let todo = &world.state().todos[&TodoId(1)];
                    assert_eq!(todo.claim.as_ref().unwrap().holder.to_string(), "b", "it is b's by now");
                    assert!(world.state().turn_on(TodoId(1)).is_some());
                }
            }
        }
    }
}
