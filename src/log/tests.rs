//! What a file log does to its files, and what it does when they fail.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::disk::{Disk, DiskFile, How, SystemDisk};
use super::{AppendError, Cursor, FileLog, Log, LogError, Wait};
use crate::hash::Hash;
use crate::id::{Actor, Seq};
use crate::record::{Draft, frame};
use crate::time::Timestamp;

const WAIT: Wait<'_> = Wait { holder: "test", wait_ms: 1_000 };

/// The name of an operation on a file, such as `append 00000000000000000001.jsonl`.
type Op = String;

/// What a disk does instead of an operation.
#[derive(Debug, Clone, Copy)]
enum Failure {
    Error(io::ErrorKind),
    /// Only so many bytes are taken.
    Short(usize),
    /// Nothing happens from here on, as if the process had been killed.
    Killed,
}

/// A real disk that records every change, and fails the operations that are named.
#[derive(Default)]
struct Trial {
    ops: Mutex<Vec<Op>>,
    fail: Mutex<Vec<(String, Failure)>>,
    kill_after: Mutex<Option<usize>>,
    file_system: Mutex<Option<u32>>,
}

impl Trial {
    fn fail(&self, op: &str, failure: Failure) {
        self.fail.lock().unwrap().push((op.to_owned(), failure));
    }

    fn heal(&self) {
        self.fail.lock().unwrap().clear();
        *self.kill_after.lock().unwrap() = None;
    }

    fn ops(&self) -> Vec<Op> {
        std::mem::take(&mut self.ops.lock().unwrap())
    }

    /// Notes an operation; what to do instead of it, if anything.
    fn note(&self, op: &str, path: &Path) -> Option<Failure> {
        let name = format!("{op} {}", path.file_name().unwrap().to_string_lossy());
        let mut ops = self.ops.lock().unwrap();
        ops.push(name.clone());
        if self.kill_after.lock().unwrap().is_some_and(|limit| ops.len() > limit) {
            return Some(Failure::Killed);
        }
        self.fail.lock().unwrap().iter().find(|(op, _)| name.starts_with(op)).map(|(_, failure)| *failure)
    }

    fn check(&self, op: &str, path: &Path) -> io::Result<()> {
        match self.note(op, path) {
            None | Some(Failure::Short(_)) => Ok(()),
            Some(Failure::Error(kind)) => Err(kind.into()),
            Some(Failure::Killed) => Err(io::Error::other("killed")),
        }
    }
}

struct TrialDisk(Arc<Trial>);

struct TrialFile {
    trial: Arc<Trial>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
}

impl Disk for TrialDisk {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        if how == How::Create {
            self.0.check("create", path)?;
        }
        let file = SystemDisk.open(path, how)?;
        Ok(Box::new(TrialFile { trial: self.0.clone(), path: path.to_owned(), file }))
    }
    fn exists(&self, path: &Path) -> bool {
        SystemDisk.exists(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        SystemDisk.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.check("mkdir", dir)?;
        SystemDisk.create_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.check("syncdir", dir)?;
        SystemDisk.sync_dir(dir)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.check("rename", to)?;
        SystemDisk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.check("remove", path)?;
        SystemDisk.remove_file(path)
    }
    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        SystemDisk.remove_dir_all(dir)
    }
    fn foreign_owner(&self, dir: &Path) -> Option<u32> {
        SystemDisk.foreign_owner(dir)
    }
    fn file_system(&self, _dir: &Path) -> Option<u32> {
        *self.0.file_system.lock().unwrap()
    }
    fn boot_id(&self) -> Option<String> {
        Some("11111111-1111-1111-1111-111111111111".to_owned())
    }
    fn uptime(&self) -> Duration {
        SystemDisk.uptime()
    }
    fn pause(&self, rest: Duration) {
        SystemDisk.pause(rest);
    }
}

