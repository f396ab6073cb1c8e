//! Many long-lived writers at once: how many durable appends a second, with the sync shared, with the sync inside the
//! lock, and by SQLite.
//!
//! A contestant is a number of processes of this benchmark (or of Python), each with a number of writers in it. Each
//! process opens what it needs, says so, waits for a line, and then appends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use loopx::decide::{Caller, Command as Request};
use loopx::event::{StateRefreshed, codec};
use loopx::hash::Hash;
use loopx::id::{Actor, RequestId};
use loopx::ledger::{Answer, Env, Ledger, Submission};
use loopx::log::{FileLog, Log, Wait};
use loopx::record::Draft;
use serde_json::json;

use crate::Measured;
use crate::host;
use crate::measure::interleave;
use crate::table::{Aim, Table, print, timed};

/// Writers at once.
pub const WRITERS: usize = 64;

/// The words that begin a call of this benchmark as a writer.
pub const WRITER: &str = "--writer";

const WAIT: Wait<'static> = Wait { holder: "benchmark", wait_ms: 120_000 };

/// What a writer does.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Submits requests, decided on a folded state. Writers of one process share its ledger, and wait for the disk
    /// outside of it.
    Requests,
    /// As [`Kind::Requests`], but the sync is done before the next writer may submit.
    RequestsInside,
    /// Appends records to the log and makes them durable.
    Log,
    /// As [`Kind::Log`], but the sync is done before the next writer may append.
    Inside,
    /// The least that a log with its sync inside the lock can do: lock, write, sync, unlock.
    Bare,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Requests, "requests"),
    (Kind::RequestsInside, "requests, sync inside"),
    (Kind::Log, "records"),
    (Kind::Inside, "records, sync inside"),
    (Kind::Bare, "bare file, sync inside"),
];

/// Measures and fills the table.
pub fn measure(measured: &Measured, table: &mut Table) {
    let place = measured.place.join("writers");
    fs::create_dir_all(&place).expect("a directory");
    let count = measured.appends;
    let mut contestants = Vec::new();
    let shapes = [("threads", 1, WRITERS), ("processes", WRITERS, 1)];
    for (shape, processes, writers) in shapes {
        for (_, kind) in KINDS {
            let root = measured.copy_of("short", &place.join(format!("{kind}-{shape}")));
            let program = std::env::current_exe().expect("this program");
            contestants.push(timed(format!("{kind}, {WRITERS} {shape}"), move || {
                let mut command = Command::new(&program);
                command.arg(WRITER).arg(kind).arg(&root).args([writers.to_string(), count.to_string()]);
                together(processes, command)
            }));
        }
        if let Some(database) = sqlite(&place.join(format!("sqlite-{shape}"))) {
            contestants.push(timed(format!("sqlite, {WRITERS} {shape}"), move || {
                let mut command = Command::new("python3");
                command.args(["-c", include_str!("sqlite_writers.py")]).arg(&database);
                command.args([writers.to_string(), count.to_string()]);
                together(processes, command)
            }));
        }
    }
    let times = interleave(measured.rounds.div_ceil(10), &mut contestants);
    println!("\n{} durable appends by {WRITERS} writers:", WRITERS * count);
    print(&times);
    for (shape, ..) in shapes {
        let rivals = [
            ("records", "records, sync inside", "the same log, sync inside the lock", Some(10.0)),
            ("records", "sqlite", "SQLite, WAL, FULL", Some(10.0)),
            ("records", "bare file, sync inside", "a bare file: lock, write, fdatasync, unlock", None),
            ("requests", "requests, sync inside", "the same ledger, sync inside the lock", Some(10.0)),
            ("requests", "sqlite", "SQLite, WAL, FULL", None),
        ];
        for (kind, rival, against, aim) in rivals {
            let what = format!("{WRITERS} {shape}, durable {kind}/s");
            let aim = aim.map_or(Aim::None, Aim::AtLeast);
            // As speeds, a ratio is the other way round.
            let [rival, own] = [rival, kind].map(|name| format!("{name}, {WRITERS} {shape}"));
            table.put(0, &what, against, aim, times.ratio(&rival, &own));
        }
    }
}

/// Starts processes, waits until all are ready, lets them go at once, and says how long all of them took.
fn together(processes: usize, mut command: Command) -> Duration {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut children: Vec<Child> =
        (0..processes).map(|_| command.spawn().expect("a writer starts")).collect();
    for child in &mut children {
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.as_mut().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
    }
    let start = Instant::now();
    for child in &mut children {
        child.stdin.take().expect("a pipe").write_all(b"go\n").expect("it listens");
    }
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    start.elapsed()
}

