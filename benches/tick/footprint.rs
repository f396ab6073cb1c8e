//! What the program takes: memory of a tick, bytes on disk of a turn, its own size.

use std::fs::{self, File};
use std::io::{Read, Write, pipe};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Measured;
use crate::ledgers::{bytes_below, segments};
use crate::program::{Program, success};
use crate::table::{Aim, Table};

const MIB: f64 = 1024.0 * 1024.0;

/// What a pipe of Linux holds until it is read.
const PIPE_BYTES: usize = 64 << 10;

/// Measures and fills the table.
pub fn measure(measured: &Measured, table: &mut Table) {
    let directory = measured.copy_of("long", &measured.place.join("footprint"));
    let busy = measured.copy_of("busy", &measured.place.join("footprint-busy"));
    let [_, (_, long), (_, hard)] = measured.histories();
    for (at, program) in measured.programs.iter().enumerate() {
        let mut put = |what: &str, unit: &str, most: f64, figure: f64| {
            table.put(at, what, unit, Aim::AtMost(most), Some(figure));
        };
        for (directory, records) in [(&directory, &long), (&busy, &hard)] {
            let peak = peak_mib(program.should_run(directory));
            put(&format!("peak memory of `quota should-run`, {records}"), "MiB", 16.0, peak);
        }
        put(&format!("peak memory of `add`, {long}"), "MiB", 16.0, peak_mib(program.add(&directory)));
        let turn = turn_bytes(program, &directory) as f64 / 1024.0;
        put("log of one turn: `next`, `evidence add`, `done` with its spend", "KiB", 4.0, turn);
        let bytes = fs::read(&program.path).expect("the program can be read");
        let loader = if names_a_loader(&bytes) { "needs a dynamic loader" } else { "needs nothing" };
        println!("{}: {} bytes, {loader}", program.path.display(), bytes.len());
        put("binary", "MiB", 6.0, bytes.len() as f64 / MIB);
    }
    let root = measured.ledger("long");
    let whole = bytes_below(&root) as f64 / 1024.0 / f64::from(turns(&root));
    let what = format!("whole `.loopx` a turn, snapshots and index included, {long}");
    table.put(0, &what, "KiB", Aim::AtMost(4.0), Some(whole));
}

/// The peak resident memory of a command, in MiB. It is read while the command waits to write its answer into a pipe
/// that is full, which is the last thing that it does.
fn peak_mib(mut command: Command) -> f64 {
    let (mut reader, mut writer) = pipe().expect("a pipe");
    writer.write_all(&[b'.'; PIPE_BYTES]).expect("a pipe holds as much");
    let mut child = command.stdout(Stdio::from(writer)).spawn().expect("it starts");
    // The command's own copy of the pipe.
    drop(command);
    let status = format!("/proc/{}/status", child.id());
    let field = |name: &str| {
        let text = fs::read_to_string(&status).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix(name).map(str::trim).map(str::to_owned));
        line.unwrap_or_default()
    };
    let mut asleep = 0;
    while asleep < 50 {
        std::thread::sleep(Duration::from_millis(2));
        asleep = if field("State:").starts_with('S') { asleep + 1 } else { 0 };
    }
    let peak = field("VmHWM:");
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).expect("an answer");
    assert!(child.wait().expect("it ends").success());
    assert!(answer.len() > PIPE_BYTES, "it was waiting to answer");
    let kib: f64 = peak.trim_end_matches(" kB").parse().expect("a number");
    kib / 1024.0
}

/// The bytes that a turn adds to the log: three commands, on evidence that is its own record.
fn turn_bytes(program: &Program, directory: &Path) -> u64 {
    let root = directory.join(".loopx");
    let size = || {
        segments(&root)
            .iter()
            .map(|path| File::open(path).and_then(|file| file.metadata()))
            .map(|metadata| metadata.expect("a segment").len())
            .sum::<u64>()
    };
    let before = size();
    let output = program.words(directory, &["--agent", "w1", "--json", "next"]).output().expect("it starts");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an answer");
    let todo = answer["todo"]["id"].as_str().unwrap_or_else(|| panic!("a todo in {answer}")).to_owned();
    let shows = ["--summary", "the held-out score follows the scaling of the second feature"];
    let about = ["--agent", "w1", "evidence", "add", "--about", &todo];
    success(program.words(directory, &[&about[..], &shows].concat()));
    let done = ["--agent", "w1", "done", &todo, "--proof", "cargo run --release -- evaluate => 0.973"];
    let paid = ["--next", "Evaluate the next candidate", "--tokens", "12000", "--cost", "90000"];
    success(program.words(directory, &[done, paid].concat()));
    size() - before
}

/// Whether the program asks for a dynamic loader: a program header of type `PT_INTERP`, in a 64-bit little-endian ELF.
fn names_a_loader(elf: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| {
        let field = elf.get(at..at + bytes).expect("an ELF file");
        field.iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, entry, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    (0..count).any(|at| number(table + at * entry, 4) == 3)
}

/// Turns that a ledger has seen.
fn turns(root: &Path) -> u32 {
    loopx::ledger::Ledger::open(root).expect("a ledger").state().minted.turns
}
