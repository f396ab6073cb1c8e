//! The contract of `Log`, on every backend, and what only files can show.

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use common::*;
use loopx::id::Seq;
use loopx::limits::{RECORD_MAX_BYTES, SEGMENT_MAX_BYTES, SEGMENT_TARGET_BYTES};
use loopx::log::{
    AppendError, Cursor, FileLog, Log, LogError, MemoryLog, Refused, VerifyOptions, Wait, verify,
};
use loopx::record::Verdict;

fn on_every_backend(property: fn(&dyn Log)) {
    let memory = MemoryLog::new();
    memory.transaction(&WAIT).unwrap().append(&Cursor::START, &genesis()).unwrap();
    property(&memory);
    let dir = tempfile::tempdir().unwrap();
    property(&create(&dir.path().join(".loopx")));
}

#[test]
fn what_is_appended_is_read_back_in_order_byte_for_byte() {
    on_every_backend(|log| {
        let texts = ["one", "two", "three"];
        let cursors: Vec<Cursor> = texts.iter().map(|text| append(log, text)).collect();
        let all = read_all(log);
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].1, genesis().strip_suffix(b"\n").unwrap());
        for ((cursor, line), (expected, text)) in all[1..].iter().zip(cursors.iter().zip(texts)) {
            assert_eq!(cursor, expected);
            assert!(String::from_utf8_lossy(line).contains(&note(text)));
        }
    });
}

