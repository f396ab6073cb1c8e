//! Clocks that are set back or far ahead: said once, nothing reordered, nothing given back, nothing that runs out early.

use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loopx::decide::Caller;
use loopx::event::{ClockDirection, Event};
use loopx::id::Seq;
use loopx::ledger::{Answer, Committed, Env, Ledger, Submission, SubmitError, Uptime};
use loopx::limits::CLOCK_JUMP_MS;
use loopx::log::Wait;
use loopx::time::Timestamp;
use serde_json::Value;

const WAIT: Wait<'_> = Wait { holder: "test", wait_ms: 30_000 };
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 86_400_000;
const YEAR: u64 = 365 * DAY;

/// A ledger on the disk, a clock, and a machine that has been running for a time.
struct Machine {
    dir: tempfile::TempDir,
    ledger: Ledger,
    clock: Cell<Timestamp>,
    ulid: Cell<u128>,
    boot: u32,
    uptime_ms: Arc<AtomicU64>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (clock, ulid) = (Cell::new(Timestamp::parse_loose("2026-12-01").unwrap()), Cell::new(1));
        let root = dir.path().join(".loopx");
        let ledger = with(&clock, &ulid, |env| Ledger::create(&root, env, false)).unwrap();
        let mut machine =
            Self { dir, ledger, clock, ulid, boot: 1, uptime_ms: Arc::new(AtomicU64::new(HOUR)) };
        machine.open();
        machine.ledger.keep_pace(machine.clock.get());
        for line in [
            r#"{"command":"goal.start","name":"g","objective":"x"}"#,
            r#"{"command":"quota.set","allowance":{"slots":1,"kind":"slots"},"window_ms":3600000,"why":"one"}"#,
            r#"{"command":"todo.add","title":"a"}"#,
            r#"{"command":"todo.add","title":"b"}"#,
        ] {
            machine.stored(line);
        }
        machine
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join(".loopx")
    }

    /// Opens the ledger again, as the next process would.
    fn open(&mut self) {
        self.ledger = Ledger::open(&self.root()).unwrap();
        let (boot, uptime_ms) = (self.boot, Arc::clone(&self.uptime_ms));
        let uptime = move || Uptime { boot: format!("boot-{boot}"), ms: uptime_ms.load(Ordering::SeqCst) };
        self.ledger.set_uptime(Box::new(move || Some(uptime())));
    }

    fn restart(&mut self) {
        self.boot += 1;
        self.uptime_ms.store(20_000, Ordering::SeqCst);
        self.open();
    }

    /// Time passes, as it does on every clock.
    fn pass(&self, ms: u64) {
        self.uptime_ms.fetch_add(ms, Ordering::SeqCst);
        self.ahead(ms);
    }

    fn ahead(&self, ms: u64) {
        self.clock.set(self.clock.get().plus_ms(ms));
    }

    fn back(&self, ms: u64) {
        self.clock.set(self.clock.get().minus_ms(ms));
    }

    fn submit(&mut self, line: &str) -> Result<Answer, SubmitError> {
        let Submission { command, request, .. } =
            loopx::app::bulk::parse(line.as_bytes(), &Caller::default()).unwrap();
        let submission = Submission { caller: Caller::default(), command, request };
        with(&self.clock, &self.ulid, |env| self.ledger.submit(env, &WAIT, &submission))
    }

    fn stored(&mut self, line: &str) -> Box<Committed> {
        match self.submit(line).unwrap_or_else(|error| panic!("{line}: {error}")) {
            Answer::Committed(committed) => committed,
            Answer::Quiet(decision) => panic!("{line}: {decision:?}"),
        }
    }

    /// Adds a todo, and says what the records since the last look tell of the clock.
    fn add(&mut self) -> Vec<(ClockDirection, u64)> {
        let before = self.ledger.head().seq;
        self.stored(r#"{"command":"todo.add","title":"c"}"#);
        jumps(&self.ledger, before)
    }
}