impl TrialFile {
    fn write(&self, op: &str, bytes: &[u8], write: impl Fn(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
        match self.trial.note(op, &self.path) {
            None => write(bytes),
            Some(Failure::Short(count)) => write(&bytes[..count.min(bytes.len())]),
            Some(Failure::Error(kind)) => Err(kind.into()),
            Some(Failure::Killed) => Err(io::Error::other("killed")),
        }
    }
}

impl DiskFile for TrialFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write("write", bytes, |bytes| self.file.write_at(bytes, offset))
    }
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write("append", bytes, |bytes| self.file.append(bytes))
    }
    fn truncate(&self, length: u64) -> io::Result<()> {
        self.trial.check("truncate", &self.path)?;
        self.file.truncate(length)
    }
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        self.trial.check("reserve", &self.path)?;
        self.file.reserve(offset, length)
    }
    fn sync(&self) -> io::Result<()> {
        self.trial.check("sync", &self.path)?;
        self.file.sync()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.trial.check("sync", &self.path)?;
        self.file.sync_all()
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
}

/// A ledger on a trial disk.
struct Bench {
    _dir: tempfile::TempDir,
    root: PathBuf,
    trial: Arc<Trial>,
    log: FileLog,
}

fn line(head: &Cursor, dur: Seq, request: &str, actor: &Actor) -> Vec<u8> {
    let mut out = Vec::new();
    let draft = Draft {
        seq: head.seq.next(),
        prev: head.hash,
        dur,
        ts: Timestamp::MIN,
        actor,
        request: &request.parse().unwrap(),
        digest: Hash::ZERO,
        events: b"{\"k\":\"note\",\"kv\":1,\"b\":{}}",
    };
    draft.write(&mut out).unwrap();
    out
}

fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    let trial = Arc::new(Trial::default());
    let genesis = line(&Cursor::START, Seq::ZERO, "init", &Actor::System);
    let id = "01J5ZK0000000000000000000A".parse().unwrap();
    let log = FileLog::create_on(Arc::new(TrialDisk(trial.clone())), &root, id, &genesis, false).unwrap();
    trial.ops();
    Bench { _dir: dir, root, trial, log }
}

impl Bench {
    fn append(&self) -> Result<Cursor, AppendError> {
        let mut transaction = self.log.transaction(&WAIT).map_err(AppendError::NotStored)?;
        let head = transaction.head();
        let line = line(&head, transaction.durable(), "r", &Actor::System);
        transaction.append(&head, &line)
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.root.join("log/00000000000000000001.jsonl")).unwrap()
    }

    fn count(&self) -> u64 {
        self.log.read(&Cursor::START, &mut |_, _| ControlFlow::Continue(())).unwrap().head.seq.0
    }

    fn seal(&self) -> Result<(), LogError> {
        let mut transaction = self.log.transaction(&WAIT)?;
        let head = transaction.head();
        let request = frame::seal_request(head.segment).unwrap();
        let line = line(&head, transaction.durable(), request.as_str(), &Actor::System);
        transaction.append(&head, &line).map_err(|error| match error {
            AppendError::NotStored(error) | AppendError::Unknown(error) => error,
            AppendError::Conflict { .. } => panic!("nobody else writes"),
        })?;
        transaction.rotate()
    }
}

const SEGMENT: &str = "00000000000000000001.jsonl";

#[test]
fn an_append_is_one_write_and_durability_is_intent_sync_mark() {
    let bench = bench();
    let cursor = bench.append().unwrap();
    bench.log.make_durable(&cursor, &WAIT).unwrap();
    let ops = bench.trial.ops();
    assert!(ops.iter().any(|op| op.starts_with("syncdir .tmp")), "the first round sees to the ledger's name");
    let cursor = bench.append().unwrap();
    assert_eq!(bench.trial.ops(), ["write lock", &format!("append {SEGMENT}"), "write HEAD"]);
    bench.log.make_durable(&cursor, &WAIT).unwrap();
    assert_eq!(
        bench.trial.ops(),
        ["write sync.lock", "write HEAD", &format!("sync {SEGMENT}"), "write HEAD"]
    );
    bench.log.make_durable(&cursor, &WAIT).unwrap();
    assert_eq!(bench.trial.ops(), Vec::<Op>::new(), "what is durable needs no second sync");
}

