//! What each fuzz target does with its bytes: plain functions on the public interface. The targets call them, and
//! `tests/fuzz_seeds.rs` calls them with every committed seed.
//!
//! Random bytes seldom carry a right hash, so several bodies put the hashes right first: the code behind the check is
//! where the faults would be.
#![allow(dead_code, reason = "each target uses one of them")]

use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use loopx::app::bulk;
use loopx::decide::{self, Caller, Context, History};
use loopx::event::codec::{self, CodecError};
use loopx::hash::Hash;
use loopx::id::{Actor, LedgerId, Seq};
use loopx::json::{CanonicalRule, check_canonical};
use loopx::ledger::{self, Env, Ledger, LedgerError, SubmitError};
use loopx::log::{Cursor, FileLog, Log, MemoryLog, VerifyOptions, Wait, verify};
use loopx::record::recover::{Appended, Suffix};
use loopx::record::survey::{Stop, suffix, walk};
use loopx::record::{Draft, Facts, Link, Mark, Record, Verdict, frame, judge};
use loopx::state::{At, State};
use loopx::time::Timestamp;
use loopx::{project, snapshot};
use serde_json::Value;
use ulid::Ulid;

/// 2026-12-01T12:34:56Z.
const START_MICROS: i64 = 1_796_128_496_000_000;

/// Bytes of a record's end that are not hashed.
const SUFFIX_BYTES: usize = 75;

const WAIT: Wait<'static> = Wait { holder: "fuzz", wait_ms: 1_000 };

/// A line read as a record: whatever is accepted is written again as the same bytes, or not at all. A writer is stricter
/// than a reader: it takes no reserved name and no events that are not spelled as such.
pub fn frame(data: &[u8]) {
    let _ = frame::suffix_holds(data);
    let line = resealed(data);
    for line in [data, line.as_slice()] {
        let Ok(record) = frame::parse(line).map(|parsed| parsed.verify()) else { continue };
        if let Ok(record) = record {
            assert!(rewritten(&record).is_none_or(|again| again == line));
        }
    }
    if frame::parse(data).is_ok() {
        assert!(frame::parse(&line).is_ok_and(|parsed| parsed.verify().is_ok()), "a right hash is accepted");
    }
}

fn rewritten(record: &Record<'_>) -> Option<Vec<u8>> {
    let actor: Actor = record.actor().parse().ok()?;
    let request = record.request().parse().unwrap();
    let draft = Draft {
        seq: record.seq(),
        prev: record.prev(),
        dur: record.dur(),
        ts: record.ts(),
        actor: &actor,
        request: &request,
        digest: record.digest(),
        events: record.events(),
    };
    let mut out = Vec::new();
    draft.write(&mut out).ok()?;
    assert_eq!(out.pop(), Some(b'\n'));
    Some(out)
}

/// The same line with the hash that belongs to it, if it is long enough to have one.
fn resealed(line: &[u8]) -> Vec<u8> {
    let Some(at) = line.len().checked_sub(SUFFIX_BYTES) else { return line.to_vec() };
    let preimage = &line[..at];
    [preimage, b",\"hash\":\"", Hash::record(preimage).to_hex().as_bytes(), b"\"}"].concat()
}

/// Bytes as a segment: the walk, the survey and the table. The first byte says what HEAD remembers and whether hashes
/// and links are put right.
pub fn recover(data: &[u8]) {
    let Some((&mode, segment)) = data.split_first() else { return };
    let bytes = if mode & 1 == 0 { segment.to_vec() } else { chained(segment) };
    let mut link = Link::GENESIS;
    let mut sealed = false;
    let (end, stop) = walk(&mut link, &bytes, &mut |record, _| {
        sealed = record.seals(Seq(1));
        ControlFlow::Continue(())
    });
    assert_ne!(stop, Stop::Visitor);
    assert!(end == 0 || bytes[end - 1] == b'\n', "the prefix is made of whole lines");
    let rest = suffix(&link, &bytes[end..]);
    assert_eq!(rest == Suffix::Nothing, end == bytes.len());
    let mark = |seq: Seq, right: bool| Mark {
        seq,
        hash: if right { link.hash } else { Hash::ZERO },
        found: (seq == link.seq).then_some(link.hash),
    };
    let remembered = [None, Some(link.seq), Some(link.seq.next()), Some(Seq(1))];
    let appended = remembered[usize::from(mode >> 1 & 3)]
        .map(|seq| Appended { mark: mark(seq, mode & 128 == 0), this_boot: mode & 64 == 0 });
    let durable = remembered[usize::from(mode >> 3 & 3)].map(|seq| mark(seq, true));
    let facts = Facts {
        last: link,
        end: end as u64,
        suffix: rest,
        sealed,
        later_segment: mode & 32 != 0,
        appended,
        durable,
        poisoned: mode & 96 == 96,
    };
    judged(&facts, bytes.len() - end);
}

