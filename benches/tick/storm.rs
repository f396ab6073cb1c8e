//! Many short-lived processes at once, each of which adds one todo durably, against the same where a sync costs
//! nothing: on a file system in memory.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Measured;
use crate::measure::interleave;
use crate::program::Program;
use crate::table::{Aim, Table, print, timed};
use crate::writers::WRITERS;

/// Where Linux keeps files in memory.
const MEMORY: &str = "/dev/shm";

/// Processes that one run starts in all.
const STARTED: usize = 4 * WRITERS;

/// Measures and fills the table. Without a file system in memory there is nothing to compare with.
pub fn measure(measured: &Measured, table: &mut Table) {
    let Ok(memory) = tempfile::tempdir_in(MEMORY) else {
        println!("there is no {MEMORY} here");
        return;
    };
    let disk = measured.copy_of("short", &measured.place.join("storm"));
    let memory_root = measured.copy_of("short", &memory.path().join("storm"));
    let mut contestants = Vec::new();
    for program in &measured.programs {
        for (name, directory) in [("disk", &disk), ("memory", &memory_root)] {
            let name = format!("{} {STARTED} adds, {WRITERS} at once, {name}", program.name);
            contestants.push(timed(name, || storm(program, directory)));
        }
    }
    let times = interleave(measured.rounds.div_ceil(4), &mut contestants);
    drop(contestants);
    print(&times);
    for (at, program) in measured.programs.iter().enumerate() {
        let [memory, disk] = ["memory", "disk"]
            .map(|name| format!("{} {STARTED} adds, {WRITERS} at once, {name}", program.name));
        let what = format!("`add` by {WRITERS} short-lived processes at once, adds/s");
        let aim = Aim::AtLeast(0.65);
        table.put(at, &what, "the same in memory, where a sync is free", aim, times.ratio(&memory, &disk));
    }
}

/// Keeps as many processes going until all have been started and have ended.
fn storm(program: &Program, directory: &Path) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for _ in 0..STARTED / WRITERS {
                    let status = program.add(directory).stdout(Stdio::null()).status();
                    assert!(status.expect("it starts").success(), "it is recorded");
                }
            });
        }
    });
    start.elapsed()
}