#[test]
fn one_sync_serves_all_that_were_appended_before_it() {
    let bench = bench();
    let cursors: Vec<Cursor> = (0..5).map(|_| bench.append().unwrap()).collect();
    bench.trial.ops();
    assert_eq!(bench.log.make_durable(&cursors[0], &WAIT).unwrap(), Seq(6));
    for cursor in &cursors {
        bench.log.make_durable(cursor, &WAIT).unwrap();
    }
    assert_eq!(bench.trial.ops().iter().filter(|op| op.starts_with("sync ")).count(), 1);
}

#[test]
fn a_short_write_or_a_full_disk_is_taken_back_and_changes_nothing() {
    for failure in [
        Failure::Short(0),
        Failure::Short(1),
        Failure::Short(100),
        Failure::Error(io::ErrorKind::StorageFull),
        Failure::Error(io::ErrorKind::QuotaExceeded),
    ] {
        let bench = bench();
        let before = bench.bytes();
        bench.trial.fail("append", failure);
        assert!(matches!(bench.append(), Err(AppendError::NotStored(LogError::Full { .. }))), "{failure:?}");
        assert_eq!(bench.bytes(), before);
        bench.trial.heal();
        assert_eq!(bench.append().unwrap().seq, Seq(2), "once there is space it works again");
    }
}

#[test]
fn a_short_write_that_cannot_be_taken_back_is_of_unknown_outcome_and_recovered_later() {
    let bench = bench();
    bench.trial.fail("append", Failure::Short(100));
    bench.trial.fail("truncate", Failure::Error(io::ErrorKind::Other));
    assert!(matches!(bench.append(), Err(AppendError::Unknown(LogError::Full { .. }))));
    bench.trial.heal();
    let transaction = bench.log.transaction(&WAIT).unwrap();
    assert_eq!(
        transaction.recovered().iter().map(|recovered| (recovered.seq, recovered.bytes)).collect::<Vec<_>>(),
        [(Seq(2), 100)]
    );
}

const ROLLED: &str = "00000000000000000001.rolled";

/// The segment was written anew: no sync of the old file, and the new one was synced before it took its place.
fn rolled(bench: &Bench) {
    let ops = bench.trial.ops();
    let at = |op: &str| ops.iter().position(|found| found == op).unwrap_or_else(|| panic!("{op}: {ops:?}"));
    assert!(!ops.contains(&format!("sync {SEGMENT}")), "{ops:?}");
    assert!(at(&format!("create {ROLLED}")) < at(&format!("sync {ROLLED}")));
    assert!(at(&format!("sync {ROLLED}")) < at(&format!("rename {SEGMENT}")));
    assert!(at(&format!("rename {SEGMENT}")) < at("syncdir log"));
}

#[test]
fn a_sync_that_fails_is_told_and_never_tried_again_the_next_one_rolls_the_segment_forward() {
    let acts: [fn(&Bench, &FileLog, &Cursor); 2] = [
        |_, log, cursor| assert_eq!(log.make_durable(cursor, &WAIT).unwrap(), Seq(2)),
        |bench, log, _| {
            assert_eq!(log.transaction(&WAIT).unwrap().durable(), Seq(2));
            assert_eq!(bench.append().unwrap().seq, Seq(3));
        },
    ];
    for act in acts {
        let bench = bench();
        let cursor = bench.append().unwrap();
        bench.trial.fail("sync 0", Failure::Error(io::ErrorKind::Other));
        let told = bench.log.make_durable(&cursor, &WAIT);
        assert!(matches!(told, Err(LogError::DurabilityUnknown { durable: Seq(1) })));
        let before = bench.bytes();
        let still = bench.log.make_durable(&cursor, &WAIT);
        assert!(matches!(still, Err(LogError::DurabilityUnknown { durable: Seq(1) })), "it fails again");
        assert_eq!(bench.count(), 2, "reading goes on");
        bench.trial.heal();
        bench.trial.ops();
        let other = FileLog::open_on(Arc::new(TrialDisk(bench.trial.clone())), &bench.root).unwrap();
        act(&bench, &other, &cursor);
        rolled(&bench);
        assert!(bench.bytes().starts_with(&before));
    }
}