fn judged(facts: &Facts, rest: usize) {
    let counts = |mark: Option<Mark>| mark.is_some_and(|mark| mark.seq > facts.last.seq);
    let appended = facts.appended.filter(|appended| appended.this_boot).map(|appended| appended.mark);
    match judge(facts) {
        Verdict::Torn { seq, offset, bytes } => {
            assert_eq!((seq, offset, bytes), (facts.last.seq.next(), facts.end, rest as u64));
            assert!(rest > 0 && !facts.later_segment && facts.last.seq > Seq::ZERO);
            assert!(!counts(facts.durable) && !counts(appended), "what is remembered is not cut");
            let cut = judge(&Facts { suffix: Suffix::Nothing, ..facts.clone() });
            assert!(
                matches!(cut, Verdict::Clean | Verdict::Adopt | Verdict::FinishRotation),
                "after the cut: {cut:?}"
            );
        }
        Verdict::Clean | Verdict::Adopt | Verdict::FinishRotation | Verdict::Rollback { .. } => {
            assert_eq!(rest, 0, "what is there is not passed over");
        }
        Verdict::Damaged { offset, .. } | Verdict::Fork { seq: _, offset } => assert!(offset >= facts.end),
        Verdict::Newer { .. } => assert!(rest > 0),
        Verdict::Rewritten { .. } | Verdict::SyncUnknown => {}
    }
}

/// Every line that is spelled as a record, linked to the one before it and with its right hash.
fn chained(segment: &[u8]) -> Vec<u8> {
    let mut prev = Hash::ZERO;
    let mut out = Vec::new();
    for line in segment.split_inclusive(|byte| *byte == b'\n') {
        let (body, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |body| (body, &b"\n"[..]));
        let linked = frame::parse(body).is_ok().then(|| {
            let text = std::str::from_utf8(body).unwrap_or_default();
            let at = text.find("\"prev\":\"").unwrap_or_default() + 8;
            let mut linked = body.to_vec();
            if let Some(old) = linked.get_mut(at..at + 64) {
                old.copy_from_slice(prev.to_hex().as_bytes());
            }
            resealed(&linked)
        });
        match linked {
            Some(linked) => {
                prev = Hash::record(&linked[..linked.len() - SUFFIX_BYTES]);
                out.extend_from_slice(&linked);
            }
            None => out.extend_from_slice(body),
        }
        out.extend_from_slice(end);
    }
    out
}

/// Canonical JSON against `serde_json`: what is accepted is the one spelling of a value, and what is refused has no
/// canonical spelling, or another one.
pub fn json(data: &[u8]) {
    let verdict = check_canonical(data);
    let parsed = serde_json::from_slice::<Value>(data).ok();
    if verdict.is_ok() {
        let value = parsed.as_ref().expect("what is canonical is JSON");
        assert_eq!(serde_json::to_vec(value).unwrap(), data, "sorted and compact, it is the same");
    }
    let Some(value) = parsed else { return };
    let spelled = serde_json::to_vec(&value).unwrap();
    match check_canonical(&spelled) {
        Ok(()) => assert_eq!(verdict.is_ok(), spelled == data),
        Err(error) => assert!(
            matches!(
                error.rule,
                CanonicalRule::Key | CanonicalRule::Range | CanonicalRule::Integer | CanonicalRule::Depth
            ),
            "{error:?}"
        ),
    }
}

/// The events of a record: what is decoded is encoded as the same bytes.
pub fn codec(data: &[u8]) {
    match codec::decode(data) {
        Ok(events) => {
            assert_eq!(codec::encode(&events).as_deref(), Ok(data));
            assert!(!events.is_empty());
        }
        Err(
            CodecError::Newer { index, .. }
            | CodecError::Malformed { index, .. }
            | CodecError::TooLarge { index, .. },
        ) => assert!(index <= data.len()),
        Err(error) => panic!("{error:?}"),
    }
}

