//! Many processes of the real binary on one ledger: storms, races, kills, stopped holders, readers that go away.
//!
//! `LOOPX_KILLS` sets how many writers are killed, a few hundred unless told otherwise; `LOOPX_STORM` how many processes are
//! in the storm, sixteen unless told otherwise.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "LOOPX_KILLS and LOOPX_STORM are orders to this test")]

mod binary;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep, spawn};
use std::time::{Duration, Instant};

use binary::{
    Receipt, Recorded, assert_recorded, assert_sound, feed, ledger, loopx, receipt, records, root, run,
    signal,
};
use serde_json::Value;

/// A number that the environment orders, or else the usual one.
fn ordered(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Registers the agents `a0` to `a<count - 1>`.
fn register(dir: &Path, count: usize) {
    let lines: String = (0..count)
        .map(|n| format!("{{\"command\":\"agent.register\",\"agent\":\"a{n}\",\"capabilities\":[]}}\n"))
        .collect();
    let said = feed(dir, &["append", "--stdin"], &lines);
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// Fills the first segment up to a little below the size at which it is sealed.
fn fill(dir: &Path) {
    // A control character takes six bytes in a record and one in a text.
    let line = format!(
        "{{\"command\":\"refresh-state\",\"agent_id\":\"a0\",\"next_action\":\"{}\"}}\n",
        "\\u0001".repeat(5_000)
    );
    let length = || fs::metadata(root(dir).join("log/00000000000000000001.jsonl")).unwrap().len();
    let append = |count: u64| {
        let said = feed(dir, &["append", "--stdin"], &line.repeat(usize::try_from(count).unwrap()));
        assert_eq!(said.code, Some(0), "{said:?}");
    };
    let before = length();
    append(1);
    let each = length() - before;
    let missing = loopx::limits::SEGMENT_TARGET_BYTES - length();
    append((missing - 20_000) / each);
    assert!(loopx::limits::SEGMENT_TARGET_BYTES - length() < 60_000);
}

/// What one agent does in a storm: adds, takes and closes work, leases, records evidence, asks, notes, in bulk too.
/// Returns its receipts.
fn agent_at_work(dir: &Path, name: &str, idle: &str) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    let mut act = |arguments: &[&str]| -> Value {
        let answer = run(dir, &[&["--agent", name], arguments].concat()).ok();
        receipts.extend(receipt(&answer));
        answer
    };
    for round in 0..2 {
        act(&["add", &format!("{name} adds {round}")]);
        let taken = act(&["next"]);
        if taken["verdict"] == "RUN" {
            let todo = taken["todo"]["id"].as_str().unwrap();
            if round == 0 {
                act(&["done", todo, "--proof", "true => 0", "--no-follow-up", "one of many"]);
            } else {
                act(&["yield", todo, "--why", "another one"]);
            }
        }
        let resource = format!("of-{name}");
        act(&["lease", "acquire", &resource]);
        act(&["lease", "release", &resource]);
        act(&["evidence", "add", "--about", "goal/g", "--summary", &format!("{name} saw {round}")]);
        act(&["refresh-state", "--next-action", &format!("{name} goes on")]);
        act(&["ask", "May the idle one begin?", "--blocks-agent", idle]);
    }
    let line = "{\"command\":\"todo.add\",\"title\":\"in bulk\"}\n";
    let said = feed(dir, &["--agent", name, "append", "--stdin"], &line.repeat(5));
    assert_eq!(said.code, Some(0), "{said:?}");
    receipts.extend(said.out.lines().filter_map(|line| receipt(&serde_json::from_str(line).unwrap())));
    receipts
}

#[test]
fn many_processes_at_once_get_a_receipt_for_every_record_and_a_record_for_every_receipt() {
    let agents = ordered("LOOPX_STORM", 16);
    let dir = ledger();
    let dir = dir.path();
    register(dir, agents + 1);
    fill(dir);
    let before = records(dir).len();
    let idle = format!("a{agents}");
    let (idle, working) = (idle.as_str(), AtomicU64::new(agents as u64));
    let (receipts, answers): (Vec<Receipt>, u64) = scope(|scope| {
        let at_work: Vec<_> = (0..agents)
            .map(|n| {
                let working = &working;
                scope.spawn(move || {
                    let receipts = agent_at_work(dir, &format!("a{n}"), idle);
                    working.fetch_sub(1, Ordering::SeqCst);
                    receipts
                })
            })
            .collect();
        let mut answers = 0;
        while working.load(Ordering::SeqCst) > 0 && !at_work.iter().all(|agent| agent.is_finished()) {
            for reader in [&["connect"][..], &["verify"], &["todo", "list"]] {
                run(dir, reader).ok();
                answers += 1;
            }
        }
        (at_work.into_iter().flat_map(|agent| agent.join().unwrap()).collect(), answers)
    });
    let records = records(dir);
    println!("{agents} processes, {} receipts, {answers} answers to readers meanwhile", receipts.len());
    assert_recorded(&records, &receipts);
    let given: BTreeSet<u64> = receipts.iter().map(|receipt| receipt.seq).collect();
    assert_eq!(given.len(), receipts.len(), "no record has two receipts");
    let unasked: Vec<&Recorded> =
        records.iter().skip(before).filter(|record| !given.contains(&record.seq)).collect();
    assert!(unasked.iter().all(|record| record.request.starts_with("seal-")), "{unasked:?}");
    assert_eq!(unasked.len(), 1, "the storm goes over the end of a segment");
    assert!(receipts.len() >= agents * 17, "{}", receipts.len());
    assert!(answers > 0);
    assert!(!root(dir).join("quarantine").exists());
    assert_sound(dir);
}

#[test]
fn the_last_slot_of_a_quota_goes_to_one_of_twenty() {
    let dir = ledger();
    let dir = dir.path();
    let todos: String =
        (0..20).map(|n| format!("{{\"command\":\"todo.add\",\"title\":\"work {n}\"}}\n")).collect();
    assert_eq!(feed(dir, &["append", "--stdin"], &todos).code, Some(0));
    run(dir, &["quota", "set", "--slots", "1", "--why", "one"]).ok();
    register(dir, 20);
    let verdicts: Vec<String> = scope(|scope| {
        let agents: Vec<_> = (0..20)
            .map(|n| {
                scope.spawn(move || {
                    let answer = run(dir, &["--agent", &format!("a{n}"), "next"]).ok();
                    answer["verdict"].as_str().unwrap().to_owned()
                })
            })
            .collect();
        agents.into_iter().map(|agent| agent.join().unwrap()).collect()
    });
    let count = |word: &str| verdicts.iter().filter(|verdict| *verdict == word).count();
    assert_eq!((count("RUN"), count("WAIT")), (1, 19), "{verdicts:?}");
    let opened = records(dir).iter().filter(|record| record.kinds.iter().any(|k| k == "turn.opened")).count();
    assert_eq!(opened, 1);
    assert_sound(dir);
}

#[test]
fn the_same_request_from_eight_processes_is_one_record_and_one_receipt() {
    let dir = ledger();
    let dir = dir.path();
    for request in (0..20).map(|round| format!("r{round}")) {
        let ask = || receipt(&run(dir, &["add", "Once", "--request", &request]).ok()).unwrap();
        let receipts: Vec<Receipt> = scope(|scope| {
            let askers: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            askers.into_iter().map(|asker| asker.join().unwrap()).collect()
        });
        assert_eq!(receipts.iter().filter(|receipt| !receipt.duplicate).count(), 1, "{receipts:?}");
        let places: BTreeSet<_> =
            receipts.iter().map(|r| (r.seq, r.hash.clone(), r.request.clone())).collect();
        assert_eq!(places.len(), 1, "{receipts:?}");
        let records = records(dir);
        assert_recorded(&records, &receipts);
        assert_eq!(records.iter().filter(|record| record.request == request).count(), 1);
    }
}

/// Random numbers enough to spread kills: Knuth's generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Starts a writer, kills it after a while, and returns the receipts that it printed before.
fn killed_writer(dir: &Path, dice: &mut Dice, big: &str) -> Vec<Receipt> {
    let bulk = dice.below(2) == 0;
    let mut child = if bulk {
        loopx(dir, &["append", "--stdin"]).stdin(Stdio::piped()).spawn().unwrap()
    } else {
        loopx(dir, &["add", "Maybe", "--json"]).spawn().unwrap()
    };
    if let Some(mut stdin) = child.stdin.take() {
        // Few enough lines for the pipe to hold all of them: nothing here waits for a process that is dead.
        let mut lines = "{\"command\":\"refresh-state\",\"next_action\":\"small\"}\n".repeat(20);
        lines.push_str(big);
        stdin.write_all(lines.as_bytes()).unwrap();
    }
    sleep(Duration::from_micros(dice.below(if bulk { 60_000 } else { 25_000 })));
    child.kill().unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    let whole = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| receipt(&serde_json::from_str(line).unwrap())).collect()
}

