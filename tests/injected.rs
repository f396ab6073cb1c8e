//! The real binary under fault injection: a kill, EIO, ENOSPC and a short write at every call that changes something, of every
//! command that appends. Afterwards there is all of the record or none of it, a receipt that was printed is kept, readers
//! answer, and the same request again lands once.
//!
//! It needs `strace` and `prlimit`; where they do not work it is skipped with a message, which `LOOPX_REQUIRE_STRACE=1` makes a
//! failure. Plain `cargo test` runs a part; `LOOPX_INJECT=all cargo test --test injected -- --nocapture` runs all.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "LOOPX_INJECT and LOOPX_REQUIRE_STRACE are orders to this test"
)]

mod binary;
mod injection {
    pub mod commands;
    pub mod strace;
}
#[expect(dead_code, reason = "only the names of the commands are wanted")]
mod schema;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use binary::{
    Receipt, Recorded, Said, assert_recorded, assert_sound, feed, ledger, loopx, receipt, records, root,
};
use injection::commands::{COMMANDS, Typed};
use injection::strace::{self, Call, Fault, Injection, Line};
use serde_json::Value;
use tempfile::TempDir;

/// Whether to go on; if not, why is printed.
fn may_inject(test: &str) -> bool {
    let works = strace::works();
    let required = std::env::var_os("LOOPX_REQUIRE_STRACE").is_some();
    assert!(works || !required, "strace or prlimit does not work here, and LOOPX_REQUIRE_STRACE is set");
    if !works {
        println!("{test}: skipped, strace or prlimit does not work here");
    }
    works
}

fn all() -> bool {
    std::env::var("LOOPX_INJECT").is_ok_and(|what| what == "all")
}

/// The words of a line; a plus is a space in a word.
fn words(line: &str) -> Vec<String> {
    line.split_ascii_whitespace().map(|word| word.replace('+', " ")).collect()
}

fn typed(dir: &Path, line: &str) -> Said {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    loopx(dir, &[&["--json"], words.as_slice()].concat()).output().unwrap().into()
}

/// A ledger, and something to be done with it under faults.
struct Scene {
    name: String,
    dir: TempDir,
    line: Line,
    requests: Vec<String>,
    before: Vec<Recorded>,
    /// What each request records, where nothing goes wrong.
    kinds: Vec<Vec<String>>,
    calls: Vec<Call>,
    /// The length of the segment that is appended to.
    length: u64,
    /// The length of the first record that is appended.
    record: u64,
}

impl Scene {
    fn new(name: &str, dir: TempDir, line: Line, requests: &[&str]) -> Self {
        let mut scene = Self {
            name: name.to_owned(),
            line,
            requests: requests.iter().map(|request| (*request).to_owned()).collect(),
            before: records(dir.path()),
            kinds: Vec::new(),
            calls: Vec::new(),
            length: active(dir.path()),
            record: 0,
            dir,
        };
        let copy = scene.copy();
        let (said, calls) = strace::run(copy.path(), &scene.line, &Injection::default());
        assert_eq!(said.code, Some(0), "{}: {said:?}", scene.name);
        let after = records(copy.path());
        scene.kinds =
            scene.requests.iter().map(|request| of(&after, request).unwrap().kinds.clone()).collect();
        assert!(calls.iter().any(|call| call.name.contains("sync")), "{}: {calls:?}", scene.name);
        scene.calls = calls;
        scene.record = active(copy.path()).saturating_sub(scene.length);
        scene
    }

    fn of(command: &Typed) -> Self {
        let dir = ledger();
        fs::write(dir.path().join("proof.txt"), "seen\n").unwrap();
        for line in command.before {
            typed(dir.path(), line).ok();
        }
        Self::new(command.kind, dir, request(command.line), &["rq"])
    }

    fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        let target = copy.path().join("at");
        let status = Command::new("cp").arg("-r").arg(self.dir.path()).arg(&target).status().unwrap();
        assert!(status.success());
        for entry in fs::read_dir(&target).unwrap() {
            let entry = entry.unwrap();
            fs::rename(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        fs::remove_dir(&target).unwrap();
        copy
    }

    /// Everything that is done to it.
    fn injections(&self) -> Vec<Injection> {
        let mut all = Vec::new();
        for call in &self.calls {
            all.extend(
                Fault::ALL.map(|fault| Injection { at: Some((call.clone(), fault)), file_bytes: None }),
            );
        }
        for part in [0, 1, self.record / 2, self.record.saturating_sub(1)] {
            let file_bytes = Some(self.length + part);
            all.push(Injection { at: None, file_bytes });
            // What was written in part is to be taken back, and that fails too.
            let cut = Call { name: "ftruncate".to_owned(), nth: 1 };
            all.extend(Fault::ALL.map(|fault| Injection { at: Some((cut.clone(), fault)), file_bytes }));
        }
        all
    }

    /// Does it to a copy, looks at what is there, and asks again.
    fn suffer(&self, injection: &Injection) -> Result<(), String> {
        let copy = self.copy();
        let dir = copy.path();
        let (said, calls) = strace::run(dir, &self.line, injection);
        let outcome = std::panic::catch_unwind(|| {
            let printed = receipts(&said);
            let unsynced = injection.at.as_ref().is_some_and(|(call, _)| call.name == "fdatasync");
            let rolled = calls.iter().any(|call| call.name.starts_with("rename"));
            assert!(!unsynced || rolled || printed.is_empty(), "a receipt for what is not durable");
            let there = self.look(dir, &said, &printed);
            let (again, _) = strace::run(dir, &self.line, &Injection::default());
            assert_eq!(again.code, Some(0), "the same again: {again:?}");
            let receipts = receipts(&again);
            assert_eq!(receipts.len(), self.requests.len(), "{again:?}");
            for (receipt, request) in receipts.iter().zip(&self.requests) {
                assert_eq!(&receipt.request, request);
                assert_eq!(receipt.duplicate, there.contains(request), "{request}: {again:?}");
            }
            let after = records(dir);
            assert_recorded(&after, &printed);
            assert_recorded(&after, &receipts);
            self.compare(&after);
            assert_eq!(there.union(&self.requests.iter().cloned().collect()).count(), self.requests.len());
            assert_sound(dir);
        });
        outcome.map_err(|panic| {
            let what = panic.downcast_ref::<String>().cloned();
            let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            format!("{}, {injection}: {}\nit had said: {said:?}", self.name, what.unwrap_or_default())
        })
    }

    /// What is there after a fault: none of a request or all of it. Returns the requests that are there.
    fn look(&self, dir: &Path, said: &Said, printed: &[Receipt]) -> BTreeSet<String> {
        assert!(loopx(dir, &["connect"]).output().unwrap().status.success(), "readers answer");
        let verify: Said = loopx(dir, &["verify"]).output().unwrap().into();
        assert!(matches!(verify.code, Some(0 | 7)), "{verify:?}");
        let now = records(dir);
        assert_recorded(&now, printed);
        self.compare(&now);
        let there: Vec<&String> =
            self.requests.iter().filter(|request| of(&now, request).is_some()).collect();
        assert!(
            there.iter().zip(&self.requests).all(|(there, request)| *there == request),
            "in order: {there:?}"
        );
        match (said.code, error_code(said).as_deref()) {
            (Some(0), None) => {
                assert_eq!((there.len(), printed.len()), (self.requests.len(), self.requests.len()))
            }
            // A signal; not known; not told.
            (None, _) | (Some(7), Some("ledger.durability_unknown")) | (Some(1), Some("output")) => {}
            // A check that could not be run is a check that failed.
            (Some(1), Some(_)) | (Some(3), Some("check.failed")) => {
                assert_eq!(there.len(), printed.len(), "an error leaves nothing behind")
            }
            other => panic!("{other:?} is no answer to a fault"),
        }
        there.into_iter().cloned().collect()
    }

    /// History is as it was; what was asked for came once and whole; the rest is the ledger's own.
    fn compare(&self, now: &[Recorded]) {
        assert!(
            now.len() >= self.before.len(),
            "{} records were there, {} are",
            self.before.len(),
            now.len()
        );
        for (was, is) in self.before.iter().zip(now) {
            assert_eq!((was.seq, &was.hash), (is.seq, &is.hash));
        }
        let new = now.get(self.before.len()..).unwrap();
        for record in new.iter().filter(|record| !self.requests.contains(&record.request)) {
            assert_eq!(record.actor, "system", "{record:?}");
        }
        for (request, kinds) in self.requests.iter().zip(&self.kinds) {
            let found: Vec<_> = new.iter().filter(|record| record.request == *request).collect();
            assert!(found.len() <= 1, "{request} landed {} times", found.len());
            assert!(found.iter().all(|record| record.kinds == *kinds), "{found:?}");
        }
    }
}

/// A line with the request id `rq`.
fn request(line: &str) -> Line {
    Line { words: words(&format!("--json --request rq {line}")), input: String::new() }
}

/// The length of the last segment.
fn active(dir: &Path) -> u64 {
    let names = fs::read_dir(root(dir).join("log")).unwrap().map(|entry| entry.unwrap().path());
    let last = names.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).max().unwrap();
    fs::metadata(last).unwrap().len()
}