/// Arbitrary events, a line a record: none brings the state or those who read it to a panic.
pub fn reducer(data: &[u8]) {
    let mut state = State::default();
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(events) = codec::decode(line) else { continue };
        let seq = state.seq.next();
        let ts = Timestamp::from_micros(START_MICROS + i64::try_from(seq.0).unwrap() * 61_000_000);
        let actor = ["system", "agent/a1", "owner/o1", "agent/local"][seq.0 as usize % 4].parse().unwrap();
        if state.apply(&At { seq, ts, actor }, &events).is_err() {
            break;
        }
    }
    looked_at(&state);
}

/// A state is shown, decided about, written and read.
fn looked_at(state: &State) {
    let caller = Caller::default();
    let history = History::default();
    let now = state.now;
    let context = Context { state, history: &history, caller: &caller, now };
    let _ = (decide::should_run(&context), decide::ready(&context), decide::goal_of(&context));
    for (id, goal) in &state.goals {
        let _ = format!("{:?}", project::status::status(state, id, goal, now));
    }
    for quota in state.quotas.values() {
        let _ = (quota.spent_slots(now), quota.allowed_slots(), quota.free_at(1, now, &[]));
    }
    let bytes = serde_json::to_vec(state).unwrap();
    let again: State = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(&again, state);
    assert_eq!(again.digest().unwrap(), state.digest().unwrap());
}

/// A snapshot: bytes as the whole file, or, if they start with a `!`, as a body under a header that holds.
pub fn snapshot(data: &[u8]) {
    let place = Place::get();
    let file = place.root().join("snap/state.json");
    snapshot::save(&place.root(), &Cursor::START, &State::default()).unwrap();
    let bytes = match data.split_first() {
        Some((b'!', body)) => {
            let whole = fs::read(&file).unwrap();
            let header = whole.split(|byte| *byte == b'\n').next().unwrap();
            let mut header: Value = serde_json::from_slice(header).unwrap();
            header["digest"] = Hash::state(body).to_hex().into();
            header["cursor"]["seq"] =
                serde_json::from_slice::<Value>(body).map_or(0.into(), |state| state["seq"].clone());
            [header.to_string().as_bytes(), b"\n", body].concat()
        }
        _ => data.to_vec(),
    };
    fs::write(&file, &bytes).unwrap();
    if let Some((cursor, state)) = snapshot::load(&place.root()) {
        assert_eq!(cursor.seq, state.seq);
        assert_eq!(serde_json::from_slice::<State>(&serde_json::to_vec(&state).unwrap()).unwrap(), state);
    }
    // Whatever it says, it changes no answer.
    let ledger = Ledger::open(&place.root()).unwrap();
    assert_eq!((ledger.head().seq, ledger.head().hash), (place.head.seq, place.head.hash));
    fs::remove_file(&file).unwrap();
}

/// HEAD of a small ledger: bytes as the whole file, or, if they start with a `!`, with check values that hold and `BOOT`
/// for the present boot. Whatever it says, no reader shows less than there is without an error.
pub fn head(data: &[u8]) {
    let place = Place::get();
    let path = place.root().join("log/HEAD");
    let sound = fs::read(&path).unwrap();
    let segment = place.root().join("log/00000000000000000001.jsonl");
    let lines = fs::read(&segment).unwrap();
    let bytes = data.strip_prefix(b"!").map_or_else(|| data.to_vec(), checked);
    fs::write(&path, &bytes).unwrap();
    let log = FileLog::open(&place.root()).unwrap();
    if let Ok(tail) = log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())) {
        assert_eq!((tail.head.seq, tail.head.hash), (place.head.seq, place.head.hash));
        assert!(tail.durable <= tail.head.seq);
    }
    let report = verify(&place.root(), &VerifyOptions::default(), &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(report.unwrap().head.seq, place.head.seq);
    if let Ok(transaction) = log.transaction(&WAIT) {
        assert_eq!((transaction.head().seq, transaction.head().hash), (place.head.seq, place.head.hash));
        assert!(transaction.recovered().is_empty() && transaction.durable() <= place.head.seq);
    }
    assert_eq!(fs::read(&segment).unwrap(), lines, "a mark changes no record");
    fs::write(&path, sound).unwrap();
}