/// Leaves behind what a writer leaves that dies in the middle of its write: the head of a line, without a line feed.
fn tear(dir: &Path, dice: &mut Dice) -> Vec<u8> {
    let lock = OpenOptions::new().write(true).open(root(dir).join("log/lock")).unwrap();
    lock.lock().unwrap();
    let segment = root(dir).join("log/00000000000000000001.jsonl");
    let content = fs::read_to_string(&segment).unwrap();
    let last = content.lines().last().unwrap().as_bytes();
    let torn = last[..1 + usize::try_from(dice.below(last.len() as u64 - 1)).unwrap()].to_vec();
    if content.ends_with('\n') {
        OpenOptions::new().append(true).open(&segment).unwrap().write_all(&torn).unwrap();
        torn
    } else {
        Vec::new()
    }
}

#[test]
fn a_writer_killed_at_any_time_loses_nothing_that_it_acknowledged() {
    let kills = ordered("LOOPX_KILLS", 300) as u64;
    let dir = ledger();
    let dir = dir.path();
    let big = format!("{{\"command\":\"refresh-state\",\"next_action\":\"{}\"}}\n", "\\u0001".repeat(2_000));
    let left = AtomicU64::new(kills);
    let (receipts, torn): (Vec<Receipt>, Vec<Vec<u8>>) = scope(|scope| {
        let work = |seed| {
            let (left, big) = (&left, &big);
            move || {
                let mut dice = Dice(seed);
                let (mut receipts, mut torn) = (Vec::new(), Vec::new());
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
                    if dice.below(12) == 0 {
                        torn.push(tear(dir, &mut dice));
                    }
                    receipts.extend(killed_writer(dir, &mut dice, big));
                    if dice.below(4) == 0 {
                        receipts.extend(receipt(&run(dir, &["add", "The ledger goes on"]).ok()));
                    }
                }
                (receipts, torn)
            }
        };
        let workers: Vec<_> = (1..=4).map(|seed| scope.spawn(work(seed))).collect();
        let done = workers.into_iter().map(|worker| worker.join().unwrap());
        done.fold((Vec::new(), Vec::new()), |(mut all, mut tails), (receipts, torn)| {
            all.extend(receipts);
            tails.extend(torn);
            (all, tails)
        })
    });
    receipt(&run(dir, &["add", "After the storm"]).ok()).unwrap();
    println!("{kills} kills, {} receipts before them, {} torn tails", receipts.len(), torn.len());
    let records = records(dir);
    assert_recorded(&records, &receipts);
    assert_sound(dir);
    assert_set_aside(dir, &records, &torn);
    assert!(receipts.len() as u64 > kills / 8, "{} receipts of {kills} writers", receipts.len());
}

