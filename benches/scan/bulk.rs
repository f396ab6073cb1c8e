//! `append --stdin` against `sqlite3` that inserts the same lines, so many in one transaction.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loopx::ledger::BATCH_REQUESTS;

use crate::measure::{Contestant, interleave};
use crate::{lines, loopx, print, ratio};

/// A ledger with a goal, in a directory that is made for it.
pub fn create(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).expect("a directory");
    timed(loopx(directory).arg("init"));
    timed(loopx(directory).args(["start-goal", "--name", "g", "--goal-text", "Reach 0.97"]));
}

/// Appends the requests in a file; the receipts go to another.
pub fn append(directory: &Path, requests: &Path) -> Duration {
    let (input, receipts) = (File::open(requests), File::create(directory.join("receipts")));
    let mut command = loopx(directory);
    command.args(["append", "--stdin"]);
    timed(command.stdin(input.expect("a file")).stdout(receipts.expect("a file")))
}

/// Runs to the end, which must be a success, and says how long it took.
fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("it starts");
    let time = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    time
}

/// The `sqlite3` program with a database in a directory of its own.
struct Sqlite {
    database: PathBuf,
    script: PathBuf,
}

impl Sqlite {
    /// A script that inserts these lines, with their request ids under an index if they have any.
    fn new(directory: &Path, text: &str, ids: bool) -> Self {
        let mut script = "PRAGMA synchronous=FULL;\n".to_owned();
        let lines: Vec<&str> = text.lines().collect();
        for (batch, lines) in lines.chunks(BATCH_REQUESTS).enumerate() {
            script.push_str("BEGIN IMMEDIATE;\n");
            for (n, line) in lines.iter().enumerate() {
                let n = batch * BATCH_REQUESTS + n;
                let id = if ids { format!("'run-7/step-{n}'") } else { "NULL".to_owned() };
                script.push_str(&format!("INSERT INTO record(request, body) VALUES({id}, '{line}');\n"));
            }
            script.push_str("COMMIT;\n");
        }
        fs::create_dir_all(directory).expect("a directory");
        let (database, path) = (directory.join("db"), directory.join("script.sql"));
        fs::write(&path, script).expect("a file");
        Self { database, script: path }
    }

    fn run(&self) -> Duration {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.database.with_file_name(format!("db{end}")));
        }
        let schema = "PRAGMA journal_mode=WAL; CREATE TABLE record(seq INTEGER PRIMARY KEY, request TEXT UNIQUE, body TEXT NOT NULL);";
        timed(Command::new("sqlite3").arg(&self.database).arg(schema).stdout(Stdio::null()));
        let script = File::open(&self.script).expect("a file");
        timed(Command::new("sqlite3").arg(&self.database).stdin(script).stdout(Stdio::null()))
    }
}

/// Both kinds of lines into both kinds of store, each time a fresh one.
pub fn measure(count: usize, rounds: usize, place: &Path) {
    println!("\n{count} requests at once, whole processes, durable");
    let has_sqlite = Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_sqlite {
        println!("there is no sqlite3 here");
    }
    let mut contestants = Vec::new();
    for (ids, own, other) in [
        (false, "append --stdin", "sqlite3"),
        (true, "append --stdin, request ids", "sqlite3, ids under an index"),
    ] {
        let text = lines::notes(count, ids);
        let directory = place.join(format!("ledger-{ids}"));
        let requests = place.join(format!("requests-{ids}"));
        fs::create_dir_all(place).expect("a directory");
        fs::write(&requests, &text).expect("a file");
        let run = move || {
            create(&directory);
            append(&directory, &requests)
        };
        contestants.push(Contestant { name: own, run: Box::new(run) });
        if has_sqlite {
            let sqlite = Sqlite::new(&place.join(format!("sqlite-{ids}")), &text, ids);
            contestants.push(Contestant { name: other, run: Box::new(move || sqlite.run()) });
        }
    }
    let times = interleave(rounds, &mut contestants);
    print(&times, count, "lines/s");
    ratio(&times, "append --stdin", "sqlite3", "");
    ratio(&times, "append --stdin, request ids", "sqlite3, ids under an index", "");
    ratio(&times, "append --stdin, request ids", "append --stdin", "");
}
