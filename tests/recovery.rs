//! What crashes and tampering do to a log, and what becomes of it: never a silent loss, never a silent repair.

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use common::*;
use loopx::id::Seq;
use loopx::log::{Cursor, FileLog, Log, LogError, VerifyOptions, VerifyReport, verify};
use loopx::record::Verdict;
use loopx::record::recover::{Evidence, Fault};

/// What has become of HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    Present,
    Absent,
    OtherBoot,
    Garbled,
}

const MEMORIES: [Memory; 4] = [Memory::Present, Memory::Absent, Memory::OtherBoot, Memory::Garbled];

fn remember(root: &Path, memory: Memory) {
    match memory {
        Memory::Present => {}
        Memory::Absent => fs::remove_file(head_path(root)).unwrap(),
        Memory::OtherBoot => age_head(root),
        Memory::Garbled => fs::write(head_path(root), "x".repeat(500)).unwrap(),
    }
}

/// A ledger of `durable` acknowledged records and `more` that nobody waited for.
fn ledger(durable: u64, more: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let log = create(&dir.path().join(".loopx"));
    for count in 1..durable {
        append_durably(&log, &format!("note {count}"));
    }
    for count in 0..more {
        append(&log, &format!("late {count}"));
    }
    dir
}

fn check(root: &Path) -> VerifyReport {
    verify(root, &VerifyOptions::default(), &mut |_, _| ControlFlow::Continue(())).unwrap()
}

fn lines(root: &Path) -> Vec<Vec<u8>> {
    fs::read(segment(root, 1)).unwrap().split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

fn write_lines(root: &Path, lines: &[Vec<u8>]) {
    overwrite(&segment(root, 1), &lines.concat());
}

/// A writer may go on: the prefix is as it was, the rest lies in quarantine, and it is told of until something is recorded.
fn recovers(root: &Path, prefix: &[u8], cut: &[u8]) {
    let log = FileLog::open(root).unwrap();
    let transaction = log.transaction(&WAIT).unwrap();
    let [recovered] = transaction.recovered() else { panic!("{:?}", transaction.recovered()) };
    let recovered = recovered.clone();
    assert_eq!((recovered.bytes, recovered.offset), (cut.len() as u64, prefix.len() as u64));
    drop(transaction);
    assert_eq!(fs::read(segment(root, 1)).unwrap(), prefix);
    assert!(quarantined(root).iter().any(|bytes| bytes == cut));
    assert_eq!(log.transaction(&WAIT).unwrap().recovered(), [recovered], "as long as it is not on record");
    append_durably(&log, "after");
    assert_eq!(log.transaction(&WAIT).unwrap().recovered(), []);
    assert_eq!(check(root).verdict, Verdict::Clean);
}

/// A writer finds out before it can decide anything: when its transaction begins, or when it reads under the lock.
fn no_writer_goes_on(log: &FileLog) {
    if let Ok(transaction) = log.transaction(&WAIT) {
        assert!(transaction.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())).is_err());
    }
}

/// No writer goes on, every reader is told, and not a byte changes.
fn stays_as_it_is(root: &Path) {
    let before = fs::read(segment(root, 1)).unwrap();
    let log = FileLog::open(root).unwrap();
    no_writer_goes_on(&log);
    assert!(log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())).is_err());
    assert_eq!(fs::read(segment(root, 1)).unwrap(), before);
    assert!(quarantined(root).is_empty());
}

#[test]
fn an_unacknowledged_record_cut_at_any_byte_is_moved_aside() {
    let origin = ledger(3, 0);
    let head = read_all(&FileLog::open(&origin.path().join(".loopx")).unwrap()).last().unwrap().0;
    let next = line(&head, Seq(3), "agent/w7", "r4", &note("cut"));
    let prefix = fs::read(segment(&origin.path().join(".loopx"), 1)).unwrap();
    for memory in MEMORIES {
        for cut in 1..next.len() {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join(".loopx");
            copy_dir(&origin.path().join(".loopx"), &root);
            remember(&root, memory);
            overwrite(&segment(&root, 1), &[&prefix, &next[..cut]].concat());
            let report = check(&root);
            assert_eq!(report.verdict, Verdict::Torn { seq: Seq(4), offset: head.end, bytes: cut as u64 });
            assert_eq!(report.pending.unwrap().bytes, cut as u64);
            if cut % 16 == 1 || cut + 2 > next.len() {
                recovers(&root, &prefix, &next[..cut]);
            }
        }
    }
}