/// A database with an empty table; none where there is no SQLite in Python or as a program.
fn sqlite(directory: &Path) -> Option<PathBuf> {
    fs::create_dir_all(directory).ok()?;
    let database = directory.join("db");
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode=WAL'); \
        c.execute('CREATE TABLE record(seq INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL)')";
    let made = Command::new("python3").args(["-c", script]).arg(&database).status();
    made.is_ok_and(|status| status.success()).then_some(database)
}

/// This process as a writer: `KIND PLACE WRITERS COUNT`.
pub fn run(words: &[String]) {
    let [kind, place, writers, count] = words else { panic!("a writer is KIND PLACE WRITERS COUNT") };
    let (kind, _) = KINDS.into_iter().find(|(_, name)| name == kind).expect("a kind");
    let place = Path::new(place).join(".loopx");
    let [writers, count]: [usize; 2] = [writers, count].map(|number| number.parse().expect("a number"));
    let barrier = Barrier::new(writers + 1);
    let requests = matches!(kind, Kind::Requests | Kind::RequestsInside);
    let ledger = Mutex::new(requests.then(|| Ledger::open(&place).expect("a ledger")));
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| write(kind, &place, &ledger, count, &barrier));
        }
        barrier.wait();
        println!("ready");
        std::io::stdin().read_line(&mut String::new()).expect("a line");
        barrier.wait();
    });
}

fn write(kind: Kind, root: &Path, ledger: &Mutex<Option<Ledger>>, count: usize, barrier: &Barrier) {
    let open = |name: &str| File::options().create(true).append(true).open(root.join(name)).expect("a file");
    let (turn, mut bare) = (open("turn"), open("bare"));
    let log = FileLog::open(root).expect("a log");
    let line = format!("{}\n", "x".repeat(RECORD_BYTES));
    barrier.wait();
    barrier.wait();
    for _ in 0..count {
        let inside = !matches!(kind, Kind::Requests | Kind::Log);
        if inside {
            turn.lock().expect("a lock");
        }
        match kind {
            Kind::Requests | Kind::RequestsInside => submit(ledger, &log),
            Kind::Log | Kind::Inside => append(&log),
            Kind::Bare => {
                bare.write_all(line.as_bytes()).expect("room");
                bare.sync_data().expect("a disk");
            }
        }
        if inside {
            turn.unlock().expect("a lock");
        }
    }
}

/// What the records say.
const NOTE: &str = "compare the last candidate with the best so far, ";

/// The length of a record that [`append`] writes, about.
const RECORD_BYTES: usize = 550;

/// A note for the next turn: it leaves the state as large as it was.
fn submit(ledger: &Mutex<Option<Ledger>>, log: &FileLog) {
    let note =
        json!({"command": "refresh-state", "classification": "progress", "next_action": NOTE.repeat(4)});
    let command: Request = serde_json::from_value(note).expect("a command");
    let caller = Caller { agent: Some("w1".parse().expect("a name")), ..Caller::default() };
    let env = Env { now: &host::now, ulid: &host::ulid };
    let submission = Submission { caller, command, request: None };
    let end = {
        let mut ledger = ledger.lock().expect("no writer failed");
        let ledger = ledger.as_mut().expect("it is open");
        let answer = ledger.append(&env, &WAIT, &submission).expect("it is recorded");
        assert!(matches!(answer, Answer::Committed(_)));
        ledger.save_snapshot_if_due();
        *ledger.head()
    };
    log.make_durable(&end, &WAIT).expect("it is durable");
}

/// One record with the same note.
fn append(log: &FileLog) {
    let event = StateRefreshed {
        classification: Some("progress".parse().expect("a word")),
        goal: "main".parse().expect("a name"),
        next_action: NOTE.repeat(4).parse().expect("a text"),
        outcome: None,
        todo: None,
        turn: None,
    };
    let body = codec::encode(&[event.into()]).expect("an event");
    let request = RequestId::from_ulid(host::ulid());
    let digest = Hash::request(request.as_str().as_bytes());
    let mut transaction = log.transaction(&WAIT).expect("the lock");
    let head = transaction.head();
    let draft = Draft {
        seq: head.seq.next(),
        prev: head.hash,
        dur: transaction.durable(),
        ts: host::now().max(head.ts),
        actor: &Actor::System,
        request: &request,
        digest,
        events: &body,
    };
    let mut line = Vec::new();
    draft.write(&mut line).expect("a record");
    let end = transaction.append(&head, &line).expect("it is stored");
    drop(transaction);
    log.make_durable(&end, &WAIT).expect("it is durable");
}