#[test]
fn the_lock_is_free_while_the_leader_syncs() {
    let bench = bench();
    let cursor = bench.append().unwrap();
    let sync_lock = SystemDisk.open(&bench.root.join("log/sync.lock"), How::Update).unwrap();
    assert!(sync_lock.try_lock().unwrap(), "a leader is at work");
    bench.append().unwrap();
    let waiting = bench.log.make_durable(&cursor, &Wait { holder: "follower", wait_ms: 20 });
    assert!(matches!(waiting, Err(LogError::Busy { .. })), "followers wait, within bounds");
    drop(sync_lock);
    assert_eq!(bench.log.make_durable(&cursor, &WAIT).unwrap(), Seq(3));
}

#[test]
fn a_round_that_nobody_finished_is_rolled_forward() {
    let bench = bench();
    let cursor = bench.append().unwrap();
    bench.trial.ops();
    *bench.trial.kill_after.lock().unwrap() = Some(2);
    assert!(bench.log.make_durable(&cursor, &WAIT).is_err(), "killed between intent and sync");
    bench.trial.heal();
    bench.trial.ops();
    let before = bench.bytes();
    assert_eq!(bench.log.make_durable(&cursor, &WAIT).unwrap(), Seq(2));
    rolled(&bench);
    assert_eq!(bench.bytes(), before);
}

#[test]
fn without_head_nobody_knows_whether_a_sync_failed_so_the_segment_is_rolled_forward() {
    let bench = bench();
    let cursor = bench.append().unwrap();
    bench.trial.fail("sync 0", Failure::Error(io::ErrorKind::Other));
    assert!(bench.log.make_durable(&cursor, &WAIT).is_err());
    bench.trial.heal();
    std::fs::remove_file(bench.root.join("log/HEAD")).unwrap();
    let before = bench.bytes();
    let cursor = bench.append().unwrap();
    bench.trial.ops();
    assert_eq!(bench.log.make_durable(&cursor, &WAIT).unwrap(), Seq(3));
    rolled(&bench);
    assert!(bench.bytes().starts_with(&before));
}

#[test]
fn a_restart_ends_a_poison_because_the_log_then_comes_from_the_disk() {
    let bench = bench();
    let cursor = bench.append().unwrap();
    bench.trial.fail("sync 0", Failure::Error(io::ErrorKind::Other));
    assert!(bench.log.make_durable(&cursor, &WAIT).is_err());
    bench.trial.heal();
    let restarted = FileLog::open(&bench.root).unwrap();
    assert_eq!(restarted.transaction(&WAIT).unwrap().head(), cursor);
    assert_eq!(restarted.make_durable(&cursor, &WAIT).unwrap(), Seq(2));
}

#[test]
fn a_segment_is_durable_before_its_successor_exists() {
    let bench = bench();
    bench.append().unwrap();
    bench.trial.ops();
    bench.seal().unwrap();
    let ops = bench.trial.ops();
    let at = |op: &str| ops.iter().position(|found| found == op).unwrap();
    assert!(at(&format!("sync {SEGMENT}")) < at("create 00000000000000000004.jsonl"));
    assert!(at("create 00000000000000000004.jsonl") < at("syncdir log"));
}

/// Runs `act` killed after each number of changes; afterwards the next writer must find its feet.
fn killed_everywhere(act: fn(&Bench), check: fn(&Bench, u64)) {
    for limit in 0.. {
        let bench = bench();
        bench.append().unwrap();
        bench.trial.ops();
        *bench.trial.kill_after.lock().unwrap() = Some(limit);
        act(&bench);
        let finished = bench.trial.ops().len() <= limit;
        bench.trial.heal();
        let before = bench.count();
        check(&bench, before);
        let cursor = bench.append().unwrap();
        assert_eq!(bench.log.make_durable(&cursor, &WAIT).unwrap(), cursor.seq);
        assert_eq!(bench.count(), cursor.seq.0);
        if finished {
            return;
        }
    }
}

#[test]
fn an_append_killed_before_any_change_is_there_or_not() {
    killed_everywhere(|bench| drop(bench.append()), |_, count| assert!((2..=3).contains(&count)));
}