/// Every torn tail lies in the quarantine, and each file there is named by a record.
fn assert_set_aside(dir: &Path, records: &[Recorded], torn: &[Vec<u8>]) {
    let files = fs::read_dir(root(dir).join("quarantine")).unwrap().map(|entry| entry.unwrap());
    let kept: Vec<(String, Vec<u8>)> =
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect();
    for tail in torn.iter().filter(|tail| !tail.is_empty()) {
        assert!(kept.iter().any(|(_, bytes)| bytes == tail), "a torn tail of {} bytes is gone", tail.len());
    }
    let named: BTreeSet<String> = records
        .iter()
        .flat_map(|record| &record.events)
        .filter(|event| event["k"] == "ledger.recovered")
        .map(|event| event["b"]["quarantine"].as_str().unwrap().to_owned())
        .collect();
    let kept: BTreeSet<String> = kept.into_iter().map(|(name, _)| name).collect();
    assert_eq!(named, kept, "what was set aside, and what the log says of it");
    assert!(!kept.is_empty());
}

#[test]
fn a_torn_tail_of_any_length_is_set_aside_by_the_next_writer() {
    let dir = ledger();
    let dir = dir.path();
    let mut dice = Dice(7);
    let mut torn = Vec::new();
    for round in 0..12 {
        torn.push(tear(dir, &mut dice));
        assert!(run(dir, &["status"]).ok()["goal"].is_object(), "readers go on before the tail is put right");
        let added = receipt(&run(dir, &["add", "Goes on"]).ok()).unwrap();
        let records = records(dir);
        let recovered = &records[records.len() - 2];
        assert_eq!(recovered.kinds, ["ledger.recovered"], "round {round}");
        assert_eq!(recovered.events[0]["b"]["cut_bytes"], torn[round].len());
        assert_eq!(added.seq, recovered.seq + 1);
    }
    assert_set_aside(dir, &records(dir), &torn);
    assert_sound(dir);
}

