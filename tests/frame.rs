//! The line: what is written is read back, and what is read has one spelling.

mod common;

use common::*;
use loopx::hash::Hash;
use loopx::id::{Actor, RequestId, Seq};
use loopx::limits::RECORD_MAX_BYTES;
use loopx::log::Cursor;
use loopx::record::frame::{FrameError, FrameFault, SUFFIX_BYTES, parse, seal_request, suffix_holds};
use loopx::record::{ChainError, Draft, Link};
use loopx::time::Timestamp;
use proptest::prelude::*;

fn body() -> Vec<u8> {
    let mut line = line(&Cursor::START, Seq::ZERO, "agent/w7", "w7-1", &note("x"));
    line.pop();
    line
}

/// The line with one part replaced, its hash made to hold again.
fn with(from: &str, to: &str) -> Vec<u8> {
    let line = String::from_utf8(body()).unwrap();
    assert!(line.contains(from), "{from}");
    let line = line.replacen(from, to, 1);
    let preimage = &line[..line.len() - SUFFIX_BYTES];
    format!("{preimage},\"hash\":\"{}\"}}", Hash::record(preimage.as_bytes())).into_bytes()
}

fn fault(line: &[u8]) -> FrameFault {
    parse(line).err().map(|error| error.fault).expect("a fault")
}

#[test]
fn each_member_has_one_spelling() {
    use FrameFault as Fault;
    let long = "x".repeat(129);
    for (from, to, expected) in [
        ("{\"v\":1", "{\"v\":0", Fault::Number("v")),
        ("{\"v\":1", "{\"v\":01", Fault::Number("v")),
        ("{\"v\":1", "{\"v\":2", Fault::Newer(2)),
        ("{\"v\":1", "{ \"v\":1", Fault::Spelling("{\"v\":")),
        ("\"seq\":1", "\"seq\":0", Fault::Number("seq")),
        ("\"seq\":1", "\"seq\":01", Fault::Number("seq")),
        ("\"seq\":1", "\"seq\":+1", Fault::Number("seq")),
        ("\"seq\":1", "\"seq\":9007199254740992", Fault::Number("seq")),
        ("\"seq\":1", "\"seq\":10000000000000000000000000001", Fault::Number("seq")),
        ("\"seq\":1,", "\"seq\":1 ,", Fault::Spelling(",\"prev\":\"")),
        ("\"prev\":\"0", "\"prev\":\"A", Fault::Hex("prev")),
        ("\"prev\":\"0", "\"prev\":\"", Fault::Hex("prev")),
        ("\"dur\":0", "\"dur\":1", Fault::Number("dur")),
        ("\"dur\":0", "\"dur\":-0", Fault::Number("dur")),
        ("\"dur\":0", "\"dur\":00", Fault::Number("dur")),
        ("\"ts\":\"2026", "\"ts\":\"1926", Fault::Time),
        ("Z\",\"actor", "z\",\"actor", Fault::Time),
        ("agent/w7", "human/w7", Fault::Actor),
        ("agent/w7", "agent/", Fault::Actor),
        ("agent/w7", "agent/w7.", Fault::Actor),
        ("agent/w7", "agent/../x", Fault::Actor),
        ("agent/w7", &long, Fault::Actor),
        ("w7-1", "", Fault::Request),
        ("w7-1", "-w7", Fault::Request),
        ("w7-1", "w\\u0037", Fault::Request),
        ("w7-1", "é", Fault::Request),
        ("w7-1", &long, Fault::Request),
        ("\"digest\"", "\"Digest\"", Fault::Spelling("\",\"digest\":\"")),
        ("\"ev\":[", "\"ev\":{", Fault::Spelling("\",\"ev\":[")),
        (&format!("[{}]", note("x")), "[]", Fault::Events),
        ("}}]", "}}", Fault::Events),
    ] {
        assert_eq!(fault(&with(from, to)), expected, "{from} -> {to}");
    }
    assert!(parse(&body()).unwrap().verify().is_ok());
}

#[test]
fn a_fault_is_reported_where_it_is() {
    let line = with("\"dur\":0", "\"dur\":1");
    let at = String::from_utf8(line.clone()).unwrap().find("\"dur\":").unwrap() + 6;
    assert_eq!(parse(&line).err(), Some(FrameError { offset: at, fault: FrameFault::Number("dur") }));
    let mut line = body();
    let at = line.len() - 10;
    line[at] = b'g';
    assert_eq!(parse(&line).err().map(|error| error.fault), Some(FrameFault::Hex("hash")));
}

#[test]
fn a_line_cut_anywhere_is_no_record() {
    let line = body();
    for cut in 0..line.len() {
        assert!(parse(&line[..cut]).is_err());
        assert!(!suffix_holds(&line[..cut]));
    }
    assert!(suffix_holds(&line));
}