#[test]
fn reading_goes_on_from_every_cursor_and_stops_when_told() {
    on_every_backend(|log| {
        append(log, "one");
        rotate(log);
        append(log, "two");
        let all = read_all(log);
        assert_eq!(all.len(), 4);
        for (count, (from, _)) in all.iter().enumerate() {
            let mut seen = Vec::new();
            let tail = log
                .read(from, &mut |record, _| {
                    seen.push(record.seq());
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert_eq!(seen.len(), all.len() - count - 1);
            assert_eq!(tail.head, all[3].0);
            let tail = log.read(from, &mut |_, _| ControlFlow::Break(())).unwrap();
            assert_eq!(tail.head, all[(count + 1).min(3)].0);
        }
    });
}

#[test]
fn a_cursor_that_is_not_on_the_log_is_told_so() {
    on_every_backend(|log| {
        let good = append(log, "one");
        for bad in [
            Cursor { hash: loopx::hash::Hash::blob(b"x"), ..good },
            Cursor { end: good.end - 1, ..good },
            Cursor { end: good.end + 1, ..good },
            Cursor { end: u64::MAX, ..good },
            Cursor { end: 0, ..good },
            Cursor { ts: loopx::time::Timestamp::MAX, ..good },
            Cursor { seq: Seq(1), ..good },
            Cursor { segment: Seq(7), ..good },
        ] {
            let read = log.read(&bad, &mut |_, _| ControlFlow::Continue(()));
            assert!(matches!(read, Err(LogError::CursorUnknown { .. })), "{bad:?}");
        }
    });
}

#[test]
fn a_stale_expectation_is_a_conflict_and_stores_nothing() {
    on_every_backend(|log| {
        let before = read_all(log)[0].0;
        let head = append(log, "one");
        let mut transaction = log.transaction(&WAIT).unwrap();
        let line = line(&before, Seq::ZERO, "agent/w7", "late", &note("late"));
        match transaction.append(&before, &line) {
            Err(AppendError::Conflict { head: found }) => assert_eq!(found, head),
            other => panic!("{other:?}"),
        }
        drop(transaction);
        assert_eq!(read_all(log).len(), 2);
    });
}

#[test]
fn a_line_that_is_not_the_next_record_is_refused() {
    on_every_backend(|log| {
        let head = append(log, "one");
        let good = line(&head, Seq::ZERO, "agent/w7", "next", &note("next"));
        let skipped = line(&Cursor { seq: Seq(9), ..head }, Seq::ZERO, "agent/w7", "x", &note("x"));
        let mut flipped = good.clone();
        flipped[100] ^= 1;
        let twice = [good.clone(), good.clone()].concat();
        let mut transaction = log.transaction(&WAIT).unwrap();
        for bad in [&skipped[..], &flipped, &twice, &good[..good.len() - 1], b"", b"\n"] {
            match transaction.append(&head, bad) {
                Err(AppendError::NotStored(LogError::NotNext(refused))) => {
                    assert_eq!(
                        *refused == Refused::NotOneLine,
                        bad.is_empty() || bad == twice || !bad.ends_with(b"\n")
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        transaction.append(&head, &good).unwrap();
        drop(transaction);
        assert_eq!(read_all(log).len(), 3);
    });
}

#[test]
fn many_records_fit_one_transaction_and_readers_see_each_as_it_is_stored() {
    on_every_backend(|log| {
        let mut transaction = log.transaction(&WAIT).unwrap();
        for count in 0..20 {
            let head = transaction.head();
            let line = line(&head, Seq::ZERO, "agent/w7", &format!("r{count}"), &note("bulk"));
            let stored = transaction.append(&head, &line).unwrap();
            assert_eq!(transaction.head(), stored);
            assert_eq!(read_all(log).last().unwrap().0, stored);
        }
    });
}

#[test]
fn only_one_transaction_at_a_time_and_the_wait_is_bounded() {
    on_every_backend(|log| {
        let holder = log.transaction(&Wait { holder: "pid 7 add since noon", wait_ms: 0 }).unwrap();
        let since = Instant::now();
        let second = log.transaction(&Wait { holder: "second", wait_ms: 60 });
        match second.map(drop) {
            Err(LogError::Busy { holder, waited_ms }) => {
                assert_eq!(holder, "pid 7 add since noon");
                assert!((60..2_000).contains(&waited_ms));
            }
            other => panic!("{other:?}"),
        }
        assert!(since.elapsed() < Duration::from_secs(2));
        assert_eq!(read_all(log).len(), 1, "readers need no lock");
        drop(holder);
        append(log, "after");
    });
}

#[test]
fn durability_covers_everything_before_and_is_reported() {
    on_every_backend(|log| {
        let first = append(log, "one");
        let last = append(log, "two");
        assert_eq!(log.make_durable(&last, &WAIT).unwrap(), Seq(3));
        assert_eq!(log.make_durable(&first, &WAIT).unwrap(), Seq(3));
        assert_eq!(log.transaction(&WAIT).unwrap().durable(), Seq(3));
        let tail = log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((tail.durable, tail.pending), (Seq(3), None));
    });
}

#[test]
fn a_segment_is_sealed_and_the_next_one_begins() {
    on_every_backend(|log| {
        append(log, "one");
        let sealed = rotate(log);
        assert_eq!((sealed.seq, sealed.segment), (Seq(3), Seq(1)));
        assert_eq!(log.transaction(&WAIT).unwrap().head(), sealed);
        assert_eq!(log.transaction(&WAIT).unwrap().durable(), Seq(3));
        let next = append_durably(log, "two");
        assert_eq!((next.seq, next.segment), (Seq(4), Seq(4)));
        assert_eq!(rotate(log).segment, Seq(4));
        assert_eq!(read_all(log).len(), 5);
    });
}

#[test]
fn threads_and_handles_interleave_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    create(&root);
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let root = &root;
            scope.spawn(move || {
                let log = FileLog::open(root).unwrap();
                for count in 0..25 {
                    append_durably(&log, &format!("{worker}-{count}"));
                }
            });
        }
    });
    let report = verify(&root, &VerifyOptions::default(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.head.seq, report.durable, report.verdict), (Seq(201), Seq(201), Verdict::Clean));
}

fn ledger() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    append_durably(&create(&root), "one");
    (dir, root)
}

/// Reading and writing both end in an error that `expected` accepts, and nothing changes.
fn both_fail(root: &Path, expected: fn(&LogError) -> bool) {
    let read = FileLog::open(root)
        .and_then(|log| log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())).map(drop));
    let written = FileLog::open(root).and_then(|log| log.transaction(&WAIT).map(drop));
    for error in [read.unwrap_err(), written.unwrap_err()] {
        assert!(expected(&error), "{error:?}");
    }
}