/// Whatever only reads, with a word of its answer.
const READERS: [&[&str]; 9] = [
    &["status"],
    &["quota", "should-run"],
    &["todo", "list"],
    &["history"],
    &["connect"],
    &["verify"],
    &["replay", "--check"],
    &["log"],
    &["doctor"],
];

#[track_caller]
fn assert_readers_answer(dir: &Path) {
    for reader in READERS {
        let since = Instant::now();
        let said = run(dir, reader);
        assert_eq!(said.code, Some(0), "{reader:?}: {said:?}");
        assert!(since.elapsed() < Duration::from_secs(5), "{reader:?} waited");
    }
}

/// A writer that finds the lock taken says so in time, and who has it.
#[track_caller]
fn assert_busy(dir: &Path, holder: &str) {
    let since = Instant::now();
    let said = run(dir, &["add", "Waits", "--lock-wait", "300ms"]);
    let waited = since.elapsed();
    assert_eq!(said.error(), ("ledger.busy".to_owned(), Some(4)), "{said:?}");
    assert!(said.out.contains(holder), "{said:?}");
    assert_eq!(said.json()["error"]["retryable"], true);
    assert!(waited >= Duration::from_millis(300) && waited < Duration::from_secs(5), "{waited:?}");
}

#[test]
fn a_lock_that_is_held_stops_writers_in_time_and_readers_not_at_all() {
    let dir = ledger();
    let dir = dir.path();
    let mut lock = OpenOptions::new().write(true).open(root(dir).join("log/lock")).unwrap();
    lock.lock().unwrap();
    lock.write_all(format!("{:120}\n", "pid 1 `a stuck program` since long ago").as_bytes()).unwrap();
    assert_readers_answer(dir);
    assert_busy(dir, "pid 1 `a stuck program` since long ago");
    let doctor = run(dir, &["doctor"]);
    assert!(doctor.out.contains("held now by pid 1 `a stuck program`"), "{doctor:?}");
    let before = records(dir).len();
    lock.unlock().unwrap();
    run(dir, &["add", "Waits no more", "--lock-wait", "300ms"]).ok();
    assert_eq!(records(dir).len(), before + 1);
}

#[test]
fn a_sync_that_never_ends_leaves_it_open_whether_a_record_is_durable_and_the_request_tells() {
    let dir = ledger();
    let dir = dir.path();
    let lock = OpenOptions::new().write(true).open(root(dir).join("log/sync.lock")).unwrap();
    lock.lock().unwrap();
    let once = ["add", "Stored", "--request", "r1", "--lock-wait", "300ms"];
    let said = run(dir, &once);
    assert_eq!(said.error(), ("ledger.durability_unknown".to_owned(), Some(7)), "{said:?}");
    let line = "{\"command\":\"todo.add\",\"title\":\"Stored too\",\"request\":\"r2\"}\n";
    let said = feed(dir, &["append", "--stdin", "--lock-wait", "300ms"], line);
    assert_eq!(said.code, Some(7), "a line that is stored is not said to be refused: {said:?}");
    assert_readers_answer(dir);
    lock.unlock().unwrap();
    let again = receipt(&run(dir, &once).ok()).unwrap();
    assert!(again.duplicate);
    let again = receipt(&feed(dir, &["append", "--stdin"], line).ok()).unwrap();
    assert!(again.duplicate);
    let verified = run(dir, &["verify"]).ok();
    assert_eq!(verified["durable"], verified["records"], "a receipt means durable, the second time too");
}

