//! Many requests under one lock: what lands and what is replied is what one request after the other would have brought.

mod kernel;

use std::cell::Cell;

use kernel::chaos::{Step, steps, take, world};
use kernel::{MINUTE, START, WAIT, World, caller, command};
use loopx::id::Seq;
use loopx::ledger::{Answer, BATCH_MS, BATCH_REQUESTS, Batch, Env, Reply, Submission, SubmitError};
use loopx::log::{Cursor, Log};
use loopx::time::Timestamp;
use proptest::prelude::*;
use ulid::Ulid;

/// What a request came to, as far as its caller is told.
#[derive(Debug, PartialEq)]
enum Told {
    Landed { seq: Seq, duplicate: bool, request: String, events: String },
    Quiet(String),
    Failed(String),
}

fn told(seq: Seq, duplicate: bool, request: &impl ToString, events: &impl std::fmt::Debug) -> Told {
    Told::Landed { seq, duplicate, request: request.to_string(), events: format!("{events:?}") }
}

fn one_by_one(world: &mut World, requests: &[Submission]) -> Vec<Told> {
    let World { ledger, ticks, .. } = world;
    let answer = |request: &Submission| match ticks.with(|env| ledger.append(env, &WAIT, request)) {
        Ok(Answer::Committed(c)) => told(c.receipt.seq, c.receipt.duplicate, &c.receipt.request, &c.events),
        Ok(Answer::Quiet(decision)) => Told::Quiet(format!("{decision:?}")),
        Err(error) => Told::Failed(error.to_string()),
    };
    requests.iter().map(answer).collect()
}

/// In batches; a request that fails is left out and the rest comes again.
fn in_batches(world: &mut World, mut requests: &[Submission]) -> Vec<Told> {
    let World { ledger, ticks, .. } = world;
    let mut all = Vec::new();
    while !requests.is_empty() {
        let Batch { replies, failure } =
            ticks.with(|env| ledger.append_many(env, &WAIT, requests, &|_, _| false));
        requests = &requests[replies.len() + usize::from(failure.is_some())..];
        all.extend(replies.into_iter().map(|reply| match reply {
            Reply::Landed(l) => told(l.receipt.seq, l.receipt.duplicate, &l.receipt.request, &l.events),
            Reply::Quiet(decision) => Told::Quiet(format!("{decision:?}")),
        }));
        all.extend(failure.map(|error| Told::Failed(error.to_string())));
    }
    all
}

fn content(world: &World) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let read = world.log.read(&Cursor::START, &mut |record, _| {
        lines.push(record.line().to_vec());
        std::ops::ControlFlow::Continue(())
    });
    read.unwrap();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_batch_records_and_replies_what_its_requests_would_one_by_one(
        before in steps(30),
        batches in prop::collection::vec((steps(20), prop::collection::vec(0_u8..40, 20)), 1..5),
    ) {
        let (mut single, mut bulk) = (world(), world());
        for step in &before {
            take(&mut single, step)?;
            take(&mut bulk, step)?;
        }
        for (steps, ids) in batches {
            // The clock is turned between two batches. Few ids, so that some come again, for the same request or another.
            let mut requests = Vec::new();
            for (step, id) in steps.iter().zip(ids) {
                match step {
                    Step::Ask(who, json) => requests.push(Submission {
                        caller: caller(who),
                        command: command(json),
                        request: (id < 25).then(|| format!("r{id}").parse().unwrap()),
                    }),
                    time => {
                        take(&mut single, time)?;
                        take(&mut bulk, time)?;
                    }
                }
            }
            let again = requests.first().cloned().filter(|request| request.request.is_some());
            requests.extend(again);
            prop_assert_eq!(in_batches(&mut bulk, &requests), one_by_one(&mut single, &requests));
        }
        prop_assert_eq!(content(&bulk), content(&single));
        prop_assert_eq!(bulk.state().digest().unwrap(), single.state().digest().unwrap());
    }
}

fn notes(count: usize) -> Vec<Submission> {
    let command = command(r#"{"command":"refresh-state","next_action":"n"}"#);
    vec![Submission { caller: caller("a"), command, request: None }; count]
}

#[test]
fn a_batch_takes_no_more_requests_than_it_says() {
    let mut world = World::new();
    let before = world.head();
    let World { ledger, ticks, .. } = &mut world;
    let requests = notes(BATCH_REQUESTS + 1);
    let batch = ticks.with(|env| ledger.append_many(env, &WAIT, &requests, &|_, _| false));
    assert!(batch.failure.is_none());
    assert_eq!(batch.replies.len(), BATCH_REQUESTS);
    assert_eq!(world.head().0, before.0 + BATCH_REQUESTS as u64);
}

#[test]
fn a_batch_ends_when_its_time_is_up_and_always_takes_one() {
    // Each look at the clock takes so long. The clock of the ledger may be far ahead: what counts is what passes.
    for (step_ms, ahead, taken) in
        [(BATCH_MS / 10, 0, 2..10), (2 * BATCH_MS, 0, 1..2), (BATCH_MS / 10, MINUTE, 2..10)]
    {
        let mut world = World::new();
        world.pass(ahead);
        world.by("a", r#"{"command":"refresh-state","next_action":"n"}"#);
        let clock = Cell::new(Timestamp::from_micros(START));
        let now = || {
            clock.set(clock.get().plus_ms(step_ms));
            clock.get()
        };
        let env = Env { now: &now, ulid: &|| Ulid(u128::from(clock.get().as_micros().unsigned_abs())) };
        let batch = world.ledger.append_many(&env, &WAIT, &notes(100), &|_, _| false);
        assert!(batch.failure.is_none());
        assert!(taken.contains(&batch.replies.len()), "{step_ms} ms: {}", batch.replies.len());
    }
}

#[test]
fn a_batch_ends_before_a_request_that_has_to_wait_unless_it_is_the_first_or_was_recorded() {
    let mut world = World::with_todos(&["one"]);
    let mut requests = notes(3);
    requests[2].command = command(r#"{"command":"refresh-state","next_action":"waits"}"#);
    requests[2].request = Some("w".parse().unwrap());
    let waits = |_: &_, asked: &Submission| asked.request.is_some();
    let World { ledger, ticks, .. } = &mut world;
    let mut go = |requests: &[Submission]| {
        let batch = ticks.with(|env| ledger.append_many(env, &WAIT, requests, &waits));
        assert!(batch.failure.is_none());
        batch.replies.len()
    };
    assert_eq!(go(&requests), 2);
    assert_eq!(go(&requests[2..]), 1);
    assert_eq!(go(&requests), 3, "what is recorded is answered and waits for nothing");
}

#[test]
fn what_stands_before_a_request_that_fails_is_replied_and_what_follows_is_not_looked_at() {
    let mut world = World::new();
    let mut requests = notes(3);
    requests[1].command = command(r#"{"command":"todo.claim","todo":"T9"}"#);
    let before = world.head();
    let World { ledger, ticks, .. } = &mut world;
    let batch = ticks.with(|env| ledger.append_many(env, &WAIT, &requests, &|_, _| false));
    assert_eq!(batch.replies.len(), 1);
    assert!(matches!(batch.failure, Some(SubmitError::Refused(_))), "{:?}", batch.failure);
    assert_eq!(world.head(), before.next());
}
