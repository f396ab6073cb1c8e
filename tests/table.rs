//! The recovery table, over every combination of the facts, against a second reading of it.

use loopx::hash::Hash;
use loopx::id::Seq;
use loopx::record::chain::Link;
use loopx::record::frame::{FrameError, FrameFault};
use loopx::record::recover::{Appended, Evidence, Facts, Fault, Mark, Suffix, Verdict, judge};
use loopx::record::survey::Bad;
use loopx::time::Timestamp;

const END: u64 = 1_000;
const FRAME: Fault = Fault::Frame(FrameError { offset: 0, fault: FrameFault::Time });

fn hash(seq: u64) -> Hash {
    Hash::blob(&seq.to_le_bytes())
}

/// A mark at each place that matters: absent; before the part that was read; inside, agreeing or not; at the last
/// record, agreeing or not; at the next one; beyond.
fn marks(last: u64) -> Vec<Option<Mark>> {
    let mark = |seq: u64, found: Option<Hash>| Some(Mark { seq: Seq(seq), hash: hash(seq), found });
    let mut marks = vec![None, mark(last + 1, None), mark(last + 7, None)];
    if last > 0 {
        marks.extend([mark(last, Some(hash(last))), mark(last, Some(Hash::ZERO))]);
    }
    if last > 1 {
        marks.extend([
            mark(last - 1, None),
            mark(last - 1, Some(hash(last - 1))),
            mark(last - 1, Some(Hash::ZERO)),
        ]);
    }
    marks
}

fn suffixes(last: u64) -> Vec<Suffix> {
    let mut suffixes = vec![Suffix::Nothing, Suffix::Newer { version: 2 }];
    for fault in [Fault::Unterminated, FRAME] {
        for highest_dur in [None, Some(Seq(last)), Some(Seq(last + 1)), Some(Seq(last + 2))] {
            for claimed_twice in [None, Some((Seq(last), 5))] {
                let sound = highest_dur.map(|_| (Seq(last + 2), Seq(last + 3)));
                suffixes.push(Suffix::Bad(Bad { fault, bytes: 9, highest_dur, claimed_twice, sound }));
            }
        }
    }
    suffixes
}

/// The table of ledger-format.md, row by row: the first row whose observation holds.
fn oracle(facts: &Facts) -> Verdict {
    let have = facts.last.seq;
    let next = Seq(have.0 + 1);
    let dur = facts.durable;
    let appended = facts.appended.filter(|appended| appended.this_boot).map(|appended| appended.mark);
    let differs = |mark: &Mark| mark.found.is_some() && mark.found != Some(mark.hash);
    let beyond = |mark: &Mark| mark.seq > have;

    // Row 7: history rewritten.
    for mark in [dur, appended].into_iter().flatten() {
        if differs(&mark) {
            return Verdict::Rewritten { seq: mark.seq, expected: mark.hash, found: mark.found.unwrap() };
        }
    }
    // Row 9: newer format.
    if let Suffix::Newer { version } = facts.suffix {
        return Verdict::Newer { seq: next, version };
    }
    if let Suffix::Bad(bad) = facts.suffix {
        // Row 11: fork.
        if let Some((seq, at)) = bad.claimed_twice {
            return Verdict::Fork { seq, offset: facts.end + at };
        }
        // Rows 3, 4 and 5: damage, by the first witness.
        let mut witnesses = Vec::new();
        if bad.highest_dur.is_some_and(|dur| dur.0 > have.0) {
            witnesses.push(Evidence::LaterRecord { dur: bad.highest_dur.unwrap() });
        }
        if let Some(mark) = dur.filter(beyond) {
            witnesses.push(Evidence::DurableMark { dur: mark.seq });
        }
        if facts.later_segment {
            witnesses.push(Evidence::SealedSegment);
        }
        if have == Seq::ZERO {
            witnesses.push(Evidence::Genesis);
        }
        if let Some(mark) = appended.filter(beyond) {
            witnesses.push(Evidence::AppendMark { seq: mark.seq });
        }
        // Row 10: after a sync that failed, what was only appended may be gone.
        let lasting = witnesses.iter().any(|found| !matches!(found, Evidence::AppendMark { .. }));
        if facts.poisoned && !lasting {
            return Verdict::SyncUnknown;
        }
        if let Some(evidence) = witnesses.first() {
            return Verdict::Damaged {
                seq: next,
                offset: facts.end,
                fault: bad.fault,
                evidence: *evidence,
                sound_after: bad.sound,
            };
        }
        // Row 2.
        return Verdict::Torn { seq: next, offset: facts.end, bytes: bad.bytes };
    }
    // Row 5 again: a whole segment is gone.
    if facts.later_segment {
        let (fault, evidence) = (Fault::MissingSegment, Evidence::SealedSegment);
        return Verdict::Damaged { seq: next, offset: facts.end, fault, evidence, sound_after: None };
    }
    // Row 6: rollback.
    let mut expected = 1;
    for mark in [dur, appended.filter(|_| !facts.poisoned)].into_iter().flatten() {
        expected = expected.max(mark.seq.0);
    }
    if expected > have.0 {
        return Verdict::Rollback { have, expected: Seq(expected) };
    }
    match (facts.poisoned, facts.sealed, appended.is_some_and(|mark| mark.seq == have)) {
        (true, _, _) => Verdict::SyncUnknown,
        (_, true, _) => Verdict::FinishRotation,
        (_, _, true) => Verdict::Clean,
        _ => Verdict::Adopt,
    }
}

#[test]
fn every_combination_of_the_facts_has_the_verdict_of_the_table() {
    let mut combinations = 0;
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for last in [0, 1, 2, 40] {
        let link = Link { seq: Seq(last), hash: hash(last), ts: Timestamp::MIN };
        for suffix in suffixes(last) {
            for durable in marks(last) {
                for append in marks(last) {
                    for flags in 0..16 {
                        let flag = |bit: u32| flags >> bit & 1 == 1;
                        let facts = Facts {
                            last: link,
                            end: END,
                            suffix,
                            sealed: flag(0),
                            later_segment: flag(1),
                            appended: append.map(|mark| Appended { mark, this_boot: flag(2) }),
                            durable,
                            poisoned: flag(3),
                        };
                        let verdict = judge(&facts);
                        assert_eq!(verdict, oracle(&facts), "{facts:?}");
                        let name = format!("{verdict:?}");
                        *seen.entry(name.split([' ', '{']).next().unwrap().to_owned()).or_default() += 1;
                        combinations += 1;
                    }
                }
            }
        }
    }
    assert_eq!(combinations, 18 * 16 * (3 * 3 + 5 * 5 + 8 * 8 + 8 * 8));
    assert_eq!(seen.len(), 10, "every row is met: {seen:?}");
}

#[test]
fn nothing_but_a_torn_tail_is_ever_cut() {
    for suffix in suffixes(40) {
        for durable in marks(40) {
            let link = Link { seq: Seq(40), hash: hash(40), ts: Timestamp::MIN };
            let facts = Facts {
                last: link,
                end: END,
                suffix,
                sealed: false,
                later_segment: false,
                appended: None,
                durable,
                poisoned: false,
            };
            if let Verdict::Torn { seq, .. } = judge(&facts) {
                assert!(durable.is_none_or(|mark| mark.seq < seq));
                assert!(matches!(suffix, Suffix::Bad(bad) if bad.highest_dur.is_none_or(|dur| dur < seq)));
            }
        }
    }
}