#[test]
fn receipts_before_a_line_that_is_refused_are_printed_once_they_are_durable() {
    let dir = ledger();
    let dir = dir.path();
    let lock = OpenOptions::new().write(true).open(root(dir).join("log/sync.lock")).unwrap();
    lock.lock().unwrap();
    let lines = "{\"command\":\"todo.add\",\"title\":\"Stored\",\"request\":\"r1\"}\n\
                 {\"command\":\"todo.add\",\"title\":\"Refused\",\"needs\":[\"T9\"]}\n";
    let said = feed(dir, &["append", "--stdin", "--lock-wait", "300ms"], lines);
    assert!(said.code == Some(7) && !said.out.contains("receipt"), "nothing is synced: {said:?}");
    lock.unlock().unwrap();
    let said = feed(dir, &["append", "--stdin"], lines);
    assert!(said.code == Some(3) && said.out.contains("\"duplicate\":true"), "{said:?}");
    let verified = run(dir, &["verify"]).ok();
    assert_eq!(verified["durable"], verified["records"]);
}

/// A real writer, stopped while it holds the lock.
fn stopped_holder(dir: &Path) -> Option<Child> {
    let lock = File::open(root(dir).join("log/lock")).unwrap();
    let line = "{\"command\":\"refresh-state\",\"next_action\":\"on and on\"}\n";
    for _ in 0..20 {
        let mut child = loopx(dir, &["append", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeder = spawn(move || drop(stdin.write_all(line.repeat(2_000).as_bytes())));
        for _ in 0..100 {
            sleep(Duration::from_millis(1));
            signal(&child, "STOP");
            wait_until(Duration::from_secs(2), || matches!(state_of(&child), Some('T' | 'Z')));
            if state_of(&child) == Some('T') && lock.try_lock_shared().is_err() {
                return Some(child);
            }
            drop(lock.unlock());
            if state_of(&child) != Some('T') {
                break;
            }
            signal(&child, "CONT");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        feeder.join().unwrap();
    }
    None
}

/// The state of a process: `T` is stopped.
fn state_of(child: &Child) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn wait_until(limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while !so() {
        if since.elapsed() >= limit {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    true
}

#[test]
fn a_writer_stopped_with_the_lock_in_hand_holds_up_writers_only_as_long_as_they_choose() {
    let dir = ledger();
    let dir = dir.path();
    let mut holder = stopped_holder(dir).expect("a writer can be stopped while it holds the lock");
    assert_busy(dir, &format!("pid {} `loopx append --stdin` since", holder.id()));
    assert_readers_answer(dir);
    signal(&holder, "CONT");
    run(dir, &["add", "Goes on beside it"]).ok();
    signal(&holder, "KILL");
    holder.wait().unwrap();
    run(dir, &["add", "Goes on after it", "--lock-wait", "0s"]).ok();
    assert_sound(dir);
}

#[test]
fn a_follower_prints_what_others_append_and_ends_when_its_reader_has_gone() {
    let dir = ledger();
    let dir = dir.path();
    let mut follower = loopx(dir, &["log", "--follow", "--since", "2"]).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for n in 3..6 {
        run(dir, &["add", &format!("todo of #{n}")]).ok();
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(&format!("#{n} ")) && line.contains(&format!("todo of #{n}")), "{line}");
    }
    drop(lines);
    assert_eq!(follower.try_wait().unwrap(), None);
    run(dir, &["add", "Nobody reads this"]).ok();
    let ended = wait_until(Duration::from_secs(5), || follower.try_wait().unwrap().is_some());
    assert!(ended, "the follower goes on for nobody");
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = ledger();
    let dir = dir.path();
    let commands: [&[&str]; 6] =
        [&["log"], &["status"], &["add", "Recorded"], &["verify", "--json"], &["--help"], &["history"]];
    for arguments in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = loopx(dir, arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(records(dir).len(), 3);
}
