//! How long one tick takes, as ratios in one run: `cargo bench --bench tick [-- --records N --rounds N | --quick]`;
//! `--binary PATH` measures another build of the program, such as a static one.
//!
//! Whole processes of this program against `sqlite3` and `git`, then verification and replay against BLAKE3 alone over
//! the same bytes. Under `cargo test --benches` it only tries itself on a small ledger.

mod machine;
mod measure;
mod rivals;
mod workload;

use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loopx::hash::Hash;
use loopx::ledger::Ledger;
use loopx::log::{Cursor, VerifyOptions, verify};
use loopx::record::frame::SUFFIX_BYTES;

use crate::measure::{Contestant, Times, interleave};
use crate::rivals::{Git, Sqlite};

/// The program that is measured unless the command line names another.
const LOOPX: &str = env!("CARGO_BIN_EXE_loopx");

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    records: usize,
    rounds: usize,
}

/// The program that is measured.
struct Loopx {
    path: PathBuf,
}

impl Loopx {
    fn read(words: &[String]) -> Self {
        let named = words.iter().position(|word| word == "--binary").and_then(|at| words.get(at + 1));
        Self { path: PathBuf::from(named.map_or(LOOPX, String::as_str)) }
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.path);
        // As people run it: an append looks whether this ledger is in the list of theirs.
        command.env_clear().env("LOOPX_STATE_HOME", directory.join("state")).current_dir(directory);
        command
    }

    /// A ledger in `directory`, made by the program's own commands.
    fn build(&self, directory: &Path, records: usize) -> PathBuf {
        fs::create_dir_all(directory).expect("a directory");
        success(self.command(directory).arg("init"));
        let mut bulk = self.command(directory);
        let bulk = bulk.args(["append", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut bulk = bulk.spawn().expect("it starts");
        let requests = workload::requests(records.saturating_sub(1));
        let mut input = bulk.stdin.take().expect("a pipe");
        input.write_all(requests.as_bytes()).expect("the requests are taken");
        drop(input);
        assert!(bulk.wait().expect("it ends").success(), "every request is recorded");
        directory.join(".loopx")
    }
}

impl Size {
    const FULL: Self = Self { records: 10_000, rounds: 100 };
    const QUICK: Self = Self { records: 1_000, rounds: 5 };
    const TRIAL: Self = Self { records: 300, rounds: 1 };

    /// What the command line asks for. `cargo bench` says so by `--bench`, `cargo test` does not.
    fn read(words: &[String]) -> Self {
        let has = |word: &str| words.iter().any(|found| found == word);
        let number = |word: &str| {
            let at = words.iter().position(|found| found == word)?;
            words.get(at + 1).map(|number| number.parse().expect("a number"))
        };
        let base = if !has("--bench") {
            Self::TRIAL
        } else if has("--quick") {
            Self::QUICK
        } else {
            Self::FULL
        };
        Self {
            records: number("--records").unwrap_or(base.records),
            rounds: number("--rounds").unwrap_or(base.rounds),
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let size = Size::read(&words);
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tick");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("the target directory can be written");
    println!("{}", machine::describe(&place));
    let program = Loopx::read(&words);
    let ledger = program.build(&place.join("ledger"), size.records);
    let bytes = Log::read(&ledger);
    println!(
        "{} records, on average {} bytes, {} rounds; times in milliseconds\n",
        bytes.records,
        bytes.text.len() / bytes.records,
        size.rounds
    );
    processes(size, &program, &place);
    println!();
    in_process(size, &ledger, &bytes);
    let _ = fs::remove_dir_all(&place);
}

/// Runs to the end, which must be a success, and says how long it took.
fn success(command: &mut Command) -> Duration {
    command.stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("it starts");
    let time = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    time
}

fn processes(size: Size, program: &Loopx, place: &Path) {
    let loopx = |directory: &Path| program.command(directory);
    let read = place.join("ledger");
    let write = place.join("written");
    copy(&read, &write);
    let sqlite_read = Sqlite::new(&place.join("select"), size.records);
    let mut sqlite_write = Sqlite::new(&place.join("insert"), size.records);
    let mut sqlite_wal = Sqlite::new(&place.join("insert-wal"), size.records);
    let mut git = Git::new(&place.join("git"));
    let mut contestants = vec![
        timed("loopx --version", || success(loopx(&read).arg("--version"))),
        timed("loopx quota should-run", || {
            success(loopx(&read).args(["quota", "should-run", "--agent", "w1"]))
        }),
        timed("loopx add", || success(loopx(&write).args(["add", "one more", "--agent", "w1"]))),
    ];
    match &sqlite_read {
        Some(sqlite) => contestants.push(timed("sqlite3 select", || success(&mut sqlite.select()))),
        None => println!("there is no sqlite3 here"),
    }
    if let Some(sqlite) = &mut sqlite_write {
        contestants.push(timed("sqlite3 insert", || success(&mut sqlite.insert(true))));
    }
    if let Some(sqlite) = &mut sqlite_wal {
        contestants.push(timed("sqlite3 insert, WAL kept", || success(&mut sqlite.insert(false))));
    }
    match &mut git {
        Some(git) => contestants.push(timed("git commit", || success(&mut git.commit()))),
        None => println!("there is no git here"),
    }
    let times = interleave(size.rounds, &mut contestants);
    print(&times);
    for (name, base) in [
        ("loopx quota should-run", "loopx --version"),
        ("loopx quota should-run", "sqlite3 select"),
        ("loopx add", "loopx --version"),
        ("loopx add", "sqlite3 insert"),
        ("loopx add", "sqlite3 insert, WAL kept"),
        ("loopx add", "git commit"),
    ] {
        ratio(&times, name, base);
    }
}

fn timed<'a>(name: &'a str, run: impl FnMut() -> Duration + 'a) -> Contestant<'a> {
    Contestant { name, run: Box::new(run) }
}

fn in_process(size: Size, root: &Path, log: &Log) {
    let ledger = Ledger::open(root).expect("the ledger opens");
    let mut contestants = [
        Contestant::whole("BLAKE3 alone", || {
            for line in log.text.split_inclusive(|byte| *byte == b'\n') {
                let preimage = line.get(..line.len() - SUFFIX_BYTES - 1).expect("a record");
                std::hint::black_box(Hash::record(preimage));
            }
        }),
        Contestant::whole("verify, one thread", || verified(root, 1)),
        Contestant::whole("verify, two threads", || verified(root, 2)),
        Contestant::whole("replay", || {
            let state = ledger.replay(ledger.head().seq, &mut |_, _| {}).expect("it folds");
            assert_eq!(state.seq, ledger.head().seq);
        }),
    ];
    let times = interleave(size.rounds, &mut contestants);
    print(&times);
    // A share of the speed of BLAKE3 is a ratio of times the other way round.
    ratio(&times, "BLAKE3 alone", "verify, one thread");
    ratio(&times, "verify, one thread", "verify, two threads");
    ratio(&times, "BLAKE3 alone", "replay");
    for (name, middle, _) in times.rows() {
        let speed = log.text.len() as f64 / middle / 1e6;
        let (records, events) = (log.records as f64 / middle / 1e3, log.events as f64 / middle / 1e3);
        println!("{name:<28}{speed:>9.0} MB/s{records:>9.0} k records/s{events:>9.0} k events/s");
    }
}

fn verified(root: &Path, hands: usize) {
    let options = VerifyOptions { hands: NonZero::new(hands), ..VerifyOptions::default() };
    let report = verify(root, &options, &mut |_, _| ControlFlow::Continue(()));
    assert!(report.expect("it can be read").error().is_none());
}

fn print(times: &Times) {
    println!("{:<28}{:>9}{:>9}", "", "median", "least");
    for (name, middle, least) in times.rows() {
        println!("{name:<28}{:>9.3}{:>9.3}", middle * 1e3, least * 1e3);
    }
}

fn ratio(times: &Times, name: &str, base: &str) {
    if let Some(ratio) = times.ratio(name, base) {
        println!("{ratio:>6.2}  {name} / {base}");
    }
}

/// All bytes of a log, one segment after the other.
struct Log {
    text: Vec<u8>,
    records: usize,
    events: usize,
}

impl Log {
    fn read(root: &Path) -> Self {
        let mut log = Self { text: Vec::new(), records: 0, events: 0 };
        let ledger = Ledger::open(root).expect("the ledger opens");
        let read = ledger.records(&Cursor::START, &mut |record, _| {
            log.text.extend_from_slice(record.line());
            log.text.push(b'\n');
            ControlFlow::Continue(())
        });
        let head = read.expect("the log is sound").seq;
        log.records = usize::try_from(head.0).expect("it was read into memory");
        ledger.replay(head, &mut |_, entry| log.events += entry.events.len()).expect("it folds");
        log
    }
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