#[test]
fn a_rotation_killed_before_any_change_is_finished() {
    killed_everywhere(
        |bench| drop(bench.seal()),
        |bench, count| {
            let next = bench.append().unwrap();
            let sealed = count == 3;
            assert_eq!(next.segment, if sealed { Seq(4) } else { Seq(1) });
        },
    );
}

#[test]
fn a_recovery_killed_before_any_change_is_done_again_and_loses_no_byte() {
    let torn = b"{\"v\":1,\"seq\":3,\"pr";
    for limit in 0.. {
        let bench = bench();
        bench.append().unwrap();
        let sound = bench.bytes();
        std::fs::write(bench.root.join("log").join(SEGMENT), [&sound, &torn[..]].concat()).unwrap();
        bench.trial.ops();
        *bench.trial.kill_after.lock().unwrap() = Some(limit);
        let finished = bench.log.transaction(&WAIT).is_ok();
        bench.trial.heal();
        let set_aside = std::fs::read_dir(bench.root.join("quarantine"))
            .map(|dir| dir.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect::<Vec<_>>())
            .unwrap_or_default();
        assert!(bench.bytes().len() > sound.len() || set_aside == [torn.to_vec()], "the bytes are somewhere");
        bench.append().unwrap();
        assert_eq!(bench.count(), 3);
        assert!(bench.bytes().starts_with(&sound));
        if finished {
            return;
        }
    }
}

#[test]
fn a_creation_that_fails_anywhere_leaves_nothing() {
    let genesis = line(&Cursor::START, Seq::ZERO, "init", &Actor::System);
    let id = "01J5ZK0000000000000000000A".parse().unwrap();
    for limit in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(".loopx");
        let trial = Arc::new(Trial::default());
        *trial.kill_after.lock().unwrap() = Some(limit);
        let created = FileLog::create_on(Arc::new(TrialDisk(trial.clone())), &root, id, &genesis, false);
        if created.is_ok() {
            assert!(limit > 10);
            return;
        }
        let renamed = trial.ops().iter().position(|op| op == "rename .loopx").is_some_and(|at| at < limit);
        assert_eq!(root.exists(), renamed, "complete, or not there");
        assert_eq!(FileLog::open(&root).is_ok(), renamed);
    }
}

#[test]
fn a_network_file_system_is_read_and_not_written_unless_forced() {
    let bench = bench();
    *bench.trial.file_system.lock().unwrap() = Some(0x6969);
    let refused = |result: Result<(), LogError>| {
        assert!(matches!(result, Err(LogError::RefusedFileSystem { file_system: "nfs", .. })), "{result:?}");
    };
    refused(bench.log.transaction(&WAIT).map(drop));
    refused(bench.log.check_writable());
    assert_eq!(bench.count(), 1, "reading needs no lock");
    let forced = FileLog::open_on(Arc::new(TrialDisk(bench.trial.clone())), &bench.root).unwrap();
    let forced = forced.in_file_systems(super::FileSystems::Any);
    assert!(forced.transaction(&WAIT).is_ok() && forced.check_writable().is_ok());
}

#[test]
fn space_is_reserved_for_a_new_segment_and_that_there_is_none_is_no_failure() {
    for full in [false, true] {
        let bench = bench();
        bench.append().unwrap();
        bench.seal().unwrap();
        assert!(!bench.trial.ops().iter().any(|op| op.starts_with("reserve")), "small ledgers stay small");
        if full {
            bench.trial.fail("reserve", Failure::Error(io::ErrorKind::StorageFull));
        }
        let cursor = bench.append().unwrap();
        assert!(bench.trial.ops().contains(&"reserve 00000000000000000004.jsonl".to_owned()));
        let next = bench.root.join("log/00000000000000000004.jsonl");
        assert_eq!(std::fs::metadata(next).unwrap().len(), cursor.end, "the file is as long as its records");
        bench.append().unwrap();
        assert!(!bench.trial.ops().iter().any(|op| op.starts_with("reserve")), "once a step");
    }
}
