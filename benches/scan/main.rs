//! What runs over many records, as ratios in one run: `cargo bench --bench scan [-- --records N --lines N --rounds N |
//! --quick]`.
//!
//! Verification against BLAKE3 alone over the same 512-byte lines, replay against Python's `json` and `blake3` over the same
//! bytes (`LOOPX_PYTHON` names an interpreter that has the package), `append --stdin` against `sqlite3`. What is not
//! installed is left out. Under `cargo test --benches` it only tries itself on small ledgers.
#![expect(clippy::disallowed_methods, reason = "LOOPX_PYTHON is an order to this program")]

mod bulk;
mod lines;
#[path = "../tick/machine.rs"]
mod machine;
#[path = "../tick/measure.rs"]
mod measure;
mod memory;
mod python;

use std::fs;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loopx::hash::Hash;
use loopx::ledger::Ledger;
use loopx::log::{Cursor, VerifyOptions, verify};
use loopx::record::frame::SUFFIX_BYTES;

use crate::measure::{Contestant, Times, interleave};

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    /// Records that are verified and replayed.
    records: usize,
    /// Requests that are appended in bulk.
    lines: usize,
    rounds: usize,
}

impl Size {
    const FULL: Self = Self { records: 60_000, lines: 20_000, rounds: 15 };
    const QUICK: Self = Self { records: 10_000, lines: 5_000, rounds: 3 };
    const TRIAL: Self = Self { records: 300, lines: 300, rounds: 1 };

    /// What the command line asks for. `cargo bench` says so by `--bench`, `cargo test` does not.
    fn read(words: &[String]) -> Self {
        let has = |word: &str| words.iter().any(|found| found == word);
        let number = |word: &str, otherwise: usize| {
            let at = words.iter().position(|found| found == word);
            let given = at.and_then(|at| words.get(at + 1));
            given.map_or(otherwise, |number| number.parse().expect("a number"))
        };
        let base = match (has("--bench"), has("--quick")) {
            (false, _) => Self::TRIAL,
            (true, true) => Self::QUICK,
            (true, false) => Self::FULL,
        };
        Self {
            records: number("--records", base.records),
            lines: number("--lines", base.lines),
            rounds: number("--rounds", base.rounds),
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let size = Size::read(&words);
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scan");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("the target directory can be written");
    println!("{}", machine::describe(&place));
    println!("medians over {} interleaved rounds; times in milliseconds", size.rounds);
    verification(size, &place.join("plain"));
    replay(size, &place.join("work"));
    bulk::measure(size.lines, size.rounds, &place.join("bulk"));
    let _ = fs::remove_dir_all(&place);
}

/// The program, in a directory, with nothing in its environment.
fn loopx(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopx"));
    command.env_clear().current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A ledger in `directory` that these requests were made to, one record a line.
fn build(directory: &Path, requests: &str) -> Log {
    bulk::create(directory);
    let input = directory.join("requests");
    fs::write(&input, requests).expect("a file");
    bulk::append(directory, &input);
    Log::read(&directory.join(".loopx"))
}

/// All bytes of a log, one segment after the other.
struct Log {
    root: PathBuf,
    text: Vec<u8>,
    records: usize,
    events: usize,
}

impl Log {
    fn read(root: &Path) -> Self {
        let mut log = Self { root: root.to_owned(), text: Vec::new(), records: 0, events: 0 };
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

fn verification(size: Size, directory: &Path) {
    let log = build(directory, &lines::padded(size.records));
    println!("\n{} records, on average {} bytes", log.records, log.text.len() / log.records);
    let mut contestants = [
        Contestant::whole("BLAKE3 alone", || log.text.split_inclusive(|byte| *byte == b'\n').for_each(hash)),
        Contestant::whole("BLAKE3 and reading", || lines::of_segments(&log.root, hash)),
        Contestant::whole("verify, one thread", || verified(&log, 1)),
        Contestant::whole("verify, two threads", || verified(&log, 2)),
    ];
    let times = interleave(size.rounds, &mut contestants);
    print(&times, log.records, "records/s");
    // A share of the speed of BLAKE3 is a ratio of times the other way round.
    ratio(&times, "BLAKE3 alone", "verify, one thread", "aim >= 0.9");
    ratio(&times, "BLAKE3 and reading", "verify, one thread", "");
    ratio(&times, "verify, one thread", "verify, two threads", "aim >= 1.7");
}

/// What BLAKE3 has to do for a line.
fn hash(line: &[u8]) {
    let preimage = line.get(..line.len() - SUFFIX_BYTES - 1).expect("a record");
    std::hint::black_box(Hash::record(preimage));
}

fn verified(log: &Log, hands: usize) {
    let options = VerifyOptions { hands: NonZero::new(hands), ..VerifyOptions::default() };
    let report = verify(&log.root, &options, &mut |_, _| ControlFlow::Continue(()));
    let report = report.expect("it can be read");
    assert!(report.error().is_none() && report.head.seq.0 == log.records as u64);
}

fn replay(size: Size, directory: &Path) {
    let log = build(directory, &lines::work(size.records));
    println!("\n{} records of work, {} events, {} bytes", log.records, log.events, log.text.len());
    let ledger = Ledger::open(&log.root).expect("the ledger opens");
    let python = python::Python::find(&log);
    let mut contestants = vec![Contestant::whole("replay", || {
        let state = ledger.replay(ledger.head().seq, &mut |_, _| {}).expect("it folds");
        assert_eq!(state.seq, ledger.head().seq);
    })];
    match &python {
        Some(python) => contestants.push(Contestant { name: "Python", run: Box::new(|| python.run()) }),
        None => println!("there is no Python with the package `blake3` here: LOOPX_PYTHON names one"),
    }
    let times = interleave(size.rounds, &mut contestants);
    print(&times, log.events, "events/s");
    ratio(&times, "Python", "replay", "aim >= 10");
    let state = serde_json::to_vec(ledger.state()).expect("a state is JSON").len();
    match memory::peak_kib(loopx(directory).arg("replay")) {
        Some(kib) => println!(
            "{:>6.1}  MiB at most in `replay`; its state takes {:.1} as JSON (aim <= 64 + state)",
            kib as f64 / 1024.0,
            state as f64 / 1024.0 / 1024.0
        ),
        None => println!("the memory of a process cannot be had here"),
    }
}

/// The table of times, and how much of `work` that is a second.
fn print(times: &Times, work: usize, unit: &str) {
    println!("{:<34}{:>9}{:>9}", "", "median", "least");
    for (name, middle, least) in times.rows() {
        let speed = work as f64 / middle / 1e3;
        println!("{name:<34}{:>9.2}{:>9.2}{speed:>9.0} k {unit}", middle * 1e3, least * 1e3);
    }
}

fn ratio(times: &Times, name: &str, base: &str, aim: &str) {
    if let Some(ratio) = times.ratio(name, base) {
        println!("{ratio:>6.2}  {name} / {base}{}{aim}", if aim.is_empty() { "" } else { "; " });
    }
}