fn of<'r>(records: &'r [Recorded], request: &str) -> Option<&'r Recorded> {
    records.iter().find(|record| record.request == request)
}

/// The receipts that were printed whole.
fn receipts(said: &Said) -> Vec<Receipt> {
    let whole = said.out.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| receipt(&serde_json::from_str::<Value>(line).unwrap())).collect()
}

/// The code of the error that it ended with, wherever it could say so.
fn error_code(said: &Said) -> Option<String> {
    let documents = said.out.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut codes = documents.filter_map(|document| Some(document["error_code"].as_str()?.to_owned()));
    let told = || Some(said.err.split_once("error[")?.1.split_once(']')?.0.to_owned());
    codes.next().or_else(told)
}

/// Lets every scene suffer everything, or one in `step` with every fault at every call among them.
fn suffer(scenes: &[Scene], step: usize) {
    let mut cases: Vec<(&Scene, Injection)> = Vec::new();
    let mut kinds = BTreeSet::new();
    for scene in scenes {
        for (number, injection) in scene.injections().into_iter().enumerate() {
            let kind = injection.at.as_ref().map(|(call, fault)| (call.name.clone(), *fault));
            let new = kinds.insert((kind, injection.file_bytes.is_some()));
            if all() || new || (number + cases.len()).is_multiple_of(step) {
                cases.push((scene, injection));
            }
        }
    }
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from).min(8) {
            scope.spawn(|| {
                while let Some((scene, injection)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Err(failure) = scene.suffer(injection) {
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let total: usize = scenes.iter().map(|scene| scene.injections().len()).sum();
    println!("{} faults of {total} in {} scenes, {} wrong", cases.len(), scenes.len(), failures.len());
    assert!(cases.len() > 20, "{}", cases.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

#[test]
fn the_list_of_commands_is_complete() {
    let error =
        serde_json::from_str::<loopx::decide::Command>("{\"command\":\"zz\"}").unwrap_err().to_string();
    let listed: Vec<&str> = COMMANDS.iter().map(|command| command.kind).collect();
    assert_eq!(schema::expected(&error), listed);
}

#[test]
fn every_command_lands_whole_or_not_at_all_and_once_when_it_is_asked_again() {
    if may_inject("every_command") {
        let scenes: Vec<Scene> = COMMANDS.iter().map(Scene::of).collect();
        suffer(&scenes, 61);
    }
}

const SMALL: &str = "{\"command\":\"refresh-state\",\"next_action\":\"on\"}\n";

fn append(dir: &Path, lines: &str) {
    let said = feed(dir, &["append", "--stdin"], lines);
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// A ledger whose next record seals its segment.
fn about_to_rotate() -> TempDir {
    let dir = ledger();
    let left = || loopx::limits::SEGMENT_TARGET_BYTES - active(dir.path());
    // A control character takes six bytes in a record and one in a text.
    let line = |bytes: u64| {
        let text = "\\u0001".repeat(usize::try_from(bytes / 6).unwrap());
        format!("{{\"command\":\"refresh-state\",\"next_action\":\"{text}\"}}\n")
    };
    append(dir.path(), &line(40_000).repeat(usize::try_from(left() / 41_000).unwrap()));
    while left() > 1_500 {
        append(dir.path(), &line((left() - 1_000).min(40_000)));
    }
    dir
}

/// A ledger at which a request met a fault before.
fn after(at: &str, fault: Fault) -> TempDir {
    let dir = ledger();
    let call = Call { name: at.to_owned(), nth: 1 };
    let injection = Injection { at: Some((call, fault)), file_bytes: None };
    let (said, _) =
        strace::run(dir.path(), &Line { words: words("add Lost"), input: String::new() }, &injection);
    assert_ne!(said.code, Some(0), "{said:?}");
    dir
}

fn scenes() -> Vec<Scene> {
    let long = format!("add {}", "long".repeat(600));
    let torn = ledger();
    let segment = root(torn.path()).join("log/00000000000000000001.jsonl");
    OpenOptions::new().append(true).open(segment).unwrap().write_all(b"{\"v\":1,\"seq\":3,\"pr").unwrap();
    let derived = ledger();
    append(derived.path(), &SMALL.repeat(1_100));
    fs::remove_dir_all(root(derived.path()).join("snap")).unwrap();
    fs::remove_dir_all(root(derived.path()).join("idx")).unwrap();
    let bulk: Vec<String> = (0..3)
        .map(|n| format!("{{\"command\":\"todo.add\",\"title\":\"t{n}\",\"request\":\"rq{n}\"}}\n"))
        .collect();
    let bulk = Line { words: words("append --stdin"), input: bulk.concat() };
    vec![
        Scene::new("a snapshot and an index that are due", derived, request("add One"), &["rq"]),
        Scene::new("a torn tail", torn, request("add One"), &["rq"]),
        Scene::new("after a sync that failed", after("fdatasync", Fault::Eio), request("add One"), &["rq"]),
        Scene::new("after a kill at a sync", after("fdatasync", Fault::Kill), request("add One"), &["rq"]),
        Scene::new("three requests in bulk", ledger(), bulk, &["rq0", "rq1", "rq2"]),
        Scene::new("the end of a segment", about_to_rotate(), request(&long), &["rq"]),
    ]
}

#[test]
fn what_a_command_does_besides_is_survived_too() {
    if may_inject("what_a_command_does_besides") {
        suffer(&scenes(), 23);
    }
}

#[test]
fn a_record_whose_segment_cannot_be_sealed_behind_it_is_acknowledged() {
    if !may_inject("a_record_whose_segment_cannot_be_sealed") {
        return;
    }
    let dir = about_to_rotate();
    let line = request(&format!("add {}", "long".repeat(600)));
    let call = Call { name: "fsync".to_owned(), nth: 1 };
    let injection = Injection { at: Some((call, Fault::Eio)), file_bytes: None };
    let (said, _) = strace::run(dir.path(), &line, &injection);
    let given = receipt(&said.ok()).unwrap();
    let records = records(dir.path());
    assert_recorded(&records, &[given]);
    assert_eq!(records.last().unwrap().kinds, ["ledger.sealed"]);
    typed(dir.path(), "add Next").ok();
    assert_sound(dir.path());
}

#[test]
fn a_file_that_is_kept_already_is_made_durable_before_a_record_names_it() {
    if !may_inject("a_file_that_is_kept_already") {
        return;
    }
    let dir = ledger();
    let dir = dir.path();
    fs::write(dir.join("proof.txt"), "seen\n").unwrap();
    let line = request("evidence add --about goal/g --summary seen --file proof.txt");
    // The first sync is of the content, the second one of the directory that it was renamed in.
    let call = Call { name: "fsync".to_owned(), nth: 2 };
    let (said, calls) =
        strace::run(dir, &line, &Injection { at: Some((call, Fault::Kill)), file_bytes: None });
    assert_eq!(said.code, None, "{said:?}");
    assert!(calls.iter().any(|call| call.name == "rename"), "{calls:?}");
    let (said, calls) = strace::run(dir, &line, &Injection::default());
    said.ok();
    let place = |name: &str| calls.iter().position(|call| call.name == name);
    assert!(place("fsync") < place("fdatasync") && place("fsync").is_some(), "{calls:?}");
    assert_eq!(calls.iter().filter(|call| call.name == "fsync").count(), 3, "each directory: {calls:?}");
}

#[test]
fn what_a_killed_process_leaves_is_named_by_doctor_and_cleared_where_it_is_derived() {
    if !may_inject("what_a_killed_process_leaves") {
        return;
    }
    let dir = ledger();
    let dir = dir.path();
    fs::write(dir.join("proof.txt"), "seen\n").unwrap();
    let killed = |line: &Line| {
        let call = Call { name: "rename".to_owned(), nth: 1 };
        let (said, _) =
            strace::run(dir, line, &Injection { at: Some((call, Fault::Kill)), file_bytes: None });
        assert_eq!(said.code, None, "{said:?}");
    };
    killed(&request("evidence add --about goal/g --summary seen --file proof.txt"));
    append(dir, &SMALL.repeat(usize::try_from(loopx::snapshot::SNAPSHOT_EVERY).unwrap() - 3));
    fs::remove_dir_all(root(dir).join("snap")).ok();
    killed(&request("add One"));
    let doctor: Said = loopx(dir, &["doctor"]).output().unwrap().into();
    assert!(doctor.out.contains("2 files of processes that are gone may be deleted"), "{doctor:?}");
    typed(dir, "add Two").ok();
    let snap = fs::read_dir(root(dir).join("snap")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(snap.collect::<Vec<_>>(), ["state.json"]);
    let doctor: Said = loopx(dir, &["doctor"]).output().unwrap().into();
    assert!(doctor.out.contains("1 file of processes that are gone may be deleted"), "{doctor:?}");
    assert_sound(dir);
}

#[test]
fn a_ledger_comes_into_being_whole_or_not_at_all() {
    if !may_inject("a_ledger_comes_into_being") {
        return;
    }
    let init = Line { words: words("--json init"), input: String::new() };
    let fresh = tempfile::tempdir().unwrap();
    let (said, calls) = strace::run(fresh.path(), &init, &Injection::default());
    said.ok();
    assert!(calls.iter().any(|call| call.name.starts_with("rename")), "{calls:?}");
    let step = if all() { 1 } else { 5 };
    let cases = calls.iter().flat_map(|call| Fault::ALL.map(|fault| (call.clone(), fault)));
    for at in cases.step_by(step) {
        let dir = tempfile::tempdir().unwrap();
        let injection = Injection { at: Some(at), file_bytes: None };
        let (said, _) = strace::run(dir.path(), &init, &injection);
        let there = root(dir.path()).exists();
        if said.code == Some(0) {
            assert!(there, "{injection}: {said:?}");
        }
        if there {
            assert_eq!(loopx(dir.path(), &["init"]).output().unwrap().status.code(), Some(3), "{injection}");
        } else {
            typed(dir.path(), "init").ok();
            let left = fs::read_dir(dir.path()).unwrap().count() > 1;
            let doctor: Said = loopx(dir.path(), &["doctor"]).output().unwrap().into();
            assert_eq!(
                doctor.out.contains("1 file of processes that are gone"),
                left,
                "{injection}: {doctor:?}"
            );
        }
        typed(dir.path(), "start-goal --goal-text x").ok();
        assert_eq!(records(dir.path()).len(), 2, "{injection}");
        assert_sound(dir.path());
    }
}