#[test]
fn a_directory_where_a_file_should_be_is_said_to_be_one() {
    for name in ["log/FORMAT", "log/HEAD", "log/00000000000000000001.jsonl"] {
        let (_dir, root) = ledger();
        fs::remove_file(root.join(name)).unwrap();
        fs::create_dir(root.join(name)).unwrap();
        both_fail(&root, |error| matches!(error, LogError::WrongType { .. }));
    }
    let (_dir, root) = ledger();
    fs::remove_dir_all(root.join("log")).unwrap();
    fs::write(root.join("log"), "").unwrap();
    both_fail(&root, |error| matches!(error, LogError::WrongType { .. }));
}

#[test]
fn a_link_in_place_of_a_segment_is_not_followed() {
    let (_dir, root) = ledger();
    let away = root.join("away");
    fs::rename(segment(&root, 1), &away).unwrap();
    std::os::unix::fs::symlink(&away, segment(&root, 1)).unwrap();
    both_fail(&root, |error| matches!(error, LogError::WrongType { .. }));
}

#[test]
fn what_is_not_a_ledger_and_what_is_a_newer_one_are_told_apart() {
    let (dir, root) = ledger();
    for nothing in [dir.path().join("nowhere"), dir.path().to_owned()] {
        both_fail(&nothing, |error| matches!(error, LogError::NotALedger { .. }));
    }
    fs::write(root.join("log/FORMAT"), "loopx-ledger/2\nsomething else\n").unwrap();
    both_fail(&root, |error| matches!(error, LogError::Newer { version: 2, seq: None }));
    for garbled in [
        "",
        "loopx",
        "loopx-ledger/1\n",
        "loopx-ledger/1\nxyz\n",
        "loopx-ledger/0\n01J5ZK0000000000000000000A\n",
    ] {
        fs::write(root.join("log/FORMAT"), garbled).unwrap();
        both_fail(&root, |error| matches!(error, LogError::FormatLost { .. }));
    }
}

#[test]
fn a_ledger_of_another_user_is_read_and_not_written() {
    let (_dir, root) = ledger();
    let own = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap());
    if own != 0 {
        println!("skipped: only root can give a directory away");
        return;
    }
    std::os::unix::fs::chown(root.join("log"), Some(4711), None).unwrap();
    let log = FileLog::open(&root).unwrap();
    assert_eq!(read_all(&log).len(), 2);
    let refused = log.transaction(&WAIT).map(drop);
    assert!(matches!(refused, Err(LogError::ForeignOwner { uid: 4711, .. })));
}