#[test]
fn an_acknowledged_record_cut_at_any_byte_is_damage_as_long_as_anything_remembers_it() {
    for memory in MEMORIES {
        let dir = ledger(4, 0);
        let root = dir.path().join(".loopx");
        let lines = lines(&root);
        let prefix = lines[..3].concat();
        remember(&root, memory);
        for cut in 0..lines[3].len() {
            overwrite(&segment(&root, 1), &[&prefix, &lines[3][..cut]].concat());
            let verdict = check(&root).verdict;
            match (memory, cut) {
                (Memory::Present | Memory::OtherBoot, 0) => {
                    assert_eq!(verdict, Verdict::Rollback { have: Seq(3), expected: Seq(4) });
                }
                (Memory::Present | Memory::OtherBoot, _) => {
                    assert!(matches!(
                        verdict,
                        Verdict::Damaged {
                            seq: Seq(4),
                            fault: Fault::Unterminated,
                            evidence: Evidence::DurableMark { dur: Seq(4) },
                            ..
                        }
                    ));
                    if cut % 64 == 1 {
                        stays_as_it_is(&root);
                    }
                }
                // Nothing in the log itself names its last record: only HEAD, a later record or a checkpoint can.
                (Memory::Absent | Memory::Garbled, 0) => assert_eq!(verdict, Verdict::Adopt),
                (Memory::Absent | Memory::Garbled, _) => {
                    assert!(matches!(verdict, Verdict::Torn { seq: Seq(4), .. }));
                }
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_acknowledged_history_is_found_at_its_record() {
    flip_every_bit(Memory::Present);
}

#[test]
fn every_flipped_bit_is_found_without_head_as_well() {
    flip_every_bit(Memory::Absent);
}

fn flip_every_bit(memory: Memory) {
    let dir = ledger(5, 0);
    let root = dir.path().join(".loopx");
    let whole = fs::read(segment(&root, 1)).unwrap();
    let all = lines(&root);
    let ends: Vec<usize> = all
        .iter()
        .scan(0, |sum, line| {
            *sum += line.len();
            Some(*sum)
        })
        .collect();
    remember(&root, memory);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            overwrite(&segment(&root, 1), &bytes);
            let seq = 1 + ends.iter().filter(|end| **end <= at).count() as u64;
            let report = check(&root);
            // Without HEAD the last record's own successor is missing, and so is the witness of its durability.
            let torn = memory == Memory::Absent && seq == 5;
            match report.verdict {
                Verdict::Torn { seq: found, .. } => assert!(torn && found == Seq(seq), "{at}.{bit}"),
                Verdict::Damaged { seq: found, sound_after, .. } => {
                    assert!(!torn && found == Seq(seq), "{at}.{bit}: {found} {seq}");
                    let rest = (seq + 1 < 5).then_some(Seq(5));
                    assert!(rest.is_none() || sound_after.is_some_and(|(_, to)| Some(to) == rest));
                }
                other => panic!("{at}.{bit}: {other:?}"),
            }
            assert_eq!(report.head.seq, Seq(seq - 1));
        }
    }
    overwrite(&segment(&root, 1), &whole);
    assert!(check(&root).error().is_none());
}

#[test]
fn deleted_lines_are_found_whatever_head_knows() {
    for memory in MEMORIES {
        let dir = ledger(6, 0);
        let root = dir.path().join(".loopx");
        let all = lines(&root);
        remember(&root, memory);
        for at in 0..all.len() {
            let mut left = all.clone();
            left.remove(at);
            write_lines(&root, &left);
            let verdict = check(&root).verdict;
            let seq = Seq(at as u64 + 1);
            let knows = matches!(memory, Memory::Present | Memory::OtherBoot);
            match at {
                5 if knows => assert_eq!(verdict, Verdict::Rollback { have: Seq(5), expected: Seq(6) }),
                5 => assert_eq!(
                    verdict,
                    Verdict::Adopt,
                    "truncation leaves no trace without a memory elsewhere"
                ),
                _ => assert!(
                    matches!(verdict, Verdict::Damaged { seq: found, .. } if found == seq),
                    "{verdict:?}"
                ),
            }
            if at < 5 || knows {
                stays_as_it_is(&root);
            }
        }
    }
}

#[test]
fn a_repeated_line_is_a_fork_and_swapped_lines_are_damage() {
    for memory in MEMORIES {
        let dir = ledger(6, 0);
        let root = dir.path().join(".loopx");
        let all = lines(&root);
        remember(&root, memory);
        for at in 0..all.len() {
            let mut more = all.clone();
            more.insert(at, all[at].clone());
            write_lines(&root, &more);
            assert!(matches!(check(&root).verdict, Verdict::Fork { seq, .. } if seq == Seq(at as u64 + 1)));
            stays_as_it_is(&root);
        }
        for at in 0..all.len() - 1 {
            let mut swapped = all.clone();
            swapped.swap(at, at + 1);
            write_lines(&root, &swapped);
            let verdict = check(&root).verdict;
            assert!(
                matches!(verdict, Verdict::Damaged { seq, .. } if seq == Seq(at as u64 + 1)),
                "{verdict:?}"
            );
            stays_as_it_is(&root);
        }
    }
}

#[test]
fn a_line_feed_lost_between_two_records_does_not_hide_the_second() {
    let dir = ledger(3, 0);
    let root = dir.path().join(".loopx");
    fs::remove_file(head_path(&root)).unwrap();
    let mut all = lines(&root);
    *all[1].last_mut().unwrap() = b' ';
    write_lines(&root, &all);
    let verdict = check(&root).verdict;
    let expected = Evidence::LaterRecord { dur: Seq(2) };
    assert!(
        matches!(verdict, Verdict::Damaged { seq: Seq(2), evidence, .. } if evidence == expected),
        "{verdict:?}"
    );
}

#[test]
fn zeroes_after_a_power_loss_are_moved_aside_and_acknowledged_records_stay() {
    for memory in [Memory::OtherBoot, Memory::Absent] {
        let dir = ledger(3, 2);
        let root = dir.path().join(".loopx");
        let all = lines(&root);
        remember(&root, memory);
        let prefix = all[..3].concat();
        let zeroes = vec![0; all[3].len() + all[4].len() + 100];
        overwrite(&segment(&root, 1), &[&prefix[..], &zeroes].concat());
        recovers(&root, &prefix, &zeroes);
    }
}

#[test]
fn an_unsynced_record_lost_before_a_kept_one_takes_it_along_to_the_quarantine() {
    let dir = ledger(3, 2);
    let root = dir.path().join(".loopx");
    let all = lines(&root);
    remember(&root, Memory::OtherBoot);
    let prefix = all[..3].concat();
    let cut = [&vec![0; all[3].len()][..], &all[4]].concat();
    overwrite(&segment(&root, 1), &[&prefix[..], &cut].concat());
    recovers(&root, &prefix, &cut);
}

#[test]
fn on_the_same_boot_an_appended_record_that_is_gone_is_not_a_crash() {
    let dir = ledger(3, 2);
    let root = dir.path().join(".loopx");
    let all = lines(&root);
    write_lines(&root, &all[..4]);
    assert_eq!(check(&root).verdict, Verdict::Rollback { have: Seq(4), expected: Seq(5) });
    stays_as_it_is(&root);
    let mut torn = all[..4].to_vec();
    torn.push(all[4][..50].to_vec());
    write_lines(&root, &torn);
    let verdict = check(&root).verdict;
    let expected = Evidence::AppendMark { seq: Seq(5) };
    assert!(matches!(verdict, Verdict::Damaged { seq: Seq(5), evidence, .. } if evidence == expected));
    remember(&root, Memory::OtherBoot);
    recovers(&root, &all[..4].concat(), &all[4][..50]);
}

#[test]
fn records_that_head_does_not_know_are_adopted() {
    for memory in [Memory::Absent, Memory::OtherBoot, Memory::Garbled] {
        let dir = ledger(3, 2);
        let root = dir.path().join(".loopx");
        let before = fs::read(segment(&root, 1)).unwrap();
        remember(&root, memory);
        assert_eq!(check(&root).verdict, Verdict::Adopt);
        let log = FileLog::open(&root).unwrap();
        let transaction = log.transaction(&WAIT).unwrap();
        assert_eq!((transaction.head().seq, transaction.recovered()), (Seq(5), &[][..]));
        drop(transaction);
        assert_eq!(fs::read(segment(&root, 1)).unwrap(), before);
        assert_eq!(check(&root).verdict, Verdict::Clean);
    }
}

#[test]
fn rewritten_history_is_found_by_every_memory_of_it() {
    let dir = ledger(4, 0);
    let root = dir.path().join(".loopx");
    let log = FileLog::open(&root).unwrap();
    let all = read_all(&log);
    let forged = line(&all[2].0, Seq(3), "agent/w7", "r4", &note("another story"));
    write_lines(&root, &[lines(&root)[..3].concat(), forged]);
    assert!(matches!(check(&root).verdict, Verdict::Rewritten { seq: Seq(4), .. }));
    stays_as_it_is(&root);
    fs::remove_file(head_path(&root)).unwrap();
    assert_eq!(check(&root).verdict, Verdict::Adopt, "without an anchor the chain proves consistency only");
    let against = loopx::log::Anchor { seq: Seq(4), hash: all[3].0.hash };
    let options = VerifyOptions { against: Some(against), digests: true };
    let report = verify(&root, &options, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(matches!(report.error(), Some(LogError::Rewritten { seq: Seq(4), .. })));
    let against = loopx::log::Anchor { seq: Seq(9), hash: all[3].0.hash };
    let options = VerifyOptions { against: Some(against), digests: true };
    let report = verify(&root, &options, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(matches!(report.error(), Some(LogError::RolledBack { have: Seq(4), expected: Seq(9) })));
}

#[test]
fn a_record_of_a_newer_version_is_read_up_to_and_never_written_after() {
    let dir = ledger(3, 0);
    let root = dir.path().join(".loopx");
    let mut all = lines(&root);
    let preimage = b"{\"v\":2,\"seq\":4,\"what\":\"we do not know\"";
    let hash = loopx::hash::Hash::record(preimage);
    all.push([&preimage[..], format!(",\"hash\":\"{hash}\"}}\n").as_bytes()].concat());
    write_lines(&root, &all);
    assert_eq!(check(&root).verdict, Verdict::Newer { seq: Seq(4), version: 2 });
    stays_as_it_is(&root);
    let log = FileLog::open(&root).unwrap();
    let mut seen = 0;
    let read = log.read(&Cursor::START, &mut |_, _| {
        seen += 1;
        ControlFlow::Continue(())
    });
    assert!(matches!(read, Err(LogError::Newer { version: 2, seq: Some(Seq(4)) })));
    assert_eq!(seen, 3);
}

/// A ledger of two segments: records 1 to 3 with the seal, and records 4 and 5.
fn two_segments() -> tempfile::TempDir {
    let dir = ledger(2, 0);
    let log = FileLog::open(&dir.path().join(".loopx")).unwrap();
    rotate(&log);
    append_durably(&log, "four");
    append_durably(&log, "five");
    dir
}

#[test]
fn a_crash_in_a_rotation_is_finished_by_the_next_writer() {
    for memory in MEMORIES {
        let dir = ledger(2, 0);
        let root = dir.path().join(".loopx");
        let log = FileLog::open(&root).unwrap();
        rotate(&log);
        fs::remove_file(segment(&root, 4)).unwrap();
        remember(&root, memory);
        assert_eq!(check(&root).verdict, Verdict::FinishRotation);
        let next = append_durably(&log, "next");
        assert_eq!((next.seq, next.segment), (Seq(4), Seq(4)));
        assert_eq!(check(&root).verdict, Verdict::Clean);
        assert_eq!(check(&root).segments.len(), 2);
    }
}

#[test]
fn damage_in_a_sealed_segment_is_damage_whatever_head_knows() {
    for memory in MEMORIES {
        let dir = two_segments();
        let root = dir.path().join(".loopx");
        remember(&root, memory);
        let all = lines(&root);
        let mut cut = all.clone();
        cut[2].truncate(100);
        write_lines(&root, &cut);
        let verdict = check(&root).verdict;
        assert!(matches!(verdict, Verdict::Damaged { seq: Seq(3), sound_after: Some((Seq(4), Seq(5))), .. }));
        stays_as_it_is(&root);
        write_lines(&root, &all[..2]);
        assert!(matches!(
            check(&root).verdict,
            Verdict::Damaged { seq: Seq(3), fault: Fault::MissingSegment, .. }
        ));
        stays_as_it_is(&root);
    }
}

#[test]
fn a_missing_segment_is_never_taken_for_an_empty_one() {
    for memory in MEMORIES {
        let dir = two_segments();
        let root = dir.path().join(".loopx");
        remember(&root, memory);
        let log = FileLog::open(&root).unwrap();
        let read = || log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(()));
        fs::rename(segment(&root, 1), root.join("away")).unwrap();
        assert!(matches!(read(), Err(LogError::Damaged(_))));
        no_writer_goes_on(&log);
        fs::remove_file(segment(&root, 4)).unwrap();
        assert!(matches!(read(), Err(LogError::RolledBack { have: Seq(0), .. })));
        no_writer_goes_on(&log);
        overwrite(&segment(&root, 1), b"");
        assert!(matches!(read(), Err(LogError::RolledBack { have: Seq(0), .. })));
        no_writer_goes_on(&log);
    }
}

#[test]
fn a_recovery_done_twice_or_killed_half_way_is_a_recovery_done_once() {
    let dir = ledger(3, 0);
    let root = dir.path().join(".loopx");
    let prefix = fs::read(segment(&root, 1)).unwrap();
    let torn = b"{\"v\":1,\"seq\":4,\"pre";
    overwrite(&segment(&root, 1), &[&prefix[..], torn].concat());
    recovers(&root, &prefix, torn);
    // Killed after the copy and before the cut: the copy is there, the tail as well.
    let prefix = fs::read(segment(&root, 1)).unwrap();
    overwrite(&segment(&root, 1), &[&prefix[..], torn].concat());
    fs::create_dir_all(root.join("quarantine")).unwrap();
    recovers(&root, &prefix, torn);
    assert_eq!(quarantined(&root).len(), 2);
}

#[test]
fn every_inserted_or_removed_byte_is_found_at_its_record() {
    let dir = ledger(4, 0);
    let root = dir.path().join(".loopx");
    let whole = fs::read(segment(&root, 1)).unwrap();
    let all = lines(&root);
    let sound_lines = |bytes: &[u8]| {
        (0..=all.len()).rev().find(|count| bytes.starts_with(&all[..*count].concat())).unwrap()
    };
    for at in 0..whole.len() {
        let mut variants = vec![[&whole[..at], &whole[at + 1..]].concat()];
        for byte in [b'\n', b'0', b'"', 0xff] {
            variants.push([&whole[..at], &[byte], &whole[at..]].concat());
        }
        for bytes in variants {
            overwrite(&segment(&root, 1), &bytes);
            let sound = sound_lines(&bytes);
            let verdict = check(&root).verdict;
            let next = Seq(sound as u64 + 1);
            if sound == all.len() {
                assert!(
                    matches!(verdict, Verdict::Torn { seq, bytes: 1, .. } if seq == next),
                    "{at}: {verdict:?}"
                );
            } else {
                assert!(matches!(verdict, Verdict::Damaged { seq, .. } if seq == next), "{at}: {verdict:?}");
            }
        }
    }
}