fn with<T>(clock: &Cell<Timestamp>, ulid: &Cell<u128>, act: impl FnOnce(&Env<'_>) -> T) -> T {
    let fresh = || {
        ulid.set(ulid.get() + 1);
        ulid::Ulid(ulid.get())
    };
    act(&Env { now: &|| clock.get(), ulid: &fresh })
}

fn jumps(ledger: &Ledger, after: Seq) -> Vec<(ClockDirection, u64)> {
    let mut found = Vec::new();
    ledger
        .replay(ledger.head().seq, &mut |_, entry| {
            for event in entry.events.iter().filter(|_| entry.at.seq > after) {
                if let Event::ClockJumped(jump) = event {
                    assert_eq!(entry.at.actor, loopx::id::Actor::System);
                    assert_eq!(entry.events.len(), 1);
                    found.push((jump.direction, jump.by_ms));
                }
            }
        })
        .unwrap();
    found
}

/// Every record's time is no earlier than the one before, and the live state is what a fold from genesis gives.
fn assert_in_order(ledger: &Ledger) {
    let mut last = Timestamp::MIN;
    let state = ledger
        .replay(ledger.head().seq, &mut |_, entry| {
            assert!(entry.at.ts >= last, "#{}", entry.at.seq);
            last = entry.at.ts;
        })
        .unwrap();
    assert_eq!(&state, ledger.state());
}

#[test]
fn a_clock_that_is_set_back_is_recorded_once_and_again_when_it_is_set_back_further() {
    let mut machine = Machine::new();
    machine.back(CLOCK_JUMP_MS);
    assert_eq!(machine.add(), [], "at the limit");
    machine.back(1);
    assert_eq!(machine.add(), [(ClockDirection::Back, CLOCK_JUMP_MS + 1)]);
    machine.open();
    machine.ahead(10_000);
    assert_eq!(machine.add(), [], "by another process, while the clock goes on");
    machine.back(10_000 + CLOCK_JUMP_MS);
    assert_eq!(machine.add(), [], "no further than a correction");
    machine.back(DAY);
    assert_eq!(machine.add(), [(ClockDirection::Back, DAY + 2 * CLOCK_JUMP_MS + 1)]);
    machine.ahead(2 * DAY);
    assert_eq!(machine.add(), [], "right again");
    machine.back(DAY);
    assert_eq!(machine.add(), [(ClockDirection::Back, DAY)], "a new jump");
    assert_in_order(&machine.ledger);
}

#[test]
fn a_clock_ahead_is_told_from_an_unused_ledger_by_how_long_the_machine_has_been_running() {
    for (passed, jump, told) in
        [(YEAR, 0, false), (YEAR, CLOCK_JUMP_MS, false), (YEAR, CLOCK_JUMP_MS + 1, true), (0, YEAR, true)]
    {
        let mut machine = Machine::new();
        machine.pass(passed);
        machine.ahead(jump);
        let expected = if told { vec![(ClockDirection::Ahead, jump)] } else { Vec::new() };
        assert_eq!(machine.add(), expected, "{passed} and {jump}");
        machine.open();
        machine.pass(DAY);
        assert_eq!(machine.add(), [], "once");
        machine.ahead(DAY);
        assert_eq!(machine.add().len(), 1, "a new jump");
        assert_in_order(&machine.ledger);
    }
}

#[test]
fn a_jump_ahead_is_not_claimed_where_nothing_is_known_of_this_run_of_the_machine() {
    let mut machine = Machine::new();
    machine.ahead(YEAR);
    machine.restart();
    assert_eq!(machine.add(), [], "it may have been off for a year");
    machine.ahead(DAY);
    assert_eq!(machine.add(), [(ClockDirection::Ahead, DAY)], "from then on it is known");
    for spoil in ["", "\n", "boot-2 2026", "boot-2 2026-12-01T00:00:00.000000Z"] {
        fs::write(machine.root().join("clock"), spoil).unwrap();
        machine.ahead(YEAR);
        assert_eq!(machine.add(), [], "{spoil:?}");
    }
    fs::remove_file(machine.root().join("clock")).unwrap();
    machine.ahead(YEAR);
    assert_eq!(machine.add(), []);
    machine.ahead(YEAR);
    assert_eq!(machine.add().len(), 1, "it was written anew");
}

#[test]
fn a_batch_tells_of_a_jump_once_before_the_request_that_met_it() {
    let mut machine = Machine::new();
    machine.back(DAY);
    let before = machine.ledger.head().seq;
    let submissions: Vec<Submission> = [
        r#"{"command":"todo.release","todo":"T1","why":"not held"}"#,
        r#"{"command":"todo.add","title":"c","request":"r1"}"#,
        r#"{"command":"todo.cancel","todo":"T3","why":"known at once"}"#,
    ]
    .map(|line| loopx::app::bulk::parse(line.as_bytes(), &Caller::default()).unwrap())
    .to_vec();
    let ledger = &mut machine.ledger;
    let (clock, ulid) = (&machine.clock, &machine.ulid);
    let refused = with(clock, ulid, |env| ledger.append_many(env, &WAIT, &submissions, &|_, _| false));
    assert!(refused.replies.is_empty() && refused.failure.is_some(), "{refused:?}");
    assert_eq!(ledger.head().seq, before, "what is refused leaves no word");
    let landed = with(clock, ulid, |env| ledger.append_many(env, &WAIT, &submissions[1..], &|_, _| false));
    assert!(landed.failure.is_none(), "{landed:?}");
    assert_eq!(ledger.head().seq, Seq(before.0 + 3));
    assert_eq!(jumps(ledger, before), [(ClockDirection::Back, DAY)]);
    assert_in_order(ledger);
}

#[test]
fn small_corrections_do_not_add_up_to_a_jump() {
    let mut machine = Machine::new();
    for _ in 0..10 {
        machine.pass(HOUR);
        machine.ahead(CLOCK_JUMP_MS / 2);
        assert_eq!(machine.add(), []);
    }
}

#[test]
fn a_clock_that_was_wrong_at_the_start_and_is_set_right_has_not_jumped_ahead() {
    let mut machine = Machine::new();
    machine.back(YEAR);
    machine.restart();
    assert_eq!(machine.add().len(), 1);
    machine.ahead(YEAR + 2 * DAY);
    assert_eq!(machine.add(), [], "it was off for two days");
    machine.pass(HOUR);
    assert_eq!(machine.add(), []);
}

#[test]
fn a_jump_ahead_gives_no_slot_back_and_ends_no_lease_and_holds_neither_longer() {
    let mut machine = Machine::new();
    machine.stored(r#"{"command":"next"}"#);
    let expired = |machine: &Machine| {
        let seen = machine.ledger.present(machine.clock.get());
        let claim = seen.todos.values().next().unwrap().claim.clone().unwrap();
        claim.is_expired(machine.clock.get())
    };
    machine.pass(20 * MINUTE);
    machine.ahead(YEAR);
    assert!(!expired(&machine), "to a reader that comes before any record");
    machine.add();
    machine.pass(25 * MINUTE - 1);
    assert!(!expired(&machine));
    machine.pass(1);
    assert!(expired(&machine), "after 45 minutes that have passed");
    machine.stored(r#"{"command":"next"}"#);
    let close = r#"{"proof":[{"kind":"note","summary":"seen"}],"no_follow_up":"z"}"#;
    machine.pass(5 * MINUTE);
    machine.ahead(YEAR);
    machine.stored(&format!(r#"{{"command":"done","todo":"T1","close":{close}}}"#));
    let spent = |machine: &Machine| {
        let seen = machine.ledger.present(machine.clock.get());
        seen.quotas.values().next().unwrap().spent_slots(machine.clock.get())
    };
    let total = machine.ledger.state().quotas.values().next().unwrap().total;
    assert_eq!((total.slots, total.wall_ms), (1, 50 * MINUTE), "the time that has passed is charged");
    machine.pass(30 * MINUTE);
    machine.ahead(YEAR);
    assert_eq!(spent(&machine), 1);
    machine.add();
    machine.pass(30 * MINUTE - 1);
    assert_eq!(spent(&machine), 1);
    machine.pass(1);
    assert_eq!(spent(&machine), 0, "after an hour that has passed");
    assert_in_order(&machine.ledger);
}

#[test]
fn a_request_that_is_refused_or_known_leaves_no_word_of_the_clock() {
    let mut machine = Machine::new();
    let line = r#"{"command":"todo.add","title":"once","request":"r1"}"#;
    let first = machine.stored(line).receipt;
    let head = *machine.ledger.head();
    machine.back(DAY);
    let refused = machine.submit(r#"{"command":"todo.release","todo":"T1","why":"x"}"#);
    assert!(matches!(refused, Err(SubmitError::Refused(_))), "{refused:?}");
    let again = machine.stored(line).receipt;
    assert_eq!((again.seq, again.hash, again.duplicate), (first.seq, first.hash, true));
    machine.ledger.refresh().unwrap();
    assert_eq!(*machine.ledger.head(), head, "nothing was appended");
    assert_eq!(machine.add().len(), 1, "the next record brings it");
}

#[test]
fn a_jump_survives_in_json_as_the_format_says() {
    let mut machine = Machine::new();
    machine.back(DAY);
    machine.add();
    let text = fs::read_to_string(machine.root().join("log/00000000000000000001.jsonl")).unwrap();
    let line = text.lines().find(|line| line.contains("ledger.clock_jumped")).unwrap();
    let record: Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        record["ev"][0]["b"],
        serde_json::json!({"by_ms": DAY, "clock": "2026-11-30T00:00:00.000000Z", "direction": "back"})
    );
    assert_eq!(record["ts"], "2026-12-01T00:00:00.000000Z");
}