#[test]
fn a_second_creation_is_refused_and_changes_nothing() {
    let (dir, root) = ledger();
    let before = fs::read(segment(&root, 1)).unwrap();
    let again = FileLog::create(&root, LEDGER.parse().unwrap(), &genesis(), false);
    assert!(matches!(again, Err(LogError::AlreadyExists { .. })));
    assert_eq!(fs::read(segment(&root, 1)).unwrap(), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_ledger_is_private_unless_its_history_is_tracked() {
    let (dir, root) = ledger();
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");
    let tracked = dir.path().join("tracked");
    FileLog::create(&tracked, LEDGER.parse().unwrap(), &genesis(), true).unwrap();
    let rules = fs::read_to_string(tracked.join(".gitignore")).unwrap();
    assert!(rules.contains("!/log/*.jsonl\n") && !rules.contains("HEAD"));
}

#[test]
fn readers_pass_over_a_record_in_progress_and_say_so() {
    let (_dir, root) = ledger();
    let log = FileLog::open(&root).unwrap();
    let head = read_all(&log)[1].0;
    let next = line(&head, Seq(2), "agent/w7", "r3", &note("in progress"));
    let mut bytes = fs::read(segment(&root, 1)).unwrap();
    bytes.extend_from_slice(&next[..50]);
    fs::write(segment(&root, 1), &bytes).unwrap();
    let tail = log.read(&head, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(tail.head, head);
    assert_eq!(tail.pending.map(|pending| (pending.offset, pending.bytes)), Some((head.end, 50)));
}

#[test]
fn verification_can_be_watched_and_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    let log = create(&root);
    let mut transaction = log.transaction(&WAIT).unwrap();
    for count in 0..9_000 {
        let head = transaction.head();
        let line = line(&head, Seq(1), "agent/w7", &format!("r{count}"), &note("x"));
        transaction.append(&head, &line).unwrap();
    }
    drop(transaction);
    let mut seen = Vec::new();
    let options = VerifyOptions { against: None, digests: true, hands: None };
    let report = verify(&root, &options, &mut |seq, _| {
        seen.push(seq.0);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, [4096, 8192]);
    let bytes = fs::read(segment(&root, 1)).unwrap();
    assert_eq!(report.bytes, bytes.len() as u64);
    assert_eq!(report.segments[0].digest, Some(loopx::hash::Hash::blob(&bytes)));
    let stopped = verify(&root, &options, &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(LogError::Interrupted { seq: Seq(4096) })));
}

#[test]
fn records_of_every_size_up_to_the_limit_are_read_from_every_cursor() {
    on_every_backend(|log| {
        let fixed = append(log, "").end - genesis().len() as u64;
        for size in [10, 4 << 10, 64 << 10, 200 << 10, 256 << 10, 300 << 10, 600 << 10] {
            append(log, &"x".repeat(size));
            append(log, "small");
        }
        let longest = append(log, &"x".repeat(RECORD_MAX_BYTES - usize::try_from(fixed).unwrap() - 2));
        let all = read_all(log);
        assert_eq!(all.len(), 17);
        assert!(all[16].1.len() + 2 >= RECORD_MAX_BYTES, "{}", all[16].1.len());
        assert_eq!(log.transaction(&WAIT).unwrap().head(), longest);
        for (count, (from, _)) in all.iter().enumerate() {
            let mut lines = Vec::new();
            log.read(from, &mut |record, _| {
                lines.push(record.line().to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
            assert!(lines.iter().eq(all[count + 1..].iter().map(|(_, line)| line)));
        }
    });
}

#[test]
fn a_segment_asks_for_its_seal_and_is_bounded() {
    on_every_backend(|log| {
        let mut transaction = log.transaction(&WAIT).unwrap();
        let big = note(&"x".repeat(1 << 19));
        let mut asked_at = 0;
        let refused = loop {
            let head = transaction.head();
            let line = line(&head, Seq(1), "agent/w7", "r", &big);
            if asked_at == 0 && transaction.wants_seal() {
                asked_at = head.end;
            }
            match transaction.append(&head, &line) {
                Ok(_) => {}
                Err(AppendError::NotStored(error)) => break error,
                Err(other) => panic!("{other:?}"),
            }
        };
        assert!(matches!(refused, LogError::LimitExceeded { limit: SEGMENT_MAX_BYTES, .. }));
        assert!((SEGMENT_TARGET_BYTES..SEGMENT_TARGET_BYTES + (1 << 20)).contains(&asked_at));
        assert!(transaction.head().end > SEGMENT_MAX_BYTES - (1 << 20));
    });
}

#[test]
fn a_sealed_segment_takes_no_record_even_if_nobody_rotated() {
    on_every_backend(|log| {
        let mut transaction = log.transaction(&WAIT).unwrap();
        let head = transaction.head();
        let seal = line(&head, Seq(1), "system", "seal-1", &note("seal"));
        let sealed = transaction.append(&head, &seal).unwrap();
        assert!(!transaction.wants_seal());
        let next = line(&sealed, Seq(1), "agent/w7", "r", &note("next"));
        let next = transaction.append(&sealed, &next).unwrap();
        assert_eq!((next.seq, next.segment), (Seq(3), Seq(3)));
    });
}