#[test]
fn a_record_is_bounded_and_one_line() {
    let actor = Actor::System;
    let request: RequestId = "r".parse().unwrap();
    let mut draft = Draft {
        seq: Seq(1),
        prev: Hash::ZERO,
        dur: Seq::ZERO,
        ts: Timestamp::MIN,
        actor: &actor,
        request: &request,
        digest: Hash::ZERO,
        events: b"{}",
    };
    let mut out = b"before".to_vec();
    for bad in [&b""[..], b"{\n}", b"{\r}", b"\0"] {
        draft.events = bad;
        assert_eq!(draft.write(&mut out).err().map(|error| error.fault), Some(FrameFault::Events));
        assert_eq!(out, b"before");
    }
    let mut empty = Vec::new();
    draft.events = b"1";
    draft.write(&mut empty).unwrap();
    let room = RECORD_MAX_BYTES - (empty.len() - 1);
    let events = vec![b'1'; room];
    draft.events = &events;
    let mut longest = Vec::new();
    draft.write(&mut longest).unwrap();
    assert_eq!(longest.len(), RECORD_MAX_BYTES);
    assert!(parse(longest.strip_suffix(b"\n").unwrap()).unwrap().verify().is_ok());
    let events = vec![b'1'; room + 1];
    draft.events = &events;
    assert_eq!(draft.write(&mut out).err().map(|error| error.fault), Some(FrameFault::TooLong));
    assert_eq!(out, b"before");
    for (seq, dur) in [(0, 0), (1, 1), (1 << 53, 0)] {
        let wrong = Draft { seq: Seq(seq), dur: Seq(dur), events: b"1", ..draft };
        assert!(matches!(wrong.write(&mut out).err().map(|error| error.fault), Some(FrameFault::Number(_))));
    }
}

#[test]
fn a_seal_is_told_by_its_actor_request_and_segment() {
    let seal = |actor: &str, request: &str, segment: u64| {
        let line = line(&Cursor::START, Seq::ZERO, actor, request, &note("seal"));
        parse(line.strip_suffix(b"\n").unwrap()).unwrap().verify().unwrap().seals(Seq(segment))
    };
    assert!(seal("system", seal_request(Seq(1042)).unwrap().as_str(), 1042));
    assert!(!seal("system", "seal-1042", 1));
    assert!(!seal("agent/w7", "seal-1042", 1042));
    assert!(!seal("system", "seal-01042", 1042));
    assert!(!seal("system", "seal-+1042", 1042));
}

#[test]
fn the_chain_counts_names_its_predecessor_and_does_not_go_back_in_time() {
    let one = line(&Cursor::START, Seq::ZERO, "system", "r", &note("one"));
    let one = parse(one.strip_suffix(b"\n").unwrap()).unwrap().verify().unwrap();
    let mut link = Link::GENESIS;
    link.accept(&one).unwrap();
    assert_eq!(link, Link::of(&one));
    assert!(matches!(link.accept(&one), Err(ChainError::Seq { expected: Seq(2), found: Seq(1) })));
    assert!(matches!(
        Link { hash: Hash::blob(b"x"), ..Link::GENESIS }.accept(&one),
        Err(ChainError::Prev { seq: Seq(1), .. })
    ));
    let late = Link { ts: Timestamp::MAX, ..Link::GENESIS };
    assert!(matches!(late.clone().accept(&one), Err(ChainError::Time { .. })));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        seq in 1_u64..1 << 53, dur in any::<prop::sample::Index>(), micros in 0..Timestamp::MAX.as_micros(),
        prev in any::<[u8; 32]>(), digest in any::<[u8; 32]>(),
        actor in "(agent|owner)/w[A-Za-z0-9._-]{0,40}[0-9]", request in "[A-Za-z0-9][A-Za-z0-9._:/@+=-]{0,127}",
        events in "[ -~é]{1,300}",
    ) {
        let actor: Actor = actor.parse().unwrap();
        let request: RequestId = request.parse().unwrap();
        let draft = Draft {
            seq: Seq(seq),
            prev: Hash(prev),
            dur: Seq(dur.index(usize::try_from(seq).unwrap()) as u64),
            ts: Timestamp::from_micros(micros),
            actor: &actor,
            request: &request,
            digest: Hash(digest),
            events: events.as_bytes(),
        };
        let mut out = Vec::new();
        let hash = draft.write(&mut out).unwrap();
        let record = parse(out.strip_suffix(b"\n").unwrap()).unwrap().verify().unwrap();
        prop_assert_eq!((record.seq(), record.prev(), record.dur(), record.ts()), (draft.seq, draft.prev, draft.dur, draft.ts));
        prop_assert_eq!(record.actor(), actor.to_string());
        prop_assert_eq!(record.request(), request.as_str());
        prop_assert_eq!((record.digest(), record.events(), record.hash()), (draft.digest, draft.events, hash));
    }

    #[test]
    fn no_bytes_make_the_parser_fail_otherwise_than_with_an_error(bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>()) {
        let mut line = body();
        let at = at.index(line.len());
        line.splice(at..at, bytes.iter().copied());
        if let Ok(parsed) = parse(&line) {
            prop_assert!(bytes.is_empty() || parsed.verify().is_err());
        }
        prop_assert!(parse(&bytes).is_err());
    }
}