/// The two marks, with the present boot for `BOOT` and the check value that belongs to them.
fn checked(data: &[u8]) -> Vec<u8> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text = String::from_utf8_lossy(data).replace("BOOT", boot.trim_end());
    let mut out = String::new();
    for mark in text.lines() {
        let body = mark.rsplit_once(' ').map_or(mark, |(body, _)| body).to_owned() + " ";
        let check = Hash::blob(body.as_bytes()).to_hex();
        out.push_str(&format!("{body}{}\n", &check[..16]));
    }
    out.into_bytes()
}

/// Lines of `append --stdin`, on a ledger in memory; `+N` lets N seconds pass. What is recorded can be folded again, and
/// a request is refused by a rule or because it is too large, and for no other reason.
pub fn commands(data: &[u8]) {
    let micros = Cell::new(START_MICROS);
    let drawn = Cell::new(1_u128);
    let now = || Timestamp::from_micros(micros.get());
    let ulid = || {
        drawn.set(drawn.get() + 1);
        Ulid::from(drawn.get())
    };
    let env = Env { now: &now, ulid: &ulid };
    let mut ledger = in_memory(&env);
    for line in data.split(|byte| *byte == b'\n').take(64) {
        if let Some(seconds) = line.strip_prefix(b"+") {
            let seconds = std::str::from_utf8(seconds).ok().and_then(|text| text.parse::<u32>().ok());
            micros.set(micros.get() + i64::from(seconds.unwrap_or(0)) * 1_000_000);
            continue;
        }
        let Ok(submission) = bulk::parse(line, &Caller::default()) else { continue };
        let command = serde_json::to_vec(&submission.command).unwrap();
        let again = bulk::parse(&command, &submission.caller).expect("what is written is read");
        assert_eq!(again.command, submission.command);
        assert_eq!(again.digest().unwrap(), submission.digest().unwrap());
        let before = ledger.head().seq;
        match ledger.append(&env, &WAIT, &submission) {
            Ok(_) => {}
            Err(
                SubmitError::Refused(_)
                | SubmitError::RequestReused { .. }
                | SubmitError::Ledger(
                    LedgerError::Frame(_) | LedgerError::Event { error: CodecError::TooLarge { .. }, .. },
                ),
            ) => {
                ledger.refresh().unwrap();
                assert_eq!(ledger.head().seq, before, "a request that is refused changes nothing");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    let replayed = ledger.replay(ledger.head().seq, &mut |_, _| {}).unwrap();
    assert_eq!(&replayed, ledger.state());
    looked_at(&replayed);
}

fn in_memory(env: &Env<'_>) -> Ledger {
    let log = MemoryLog::new();
    let genesis = ledger::genesis(LedgerId((env.ulid)()), env).unwrap();
    log.transaction(&WAIT).unwrap().append(&Cursor::START, &genesis).unwrap();
    Ledger::start(Box::new(log), None).unwrap()
}

/// A small ledger in files, one for each thread.
struct Place {
    dir: tempfile::TempDir,
    head: Cursor,
}

impl Place {
    fn get() -> &'static Self {
        thread_local! {
            static PLACE: &'static Place = Box::leak(Box::new(Place::new()));
        }
        PLACE.with(|place| *place)
    }

    fn new() -> Self {
        // In memory where that can be had: the disk is not what is tried here.
        let memory = Path::new("/dev/shm");
        let dir = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let env = Env { now: &|| Timestamp::from_micros(START_MICROS), ulid: &|| Ulid::from(7_u128) };
        let mut ledger = Ledger::create(&dir.path().join(".loopx"), &env, false).unwrap();
        for line in [
            &b"{\"command\":\"goal.start\",\"name\":\"g\",\"objective\":\"x\",\"request\":\"r1\"}"[..],
            b"{\"command\":\"todo.add\",\"title\":\"y\",\"request\":\"r2\"}",
        ] {
            let submission = bulk::parse(line, &Caller::default()).unwrap();
            ledger.submit(&env, &WAIT, &submission).unwrap();
        }
        let head = *ledger.head();
        Self { dir, head }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join(".loopx")
    }
}
